"""Decisions beside grants: limits by request, day and clock; freezing a data set; answering what analysts wish for."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from typing import Any

from privjail.curator.checks import check_open, need_reason, the_dataset, the_group, the_user
from privjail.curator.folder import JailFolder
from privjail.curator.given import PLAIN, numbers, whole
from privjail.errors import PlanError
from privjail.server.ledger.rules import Rule, parse_hours
from privjail.server.ledger.state import Scope, State, Wish

LEAST, MOST = Fraction(1, 10**9), Fraction(10**9)  # of what a limit can be
SPAN = re.compile(r"\d\d:\d\d-\d\d:\d\d( |$)")  # of hours: ISO has other spellings, which look like dates
MOST_WISHES = 20  # of one user that are not decided yet
LONGEST = 500  # characters of a wish's reason


def freeze(folder: JailFolder, dataset: str, reason: str | None, frozen: bool = True) -> None:
    """Let a data set answer nobody, or let it answer again. Nothing of what was spent or granted changes."""
    why = reason or folder.reason

    def make(state: State) -> dict[str, Any]:
        pays(state, dataset)
        need_reason(why, "freezing a data set" if frozen else "unfreezing a data set")
        if frozen is (dataset in state.frozen):
            raise PlanError(f"the data set {dataset!r} is {'frozen already' if frozen else 'not frozen'}")
        return {"type": "freeze", "name": dataset, "frozen": frozen, "reason": why}

    folder._decide(make)


def pays(state: State, dataset: str) -> None:
    """A data set with an account of its own: a table of a population is paid for, and stopped, by the population."""
    entry = check_open(state, dataset)
    if entry.population is not None:
        raise PlanError(
            f"{dataset!r} is a table of the population {entry.population!r}, which pays for it",
            do=f"do this for {entry.population!r}",
        )


def read_rule(given: dict[str, Any]) -> Rule:
    """A rule from what was typed; empty texts mean no limit."""
    known: dict[str, Callable[[str], Any]] = {
        "per_request": positive, "per_day": positive, "noise": positive, "requests_per_day": _count,
        "requests_per_hour": _count, "hours": _hours, "until": _date,
    }  # fmt: skip
    assert set(known) == {f.name for f in fields(Rule)}
    values = {}
    for name, text in given.items():
        if name not in known:
            raise PlanError(f"there is no limit {name!r}", do=f"use one of {', '.join(known)}")
        if text is not None and str(text).strip():
            values[name] = known[name](str(text).strip())
    return Rule(**values)


def positive(text: str) -> Fraction:
    try:
        if not PLAIN.fullmatch(text):
            raise ValueError
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise PlanError(f"{text!r} is no number", do="write a number, such as 0.5") from None
    if value <= 0:
        raise PlanError(f"a limit is more than 0, and {text} is not", do="to stop a data set, freeze it")
    if not LEAST <= value <= MOST:
        raise PlanError(f"{text} limits nothing, or everything", do=f"use {float(LEAST):g} to {float(MOST):g}")
    return value


def _count(text: str) -> int:
    number = whole(text)
    if number is None or not 0 < number < 10**9:
        raise PlanError(f"{text[:20]!r} is no number of requests", do="write a whole number of at least 1")
    return number


def _hours(text: str) -> str:
    parse_hours(text)
    if not SPAN.match(text):
        raise PlanError(f"{text[:40]!r} are no hours", do="write them as 08:00-18:00, or 08:00-18:00 Europe/Zurich")
    return text


def _date(text: str) -> str:
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise PlanError(f"{text!r} is no date", do="write it as 2027-03-31") from None


def set_rule(
    folder: JailFolder, dataset: str, rule: Rule, user: str | None = None, group: str | None = None,
    reason: str | None = None,
) -> None:  # fmt: skip
    """Set the limits beside the budget, for a data set or for one user or group on it. An empty rule lifts them."""
    if user and group:
        raise PlanError("a rule is for a user or for a group, not for both")
    scope: Scope = ("user", user, dataset) if user else ("group", group, dataset) if group else ("dataset", "", dataset)

    def make(state: State) -> dict[str, Any]:
        pays(state, dataset)
        if user:
            the_user(state, user)
        elif group:
            the_group(state, group)
        if loosened(state.rules.get(scope, Rule()), rule):
            need_reason(reason or folder.reason, "loosening a limit")
        kind, who, _ = scope
        return {"type": "rule", "scope": kind, "who": who, "dataset": dataset, "rule": rule.record(), "reason": reason}

    folder._decide(make)


def loosened(before: Rule, after: Rule) -> bool:
    """Whether something could be allowed after that was not before; what cannot be compared counts as loosened."""
    for each in fields(Rule):
        old, new = getattr(before, each.name), getattr(after, each.name)
        if old is None or old == new:
            continue
        if new is None or each.name == "hours" or (new < old if each.name == "noise" else new > old):
            return True
    return False


def wish(folder: JailFolder, user: str, dataset: str, budget: str, reason: str) -> None:
    """Enter what an analyst asks the curator for. Whether such a data set exists makes no difference."""
    need_reason(reason, "asking for budget")
    numbers(budget)
    reason = " ".join(reason.split())
    if len(dataset) > 100 or len(reason) > LONGEST or len(budget) > 100:
        raise PlanError(f"this is too long: a reason has at most {LONGEST} characters, a name 100")
    if not all(text.isprintable() for text in (dataset, reason)):
        raise PlanError("a request is a line of plain text", do="leave out line breaks and control characters")

    def make(state: State) -> dict[str, Any]:
        the_user(state, user)
        if sum(each.user == user for each in state.wishes.values()) >= MOST_WISHES:
            raise PlanError(f"you have {MOST_WISHES} requests that are not decided yet", do="wait for the curator")
        return {"type": "wish", "user": user, "dataset": dataset, "budget": budget, "reason": reason}

    folder._decide(make)


def approve(folder: JailFolder, number: int, reason: str | None) -> list[str]:
    """Grant what an analyst asked for; returns warnings."""
    asked = the_wish(folder.state, number)
    the_dataset(folder.state, asked.dataset)
    return folder.grant(
        asked.user, asked.dataset, numbers(asked.budget), False, reason or folder.reason or asked.reason, wish=number
    )


def decline(folder: JailFolder, number: int, reason: str | None) -> None:
    """Decline what an analyst asked for; she can read the reason."""
    why = reason or folder.reason

    def make(state: State) -> dict[str, Any]:
        asked = the_wish(state, number)
        need_reason(why, "declining a request")
        return {"type": "decline", "wish": number, "who": asked.user, "dataset": asked.dataset, "reason": why}

    folder._decide(make)


def the_wish(state: State, number: int) -> Wish:
    if number not in state.wishes:
        raise PlanError(f"there is no open request {number}", do="it may have been decided already: see the log")
    return state.wishes[number]
