"""pd.cut, pd.crosstab and their like."""

from __future__ import annotations

from typing import Any, TypeVar, overload

from privjail.errors import PlanError, RefusedError
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.cut import Cut
from privjail.ops.numbers.tally import Tally
from privjail.pandas.bins import cut_dates, quantile_cut
from privjail.pandas.dates import kind_of, parsed, spans_of
from privjail.pandas.frame import PrivDataFrame
from privjail.pandas.series import PrivSeries
from privjail.pandas.vectors import Axis, SensitiveDataFrame
from privjail.plan.domain import FloatDomain, IntDomain
from privjail.prisoner import Prisoner
from privjail.rowwise import literal, numeric, same_rows

PrivateT = TypeVar("PrivateT", PrivSeries, PrivDataFrame)


def cut(x: Any, bins: Any, *, right: bool = True, labels: Any = None, include_lowest: bool = False) -> PrivSeries:
    """Numbers into intervals between public edges.

    >>> x = pd.cut(df["age"], [0, 18, 65, 120])
    """
    if not isinstance(x, PrivSeries):
        raise PlanError(f"cut needs a private column, not {type(x).__name__}")
    if kind_of(x._expr):
        return cut_dates(x, bins, right, labels, include_lowest)
    if isinstance(bins, int):
        raise PlanError(
            "cut with a number of bins would take the range from the data", do="give the edges: bins=[0, 10, 20]"
        )
    edges = tuple([literal(float(b) if isinstance(b, float) else b) for b in bins])
    if not all([isinstance(e.value, (int, float)) for e in edges]):
        raise PlanError("the edges of cut must be numbers")
    if labels is False:
        labels = list(range(len(edges) - 1))
    lits = None if labels is None else tuple(literal(label) for label in labels)
    return x._new(Cut(numeric(x._expr), edges, lits, int(right), int(include_lowest)))


def qcut(
    x: Any, q: Any, labels: Any = None, precision: int = 3, duplicates: str = "raise", *, eps: Any = None
) -> PrivSeries:
    """Numbers into intervals that hold about equally many rows: the edges are private quantiles, which eps pays for.

    >>> quarters = pd.qcut(df["cost"], 4, labels=["low", "mid", "high", "top"], eps=1)
    """
    if not isinstance(x, PrivSeries):
        raise PlanError(f"qcut needs a private column, not {type(x).__name__}")
    if eps is None:
        raise RefusedError(
            "qcut releases quantiles of the data, and that has a price: eps= is missing",
            do="say what it may cost: pd.qcut(x, 4, eps=0.1); or use pd.cut with public edges, which is free",
        )
    return quantile_cut(x, q, labels, duplicates, eps)


@overload
def to_datetime(arg: PrivSeries, **options: Any) -> PrivSeries: ...
@overload
def to_datetime(arg: object, **options: Any) -> object: ...
def to_datetime(arg: Any, **options: Any) -> Any:
    """Text or numbers as dates; missing where they are none (pandas: errors="coerce"). Of public values: pandas' own.

    >>> x = pd.to_datetime(df["admitted"])
    """
    import pandas

    if not isinstance(arg, Prisoner):
        return pandas.to_datetime(arg, **options)
    if not isinstance(arg, PrivSeries):
        raise PlanError("to_datetime takes one private column", do='pd.to_datetime(df["date"])')
    return parsed(arg, options)


@overload
def to_timedelta(arg: PrivSeries, unit: Any = None, **options: Any) -> PrivSeries: ...
@overload
def to_timedelta(arg: object, unit: Any = None, **options: Any) -> object: ...
def to_timedelta(arg: Any, unit: Any = None, **options: Any) -> Any:
    """Numbers as spans of time. Of public values: pandas' own.

    >>> discharged = df["admitted"] + pd.to_timedelta(df["days"], unit="D")
    """
    import pandas

    if not isinstance(arg, Prisoner):
        return pandas.to_timedelta(arg, unit=unit, **options)
    if not isinstance(arg, PrivSeries):
        raise PlanError("to_timedelta takes one private column", do='pd.to_timedelta(df["days"], unit="D")')
    return spans_of(arg, unit)


def crosstab(index: Any, columns: Any) -> SensitiveDataFrame:
    """How often each pair of values occurs.

    >>> table = pd.crosstab(df["sex"], df["ward"]).reveal(eps=1)
    """
    if not isinstance(index, PrivSeries) or not isinstance(columns, PrivSeries):
        raise PlanError("crosstab needs two private columns of one table")
    rows, keys = same_rows((index._rows, index._expr), (columns._rows, columns._expr))
    return SensitiveDataFrame(
        Tally(rows, tuple(keys), None), (Axis(index.name, keys[0].domain), Axis(columns.name, keys[1].domain))
    )


def merge(left: Any, right: Any, how: str = "inner", on: Any = None) -> PrivDataFrame:
    """Join a private table with a public one.

    >>> floors = pandas.DataFrame({"ward": ["surgery", "maternity"], "floor": [2, 3]})
    >>> x = pd.merge(df, floors, on="ward")
    """
    if not isinstance(left, PrivDataFrame):
        raise PlanError("merge needs a private table on the left")
    return left.merge(right, how, on)


def to_numeric(arg: Any) -> PrivSeries:
    """Text as numbers; missing where it is none (pandas: errors="coerce").

    >>> x = pd.to_numeric(df["patient"].str.slice(1, 6))
    """
    if not isinstance(arg, PrivSeries):
        raise PlanError(f"to_numeric needs a private column, not {type(arg).__name__}")
    expr = numeric(arg._expr)
    return arg._new(expr if isinstance(expr.domain, (IntDomain, FloatDomain)) else Cast(expr, "Float64"))


@overload
def isna(x: PrivateT) -> PrivateT: ...
@overload
def isna(x: object) -> object: ...
def isna(x: Any) -> Any:
    """Where values are missing.

    >>> x = pd.isna(df["sex"])
    """
    return _own_or_public("isna", x)


@overload
def notna(x: PrivateT) -> PrivateT: ...
@overload
def notna(x: object) -> object: ...
def notna(x: Any) -> Any:
    """Where values are there.

    >>> x = pd.notna(df["sex"])
    """
    return _own_or_public("notna", x)


def _own_or_public(name: str, x: Any) -> Any:
    import pandas

    return getattr(x, name)() if isinstance(x, Prisoner) else getattr(pandas, name)(x)


isnull, notnull = isna, notna
