"""Counts and sums over a long table in memory: Polars queries that run on all processors.

Without keys, one query gives the numbers. With keys, a query gives each row its place in the table and its amount, for
a part of the rows at a time; NumPy adds them up, while the next part is computed.

Amounts are floats that are multiples of their grid. No more rows are added up at a time than have a sum of at most
2**53 steps, so that sums are exact in any order.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from functools import cache, reduce
from math import prod
from typing import Any

import numpy as np
import polars as pl

from privjail.engines.polars.columns import (
    LARGE,
    Array,
    code,
    conditions,
    flattened,
    in_a_group,
    is_rounded,
    shape_of,
    spelled_size,
    to_polars,
    whole_amounts,
)
from privjail.engines.polars.narrowed import clipped_once
from privjail.ops.numbers.tally import Tally, grid_bounds, nearest, rounded, sum_grid
from privjail.ops.polars_types import dtype_of
from privjail.plan.domain import FloatDomain, IntDomain
from privjail.plan.expr import Expr, column_steps
from privjail.plan.rows import Rows

COARSEST = Fraction(2) ** 900  # of the grids on which 2**53 steps are a float
PART = 1 << 20  # rows whose places are held at a time, for one table
HELD = 1 << 26  # bytes of places and amounts that are held at a time, for all tables
MOST_STEPS = 1_000  # of one query, for each row
STEPS_AT_ONCE = 1 << 28  # of one query, for all rows that it is given: it cannot be cut short
LEAST = 1 << 18  # rows that a query is given however many steps it has


def in_one_query(table: Tally) -> bool:
    """Whether a table can be had in this way."""
    value = table.value
    fits = value is None or not is_rounded(value.domain) or _grid(value) <= COARSEST
    return fits and all(each.base is not None for each in _expressions(table)) and _steps(table) <= LARGE


def totals(frame: pl.DataFrame, tables: list[Tally]) -> list[Array]:
    """The counts or sums of each table."""
    found = {table: np.zeros(shape_of(table.keys), np.int64) for table in tables}
    for add_up, chosen in (
        (_add_totals, [t for t in found if not t.keys]),
        (_add_tables, [t for t in found if t.keys]),
    ):
        for some in _queries(chosen):
            _check(frame, some)
            add_up(frame, some, [found[table] for table in some])
    return [found[table] for table in tables]


def _queries(tables: list[Tally]) -> Iterator[list[Tally]]:
    """The tables that are asked for together: a query takes its time in one piece, and a large one takes too long."""
    some: list[Tally] = []
    for table in tables:
        if some and _all_steps(some) + _steps(table) > MOST_STEPS:
            yield some
            some = []
        some.append(table)
    if some:
        yield some


def _steps(table: Tally) -> int:
    """How many steps a table's query has for each row."""
    return 1 + sum([spelled_size(column_steps(each)) for each in _expressions(table)])


def _all_steps(tables: list[Tally]) -> int:
    return sum(map(_steps, tables))


def _add_totals(frame: pl.DataFrame, tables: list[Tally], found: list[Array]) -> None:
    wanted = [_total(table).alias(str(i)) for i, table in enumerate(tables)]
    most = min(max(LEAST, STEPS_AT_ONCE // _all_steps(tables)), *map(_most_rows, tables))
    for start in range(0, frame.height, most):
        part = _queried(frame.slice(start, most), wanted)
        for table, amount, total in zip(tables, part.row(0), found, strict=True):
            total += int(Fraction(amount) / _grid(table.value))


def _add_tables(frame: pl.DataFrame, tables: list[Tally], found: list[Array]) -> None:
    wanted = [_place(table.rows, table.keys).alias(f"place {i}") for i, table in enumerate(tables)]
    for i, table in enumerate(tables):
        if table.value is not None:  # missing values add nothing
            wanted.append(_amount(table.value).cast(pl.Float64()).fill_null(0).alias(f"amount {i}"))
    at_once = HELD // (2 * 8 * len(wanted))  # two parts are held: one is added up, the next one computed
    most = min(PART, max(1 << 12, at_once), *map(_most_rows, tables))
    for part in _parts(frame, wanted, most):
        for i, (table, total) in enumerate(zip(tables, found, strict=True)):
            amounts = None if table.value is None else part[f"amount {i}"].to_numpy()
            added = np.bincount(part[f"place {i}"].to_numpy(), amounts, total.size + 1)[: total.size]
            if amounts is not None:
                added = (added / float(_grid(table.value))).astype(np.int64)
            total += added.reshape(total.shape)


@cache
def workers() -> ThreadPoolExecutor:
    """For parts of a long table."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="parts")


def _parts(frame: pl.DataFrame, wanted: list[pl.Expr], most: int) -> Iterator[pl.DataFrame]:
    """What is wanted of each row, for so many rows at a time. While one part is used, the next one is computed."""
    waiting: list[Future[pl.DataFrame]] = []
    try:
        for start in range(0, frame.height, most):
            waiting.append(workers().submit(_queried, frame.slice(start, most), wanted))
            if len(waiting) > 1:
                yield waiting.pop(0).result()
        for last in waiting:
            yield last.result()
    finally:
        for each in waiting:  # one has failed, or the time is up: nobody will ask for the others
            each.cancel()


def _queried(part: pl.DataFrame, wanted: list[pl.Expr]) -> pl.DataFrame:
    return part.lazy().select(wanted).collect(engine="streaming")


def _expressions(table: Tally) -> list[Expr]:
    return [*_conditions(table.rows), *table.keys, *(() if table.value is None else (table.value,))]


def _conditions(rows: Rows) -> list[Expr]:
    found = conditions(rows)
    if found is None:
        raise TypeError("these rows depend on other rows")
    return found


def _kept(rows: Rows) -> pl.Expr | None:
    """Where all conditions are true; elsewhere false or null."""
    needs = [to_polars(column_steps(each)) for each in _conditions(rows)]
    return reduce(lambda a, b: a & b, needs) if needs else None


def _total(table: Tally) -> pl.Expr:
    kept = _kept(table.rows)
    if table.value is None:
        return pl.len() if kept is None else kept.sum()
    amount = _amount(table.value)
    return amount.sum() if kept is None else pl.when(kept).then(amount).sum()  # missing values add nothing


def _place(rows: Rows, keys: tuple[Expr, ...]) -> pl.Expr:
    """The place of each row in a table, flattened; the number of places for rows that are in no group."""
    lengths = shape_of(keys)
    number = pl.Int32() if prod(lengths) < 2**31 else pl.Int64()
    codes = [code(to_polars(column_steps(key)), key) for key in keys]
    inside = [in_a_group(each, length) for each, length in zip(codes, lengths, strict=True)]
    kept = reduce(lambda a, b: a & b, inside if (before := _kept(rows)) is None else [before, *inside])
    place = flattened([each.cast(number) for each in codes], lengths)
    return pl.when(kept).then(place).otherwise(pl.lit(prod(lengths), number))


def _amount(value: Expr) -> pl.Expr:
    """The column that is added up: as it is where the grid is 1, else floats that are multiples of the grid."""
    domain, step = value.domain, float(_grid(value))
    if not is_rounded(domain):
        return to_polars(column_steps(value))
    if isinstance(domain, IntDomain):
        steps: pl.Expr = whole_amounts(to_polars(column_steps(value)), domain)
        return steps.cast(pl.Float64()) * step
    assert isinstance(domain, FloatDomain)
    narrowed = clipped_once(value)
    column = to_polars(column_steps(value if narrowed is None else narrowed)).cast(pl.Float64())
    found: pl.Expr = rounded(column, domain, step) if narrowed is None else nearest(column, step)
    return found


def _grid(value: Expr | None) -> Fraction:
    numbers = value is not None and isinstance(value.domain, (IntDomain, FloatDomain))
    return sum_grid(value.domain) if numbers else Fraction(1)  # type: ignore[union-attr,arg-type]


def _most_rows(table: Tally) -> int:
    """How many rows can be added up as floats; more than there are where they are not."""
    value = table.value
    if value is None or not isinstance(value.domain, (IntDomain, FloatDomain)):
        return 2**32
    return 2**53 // max(1, *map(abs, grid_bounds(value.domain)))


def _check(frame: pl.DataFrame, tables: list[Tally]) -> None:
    """The engine's types are those of the rules."""
    wanted = list(dict.fromkeys(each for table in tables for each in _expressions(table)))
    columns = [to_polars(column_steps(each)).alias(str(i)) for i, each in enumerate(wanted)]
    types: list[Any] = frame.lazy().select(columns).collect_schema().dtypes()
    for each, found in zip(wanted, types, strict=True):
        if found != dtype_of(each.domain):
            raise TypeError(f"{type(each).__name__}: the engine gave another type than the rule")
