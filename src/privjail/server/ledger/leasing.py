"""When a charge is made under a lease, and when one is opened for it. See leases.py for what a lease is."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from privjail.budget.ledger import plus
from privjail.budget.notions import Cost
from privjail.server.ledger.entries import PerElement
from privjail.server.ledger.leases import Held, Lease, leasable, minus, own_cost, scopes_of
from privjail.server.ledger.state import State


def spend(
    state: State, user: str, charges: list[PerElement], caps: dict[str, Cost], at: str, leases: bool
) -> tuple[Callable[[], None], dict[str, Any]]:
    """Charge a request to the state, under a lease if there is one that suffices; or raise and change nothing.

    Returns how to undo it, and what its entry says of leases.
    """
    lease = lease_for(state, user, charges) if leases else None
    try:
        take_back = state.spend(user, charges, caps, at, lease)
        return take_back, {} if lease is None else {"lease": lease.number}
    except Held:  # what leases hold is not spent: nobody is refused for it
        return state.spend(user, charges, caps, at, ends_leases=True), {"ends_leases": True}


def lease_for(state: State, user: str, charges: list[PerElement]) -> Lease | None:
    """The open lease that a request can be charged under; None: it is to be synced."""
    if not state.leases.open or not leasable(charges):
        return None
    lease = state.leases.open.get((user, charges[0][0]))
    usable = lease is not None and lease.has(own_cost(charges)) and not _counted(state, lease.user, lease.dataset)
    return lease if usable else None


def to_open(state: State, user: str, charges: list[PerElement]) -> Cost | None:
    """How large a lease is to be opened for a request; None: it has one, or can have none.

    All leases together hold at most half of what is left under each limit then. So charges by others seldom end them.
    """
    dataset = charges[0][0] if charges else ""
    amount = state.leasing.get(dataset)
    if amount is None or not leasable(charges):
        return None
    known, cost = state.leases.open.get((user, dataset)), own_cost(charges)
    if known is not None and known.has(cost):
        return None
    barred = dataset in state.frozen or not state.allowed(user, dataset) or _counted(state, user, dataset)
    if barred or any(x > most for x, most in zip(cost, amount, strict=True)):
        return None
    return amount if _fits(state, user, dataset, amount, known) else None


def _fits(state: State, user: str, dataset: str, amount: Cost, known: Lease | None) -> bool:
    """Whether leases would hold at most half of what is left, with this one in place of one that is known."""
    zero = tuple(Fraction(0) for _ in amount)
    for scope in scopes_of(user, dataset, state.groups_of(user)):
        limit = state.limits.get(scope)
        held = minus(plus(state.leases.held.get(scope, zero), amount), zero if known is None else known.rest)
        total = state.total(scope)
        if limit is not None and any(t + 2 * h > most for t, h, most in zip(total, held, limit, strict=True)):
            return False
    return True


def _counted(state: State, user: str, dataset: str) -> bool:
    """Whether a rule counts by day or hour: charges that a crash loses would be missing in its count."""
    ruled = [state.rules.get(scope) for scope in scopes_of(user, dataset, state.groups_of(user))] if state.rules else []
    return any(rule is not None and rule.counts for rule in ruled)
