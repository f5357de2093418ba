"""Cells: parts of the data that exclude each other.

A *cell* is a data set, or the rows of a cell where one column has one value. It is written as a path:
data set / city=Kobe / sex=F. A *partition* of a cell is named by the rows (the base) and the column it is made with;
its parts are the cells with the same path and partition but another value (the key). A row is in at most one of them.

Every cell has a share η. Take two neighbouring tables (one privacy unit, i.e. a row or all rows of a user, is added or
removed) and a shortest script of insertions and deletions between them. η(cell) is the share of these edits whose row
lies in the cell. So 0 ≤ η ≤ 1 for a data set, and the parts of one partition of p have Σ η(part) ≤ η(p), because each
edited row has one value of the column.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Step:
    """One part of one partition: the rows of ``base`` where the column ``by`` equals ``key``."""

    base: int  # the node whose rows are partitioned
    by: int  # the node of the column
    key: Any  # a constant; None: the rows where the column is null

    @property
    def partition(self) -> tuple[int, int]:
        return self.base, self.by


@dataclass(frozen=True)
class Cell:
    """A part of a data set: the whole (no steps), or what is left after each step."""

    data_set: int
    steps: tuple[Step, ...] = ()

    def extended(self, *steps: Step) -> "Cell":
        return Cell(self.data_set, (*self.steps, *steps))

    def ancestor(self, depth: int) -> "Cell":
        """The cell after the first ``depth`` steps."""
        return Cell(self.data_set, self.steps[:depth])

    def path(self) -> list["Cell"]:
        """From the whole data set down to this cell."""
        return [self.ancestor(depth) for depth in range(len(self.steps) + 1)]


def partitions(cells: Iterable[Cell]) -> list[tuple[Cell, list[Cell]]]:
    """All partitions on the paths to some cells: the cell that is divided, and those of its parts that occur.

    Upper partitions come before those of their parts.
    """
    parts: dict[tuple[Cell, tuple[int, int]], list[Cell]] = {}
    on_paths = {above for cell in cells for above in cell.path()}
    for cell in sorted(on_paths, key=lambda cell: len(cell.steps)):
        if cell.steps:
            divided = cell.ancestor(len(cell.steps) - 1)
            parts.setdefault((divided, cell.steps[-1].partition), []).append(cell)
    return [(divided, found) for (divided, _), found in parts.items()]
