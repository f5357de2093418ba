"""The embedded engine: Polars columns, and index arrays for the rows of filters, sorts and slices.

Columns are computed once for a whole base; a selection of rows is an array of positions in its base. Counts
of the groups of one partition are read off one contingency table, whatever group is asked for first.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from math import prod
from typing import Any, Literal

import numpy as np
import polars as pl

from privjail.ops.carried import Carried
from privjail.ops.compare import Compare, exact
from privjail.ops.filter import Filter
from privjail.ops.ranks import Ranks
from privjail.ops.source import Source
from privjail.ops.tally import Tally, grid_bounds, sum_grid
from privjail.ops.window import Lag, Window
from privjail.plan.domain import BoolDomain, CategoryDomain, FloatDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.physical import dtype_of
from privjail.plan.rows import Rows
from privjail.plan.value import Value

TABLE_LIMIT = 1 << 14  # elements of a contingency table that is worth sharing between sibling groups
CACHE_BYTES = 2 * 2**30
OVERHEAD = 512  # bytes of an entry of the cache besides what it holds
LARGE = 100  # nodes of an expression, spelled out, beyond which it is computed step by step
ROW = "__row__"


class PolarsEngine:
    """Runs plans on data sets held as Polars frames."""

    def __init__(self, cache_bytes: int = CACHE_BYTES, frames: dict[Source, pl.DataFrame] | None = None) -> None:
        self._frames = {} if frames is None else frames
        self._cache = Cache(cache_bytes)

    def add(self, source: Source, frame: pl.DataFrame) -> None:
        """Hold a data set's rows, already in the shape that its schema promises."""
        if source in self._frames:  # opened again: the file may have changed, and nothing old may be mixed in
            self._cache = Cache(self._cache.limit)
        self._frames[source] = frame

    def evaluate(self, value: Value) -> Any:
        """Exact whole numbers in units of the value's grid: one, or a flat list."""
        done: dict[Value, Any] = {}
        waiting: list[Value] = [value]
        while waiting:
            node = waiting[-1]
            missing = [each for each in node.inputs() if each not in done]
            if missing:
                waiting.extend(missing)
                continue
            waiting.pop()
            if node not in done:
                done[node] = self._value(node, [done[each] for each in node.inputs()])
        return done[value]

    def table(self, rows: Rows, columns: Mapping[str, Expr]) -> pl.DataFrame:
        """The rows themselves, in their order: what distances speak of. Nothing of this is ever released."""
        size, index = self._size(rows.base), self._index(rows)
        held = {name: self._column(each, size) for name, each in columns.items()}
        return pl.DataFrame(held if index is None else {name: c.gather(index) for name, c in held.items()})

    def _value(self, node: Value, inputs: list[Any]) -> Any:
        match node:
            case Tally():
                table = self._tally(node.rows, node.keys, node.value)
                return [int(x) for x in table.ravel()] if node.keys else int(table)
            case Ranks():
                return node.compute(*self._sides(node))
        return node.compute(*inputs)

    def _sides(self, node: Ranks) -> tuple[list[int], list[int], int]:
        """How many values lie below each candidate, how many above it, and how many there are."""
        column, index = self._column(node.a, self._size(node.rows.base)), self._index(node.rows)
        held = np.sort((column if index is None else column.gather(index)).drop_nulls().to_numpy())
        domain = node.a.domain
        assert isinstance(domain, (IntDomain, FloatDomain))

        def count(op: str, side: Literal["left", "right"]) -> np.ndarray[Any, Any]:
            bounds = [exact(domain, op, c.value) for c in node.candidates]
            found = np.searchsorted(held, np.array([b for b in bounds if not isinstance(b, bool)], held.dtype), side)
            among = iter(found if op == "<" else len(held) - found)
            return np.array([len(held) * b if isinstance(b, bool) else next(among) for b in bounds], np.int64)

        return count("<", "left").tolist(), count(">", "right").tolist(), len(held)

    # -- rows: positions in the base, None for all of them

    def _index(self, rows: Rows) -> np.ndarray[Any, Any] | None:
        chain: list[Rows] = []
        step = rows
        while not step.starts_base and (step, "index") not in self._cache:
            chain.append(step)
            assert step.parent is not None
            step = step.parent
        index = None if step.starts_base else self._cache[step, "index"]
        for step in reversed(chain):
            index = self._select(step)
            self._cache.put((step, "index"), index)
        return index

    def _select(self, rows: Rows) -> np.ndarray[Any, Any]:
        """The positions that one step keeps, in its order."""
        match rows:
            case Filter(_, Compare("==", by, Lit() as key)) if by.domain.labels is not None:
                groups = self._groups(rows.rows, by)
                code = _code(by, key.value)
                return groups[code] if code is not None else np.empty(0, dtype=np.int64)
        assert rows.parent is not None
        return self._step(rows, rows.parent)

    def _step(self, rows: Rows, parent: Rows) -> np.ndarray[Any, Any]:
        index = self._index(parent)
        size = self._size(parent.base)
        held: dict[str, Any] = {ROW: np.arange(size) if index is None else index}
        columns = []
        for i, expression in enumerate(rows.expressions()):
            column = self._column(expression, size)
            held[str(i)] = column if index is None else column.gather(index)
            columns.append(pl.col(str(i)))
        kept: np.ndarray[Any, Any] = rows.polars(pl.DataFrame(held), *columns)[ROW].to_numpy()
        return kept

    def _groups(self, rows: Rows, by: Expr) -> list[np.ndarray[Any, Any]]:
        """The positions of every group of a partition, each in the order of the rows."""
        key = (rows, by, "groups")
        if key not in self._cache:
            codes = self._codes(rows, by)
            index = self._index(rows)
            labels = by.domain.labels
            assert labels is not None
            order = np.argsort(codes, kind="stable")
            ends = np.searchsorted(codes[order], np.arange(len(labels) + 1))
            positions = order if index is None else index[order]
            groups = [positions[a:b] for a, b in zip(ends[:-1], ends[1:], strict=True)]
            self._cache.put(key, groups, positions.nbytes + 128 * len(groups))
        found: list[np.ndarray[Any, Any]] = self._cache[key]
        return found

    def _size(self, base: Rows) -> int:
        if isinstance(base, Source):
            return self._frames[base].height
        return len(self._base_index(base))

    def _base_index(self, base: Rows) -> np.ndarray[Any, Any]:
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
        found: np.ndarray[Any, Any] = self._cache[key]
        return found

    # -- columns, for all rows of their base

    def _column(self, expression: Expr, size: int | None = None) -> pl.Series:
        key = (expression, "column")
        if key not in self._cache:
            base = expression.base
            length = size or 0 if base is None else self._size(base)
            order = _inputs_first(expression)
            at_once = _spelled_out(order) <= LARGE and not any(node.on_whole_columns for node in order)
            column = self._whole(order, length) if at_once else self._stepwise(order, length)
            if column.dtype != dtype_of(expression.domain):
                raise TypeError(f"{type(expression).__name__}: the engine gave another type than the rule")
            if base is None:
                return column
            self._cache.put(key, column, int(column.estimated_size()))
        found: pl.Series = self._cache[key]
        return found

    def _whole(self, order: list[Expr], length: int) -> pl.Series:
        """One Polars expression for the whole tree, down to loaded columns or columns of another base."""
        leaves: dict[str, pl.Series] = {}
        built: dict[Expr, Any] = {}
        for node in order:
            if isinstance(node, (Carried, Lag)):
                assert node.base is not None
                leaves[node.inner.name] = self._column(node.inner).gather(self._base_index(node.base))
            built[node] = node.polars(*(built[each] for each in node.inputs))
        base = order[-1].base
        if isinstance(base, Source):
            frame = self._frames[base].lazy()
        else:
            frame = pl.LazyFrame(leaves if leaves or base is not None else {ROW: np.zeros(length)})
        return _spread(frame.select(built[order[-1]].alias("x")).collect()["x"], length)

    def _stepwise(self, order: list[Expr], length: int) -> pl.Series:
        """The same, node by node: Polars spells an expression out as a tree, which can be huge where nodes are shared.

        A column is dropped after its last use.
        """
        uses = Counter(each for node in order for each in set(node.inputs))
        held: dict[Expr, pl.Series] = {}
        for node in order:
            if node.inputs:
                frame = pl.DataFrame({str(i): held[each] for i, each in enumerate(node.inputs)})
                built = node.polars(*(pl.col(str(i)) for i in range(len(node.inputs))))
                held[node] = _spread(frame.select(built.alias("x"))["x"], length)
            else:
                held[node] = self._whole([node], length)
            for each in set(node.inputs):
                uses[each] -= 1
                if not uses[each]:
                    del held[each]
        return held[order[-1]]

    def _codes(self, rows: Rows, by: Expr) -> np.ndarray[Any, Any]:
        """The group of each row: a number from 0, and the number of labels for a missing key."""
        key = (by, "codes")
        if key not in self._cache:
            labels = by.domain.labels
            assert labels is not None
            column = self._column(by, self._size(rows.base))
            if isinstance(labels, range):
                column = column - labels.start
            codes = column.cast(pl.Int64()).fill_null(len(labels)).to_numpy()
            # Cannot happen while domains are true. If one is not, a row in no group beats a failure that shows it.
            codes = np.where((codes >= 0) & (codes < len(labels)), codes, len(labels))
            if by.base is not None:  # a constant has as many rows as the table that it is used in
                self._cache.put(key, codes, codes.nbytes)
        else:
            codes = np.asarray(self._cache[key])
        index = self._index(rows)
        return codes if index is None else np.asarray(codes[index])

    # -- counts and sums

    def _tally(self, rows: Rows, keys: tuple[Expr, ...], value: Expr | None) -> np.ndarray[Any, Any]:
        """One whole number for each combination of labels."""
        cache_key = (rows, keys, value, "tally")
        if cache_key in self._cache:
            found: np.ndarray[Any, Any] = self._cache[cache_key]
            return found
        shape = tuple(len(key.domain.labels or ()) for key in keys)
        match rows:
            case Filter(above, Compare("==", by, Lit() as key)) if (
                by.domain.labels is not None and len(keys) < 8 and prod(shape) * len(by.domain.labels) <= TABLE_LIMIT
            ):
                code = _code(by, key.value)
                if code is None:
                    return np.zeros(shape, dtype=np.int64)
                return np.asarray(self._tally(above, (by, *keys), value)[code])
        codes = [self._codes(rows, key) for key in keys]
        table = np.asarray(self._count(rows, codes, shape, value))
        self._cache.put(cache_key, table, table.nbytes)
        return table

    def _count(self, rows: Rows, codes: list[Any], shape: tuple[int, ...], value: Expr | None) -> Any:
        index = self._index(rows)
        size = self._size(rows.base) if index is None else len(index)
        flat = np.zeros(size, dtype=np.int64)
        known = np.ones(size, dtype=bool)  # rows without a key are in no group
        for code, length in zip(codes, shape, strict=True):
            known &= code < length
            flat = flat * length + np.where(code < length, code, 0)
        if value is None:
            counts = np.bincount(flat[known], minlength=prod(shape)) if shape else np.array(size)
            return np.asarray(counts.reshape(shape), dtype=np.int64)
        amounts = self._amounts(value, self._size(rows.base))
        if index is not None:
            amounts = amounts[index]
        if not shape:
            return np.asarray(amounts.sum(dtype=np.int64))
        # Weights are floats: 15 bits at a time stay exact for up to 2**38 rows.
        high, low = amounts >> 15, amounts & 0x7FFF
        sums = [
            np.bincount(flat[known], weights=part[known], minlength=prod(shape)).astype(np.int64)
            for part in (high, low)
        ]
        return np.asarray(((sums[0] << 15) + sums[1]).reshape(shape))

    def _amounts(self, value: Expr, size: int) -> np.ndarray[Any, Any]:
        """A column on its summation grid, as whole numbers; missing values add nothing."""
        key = (value, "amounts")
        if key in self._cache:
            found: np.ndarray[Any, Any] = self._cache[key]
            return found
        column = self._column(value, size)
        domain = value.domain
        if isinstance(domain, BoolDomain):
            amounts = column.cast(pl.Int64()).fill_null(0).to_numpy()
        else:
            assert isinstance(domain, (IntDomain, FloatDomain))
            grid = sum_grid(domain)
            if grid != 1 or isinstance(domain, FloatDomain):
                column = (column.cast(pl.Float64()) / float(grid)).round(0)
            low, high = grid_bounds(domain)
            amounts = column.clip(low, high).cast(pl.Int64()).fill_null(0).to_numpy()
        if value.base is not None:
            self._cache.put(key, amounts, amounts.nbytes)
        return amounts


def _inputs_first(expression: Expr) -> list[Expr]:
    """An expression and all that it is computed from, in its base."""
    order: dict[Expr, None] = {}
    waiting = [expression]
    while waiting:
        node = waiting[-1]
        missing = [each for each in node.inputs if each not in order]
        if missing:
            waiting.extend(missing)
            continue
        waiting.pop()
        order[node] = None
    return list(order)


def _spelled_out(order: list[Expr]) -> int:
    """How many nodes the last one has as a tree, in which shared nodes are written each time; or more than LARGE."""
    size: dict[Expr, int] = {}
    for node in order:
        size[node] = min(LARGE + 1, 1 + sum(size[each] for each in node.inputs))
    return size[order[-1]]


def _spread(column: pl.Series, length: int) -> pl.Series:
    """A constant in every row."""
    return column.new_from_index(0, length) if len(column) == 1 != length else column


def _code(by: Expr, label: Any) -> int | None:
    domain = by.domain
    if isinstance(domain, CategoryDomain):
        return domain.code(label)
    labels = domain.labels
    assert labels is not None
    return labels.index(label) if label in labels else None


class Cache:
    """What was computed before, up to a number of bytes; the least recently used goes first.

    Keys hold plan nodes, so a node stays alive while something computed for it is kept.
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.used = limit, 0
        self._held: OrderedDict[tuple[Any, ...], tuple[Any, int]] = OrderedDict()

    def put(self, key: tuple[Any, ...], value: Any, size: int | None = None) -> None:
        size = OVERHEAD + (value.nbytes if size is None else size)
        self._held[key] = (value, size)
        self.used += size
        while self.used > self.limit and len(self._held) > 1:
            _, (_, freed) = self._held.popitem(last=False)
            self.used -= freed

    def __contains__(self, key: tuple[Any, ...]) -> bool:
        return key in self._held

    def __getitem__(self, key: tuple[Any, ...]) -> Any:
        self._held.move_to_end(key)
        return self._held[key][0]
