"""What a node costs to keep, in bytes: rough, but never far too little.

Facts of values are derived when they are asked for (plan/value.py), so a value is weighed by how large they can get.
Most facts are shared with the inputs; what grows are lists of cells, linear forms over cells, labels, and vectors that
are taken apart into one distance for each element. What would not fit is refused before its facts are derived.
"""

from __future__ import annotations

import typing
from functools import cache
from typing import Any

from privjail.jail.limits import Limits
from privjail.ops.numbers import Add, Beside, Element, Scale, Stack
from privjail.ops.tally import Tally
from privjail.plan.distance import Distance
from privjail.plan.domain import CategoryDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, Node, put
from privjail.plan.rows import Rows
from privjail.plan.value import Joint, Listed, Shared, Together, Value

NODE, CELL, LABEL, FORM = 1_000, 700, 64, 200
ON_ONE_GRID = (Stack, Beside)  # operations on any number of inputs, which need a common grid
ROUGHLY = 2**12  # a value of more bytes than this, by the rough rule, is looked at closely


def grids(inputs: tuple[Value, ...], limits: Limits) -> None:
    """Refuse, before it is built, what has no common grid that is coarse enough."""
    found = {each.grid for each in inputs}
    if len(found) > 1:
        limits.check("bits of a grid", sum(map(_bits, found)), 8 * limits.grid_bits)


@cache
def _weighed(cls: type[Node]) -> list[str]:
    """The fields of an operation that can hold more than one other node, which is counted by itself."""
    declared = typing.get_type_hints(cls)
    return [name for name in cls.__match_args__ if declared[name] not in (Rows, Expr, Value)]  # type: ignore[attr-defined]


def weight(node: Node, limits: Limits) -> int:
    """What a node that was built costs beyond its inputs."""
    cost = NODE
    for name in _weighed(type(node)):
        cost += _constants(getattr(node, name))
    if isinstance(node, Value):
        if node.grid.denominator != 1 or node.grid.numerator != 1:
            limits.check("bits of a grid", _bits(node.grid), limits.grid_bits)
        return cost + bulk(node) + (LABEL * sum(map(len, node.index)) if node.index else 0)
    if isinstance(node, Rows):
        kept = node.parent is not None and node.cells == node.parent.cells
        return cost if kept else cost + CELL * len(node.cells)
    if isinstance(node, Expr) and isinstance(node.domain, CategoryDomain):
        return cost + LABEL * len(node.domain.categories)
    return cost


def bulk(value: Value) -> int:
    """How large the facts of a value can get; found once, inputs first."""
    waiting = [value] if value._bulk is None else []
    while waiting:
        lacking = [each for each in waiting[-1].inputs() if each._bulk is None]
        if lacking:
            waiting += lacking
        else:
            each = waiting.pop()
            put(each, "_bulk", _bulk(each))
    assert value._bulk is not None
    return value._bulk


def _bulk(value: Value) -> int:
    inputs = value.inputs()
    if not inputs:
        rows = getattr(value, "rows", None)
        return FORM if rows is None else FORM * (1 + len(rows.cells))
    if isinstance(value, Beside) or isinstance(value, Add) and value.index and not _alike(value.a.joint, value.b.joint):
        return sum([_apart(each) for each in inputs])
    if isinstance(value, Element) and isinstance(value.a, Tally):
        return FORM + CELL * len(value.a.keys) * (1 + len(value.a.rows.cells))
    rough = sum([each._bulk or bulk(each) for each in inputs])
    plain = all([not each.index or not each.inputs() for each in inputs])
    if rough < ROUGHLY and plain and not (isinstance(value, Scale) and _bits(value.c) > 64):
        return rough
    return 8 * len(value.cells) + _joint(value.joint)


def _constants(value: Any) -> int:
    """Constants of a field; other nodes are counted by themselves."""
    if isinstance(value, Lit):
        return NODE + 2 * len(value.spelling)
    if value is None or isinstance(value, Node):
        return 0
    if isinstance(value, tuple):
        return 8 * len(value) + sum([_constants(each) for each in value])
    return 64 + 2 * len(value) if isinstance(value, str) else LABEL


def _bits(grid: Any) -> int:
    return int(max(abs(grid.numerator), grid.denominator).bit_length())


def _distance(distance: Distance) -> int:
    """With its maxima written out, for a multiple of it has copies of them all."""
    values = distance.terms.values()
    if set(map(type, values)) <= {int} and max(values, default=0) < 2**64:  # these are in FORM
        return FORM * distance.parts
    return FORM * distance.parts + 8 * sum([_bits(c) // 64 for c in values])


def _joint(joint: Joint) -> int:
    match joint:
        case Listed(distances):
            return sum(map(_distance, distances))
        case Shared(_, whole, _):
            return _distance(whole)
        case Together(_, each):
            return _distance(each)
    raise TypeError(f"{type(joint).__name__} has no weight")


def _apart(value: Value) -> int:
    """One distance for each element."""
    if isinstance(value.joint, Listed):
        return _joint(value.joint)
    cells = (1 + len(value.cells)) * len(value.index) if isinstance(value.joint, Shared) else 1
    return value.joint.size * CELL * cells


def _alike(a: Joint, b: Joint) -> bool:
    """Whether a sum stays in one piece: see numbers._added."""
    if isinstance(a, Shared) and isinstance(b, Shared):
        return a.whole.terms.keys() == b.whole.terms.keys() and not a.whole.peaks and not b.whole.peaks
    return type(a) is type(b)
