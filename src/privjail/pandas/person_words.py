"""What pandas does with the rows of each person and a private table cannot, with the reason and what to do instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privjail.ops.rows.per_person import AGGREGATES
from privjail.pandas.identifiers import is_amount
from privjail.pandas.refusals import RefusedAttribute
from privjail.plan.domain import TimeDomain
from privjail.plan.expr import Expr

_ABOVE = "what stands above a row among the rows of its person is not looked at"
_MANY = "a person has one row in the result, and one value in it"
_NAMES = "persons are private, so nobody can be named, and no code runs on the rows of one"
_ORDER = "it needs all values of a person in their order"

# One line: the reason, what to type instead, and the names of pandas that it answers. {p} is the column of persons,
# {c} one of bounded numbers, {o} one of numbers or dates; {d} makes days of dates. What stands in
# `…` runs; tests/pandas/test_persons_as_typed.py runs it.
_TABLE: list[tuple[str, str, str]] = [
    (_ABOVE, 'from her first row on: `(df["{c}"] - df.groupby("{p}")["{c}"].transform("first")){d}`; the mean '
     'step between rows: `per = df.groupby("{p}").agg(first=("{c}", "first"), last=("{c}", "last"), n=("{c}", "size"'
     '))`, then `((per["last"] - per["first"]){d} / (per["n"] - 1)).clip(-10, 10).mean(eps=0.1)`',
     "shift diff pct_change rolling expanding ewm"),
    (_ABOVE, 'her first rows: `df.groupby("{p}").head(3)`; how many she has, in each of them: '
     '`df.groupby("{p}")["{c}"].transform("size")`; what they add up to: `df.groupby("{p}")["{c}"].sum()`',
     "cumcount cumsum cumprod cummax cummin rank ngroup"),
    (_ABOVE, 'fill with her mean: `df["{c}"].fillna(df.groupby("{p}")["{c}"].transform("mean"))`',
     "ffill bfill fillna interpolate"),
    ("rows are counted from the first one", 'sort downwards, and take the first: `df.sort_values("{o}", '
     'ascending=False).groupby("{p}").head(1)`; her last value: `df.groupby("{p}")["{o}"].last()`',
     "tail nlargest nsmallest idxmax idxmin"),
    ("a row is taken by its place only from the first on", 'of those who have a second row: `per = df.groupby("{p}")'
     '.head(2).groupby("{p}").agg(n=("{c}", "size"), second=("{c}", "last"))`, then `per[per["n"] == 2]["second"]`; '
     'her last value: `df.groupby("{p}")["{c}"].last()`', "nth take"),
    (_NAMES, 'keep rows by what is known of their person: `df[df.groupby("{p}")["{c}"].transform("size") > 1]`',
     "filter"),
    (_ORDER, 'whether the middle one lies above a number: `df.assign(high=df["{c}"] > 10).groupby("{p}")["high"]'
     '.mean() > 0.5`; her mean, least and largest value: `df.groupby("{p}")["{c}"].agg(["mean", "min", "max"])`',
     "median quantile"),
    (_MANY, '`df.groupby("{p}")["{c}"].agg(["count", "mean", "std", "min", "max"])`',
     "describe ohlc skew kurt sem hist plot boxplot corr cov corrwith resample"),
    (_MANY, 'how many different ones: `df.groupby("{p}")["{c}"].nunique()`; how many of one kind: `df.assign('
     'high=df["{c}"] > 10).groupby("{p}")["high"].sum()`; her first: `df.groupby("{p}")["{c}"].first()`',
     "value_counts unique mode"),
    (_NAMES, 'compute for all at once: `df.groupby("{p}").agg(n=("{c}", "size"), total=("{c}", "sum"))`; the number '
     'of persons: `df["{p}"].nunique().reveal(eps=0.1)`',
     "apply get_group groups indices ngroups keys level names"),
    ("each would be multiplied with the others", 'add them up: `df.groupby("{p}")["{c}"].sum()`', "prod product"),
    ("a sample is drawn from a whole table", 'the first rows of each person: `df.groupby("{p}").head(3)`', "sample"),
]  # fmt: skip
_WORDS = {name: (why, instead) for why, instead, names in _TABLE for name in names.split()}


def refusal(groups: Any, name: str, column: Any = None) -> RefusedAttribute | None:
    """Why a name of pandas is refused for the rows of each person, and what to type instead."""
    found = _WORDS.get(name)
    if found is None:
        return None
    person, why = groups._names[0], found[0]
    return RefusedAttribute(
        f"{name} of the rows of each {person} is refused: {why}",
        plan=groups._plan(),
        do=_advice(found[1], person, groups._frame._exprs, column),
    )


def _advice(instead: str, person: Any, columns: Mapping[Any, Expr], column: Any) -> str:
    amounts = [n for n, e in columns.items() if is_amount(e)]
    dates = [n for n, e in columns.items() if isinstance(e.domain, TimeDomain)]
    if not amounts:
        return f'use one of {", ".join(AGGREGATES)}: `df.groupby("{person}").size()`'
    number = column if column in amounts or column in dates and "{d}" in instead else amounts[0]
    order = column if column in amounts else (dates or amounts)[0]
    return instead.format(p=person, c=number, o=order, d=".dt.days" if number in dates else "")
