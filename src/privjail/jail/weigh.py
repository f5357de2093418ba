"""What a node costs to build and to keep, in bytes: rough, but never far too little.

A node whose facts would not fit is refused before it is built: its inputs' facts, derived by then, bound them. Most
facts are shared with the inputs; what grows are lists of cells, linear forms over cells, labels, and vectors that are
taken apart into one distance for each element.
"""

from __future__ import annotations

from typing import Any

from privjail.jail.limits import Limits
from privjail.ops.numbers import Add, Beside, Scale, Stack, Total
from privjail.plan.distance import Distance
from privjail.plan.domain import CategoryDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, Node
from privjail.plan.rows import Rows
from privjail.plan.value import Joint, Listed, Shared, Value

NODE, CELL, TERM, LABEL = 1_000, 700, 120, 64


def before(cls: type[Node], values: list[Any], limits: Limits) -> int:
    """What building a node would cost beyond its inputs. Refuses grids that would be too fine."""
    inputs = [each for value in values for each in _several(value) if isinstance(each, Value)]
    if len(inputs) > 1:
        grids = {each.grid for each in inputs}
        limits.check("bits of a grid", sum(_bits(g) for g in grids), 8 * limits.grid_bits)
    cost = NODE + sum(_constants(value) for value in values) + 8 * sum(len(each.cells) for each in inputs)
    if cls is Beside or cls is Add and not _alike(*(each.joint for each in inputs)):
        cost += sum(_apart(each) for each in inputs)
    elif cls in (Add, Scale, Stack, Total):
        cost += sum(_joint(each.joint) for each in inputs)
    return cost


def after(node: Node, limits: Limits) -> int:
    """What a node that was built costs beyond its inputs and constants."""
    match node:
        case Value():
            limits.check("bits of a grid", _bits(node.grid), limits.grid_bits)
            labels = sum(len(axis) for axis in node.index)
            return 8 * len(node.cells) + _joint(node.joint) + LABEL * labels
        case Rows():
            kept = node.parent is not None and node.cells == node.parent.cells
            return 0 if kept else CELL * len(node.cells)
        case Expr():
            return LABEL * len(node.domain.categories) if isinstance(node.domain, CategoryDomain) else 0
    return 0


def _several(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _constants(value: Any) -> int:
    """Constants of a field; other nodes are counted by themselves."""
    match value:
        case tuple():
            return 8 * len(value) + sum(map(_constants, value))
        case Lit():
            return NODE + 2 * len(value.spelling)
        case str():
            return 64 + 2 * len(value)
        case Node() | None:
            return 0
    return LABEL


def _bits(grid: Any) -> int:
    return int(max(abs(grid.numerator), grid.denominator).bit_length())


def _distance(distance: Distance) -> int:
    return 200 + TERM * len(distance.terms) + 16 * len(distance.peaks)


def _joint(joint: Joint) -> int:
    match joint:
        case Listed(distances):
            return sum(map(_distance, distances))
        case Shared(_, whole, _):
            return _distance(whole)
    return NODE


def _apart(value: Value) -> int:
    """One distance for each element."""
    if isinstance(value.joint, Listed):
        return _joint(value.joint)
    cells = 1 + len(value.cells) if isinstance(value.joint, Shared) else 1
    return value.joint.size * CELL * cells


def _alike(a: Joint, b: Joint) -> bool:
    """Whether a sum stays in one piece: see numbers._added."""
    if isinstance(a, Shared) and isinstance(b, Shared):
        return a.whole.terms.keys() == b.whole.terms.keys() and not a.whole.peaks and not b.whole.peaks
    return type(a) is type(b)
