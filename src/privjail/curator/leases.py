"""Decisions about leases: whether requests on a data set are charged from reserved parts of its budget; how large."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from privjail.budget.notions import NOTIONS, Cost
from privjail.curator.folder import JailFolder
from privjail.curator.given import new_limit
from privjail.curator.house_rules import pays, positive
from privjail.errors import PlanError
from privjail.server.ledger.events import texts
from privjail.server.ledger.state import State


def set_lease(folder: JailFolder, dataset: str, size: str | None, reason: str | None) -> Cost | None:
    """Set how large the leases of a data set are, in ε, ρ or a divergence; None: no leases. Returns the size."""
    found: list[Cost | None] = []

    def make(state: State) -> dict[str, Any]:
        pays(state, dataset)
        amount = None if size is None else _sized(folder, state.limits[("dataset", "", dataset)], positive(size))
        found.append(amount)
        return {"type": "leasing", "dataset": dataset, "amount": texts(amount), "reason": reason or folder.reason}

    folder._decide(make)
    return found[-1]


def check_size(folder: JailFolder, notion: str, budget: list[Any], size: str) -> None:
    """Refuse leases that a new data set with this budget could not have, before it is added."""
    if notion in NOTIONS:
        new_limit(notion, budget)
        _sized(folder, NOTIONS[notion](*budget).limit, positive(size))


def _sized(folder: JailFolder, limit: Cost | None, size: Fraction) -> Cost:
    """All components of a lease: of δ it has the same share as of ε."""
    if folder.config.get("ledger_url") is not None:
        raise PlanError(
            "a ledger in PostgreSQL has no leases: its server makes each charge durable by itself",
            do="leave out the lease; leases are for ledgers in the jail's own folder",
        )
    if not folder.ledger.leases:
        raise PlanError(
            "this system does not tell whether the machine was restarted, so it cannot have leases",
            do="let the jail read /proc/sys/kernel/random/boot_id; see: privjail doctor",
        )
    if not limit or not limit[0] or size > limit[0] / 2:
        raise PlanError(
            "a lease is at most half of the data set's budget: it is lost if the machine ends",
            do="give a small part of the budget, such as a hundredth",
        )
    return tuple(size * most / limit[0] for most in limit)
