"""Counts and sums of long tables, a batch of rows at a time.

The conditions, keys and amounts of a batch are computed and added up while they are in the processor's cache; a table
on disk is never held as a whole. All tables that a release needs are filled
in one pass. Sums are exact: amounts are whole numbers of at most 30 bits, kept in floats that hold 53, and a batch has
at most 2**22 rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from math import prod
from typing import Any

import numpy as np
import polars as pl

from privjail.engines.polars.columns import (
    FEWEST,
    HELD,
    Array,
    Computation,
    codes_of,
    conditions,
    place_of,
    shape_of,
    to_amounts,
)
from privjail.engines.polars.disk import OnDisk
from privjail.engines.polars.queries import in_one_query, totals, workers
from privjail.ops.numbers.tally import ADDED_AT_ONCE, Tally
from privjail.ops.polars_types import named
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.source import Column
from privjail.plan.expr import Expr, column_steps

BATCH = 1 << 18  # rows that Polars is given at a time
BLOCK = 1 << 15  # rows that are added up at a time: short arrays are used again, long ones are fetched anew


def fill(frame: pl.DataFrame | OnDisk, tables: list[Tally]) -> list[Array]:
    """The counts or sums of several tables over one data set, in one pass."""
    if not isinstance(frame, pl.DataFrame):
        return in_batches(frame, tables)
    queried = [table for table in tables if in_one_query(table)]
    others = [table for table in tables if table not in set(queried)]
    found = dict(zip(queried, totals(frame, queried), strict=True))
    if others:
        found |= dict(zip(others, in_batches(frame, others), strict=True))
    return [found[table] for table in tables]


def in_batches(frame: pl.DataFrame | OnDisk, tables: list[Tally]) -> list[Array]:
    """The same, a batch of rows at a time."""
    plan = Plan(tables)
    sums: list[Array] = [np.zeros(shape, dtype=np.int64) for shape in plan.shapes]
    at_once = HELD // max(1, 8 * sum(map(prod, plan.shapes)))
    for found in _in_parallel(plan.add_up, _batches(frame, plan), at_once):
        for total, part in zip(sums, found, strict=True):
            total += part
    return sums


def _batches(frame: pl.DataFrame | OnDisk, plan: Plan) -> Iterable[Callable[[], pl.DataFrame]]:
    """The batches, each as a function that reads it: workers read, so that no more are held than are worked on."""
    if isinstance(frame, OnDisk):
        return frame.batches(plan.columns, ADDED_AT_ONCE)
    held = frame.select([named(c) for c in plan.columns]) if plan.columns else frame
    return (lambda start=start: held.slice(start, BATCH) for start in range(0, held.height, BATCH))  # type: ignore[misc]


def _in_parallel(
    work: Callable[[pl.DataFrame], list[Array]], batches: Iterable[Callable[[], pl.DataFrame]], most: int
) -> Iterator[list[Array]]:
    """Results as they come, with a few batches under way at a time: ``most``, but at least one."""
    pool, waiting = workers(), []
    most = max(1, min(most, 2 * (os.cpu_count() or 1)))
    try:
        for read in batches:
            waiting.append(pool.submit(lambda read=read: work(read())))  # type: ignore[misc]
            if len(waiting) >= most:
                yield waiting.pop(0).result()
        while waiting:
            yield waiting.pop(0).result()
    finally:
        for each in waiting:  # one has failed, or the time is up: nobody will ask for the others
            each.cancel()


class Plan:
    """What is computed in each batch: every expression once, whatever the number of tables that use it."""

    def __init__(self, tables: list[Tally]) -> None:
        self.tables = tables
        self.shapes = [shape_of(table.keys) for table in tables]
        self.conditions = [tuple(conditions(table.rows) or ()) for table in tables]
        wanted: dict[Expr, None] = {}
        for table, needs in zip(tables, self.conditions, strict=True):
            wanted.update(dict.fromkeys((*needs, *table.keys, *(() if table.value is None else (table.value,)))))
        values = [table.value for table in tables if table.value is not None]
        self.to_amounts = {value: to_amounts(value.domain) for value in values}
        self.computation = Computation(list(wanted))
        self.columns = sorted({c for each in wanted for c in _columns(each)})
        self.rows_at_once = max(FEWEST, HELD // 4 // max(1, self.computation.row_bytes))
        self.block = min(BLOCK, max(FEWEST, HELD // 4 // (24 * max(1, len(tables)))))

    def add_up(self, rows: pl.DataFrame) -> list[Array]:
        totals: list[Any] = [0] * len(self.tables)
        for start in range(0, rows.height, self.rows_at_once):
            self._add(rows.slice(start, self.rows_at_once), totals)
        return totals

    def _add(self, rows: pl.DataFrame, totals: list[Any]) -> None:
        columns = self.computation.columns(rows)
        if any(map(_is_count, self.tables)):
            whole = Batch(rows.height, columns, self.to_amounts)
            for i, needs in enumerate(self.conditions):
                if _is_count(self.tables[i]):
                    totals[i] = totals[i] + whole.count(needs)
        others = [i for i in range(len(self.tables)) if not _is_count(self.tables[i])]
        for start in range(0, rows.height if others else 0, self.block):
            height = min(self.block, rows.height - start)
            some = {each: column.slice(start, height) for each, column in columns.items()}
            block = Batch(height, some, self.to_amounts)
            for i in others:
                totals[i] = totals[i] + block.table(self.tables[i], self.conditions[i])


def _is_count(table: Tally) -> bool:
    return not table.keys and table.value is None


class Batch:
    """Some rows of a data set, and what was made of them for the tables so far."""

    def __init__(
        self, height: int, columns: dict[Expr, pl.Series], to_amounts: dict[Expr, Callable[[pl.Series], Array]]
    ) -> None:
        self.height, self.columns, self.to_amounts = height, columns, to_amounts
        self.masks: dict[tuple[Expr, ...], Array | None] = {}
        self.places: dict[tuple[Expr, ...], Array | None] = {}
        self.amounts: dict[Expr, Array] = {}

    def count(self, needs: tuple[Expr, ...]) -> Array:
        kept = _all(needs, self.columns)
        return np.asarray(self.height if kept is None else kept.sum(), dtype=np.int64)

    def table(self, table: Tally, needs: tuple[Expr, ...]) -> Array:
        keys, value = table.keys, table.value
        if needs not in self.masks:
            kept = _all(needs, self.columns)
            self.masks[needs] = None if kept is None else kept.to_numpy()
        if keys not in self.places:
            self.places[keys] = place_of([codes_of(self.columns[key], key) for key in keys], keys)
        if value is not None and value not in self.amounts:
            self.amounts[value] = self.to_amounts[value](self.columns[value])
        mask, places = self.masks[needs], self.places[keys]
        amounts = None if value is None else self.amounts[value]
        if mask is not None and places is not None:
            places = np.where(mask, places, places.dtype.type(table.size))  # the others are in no group
        elif mask is not None and amounts is not None:
            amounts = amounts[mask]
        found: Array = table.polars(places, amounts)
        return found


def _columns(expression: Expr) -> set[str]:
    return {each.column for each in column_steps(expression) if isinstance(each, Column)}


def _all(needs: tuple[Expr, ...], columns: dict[Expr, pl.Series]) -> pl.Series | None:
    """Where all conditions are true."""
    kept: pl.Series | None = None
    for each in needs:
        column = Filter.kept(columns[each])
        kept = column if kept is None else kept & column
    return kept
