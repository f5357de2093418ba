"""Rows that are made from two tables about the same persons: joined on the person, or put below each other.

*Joined.* A row of the first table becomes one row for each row of the second with the same owner (and further keys).
Both tables are owned (people.py), so rows of others meet the same partners with and without person p: what is made is
owned, and each row of p that comes or goes takes at most as many rows along as p has in the second table.

*Below each other.* Scripts of edits for both tables, one after the other, are a script for the whole. So edits add up,
and insertions and deletions do so apart. If both tables are owned, the whole is.

Neither is made from a random sample: its coins would decide at a second place (places.py).
"""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

from privjail.verify.checker.cells import Cell
from privjail.verify.checker.certificate import Certificate
from privjail.verify.checker.columns import Column
from privjail.verify.checker.distances import ZERO, LinearForm, largest
from privjail.verify.checker.domains import Domain
from privjail.verify.checker.people import ONE, check_joined, is_owned, is_unique, population
from privjail.verify.checker.places import require_no_sample
from privjail.verify.checker.rows import Rows, rebased
from privjail.verify.checker.verdict import CannotCheck, Number, Refuted

MOST_TABLES = 256  # that may be put below each other


def joined(node: int, fields: list[Any], certificate: Certificate) -> Rows:
    """Each row, once for each partner; without one, dropped ("inner") or once, alone ("left")."""
    rows, keys, other, other_keys, how = fields
    if how not in ("inner", "left") or not keys or len(keys) != len(other_keys):
        raise CannotCheck("a join with such fields")
    mine, theirs = certificate.rows(rows.base), certificate.rows(other.base)
    check_joined(mine, keys, theirs, other_keys, certificate)
    require_no_sample(other)
    most = ONE if any(is_unique(key, theirs, certificate) for key in other_keys) else max(ONE, theirs.edits)
    if most == inf:
        raise Refuted("a row may meet any number of rows")
    return rebased(node, "pairs", replace(rows, most=inf), (other, how), (int(most), 0))


def below_each_other(node: int, first: Rows, second: Rows, claimed: tuple[Cell, ...], certificate: Certificate) -> Rows:
    """All rows of one table, then all rows of another. There is a choice of cells: those that are claimed."""
    bases = [certificate.rows(each.base) for each in (first, second)]
    if population(bases[0], certificate) != population(bases[1], certificate):
        raise Refuted("rows of different populations are put together")
    tables = 0
    for each in (first, second):
        require_no_sample(each)
        tables += number_of_tables(each)
    if tables > MOST_TABLES:
        raise CannotCheck(f"more than {MOST_TABLES} tables below each other")
    owned = all(is_owned(base, certificate) for base in bases)
    made = replace(first, node=node, kind="append", input=first, parameters=(second, owned, tables), base=node)
    made = replace(made, cells=claimed, cells_of_base=claimed, most=first.most + second.most)
    if first.cap is None and second.cap is None:
        made = replace(made, factor=multiple(claimed, [(each.cells, each.factor) for each in (first, second)]))
        apart = [multiple(claimed, [(each.cells, each.apart()[i]) for each in (first, second)]) for i in (0, 1)]
    else:
        made = replace(made, factor=inf, cap=largest(first.distance) + largest(second.distance))
        apart = [sum(at_most(each, each.apart()[i]) for each in (first, second)) for i in (0, 1)]
    made = replace(made, inserted=apart[0], deleted=apart[1])
    return replace(made, edits=min(largest(made.distance), 2 * made.most))


def multiple(claimed: tuple[Cell, ...], terms: Sequence[tuple[tuple[Cell, ...], Number]]) -> Number:
    """The least f such that f·Σ η(claimed) is at least the sum of all c·Σ η(cells).

    Each cell lies in a claimed one (the lowest is taken). The cells in one claimed cell q are worth at most V(q)·η(q),
    as in distances.py, and V(q) is the largest value of their form. So f is the largest V(q).
    """
    inside: dict[Cell, dict[Cell, Number]] = {cell: {} for cell in claimed}
    for cells, c in terms:
        if c == inf:
            return inf
        for cell in cells:
            around = [each for each in cell.path() if each in inside]
            if not around:
                raise Refuted("rows lie outside of the claimed cells")
            inside[around[-1]][cell] = inside[around[-1]].get(cell, ZERO) + c
    return max([LinearForm(ZERO, form).largest() for form in inside.values()], default=ZERO)


def at_most(rows: Rows, each: Number) -> Number:
    """The largest value of a bound on insertions or deletions: a constant already, or a multiple of Σ η(cells)."""
    if rows.cap is not None or not each:
        return each
    return inf if each == inf else LinearForm(ZERO, dict.fromkeys(rows.cells, each)).largest()


def number_of_tables(rows: Rows) -> int:
    """How many tables were put below each other. Rules that look into all of them take that many steps."""
    step: Rows | None = rows
    while step is not None and step.kind != "append":
        step = step.input
    return 1 if step is None else int(step.parameters[2])


# -- columns


def paired(node: int, into: Rows, column: Column) -> Column:
    """A column of the second table in the partner of each row; null where a row stays alone."""
    other, how = into.parameters
    if column.base not in (None, other.base):
        raise Refuted("the column belongs to other rows")
    domain = replace(column.domain, nullable=column.domain.nullable or how == "left")
    return Column(node, "paired", [into, column], domain, into.node)


def appended(node: int, fields: list[Any], claimed: Domain) -> Column:
    """A column of the first table, then one of the second; null where there is none."""
    into, *parts = fields
    for part, rows in zip(parts, (into.input, into.parameters[0]), strict=True):
        if part is None and not claimed.nullable:
            raise Refuted("null is not in the claimed domain")
        if part is not None and part.base not in (None, rows.base):
            raise Refuted("the column belongs to other rows")
        if part is not None and not holds(claimed, part.domain):
            raise Refuted("the claimed domain does not hold all that can come out")
    return Column(node, "appended", fields, claimed, into.node)


def holds(claimed: Domain, part: Domain) -> bool:
    """Whether all values of a domain are in another one. Whole numbers may become floats, and labels texts."""
    if part.nullable > claimed.nullable:
        return False
    if part.type == "category":
        return claimed.type == "string" or all(claimed.contains(label) for label in part.labels)
    same = part.type == claimed.type or (part.type, claimed.type) == ("Int64", "Float64")
    return same and claimed.low <= part.low and part.high <= claimed.high
