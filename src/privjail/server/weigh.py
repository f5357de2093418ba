"""An estimate of a node's size in memory, in bytes; never far too small.

Facts of values are derived on first use (plan/value.py), so a value counts with the largest size that its facts can
have. Most facts are shared with the inputs. What grows are lists of cells, linear forms over cells, labels, and vectors
with a distance for each element. A node that would not fit is refused before its facts are derived.
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
from privjail.plan.value import AllMove, OneMoves, PerElement, RowVectors, Sensitivity, Value
from privjail.server.limits import Limits

NODE, CELL, LABEL, FORM = 1_000, 700, 64, 200
ONE_NODE = (Rows, Expr, Expr | None, Value)  # types of fields that hold at most one node, which is counted separately
ON_ONE_GRID = (Stack, ColumnStack)  # operations on any number of inputs that need a common grid
ROUGHLY = 2**12  # bytes; larger values are estimated more closely
_FACTS_BYTES: NodeTable[int] = NodeTable()


def grids(inputs: tuple[Value, ...], limits: Limits) -> None:
    """Refuse inputs whose common grid is too fine, before the node is built."""
    found = {each.grid for each in inputs}
    if len(found) > 1:
        limits.check("bits of a grid", sum(map(_bits, found)), 8 * limits.grid_bits)


@cache
def _weighed(cls: type[Node]) -> list[str]:
    """The fields of an operation that can hold more than one other node."""
    declared = typing.get_type_hints(cls)
    return [name for name in cls.__match_args__ if declared[name] not in ONE_NODE]  # type: ignore[attr-defined]


def weight(node: Node, limits: Limits) -> int:
    """The size of a built node, without its inputs."""
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
    """The largest size of a value's facts. Computed once for each value with inputs, inputs first."""
    inputs = value.inputs
    if not inputs:
        rows = getattr(value, "rows", None)
        return FORM if rows is None else 2 * FORM * (1 + len(rows.cells))  # how far it moves, and its net change
    known = _FACTS_BYTES.get(value)
    if known is None:
        for each in inputs:
            if each.inputs and each not in _FACTS_BYTES:
                for below in inputs_first((each,), _computed_inputs, _FACTS_BYTES.__contains__):
                    _FACTS_BYTES[below] = _facts_bytes(below, below.inputs)
        known = _FACTS_BYTES[value] = _facts_bytes(value, inputs)
    return known


def _computed_inputs(value: Value) -> list[Value]:
    return [each for each in value.inputs if each.inputs]


def _facts_bytes(value: Value, inputs: tuple[Value, ...]) -> int:
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
    """The size of a field's constants. Other nodes are counted separately."""
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
    """The size of a distance with its maxima written out: a multiple of it contains copies of all of them."""
    cost = FORM * distance.parts
    for c in distance.terms.values():
        if type(c) is not int or c >= 2**63:  # the others are in FORM
            cost += 8 * (_bits(c) // 64)
    return cost


def _joint(joint: Sensitivity) -> int:
    match joint:
        case PerElement(distances):
            return sum(map(_distance, distances))
        case OneMoves(_, whole, _, net):
            return _distance(whole) + _distance(net)
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
