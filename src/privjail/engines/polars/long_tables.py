"""Counts and sums of long data sets: tables are filled in passes over the rows, without positions or whole columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, MutableMapping

import numpy as np
import polars as pl

from privjail.engines.engine import Cache
from privjail.engines.polars.batches import fill
from privjail.engines.polars.columns import Array, Fields, conditions, enclosing_tables, is_long, of_one_table
from privjail.engines.polars.disk import OnDisk
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.source import Source
from privjail.plan.rows import Rows

OFTEN = 3  # passes over a long table for the same rows, after which their positions are worth keeping
REMEMBERED = 10_000  # tables and rows that were asked for before
ELEMENTS = 1 << 22  # of tables that are filled in one pass over a long data set
TABLES = 1_000  # that are filled in one pass


class LongTables:
    """Which tables are counted in passes over their data set, and those passes."""

    def __init__(self, frames: MutableMapping[Source, pl.DataFrame | OnDisk], cache: Cache) -> None:
        self._frames, self._cache = frames, cache
        self._passes: Counter[Rows] = Counter()
        self._asked: Counter[Fields] = Counter()

    def counts(self, table: Fields) -> bool:
        """Whether a table is counted here: the data set is long, and each row decides for itself.

        Rows in memory that were asked for often are better counted by their positions, which are then kept.
        """
        rows, keys, value = table
        source = _source(rows)
        frame = self._frames[source]
        needed = conditions(rows) if is_long(frame) and rows.base is source else None
        if needed is None or not all(map(of_one_table, (*needed, *keys, *(() if value is None else (value,))))):
            return False
        return (
            isinstance(frame, OnDisk)
            or rows is source
            or self._passes[rows] < OFTEN
            and (rows, "index") not in self._cache
        )

    def count(self, table: Tally) -> Array:
        """One table."""
        self.fill([table])
        for wider, place in enclosing_tables((table.rows, table.keys, table.value)):
            known = self._cache.get((*wider, "tally"))
            if known is not None:
                return np.asarray(known[place])
        return fill(self._frames[_source(table.rows)], [table])[0]  # it was dropped from the cache at once

    def fill(self, tables: Iterable[Tally]) -> None:
        """Fill the tables of long data sets, in one pass over each data set."""
        missing: dict[Source, dict[Tally, None]] = {}
        for table in tables:
            if self.counts(table.fields()) and not any(
                (*wider, "tally") in self._cache for wider, _ in enclosing_tables((table.rows, table.keys, table.value))
            ):
                missing.setdefault(_source(table.rows), {})[table] = None
        for source, needed in missing.items():
            chosen = self._shared(list(needed))
            self._passes.update({table.rows for table in chosen})
            for some in _small_enough(chosen):
                for table, found in zip(some, fill(self._frames[source], some), strict=True):
                    self._cache.put((*table.fields(), "tally"), found)

    def _shared(self, tables: list[Tally]) -> list[Tally]:
        """One table for the siblings of a partition, if at least two of them are or were asked for."""
        if len(self._passes) > REMEMBERED:
            self._passes.clear()
        if len(self._asked) > REMEMBERED:
            self._asked.clear()
        while True:
            above = [
                levels[1][0] if len(levels := enclosing_tables((t.rows, t.keys, t.value))) > 1 else None for t in tables
            ]
            self._asked.update(wider for wider in above if wider is not None)
            pairs = zip(tables, above, strict=True)
            chosen = [Tally(*w) if w is not None and self._asked[w] > 1 else t for t, w in pairs]
            chosen = list(dict.fromkeys(chosen))
            if chosen == tables:
                return chosen
            tables = chosen


def _small_enough(tables: list[Tally]) -> Iterator[list[Tally]]:
    """Tables that are filled in one pass: as many as can be held at once."""
    some: list[Tally] = []
    elements = 0
    for table in tables:
        if some and (elements + table.size > ELEMENTS or len(some) >= TABLES):
            yield some
            some, elements = [], 0
        some.append(table)
        elements += table.size
    if some:
        yield some


def _source(rows: Rows) -> Source:
    assert isinstance(rows.source, Source)
    return rows.source
