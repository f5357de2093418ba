"""The one place of a random sample in the tree of cells.

The ledger counts all that is spent in a sample together, and then counts it for less (charges.py). That is right only
if the coins of a sample decide at one place: log(1 + q·(exp(a + b) - 1)) is more than what a and b count for at two
places. Filters have a choice of cells, and each choice is right by itself. So that two certificates cannot place the
same sample differently, rows that are drawn from have no such choice: their cells follow from their filters, by the
rule below, and a sample is a part of each of them. For the same reason nothing is joined with a sample, looked up in
it or put below it: its coins would decide in the cells of other rows, too. (A sample may be the first table of a join:
then the rows are redrawn, as all rows that are made from a sample.)

*The rule.* A filter divides the cells of its input by the column that decides its condition: the only column that the
condition compares with constants (==, isin), if it does nothing else but negate that and join it by "or". Its parts
are those where the condition can be true. Other conditions divide by themselves: into true and the rest, and the
negation of a condition by that condition, into false and the rest. Beyond 64 cells or 64 steps nothing is divided.
"""

from typing import Any

from privjail.verify.checker.cells import Cell, Drawn, Step
from privjail.verify.checker.columns import Column, can_be_true
from privjail.verify.checker.rows import Rows
from privjail.verify.checker.verdict import CannotCheck, Refuted

MOST_CELLS = 64
DEEPEST = 64


def check_place(rows: Rows, part: Drawn, claimed: tuple[Cell, ...]) -> None:
    """Refute a sample that is claimed to lie anywhere but in its parts of the cells of the rows drawn from.

    If a privacy unit can have several rows, a sample has no part of its own (cells.py), and lies where its rows do.
    """
    place = place_of(rows)
    if set(rows.cells) != set(place):
        raise Refuted("rows that are drawn from lie in other cells than their filters say")
    if rows.edits <= 1 and all(len(cell.steps) < DEEPEST for cell in place):
        place = tuple(cell.extended(part) for cell in place)
    if set(claimed) != set(place):
        raise Refuted("a sample lies in other cells than those of its rows, or than its parts of them")


def require_no_sample(rows: Rows) -> None:
    """Refute rows that decide about rows of another table, and were drawn by coins."""
    step: Rows | None = rows
    while step is not None:
        if step.kind == "sample":
            raise Refuted("rows of a random sample are put together with others")
        step = step.input


def place_of(rows: Rows) -> tuple[Cell, ...]:
    """The cells of rows of a data set that were filtered, sorted and drawn from. Those of a sample were checked."""
    match rows.kind:
        case "source" | "sample":
            return rows.cells
        case "sort":
            assert rows.input is not None
            return place_of(rows.input)
        case "filter":
            assert rows.input is not None
            return divided(place_of(rows.input), rows.base, rows.parameters[0])
    raise CannotCheck("a sample of rows that are no rows of a data set")


def divided(cells: tuple[Cell, ...], base: int, condition: Column) -> tuple[Cell, ...]:
    """The cells of the rows that a filter keeps."""
    if condition.base is None:
        return cells
    if any(column.kind == "lookup" for column in condition.with_ancestors):
        raise CannotCheck("a sample of rows that are chosen by what another table says of their persons")
    by, keys = division(condition)
    if len(cells) * len(keys) > MOST_CELLS or any(len(cell.steps) >= DEEPEST for cell in cells):
        return cells
    return tuple(cell.extended(Step(base, by.node, key)) for cell in cells for key in keys)


def division(condition: Column) -> tuple[Column, list[Any]]:
    """The column that a filter divides its rows by, and the values of it for which the condition can be true."""
    by = deciding(condition, {})
    if by is not None:
        values = by.domain.keys() + ([None] if by.domain.nullable else [])
        keys = [key for key in values if can_be_true(condition, by, key)]
        if len(keys) <= MOST_CELLS:
            return by, keys
    return (condition.inputs[0], [False]) if condition.kind == "not" else (condition, [True])


def deciding(condition: Column, known: dict[int, Column | None]) -> Column | None:
    """The column that decides a condition, if there is one with finitely many values. ``known``: found before."""
    if condition.node in known:
        return known[condition.node]
    found = None
    match condition.kind, condition.fields:
        case ("compare", ["==", Column() as compared, constant]) if not isinstance(constant, Column):
            found = compared
        case "isin", [Column() as compared, _]:
            found = compared
        case "not", [Column() as inner]:
            found = deciding(inner, known)
            if found is not None:
                keys = found.domain.keys()
                true = [key for key in keys if can_be_true(inner, found, key)]
                found = found if len(keys) <= MOST_CELLS + len(true) else None
        case "logic", ["|", Column() as one, Column() as other]:
            found, second = deciding(one, known), deciding(other, known)
            found = found if found is second else None
    known[condition.node] = found if found is not None and found.domain.keys() else None
    return known[condition.node]
