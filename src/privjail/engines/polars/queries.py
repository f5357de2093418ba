"""Counts and sums over a long table in memory: Polars queries that run on all processors.

Without keys, one query gives the numbers. With keys, a query gives each row its place in the table, and its amount, for
a part of the rows at a time; NumPy adds them up.

Amounts are rounded to their grid by adding and taking away 1.5 · 2**52 grid steps: between 2**52 and 2**53 steps the
floats are the whole multiples of a step, and ties go to the even one, as in batches.py. No more rows are added up at a
time than have a sum of at most 2**53 steps, so that sums are exact in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import reduce
from math import prod
from typing import Any

import numpy as np
import polars as pl

from privjail.engines.polars.columns import LARGE, spelled_size, to_polars
from privjail.engines.polars.selections import Array, Table, conditions
from privjail.ops.numbers.tally import bounds_on_grid, grid_bounds, sum_grid
from privjail.plan.domain import FloatDomain, IntDomain
from privjail.plan.expr import Expr, column_steps
from privjail.plan.physical import dtype_of
from privjail.plan.rows import Rows

COARSEST = Fraction(2) ** 900  # of the grids on which 2**53 steps are a float
PART = 1 << 20  # rows whose places are held at a time, for one table
HELD = 1 << 26  # bytes of places and amounts that are held at a time, for all tables
MOST_STEPS = 1_000  # of one query, for each row
STEPS_AT_ONCE = 1 << 28  # of one query, for all rows that it is given: it cannot be cut short
LEAST = 1 << 18  # rows that a query is given however many steps it has


def in_one_query(table: Table) -> bool:
    """Whether a table can be had in this way."""
    value = table[2]
    fits = value is None or not _rounded(value) or _grid(value) <= COARSEST
    return fits and all(each.base is not None for each in _expressions(table)) and _steps(table) <= LARGE


def totals(frame: pl.DataFrame, tables: list[Table]) -> list[Array]:
    """The counts or sums of each table."""
    found = {table: np.zeros([len(key.domain.labels or ()) for key in table[1]], np.int64) for table in tables}
    for add_up, chosen in ((_add_totals, [t for t in found if not t[1]]), (_add_tables, [t for t in found if t[1]])):
        for some in _queries(chosen):
            _check(frame, some)
            add_up(frame, some, [found[table] for table in some])
    return [found[table] for table in tables]


def _queries(tables: list[Table]) -> Iterator[list[Table]]:
    """The tables that are asked for together: a query takes its time in one piece, and a large one takes too long."""
    some: list[Table] = []
    for table in tables:
        if some and _all_steps(some) + _steps(table) > MOST_STEPS:
            yield some
            some = []
        some.append(table)
    if some:
        yield some


def _steps(table: Table) -> int:
    """How many steps a table's query has for each row."""
    return 1 + sum([spelled_size(column_steps(each)) for each in _expressions(table)])


def _all_steps(tables: list[Table]) -> int:
    return sum(map(_steps, tables))


def _add_totals(frame: pl.DataFrame, tables: list[Table], found: list[Array]) -> None:
    wanted = [_total(table).alias(str(i)) for i, table in enumerate(tables)]
    most = min(max(LEAST, STEPS_AT_ONCE // _all_steps(tables)), *map(_most_rows, tables))
    for start in range(0, frame.height, most):
        part = _queried(frame.slice(start, most), wanted)
        for (_, _, value), amount, total in zip(tables, part.row(0), found, strict=True):
            total += int(Fraction(amount) / _grid(value))


def _add_tables(frame: pl.DataFrame, tables: list[Table], found: list[Array]) -> None:
    places = list(dict.fromkeys((rows, keys) for rows, keys, _ in tables))
    values = list(dict.fromkeys(value for _, _, value in tables if value is not None))
    wanted = [_place(*each).alias(f"place {i}") for i, each in enumerate(places)]
    wanted += [_amount(each).cast(pl.Float64()).fill_null(0).alias(f"amount {i}") for i, each in enumerate(values)]
    most = min(PART, max(1 << 12, HELD // (8 * len(wanted))), *map(_most_rows, tables))
    for start in range(0, frame.height, most):
        part = _queried(frame.slice(start, most), wanted)
        held = {name: part[name].to_numpy() for name in part.columns}
        for (rows, keys, value), table in zip(tables, found, strict=True):
            amounts = None if value is None else held[f"amount {values.index(value)}"]
            counted = np.bincount(held[f"place {places.index((rows, keys))}"], amounts, table.size + 1)[: table.size]
            steps = counted if value is None else counted * float(1 / _grid(value))  # a power of two: exact
            table += steps.astype(np.int64).reshape(table.shape)


def _queried(part: pl.DataFrame, wanted: list[pl.Expr]) -> pl.DataFrame:
    return part.lazy().select(wanted).collect(engine="streaming")


def _expressions(table: Table) -> list[Expr]:
    rows, keys, value = table
    return [*_conditions(rows), *keys, *(() if value is None else (value,))]


def _conditions(rows: Rows) -> list[Expr]:
    found = conditions(rows)
    if found is None:
        raise TypeError("these rows depend on other rows")
    return found


def _kept(rows: Rows) -> pl.Expr | None:
    """Where all conditions are true; elsewhere false or null."""
    needs = [to_polars(column_steps(each)) for each in _conditions(rows)]
    return reduce(lambda a, b: a & b, needs) if needs else None


def _total(table: Table) -> pl.Expr:
    rows, _, value = table
    kept = _kept(rows)
    if value is None:
        return pl.len() if kept is None else kept.sum()
    amount = _amount(value)
    return amount.sum() if kept is None else pl.when(kept).then(amount).sum()  # missing values add nothing


def _place(rows: Rows, keys: tuple[Expr, ...]) -> pl.Expr:
    """The place of each row in a table, flattened; the number of places for rows that are in no group."""
    lengths = [len(key.domain.labels or ()) for key in keys]
    number = pl.Int32() if prod(lengths) < 2**31 else pl.Int64()
    kept, place = _kept(rows), None
    for key, length in zip(keys, lengths, strict=True):
        code = _code(key)
        # Other numbers cannot happen while domains are true. If one is not, a row in no group beats a failure.
        inside = code.is_between(0, length - 1)
        kept = inside if kept is None else kept & inside
        place = code.cast(number) if place is None else place * length + code.cast(number)
    assert kept is not None
    return pl.when(kept).then(place).otherwise(pl.lit(prod(lengths), number))


def _code(key: Expr) -> pl.Expr:
    """The number of a row's label; null for a missing one."""
    column, labels = to_polars(column_steps(key)), key.domain.labels
    if isinstance(labels, range) and labels.start:
        column = column - labels.start
    return column.cast(pl.Int32(), strict=False)


def _amount(value: Expr) -> pl.Expr:
    """The column that is added up: as it is where the grid is 1, else floats that are multiples of the grid."""
    column, domain = to_polars(column_steps(value)), value.domain
    if not _rounded(value):
        return column
    assert isinstance(domain, (IntDomain, FloatDomain))
    grid = float(_grid(value))
    far = 1.5 * 2.0**52 * grid
    rounded = (column.cast(pl.Float64()) + far) - far
    if bounds_on_grid(domain):
        return rounded
    low, high = grid_bounds(domain)  # rounding may pass a bound that is not on the grid
    return rounded.clip(low * grid, high * grid)


def _rounded(value: Expr) -> bool:
    return isinstance(value.domain, FloatDomain) or _grid(value) != 1


def _grid(value: Expr | None) -> Fraction:
    numbers = value is not None and isinstance(value.domain, (IntDomain, FloatDomain))
    return sum_grid(value.domain) if numbers else Fraction(1)  # type: ignore[union-attr,arg-type]


def _most_rows(table: Table) -> int:
    """How many rows can be added up as floats; more than there are where they are not."""
    value = table[2]
    if value is None or not isinstance(value.domain, (IntDomain, FloatDomain)):
        return 2**32
    return 2**53 // max(1, *map(abs, grid_bounds(value.domain)))


def _check(frame: pl.DataFrame, tables: list[Table]) -> None:
    """The engine's types are those of the rules."""
    wanted = list(dict.fromkeys(each for table in tables for each in _expressions(table)))
    columns = [to_polars(column_steps(each)).alias(str(i)) for i, each in enumerate(wanted)]
    types: list[Any] = frame.lazy().select(columns).collect_schema().dtypes()
    for each, found in zip(wanted, types, strict=True):
        if found != dtype_of(each.domain):
            raise TypeError(f"{type(each).__name__}: the engine gave another type than the rule")
