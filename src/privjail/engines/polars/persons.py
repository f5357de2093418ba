"""One row per person: which person each row belongs to, and what is computed from the rows of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from privjail.engines.polars.columns import Array, amounts_of
from privjail.ops.numbers.tally import ADDED_AT_ONCE
from privjail.ops.polars_types import dtype_of
from privjail.ops.rows.lookup import Lookup
from privjail.ops.rows.per_person import Aggregate, PerPerson
from privjail.plan.domain import FloatDomain

if TYPE_CHECKING:
    from privjail.engines.polars.engine import PolarsEngine


class Persons:
    """What an engine computes for tables with one row per person."""

    def __init__(self, engine: PolarsEngine) -> None:
        self._engine = engine

    def count(self, base: PerPerson) -> int:
        return int(self._numbers(base).max(initial=-1)) + 1

    def aggregate(self, node: Aggregate) -> pl.Series:
        """One value for each person, in the order of their first rows."""
        persons, size = self._numbers(node.persons), self.count(node.persons)
        if node.how == "size":
            return pl.Series(np.bincount(persons, minlength=size)).cast(pl.Int64())
        values = self._values(node)
        if node.how in ("sum", "mean"):
            return self._sums(node, values, persons, size)
        groups = pl.DataFrame({"person": persons, "x": values}).group_by("person", maintain_order=True)
        return groups.agg(node.polars().alias("x"))["x"].cast(dtype_of(node.domain))

    def look_up(self, node: Lookup) -> pl.Series:
        """The column of another table in the row that each row of a base finds there; missing where it finds none."""
        engine, other = self._engine, node.other
        key = (node.keys, other, node.other_keys, "found")
        found: pl.Series | None = engine.cache.get(key)
        if found is None:
            size, index = engine._size(other.base), engine._index(other)
            mine = {str(i): engine._column(each) for i, each in enumerate(node.keys)}
            theirs = {str(i): engine._column(each, size) for i, each in enumerate(node.other_keys)}
            there = pl.DataFrame(theirs if index is None else {name: c.gather(index) for name, c in theirs.items()})
            found = node.polars(pl.DataFrame(mine), there)
            found = found if index is None else pl.Series(index).gather(found)
            engine.cache.put(key, found, int(found.estimated_size()))
        if node.inner.base is None:
            constant = engine._column(node.inner, 1)
            return pl.select(pl.when(found.is_not_null()).then(pl.lit(constant)).alias("x"))["x"]
        return engine._column(node.inner).gather(found)

    def _numbers(self, base: PerPerson) -> Array:
        """The number of each row's person, for the rows that are grouped, in their order."""
        cache, key = self._engine.cache, (base, "persons")
        found: Array | None = cache.get(key)
        if found is None:
            frame, columns = self._engine._seen(base, base.rows)
            found = base.polars(frame, *columns).cast(pl.Int64()).to_numpy()
            cache.put(key, found)
        return found

    def _values(self, node: Aggregate) -> pl.Series:
        """The column in the rows that are grouped, in their order."""
        assert node.inner is not None
        rows = node.persons.rows
        column, index = self._engine._column(node.inner, self._engine._size(rows.base)), self._engine._index(rows)
        return column if index is None else column.gather(index)

    def _sums(self, node: Aggregate, values: pl.Series, persons: Array, size: int) -> pl.Series:
        """Exact sums on the grid: so many amounts of 30 bits are added at a time that a float holds each sum."""
        domain, grid = node.steps()
        amounts = amounts_of(values, domain)
        total = np.zeros(size, dtype=np.int64)
        for start in range(0, len(amounts), ADDED_AT_ONCE):
            part = slice(start, start + ADDED_AT_ONCE)
            total += np.bincount(persons[part], weights=amounts[part], minlength=size).astype(np.int64)
        if node.how == "sum":
            found = total.astype(np.float64) * grid if isinstance(node.domain, FloatDomain) else total
            return pl.Series(found).cast(dtype_of(node.domain))
        known = np.bincount(persons[~values.is_null().to_numpy()], minlength=size)
        with np.errstate(invalid="ignore"):  # nothing over nothing is missing
            means = total.astype(np.float64) * grid / known
        assert isinstance(node.domain, FloatDomain)
        inside = np.clip(means, node.domain.lower, node.domain.upper)
        return pl.select(pl.when(pl.Series(known > 0)).then(pl.Series(inside)).alias("x"))["x"]
