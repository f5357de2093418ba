"""Columns of dates and spans of time: constants, comparisons and arithmetic.

Everything is a program over whole numbers: a moment is its number of microseconds since 1970, a span its length in
microseconds, a day or month its number. The unit of a column (plan/domain.py) says which it is.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from privjail.errors import PlanError
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.cast import MOMENT, Cast
from privjail.ops.columns.clip import Clip
from privjail.pandas.operators import COMPARISONS
from privjail.pandas.periods import DAY, TICKS, over, plus, tagged, unit_of, whole
from privjail.plan.domain import (
    CategoryDomain,
    Domain,
    IntDomain,
    TextDomain,
    TimeDomain,
    type_name,
)
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, micros
from privjail.prisoner import Prisoner
from privjail.rowwise import compared, is_missing, numeric, same_rows

if TYPE_CHECKING:
    from privjail.pandas.series import PrivSeries

SPAN = "timedelta64[us]"


# -- what a column is


def kind_of(expr: Expr) -> str:
    """ "moment", "span", "period", or "" for all other columns. Days and other rounded moments are moments."""
    if isinstance(expr.domain, TimeDomain):
        return "moment"
    return {"timedelta64": "span", "period": "period", "datetime64": "moment"}.get(unit_of(expr.domain)[0], "")


def as_moments(expr: Expr) -> Expr:
    """Moments to the microsecond, from a column of moments or periods."""
    if isinstance(expr.domain, TimeDomain):
        return expr
    every = tagged(unit_of(expr.domain)[1])
    number = Cast(expr, "Int64")
    if every.ends:
        after = Cast(every.starts(plus(number, 1)), "Int64")
        return Cast(plus(after, -DAY), MOMENT)
    return every.starts(number)


def as_numbers(expr: Expr) -> Expr:
    """Microseconds (of moments and spans), or the numbers of periods."""
    if kind_of(expr) == "moment":
        expr = as_moments(expr)
    return Cast(expr, "Int64")


def span(numbers: Expr) -> Expr:
    return Cast(numbers, SPAN)


# -- public constants


def moment_of(value: Any) -> datetime.datetime:
    """A date that an analyst wrote: text, a date, a datetime, a Timestamp, a Period or a datetime64."""
    import pandas

    if (
        isinstance(value, bool)
        or not isinstance(value, (str, datetime.date, pandas.Period))
        and not _of_numpy(value, "M")
    ):
        raise PlanError(f"dates are compared with dates, not with a {type(value).__name__}", do='write "2024-01-31"')
    try:
        found = value.start_time if isinstance(value, pandas.Period) else pandas.Timestamp(value)
        if is_missing_date(found):
            raise PlanError("nothing compares with a missing date", do="use .isna() to look for missing values")
        if found.tzinfo is not None:
            raise PlanError(
                "dates have no time zone here", do="write the time without one, as in the data: .tz_localize(None)"
            )
        return found.to_pydatetime(warn=False)
    except (ValueError, OverflowError):
        raise PlanError(f"{value!r} is no date", do='write it as "2024-01-31" or "2024-01-31 12:00"') from None


def span_of(value: Any) -> int:
    """A span of time that an analyst wrote, in microseconds."""
    import pandas

    if not is_span(value) and not isinstance(value, str):
        raise PlanError(
            f"a span of time is needed, not a {type(value).__name__}",
            do='write pd.Timedelta("2 days"), or use .dt.days',
        )
    try:
        found = pandas.Timedelta(**value.kwds) if _fixed_days(value) else pandas.Timedelta(value)
    except ValueError:
        raise PlanError(f"{value!r} is no span of time", do='write it as "2 days" or "36 hours"') from None
    if is_missing_date(found):
        raise PlanError("nothing compares with a missing span", do="use .isna() to look for missing values")
    return found // pandas.Timedelta(microseconds=1)


def is_span(value: Any) -> bool:
    """Whether a constant is a span of time; offsets of pandas are, if their length is fixed."""
    if type(value).__module__.startswith("pandas") and hasattr(value, "freqstr") and not hasattr(value, "ordinal"):
        if _no_nanos(value) and not _fixed_days(value):
            raise PlanError(f"an offset of {value.freqstr} has no fixed length", do="add days: + pd.Timedelta(days=30)")
        return True
    return isinstance(value, datetime.timedelta) or _of_numpy(value, "m")


def _fixed_days(value: Any) -> bool:
    """pd.DateOffset(days=3): one step of days, hours, … and nothing else."""
    lengths = {"weeks", "days", "hours", "minutes", "seconds", "microseconds"}
    steps = set(getattr(value, "kwds", None) or ())
    return type(value).__name__ == "DateOffset" and bool(steps) and steps <= lengths and bool(value.n == 1)


def _no_nanos(value: Any) -> bool:
    try:
        return value.nanos is None
    except (AttributeError, ValueError):
        return True


def _of_numpy(value: Any, kind: str) -> bool:
    return type(value).__module__ == "numpy" and getattr(getattr(value, "dtype", None), "kind", "") == kind


def is_moment(value: Any) -> bool:
    return isinstance(value, datetime.date) or _of_numpy(value, "M")


def number_of(expr: Expr, value: Any) -> int:
    """A public value as the whole number that a column of dates, spans or periods would hold."""
    match kind_of(expr):
        case "span":
            return span_of(value)
        case "period":
            return tagged(unit_of(expr.domain)[1]).number(micros(moment_of(value)))
    return micros(moment_of(value))


def fitted(expr: Expr, value: Any) -> Any:
    """A public value as a column of this type takes it: text becomes a date where the column holds dates."""
    if (
        isinstance(value, Prisoner)
        or callable(value)
        or not isinstance(expr.domain, TimeDomain)
        or is_missing_date(value)
    ):
        return value
    return moment_of(value)


def is_missing_date(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NaTType", "NAType") or isinstance(value, float) and value != value


# -- operators


def operated(series: PrivSeries, op: str, other: Any, flip: bool) -> Any:
    """An operator with a column of dates, spans or periods; None if neither operand holds dates."""
    kind = kind_of(series._expr)
    theirs = kind_of(other._expr) if _is_series(other) else ""
    if not kind and not theirs:
        return None
    if op in COMPARISONS:
        return _compared(series, op, other, kind, theirs)
    if isinstance(other, Prisoner) and not _is_series(other):
        return None
    if _is_series(other):
        rows, (a, b) = same_rows((series._rows, series._expr), (other._rows, other._expr))
    else:
        rows, a = series._rows, series._expr
        theirs, b = _constant(a, kind, op, other)
    if flip:
        a, b, kind, theirs = b, a, theirs, kind
    return series._new(_computed(op, a, b, kind, theirs), rows)


def _is_series(x: Any) -> bool:
    return isinstance(x, Prisoner) and hasattr(type(x), "to_frame") and hasattr(type(x), "dt")


def _constant(expr: Expr, kind: str, op: str, value: Any) -> tuple[str, Expr]:
    """A constant beside a column of dates: what it is, and its number."""
    if is_span(value) or kind == "span" and isinstance(value, str):
        return "span", whole(span_of(value))
    if is_moment(value) or isinstance(value, str):
        return "moment", whole(micros(moment_of(value)))
    if is_missing(value):
        raise PlanError("a missing value is no constant", do="use .mask(…) to make values missing")
    if kind == "span" and op == "-" and value == 0:  # how -x is spelled
        return "span", whole(0)
    return "", Constant(Lit.of(value.item() if type(value).__module__ == "numpy" else value))


def _computed(op: str, a: Expr, b: Expr, kind: str, theirs: str) -> Expr:
    """a op b, of what each of them is."""
    x, y = (as_numbers(e) if kind_of(e) else e for e in (a, b))
    match (kind, op, theirs):
        case ("moment", "-", "moment"):
            return span(Arithmetic("-", x, y))
        case ("moment", "+" | "-", "span") | ("span", "+", "moment"):
            return Cast(Arithmetic(op, x, y), MOMENT)
        case ("span", "+" | "-", "span"):
            return span(Arithmetic(op, x, y))
        case ("span", "%", "span"):
            return span(Arithmetic(op, x, y))
        case ("span", "/" | "//", "span"):
            return Arithmetic(op, x, y)
        case ("span", "*" | "/", "") | ("", "*", "span"):
            made = Arithmetic(op, x, y)
            return span(Cast(made, "Int64"))
        case ("span", "//", ""):
            return span(Cast(Arithmetic(op, x, y), "Int64"))
        case ("period", "-", "period") if unit_of(a.domain) == unit_of(b.domain):
            return Arithmetic("-", x, y)
        case ("period", "+" | "-", ""):
            return Cast(Arithmetic(op, x, y), type_name(a.domain))
    named = {"": "a number", "moment": "dates", "span": "spans of time", "period": "periods"}
    raise PlanError(
        f"{named[kind]} {op} {named[theirs]} has no meaning",
        do='subtract dates, or add pd.Timedelta("2 days"); take numbers by .dt.days or .dt.total_seconds()',
    )


def _compared(series: PrivSeries, op: str, other: Any, kind: str, theirs: str) -> Any:
    if _is_series(other):
        if kind != theirs or kind == "period" and unit_of(series.domain) != unit_of(other.domain):
            raise PlanError(f"{type_name(series.domain)} is not compared with {type_name(other.domain)}")
        rows, (a, b) = same_rows((series._rows, series._expr), (other._rows, other._expr))
        if kind == "moment":
            return series._new(compared(op, as_moments(a), as_moments(b)), rows)
        return _as_pandas(series._new(compared(op, Cast(a, "Int64"), Cast(b, "Int64")), rows), op)
    if isinstance(other, Prisoner):
        return None
    a = series._expr
    if kind == "moment":
        found = _aligned(a, op, other)
        return series._new(compared(op, as_moments(a), moment_of(other))) if found is None else series._new(found)
    return _as_pandas(series._new(compared(op, a, number_of(a, other))), op)


def _aligned(expr: Expr, op: str, value: Any) -> Expr | None:
    """== and != with the label of a day, week, …: a test of its number, which names a group of its own."""
    if op not in ("==", "!=") or isinstance(expr.domain, TimeDomain):
        return None
    at, every = micros(moment_of(value)), tagged(unit_of(expr.domain)[1])
    number = every.number(at)
    if every.label(number) != at:
        return None
    return compared(op, expr, number)


def _as_pandas(found: PrivSeries, op: str) -> PrivSeries:
    """Compared with a missing span or period: false, and true for !=, as in pandas."""
    return found.fillna(op == "!=") if found.domain.nullable else found


# -- other row-wise functions


def clipped(series: PrivSeries, lower: Any, upper: Any) -> Any:
    """clip of dates and spans; None for other columns."""
    kind = kind_of(series._expr)
    if not kind:
        return None
    if kind == "period":
        raise PlanError(
            "periods are not clipped", do='clip the dates first: df["date"].clip("2024-01-01", "2024-12-31")'
        )
    ends = [Lit.of(None if is_missing_date(x) else number_of(series._expr, x)) for x in (lower, upper)]
    made = Clip(as_numbers(series._expr), *ends)
    return series._new(Cast(made, MOMENT if kind == "moment" else SPAN))


def listed(expr: Expr, values: Any) -> tuple[Expr, list[Any]]:
    """A column and the values of isin, as the column holds them."""
    if not kind_of(expr):
        return expr, list(values)
    if kind_of(expr) == "moment":
        return as_moments(expr), [v if is_missing_date(v) else moment_of(v) for v in values]
    return Cast(expr, "Int64"), [v if is_missing_date(v) else number_of(expr, v) for v in values]


def shown_type(domain: Domain) -> str:
    """The type of a column as pandas calls it."""
    return MOMENT if unit_of(domain)[0] == "datetime64" else type_name(domain)


def statistic(series: PrivSeries, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """mean, median, min, max, … of moments (to the day) or spans (in microseconds), in their own type."""
    import pandas

    kind, expr = kind_of(series._expr), series._expr
    if kind == "period" or kind == "moment" and name == "std":
        raise PlanError(
            f"{name} of {type_name(series.domain)} has no rule",
            do='subtract a date first: (df["date"] - pd.Timestamp("2024-01-01")).dt.days',
        )
    numbers = over(as_numbers(expr), DAY if kind == "moment" else 1)
    found = getattr(series._new(numbers), name)(*args, **kwargs)
    if kind == "span":
        made = found.round() if isinstance(found, pandas.Series) else round(float(found))
        return pandas.to_timedelta(made, unit="us")
    days = pandas.to_timedelta(found if isinstance(found, pandas.Series) else float(found), unit="D")
    return pandas.Timestamp(0) + days


def dates_since(series: PrivSeries, unit: str) -> Any:
    """Numbers of seconds, days, … since 1970 as dates."""
    return series._new(Cast(_microseconds(series._expr, unit), MOMENT))


def spans_of(series: PrivSeries, unit: str | None) -> Any:
    """Numbers of seconds, days, … as spans of time."""
    if kind_of(series._expr) == "span":
        return series
    if unit is None:
        raise PlanError("the unit of the numbers is needed", do='pd.to_timedelta(x, unit="D")')
    return series._new(span(_microseconds(series._expr, unit)))


def _microseconds(expr: Expr, unit: str) -> Expr:
    names = {"d": "D", "days": "D", "day": "D", "hours": "h", "hour": "h", "H": "h", "minutes": "min", "m": "min",
             "seconds": "s", "sec": "s", "milliseconds": "ms", "microseconds": "us"}  # fmt: skip
    length = TICKS.get(names.get(unit, unit), 7 * DAY if unit in ("W", "w") else None)
    if length is None:
        raise PlanError(f"the unit {unit!r} is not known", do='use "D", "h", "min", "s", "ms" or "us"')
    made = Arithmetic("*", numeric(expr), whole(length))
    return made if isinstance(made.domain, IntDomain) else Cast(made, "Int64")


def parsed(series: PrivSeries, options: Mapping[str, Any]) -> Any:
    """Text, categories or numbers of seconds as dates; missing where they are none."""
    given = {name: value for name, value in options.items() if value not in (None, False)}
    unknown = set(given) - {"format", "unit", "errors", "exact", "cache", "infer_datetime_format"}
    if unknown & {"dayfirst", "yearfirst"} and "format" in given:
        unknown -= {"dayfirst", "yearfirst"}  # the format says it
    if unknown:
        raise PlanError(
            f"to_datetime({unknown.pop()}=…) has no rule: dates have no time zone here, and no guessed format",
            do='say how they are written: pd.to_datetime(x, format="%d/%m/%Y")',
        )
    if given.get("errors", "coerce") not in ("coerce", "raise"):
        raise PlanError("what is no date becomes missing", do='use errors="coerce"')
    if "unit" in given:
        return dates_since(series, given["unit"])
    return _read(series, given.get("format"))


def _read(series: PrivSeries, format: str | None) -> Any:
    import pandas

    expr = series._expr
    if kind_of(expr) == "moment":
        return series
    if kind_of(expr) == "period":
        return series._new(as_moments(expr))
    if isinstance(expr.domain, CategoryDomain):
        labels = expr.domain.categories
        texts = pandas.Series([str(c) for c in labels], dtype="string")
        found = pandas.to_datetime(texts, errors="coerce", format=format or "mixed")
        return series.map({c: None if is_missing_date(d) else d for c, d in zip(labels, found, strict=True)})
    if isinstance(expr.domain, TextDomain):
        from privjail.pandas.parsing import dates_of

        return series._new(dates_of(expr, format or "%Y-%m-%d"))
    raise PlanError(
        f"a {type_name(expr.domain)} column is no date", do='give the unit of numbers: pd.to_datetime(x, unit="s")'
    )
