"""Cells: the tree of exclusive groups that a part of the data lives in.

Let D and D′ be neighbours, and B a *base*: a table whose rows may be filtered and sorted but not
otherwise rearranged (a data set, or the result of a slice, a window, …). Take a shortest edit script
between B(D) and B(D′); each edit inserts or deletes one row. For conditions g₁=k₁, g₂=k₂, … on rows,

    η(… / g₁=k₁ / g₂=k₂) = (edits whose row meets all conditions) / (bound on the edits of B),

so that η ≥ 0, and for each partition g of a cell p: Σₖ η(p/g=k) ≤ η(p), since each edited row has one
value of g. For a data set η ≤ 1. For a base B made from a region of cells with edit bound c·Σᵢ η(pᵢ),
the edits of B are shared out among the pᵢ in proportion, which keeps both properties.
A table filtered to some cells changes by at most the edits inside them, whatever the order of rows.

A random sample is a cell of the table that it was drawn from, in a partition (``Draw``) with one group only: the rows
that were drawn. Whether an edited row was drawn is decided by a coin of its own; given all coins, η is as above.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from privjail.plan.node import Node, node, set_frozen

if TYPE_CHECKING:
    from privjail.plan.rows import Rows

Step = tuple[str, str]  # a partition and a key in it, by their stable names
Address = tuple[Step, ...]  # from the whole data set (no steps) down to a cell


@node
class Cell(Node):
    """A part of a data set: the whole (no parent), or the rows of a parent where a partition has one key."""

    kind = "cell"
    parent: Cell | None
    partition: Partition | Draw | str  # for the whole data set: its identity in the ledger
    key: Any  # a Lit, or for the whole data set its public name

    depth: int = field(init=False)
    _root: Cell | None = field(init=False)  # None: it is the root itself
    _address: ClassVar[Address | None] = None

    def __post_init__(self) -> None:
        above = self.parent
        set_frozen(self, "depth", 0 if above is None else above.depth + 1)
        set_frozen(self, "_root", None if above is None else above.root)

    @property
    def root(self) -> Cell:
        return self if self._root is None else self._root

    def path(self) -> list[Cell]:
        """From the whole data set down to this cell."""
        cells: list[Cell] = [self]
        while (parent := cells[-1].parent) is not None:
            cells.append(parent)
        return cells[::-1]

    @property
    def address(self) -> Address:
        """The path to this cell, in names that do not depend on the process. The ledger stores it."""
        lacking: list[Cell] = []
        cell = self
        while cell._address is None and cell.parent is not None:
            lacking.append(cell)
            cell = cell.parent
        known = cell._address or ()
        for cell in reversed(lacking):
            known = (*known, (_name(cell.partition), f"{cell.key.type_}:{cell.key.spelling}"))
            set_frozen(cell, "_address", known)
        return known

    def unsplit(self) -> Cell:
        """The lowest cell above all partitions in which one privacy unit may be in several groups at once."""
        for cell in self.path():
            if isinstance(cell.partition, Partition) and cell.partition.splits and cell.parent is not None:
                return cell.parent
        return self

    def __str__(self) -> str:
        return " / ".join([c._step() for c in self.path()])

    def _step(self) -> str:
        if isinstance(self.partition, Draw):
            return str(self.partition)
        return str(self.key) if self.parent is None else f"{self.partition}={self.key!r}"


@node
class Partition(Node):
    """A partition of the rows of a base, by the value of one row-wise expression."""

    kind = "partition"
    base: Rows
    by: Node

    @property
    def splits(self) -> bool:
        """Whether one privacy unit may change several groups at once."""
        return self.base.edits is None or self.base.edits > 1

    def __str__(self) -> str:
        return str(self.by)


@node
class Draw(Node):
    """A random sample of some rows, in which one privacy unit has at most one row: a partition with one group.

    Only the operation that draws makes one, for the cells of the rows that it draws from. So one set of coins decides
    at one place of the tree of costs, as its formula for samples assumes (budget/sampling.py).
    """

    kind = "draw"
    rows: Rows
    rate: Fraction  # the chance of each row to be drawn
    tag: str

    def __str__(self) -> str:
        return f"sample({self.rate})"


SAMPLE = "sample "  # the names of draws begin with it, and with their rate: the ledger knows cells by names only


def _name(partition: Partition | Draw | str) -> str:
    if isinstance(partition, Draw):
        return f"{SAMPLE}{partition.rate} {partition.name}"
    return partition if isinstance(partition, str) else partition.name


def charged(cells: Iterable[Cell]) -> list[Cell]:
    """Where a release that touches these cells is charged.

    Different groups of one partition exclude each other, so each of them is charged (generalised parallel
    composition). Two cells that may overlap are both replaced by their lowest common ancestor.
    Sound because η of a cell is at most η of its ancestor.
    """
    touched = set(cells)
    if len(touched) <= 1:
        return list(touched)
    tree: dict[Cell, set[Cell]] = {}
    roots: dict[Cell, None] = {}
    for cell in touched:
        while cell.parent is not None:
            below = tree.setdefault(cell.parent, set())
            if cell in below:
                break
            below.add(cell)
            cell = cell.parent
        else:
            roots[cell] = None
    out: list[Cell] = []
    waiting = list(roots)
    while waiting:
        cell = waiting.pop()
        below = tree.get(cell, set())
        if cell in touched or len({child.partition for child in below}) > 1:
            out.append(cell)
        else:
            waiting.extend(below)
    return out
