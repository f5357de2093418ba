"""Statistics of one row over its columns (axis=1): arithmetic. Missing values are left out, as in pandas."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from privjail.errors import PlanError, RefusedError
from privjail.ops.columns.where import FillNull, Where
from privjail.plan.domain import BoolDomain
from privjail.rowwise import compared, constant_like, numeric

if TYPE_CHECKING:
    from privjail.pandas.frame import PrivDataFrame
    from privjail.pandas.series import PrivSeries


def _columns(table: PrivDataFrame) -> list[PrivSeries]:
    columns = [column for _, column in table.items()]
    if not columns:
        raise PlanError("the table has no columns")
    return [column.rename(None) for column in columns]


def _numbers(table: PrivDataFrame) -> list[PrivSeries]:
    return [column._new(numeric(column._expr)) for column in _columns(table)]


def row_counts(table: PrivDataFrame) -> PrivSeries:
    """How many values of each row are there."""
    return reduce(add, [column.notna().astype("Int64") for column in _columns(table)])


def row_sums(table: PrivDataFrame) -> PrivSeries:
    """The sum of each row."""
    filled = [c._new(FillNull(c._expr, constant_like(0))) if c.domain.nullable else c for c in _numbers(table)]
    return reduce(add, filled)


def row_means(table: PrivDataFrame) -> PrivSeries:
    """The mean of each row: it lies between the least and the largest value that a column can hold."""
    found = row_sums(table) / row_counts(table)
    domains: list[Any] = [c.domain for c in _numbers(table)]
    ends = [(domain.lower, domain.upper) for domain in domains]
    if any(end is None for pair in ends for end in pair):
        return found
    return found.clip(float(min(low for low, _ in ends)), float(max(high for _, high in ends)))


def row_extremes(table: PrivDataFrame, op: str) -> PrivSeries:
    """The least or the largest value of each row."""

    def better(a: PrivSeries, b: PrivSeries) -> PrivSeries:
        left, right = FillNull(a._expr, b._expr), FillNull(b._expr, a._expr)
        return a._new(Where(compared(op, left, right), left, right))

    return reduce(better, _numbers(table))


def row_logic(table: PrivDataFrame, name: str, axis: Any) -> PrivSeries:
    """Whether anything, or everything, in each row is true."""
    if axis not in (1, "columns"):
        raise RefusedError(
            f"{name}() down a column is refused: one row decides it",
            do="release how many there are: `df.isna().sum().reveal(eps=0.1)`; row by row: `df.isna().any(axis=1)`",
        )
    columns = _columns(table)
    if not all(isinstance(c.domain, BoolDomain) for c in columns):
        raise PlanError(f"{name}(axis=1) needs true/false columns", do="compare first: (df > 0).any(axis=1)")
    filled = [c.fillna(name == "all") if c.domain.nullable else c for c in columns]
    return reduce(lambda a, b: a | b if name == "any" else a & b, filled)
