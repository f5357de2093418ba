"""Rows: how far an ordered table can move between neighbouring tables, and in which cells.

Tables are ordered, and the metric is the LCS edit distance: the least number of rows to insert or delete. A certificate
claims for each table

    distance ≤ factor·Σ η(cell) over the claimed cells,      or ≤ cap, a constant, where a cap is claimed,

and bounds on two numbers: ``most``, of rows that the table can have, and ``edits``, of insertions and deletions in its
base. A *base* is a data set or what a slice, window or group_head makes; filters and sorts select rows of a base.

Each rule below states the *stability* of an operation: one row inserted into its input inserts at most p rows into its
output and deletes at most q rows from it. Read backwards, one deleted row inserts at most q and deletes at most p.
Inputs that are d apart are joined by d single edits, so the outputs are at most (p + q)·d apart. For
d = factor·Σ η(cell) this multiplies the factor, for a constant it multiplies the cap.

``inserted`` and ``deleted`` bound the two kinds of edits of the base apart, for neighbours of which the second has one
privacy unit more. They are multiples of Σ η(cell) over the cells of the base, or constants where a cap is claimed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import Any

from privjail.verify.checker.cells import Cell, Step
from privjail.verify.checker.columns import Column, can_be_true
from privjail.verify.checker.distances import ZERO, Distance, LinearForm, largest
from privjail.verify.checker.reading import LOWEST_INT, bound, whole_number
from privjail.verify.checker.slices import Bounds, stability
from privjail.verify.checker.verdict import Number, Refuted, Report


@dataclass(frozen=True)
class Rows:
    """A table of the plan: what it is made from, and its facts."""

    node: int
    kind: str
    input: "Rows | None"  # None: a data set
    parameters: tuple[Any, ...]  # data set: its index; slice: start, stop; window: rows seen before and after
    base: int  # the node of the base
    cells: tuple[Cell, ...]  # every row lies in one of these, or was made from rows that do
    factor: Number
    cap: Number | None  # None: no constant bound is claimed
    edits: Number
    most: Number
    inserted: Number
    deleted: Number
    cells_of_base: tuple[Cell, ...]

    @property
    def distance(self) -> Distance:
        if self.cap is not None:
            return (LinearForm(self.cap, {}),)
        if self.factor == inf and not self.cells:  # no bound is claimed; the empty sum over cells would be 0
            return (LinearForm(inf, {}),)
        return (LinearForm(ZERO, dict.fromkeys(self.cells, self.factor) if self.factor else {}),)

    @property
    def redrawn(self) -> bool:
        """Whether the base was made from a random sample: then its groups do not exclude each other.

        The coins are drawn anew when the data is opened again. So the same person can be in one group before, and in
        another one after that.
        """
        step: Rows | None = self
        while step is not None and step.node != self.base:
            step = step.input
        while step is not None and step.kind != "sample":
            step = step.input
        return step is not None

    def apart(self) -> tuple[Number, Number]:
        """Bounds on inserted and deleted rows, as multiples of Σ η over the cells of these rows.

        If the rows lie in a part of the base, its insertions need not fall into that part in the same proportion as
        its deletions. Then each of them can be all edits of that part.
        """
        if self.cap is not None or not self.deleted or set(self.cells) == set(self.cells_of_base):
            return self.inserted, self.deleted
        return self.factor, self.factor

    def sum_distance(self, low: Number, high: Number) -> Distance:
        """How far a sum can move to which each row adds a number between low and high, or nothing.

        Upward: every inserted row adds the most, every deleted row takes away the least; downward the other way round.
        Also, no edit moves it by more than the larger absolute value.
        """
        came, went = self.apart()
        most, least = max(high, ZERO), min(low, ZERO)
        upward = product(most, came) + product(-least, went)
        downward = product(-least, came) + product(most, went)
        either = product(max(most, -least), self.factor if self.cap is None else self.cap)
        size = min(max(upward, downward), either)
        if self.cap is not None or (size == inf and not self.cells):
            return (LinearForm(size, {}),)
        return (LinearForm(ZERO, dict.fromkeys(self.cells, size) if size else {}),)


def product(a: Number, b: Number) -> Number:
    """Zero times infinity is zero."""
    return a * b if a and b else ZERO


def data_set(node: int, index: int, root: int, rows_of_a_unit: Number) -> Rows:
    """A data set: neighbouring tables differ in one privacy unit, so in as many rows as a unit can have.

    ``root``: the data set that stands for all tables about the same units.
    """
    cells, most = (Cell(root),), rows_of_a_unit
    return Rows(node, "source", None, (index,), node, cells, most, None, most, inf, most, ZERO, cells)


def rebased(
    node: int, kind: str, rows: Rows, parameters: tuple[Any, ...], stability: tuple[int, int], most: Number = inf
) -> Rows:
    """Rows that are a new base, made by an operation with this stability.

    Two tables of at most w rows are at most w insertions and w deletions apart, so a cap of 2w may be claimed.
    """
    (p, q), (came, went) = stability, rows.apart()
    made = replace(rows, node=node, kind=kind, input=rows, parameters=parameters, base=node, cells_of_base=rows.cells)
    made = replace(made, factor=rows.factor * (p + q), cap=None if rows.cap is None else rows.cap * (p + q))
    made = replace(made, inserted=product(p, came) + product(q, went), deleted=product(q, came) + product(p, went))
    made = replace(made, most=min(rows.most, most))
    return replace(made, edits=min(largest(made.distance), 2 * made.most))


def sort(node: int, rows: Rows) -> Rows:
    """Stability 1: the sort is stable, and the order of two rows does not depend on a third one."""
    return replace(rows, node=node, kind="sort", input=rows, parameters=())


def filter_(
    node: int,
    rows: Rows,
    condition: Column,
    claimed: tuple[Cell, ...],
    by_persons: Callable[[Cell], bool] = lambda cell: False,
) -> Rows:
    """Stability 1: whether a row is kept depends on that row alone. The output may lie in smaller cells.

    ``by_persons``: whether the rows of a cell that are kept belong to claimed groups of persons (people.py).
    """
    if condition.domain.type != "boolean":
        raise Refuted("a filter needs a condition that is true or false")
    for cell in rows.cells:
        if cell not in claimed and (
            rows.redrawn
            or not any(held_by_parts(cell, rows.base, condition, by, claimed) for by in condition.with_ancestors)
            and not by_persons(cell)
        ):
            raise Refuted("rows that the filter keeps lie outside of the claimed cells")
    return replace(rows, node=node, kind="filter", input=rows, parameters=(condition,), cells=claimed)


def held_by_parts(cell: Cell, base: int, condition: Column, by: Column, claimed: tuple[Cell, ...]) -> bool:
    """Divide a cell by the column ``by``: do all rows that the filter keeps lie in parts that are claimed?

    They do if for each value of the column, null included, its part is claimed or the condition cannot be true there.
    ``by`` may also be a column of the rows that the base was made from: each row of the base comes from one of those.
    """
    keys = by.domain.keys()
    if not keys:
        return False  # no finite list of values: no partition
    if by.domain.nullable:
        keys.append(None)
    parts = set(claimed)
    return all(cell.extended(Step(base, by.node, key)) in parts or not can_be_true(condition, by, key) for key in keys)


def sample(node: int, rows: Rows, rate: Any, tag: Any, claimed: tuple[Cell, ...]) -> Rows:
    """Stability 1: each row has a coin of its own, and the coins of rows that two neighbours share are the same.

    The output lies in the cells of the input, or in the parts of them that this sample has: places.py says which. A
    row is drawn with a chance of at most the rate.
    """
    if not isinstance(rate, Fraction) or not 0 < rate <= 1 or not isinstance(tag, str):
        raise Refuted("a sample has a rate between 0 and 1, and a name")
    return replace(rows, node=node, kind="sample", input=rows, parameters=(), cells=claimed)


def slice_(node: int, rows: Rows, start: Any, stop: Any) -> Rows:
    """Consecutive rows. Slices of slices are treated as one operation, whose stability is found in slices.py."""
    chain: list[Bounds] = [(start, stop)]
    first = rows
    while first.kind == "slice" and first.input is not None:
        chain.insert(0, (first.parameters[0], first.parameters[1]))
        first = first.input
    moves, width = stability(chain)
    return replace(rebased(node, "slice", first, (start, stop), moves, min(rows.most, width)), input=rows)


def window(node: int, rows: Rows, before: Any, after: Any) -> Rows:
    """Each row replaced by w = before + 1 + after consecutive rows: stability (w, w - 1).

    ``before`` may be negative: the first of the w rows is then below the row itself. ``after`` likewise. As there are
    as many tuples as rows, the list of tuples is that of all w consecutive rows of the table, continued by empty rows
    at both ends and cut. An inserted row is in w tuples, and parts the w - 1 tuples that held the rows beside it.
    """
    seen = whole_number(before, LOWEST_INT) + 1 + whole_number(after, LOWEST_INT)
    if seen < 1:
        raise Refuted("a window without rows")
    return rebased(node, "window", rows, (before, after), (seen, seen - 1))


def group_head(node: int, rows: Rows) -> Rows:
    """The first rows of each value of a key, of any number. By the owner they are fewer: people.py.

    Stability 2: a row inserted into a group pushes at most one other row out of it.
    """
    return rebased(node, "group_head", rows, (False,), (1, 1))


def bounds_apart(derived: Rows, cap: Number | None) -> list[Number]:
    """What must be claimed of insertions and deletions: multiples of Σ η over the cells of the base; or constants, if a
    cap is claimed. Such a constant is the largest value of the multiple, or the number of rows that there can be.
    """
    if derived.cap is None and cap is None:
        return [derived.inserted, derived.deleted]
    if derived.cap is None:
        return [min(largest(replace(derived, factor=each).distance), derived.most) for each in derived.apart()]
    return [inf if cap is None else min(each, derived.most) for each in (derived.inserted, derived.deleted)]


def check_claims(derived: Rows, claims: dict[str, Any], cells: tuple[Cell, ...], report: Report) -> Rows:
    """Compare the claimed facts with the derived ones. Later nodes use the claimed ones."""
    cap = None if claims["cap"] is None else bound(claims["cap"])
    factor, edits, most = bound(claims["factor"]), bound(claims["edits"]), bound(claims["most"])
    either = factor if cap is None else cap  # what holds if nothing is claimed about insertions and deletions apart
    inserted, deleted = (bound(claims[each]) if each in claims else either for each in ("inserted", "deleted"))
    if not set(derived.cells) <= set(cells) or most < derived.most:
        raise Refuted("rows lie outside of the claimed cells, or there can be more than claimed")
    if cap is not None:  # then the factor is not used anywhere
        report.require("the cap", cap, min(derived.edits, largest(derived.distance)))
    elif derived.cap is not None:
        report.require("the factor", factor, inf)  # a constant bound says nothing about multiples of η
    else:
        # Without cells the table is empty: every factor that is not negative is right.
        report.require("the factor", factor, derived.factor if derived.cells else max(factor, ZERO))
    for claim, least in zip((inserted, deleted), bounds_apart(derived, cap), strict=True):
        report.require("the inserted or deleted rows", claim, least)
    claimed = replace(
        derived, cells=cells, factor=factor, cap=cap, edits=edits, most=most, inserted=inserted, deleted=deleted
    )
    if derived.base == derived.node:
        claimed = replace(claimed, cells_of_base=cells)
    report.require("the distance", bound(claims["distance"]), largest(claimed.distance))
    report.require("the number of edits", edits, derived.edits)
    return claimed
