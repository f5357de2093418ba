"""Charges: whether a release was paid for in every part of the data that it depends on.

The ledger keeps what was spent in each cell. What counts against the budget is, from the leaves up,

    cost(p) = spent in p + Σ over partitions of p of max cost(part)         (parallel composition),

because the edits of a privacy unit are shared out among the parts of a partition. A sample with rate q counts as
log(1 + q·(exp(cost) - 1)) under pure ε (amplification by subsampling: Li, Qardaji, Su, ASIACCS 2012; here for all
releases on it together), and as its cost under other notions. A charge in a cell covers the cell
and everything below it. Two charges may stand in two cells, instead of one in a common ancestor, only if the cells
exclude each other inside one partition.
"""

from fractions import Fraction
from itertools import combinations
from typing import Any

from privjail.verify.checker.cells import Cell, Step
from privjail.verify.checker.certificate import Certificate
from privjail.verify.checker.mechanisms import Mechanism, cost
from privjail.verify.checker.numbers import Numbers
from privjail.verify.checker.verdict import Refuted, Report

Charge = tuple[Cell, list[Fraction]]


def check_charges(
    mechanism: Mechanism,
    on_own_grid: bool,
    value: Numbers,
    charges: list[Charge],
    certificate: Certificate,
    report: Report,
) -> None:
    """Each charge must be at least the mechanism's cost, and the charged cells must cover all cells of the value."""
    due: set[Cell] = set()
    for data_set in {cell.data_set for cell in value.cells}:
        notion = certificate.data_sets[data_set].notion
        cells = {cell for cell in value.cells if cell.data_set == data_set}
        if not is_proportional(mechanism, on_own_grid, value, notion):
            cells = {above_shared_partitions(cell, certificate) for cell in cells}
        due |= cells
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
    """Whether a share t of a privacy unit's edits causes at most a share t of the privacy loss.

    Parallel composition over the parts of a partition needs that, where a unit can have rows in several parts. It is
    false if the distance is a constant, which does not shrink with the share; if noise is drawn on a coarser grid,
    where rounding adds a whole step however small the change is; and for the δ of a Gaussian or of private keys.
    Otherwise it is true: ε is proportional to the distance, ρ to its square.
    """
    if value.has_constant_bound or not on_own_grid:
        return False
    return not (mechanism.kind in ("gaussian", "private_keys") and notion["kind"] == "approx")


def above_shared_partitions(cell: Cell, certificate: Certificate) -> Cell:
    """The lowest cell above all partitions in which one privacy unit can change several parts at once.

    It can if it causes more than one edit of the base that is partitioned.
    """
    for depth, step in enumerate(cell.steps):
        if isinstance(step, Step) and certificate.rows(step.base).edits > 1:
            return cell.ancestor(depth)
    return cell


def exclusive(cells: set[Cell]) -> set[Cell]:
    """Replace two cells that do not exclude each other by their lowest common ancestor, until all do.

    That is sound: a charge in a cell covers everything below it.
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
    """Whether two cells lie in different parts of one partition. Data sets have separate budgets."""
    if a.data_set != b.data_set:
        return True
    depth = common_depth(a, b)
    if depth == min(len(a.steps), len(b.steps)):
        return False  # one lies inside the other
    return a.steps[depth].partition == b.steps[depth].partition
