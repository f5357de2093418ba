"""Expressions as Polars columns of a frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Sequence
from typing import Any

import polars as pl

from privjail.engines.polars.types import dtype_of
from privjail.plan.domain import CategoryDomain, TextDomain
from privjail.plan.expr import Expr, column_steps, held_at_once
from privjail.plan.node_table import NodeTable

LARGE = 100  # nodes of an expression, spelled out, beyond which it is computed step by step
HELD = 1 << 26  # bytes of columns that are held while another one is computed from them
FEWEST = 64  # rows that are computed at a time, however many columns are held
AT_ONCE = 32  # columns of a whole data set that are computed in one query
_MENTIONS: NodeTable[tuple[int, ...]] = NodeTable()


def at_once(order: list[Expr]) -> bool:
    """Whether one Polars expression may be made of the whole tree."""
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
    """Bytes of one row of a column, about."""
    return 64 if isinstance(expression.domain, TextDomain) else 8


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
    at_once = pieces(length, held_at_once(order, width, known))
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
