"""The embedded engine: Polars columns, and index arrays for the rows of filters, sorts and slices.

Columns are computed once for a whole base; a selection of rows is an array of positions in its base. Counts
of the groups of one partition are read off one contingency table, whatever group is asked for first. Long tables
are counted and summed in batches instead (batches.py), without positions or whole columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from math import prod
from typing import Any, Literal

import numpy as np
import polars as pl

from privjail.catalogue.disk import OnDisk
from privjail.engines.polars.batches import amounts_of, codes_of, fill, place_of, table_of
from privjail.engines.polars.cache import Cache
from privjail.engines.polars.columns import AT_ONCE, Computation, at_once, checked, code_of, spread, stepwise, to_polars
from privjail.engines.polars.selections import Array, Table, conditions
from privjail.engines.polars.siblings import enclosing_tables, picked, shape_of
from privjail.ops.columns.carried import Carried
from privjail.ops.columns.compare import Compare, exact
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.source import Source
from privjail.ops.rows.window import Lag, Window
from privjail.plan.domain import FloatDomain, IntDomain
from privjail.plan.expr import Expr, column_steps
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.plan.value import Value, evaluation, inputs_of
from privjail.plan.walk import inputs_first

CACHE_BYTES = 2 * 2**30
LONG = 1 << 18  # rows beyond which a table is counted in batches
OFTEN = 3  # passes over a long table for the same rows, after which their positions are worth keeping
REMEMBERED = 10_000  # tables and rows that were asked for before
ELEMENTS = 1 << 22  # of tables that are filled in one pass over a long data set
TABLES = 1_000  # that are filled in one pass
ROW = "__row__"


class PolarsEngine:
    """Runs plans on data sets held as Polars frames, or left on disk."""

    def __init__(
        self, cache_bytes: int = CACHE_BYTES, frames: dict[Source, pl.DataFrame | OnDisk] | None = None
    ) -> None:
        self._frames = {} if frames is None else frames
        self._cache = Cache(cache_bytes)  # what was computed before
        self._passes: Counter[Rows] = Counter()
        self._asked: Counter[Table] = Counter()
        self._last_shared_table: tuple[Any, Array] | None = None  # the table that was read last

    @property
    def cache(self) -> Cache:
        return self._cache

    def add(self, source: Source, frame: pl.DataFrame | OnDisk) -> None:
        """Hold a data set's rows, already in the shape that its schema promises."""
        if source in self._frames:  # opened again: the file may have changed, and nothing old may be mixed in
            self._cache = Cache(self._cache.limit)
            self._last_shared_table = None
        self._frames[source] = frame

    def evaluate_all(self, values: Iterable[Value]) -> list[Any]:
        """Several values: what they need of a long data set is computed in one pass over it."""
        wanted = list(values)
        frames = list(self._frames.values())  # a copy: other sessions open data sets meanwhile
        if any(isinstance(frame, OnDisk) or frame.height >= LONG for frame in frames):
            self._fill(_tallies(wanted))
        return [self.evaluate(value) for value in wanted]

    def evaluate(self, value: Value) -> Any:
        """Exact whole numbers in units of the value's grid: one, or a flat list."""
        if not value.inputs:
            return self._value(value, [])
        done: dict[Value, Any] = {}
        for node, used in evaluation(value):
            done[node] = self._value(node, [done[each] for each in node.inputs])
            for each in used:
                del done[each]
        return done[value]

    def table(self, rows: Rows, columns: Mapping[str, Expr]) -> pl.DataFrame:
        """The rows themselves, in their order: what distances speak of. Nothing of this is ever released."""
        size, index = self._size(rows.base), self._index(rows)
        held = {name: self._column(each, size) for name, each in columns.items()}
        return pl.DataFrame(held if index is None else {name: c.gather(index) for name, c in held.items()})

    def _value(self, node: Value, inputs: list[Any]) -> Any:
        match node:
            case Tally():
                table = self._tally((node.rows, node.keys, node.value))
                return table.ravel().tolist() if node.keys else int(table)
            case QuantileScores():
                return node.compute(*self._sides(node))
        return node.compute(*inputs)

    def _sides(self, node: QuantileScores) -> tuple[list[int], list[int], int]:
        """How many values lie below each candidate, how many above it, and how many there are."""
        column, index = self._column(node.a, self._size(node.rows.base)), self._index(node.rows)
        held = np.sort((column if index is None else column.gather(index)).drop_nulls().to_numpy())
        domain = node.a.domain
        assert isinstance(domain, (IntDomain, FloatDomain))

        def count(op: str, side: Literal["left", "right"]) -> Array:
            bounds = [exact(domain, op, c.value) for c in node.candidates]
            found = np.searchsorted(held, np.array([b for b in bounds if not isinstance(b, bool)], held.dtype), side)
            among = iter(found if op == "<" else len(held) - found)
            return np.array([len(held) * b if isinstance(b, bool) else next(among) for b in bounds], np.int64)

        return count("<", "left").tolist(), count(">", "right").tolist(), len(held)

    # -- rows: positions in the base, None for all of them

    def _index(self, rows: Rows) -> Array | None:
        chain: list[Rows] = []
        step = rows
        while not step.starts_base and (step, "index") not in self._cache:
            chain.append(step)
            assert step.parent is not None
            step = step.parent
        index = None if step.starts_base else self._cache[step, "index"]
        self._compute([each.condition for each in chain if isinstance(each, Filter) and picked(each) is None])
        for step in reversed(chain):
            index = self._select(step)
            self._cache.put((step, "index"), index)
        return index

    def _select(self, rows: Rows) -> Array:
        """The positions that one step keeps, in its order."""
        match rows:
            case Filter(_, Compare("==", by, Lit() as key)) if by.domain.labels is not None:
                groups = self._groups(rows.rows, by)
                code = code_of(by, key.value)
                # A copy: a part of the array of all groups would keep all of it, whatever the cache counts.
                return groups[code].copy() if code is not None else np.empty(0, dtype=np.int64)
            case Filter(above, condition):
                index = self._index(above)
                kept = Filter.kept(self._column(condition, self._size(rows.base))).to_numpy()
                return np.flatnonzero(kept) if index is None else index[kept[index]]
        assert rows.parent is not None
        return self._step(rows, rows.parent)

    def _step(self, rows: Rows, parent: Rows) -> Array:
        index = self._index(parent)
        size = self._size(parent.base)
        held: dict[str, Any] = {ROW: np.arange(size) if index is None else index}
        columns = []
        for i, expression in enumerate(rows.inputs):
            column = self._column(expression, size)
            held[str(i)] = column if index is None else column.gather(index)
            columns.append(pl.col(str(i)))
        kept: Array = rows.polars(pl.DataFrame(held), *columns)[ROW].to_numpy()
        return kept

    def _groups(self, rows: Rows, by: Expr) -> list[Array]:
        """The positions of every group of a partition, each in the order of the rows."""
        key = (rows, by, "groups")
        if key not in self._cache:
            codes = self._codes(rows, by)
            index = self._index(rows)
            labels = by.domain.labels
            assert labels is not None
            short = codes.astype(np.uint16) if len(labels) < 2**16 else codes  # short numbers are sorted by digits
            order = np.argsort(short, kind="stable")
            ends = np.searchsorted(short[order], np.arange(len(labels) + 1))
            positions = order if index is None else index[order]
            groups = [positions[a:b] for a, b in zip(ends[:-1], ends[1:], strict=True)]
            self._cache.put(key, groups, positions.nbytes + 128 * len(groups))
        found: list[Array] = self._cache[key]
        return found

    def _size(self, base: Rows) -> int:
        if isinstance(base, Source):
            return self._frames[base].height
        return len(self._base_index(base))

    def _base_index(self, base: Rows) -> Array:
        """For a base that is not a data set: the positions of its rows in the base before it."""
        key = (base, "base")
        if key not in self._cache:
            assert base.parent is not None
            if isinstance(base, Window):
                index = self._index(base.parent)
                kept = np.arange(self._size(base.parent.base)) if index is None else index
            else:
                kept = self._step(base, base.parent)
            self._cache.put(key, kept)
        found: Array = self._cache[key]
        return found

    # -- columns, for all rows of their base

    def _column(self, expression: Expr, size: int | None = None) -> pl.Series:
        key = (expression, "column")
        if key not in self._cache:
            base = expression.base
            length = size or 0 if base is None else self._size(base)
            order = column_steps(expression)
            if at_once(order):
                column = checked(self._whole(order, length), expression)
            else:
                column = checked(stepwise(order, length, partial(self._leaf, length)), expression)
            if base is None:
                return column
            self._cache.put(key, column, int(column.estimated_size()))
        found: pl.Series = self._cache[key]
        return found

    def _compute(self, expressions: list[Expr]) -> None:
        """Several columns of a data set in one go, and not one by one when they are asked for."""
        missing = [each for each in dict.fromkeys(expressions) if (each, "column") not in self._cache]
        base = missing[0].base if len(missing) > 1 else None
        frame = self._frames[base] if isinstance(base, Source) else None
        if isinstance(frame, pl.DataFrame):
            wanted = [e for e in missing if e.base is base]
            for some in (wanted[i : i + AT_ONCE] for i in range(0, len(wanted), AT_ONCE)):
                for each, column in Computation(some).columns(frame).items():
                    self._cache.put((each, "column"), column, int(column.estimated_size()))

    def _whole(self, order: list[Expr], length: int) -> pl.Series:
        """One Polars expression for the whole tree, down to loaded columns or columns of another base."""
        leaves: dict[str, pl.Series] = {}
        for node in order:
            if isinstance(node, (Carried, Lag)):
                assert node.base is not None
                leaves[node.inner.name] = self._column(node.inner).gather(self._base_index(node.base))
        base = order[-1].base
        if isinstance(base, Source):
            frame = self._frames[base]
        else:
            frame = pl.DataFrame(leaves if leaves or base is not None else {ROW: np.zeros(length)})
        return spread(frame.select([to_polars(order).alias("x")])["x"], length)

    def _leaf(self, length: int, leaf: Expr, start: int, stop: int) -> pl.Series:
        """Rows from … to … of a column that is not computed from others of its base."""
        if isinstance(leaf, (Carried, Lag)):
            assert leaf.base is not None
            k = leaf.k if isinstance(leaf, Lag) else 0
            first, last = max(0, start - max(k, 0)), min(length, stop - min(k, 0))  # with the rows that it looks at
            seen = self._column(leaf.inner).gather(self._base_index(leaf.base)[first:last])
            frame = pl.DataFrame({leaf.inner.name: seen})
            return frame.select(to_polars([leaf]).alias("x"))["x"].slice(start - first, stop - start)
        wanted, length = [to_polars([leaf]).alias("x")], stop - start
        held = self._frames[leaf.base] if isinstance(leaf.base, Source) else pl.DataFrame({ROW: np.zeros(stop)})
        if isinstance(held, OnDisk):
            return spread(held.select(wanted, (start, length))["x"], length)
        return spread(held.slice(start, length).select(wanted)["x"], length)

    def _codes(self, rows: Rows, by: Expr) -> Array:
        """The group of each row: a number from 0, and the number of labels for a missing key."""
        codes = self._cache.get((by, "codes"))
        if codes is None:
            codes = codes_of(self._column(by, self._size(rows.base)), by)
            if by.base is not None:  # a constant has as many rows as the table that it is used in
                self._cache.put((by, "codes"), codes)
        index = self._index(rows)
        found: Array = codes if index is None else codes[index]
        return found

    # -- counts and sums

    def _tally(self, table: Table) -> Array:
        """One whole number for each combination of labels; of the siblings of a group, read off one table."""
        rows, keys, value = table
        group = picked(rows) if isinstance(rows, Filter) else None
        if group is None:
            return self._counted(table)
        by, code, _ = group
        assert isinstance(rows, Filter)
        above: Table = (rows.rows, (by, *keys), value)
        if self._last_shared_table is None or self._last_shared_table[0] != above:
            if self._is_long(rows) or len(enclosing_tables(table)) == 1:  # or it is too large to share
                return self._counted(table)
            self._last_shared_table = above, self._counted(above)
        return np.asarray(self._last_shared_table[1][code])

    def _counted(self, table: Table) -> Array:
        levels = enclosing_tables(table)
        known = self._known(levels)
        if known is not None:
            return known
        rows = table[0]
        if self._is_long(rows):
            self._fill([table])
            known = self._known(levels)
            return fill(self._frames[_source(rows)], [table])[0] if known is None else known
        wider, place = levels[-1]
        found = self._count(*wider)
        self._cache.put((*wider, "tally"), found)
        return np.asarray(found[place])

    def _known(self, levels: list[tuple[Table, tuple[int, ...]]]) -> Array | None:
        for wider, place in levels:
            known = self._cache.get((*wider, "tally"))
            if known is not None:
                return np.asarray(known[place])
        return None

    def _count(self, rows: Rows, keys: tuple[Expr, ...], value: Expr | None) -> Array:
        index = self._index(rows)
        shape = shape_of(keys)
        if value is None and not keys:
            return np.asarray(self._size(rows.base) if index is None else len(index))
        codes = place_of([self._codes(rows, key) for key in keys], keys)
        amounts = None
        if value is not None:
            amounts = self._amounts(value, self._size(rows.base))
            amounts = amounts if index is None else amounts[index]
        return table_of(codes, amounts, shape)

    def _amounts(self, value: Expr, size: int) -> Array:
        """A column on its summation grid, as whole numbers; missing values add nothing."""
        amounts = self._cache.get((value, "amounts"))
        if amounts is None:
            amounts = amounts_of(self._column(value, size), value.domain)
            if value.base is not None:
                self._cache.put((value, "amounts"), amounts)
        found: Array = amounts
        return found

    # -- long tables

    def _is_long(self, rows: Rows) -> bool:
        """Whether the tables of these rows are counted in batches."""
        source = _source(rows)
        frame = self._frames[source]
        on_disk = isinstance(frame, OnDisk)
        if not on_disk and frame.height < LONG or rows.base is not source or conditions(rows) is None:
            return False
        return on_disk or rows is source or self._passes[rows] < OFTEN and (rows, "index") not in self._cache

    def _fill(self, tables: Iterable[Table]) -> None:
        """Fill the tables of long data sets, in one pass over each data set."""
        missing: dict[Source, dict[Table, None]] = {}
        for table in tables:
            if self._is_long(table[0]) and not any(
                (*wider, "tally") in self._cache for wider, _ in enclosing_tables(table)
            ):
                missing.setdefault(_source(table[0]), {})[table] = None
        for source, needed in missing.items():
            chosen = self._shared(list(needed))
            self._passes.update({rows for rows, _, _ in chosen})
            for some in _small_enough(chosen):
                for table, found in zip(some, fill(self._frames[source], some), strict=True):
                    self._cache.put((*table, "tally"), found)

    def _shared(self, tables: list[Table]) -> list[Table]:
        """One table for the siblings of a partition, if at least two of them are or were asked for."""
        for memory in (self._passes, self._asked):
            if len(memory) > REMEMBERED:
                memory.clear()
        while True:
            above = [levels[1][0] if len(levels := enclosing_tables(table)) > 1 else None for table in tables]
            self._asked.update(wider for wider in above if wider is not None)
            chosen = [w if w is not None and self._asked[w] > 1 else t for t, w in zip(tables, above, strict=True)]
            chosen = list(dict.fromkeys(chosen))
            if chosen == tables:
                return chosen
            tables = chosen


def _small_enough(tables: list[Table]) -> Iterator[list[Table]]:
    """Tables that are filled in one pass: as many as can be held at once."""
    some: list[Table] = []
    elements = 0
    for table in tables:
        size = prod(shape_of(table[1]))
        if some and (elements + size > ELEMENTS or len(some) >= TABLES):
            yield some
            some, elements = [], 0
        some.append(table)
        elements += size
    if some:
        yield some


def _source(rows: Rows) -> Source:
    assert isinstance(rows.source, Source)
    return rows.source


def _tallies(values: list[Value]) -> list[Table]:
    """The counts and sums that values are computed from."""
    found = [node for node in inputs_first(values, inputs_of) if isinstance(node, Tally)]
    return [(node.rows, node.keys, node.value) for node in found]
