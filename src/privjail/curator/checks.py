"""Checks of a curator's decision before it is written to the ledger."""

from __future__ import annotations

import re
from typing import Any

from privjail.budget.notions import Cost
from privjail.errors import BudgetError, PlanError
from privjail.server.ledger.state import ANALYST, ROLES, DatasetEntry, State
from privjail.server.rights import Gain, amount

#: A name is used as a file name and as an argument of commands: no path, no option, nothing that a shell expands.
NAME = re.compile(r"\w[\w.@+-]{0,99}")
NAMED = 10  # how many users a refusal names


def check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise PlanError(
            f"{name!r} cannot be used as a name",
            do="use letters, digits and . _ - + @, at most 100; the first is a letter, a digit or _",
        )


def check_new(name: str, state: State) -> None:
    if name in state.datasets:
        raise PlanError(f"there was a data set {name!r} before; its name cannot be used again", do="use another name")


def the_dataset(state: State, name: str) -> DatasetEntry:
    if name not in state.datasets:
        raise PlanError(f"there is no data set {name!r}", do="see: privjail dataset list")
    return state.datasets[name]


def check_open(state: State, name: str) -> DatasetEntry:
    """A data set that was not removed."""
    entry = the_dataset(state, name)
    if entry.removed:
        raise PlanError(
            f"the data set {name!r} was removed: nobody can use it any more",
            do="add the data under another name: privjail dataset add",
        )
    return entry


def the_user(state: State, name: str) -> None:
    if name not in state.users:
        raise PlanError(f"there is no user {name!r}", do=f"privjail user add {name}")


def the_analyst(state: State, name: str) -> None:
    """A user who may be granted a budget."""
    the_user(state, name)
    role = state.users[name].role
    if role != ANALYST:
        raise PlanError(f"{name!r} is {a_role(role)}: only analysts spend", do="add another user for that")


def a_role(role: str) -> str:
    return f"an {role}" if role[0] in "aeiou" else f"a {role}"


def check_role(state: State, name: str, role: str) -> None:
    """A role that there is, and that fits what the user has: who holds grants is an analyst."""
    if role not in ROLES:
        raise PlanError(f"there is no role {role!r}", do=f"use one of {', '.join(ROLES)}")
    if role != ANALYST and any(kind == "user" and who == name for kind, who, _ in state.limits):
        raise PlanError(f"{name!r} has grants, which only analysts have", do="revoke them first, or add another user")


def the_group(state: State, name: str) -> None:
    if name not in state.groups:
        raise PlanError(f"there is no group {name!r}", do=f"privjail group add {name} MEMBER …")


def need_reason(reason: str | None, what: str) -> None:
    if not (reason or "").strip():
        raise PlanError(f"{what} needs a reason, which is logged", do="give --reason '…'")


def check_change_of_cap(option: str, dataset: str, before: Cost, limit: Cost, spent: Cost) -> None:
    """--raise only raises, --lower only lowers, and not below what is spent."""
    pairs = list(zip(limit, before, strict=True))
    if limit == before:
        raise BudgetError(f"the budget of {dataset!r} is {amount(before)} already")
    if option == "--raise" and any(new < old for new, old in pairs):
        raise BudgetError(
            f"{amount(limit)} is below the budget of {dataset!r}, {amount(before)}: --raise does not lower",
            do=f"privjail budget {dataset} --lower {_option(limit)} --reason …",
        )
    if option == "--lower" and any(new > old for new, old in pairs):
        raise BudgetError(
            f"{amount(limit)} is above the budget of {dataset!r}, {amount(before)}: --lower does not raise",
            do=f"privjail budget {dataset} --raise {_option(limit)} --reason …",
        )
    if any(new < used for new, used in zip(limit, spent, strict=True)):
        raise BudgetError(
            f"{amount(limit)} is below what was spent of {dataset!r}, {amount(spent)}",
            do=f"spent budget cannot be taken back; lower it to {amount(spent)} at most, or remove the data set",
        )


def _option(limit: Cost) -> str:
    return ",".join(f"{float(x):.12g}" for x in limit)


def check_widening(body: dict[str, Any], gained: list[Gain], widen: bool) -> list[str]:
    """A decision that takes rights away must not let anybody spend more, unless the curator allows it with --widen.

    Grants, raised caps, new members and new tokens may. Returns the users who gain although nobody should.
    """
    surprising = [gain for gain in gained if _takes(body, gain.user)]
    if surprising and not widen:
        listed = "; ".join(map(str, surprising[:NAMED]))
        more = f"; and {len(surprising) - NAMED} more" if len(surprising) > NAMED else ""
        raise PlanError(
            f"this would let users spend more, not less: {listed}{more}",
            do="lower their other grants first (privjail grant), or add --widen if this is what you want",
        )
    return sorted({gain.user for gain in surprising})


def _takes(body: dict[str, Any], user: str) -> bool:
    return body["type"] == "revoke" or (body["type"] == "group" and user not in body["members"])
