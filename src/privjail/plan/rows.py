"""Rows: which rows a table has, and in which order. The columns are expressions over them.

A table is (rows, {column name: expression}). Expressions are row-wise functions of a *base* row, so an
expression can be evaluated on any selection of its base's rows, and no program can pair up rows that do
not belong together. Filters and sorts select and reorder rows of their base; everything else (slices,
windows, …) starts a new base, into which expressions are ``Carried``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from privjail.errors import PlanError, engine_gap
from privjail.plan.cells import Cell, Partition
from privjail.plan.distance import UNBOUNDED, Distance, Number
from privjail.plan.node import Lit, Node, set_frozen

MOST_CELLS = 64  # a filter that would spread over more cells keeps the cells of its input
DEEPEST = 64  # likewise a filter below this many others
MOST_BASES = 64  # slices and windows, one on top of another
STEPS_ROOM = 200  # characters for the steps of a chain: the newest, for they tell one part of the data from another


class Lineage(NamedTuple):
    """What rows have in common with the rows that they were selected from: one object for all of them."""

    source: Rows
    base: Rows
    factor: Number | None  # None: no bound is known
    cap: Number | None
    edits: Number | None  # most rows of the base that one privacy unit can change
    most: int | None  # most rows that there can be, if that is known
    bases: int  # how many bases lie below this one


class Rows(Node):
    """An ordered selection of rows, and how far it can move.

    The distance is ``factor``·Σ η(cells), or the constant ``cap`` where that is smaller.
    """

    starts_base: ClassVar[bool] = False

    parent: Rows | None
    cells: tuple[Cell, ...]
    lineage: Lineage

    def select(self, parent: Rows, cells: tuple[Cell, ...]) -> None:
        """Set the facts of rows that are rows of their input: its base and its factor."""
        set_frozen(self, "parent", parent)
        set_frozen(self, "cells", cells)
        set_frozen(self, "lineage", parent.lineage)

    def start_base(
        self, parent: Rows, *, factor: Number | None = None, cap: Number | None = None, most: int | None = None
    ) -> None:
        """Set the facts of rows that start a base, from those of the input; what is not given is kept."""
        self.select(parent, parent.cells)
        kept = parent.lineage
        if kept.bases >= MOST_BASES:
            raise PlanError(f"at most {MOST_BASES} slices and windows can be taken one of another")
        self.change(
            base=self,
            factor=kept.factor if factor is None else factor,
            cap=kept.cap if cap is None else cap,
            most=kept.most if most is None else most,
            bases=kept.bases + 1,
        )
        self.change(edits=self.distance.value)

    def change(self, **facts: Any) -> None:
        """Set some facts of the lineage, while the node is built."""
        self.fact(lineage=self.lineage._replace(**facts))

    @property
    def source(self) -> Rows:
        return self.lineage.source

    @property
    def base(self) -> Rows:
        return self.lineage.base

    @property
    def factor(self) -> Number | None:
        return self.lineage.factor

    @property
    def cap(self) -> Number | None:
        return self.lineage.cap

    @property
    def edits(self) -> Number | None:
        return self.lineage.edits

    @property
    def most(self) -> int | None:
        return self.lineage.most

    @property
    def distance(self) -> Distance:
        """How far the ordered rows can move: inserted plus deleted rows (the LCS edit distance)."""
        factor, cap = self.lineage.factor, self.lineage.cap
        if cap is not None:
            return Distance(cap)
        return UNBOUNDED if factor is None else Distance(0, dict.fromkeys(self.cells, factor))

    def polars(self, frame: Any, *columns: Any) -> Any:
        """Select the rows of a frame that holds the input rows, given this node's expressions."""
        raise TypeError(f"{type(self).__name__} has no Polars line")

    def python(self, rows: list[int], *columns: list[Any]) -> list[int]:
        """The same for a list of row numbers, given the held values of the expressions in each of these rows."""
        raise TypeError(f"{type(self).__name__} has no Python line")

    def sql(self, sql: Any, table: Any, *columns: Any) -> Any:
        """The same for a table in SQL (engines/sql/table.py), given the dialect and the terms of the expressions."""
        raise engine_gap(f"the operation {self.kind!r}", sql.name)

    def text(self) -> str:
        """This step, as the analyst wrote it."""
        raise TypeError(f"{type(self).__name__} has no text")

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The expressions over the parent's rows that this step looks at."""
        return ()

    def spell_out(self) -> str:
        return self.text()

    def quotes(self) -> Iterator[Node]:
        if self.parent is not None:
            yield self.parent
        yield from self.inputs

    def __str__(self) -> str:
        steps: list[str] = []
        rows, left = self, STEPS_ROOM
        while rows.parent is not None and left > 0:
            text = rows.shown()
            steps.append(text if len(text) <= left else text[: left - 1] + "…")
            left -= len(text) + len(" | ")
            rows = rows.parent
        if rows.parent is not None and not steps[-1].endswith("…"):
            steps.append("…")
        return " | ".join([self.source.shown(), *reversed(steps)])


def refine(rows: Rows, by: Node, keys: tuple[Lit, ...]) -> tuple[Cell, ...]:
    """The cells of the rows where an expression has one of these keys."""
    cells = rows.cells
    if len(cells) * len(keys) > MOST_CELLS:
        return cells
    for cell in cells:
        if cell.depth >= DEEPEST:
            return cells
    partition = Partition(rows.base, by)
    return tuple([Cell(cell, partition, key) for cell in cells for key in keys])
