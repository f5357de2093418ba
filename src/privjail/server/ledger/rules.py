"""Limits beside the budget: for one request, for a day, by the clock. They are checked when a request is charged.

What is counted for a day follows from the entries of the ledger alone: the same entries give the same counts. Days and
hours are those of the ledger's time, which never goes back (see ``State.time``): a clock that is put back starts
nothing anew.
"""

from __future__ import annotations

import datetime
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from privjail.errors import BudgetExceeded, PlanError
from privjail.server.limits import LimitError

NOTHING = "nothing was charged"
LARGEST = Fraction(10**300)  # a float holds no much larger one


@dataclass(frozen=True)
class Rule:
    """What a data set, a user or a group may do at most. None: no such limit. ε stands for ρ where budgets are in ρ."""

    per_request: Fraction | None = None  # ε of one request
    per_day: Fraction | None = None  # ε of all requests of one day (UTC)
    requests_per_day: int | None = None
    requests_per_hour: int | None = None
    noise: Fraction | None = None  # the smallest standard deviation of noise, in multiples of one unit's influence
    hours: str | None = None  # "08:00-18:00 Europe/Zurich": when requests are answered
    until: str | None = None  # the end of the grant, as an ISO date: the first day on which it no longer holds

    @property
    def counts(self) -> bool:
        """Whether it depends on what was charged before, on the same day or in the same hour."""
        return any(each is not None for each in (self.per_day, self.requests_per_day, self.requests_per_hour))

    def record(self) -> dict[str, Any]:
        """As the ledger stores it: only what is limited."""
        return {name: v if isinstance(v, (int, str)) else str(v) for name, v in asdict(self).items() if v is not None}

    @staticmethod
    def read(record: dict[str, Any]) -> Rule:
        known = {f.name for f in fields(Rule)}
        if set(record) - known:
            raise PlanError("a rule of the ledger is not understood here", do="install the newest privjail")
        exact = {"per_request", "per_day", "noise"}
        values: dict[str, Any] = {name: Fraction(v) if name in exact else v for name, v in record.items()}
        return Rule(**values)

    def __str__(self) -> str:
        given = {name: value for name, value in asdict(self).items() if value is not None}
        said = [
            WORDS[name].format(shown(value) if isinstance(value, Fraction) else value) for name, value in given.items()
        ]
        return "; ".join(said) or "no limits beside the budget"


WORDS = {
    "per_request": "at most {} for one request",
    "per_day": "at most {} a day",
    "requests_per_day": "at most {} requests a day",
    "requests_per_hour": "at most {} requests an hour",
    "noise": "noise of at least {} units",
    "hours": "only {}",
    "until": "until {}",
}


def shown(amount: Fraction) -> str:
    return f"{float(min(amount, LARGEST)):.10g}"


@dataclass
class Used:
    """What was used of a rule in the newest day and hour in which something was charged."""

    day: str = ""
    spent: Fraction = Fraction(0)
    requests: int = 0
    hour: str = ""
    in_hour: int = 0

    def count(self, at: str, cost: Fraction) -> None:
        """Count one request, at a time as entries have it (ISO, UTC)."""
        day, hour = at[:10], at[:13]
        if day != self.day:
            self.day, self.spent, self.requests = day, Fraction(0), 0
        if hour != self.hour:
            self.hour, self.in_hour = hour, 0
        self.spent += cost
        self.requests += 1
        self.in_hour += 1

    def record(self) -> list[Any]:
        return [self.day, str(self.spent), self.requests, self.hour, self.in_hour]

    @staticmethod
    def read(record: list[Any]) -> Used:
        day, spent, requests, hour, in_hour = record
        return Used(day, Fraction(spent), requests, hour, in_hour)


def check(rule: Rule, whose: str, cost: Fraction, used: Used, at: str) -> None:
    """Refuse a request of this cost, at this time (ISO, UTC), that a rule does not allow."""
    day, hour = at[:10], at[:13]
    spent, requests = (used.spent, used.requests) if used.day == day else (Fraction(0), 0)
    if rule.until is not None and day >= rule.until:
        raise PlanError(f"the grant {whose} ended on {rule.until}; {NOTHING}", do="ask the curator to renew it")
    if rule.hours is not None and not within(rule.hours, at):
        raise LimitError(f"requests are answered only {rule.hours} {whose}; {NOTHING}", do="ask again then")
    if rule.per_request is not None and cost > rule.per_request:
        raise BudgetExceeded(
            f"one request may cost at most {shown(rule.per_request)} {whose}, and this would cost {shown(cost)}; "
            f"{NOTHING}",
            do="use a smaller eps, or ask for less at once",
        )
    if rule.per_day is not None and spent + cost > rule.per_day:
        raise BudgetExceeded(
            f"at most {shown(rule.per_day)} may be spent in a day {whose}, and {shown(spent)} of it is spent; "
            f"{NOTHING}",
            do="go on tomorrow (UTC), or ask the curator for more",
        )
    if rule.requests_per_day is not None and requests >= rule.requests_per_day:
        raise LimitError(
            f"{requests} requests were made today {whose}: no more are allowed; {NOTHING}", do="go on tomorrow"
        )
    if rule.requests_per_hour is not None and used.hour == hour and used.in_hour >= rule.requests_per_hour:
        raise LimitError(
            f"{used.in_hour} requests were made this hour {whose}: no more are allowed; {NOTHING}", do="wait"
        )


def within(hours: str, at: str) -> bool:
    """Whether a time (ISO, UTC) lies in the hours of a rule; from 22:00 to 06:00 is the night."""
    start, end, zone = parse_hours(hours)
    now = datetime.datetime.fromisoformat(at).astimezone(zone).time()
    return start <= now < end if start < end else now >= start or now < end


def parse_hours(hours: str) -> tuple[datetime.time, datetime.time, datetime.tzinfo]:
    """``08:00-18:00``, with a time zone if it is not UTC."""
    span, _, zone = hours.partition(" ")
    start, dash, end = span.partition("-")
    try:
        both = datetime.time.fromisoformat(start), datetime.time.fromisoformat(end)
        place: datetime.tzinfo = ZoneInfo(zone) if zone and zone != "UTC" else datetime.UTC
    except (ValueError, KeyError, OSError):
        dash = ""
    if not dash or both[0] == both[1] or both[0].tzinfo or both[1].tzinfo:  # 18:00+01:00 cannot be compared
        raise PlanError(f"{hours!r} are no hours", do="write them as 08:00-18:00, or 08:00-18:00 Europe/Zurich")
    return *both, place
