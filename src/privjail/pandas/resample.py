"""resample, pd.Grouper, and a table with dates as its index: groups by day, week or month."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from privjail.errors import PlanError, RefusedError
from privjail.ops.columns.cast import Cast
from privjail.pandas.dates import as_moments, kind_of, moment_of
from privjail.pandas.periods import DAY, Frequency, frequency
from privjail.pandas.series import PrivSeries
from privjail.plan.distance import Distance
from privjail.plan.domain import OrdinalDomain, TimeDomain, type_name
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows
from privjail.prisoner import Prisoner

if TYPE_CHECKING:
    from privjail.pandas.frame import PrivDataFrame
    from privjail.pandas.groups import PrivDataFrameGroupBy, PrivSeriesGroupBy


def resampled(frame: PrivDataFrame, rule: Any, on: Any, options: Mapping[str, Any]) -> PrivSeries:
    """The key of resample(rule, on=…): the period of each date, shown as pandas labels it."""
    if on is None:
        raise PlanError("rows have no public index", do='name the column of dates: df.resample("W", on="date")')
    return period_key(frame._series(on), rule, options)


def period_key(dates: PrivSeries, rule: Any, options: Mapping[str, Any]) -> PrivSeries:
    """The period of each date. Where periods of several days begin is public too: at the declared range's start."""
    if kind_of(dates._expr) != "moment":
        raise PlanError(f"periods are made of dates, not of {type_name(dates.domain)}", do="use a datetime column")
    every = frequency(rule)
    for name, value in options.items():
        if value is not None and (
            name not in ("label", "closed", "sort") or name == "closed" and value != _closed(every)
        ):
            raise PlanError(f"resample({name}={value!r}) has no rule here", do="leave it out, or use label=")
    expr = as_moments(dates._expr)
    domain = expr.domain
    assert isinstance(domain, TimeDomain)
    if not domain.bounded:
        raise PlanError(
            "the periods of unbounded dates cannot be listed",
            do='declare a range in the schema, or clip: df["date"].clip("2020-01-01", "2024-12-31")',
        )
    every = _placed(every, domain, _labelled_right(every, rule))
    wanted = options.get("label") or ("right" if _labelled_right(every, rule) else "left")
    if wanted == "right" and not _labelled_right(every, rule):
        raise PlanError("label='right' has no rule here", do="leave it out: labels are the beginnings of periods")
    every = replace(every, ends=wanted == "right")
    return dates._new(Cast(every.numbers(expr), f"datetime64[{every.tag}]"))


def _placed(every: Frequency, domain: TimeDomain, right: bool) -> Frequency:
    """Periods of several days, weeks or months are counted from the declared range's start, as pandas counts them from
    the first row: the first one begins there, or ends with the first week or month if labels are last days.
    """
    several = every.name[0].isdigit()
    if not several or every.unit == "us" and DAY % every.length == 0:
        return every
    week = "W-" in every.name
    one = frequency(every.name.lstrip("0123456789") if week or every.unit == "month" else "D")
    first = one.number(domain.lower)
    if right:
        first -= every.length // one.length - 1
    return replace(every, origin=first * one.length + one.origin)


def _labelled_right(every: Frequency, rule: Any) -> bool:
    """Weeks and ends of months, quarters and years have their last day as label; days and starts the first."""
    spelled = rule if isinstance(rule, str) else getattr(rule, "freqstr", "")
    base = spelled.strip().lstrip("0123456789 ").split("-")[0]
    return "W-" in every.name or every.unit == "month" and not base.endswith("S")


def _closed(every: Frequency) -> str:
    return "right" if "W-" in every.name or every.unit == "month" else "left"


def group_key(frame: PrivDataFrame, key: Any) -> Any:
    """A key of groupby: pd.Grouper becomes the column that it stands for, dates without a period are refused."""
    if type(key).__name__ in ("Grouper", "TimeGrouper") and type(key).__module__.startswith("pandas"):
        if key.key is None:
            raise PlanError("rows have no public index", do='name the column: pd.Grouper(key="date", freq="W")')
        freq = getattr(key, "freq", None)
        return frame._series(key.key) if freq is None else period_key(frame._series(key.key), freq, {})
    known: Any = key if isinstance(key, Prisoner) else frame._series(key)
    if isinstance(known.domain, TimeDomain):
        name = known.name
        raise PlanError(
            "moments are too many for groups",
            do=f'take days or months of them: df.groupby(df["{name}"].dt.date), or df.resample("W", on="{name}")',
        )
    return key


class Indexed(Prisoner):
    """A table with a column of dates as its index. All but resample, loc and groups goes on with the table."""

    _shown_class = "pandas.core.frame.DataFrame"
    _way_out = "count, sum or average it, and release the result: .resample('W').size().reveal(eps=…)"

    def __init__(self, frame: PrivDataFrame, keys: Any, options: Mapping[str, Any]) -> None:
        if isinstance(keys, (list, tuple)) and len(keys) == 1:
            keys = keys[0]
        if options.get("inplace") or isinstance(keys, (list, tuple, Prisoner)):
            raise PlanError("an index is one column, by its name", do='df = df.set_index("date")')
        self._frame, self._key = frame, keys
        self._dates = frame._series(keys)

    def _rest(self) -> PrivDataFrame:
        return self._frame.drop(columns=[self._key])

    def _plan(self) -> str:
        return self._frame._plan()

    @property
    def distance(self) -> Distance:
        return self._frame.distance

    def __str__(self) -> str:
        return f"{self._rest()!s}\n  index: {self._key}"

    __repr__ = __str__

    def resample(self, rule: Any, **options: Any) -> PrivDataFrameGroupBy:
        """Groups of days, weeks or months of the index."""
        return self._frame.resample(rule, on=self._key, **options)

    def groupby(self, by: Any = None, **options: Any) -> PrivDataFrameGroupBy:
        """Groups by columns, by the index (level=0), or by pd.Grouper(freq=…) of the index."""
        if by is None and options.get("level") in (0, self._key):
            by = self._key
            options = {k: v for k, v in options.items() if k != "level"}
        if by is None:
            raise PlanError("groupby needs a column", do=f'groupby("{self._key}"), or groupby(level=0)')
        keys = list(by) if isinstance(by, (list, tuple)) else [by]
        made = [self._grouper(key) for key in keys]
        return self._frame.groupby(made if isinstance(by, (list, tuple)) else made[0], **options)

    def _grouper(self, key: Any) -> Any:
        timed = type(key).__name__ in ("Grouper", "TimeGrouper") and getattr(key, "key", None) is None
        return period_key(self._dates, key.freq, {}) if timed else key

    def reset_index(self, **options: Any) -> PrivDataFrame:
        """The table with the dates as a column again."""
        return self._frame

    def sort_index(self, ascending: bool = True) -> Indexed:
        """Sorted by the dates."""
        return Indexed(self._frame.sort_values(self._key, ascending=ascending), self._key, {})

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str) and key in self._frame:
            return IndexedColumn(self._frame, self._key, key)
        if isinstance(key, list):
            return Indexed(self._frame[[self._key, *key]], self._key, {})
        if isinstance(key, Prisoner):
            return Indexed(self._frame[key], self._key, {})  # type: ignore[call-overload]
        return self.loc[key]

    @property
    def loc(self) -> DateRows:
        """Rows by date: loc["2024"], loc["2024-03"], loc["2024-01-01":"2024-06-30"]."""
        return DateRows(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._frame and name != self._key:
            return self[name]
        return getattr(self._rest(), name)


class IndexedColumn(PrivSeries):
    """A column of a table with dates as its index. What is computed from it is an ordinary column."""

    def __init__(self, frame: PrivDataFrame, key: Any, column: Any) -> None:
        found = frame._series(column)
        super().__init__(found._rows, found._expr, found.name)
        self._frame, self._key = frame, key

    def _new(self, expr: Expr, rows: Rows | None = None) -> PrivSeries:  # type: ignore[override]
        return PrivSeries(self._rows if rows is None else rows, expr, self.name)

    def resample(self, rule: Any, **options: Any) -> PrivSeriesGroupBy:
        """Groups of days, weeks or months of the index."""
        found: PrivSeriesGroupBy = self._frame.resample(rule, on=self._key, **options)[self.name]
        return found


class DateRows:
    """Rows of a table by the dates of its index."""

    def __init__(self, table: Indexed) -> None:
        self._table = table

    def __getitem__(self, key: Any) -> Any:
        table, dates = self._table, self._table._dates
        if not isinstance(dates.domain, (TimeDomain, OrdinalDomain)):
            raise RefusedError(
                "rows have no public labels: an index of private rows is for dates only",
                do='use a condition on the column: `df[df["g"] == "x"]`',
            )
        rows, columns = key if isinstance(key, tuple) and len(key) == 2 else (key, None)
        if isinstance(rows, Prisoner):
            kept = table._frame[rows]  # type: ignore[call-overload]
        elif isinstance(rows, slice) and rows.step is None:
            kept = table._frame
            for condition in _between(dates, rows.start, rows.stop):
                kept = kept[condition]
        else:
            first, last = _span_of(rows)
            kept = table._frame[(dates >= first) & (dates <= last)]
        found = Indexed(kept, table._key, {})
        return found if columns is None else found[columns]


def _between(dates: PrivSeries, start: Any, stop: Any) -> list[PrivSeries]:
    if start is not None and stop is not None:
        return [(dates >= _span_of(start)[0]) & (dates <= _span_of(stop)[1])]
    return (
        [dates >= _span_of(start)[0]] if start is not None else [dates <= _span_of(stop)[1]] if stop is not None else []
    )


def _span_of(text: Any) -> tuple[Any, Any]:
    """The first and the last moment that a date stands for: all of March for "2024-03", as in pandas."""
    import pandas

    if not isinstance(text, str):
        at = moment_of(text)
        return at, at
    try:
        period = pandas.Period(text)
    except ValueError:
        raise PlanError(f"{text!r} is no date", do='write "2024", "2024-03" or "2024-03-15"') from None
    return period.start_time.to_pydatetime(), period.end_time.floor("us").to_pydatetime()
