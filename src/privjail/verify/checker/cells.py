"""Cells: parts of the data that exclude each other.

A *cell* is a whole data set, or the rows of another cell where a column has a given value (the key). It is written as
a path, such as: data set / city=Kobe / sex=F. The cells city=Kobe, city=Nara, … are the *parts* of one *partition* of
the data set. A partition is identified by the column and by the rows (the *base*) whose column it is. A row is in at
most one part of a partition.

*Shares.* Two tables are neighbours if one has one privacy unit more than the other (a row, or all rows of a user).
Take a shortest script of single-row insertions and deletions (*edits*) that turns one of two neighbours into the
other. The share η(cell) is the number of edits whose row lies in the cell, divided by the bound on all edits of the
base. Hence η ≤ 1 for a data set. For each partition of a cell p, Σ η(part) ≤ η(p), because an edited row has one value
of the column. A base that a slice, window or group_head makes from some cells has its own edits; they are attributed
to those cells in proportion to their shares, so both inequalities hold for its partitions as well.

*Samples.* A random sample is a part of the cells that it is drawn from: a row of theirs is in it with a chance of at
most its rate. The ledger counts what is spent in a sample for less (under pure ε), which is right only if the coin of a
privacy unit decides about all that the unit has in the cell, and about nothing else. So a unit must have at most one
row in the table that is drawn from, and each set of coins belongs to one place: the rows that it is drawn from.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
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
class Drawn:
    """What a sample has of a cell: the only part of a partition by chance."""

    rows: int  # the node whose rows are drawn from
    rate: Fraction
    tag: str

    @property
    def partition(self) -> "Drawn":
        return self


@dataclass(frozen=True)
class Cell:
    """A part of a data set: the whole (no steps), or what is left after each step."""

    data_set: int
    steps: tuple[Step | Drawn, ...] = ()

    def extended(self, *steps: Step | Drawn) -> "Cell":
        return Cell(self.data_set, (*self.steps, *steps))

    def ancestor(self, depth: int) -> "Cell":
        """The cell after the first ``depth`` steps."""
        return Cell(self.data_set, self.steps[:depth])

    def path(self) -> list["Cell"]:
        """From the whole data set down to this cell."""
        return [self.ancestor(depth) for depth in range(len(self.steps) + 1)]


def partitions(cells: Iterable[Cell]) -> list[tuple[Cell, list[Cell]]]:
    """All partitions on the paths to some cells: each divided cell, with those of its parts that lie on a path.

    The partitions of a cell come before the partitions of its parts.
    """
    parts: dict[tuple[Cell, Any], list[Cell]] = {}
    on_paths = {above for cell in cells for above in cell.path()}
    for cell in sorted(on_paths, key=lambda cell: len(cell.steps)):
        if cell.steps:
            divided = cell.ancestor(len(cell.steps) - 1)
            parts.setdefault((divided, cell.steps[-1].partition), []).append(cell)
    return [(divided, found) for (divided, _), found in parts.items()]
