"""pd.cut, pd.crosstab and their like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from privjail.errors import PlanError, RefusedError, warn
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.cut import Cut
from privjail.pandas.below import concatenated
from privjail.pandas.bins import cut_dates, quantile_cut
from privjail.pandas.dates import kind_of, parsed, spans_of
from privjail.pandas.deferred import Deferred, deferred
from privjail.pandas.dummies import dummies_of, table_dummies
from privjail.pandas.frame import PrivDataFrame
from privjail.pandas.pivot import crossed, normalised
from privjail.pandas.priced import function, no_price
from privjail.pandas.series import PrivSeries
from privjail.pandas.vectors import SensitiveDataFrame
from privjail.plan.domain import FloatDomain, IntDomain
from privjail.prisoner import Prisoner
from privjail.rowwise import literal, numeric
from privjail.statistics.histogram import equal_parts

if TYPE_CHECKING:
    import pandas

PrivateT = TypeVar("PrivateT", PrivSeries, PrivDataFrame)


@function
def cut(x: Any, bins: Any, *, right: bool = True, labels: Any = None, include_lowest: bool = False) -> PrivSeries:
    """Numbers into intervals between public edges.

    >>> x = pd.cut(df["age"], [0, 18, 65, 120])
    """
    if not isinstance(x, PrivSeries):
        raise PlanError(f"cut needs a private column, not {type(x).__name__}")
    if kind_of(x._expr):
        return cut_dates(x, bins, right, labels, include_lowest)
    if isinstance(bins, int) and not isinstance(bins, bool):
        warn(f"cut divides the declared range of the column into {bins} parts; pandas takes the range from the data")
        bins, include_lowest = equal_parts(x._rows, numeric(x._expr), bins), True
    edges = tuple([literal(float(b) if isinstance(b, float) else b) for b in bins])
    if not all([isinstance(e.value, (int, float)) for e in edges]):
        raise PlanError("the edges of cut must be numbers")
    numbered = labels is False
    if numbered:
        labels = list(range(len(edges) - 1))
    lits = None if labels is None else tuple(literal(label) for label in labels)
    found = x._new(Cut(numeric(x._expr), edges, lits, int(right), int(include_lowest)))
    return found.astype("Int64") if numbered else found


@function
def qcut(
    x: Any, q: Any, labels: Any = None, *, precision: int = 3, duplicates: str = "raise", eps: Any = None
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


@overload
def crosstab(index: PrivSeries, columns: PrivSeries) -> SensitiveDataFrame: ...
@overload
def crosstab(index: Any, columns: Any, values: Any = ..., rownames: Any = ..., colnames: Any = ..., aggfunc: Any = ...,
             margins: bool = ..., margins_name: str = ..., dropna: bool = ..., normalize: Any = ..., *,
             eps: Any) -> pandas.DataFrame: ...  # fmt: skip
@overload
def crosstab(index: Any, columns: Any, *, rownames: Any = ..., colnames: Any = ..., margins: bool = ...,
             margins_name: str = ..., dropna: bool = ..., normalize: Any = ...) -> Deferred: ...  # fmt: skip
@function
def crosstab(
    index: Any, columns: Any, values: Any = None, rownames: Any = None, colnames: Any = None, aggfunc: Any = None,
    margins: bool = False, margins_name: str = "All", dropna: bool = True, normalize: Any = False, *, eps: Any = None,
) -> SensitiveDataFrame | Deferred | pandas.DataFrame:  # fmt: skip
    """How often each combination of values occurs, or with values= and aggfunc= a statistic of each combination.

    >>> table = pd.crosstab(df["sex"], df["ward"], normalize="index").reveal(eps=1)
    """
    if values is not None or aggfunc is not None:
        return _crossed_values(index, columns, values, aggfunc, margins, margins_name, eps)
    found = crossed(index, columns, rownames, colnames)
    if normalize is not False or margins:
        step = normalised(normalize, margins, margins_name)
        shown = "shares" if normalize is not False else "margins"
        found = found._then(shown, step) if isinstance(found, Deferred) else deferred(found, shown, step)
    if eps is None:
        return found
    released: pandas.DataFrame = found.reveal(eps=eps)
    return released


def _crossed_values(
    index: Any, columns: Any, values: Any, aggfunc: Any, margins: bool, margins_name: str, eps: Any
) -> pandas.DataFrame:
    if not isinstance(values, PrivSeries) or aggfunc is None:
        raise PlanError("values= and aggfunc= go together", do='values=df["a"], aggfunc="mean"')
    if eps is None:
        raise no_price(values, "crosstab", more=True)
    down, across = (list(x) if isinstance(x, (list, tuple)) else [x] for x in (index, columns))
    keys = {s.name: s for s in [*down, *across]}
    table = values.to_frame("values").assign(**{str(n): s for n, s in keys.items()})
    names = [str(s.name) for s in down], [str(s.name) for s in across]
    return table.pivot_table("values", names[0], names[1], aggfunc, None, margins, True, margins_name, eps=eps)


@function
def pivot_table(
    data: PrivDataFrame, values: Any = None, index: Any = None, columns: Any = None, aggfunc: Any = "mean",
    fill_value: Any = None, margins: bool = False, dropna: bool = True, margins_name: str = "All", *, eps: Any,
) -> pandas.DataFrame:  # fmt: skip
    """Statistics of groups, those of ``index`` down and those of ``columns`` across, for one eps in all.

    >>> x = pd.pivot_table(df, values="cost", index="ward", columns="sex", eps=1)
    """
    if not isinstance(data, PrivDataFrame):
        raise PlanError(f"pivot_table needs a private table, not {type(data).__name__}", do="pandas.pivot_table")
    return data.pivot_table(values, index, columns, aggfunc, fill_value, margins, dropna, margins_name, eps=eps)


@function
def concat(objs: Any, *, axis: Any = 0, join: str = "outer", ignore_index: bool = False) -> PrivDataFrame | PrivSeries:
    """Rows of tables of one population below each other; or columns of the same rows side by side (axis=1).

    A person with rows in several of them moves all of them: the distances add up. Tables have no index, so
    ``ignore_index`` changes nothing.

    >>> x = pd.concat([df[df["age"] < 20], df[df["age"] > 80]])
    >>> x = pd.concat([df["age"], df["days"]], axis=1)
    """
    return concatenated(objs, axis, join)


#: old names of periods that pandas has dropped and people still type
_FREQUENCIES = {"M": "ME", "Q": "QE", "Y": "YE", "A": "YE", "H": "h", "T": "min", "S": "s", "BM": "BME"}


def Grouper(*args: Any, freq: Any = None, **kwargs: Any) -> pandas.Grouper:  # noqa: N802
    """Groups by periods of a column of dates, as a key of groupby.

    >>> x = df.groupby(pd.Grouper(key="admitted", freq="M"))["cost"].sum().reveal(eps=1)
    """
    import pandas

    return pandas.Grouper(*args, freq=_FREQUENCIES.get(freq, freq), **kwargs)


@function
def get_dummies(
    data: Any, prefix: Any = None, prefix_sep: str = "_", dummy_na: bool = False, columns: Any = None,
    sparse: bool = False, drop_first: bool = False, dtype: Any = None,
) -> PrivDataFrame:  # fmt: skip
    """One true/false column for each possible value of a column, or of the columns of a table with categories.

    >>> list(pd.get_dummies(df["sex"]).columns)
    ['F', 'M']
    """
    if isinstance(data, PrivSeries):
        found = dummies_of(data, prefix, prefix_sep, dummy_na, drop_first, dtype)
        return PrivDataFrame(data._rows, found)
    if not isinstance(data, PrivDataFrame):
        raise PlanError(f"get_dummies needs a private table or column, not {type(data).__name__}")
    return table_dummies(data, prefix, prefix_sep, dummy_na, columns, drop_first, dtype)


@function
def merge(
    left: Any, right: Any, how: str = "inner", on: Any = None, left_on: Any = None, right_on: Any = None
) -> PrivDataFrame:
    """Join a private table with a public one.

    >>> floors = pandas.DataFrame({"ward": ["surgery", "maternity"], "floor": [2, 3]})
    >>> x = pd.merge(df, floors, on="ward")
    """
    if not isinstance(left, PrivDataFrame):
        raise PlanError("merge needs a private table on the left")
    return left.merge(right, how, on, left_on, right_on)


@function
def to_numeric(arg: Any, errors: str = "coerce") -> PrivSeries:
    """Text as numbers; missing where it is none (pandas: errors="coerce").

    >>> x = pd.to_numeric(df["patient"].str.slice(1, 6))
    """
    if not isinstance(arg, PrivSeries):
        raise PlanError(f"to_numeric needs a private column, not {type(arg).__name__}")
    if errors != "coerce":
        raise PlanError(
            f"to_numeric(errors={errors!r}) is not offered: an error would show that some text is no number",
            do='errors="coerce" makes it a missing value',
        )
    expr = numeric(arg._expr)
    return arg._new(expr if isinstance(expr.domain, (IntDomain, FloatDomain)) else Cast(expr, "Float64"))


@overload
def isna(obj: PrivateT) -> PrivateT: ...
@overload
def isna(obj: object) -> object: ...
def isna(obj: Any) -> Any:
    """Where values are missing.

    >>> x = pd.isna(df["sex"])
    """
    return _own_or_public("isna", obj)


@overload
def notna(obj: PrivateT) -> PrivateT: ...
@overload
def notna(obj: object) -> object: ...
def notna(obj: Any) -> Any:
    """Where values are there.

    >>> x = pd.notna(df["sex"])
    """
    return _own_or_public("notna", obj)


def _own_or_public(name: str, x: Any) -> Any:
    import pandas

    return getattr(x, name)() if isinstance(x, Prisoner) else getattr(pandas, name)(x)


isnull, notnull = isna, notna
