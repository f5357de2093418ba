"""Expressions as Polars columns of a frame; and the element of a table, and the amount, of each row.

The rules for elements and amounts are written once, for Polars expressions (queries.py) and for columns and arrays that
are already computed (batches.py and engine.py): both have the same operators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Sequence
from math import prod
from typing import Any

import numpy as np
import polars as pl

from privjail.ops.columns.compare import Compare
from privjail.ops.columns.text import Concat, Text
from privjail.ops.numbers.tally import grid_bounds, rounding, sum_grid
from privjail.ops.polars_types import dtype_of
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.sort import Sort
from privjail.ops.rows.source import Source
from privjail.plan.domain import BoolDomain, CategoryDomain, Domain, FloatDomain, IntDomain, TextDomain
from privjail.plan.expr import Expr, column_steps, held_at_once
from privjail.plan.node import Lit
from privjail.plan.node_table import NodeTable
from privjail.plan.rows import Rows

Array = np.ndarray[Any, Any]
Fields = tuple[Rows, tuple[Expr, ...], Expr | None]  # of a Tally, which takes longer to build than to look up
LONG = 1 << 18  # rows beyond which a data set is counted in passes over it (long_tables.py)
LARGE = 100  # nodes of an expression, spelled out, beyond which it is computed step by step
HELD = 1 << 26  # bytes of columns that are held while another one is computed from them
FEWEST = 64  # rows that are computed at a time, however many columns are held
AT_ONCE = 32  # columns of a whole data set that are computed in one query
TABLE_LIMIT = 1 << 14  # elements of a contingency table that is worth sharing between sibling groups
NO_GROUP = (-1, 0)
_CODES: NodeTable[tuple[int, int]] = NodeTable()  # the group that a comparison picks, and how many groups there are
_MENTIONS: NodeTable[tuple[int, ...]] = NodeTable()


def at_once(order: list[Expr]) -> bool:
    """Whether one Polars expression may be made of the whole tree."""
    if len(order) <= 2:  # one step on a leaf: no shared part can be spelled out many times
        return not order[-1].on_whole_columns
    return spelled_size(order) <= LARGE


def spelled_size(order: list[Expr]) -> int:
    """How many steps one Polars expression of the whole tree has; many, if there must not be one.

    Polars spells an expression out as a tree, which can be huge where nodes are shared, or are in a line several times.
    """
    size: dict[Expr, int] = {}
    for node in order:
        if node.on_whole_columns:
            return LARGE + 1
        times = zip(mentions(node), node.inputs, strict=True)
        size[node] = min(LARGE + 1, 1 + sum([n * size[each] for n, each in times]))
    return size[order[-1]]


def mentions(node: Expr) -> tuple[int, ...]:
    """How often each input of an expression occurs in its line."""
    known = _MENTIONS.get(node)
    if known is None:
        names = [f"input {i}" for i in range(len(node.inputs))]
        found = node.polars(*map(pl.col, names)).meta.root_names() if names else []
        known = tuple([found.count(name) for name in names])
        _MENTIONS[node] = known
    return known


def to_polars(order: list[Expr]) -> pl.Expr:
    """One Polars expression for the whole tree, down to loaded columns or columns of another base."""
    built: dict[Expr, Any] = {}
    for node in order:
        built[node] = node.polars(*(built[each] for each in node.inputs))
    found: pl.Expr = built[order[-1]]
    return found


def width(expression: Expr) -> int:
    """Bytes of one row of a column, about. Texts that operations made can be long."""
    if not isinstance(expression.domain, TextDomain):
        return 8
    return 1024 if isinstance(expression, (Concat, Text)) else 64


def pieces(length: int, row_bytes: int) -> list[tuple[int, int]]:
    """Rows from … to …, of about the same number each, so that a piece of all columns stays small."""
    n = max(1, -(-length // max(FEWEST, HELD // row_bytes)))
    return [(length * i // n, length * (i + 1) // n) for i in range(n)]


def stepwise(
    order: list[Expr], length: int, leaf: Callable[[Expr, int, int], pl.Series], known: Container[Expr] = ()
) -> pl.Series:
    """The same, node by node, for so many rows at a time that all columns that are needed at once stay small.

    ``leaf`` gives the rows from … to … of a column that is not computed from others, or that is ``known``.
    """
    sizes, given = {each: width(each) for each in order}, {each for each in order if each in known}
    at_once = pieces(length, held_at_once(order, sizes.__getitem__, given))
    found = [_stepwise(order, start, stop, leaf, known) for start, stop in at_once]
    return found[0] if len(found) == 1 else pl.concat(found, rechunk=True)


def _stepwise(
    order: list[Expr], start: int, stop: int, leaf: Callable[[Expr, int, int], pl.Series], known: Container[Expr]
) -> pl.Series:
    """Rows from … to … of a column. Each column before it is dropped after its last use."""
    length = stop - start
    uses = Counter(each for node in order if node not in known for each in set(node.inputs))
    held: dict[Expr, pl.Series] = {}
    for node in order:
        computed = bool(node.inputs) and node not in known
        if computed:
            frame = pl.DataFrame({str(i): held[each] for i, each in enumerate(node.inputs)})
            built = node.polars(*(pl.col(str(i)) for i in range(len(node.inputs))))
            held[node] = spread(frame.select(built.alias("x"))["x"], length)
        else:
            held[node] = leaf(node, start, stop)
        for each in set(node.inputs) if computed else ():
            uses[each] -= 1
            if not uses[each]:
                del held[each]
    return held[order[-1]]


def spread(column: pl.Series, length: int) -> pl.Series:
    """A constant in every row."""
    return column.new_from_index(0, length) if len(column) == 1 != length else column


class Computation:
    """Several expressions over a data set, to be computed for many frames that hold some of its rows each."""

    def __init__(self, expressions: Sequence[Expr]) -> None:
        self.expressions = expressions
        self.orders = [column_steps(each) for each in expressions]
        self.whole = {i: to_polars(order).alias(str(i)) for i, order in enumerate(self.orders) if at_once(order)}

    @property
    def row_bytes(self) -> int:
        """Bytes of one row of all columns that are held at once."""
        steps = [held_at_once(order, width) for i, order in enumerate(self.orders) if i not in self.whole]
        return sum(map(width, self.expressions)) + max(steps, default=0)

    def columns(self, frame: pl.DataFrame) -> dict[Expr, pl.Series]:
        found = frame.select(self.whole.values()) if self.whole else frame
        columns = {}
        for i, order in enumerate(self.orders):
            if i in self.whole:
                column = spread(found[str(i)], frame.height)
            else:
                column = stepwise(order, frame.height, lambda leaf, a, b: _leaf(frame.slice(a, b - a), leaf))
            columns[self.expressions[i]] = checked(column, self.expressions[i])
        return columns


def _leaf(frame: pl.DataFrame, leaf: Expr) -> pl.Series:
    return spread(frame.select(to_polars([leaf]).alias("x"))["x"], frame.height)


def checked(column: pl.Series, expression: Expr) -> pl.Series:
    if column.dtype != dtype_of(expression.domain):
        raise TypeError(f"{type(expression).__name__}: the engine gave another type than the rule")
    return column


def code_of(by: Expr, label: Any) -> int | None:
    """The position of a label among the groups of a key, or None if there is no such group."""
    domain = by.domain
    if isinstance(domain, CategoryDomain):
        return domain.code(label)
    labels = domain.labels
    assert labels is not None
    return labels.index(label) if label in labels else None


# -- which rows a table of counts or sums is about, which element of it each row belongs to, and with which amount


def is_long(frame: Any) -> bool:
    """Whether a data set is on disk, or has many rows."""
    return not isinstance(frame, pl.DataFrame) or frame.height >= LONG


def conditions(rows: Rows) -> list[Expr] | None:
    """What a row of the data set must meet to be among these rows; None if that depends on other rows."""
    found: list[Expr] = []
    while not isinstance(rows, Source):
        match rows:
            case Filter(above, condition):
                found.append(condition)
            case Sort(above):  # counts and sums do not depend on the order
                pass
            case _:
                return None
        rows = above
    return found[::-1]


def of_one_table(expression: Expr) -> bool:
    """Whether a column is computed from loaded columns of its own data set alone."""
    return not any(step.from_elsewhere for step in column_steps(expression))


def shape_of(keys: tuple[Expr, ...]) -> tuple[int, ...]:
    return tuple(len(key.domain.labels or ()) for key in keys)


# -- rules, for expressions, columns and arrays


def code(column: Any, key: Expr) -> Any:
    """The position of each row's label (an expression or a column); null for a missing one."""
    labels = key.domain.labels
    assert labels is not None
    if isinstance(labels, range) and labels.start:
        column = column - labels.start
    return column.cast(pl.Int32(), strict=False)


def in_a_group(codes: Any, length: int) -> Any:
    """Where a code is the position of a label.

    Other numbers cannot happen while domains are true. If one is not, a row in no group beats a failure that shows it.
    """
    return (codes >= 0) & (codes < length)


def flattened(codes: Sequence[Any], lengths: Sequence[int]) -> Any:
    """The position of each row in the flat table, from its positions along the axes."""
    place = codes[0]
    for each, length in zip(codes[1:], lengths[1:], strict=True):
        place = place * length + each
    return place


def is_rounded(domain: Domain) -> bool:
    """Whether amounts are put on a grid: true/false values and short whole numbers are added as they are."""
    return isinstance(domain, FloatDomain) or isinstance(domain, IntDomain) and sum_grid(domain) != 1


def whole_amounts(column: Any, domain: IntDomain) -> Any:
    """Whole numbers in steps of a grid that is coarser: the nearest one, of two the even one, inside the bounds.

    In whole numbers: as floats, those beyond 2**53 would be rounded twice, which may end at another grid point.
    """
    grid = int(sum_grid(domain))
    below = column // grid
    rest, odd = column - below * grid, below - below // 2 * 2
    return (below + (rest * 2 + odd > grid).cast(pl.Int64())).clip(*grid_bounds(domain))


# -- columns and arrays


def codes_of(column: pl.Series, key: Expr) -> Array:
    """The codes of a column, with the number of labels for a missing key."""
    codes = code(column, key)
    if codes.null_count():
        codes = codes.fill_null(len(key.domain.labels or ()))
    found: Array = codes.to_numpy()
    return found


def place_of(codes: list[Array], keys: tuple[Expr, ...]) -> Array | None:
    """The place of each row in a table, flattened; the number of places for rows that are in no group."""
    if not keys:
        return None
    lengths = shape_of(keys)
    size = prod(lengths)
    number: Any = np.int32 if size < 2**31 else np.int64
    nowhere: Array | None = None
    for each, length in zip(codes, lengths, strict=True):
        # Mostly all rows are in a group. As unsigned numbers, those below 0 are the largest: one look, not two.
        if len(each) and each.view(f"u{each.itemsize}").max() >= length:
            outside = ~in_a_group(each, length)
            nowhere = outside if nowhere is None else nowhere | outside
    place: Array = flattened([codes[0].astype(number, copy=False), *codes[1:]], lengths)
    return place if nowhere is None else np.where(nowhere, size, place)


def amounts_of(column: pl.Series, domain: Domain) -> Array:
    """A column on its summation grid: whole numbers of grid steps, as floats; missing values add nothing."""
    return to_amounts(domain)(column)


def to_amounts(domain: Domain) -> Callable[[pl.Series], Array]:
    """The same for many columns of one domain: its grid is computed once."""
    assert isinstance(domain, (BoolDomain, IntDomain, FloatDomain))
    if not is_rounded(domain):
        return _as_floats
    if isinstance(domain, IntDomain):
        return lambda column: _as_floats(whole_amounts(column, domain))
    assert isinstance(domain, FloatDomain)
    steps, on_grid = float(1 / sum_grid(domain)), rounding(domain, 1.0)
    may_be_zero = domain.lower <= 0 <= domain.upper

    def amounts(column: pl.Series) -> Array:
        found: Array = on_grid(_as_floats(column) * steps)  # a power of two: exact
        if not may_be_zero and column.null_count():
            found[column.is_null().to_numpy()] = 0
        return found

    return amounts


def _as_floats(column: pl.Series) -> Array:
    exact = column.cast(pl.Float64()) if column.dtype != pl.Float64() else column
    floats: Array = (exact.fill_null(0) if exact.null_count() else exact).to_numpy()
    return floats


# -- groups of one partition: what is counted for one of them is counted for all


def enclosing_tables(table: Fields) -> list[tuple[Fields, tuple[int, ...]]]:
    """This table, then each wider table that it can be read from, with our index in it."""
    rows, keys, value = table
    index: tuple[int, ...] = ()
    found: list[tuple[Fields, tuple[int, ...]]] = [(table, index)]
    size = prod(shape_of(keys))
    while isinstance(rows, Filter) and len(keys) < 8:
        group = picked(rows)
        if group is None:
            break
        by, code, groups = group
        size *= groups
        if size > TABLE_LIMIT:
            break
        rows, keys, index = rows.rows, (by, *keys), (code, *index)
        found.append(((rows, keys, value), index))
    return found


def picked(rows: Filter) -> tuple[Expr, int, int] | None:
    """For a filter that picks one group of a partition: its key, the group's number, and how many groups there are."""
    condition = rows.condition
    if not isinstance(condition, Compare) or condition.op != "==":
        return None
    known = _CODES.get(condition)
    if known is None:
        known = NO_GROUP
        match condition:
            case Compare(_, by, Lit() as key) if by.domain.labels is not None:
                code = code_of(by, key.value)
                known = NO_GROUP if code is None else (code, len(by.domain.labels))
        _CODES[condition] = known
    return None if known is NO_GROUP else (condition.a, *known)
