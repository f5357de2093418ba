"""Counts and sums over a long table in memory that have no keys: one query, which Polars runs on all processors.

Amounts are rounded to their grid by adding and taking away 1.5 · 2**52 grid steps: between 2**52 and 2**53 steps the
floats are the whole multiples of a step, and ties go to the even one, as in batches.py. No more rows are added up at a
time than have a sum of at most 2**53 steps, so that sums are exact in any order.
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import polars as pl

from privjail.engines.columns import at_once, inputs_first, spelled
from privjail.engines.selections import Array, Table, conditions
from privjail.ops.tally import grid_bounds, on_grid, sum_grid
from privjail.plan.domain import FloatDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.physical import dtype_of

COARSEST = Fraction(2) ** 900  # of the grids on which 2**53 steps are a float


def without_keys(table: Table) -> bool:
    """Whether a table can be had in this way."""
    _, keys, value = table
    if keys:
        return False
    wanted = _expressions(table)
    fits = value is None or not isinstance(value.domain, (IntDomain, FloatDomain)) or sum_grid(value.domain) <= COARSEST
    return fits and all(each.base is not None and at_once(inputs_first(each)) for each in wanted)


def totals(frame: pl.DataFrame, tables: list[Table]) -> list[Array]:
    """The count or sum of each table."""
    found = [0] * len(tables)
    wanted = [_total(table).alias(str(i)) for i, table in enumerate(tables)]
    _check(frame, tables)
    most = min(map(_most_rows, tables))
    for start in range(0, frame.height, most):
        part = frame.slice(start, most).lazy().select(wanted).collect(engine="streaming")
        for i, (table, amount) in enumerate(zip(tables, part.row(0), strict=True)):
            found[i] += _steps(table, amount)
    return [np.asarray(each, dtype=np.int64) for each in found]


def _expressions(table: Table) -> list[Expr]:
    rows, _, value = table
    return [*(conditions(rows) or ()), *(() if value is None else (value,))]


def _total(table: Table) -> pl.Expr:
    rows, _, value = table
    needs = [spelled(inputs_first(each)) for each in conditions(rows) or ()]
    kept = reduce(lambda a, b: a & b, needs) if needs else None
    if value is None:  # null counts as false
        return pl.len() if kept is None else kept.sum()
    amount = _amount(value)
    return amount.sum() if kept is None else pl.when(kept).then(amount).sum()  # missing values add nothing


def _amount(value: Expr) -> pl.Expr:
    """The column that is added up: in steps of the grid where these are 1, else a float that is a multiple of them."""
    column, domain = spelled(inputs_first(value)), value.domain
    if not _rounded(value):
        return column.cast(pl.Int64())
    assert isinstance(domain, (IntDomain, FloatDomain))
    grid = float(sum_grid(domain))
    far = 1.5 * 2.0**52 * grid
    rounded = (column.cast(pl.Float64()) + far) - far
    if on_grid(domain):
        return rounded
    low, high = grid_bounds(domain)  # rounding may pass a bound that is not on the grid
    return rounded.clip(low * grid, high * grid)


def _rounded(value: Expr) -> bool:
    domain = value.domain
    return isinstance(domain, FloatDomain) or isinstance(domain, IntDomain) and sum_grid(domain) != 1


def _most_rows(table: Table) -> int:
    """How many rows can be added up as floats; more than there are where they are not."""
    value = table[2]
    if value is None or not _rounded(value):
        return 2**32
    assert isinstance(value.domain, (IntDomain, FloatDomain))
    return 2**53 // max(1, *map(abs, grid_bounds(value.domain)))


def _steps(table: Table, amount: Any) -> int:
    value = table[2]
    if value is None or not _rounded(value):
        return int(amount)
    assert isinstance(value.domain, (IntDomain, FloatDomain))
    return int(Fraction(amount) / sum_grid(value.domain))


def _check(frame: pl.DataFrame, tables: list[Table]) -> None:
    """The engine's types are those of the rules."""
    wanted = list(dict.fromkeys(each for table in tables for each in _expressions(table)))
    columns = [spelled(inputs_first(each)).alias(str(i)) for i, each in enumerate(wanted)]
    types = frame.lazy().select(columns).collect_schema().dtypes()
    for each, found in zip(wanted, types, strict=True):
        if found != dtype_of(each.domain):
            raise TypeError(f"{type(each).__name__}: the engine gave another type than the rule")
