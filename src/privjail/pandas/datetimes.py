"""s.dt: parts of dates, periods, rounding, and lengths of spans of time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from privjail.errors import PlanError
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.datetime_part import Part
from privjail.ops.columns.logic import Logic
from privjail.ops.columns.recode import Recode
from privjail.pandas.dates import as_moments, as_numbers, kind_of, span
from privjail.pandas.periods import (
    DAY,
    Frequency,
    frequency,
    over,
    plus,
    tagged,
    tick,
    times,
    unit_of,
    whole,
)
from privjail.pandas.refusals import RefusedAttribute
from privjail.plan.domain import IntDomain, TimeDomain, type_name
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, moment

if TYPE_CHECKING:
    from privjail.pandas.frame import PrivDataFrame
    from privjail.pandas.series import PrivSeries

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December")  # fmt: skip
MOST_TEXTS = 50_000  # different texts that strftime may give
LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
#: The coarsest periods that determine what a directive of strftime shows.
DIRECTIVES = {"Y": "YyGC", "M": "mbBh", "D": "dajAuwUWVxDFe", "h": "HIp", "min": "MR", "s": "SXTr"}
INSTEAD = {
    "time": "use .dt.hour, .dt.minute and .dt.second",
    "timetz": "use .dt.hour, .dt.minute and .dt.second",
    "tz": "dates have no time zone here",
    "tz_localize": "dates have no time zone here: leave it out",
    "tz_convert": 'dates have no time zone here: shift them, as in df["t"] + pd.Timedelta(hours=9)',
    "week": "use .dt.isocalendar().week",
    "weekofyear": "use .dt.isocalendar().week",
    "nanosecond": "moments are held to the microsecond",
    "nanoseconds": "spans are held to the microsecond",
    "freq": 'name the frequency yourself: .dt.to_period("M")',
    "to_pydatetime": "it would show rows: release counts by .dt.date instead",
    "to_pytimedelta": "it would show rows: release .dt.days instead",
    "qyear": "use .dt.year",
    "unit": "moments are held to the microsecond",
    "as_unit": "leave it out: moments are held to the microsecond",
}


class DateTimes:
    """Parts of dates, days and months of them, and lengths of spans of time."""

    def __init__(self, series: PrivSeries) -> None:
        if not kind_of(series._expr):
            raise RefusedAttribute(
                f"PrivSeries.dt is refused: a {type_name(series.domain)} column holds no dates",
                do='declare the column as "datetime" in the schema, or use pd.to_datetime(column)',
            )
        self._series = series

    def _moments(self) -> Expr:
        if kind_of(self._series._expr) == "span":
            raise PlanError("a span of time has no calendar", do="use .dt.days, .dt.seconds or .dt.total_seconds()")
        return as_moments(self._series._expr)

    def _new(self, expr: Expr) -> PrivSeries:
        return self._series._new(expr)

    def _part(self, name: str) -> PrivSeries:
        return self._new(Part(name, self._moments()))

    # -- parts

    @property
    def year(self) -> PrivSeries:
        """The year.

        >>> x = df["admitted"].dt.year
        """
        return self._part("year")

    @property
    def quarter(self) -> PrivSeries:
        """The quarter, 1 to 4.

        >>> x = df["admitted"].dt.quarter
        """
        return self._part("quarter")

    @property
    def month(self) -> PrivSeries:
        """The month, 1 to 12.

        >>> x = df["admitted"].dt.month
        """
        return self._part("month")

    @property
    def day(self) -> PrivSeries:
        """The day of the month.

        >>> x = df["admitted"].dt.day
        """
        return self._part("day")

    @property
    def hour(self) -> PrivSeries:
        """The hour, 0 to 23.

        >>> x = df["admitted"].dt.hour
        """
        return self._part("hour")

    @property
    def minute(self) -> PrivSeries:
        """The minute.

        >>> x = df["admitted"].dt.minute
        """
        return self._part("minute")

    @property
    def second(self) -> PrivSeries:
        """The second.

        >>> x = df["admitted"].dt.second
        """
        return self._part("second")

    @property
    def microsecond(self) -> PrivSeries:
        """The microsecond.

        >>> x = df["admitted"].dt.microsecond
        """
        return self._new(Arithmetic("%", Cast(self._moments(), "Int64"), whole(10**6)))

    @property
    def dayofweek(self) -> PrivSeries:
        """The day of the week: Monday is 0.

        >>> x = df["admitted"].dt.dayofweek
        """
        return self._part("dayofweek")

    weekday = dayofweek
    day_of_week = dayofweek

    @property
    def dayofyear(self) -> PrivSeries:
        """The day of the year, from 1.

        >>> x = df["admitted"].dt.dayofyear
        """
        return self._part("dayofyear")

    day_of_year = dayofyear

    @property
    def days_in_month(self) -> PrivSeries:
        """The number of days of the month.

        >>> x = df["admitted"].dt.days_in_month
        """
        lengths = self.month.map(dict(enumerate(LENGTHS, 1)))
        return lengths + ((self.month == 2) & self.is_leap_year).astype("Int64")

    daysinmonth = days_in_month

    @property
    def is_leap_year(self) -> PrivSeries:
        """Whether the year has a 29 February.

        >>> x = df["admitted"].dt.is_leap_year
        """
        year = self.year
        return self._flag(((year % 4 == 0) & (year % 100 != 0)) | (year % 400 == 0))

    @property
    def is_month_start(self) -> PrivSeries:
        """Whether it is the first day of a month.

        >>> x = df["admitted"].dt.is_month_start
        """
        return self._flag(self.day == 1)

    @property
    def is_month_end(self) -> PrivSeries:
        """Whether it is the last day of a month.

        >>> share = df["admitted"].dt.is_month_end.mean(eps=1)
        """
        return self._flag(self._tomorrow().day == 1)

    @property
    def is_quarter_start(self) -> PrivSeries:
        """Whether it is the first day of a quarter.

        >>> x = df["admitted"].dt.is_quarter_start
        """
        return self._flag((self.day == 1) & (self.month % 3 == 1))

    @property
    def is_quarter_end(self) -> PrivSeries:
        """Whether it is the last day of a quarter.

        >>> x = df["admitted"].dt.is_quarter_end
        """
        tomorrow = self._tomorrow()
        return self._flag((tomorrow.day == 1) & (tomorrow.month % 3 == 1))

    @property
    def is_year_start(self) -> PrivSeries:
        """Whether it is 1 January.

        >>> x = df["admitted"].dt.is_year_start
        """
        return self._flag(self.dayofyear == 1)

    @property
    def is_year_end(self) -> PrivSeries:
        """Whether it is 31 December.

        >>> x = df["admitted"].dt.is_year_end
        """
        return self._flag(self._tomorrow().dayofyear == 1)

    def _tomorrow(self) -> DateTimes:
        return DateTimes(self._new(self._moments()) + _timedelta(DAY))

    @staticmethod
    def _flag(found: PrivSeries) -> PrivSeries:
        """False where the date is missing, as in pandas."""
        return found.fillna(False) if found.domain.nullable else found

    def isocalendar(self) -> PrivDataFrame:
        """Year, week and day by ISO 8601, as a table of three columns.

        >>> counts = df["admitted"].dt.isocalendar().week.value_counts(sort=False).reveal(eps=1)
        """
        from privjail.pandas.frame import PrivDataFrame

        # A week belongs to the year of its Thursday.
        day = over(Cast(self._moments(), "Int64"), DAY)
        weekday = Part("dayofweek", self._moments())
        thursday = Cast(times(plus(Arithmetic("-", day, weekday), 3), DAY), "datetime64[us]")
        week = plus(over(plus(Part("dayofyear", thursday), -1), 7), 1)
        return PrivDataFrame(
            self._series._rows, {"year": Part("year", thursday), "week": week, "day": plus(weekday, 1)}
        )

    def day_name(self, locale: None = None) -> PrivSeries:
        """The English name of the day of the week, as a category.

        >>> counts = df["admitted"].dt.day_name().value_counts(sort=False).reveal(eps=1)
        """
        return self._part("dayofweek").map(dict(enumerate(DAYS)))

    def month_name(self, locale: None = None) -> PrivSeries:
        """The English name of the month, as a category.

        >>> x = df["admitted"].dt.month_name()
        """
        return self._part("month").map(dict(enumerate(MONTHS, 1)))

    # -- days, weeks, months

    def _numbered(self, every: Frequency, unit: str) -> PrivSeries:
        return self._new(Cast(every.numbers(self._moments()), f"{unit}[{every.tag}]"))

    @property
    def date(self) -> PrivSeries:
        """The day, without the time; days of the declared range can be counted.

        >>> daily = df.groupby(df["admitted"].dt.date).size().reveal(eps=1)
        """
        return self._numbered(frequency("D"), "datetime64")

    def normalize(self) -> PrivSeries:
        """The day at midnight.

        >>> x = df["admitted"].dt.normalize()
        """
        return self.date

    def floor(self, freq: Any) -> PrivSeries:
        """The beginning of the day, hour, … that a moment lies in.

        >>> x = df["admitted"].dt.floor("D")
        """
        every = tick(freq)
        if kind_of(self._series._expr) == "span":
            return self._rounded_span(over(as_numbers(self._series._expr), every.length), every)
        return self._numbered(every, "datetime64")

    def ceil(self, freq: Any) -> PrivSeries:
        """The end of the day, hour, … that a moment lies in; a moment at its beginning stays.

        >>> x = df["admitted"].dt.ceil("h")
        """
        every = tick(freq)
        return self._rounded(every, over(plus(as_numbers(self._series._expr), every.length - 1), every.length))

    def round(self, freq: Any) -> PrivSeries:
        """The nearest beginning of a day, hour, …; from the middle to the even one.

        >>> x = df["admitted"].dt.round("h")
        """
        every = tick(freq)
        moved = plus(as_numbers(self._series._expr), every.length // 2)
        near = over(moved, every.length)
        if every.length % 2 == 0:
            middle = Compare("==", Arithmetic("%", moved, whole(every.length)), Lit.of(0))
            odd = Compare("==", Arithmetic("%", near, whole(2)), Lit.of(1))
            near = Arithmetic("-", near, Cast(Logic("&", middle, odd), "Int64"))
        return self._rounded(every, near)

    def _rounded(self, every: Frequency, numbers: Expr) -> PrivSeries:
        if kind_of(self._series._expr) == "span":
            return self._rounded_span(numbers, every)
        return self._new(Cast(numbers, f"datetime64[{every.tag}]"))

    def _rounded_span(self, numbers: Expr, every: Frequency) -> PrivSeries:
        return self._new(span(times(numbers, every.length)))

    def to_period(self, freq: Any = None) -> PrivSeries:
        """The day, week, month, quarter or year of each date; those of the declared range can be counted.

        >>> monthly = df.groupby(df["admitted"].dt.to_period("M"))["cost"].mean(eps=1)
        """
        if freq is None:
            raise PlanError("which period fits the data is private", do='name it: .dt.to_period("M")')
        return self._numbered(frequency(freq), "period")

    def to_timestamp(self, freq: Any = None, how: str = "start") -> PrivSeries:
        """The first day of each period.

        >>> x = df["admitted"].dt.to_period("M").dt.to_timestamp()
        """
        series = self._series
        if kind_of(series._expr) != "period" or how not in ("start", "S", "s"):
            raise PlanError("to_timestamp takes periods to their start", do='.dt.to_period("M").dt.to_timestamp()')
        return self._new(Cast(Cast(series._expr, "Int64"), f"datetime64[{unit_of(series.domain)[1]}]"))

    @property
    def start_time(self) -> PrivSeries:
        """The first moment of each period.

        >>> x = df["admitted"].dt.to_period("M").dt.start_time
        """
        return self.to_timestamp()

    @property
    def end_time(self) -> PrivSeries:
        """The last moment of each period, to the microsecond.

        >>> x = df["admitted"].dt.to_period("M").dt.end_time
        """
        self.to_timestamp()
        every = tagged(unit_of(self._series.domain)[1])
        after = Cast(every.starts(plus(Cast(self._series._expr, "Int64"), 1)), "Int64")
        return self._new(Cast(plus(after, -1), "datetime64[us]"))

    def strftime(self, date_format: str) -> PrivSeries:
        """Dates as text, each possible one a category.

        >>> counts = df["admitted"].dt.strftime("%Y-%m").value_counts(sort=False).reveal(eps=1)
        """
        numbers, texts = _texts(self._moments(), date_format)
        pairs = tuple((Lit.of(n), Lit.of(text)) for n, text in texts.items())
        return self._new(Recode(numbers, pairs, 0))

    # -- spans of time

    def _span(self) -> Expr:
        if kind_of(self._series._expr) != "span":
            raise PlanError(
                "this is a part of a span of time", do='subtract dates first: (df["out"] - df["in"]).dt.days'
            )
        return as_numbers(self._series._expr)

    @property
    def days(self) -> PrivSeries:
        """Whole days of a span, rounded down.

        >>> x = (pd.Timestamp("2026-01-01") - df["admitted"]).dt.days
        """
        return self._new(over(self._span(), DAY))

    @property
    def seconds(self) -> PrivSeries:
        """Seconds of a span beyond its whole days.

        >>> x = (pd.Timestamp("2026-01-01") - df["admitted"]).dt.seconds
        """
        return self._new(over(Arithmetic("%", self._span(), whole(DAY)), 10**6))

    @property
    def microseconds(self) -> PrivSeries:
        """Microseconds of a span beyond its whole seconds.

        >>> x = (pd.Timestamp("2026-01-01") - df["admitted"]).dt.microseconds
        """
        return self._new(Arithmetic("%", self._span(), whole(10**6)))

    def total_seconds(self) -> PrivSeries:
        """The length of a span in seconds.

        >>> hours = (pd.Timestamp("2026-01-01") - df["admitted"]).dt.total_seconds() / 3600
        """
        return self._new(Arithmetic("/", self._span(), whole(10**6)))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            named = ", ".join(n for n in dir(type(self)) if not n.startswith("_"))
            raise RefusedAttribute(f".dt.{name} is not offered", do=INSTEAD.get(name, f"use one of {named}"))


def _timedelta(us: int) -> Any:
    import pandas

    return pandas.Timedelta(microseconds=us)


def _texts(moments: Expr, date_format: str) -> tuple[Expr, dict[int, str]]:
    """Numbers of the periods that decide what a format shows, and the text of each."""
    letters = {c.lstrip("-#") for c in re.findall(r"%([-#]?.)", date_format)} - {"%"}
    known = "".join(DIRECTIVES.values())
    if not isinstance(date_format, str) or not letters <= set(known):
        raise PlanError(
            f"strftime knows the directives {', '.join('%' + c for c in known)}", do='write a format such as "%Y-%m-%d"'
        )
    finest = next((name for name in reversed(DIRECTIVES) if letters & set(DIRECTIVES[name])), "Y")
    every, domain = frequency(finest), moments.domain
    assert isinstance(domain, TimeDomain)
    numbers = every.numbers(moments)
    first = 0
    if not letters & set(DIRECTIVES["Y"] + DIRECTIVES["M"] + DIRECTIVES["D"]):  # the time of the day alone
        numbers = Arithmetic("%", numbers, whole(DAY // every.length))
    elif letters <= set("aAuw"):  # the day of the week alone: that of 5 January 1970 and after
        numbers, first = Part("dayofweek", moments), 4
    elif letters <= set(DIRECTIVES["M"]):
        numbers, first = plus(Part("month", moments), -1), 1970 * 12
    found = numbers.domain
    if not isinstance(found, IntDomain) or not found.bounded:
        raise PlanError(
            "the texts of unbounded dates are too many", do='clip the dates: .clip("2020-01-01", "2024-12-31")'
        )
    if found.upper - found.lower >= MOST_TEXTS:
        raise PlanError(
            f"strftime would give more than {MOST_TEXTS} different texts", do="clip the dates, or leave out the time"
        )
    texts = {n: moment(every.start(n + first)).strftime(date_format) for n in range(found.lower, found.upper + 1)}
    return numbers, texts
