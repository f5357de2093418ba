"""Frequencies: days, weeks, months as whole numbers counted from a public origin, and back to dates.

A column of dates becomes one of period numbers by arithmetic on microseconds or on years and months. The range of the
numbers follows from the declared range of the dates, so the periods of a released series are public.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from privjail.errors import PlanError
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.cast import CALENDAR, MOMENT, Cast
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.datetime_part import Part
from privjail.plan.domain import IntDomain, OrdinalDomain, TimeDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, moment

DAY = 86_400 * 10**6
TICKS = {"us": 1, "ms": 1000, "s": 10**6, "min": 60 * 10**6, "h": 3600 * 10**6, "D": DAY}
WEEKDAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
ALIASES = {"d": "D", "H": "h", "T": "min", "S": "s", "L": "ms", "U": "us", "w": "W", "A": "Y", "AS": "YS", "m": "M"}
FIRST_MONDAY = -3 * DAY  # 1969-12-29


@dataclass(frozen=True)
class Frequency:
    """Periods of equal length in ``unit`` ("us" or "month"), the first of which begins at ``origin``."""

    name: str  # as pandas' periods know it: "D", "W-SUN", "M", "Q-DEC", "15min"
    unit: str
    length: int
    origin: int
    ends: bool = False  # labels are the last days of periods, as resample("W") and resample("ME") have them

    # -- on public values

    def number(self, us: int) -> int:
        """The period in which a moment lies."""
        if self.unit == "us":
            return (us - self.origin) // self.length
        at = moment(us)
        return (at.year * 12 + at.month - 1 - self.origin) // self.length

    def start(self, n: int) -> int:
        """The first moment of a period."""
        if self.unit == "us":
            return n * self.length + self.origin
        year, month = divmod(n * self.length + self.origin - 2, 12)  # of years that begin with March, as in first_days
        return DAY * (365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 - 719_468)

    def label(self, n: int) -> int:
        """The moment that stands for a period."""
        return self.start(n + 1) - DAY if self.ends else self.start(n)

    @property
    def tag(self) -> str:
        """The frequency as a unit of whole numbers spells it."""
        origin = "" if replace(read_frequency(self.name), ends=self.ends) == self else f"|{self.origin}"
        return self.name + origin + ("|end" if self.ends else "")

    # -- on columns

    def numbers(self, expr: Expr) -> Expr:
        """The number of each moment's period, within the numbers that the column's range allows."""
        domain = expr.domain
        assert isinstance(domain, TimeDomain)
        if self.unit == "us":
            since: Expr = Cast(expr, "Int64")
        else:
            since = plus(plus(times(Part("year", expr), 12), Part("month", expr)), -1)
        found = over(plus(since, -self.origin), self.length)
        if domain.bounded and self.unit == "month":  # the corners of years and months are wider than the range
            found = Clip(found, *(Lit.of(self.number(b)) for b in domain.range))
        return found

    def starts(self, numbers: Expr) -> Expr:
        """The first moment of each period."""
        if self.unit == "us":
            return Cast(plus(times(numbers, self.length), self.origin), MOMENT)
        days = first_days(plus(times(numbers, self.length), self.origin))
        found: Expr = times(days, DAY)
        domain = numbers.domain
        ends = [self.start(b) for b in domain.range] if isinstance(domain, IntDomain) and domain.bounded else []
        if ends and CALENDAR[0] <= ends[0] <= ends[1] <= CALENDAR[1]:
            found = Clip(found, *map(Lit.of, ends))
        return Cast(found, MOMENT)


# -- arithmetic of whole numbers


def whole(n: int) -> Constant:
    return Constant(Lit.of(n))


def plus(a: Expr, b: Expr | int) -> Expr:
    return a if b == 0 else Arithmetic("+", a, whole(b) if isinstance(b, int) else b)


def times(a: Expr, n: int) -> Expr:
    return a if n == 1 else Arithmetic("*", a, whole(n))


def over(a: Expr, n: int) -> Expr:
    return a if n == 1 else Arithmetic("//", a, whole(n))


def first_days(months: Expr) -> Expr:
    """The day (since 1970) on which each month begins, of months counted from the year 0.

    In years that begin with March every month but the last has its place: leap days come at the end of a year.
    """
    since_march = plus(months, -2)
    year, month = over(since_march, 12), Arithmetic("%", since_march, whole(12))
    days = plus(times(year, 365), over(year, 4))
    days = Arithmetic("-", days, over(year, 100))
    days = plus(plus(days, over(year, 400)), over(plus(times(month, 153), 2), 5))
    return plus(days, -719_468)


# -- reading


@lru_cache(maxsize=512)
def read_frequency(text: str) -> Frequency:
    """A frequency as pandas spells it: "D", "2W-MON", "ME", "QS", "15min"."""
    hit = re.fullmatch(r"\s*(\d{1,6})?\s*([A-Za-z]+)(?:-([A-Za-z]{3}))?\s*", text)
    if hit is None:
        raise _unknown(text)
    count, base, anchor = int(hit[1] or 1), hit[2], (hit[3] or "").upper()
    base = ALIASES.get(base, base)
    if count < 1:
        raise _unknown(text)
    many = "" if count == 1 else str(count)
    if base in TICKS and not anchor:
        return Frequency(many + base, "us", count * TICKS[base], 0)
    if base == "W" and (anchor or "SUN") in WEEKDAYS:
        last = WEEKDAYS.index(anchor or "SUN")
        return Frequency(f"{many}W-{WEEKDAYS[last]}", "us", count * 7 * DAY, FIRST_MONDAY + (last - 6) * DAY)
    if base in ("M", "ME", "MS") and not anchor:
        return Frequency(many + "M", "month", count, 0)
    if base in ("Q", "QE", "QS", "Y", "YE", "YS") and (not anchor or anchor in MONTHS):
        length = 3 if base[0] == "Q" else 12
        # Anchors name the last month of a period; with ...S, the first one.
        last = MONTHS.index(anchor or "DEC") if not (base.endswith("S") and anchor) else MONTHS.index(anchor) - 1
        name = f"{many}{base[0]}-{MONTHS[last % 12]}"
        return Frequency(name, "month", count * length, (last + 1) % length)
    raise _unknown(text)


def _unknown(text: str) -> PlanError:
    return PlanError(
        f"the frequency {text[:40]!r} is not known", do='use "D", "W", "M", "Q", "Y", "h", "min" or "s", as in "2W"'
    )


def frequency(given: Any) -> Frequency:
    """A frequency that an analyst wrote: text, an offset of pandas, or a span of time."""
    if isinstance(given, datetime.timedelta):
        us = given // datetime.timedelta(microseconds=1)
        if us < 1:
            raise PlanError("a frequency is longer than nothing")
        return Frequency(f"{us}us", "us", us, 0)
    spelled = given if isinstance(given, str) else getattr(given, "freqstr", None)
    if not isinstance(spelled, str):
        raise PlanError(f"a frequency is text, not {type(given).__name__}", do='use "D", "W", "M", "Q" or "Y"')
    return read_frequency(spelled)


def tick(given: Any) -> Frequency:
    """A frequency of fixed length, for floor, ceil and round."""
    found = frequency(given)
    if found.unit != "us" or found.name.endswith(WEEKDAYS):
        raise PlanError(
            f"{found.name} has no fixed length", do='use .dt.to_period("M"), or "D", "h", "min", "s" with floor'
        )
    return found


def unit_of(domain: Any) -> tuple[str, str]:
    """What the numbers of a column count: ("timedelta64", "us"), ("period", "M"), ("datetime64", "D"), or ("", "")."""
    hit = re.fullmatch(r"(\w+)\[(.+)\]", domain.unit) if isinstance(domain, OrdinalDomain) else None
    return (hit[1], hit[2]) if hit else ("", "")


@lru_cache(maxsize=512)
def tagged(tag: str) -> Frequency:
    """The frequency that a tag spells."""
    name, *more = tag.split("|")
    found = replace(read_frequency(name), ends="end" in more)
    origins = [int(x) for x in more if x != "end"]
    return replace(found, origin=origins[0]) if origins else found


def labels_of(domain: OrdinalDomain, numbers: Any) -> Any:
    """Public numbers of a column as pandas shows them: a PeriodIndex, DatetimeIndex or TimedeltaIndex."""
    import numpy as np

    import pandas

    kind, tag = unit_of(domain)
    if kind == "timedelta64":
        return pandas.TimedeltaIndex(np.array(list(numbers), dtype="timedelta64[us]"))
    every = tagged(tag)
    moments = np.array([every.label(n) if kind == "datetime64" else every.start(n) for n in numbers], "datetime64[us]")
    index = pandas.DatetimeIndex(moments)
    return index if kind == "datetime64" else index.to_period(every.name)
