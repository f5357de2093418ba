"""Expressions as Polars columns of a frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from privjail.plan.domain import CategoryDomain
from privjail.plan.expr import Expr
from privjail.plan.node import put
from privjail.plan.physical import dtype_of

LARGE = 100  # nodes of an expression, spelled out, beyond which it is computed step by step


def inputs_first(expression: Expr) -> list[Expr]:
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
    known = node._mentions
    if known is None:
        names = [f"input {i}" for i in range(len(node.inputs))]
        found = node.polars(*map(pl.col, names)).meta.root_names() if names else []
        known = tuple([found.count(name) for name in names])
        put(node, "_mentions", known)
    return known


def spelled(order: list[Expr]) -> pl.Expr:
    """One Polars expression for the whole tree, down to loaded columns or columns of another base."""
    built: dict[Expr, Any] = {}
    for node in order:
        built[node] = node.polars(*(built[each] for each in node.inputs))
    found: pl.Expr = built[order[-1]]
    return found


def stepwise(order: list[Expr], length: int, leaf: Callable[[Expr], pl.Series]) -> pl.Series:
    """The same, node by node. A column is dropped after its last use."""
    uses = Counter(each for node in order for each in set(node.inputs))
    held: dict[Expr, pl.Series] = {}
    for node in order:
        if node.inputs:
            frame = pl.DataFrame({str(i): held[each] for i, each in enumerate(node.inputs)})
            built = node.polars(*(pl.col(str(i)) for i in range(len(node.inputs))))
            held[node] = spread(frame.select(built.alias("x"))["x"], length)
        else:
            held[node] = leaf(node)
        for each in set(node.inputs):
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
        self.orders = [inputs_first(each) for each in expressions]
        self.whole = {i: spelled(order).alias(str(i)) for i, order in enumerate(self.orders) if at_once(order)}

    def columns(self, frame: pl.DataFrame) -> dict[Expr, pl.Series]:
        found = frame.select(self.whole.values()) if self.whole else frame
        columns = {}
        for i, order in enumerate(self.orders):
            if i in self.whole:
                column = spread(found[str(i)], frame.height)
            else:
                column = stepwise(order, frame.height, lambda leaf: _leaf(frame, leaf))
            columns[self.expressions[i]] = checked(column, self.expressions[i])
        return columns


def _leaf(frame: pl.DataFrame, leaf: Expr) -> pl.Series:
    return spread(frame.select(spelled([leaf]).alias("x"))["x"], frame.height)


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
