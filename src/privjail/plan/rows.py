"""Rows: which rows a table has, and in which order. The columns are expressions over them.

A table is (rows, {column name: expression}). Expressions are row-wise functions of a *base* row, so an
expression can be evaluated on any selection of its base's rows, and no program can pair up rows that do
not belong together. Filters and sorts select and reorder rows of their base; everything else (slices,
windows, …) starts a new base, into which expressions are ``Carried``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from privjail.errors import PlanError
from privjail.plan.cells import Cell, Partition
from privjail.plan.distance import UNBOUNDED, Distance, Number
from privjail.plan.node import Lit, Node

MOST_CELLS = 64  # a filter that would spread over more cells keeps the cells of its input
DEEPEST = 64  # likewise a filter below this many others
MOST_BASES = 64  # slices and windows, one on top of another
STEPS_SHOWN = 12  # of a long chain


class Rows(Node):
    """An ordered selection of rows, and how far it can move.

    The distance is ``factor``·Σ η(cells), or the constant ``cap`` where that is smaller.
    """

    starts_base: ClassVar[bool] = False

    source: Rows
    base: Rows
    parent: Rows | None
    cells: tuple[Cell, ...]
    factor: Number | None  # None: no bound is known
    cap: Number | None
    edits: Number | None  # most rows of the base that one privacy unit can change
    most: int | None  # most rows that there can be, if that is known
    bases: int  # how many bases lie below this one

    def derive(
        self,
        parent: Rows,
        *,
        cells: tuple[Cell, ...] | None = None,
        factor: Number | None = None,
        cap: Number | None = None,
        most: int | None = None,
    ) -> None:
        """Set the facts from those of the input rows; what is not given is kept."""
        self.fact(
            source=parent.source,
            parent=parent,
            base=self if self.starts_base else parent.base,
            cells=parent.cells if cells is None else cells,
            factor=parent.factor if factor is None else factor,
            cap=cap if cap is not None else parent.cap,
            most=most if most is not None else parent.most,
            edits=parent.edits,
            bases=parent.bases + self.starts_base,
        )
        if self.bases > MOST_BASES:
            raise PlanError(f"at most {MOST_BASES} slices and windows can be taken one of another")
        if self.starts_base:
            self.fact(edits=self.distance.value)

    @property
    def distance(self) -> Distance:
        """How far the ordered rows can move: inserted plus deleted rows (the LCS edit distance)."""
        if self.cap is not None:
            return Distance(self.cap)
        if self.factor is None:
            return UNBOUNDED
        return Distance(0, dict.fromkeys(self.cells, self.factor))

    def polars(self, frame: Any, *columns: Any) -> Any:
        """Select the rows of a frame that holds the input rows, given this node's expressions."""
        raise TypeError(f"{type(self).__name__} has no Polars line")

    def text(self) -> str:
        """This step, as the analyst wrote it."""
        raise TypeError(f"{type(self).__name__} has no text")

    def expressions(self) -> tuple[Any, ...]:
        """The expressions over the input rows that this step looks at."""
        return ()

    def spell_out(self) -> str:
        return self.text()

    def __str__(self) -> str:
        steps: list[str] = []
        rows: Rows | None = self
        while rows is not None:
            if len(steps) < STEPS_SHOWN or rows.parent is None:
                steps.append(rows.shown())
            elif len(steps) == STEPS_SHOWN:
                steps.append("…")
            rows = rows.parent
        return " | ".join(reversed(steps))


def refine(rows: Rows, by: Node, keys: tuple[Lit, ...]) -> tuple[Cell, ...]:
    """The cells of the rows where an expression has one of these keys."""
    if len(rows.cells) * len(keys) > MOST_CELLS or any(c.depth >= DEEPEST for c in rows.cells):
        return rows.cells
    partition = Partition(rows.base, by)
    return tuple(Cell(cell, partition, key) for cell in rows.cells for key in keys)
