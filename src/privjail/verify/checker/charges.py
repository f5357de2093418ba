"""Charges: whether a release was paid for in every part of the data that it depends on.

The ledger keeps what was spent in each cell, and takes cost(p) = own(p) + Σ over partitions of p of max cost(part):
*parallel composition*, since a privacy unit's edits are shared out among the parts. So a charge in a cell protects all
that lies below it, and a release may be charged in two cells instead of above them only if they exclude each other.
"""

from fractions import Fraction
from itertools import combinations
from typing import Any

from privjail.verify.checker.cells import Cell
from privjail.verify.checker.mechanisms import Mechanism, cost
from privjail.verify.checker.numbers import Numbers
from privjail.verify.checker.rows import Rows
from privjail.verify.checker.verdict import Refuted, Report

Charge = tuple[Cell, list[Fraction]]


def check_charges(
    mechanism: Mechanism,
    on_own_grid: bool,
    value: Numbers,
    charges: list[Charge],
    notions: list[dict[str, Any]],
    nodes: list[Any],
    report: Report,
) -> None:
    """Each charge must be the mechanism's cost, and the charged cells must cover all cells of the value."""
    due: set[Cell] = set()
    for data_set in {cell.data_set for cell in value.cells}:
        notion = notions[data_set]
        split = is_proportional(mechanism, on_own_grid, value, notion)
        cells = [cell for cell in value.cells if cell.data_set == data_set]
        due |= {cell if split else above_shared_partitions(cell, nodes) for cell in cells}
        least = cost(mechanism, notion)
        for paid in (paid for cell, paid in charges if cell.data_set == data_set):
            for each, needed in zip(paid, least, strict=True):
                report.require("the cost", each, needed)
    due, charged = exclusive(due), {cell for cell, _ in charges}
    if not all(charged.intersection(cell.path()) for cell in due):
        raise Refuted("a part of the data that the value depends on was not charged")
    if charged != due:
        report.note_larger("charges")


def is_proportional(mechanism: Mechanism, on_own_grid: bool, value: Numbers, notion: dict[str, Any]) -> bool:
    """Whether a share t of the edits causes at most a share t of the loss. Only then may the parts be charged.

    Not where the value's distance is a constant, which the parts do not share; not on a coarser grid, where rounding
    adds a whole step however small the move is; and δ of a Gaussian does not shrink in proportion.
    """
    if value.has_constant_bound or not on_own_grid:
        return False
    return not (mechanism.kind == "gaussian" and notion["kind"] == "approx")


def above_shared_partitions(cell: Cell, nodes: list[Any]) -> Cell:
    """The lowest cell above all partitions in which one privacy unit may change rows of several parts at once.

    That is possible where a unit can cause more than one edit of the rows that are partitioned.
    """
    for depth, step in enumerate(cell.steps):
        base = nodes[step.base]
        if not isinstance(base, Rows) or base.edits > 1:
            return cell.ancestor(depth)
    return cell


def exclusive(cells: set[Cell]) -> set[Cell]:
    """Cells that all exclude each other: two that do not are replaced by their lowest common ancestor.

    That is sound, since a charge in a cell protects all that lies below it.
    """
    left = set(cells)
    while True:
        overlapping = next((pair for pair in combinations(left, 2) if not exclude_each_other(*pair)), None)
        if overlapping is None:
            return left
        a, b = overlapping
        left = left - {a, b} | {a.ancestor(common_depth(a, b))}


def common_depth(a: Cell, b: Cell) -> int:
    """How many steps two cells of one data set have in common."""
    depth = 0
    while depth < min(len(a.steps), len(b.steps)) and a.steps[depth] == b.steps[depth]:
        depth += 1
    return depth


def exclude_each_other(a: Cell, b: Cell) -> bool:
    """Whether two cells part ways inside one partition, with two different keys; data sets are charged each."""
    if a.data_set != b.data_set:
        return True
    depth = common_depth(a, b)
    if depth == min(len(a.steps), len(b.steps)):
        return False  # one lies inside the other
    return a.steps[depth].partition == b.steps[depth].partition
