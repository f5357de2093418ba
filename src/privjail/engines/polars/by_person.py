"""Questions about rows that joins made, answered for some persons at a time, so that memory stays bounded.

A row may meet 256 others, so rows that were joined can take many times the memory of the data. Who has which rows is
all that a join looks at. So persons are divided into as many parts as keep the rows of each part small, the whole plan
is computed for one part after another, and the counts are added up. Why this gives the same numbers: plan/growth.py.

The rows of one person are not divided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from privjail.engines.coins import Coins
from privjail.engines.engine import Sides
from privjail.engines.polars.columns import HELD, Array, enclosing_tables, width
from privjail.ops.numbers.key_counts import KeyCounts, Keyed
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.sample import Sample
from privjail.ops.rows.source import Column, Source
from privjail.plan.expr import Expr
from privjail.plan.growth import growth
from privjail.plan.node import Node, children, inputs_first
from privjail.plan.value import Value

if TYPE_CHECKING:
    from privjail.engines.polars.engine import PolarsEngine

JOINING = 64  # bytes for each joined row, besides its columns: positions on both sides, and what Polars needs for them
MOST_PARTS = 2**16 - 1


class ByPerson:
    """Answers an engine's questions about many joined rows, for one part of the persons after another."""

    def __init__(self, engine: PolarsEngine, make: Callable[..., PolarsEngine]) -> None:
        self._engine, self._make = engine, make
        self.whole = False  # true for the engine of one part, which divides nothing further

    def parts(self, values: Sequence[Value]) -> int:
        """Into how many parts persons are divided, so that the joined rows of each part fit; 1: they fit as a whole.

        The bound is the one of the plan: as many joined rows as there can be.
        """
        found = [growth(each) for each in values]
        most = max([each.most for each in found], default=1)
        if self.whole or most == 1 or not all([each.owned for each in found]):
            return 1
        sources, row_bytes = [], JOINING
        for node in _below(values):
            if isinstance(node, Source):
                sources.append(node)
            elif isinstance(node, Expr) and node.base is not None and node.base.lineage.grown > 1:
                row_bytes += 2 * width(node)  # the column, and its codes or amounts
        rows = sum([self._engine._size(source) for source in sources])
        room = max(HELD, self._engine.cache.limit // 2)
        return max(1, min(rows, MOST_PARTS, -(-rows * most * row_bytes // room)))

    def each(self, values: Sequence[Value], parts: int) -> Iterator[PolarsEngine]:
        """For each part of the persons: an engine that holds their rows in all tables that are needed."""
        divided = [self._divided(source, names, parts) for source, names in _needed(values).items()]
        for part in range(parts):
            places = {table.source: table.places(part) for table in divided}
            frames = {table.source: table.frame(places[table.source]) for table in divided}
            coins = _SomeCoins(self._engine.coins, places, {table.source: table.size for table in divided})
            made = self._make(HELD, frames, coins)
            made._by_person.whole = True
            try:
                yield made
            finally:  # an engine refers to itself: without this its columns stay until the next search for cycles
                made.cache.clear()
                frames.clear()

    def _divided(self, source: Source, names: set[str], parts: int) -> _Divided:
        owner = source.owner()
        assert isinstance(owner, Column)
        columns = {name: self._engine._column(Column(source, name)) for name in sorted({owner.column, *names})}
        # Joins compare held values, so equal owners have equal hashes: one person is in one part of every table.
        part = (columns[owner.column].to_physical().hash(seed=0) % parts).cast(pl.UInt16()).to_numpy()
        order = np.argsort(part, kind="stable")  # the rows of a part stay in their order
        return _Divided(source, columns, order, np.searchsorted(part[order], np.arange(parts + 1)))

    def fill(self, tables: Iterable[Tally]) -> None:
        """Count tables of joined rows that do not fit, all of them in one pass over the parts."""
        cache = self._engine.cache
        wanted = [table for table in dict.fromkeys(tables) if growth(table).most > 1 and growth(table).owned]
        wider = dict.fromkeys(Tally(*enclosing_tables(table.fields())[-1][0]) for table in wanted)
        missing = [table for table in wider if (*table.fields(), "tally") not in cache]
        parts = self.parts(missing)
        if parts > 1:
            for table, found in zip(missing, self._counts(missing, parts), strict=True):
                cache.put((*table.fields(), "tally"), found)

    def count(self, table: Tally) -> Array | None:
        """One table, in parts; None if it fits as a whole."""
        parts = self.parts([table])
        return None if parts == 1 else self._counts([table], parts)[0]

    def rank(self, scores: QuantileScores) -> Sides | None:
        """How many values lie on either side, in parts: each value is one of a row. None if it fits as a whole."""
        parts = self.parts([scores])
        if parts == 1:
            return None
        below = above = np.zeros(len(scores.candidates), dtype=np.int64)
        values = 0
        for engine in self.each([scores], parts):
            some = engine.rank(scores)
            below, above, values = below + some.below, above + some.above, values + some.values
        return Sides(below.tolist(), above.tolist(), values)

    def keys(self, counts: KeyCounts) -> Keyed | None:
        """How many persons have each key, in parts: a person is in one of them. None if it fits as a whole."""
        parts = self.parts([counts])
        if parts == 1:
            return None
        found: Counter[Any] = Counter()
        for engine in self.each([counts], parts):
            found.update(dict(engine.keys(counts)))
        return list(found.items())

    def _counts(self, tables: list[Tally], parts: int) -> list[Array]:
        totals: list[Any] = [0] * len(tables)
        for engine in self.each(tables, parts):
            for i, table in enumerate(tables):
                totals[i] = totals[i] + engine._count(table)
        return totals


class _Divided:
    """The columns of a data set that are needed, and its rows by the part of their persons."""

    def __init__(self, source: Source, columns: dict[str, pl.Series], order: Array, ends: Array) -> None:
        self.source, self.size = source, len(order)
        self._columns, self._order, self._ends = columns, order, ends

    def places(self, part: int) -> Array:
        found: Array = self._order[self._ends[part] : self._ends[part + 1]]
        return found

    def frame(self, places: Array) -> pl.DataFrame:
        return pl.DataFrame({name: column.gather(places) for name, column in self._columns.items()})


class _SomeCoins(Coins):
    """The coins of some rows of each data set: those that the same rows have among all of them."""

    def __init__(self, coins: Coins, places: dict[Source, Array], sizes: dict[Source, int]) -> None:
        super().__init__()
        self._coins, self._places, self._sizes = coins, places, sizes

    def numbers(self, sample: Sample, size: int) -> bytes:
        source: Any = sample.source
        drawn = np.frombuffer(self._coins.numbers(sample, self._sizes[source]), dtype=">u4")
        return bytes(drawn[self._places[source]].tobytes())


def _below(values: Sequence[Value]) -> Iterator[Node]:
    """Everything that questions are made of."""
    nodes: list[Node] = list(values)
    return inputs_first(nodes, children)


def _needed(values: Sequence[Value]) -> dict[Source, set[str]]:
    """The data sets that questions look at, and their columns."""
    found: dict[Source, set[str]] = {}
    for node in _below(values):
        if isinstance(node, Source):
            found.setdefault(node, set())
        elif isinstance(node, Column):
            found.setdefault(node.source, set()).add(node.column)
    return found
