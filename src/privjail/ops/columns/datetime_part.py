""".dt: parts of a date and time, as whole numbers in a known range."""

from __future__ import annotations

import datetime
from typing import Any

from privjail.errors import PlanError
from privjail.plan.domain import IntDomain, TimeDomain
from privjail.plan.expr import Expr
from privjail.plan.node import moment, node

PARTS = {
    "year": None,
    "quarter": (1, 4),
    "month": (1, 12),
    "day": (1, 31),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
    "dayofweek": (0, 6),
    "dayofyear": (1, 366),
}
CALENDAR = (-8_334_601_228_800_000_000, 8_210_266_876_799_999_999)  # years -262143 to 262142, in microseconds


@node
class Part(Expr):
    """One part of each moment; Monday is day 0 of the week.

    Null where the calendar ends: 64 bits hold moments 292 000 years away, whose parts engines do not know.
    """

    kind = "part"
    part: str
    a: Expr

    def __post_init__(self) -> None:
        if self.part not in PARTS:
            raise PlanError(f".dt.{self.part} is not known", do=f"use one of {', '.join(PARTS)}")
        domain = self.a.domain
        if not isinstance(domain, TimeDomain):
            raise PlanError(f".dt needs dates, not {domain.dtype}", do='declare the column as "datetime" in the schema')
        years = tuple(None if b is None else moment(b).year for b in domain.range)
        low, high = PARTS[self.part] or years
        self.computed_from(self.a, domain=IntDomain(domain.nullable or not domain.bounded, low, high))

    def polars(self, *inputs: Any) -> Any:
        import polars as pl

        column = inputs[0].dt
        if self.part == "dayofweek":
            return column.weekday().cast(pl.Int64()) - 1
        parts = {"dayofyear": "ordinal_day"}
        return getattr(column, parts.get(self.part, self.part))().cast(pl.Int64())

    def python(self, *inputs: Any) -> Any:
        days, micros = divmod(inputs[0], 86_400 * 10**6)
        if self.part == "dayofweek":
            return (days + 3) % 7  # 1970 began on a Thursday
        if not CALENDAR[0] <= inputs[0] <= CALENDAR[1]:
            return None
        seconds = micros // 10**6
        clock = {"hour": seconds // 3600, "minute": seconds // 60 % 60, "second": seconds % 60}
        if self.part in clock:
            return clock[self.part]
        # Every 400 years have the same days: look the date up in years that Python's calendar knows.
        cycles, day = divmod(days, 146_097)
        date = datetime.date(1970, 1, 1) + datetime.timedelta(day)
        if self.part == "year":
            return date.year + 400 * cycles
        return {"quarter": (date.month + 2) // 3, "dayofyear": date.timetuple().tm_yday}.get(
            self.part, getattr(date, self.part, None)
        )

    def sql(self, sql: Any, *inputs: Any) -> Any:
        (moment_,) = inputs
        days = sql.down(moment_, 86_400 * 10**6)
        if self.part == "dayofweek":
            return sql.modulo(days + sql.whole(3), 7)
        inside = (moment_ >= sql.whole(CALENDAR[0])) & (moment_ <= sql.whole(CALENDAR[1]))
        seconds = sql.down(sql.modulo(moment_, 86_400 * 10**6), 10**6)
        clock = {
            "hour": (seconds, 3600),
            "minute": (sql.modulo(seconds, 3600), 60),
            "second": (sql.modulo(seconds, 60), 1),
        }
        if self.part in clock:
            number, by = clock[self.part]
            return sql.case(inside, sql.down(number, by))
        return sql.case(inside, sql.calendar(days)[self.part])

    def text(self, *inputs: str) -> str:
        return f"{inputs[0]}.dt.{self.part}"
