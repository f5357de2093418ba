"""The embedded engine: Polars columns, and index arrays for the rows of filters, sorts and slices.

Columns are computed once for a whole base; a selection of rows is an array of positions in its base. Counts
of the groups of one partition are read off one contingency table, whatever group is asked for first. Long tables
are counted and summed in passes over the rows instead (long_tables.py), without positions or whole columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from privjail.engines.coins import Coins
from privjail.engines.engine import Answer, Cache, Engine, Sides
from privjail.engines.held import Held
from privjail.engines.polars.by_person import ByPerson
from privjail.engines.polars.columns import (
    AT_ONCE,
    Array,
    Computation,
    Fields,
    amounts_of,
    at_once,
    checked,
    code_of,
    codes_of,
    enclosing_tables,
    is_long,
    of_one_table,
    picked,
    place_of,
    spread,
    stepwise,
    to_polars,
)
from privjail.engines.polars.disk import OnDisk
from privjail.engines.polars.joins import Joins
from privjail.engines.polars.long_tables import LongTables
from privjail.engines.polars.persons import Persons
from privjail.ops.columns.carried import Carried
from privjail.ops.columns.compare import Compare
from privjail.ops.numbers.key_counts import KeyCounts, Keyed
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.numbers.tally import Tally
from privjail.ops.polars_types import dtype_of
from privjail.ops.rows.append import Append, Appended
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.lookup import Lookup
from privjail.ops.rows.pairs import Paired, Pairs
from privjail.ops.rows.per_person import Aggregate, PerPerson
from privjail.ops.rows.sample import Sample
from privjail.ops.rows.source import Source
from privjail.ops.rows.window import Lag, Window
from privjail.plan.expr import Expr, column_steps
from privjail.plan.node import Lit, inputs_first
from privjail.plan.rows import Rows
from privjail.plan.value import Value, inputs_of

CACHE_BYTES = 2 * 2**30
ROW = "__row__"


class PolarsEngine(Engine):
    """Runs plans on data sets held as Polars frames, or left on disk."""

    def __init__(
        self,
        cache_bytes: int = CACHE_BYTES,
        frames: MutableMapping[Source, pl.DataFrame | OnDisk] | None = None,
        coins: Coins | None = None,
    ) -> None:
        self._frames = {} if frames is None else frames
        self.coins = coins or Coins()
        self._cache = Cache(cache_bytes)  # what was computed before
        self._long = LongTables(self._frames, self._cache)
        self._persons = Persons(self)
        self._joins = Joins(self)
        self._by_person = ByPerson(self, PolarsEngine)
        self._last_shared_table: tuple[Fields, Array] | None = None  # the table that was read last

    @property
    def cache(self) -> Cache:
        return self._cache

    def hold(self, source: Source, data: Held) -> None:
        frame = data if isinstance(data, (pl.DataFrame, OnDisk)) else pl.DataFrame(data)
        layout = {name: dtype_of(domain) for name, domain in source.dataset.columns}
        if dict(frame.lazy().collect_schema()) != layout:
            raise TypeError("the rows are not in the held form of their data set")
        if source in self._frames:  # opened again: the file may have changed, and nothing old may be mixed in
            self._cache.clear()
            self._last_shared_table = None
        self.coins.renew(source)
        self._frames[source] = frame

    def evaluate_all(self, values: Iterable[Value]) -> list[Answer]:
        """Several values: what they need of a long data set is computed in one pass over it."""
        wanted = list(values)
        if any(map(is_long, list(self._frames.values()))):  # a copy: other sessions open data sets meanwhile
            self._long.fill(_tallies(wanted))
        if any(map(_has_persons, list(self._frames))):
            self._by_person.fill(_tallies(wanted))
        return [self.evaluate(value) for value in wanted]

    def table(self, rows: Rows, columns: Mapping[str, Expr]) -> dict[str, list[Any]]:
        size, index = self._size(rows.base), self._index(rows)
        held = {name: self._column(each, size).to_physical() for name, each in columns.items()}
        return {name: (c if index is None else c.gather(index)).to_list() for name, c in held.items()}

    def tally(self, tally: Tally) -> Answer:
        found = self._tally((tally.rows, tally.keys, tally.value))
        numbers: list[int] = found.ravel().tolist()
        return numbers if tally.keys else numbers[0]

    def rank(self, scores: QuantileScores) -> Sides:
        divided = self._by_person.rank(scores) if _has_persons(scores.rows.source) else None
        if divided is not None:
            return divided
        column, index = self._column(scores.a, self._size(scores.rows.base)), self._index(scores.rows)
        return Sides(*scores.polars(column if index is None else column.gather(index)))

    def keys(self, counts: KeyCounts) -> Keyed:
        divided = self._by_person.keys(counts) if _has_persons(counts.rows.source) else None
        if divided is not None:
            return divided
        size, index = self._size(counts.rows.base), self._index(counts.rows)
        held = [None if each is None else self._column(each, size) for each in (counts.key, counts.person)]
        return counts.polars(*(each if each is None or index is None else each.gather(index) for each in held))

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
            case Sample(above):
                size = self._size(rows.base)
                numbers = np.frombuffer(self.coins.numbers(rows, size), dtype=">u4")[:size]
                drawn: Array = rows.polars(self._index(above), numbers)
                return drawn
        assert rows.parent is not None
        return self._step(rows, rows.parent)

    def _step(self, rows: Rows, parent: Rows) -> Array:
        frame, columns = self._seen(rows, parent)
        kept: Array = rows.polars(frame, *columns)[ROW].to_numpy()
        return kept

    def _seen(self, rows: Rows, parent: Rows) -> tuple[pl.DataFrame, list[pl.Expr]]:
        """What a step looks at: the rows before it as positions, and its expressions in them."""
        index = self._index(parent)
        size = self._size(parent.base)
        held: dict[str, Any] = {ROW: np.arange(size) if index is None else index}
        columns = []
        for i, expression in enumerate(rows.inputs):
            column = self._column(expression, size)
            held[str(i)] = column if index is None else column.gather(index)
            columns.append(pl.col(str(i)))
        return pl.DataFrame(held), columns

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
        if isinstance(base, PerPerson):
            return self._persons.count(base)
        if isinstance(base, Append):
            return sum(map(self._height, (base.rows, base.other)))
        return len(self._base_index(base))

    def _height(self, rows: Rows) -> int:
        index = self._index(rows)
        return self._size(rows.base) if index is None else len(index)

    def _base_index(self, base: Rows) -> Array:
        """For a base that is not a data set: the positions of its rows in the base before it."""
        key = (base, "base")
        if key not in self._cache:
            assert base.parent is not None
            if isinstance(base, Window):
                index = self._index(base.parent)
                kept = np.arange(self._size(base.parent.base)) if index is None else index
            elif isinstance(base, Pairs):
                index, kept = self._index(base.parent), self._joins.pairs(base)["left"].to_numpy()
                kept = kept if index is None else index[kept]
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
            order, shared = self._with_shared(expression)
            if isinstance(expression, (Aggregate, Lookup, Paired, Appended)):
                column = checked(self._from_persons(expression), expression)
            elif not shared and at_once(order):
                column = checked(self._whole(order, length), expression)
            else:
                column = checked(stepwise(order, length, partial(self._leaf, length, shared), shared), expression)
            if base is None:
                return column
            self._cache.put(key, column, int(column.estimated_size()))
        found: pl.Series = self._cache[key]
        return found

    def _from_persons(self, expression: Aggregate | Lookup | Paired | Appended) -> pl.Series:
        match expression:
            case Aggregate():
                return self._persons.aggregate(expression)
            case Lookup():
                return self._persons.look_up(expression)
            case Paired():
                return self._joins.paired(expression)
        return self._joins.appended(expression)

    def _with_shared(self, expression: Expr) -> tuple[list[Expr], dict[Expr, pl.Series]]:
        """The steps to a column, and the columns among them that many others share: those are computed alone."""
        order = column_steps(expression)
        if not any(each.shared for each in order[:-1]):
            return order, {}

        def below(each: Expr) -> tuple[Expr, ...]:
            return () if each.shared and each is not expression and each.base is not None else each.inputs

        order = list(inputs_first((expression,), below))
        return order, {each: self._column(each) for each in order[:-1] if each.shared and each.base is not None}

    def _compute(self, expressions: list[Expr]) -> None:
        """Several columns of a data set in one go, and not one by one when they are asked for."""
        missing = [e for e in dict.fromkeys(expressions) if (e, "column") not in self._cache and of_one_table(e)]
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

    def _leaf(self, length: int, shared: dict[Expr, pl.Series], leaf: Expr, start: int, stop: int) -> pl.Series:
        """Rows from … to … of a column that is not computed from others of its base, or that was computed before."""
        if leaf in shared:
            return shared[leaf].slice(start, stop - start)
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

    def _tally(self, table: Fields) -> Array:
        """One whole number for each combination of labels; of the siblings of a group, read off one table."""
        rows, keys, value = table
        group = picked(rows) if isinstance(rows, Filter) else None
        if group is None:
            return self._counted(table)
        by, code, _ = group
        assert isinstance(rows, Filter)
        above: Fields = (rows.rows, (by, *keys), value)
        if self._last_shared_table is None or self._last_shared_table[0] != above:
            if self._is_long(table) or len(enclosing_tables(table)) == 1:  # or it is too large to share
                return self._counted(table)
            self._last_shared_table = above, self._counted(above)
        return np.asarray(self._last_shared_table[1][code])

    def _counted(self, table: Fields) -> Array:
        levels = enclosing_tables(table)
        for wider, place in levels:
            known = self._cache.get((*wider, "tally"))
            if known is not None:
                return np.asarray(known[place])
        if self._is_long(table):
            return self._long.count(Tally(*table))
        wider, place = levels[-1]
        found = self._count(Tally(*wider))
        self._cache.put((*wider, "tally"), found)
        return np.asarray(found[place])

    def _is_long(self, table: Fields) -> bool:
        """Whether a table is counted in passes over its data set."""
        return is_long(self._frames[table[0].source]) and self._long.counts(table)  # type: ignore[index]

    def _count(self, table: Tally) -> Array:
        divided = self._by_person.count(table) if _has_persons(table.rows.source) else None
        if divided is not None:
            return divided
        rows, keys, value = table.rows, table.keys, table.value
        index = self._index(rows)
        if value is None and not keys:
            return np.asarray(self._size(rows.base) if index is None else len(index))
        codes = place_of([self._codes(rows, key) for key in keys], keys)
        amounts = None
        if value is not None:
            amounts = self._amounts(value, self._size(rows.base))
            amounts = amounts if index is None else amounts[index]
        found: Array = table.polars(codes, amounts)
        return found

    def _amounts(self, value: Expr, size: int) -> Array:
        """A column on its summation grid, as whole numbers; missing values add nothing."""
        amounts = self._cache.get((value, "amounts"))
        if amounts is None:
            amounts = amounts_of(self._column(value, size), value.domain)
            if value.base is not None:
                self._cache.put((value, "amounts"), amounts)
        found: Array = amounts
        return found


def _has_persons(source: Rows) -> bool:
    """Whether a data set says whose rows they are. Only such tables are joined, and divided by person."""
    return isinstance(source, Source) and source.dataset.unit.column is not None


def _tallies(values: list[Value]) -> list[Tally]:
    """The counts and sums that values are computed from."""
    return [node for node in inputs_first(values, inputs_of) if isinstance(node, Tally)]
