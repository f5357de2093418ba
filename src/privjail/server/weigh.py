"""What a node costs to keep, in bytes: rough, but never far too little.

Facts of values are derived when they are asked for (plan/value.py), so a value is weighed by how large they can get.
Most facts are shared with the inputs; what grows are lists of cells, linear forms over cells, labels, and vectors that
are taken apart into one distance for each element. What would not fit is refused before its facts are derived.
"""

from __future__ import annotations

import typing
from functools import cache
from typing import Any

from privjail.ops.numbers.combine import Add, ColumnStack, Element, Scale, Stack
from privjail.ops.numbers.tally import ONE, Tally
from privjail.plan.distance import Distance
from privjail.plan.domain import CategoryDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, Node, classes, inputs_first
from privjail.plan.node_table import NodeTable
from privjail.plan.rows import Rows
from privjail.plan.value import AllMove, OneMoves, PerElement, RowVectors, Sensitivity, Value, inputs_of
from privjail.server.limits import Limits

NODE, CELL, LABEL, FORM = 1_000, 700, 64, 200
ONE_NODE = (Rows, Expr, Expr | None, Value)  # what is declared so is one node or none, which is counted by itself
ON_ONE_GRID = (Stack, ColumnStack)  # operations on any number of inputs, which need a common grid
ROUGHLY = 2**12  # a value of more bytes than this, by the rough rule, is looked at closely
_FACTS_BYTES: NodeTable[int] = NodeTable()


def grids(inputs: tuple[Value, ...], limits: Limits) -> None:
    """Refuse, before it is built, what has no common grid that is coarse enough."""
    found = {each.grid for each in inputs}
    if len(found) > 1:
        limits.check("bits of a grid", sum(map(_bits, found)), 8 * limits.grid_bits)


@cache
def _weighed(cls: type[Node]) -> list[str]:
    """The fields of an operation that can hold more than one other node."""
    declared = typing.get_type_hints(cls)
    return [name for name in cls.__match_args__ if declared[name] not in ONE_NODE]  # type: ignore[attr-defined]


def weight(node: Node, limits: Limits) -> int:
    """What a node that was built costs beyond its inputs."""
    cost = NODE
    for name in _weighed(type(node)):
        cost += _constants(getattr(node, name))
    if isinstance(node, Value):
        if node.grid is not ONE:  # as it is for all that are counts
            limits.check("bits of a grid", _bits(node.grid), limits.grid_bits)
        return cost + facts_bytes(node) + (LABEL * sum(map(len, node.index)) if node.index else 0)
    if isinstance(node, Rows):
        kept = node.parent is not None and node.cells == node.parent.cells
        return cost if kept else cost + CELL * len(node.cells)
    if isinstance(node, Expr) and isinstance(node.domain, CategoryDomain):
        return cost + LABEL * len(node.domain.categories)
    return cost


def facts_bytes(value: Value) -> int:
    """How large the facts of a value can get; found once, inputs first."""
    known = _FACTS_BYTES.get(value)
    if known is None:
        inputs = value.inputs
        for each in inputs_first(inputs, inputs_of, _FACTS_BYTES.__contains__) if inputs else ():
            _FACTS_BYTES[each] = _facts_bytes(each, each.inputs)
        known = _FACTS_BYTES[value] = _facts_bytes(value, inputs)
    return known


def _facts_bytes(value: Value, inputs: tuple[Value, ...]) -> int:
    if not inputs:
        rows = getattr(value, "rows", None)
        return FORM if rows is None else FORM * (1 + len(rows.cells))
    if type(value) is ColumnStack or type(value) is Add and value.index and not _alike(value.a.joint, value.b.joint):
        return sum([_apart(each) for each in inputs])
    if type(value) is Element and isinstance(value.a, Tally):
        return FORM + CELL * len(value.a.keys) * (1 + len(value.a.rows.cells))
    rough, plain = 0, type(value) is not Scale or _bits(value.c) <= 64
    for each in inputs:
        rough += facts_bytes(each)
        if each.index and each.inputs:
            plain = False
    if plain and rough < ROUGHLY:
        return rough
    facts = value.facts
    return 8 * len(facts.cells) + _joint(facts.joint)


def _constants(value: Any) -> int:
    """Constants of a field; other nodes are counted by themselves."""
    kind = type(value)
    if kind is Lit:
        return NODE + 2 * len(value.spelling)
    if value is None or kind in classes:
        return 0
    if isinstance(value, tuple):
        return 8 * len(value) + sum(map(_constants, value))
    return 64 + 2 * len(value) if isinstance(value, str) else LABEL


def _bits(grid: Any) -> int:
    return int(max(abs(grid.numerator), grid.denominator).bit_length())


def _distance(distance: Distance) -> int:
    """With its maxima written out, for a multiple of it has copies of them all."""
    cost = FORM * distance.parts
    for c in distance.terms.values():
        if type(c) is not int or c >= 2**63:  # the others are in FORM
            cost += 8 * (_bits(c) // 64)
    return cost


def _joint(joint: Sensitivity) -> int:
    match joint:
        case PerElement(distances):
            return sum(map(_distance, distances))
        case OneMoves(_, whole, _):
            return _distance(whole)
        case AllMove(_, each):
            return _distance(each)
        case RowVectors(rows, largest, _):
            return _distance(rows) + FORM * len(largest)
    raise TypeError(f"{type(joint).__name__} has no weight")


def _apart(value: Value) -> int:
    """One distance for each element."""
    if isinstance(value.joint, PerElement):
        return _joint(value.joint)
    cells = (1 + len(value.cells)) * len(value.index) if isinstance(value.joint, OneMoves) else 1
    return value.joint.size * CELL * cells


def _alike(a: Sensitivity, b: Sensitivity) -> bool:
    """Whether a sum stays in one piece: see numbers._added."""
    if isinstance(a, OneMoves) and isinstance(b, OneMoves):
        return a.whole.terms.keys() == b.whole.terms.keys() and not a.whole.maxima and not b.whole.maxima
    return type(a) is type(b)
