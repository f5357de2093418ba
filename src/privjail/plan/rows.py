"""Rows: which rows a table has, and in which order. The columns are expressions over them.

A table is (rows, {column name: expression}). Expressions are row-wise functions of a *base* row, so an
expression can be evaluated on any selection of its base's rows, and no program can pair up rows that do
not belong together. Filters and sorts select and reorder rows of their base; everything else (slices,
windows, …) starts a new base, into which expressions are ``Carried``.

Insertions and deletions apart. Adding one privacy unit inserts some rows and deletes others. A step that turns one
inserted row into at most p insertions and q deletions turns a deleted row into at most q insertions and p deletions.
So i insertions and d deletions of the input make at most p·i + q·d insertions and q·i + p·d deletions of the output,
and at most (p + q)·(i + d) edits in all. Two tables of at most w rows are never more than w insertions and w deletions
apart.
Both bounds are multiples of Σ η(cells) of the base. A filter that picks some cells of a base that can lose rows keeps
the bound on all edits only: of one row in and one row out, each of them half of all edits, either may lie in the
picked cells, where η is 1/2 then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from privjail.errors import PlanError, engine_gap
from privjail.plan.cells import Cell, Partition, charged
from privjail.plan.distance import UNBOUNDED, Distance, Number
from privjail.plan.node import Lit, Node, set_frozen

MOST_CELLS = 64  # a filter that would spread over more cells keeps the cells of its input
DEEPEST = 64  # so does a filter after this many others
MOST_BASES = 64  # nested slices and windows
MOST_GROWN = 256  # rows that joins and appended tables may make of one row of the data: each of them is held
NO_VALUE = Lit.of(None)
STEPS_ROOM = 200  # characters for the steps in a text: the last steps, since they say which part of the data it is


class Lineage(NamedTuple):
    """The facts that selected rows share with the rows they were selected from: one object for all of them."""

    source: Rows
    base: Rows
    factor: Number | None  # None: no bound is known
    cap: Number | None
    edits: Number | None  # most rows of the base that one privacy unit can change
    inserted: Number | None  # of these, the most that adding a unit inserts; counted as the distance is
    deleted: Number | None  # and the most that it deletes
    most: int | None  # most rows that there can be, if that is known
    bases: int  # how many bases came before this one
    grown: int = 1  # the most rows that are made of one row of the data


class Rows(Node):
    """An ordered selection of rows, and how far it can move.

    The distance is ``factor``·Σ η(cells), or the constant ``cap`` where that is smaller.
    """

    starts_base: ClassVar[bool] = False

    parent: Rows | None
    cells: tuple[Cell, ...]
    lineage: Lineage

    def select(self, parent: Rows, cells: tuple[Cell, ...]) -> None:
        """Set the facts of a selection: it keeps the base and the factor of its input."""
        set_frozen(self, "parent", parent)
        set_frozen(self, "cells", cells)
        set_frozen(self, "lineage", parent.lineage)

    def start_base(
        self, parent: Rows, *, factor: Number | None = None, cap: Number | None = None, most: int | None = None
    ) -> None:
        """Set the facts of rows that start a base, from those of the input; what is not given is kept.

        Nothing is said about insertions and deletions apart: any edit may be either.
        """
        kept = self._started(parent, most)
        self.change(factor=kept.factor if factor is None else factor, cap=kept.cap if cap is None else cap)
        either = self.factor if self.cap is None else self.cap
        self.change(inserted=either, deleted=either, edits=self.distance.value)
        self._bound_by_rows()

    def start_moved_base(self, parent: Rows, inserts: int, deletes: int, *, most: int | None = None) -> None:
        """Set the facts of rows that start a base, given what one row inserted into the input inserts and deletes."""
        self._started(parent, most)
        either, (came, went) = inserts + deletes, parent.moved
        self.change(
            factor=_times(either, parent.factor),
            cap=_times(either, parent.cap),
            inserted=_plus(_times(inserts, came), _times(deletes, went)),
            deleted=_plus(_times(deletes, came), _times(inserts, went)),
        )
        self.change(edits=self.distance.value)
        self._bound_by_rows()

    def _started(self, parent: Rows, most: int | None) -> Lineage:
        self.select(parent, parent.cells)
        kept = parent.lineage
        self.change(base=self, most=kept.most if most is None else most)
        self._nest(kept.bases)
        return kept

    def _nest(self, bases: int) -> None:
        if bases >= MOST_BASES:
            raise PlanError(f"at most {MOST_BASES} slices and windows can be nested")
        self.change(bases=bases + 1)

    def _bound_by_rows(self) -> None:
        """Two tables of at most w rows are at most w insertions and w deletions apart."""
        most, edits = self.most, self.edits
        if most is not None and (edits is None or 2 * most < edits):
            self.change(cap=2 * most, edits=2 * most, inserted=most, deleted=most)

    def start_owned_base(self, parent: Rows, most: int) -> None:
        """Set the facts of rows that start a base with at most ``most`` rows of each person, made from her rows alone.

        Whoever comes or goes takes that many rows along, and no row of anybody else. It is a bound on all her rows
        together, so it is stated above all partitions in which she can be in several groups. If the input moves no
        further than that already, nothing is dropped, and its distance is kept.
        """
        self.start_moved_base(parent, 1, 0)
        known = self.distance.value
        if known is None or most < known:
            self.fact(cells=tuple(dict.fromkeys(cell.unsplit() for cell in parent.cells)))
            self.change(factor=most, cap=None, edits=most, inserted=most, deleted=0)

    def start_joined_base(self, parent: Rows, partners: int) -> None:
        """Set the facts of rows that start a base: each row of an owned base, once for each of its partners.

        Partners belong to the same person, so they come and go with the row.
        """
        self.start_moved_base(parent, partners, 0)
        self._grow(parent.lineage.grown * partners)

    def start_appended_base(self, first: Rows, second: Rows) -> None:
        """Set the facts of rows that start a base: all rows of one table, then all rows of another. Edits add up.

        The sum of both distances is stated as one multiple of Σ η over cells that lie at or above all cells of both
        and exclude each other: those where a release on both would be charged. For each cell q of these, the terms
        below it add up to at most V(q)·η(q) (distance.py); so all of them to at most max V(q)·Σ η(q).
        """
        parts = (first, second)
        self._started(first, None)
        self._nest(max(each.lineage.bases for each in parts))
        self.change(most=_whole(first.most, second.most))
        self.fact(cells=cells_above(first.cells, second.cells))
        sides = [(each, *each.moved) for each in parts]
        if first.cap is None and second.cap is None:
            factor, inserted, deleted = (
                self._over_cells([(p.cells, amount) for p, amount in zip(parts, amounts, strict=True)])
                for amounts in zip(*[(p.factor, came, went) for p, came, went in sides], strict=True)
            )
            self.change(factor=factor, cap=None, inserted=inserted, deleted=deleted)
        else:
            cap = _plus(first.distance.value, second.distance.value)
            apart = [[_constant(p, each) for each in moved] for p, *moved in sides]
            inserted, deleted = (None if cap is None else _plus(*each) for each in zip(*apart, strict=True))
            self.change(factor=None, cap=cap, inserted=inserted, deleted=deleted)
        self.change(edits=self.distance.value)
        self._bound_by_rows()
        self._grow(first.lineage.grown + second.lineage.grown)

    def _over_cells(self, terms: list[tuple[tuple[Cell, ...], Number | None]]) -> Number | None:
        """The least multiple of Σ η over the cells of this base that is at least the sum of c·Σ η over other cells."""
        if any(c is None for _, c in terms):
            return None
        own, below = set(self.cells), {cell: Distance() for cell in self.cells}
        for cells, c in terms:
            for cell in cells:
                above = next(each for each in reversed(cell.path()) if each in own)
                below[above] = below[above] + Distance(0, {cell: c or 0})
        return max([d.value or 0 for d in below.values()], default=0)

    def _grow(self, grown: int) -> None:
        if grown > MOST_GROWN:
            raise PlanError(
                f"at most {MOST_GROWN} rows can be made of one row by joins and appended tables",
                plan=str(self),
                do="keep fewer rows of each person before the join: .groupby(person).head(k)",
            )
        self.change(grown=grown)

    def change(self, **facts: Any) -> None:
        """Set some facts of the lineage, while the node is built."""
        self.fact(lineage=self.lineage._replace(**facts))

    @property
    def sees_itself(self) -> bool:
        """Whether columns of the input can be carried along; not so if each row sees other rows only."""
        return True

    def owner(self) -> Node | None:
        """Of a base: the column that says whose row it is, if the base is *owned*; else None.

        A base T is owned if without person p it is the same base without her rows: T(D - p) = T(D) less the rows of p,
        the others in the same order and with the same values in all columns. See docs/decisions/0200-populations.md.
        """
        return None

    def unique(self) -> tuple[Any, ...]:
        """Of an owned base: the columns that have another value in each row of one person."""
        return ()

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

    @property
    def moved(self) -> tuple[Number | None, Number | None]:
        """How many rows adding a privacy unit inserts and deletes at most; counted as the distance is."""
        _, base, factor, cap, _, inserted, deleted, _, _, _ = self.lineage
        if cap is None and deleted != 0 and self.cells != base.cells:
            return factor, factor
        return inserted, deleted

    @property
    def only_inserts(self) -> bool:
        """Whether adding a privacy unit inserts rows and does nothing else, as it does until rows are sliced."""
        _, _, factor, cap, _, inserted, deleted, _, _, _ = self.lineage
        return deleted == 0 and cap is None and inserted == factor

    @property
    def redrawn(self) -> bool:
        """Whether the base was made from a random sample: it has other rows when the sample is drawn anew.

        Coins are new when data is held again. Then one person can have been in two groups of a partition of this base,
        so its groups do not exclude each other, and its cells are not divided. (A column of the data set itself is
        the same in each draw.)
        """
        above = self.lineage.base.parent
        while above is not None:
            if above.kind == "sample":
                return True
            above = above.parent
        return False

    def sum_distance(self, lower: Number, upper: Number) -> Distance:
        """How far a sum over the rows can move to which each row adds between ``lower`` and ``upper``.

        What comes in adds at most ``upper``, and what goes out takes away at least ``lower``; or the other way round.
        And no edit moves it by more than the larger of the two. A row may also add nothing: it may be in another group.
        """
        up, down = max(upper, 0), max(-lower, 0)
        if self.only_inserts:
            return self.distance * max(up, down)
        inserted, deleted = self.moved
        rises = _plus(_times(up, inserted), _times(down, deleted))
        falls = _plus(_times(down, inserted), _times(up, deleted))
        cap = self.lineage.cap
        each = _times(max(up, down), self.lineage.factor if cap is None else cap)
        if rises is None or falls is None or each is None:
            return UNBOUNDED
        most = min(max(rises, falls), each)
        return Distance(most) if cap is not None else Distance(0, dict.fromkeys(self.cells, most))

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


def _times(factor: Number, x: Number | None) -> Number | None:
    """Zero times something unbounded is zero: what never happens is not bounded by how often it could."""
    return 0 if factor == 0 else (None if x is None else factor * x)


def _plus(x: Number | None, y: Number | None) -> Number | None:
    return None if x is None or y is None else x + y


def _whole(x: int | None, y: int | None) -> int | None:
    return None if x is None or y is None else x + y


def _constant(rows: Rows, amount: Number | None) -> Number | None:
    """The largest value of a bound on insertions or deletions, which is counted as the distance of the rows is."""
    if amount is None or rows.cap is not None:
        return amount
    return Distance(0, dict.fromkeys(rows.cells, amount)).value


def cells_above(*parts: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """Cells that exclude each other, and at or above all of the given ones; in the order of those."""
    cells = [cell for each in parts for cell in each]
    found = set(charged(cells))
    return tuple(dict.fromkeys(next(c for c in reversed(cell.path()) if c in found) for cell in cells))


def refine(rows: Rows, by: Node, keys: tuple[Lit, ...]) -> tuple[Cell, ...]:
    """The cells of the rows where an expression has one of these keys."""
    cells = rows.cells
    if len(cells) * len(keys) > MOST_CELLS or rows.redrawn:
        return cells
    for cell in cells:
        if cell.depth >= DEEPEST:
            return cells
    partition = partition_of(rows.lineage.base, by, keys)
    return tuple([Cell(cell, partition, key) for cell in cells for key in keys])


def partition_of(base: Rows, by: Any, keys: tuple[Lit, ...]) -> Partition:
    """The partition of a base by a column, for some of its values.

    If the column says something of the person, and not of the row, the persons are partitioned: see ``Expr.of_person``.
    Not for rows where it is missing: the person may have no row in the table that it comes from.
    """
    found = None if NO_VALUE in keys else by.of_person()
    return Partition(base, by) if found is None else Partition(*found)
