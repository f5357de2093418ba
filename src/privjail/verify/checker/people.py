"""Persons: whose a row is, one row per person, and columns that are looked up in another table of the same persons.

Rows that are made from two tables are in two_tables.py.

A *population* is a set of persons and all tables about them. Two databases are neighbours if one lacks one person, with
all her rows in all tables. A base is *owned* if its rows without person p are just the rows that the plan makes of the
database without p: same rows, same order, same values. Then one of its columns is the *owner*, and

- data sets are owned. Filters and sorts select rows by what stands in each row, so nothing changes for others;
- the first k rows of each owner, and one row for each owner, look at rows of that owner alone. The first rows of the
  others come in the same order with and without p, so one row for each owner in this order is owned, too;
- a column that is looked up by the owner in an owned table stands in rows of the same owner there. It is the same for
  everybody else with and without p. So it is a column like any other.

A slice or a window is not owned: when a row goes out, a row of somebody else may come in.
"""

from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import Any

from privjail.verify.checker.cells import Cell, Step
from privjail.verify.checker.certificate import Certificate
from privjail.verify.checker.charges import above_shared_partitions
from privjail.verify.checker.columns import Column, can_be_true
from privjail.verify.checker.distances import ZERO, LinearForm, largest
from privjail.verify.checker.domains import Domain
from privjail.verify.checker.numbers import Numbers
from privjail.verify.checker.operations import NULL_IF_AN_INPUT_IS
from privjail.verify.checker.places import require_no_sample
from privjail.verify.checker.rows import Rows, product, rebased
from privjail.verify.checker.verdict import CannotCheck, Refuted

ADDED = Fraction(2**30)  # whole numbers of at most 30 bits are added exactly
ONE = Fraction(1)


def is_owner(key: Column, base: Rows, certificate: Certificate) -> bool:
    """Whether a column says whose row it is, in rows that are owned."""
    match base.kind:
        case "source":
            named = certificate.data_sets[base.parameters[0]].unit_column
            return key.kind == "column" and key.base == base.node and named is not None and key.fields[1] == named
        case "group_head" | "pairs" if base.kind == "pairs" or base.parameters == (True,):
            return (
                key.kind == "carried" and key.base == base.node and is_owner(key.fields[1], *before(base, certificate))
            )
        case "append" if key.kind == "appended" and key.base == base.node:
            return owns_both(key, base, certificate)
        case "per_person":
            here = key.kind == "aggregate" and key.base == base.node and key.fields[1] == "first"
            return here and is_owner(key.fields[2], *before(base, certificate))
    return False


def owns_both(key: Column, base: Rows, certificate: Certificate) -> bool:
    """Whether a column says whose row it is in both of two tables below each other, with comparable values."""
    (first, second), theirs = key.fields[1:], certificate.rows(base.parameters[0].base)
    if not isinstance(first, Column) or not isinstance(second, Column) or not comparable(first.domain, second.domain):
        return False
    return is_owner(first, *before(base, certificate)) and is_owner(second, theirs, certificate)


def comparable(a: Domain, b: Domain) -> bool:
    return a.type == b.type != "Float64" and a.labels == b.labels


def before(base: Rows, certificate: Certificate) -> tuple[Rows, Certificate]:
    """The base of the rows that a base was made from."""
    assert base.input is not None
    return certificate.rows(base.input.base), certificate


def population(base: Rows, certificate: Certificate) -> int:
    """The data set that stands for all tables about the persons of some rows."""
    while base.kind != "source":
        base, _ = before(base, certificate)
    return certificate.root(base.parameters[0])


def is_owned(base: Rows, certificate: Certificate) -> bool:
    """Whether a base is owned: so is the one that it was made from, and it was made by a step that keeps it so."""
    while base.kind != "source":
        if base.kind == "append":
            return bool(base.parameters[1])
        if base.kind not in ("per_person", "pairs") and not (base.kind == "group_head" and base.parameters == (True,)):
            return False
        base, _ = before(base, certificate)
    return certificate.data_sets[base.parameters[0]].unit_column is not None


def at_most(node: int, kind: str, rows: Rows, most: Fraction, cells: tuple[Cell, ...]) -> Rows:
    """At most so many rows of each owner, made from rows of that owner: the distance is at most that number.

    It is a bound on all rows of a person together, so it is stated in ``cells``: in each of these she is as a whole, or
    not at all. If the distance of the input is at most that already, it is kept.
    """
    if most < largest(rows.distance):
        rows = replace(rows, cells=cells, factor=most, cap=None, inserted=most, deleted=ZERO)
    return rebased(node, kind, rows, (True,), (1, 0))


# -- what is computed from the rows of one person


def aggregate_domain(how: Any, inner: Column | None, most: Any) -> Domain:
    """The values of an aggregate, of at least one row and at most ``most`` rows; null values are left out."""
    if inner is None and how == "size":
        return Domain("Int64", False, 1, most)
    if inner is None:
        raise CannotCheck("an aggregate of no column")
    given = inner.domain
    match how:
        case "count":
            return Domain("Int64", False, 0, most)
        case "nunique":
            return Domain("Int64", False, 0, min(most, len(given.keys()) or inf))
        case "first" | "last":
            return given
        case "min" | "max" if given.type not in ("boolean", "string"):
            return given
        case "any" | "all" if given.type == "boolean":
            return Domain("boolean", False)
        case "sum" | "mean":
            return sum_domain(how, given, most)
    raise CannotCheck("this aggregate of such a column")


def sum_domain(how: str, given: Domain, most: Any) -> Domain:
    """The sum of no values is 0. A mean lies between the values; of no values it is null."""
    low, high = (0.0, 1.0) if given.type == "boolean" else (given.low, given.high)
    kind = "Float64" if given.type == "Float64" else "Int64"
    if given.type not in ("boolean", "Int64", "Float64") or inf in (high, -low):
        raise CannotCheck("a sum of other columns than bounded numbers")
    if kind == "Int64" and max(abs(low), abs(high)) >= ADDED:
        raise CannotCheck("a sum of whole numbers of more than 30 bits")
    if how == "mean":
        return Domain("Float64", given.nullable, float(low), float(high))
    ends: Any = min(ZERO, product(Fraction(low), most)), max(ZERO, product(Fraction(high), most))
    return Domain(kind, False, *ends)


def require_holds(claimed: Domain, derived: Domain) -> None:
    """Refute a claimed domain that lacks a value of the derived one."""
    same = claimed.type == derived.type and claimed.labels == derived.labels
    if not same or derived.nullable > claimed.nullable or derived.low < claimed.low or claimed.high < derived.high:
        raise Refuted("the claimed domain does not hold all that can come out")


# -- a column of another table


def looked_up(node: int, fields: list[Any], certificate: Certificate) -> Column:
    """The value in the one row of another table with the same owner and further keys; null if there is none."""
    keys, other, other_keys, inner = fields
    if not isinstance(other, Rows) or not isinstance(inner, Column) or not keys or len(keys) != len(other_keys):
        raise CannotCheck("a look-up with such fields")
    mine, theirs = certificate.rows(keys[0].base), certificate.rows(other.base)
    check_joined(mine, keys, theirs, other_keys, certificate)
    require_no_sample(other)
    if inner.base not in (None, other.base):
        raise Refuted("the column belongs to other rows")
    if theirs.edits > 1 and not any(is_unique(key, theirs, certificate) for key in other_keys):
        raise Refuted("a person may have several rows there")
    return Column(node, "lookup", fields, replace(inner.domain, nullable=True), mine.node)


def check_joined(
    mine: Rows, keys: list[Column], theirs: Rows, other_keys: list[Column], certificate: Certificate
) -> None:
    """Owners are compared, of two owned tables of one population, and all keys have comparable values."""
    if any(key.base != mine.node for key in keys) or any(key.base != theirs.node for key in other_keys):
        raise Refuted("keys of other rows")
    if not is_owner(keys[0], mine, certificate) or not is_owner(other_keys[0], theirs, certificate):
        raise Refuted("a join that does not compare owners")
    if population(mine, certificate) != population(theirs, certificate):
        raise Refuted("a join of different populations")
    for a, b in zip(keys, other_keys, strict=True):
        if not comparable(a.domain, b.domain):
            raise Refuted("keys of different types")


def is_unique(key: Column, base: Rows, certificate: Certificate) -> bool:
    """Whether a column has another value in each row of one owner."""
    if base.kind == "source":
        return key.kind == "column" and key.fields[1] in certificate.data_sets[base.parameters[0]].keys
    if base.kind == "group_head" and key.kind == "carried":
        return is_unique(key.fields[1], *before(base, certificate))
    return False


# -- cells of persons


def held_by_persons(
    rows: Rows, condition: Column, claimed: tuple[Cell, ...], certificate: Certificate, cell: Cell
) -> bool:
    """Divide the persons of a cell by a fact about them: do all rows that a filter keeps belong to claimed groups?

    The fact is a column of a table with at most one row per person. It is known of the rows by a column that says the
    same of each row's person wherever it is not null. So the filter must keep no row where that column is null.
    """
    if not is_owned(certificate.rows(rows.base), certificate):
        return False  # rows of other persons come in when one goes out
    exists = condition.kind == "lookup" and condition.fields[3].base is None
    if exists and found_there(cell, condition, claimed, certificate):
        return True
    depth = len(cell.steps)
    below = {c.steps[depth] for c in claimed if len(c.steps) == depth + 1 and c.ancestor(depth) == cell}
    for base, by in {step.partition for step in below if isinstance(step, Step)}:
        table, theirs = certificate.rows(base), certificate.node(by)
        if not isinstance(theirs, Column) or table.node != table.base or table.edits > 1:
            continue
        for mine in condition.with_ancestors:
            if (
                mine.base is not None
                and says(mine, theirs, table, certificate)
                and not can_be_true(condition, mine, None)
            ):
                keys = mine.domain.keys()
                if keys and all(Step(base, by, key) in below or not can_be_true(condition, mine, key) for key in keys):
                    return True
    return False


def found_there(cell: Cell, condition: Column, claimed: tuple[Cell, ...], certificate: Certificate) -> bool:
    """A filter that keeps rows whose person has a row in another table: that row lies in a cell of that table.

    In each of its cells the person must be as a whole or not at all; then all her rows here belong to the same cell.
    """
    cells = condition.fields[1].cells
    whole = all(above_shared_partitions(each, certificate) == each for each in cells)
    return whole and all(cell.extended(*each.steps) in claimed for each in cells)


def says(mine: Any, theirs: Any, table: Rows, certificate: Certificate) -> bool:
    """Whether a column, where it is not null, is the column ``theirs`` in the row of the same person in ``table``."""
    if isinstance(mine, list) or isinstance(theirs, list):
        alike = isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs)
        return alike and all(says(a, b, table, certificate) for a, b in zip(mine, theirs, strict=True))
    if not isinstance(mine, Column) or not isinstance(theirs, Column):
        return type(mine) is type(theirs) and bool(mine == theirs)
    if mine.base is None:
        return mine is theirs
    if mine.kind == "lookup":
        inner, other = mine.fields[3], mine.fields[1]
        if inner is theirs and other.base == table.node:
            return True
        return certificate.rows(other.base).edits <= 1 and says(inner, theirs, table, certificate)
    if mine.kind == "carried":
        return is_owned(mine.fields[0], certificate) and says(mine.fields[1], theirs, table, certificate)
    same = mine.kind in NULL_IF_AN_INPUT_IS and mine.kind == theirs.kind
    return same and says(mine.fields, theirs.fields, table, certificate)


# -- keys of persons


def key_counts(rows: Rows, cells: tuple[Cell, ...], owned: bool, per_person: int, most: int) -> Numbers:
    """How many persons have each key that occurs, where ``per_person`` keys of each count, each once.

    If the rows are owned, whoever comes or goes moves at most so many counts, each by 1, and nobody else's row changes.
    That is a bound on the whole person, stated in ``cells``: in each of them she is as a whole, or not at all. Where
    rows have no owner, a row is a person with one key, and at most one row may come or go.
    """
    if not owned and (per_person != 1 or rows.edits > 1):
        raise Refuted("keys of persons in rows that belong to nobody")
    whole, each = ((LinearForm(ZERO, dict.fromkeys(cells, Fraction(n))),) for n in (per_person, 1))
    return Numbers(most, lambda _: each, whole, ONE, cells, False, monotone=False, net=each, keyed=True)
