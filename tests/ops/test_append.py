"""append: the rows of one table, then those of another table of the same population."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privjail.errors import DPError, PlanError, RefusedError, RowsError
from privjail.ops.columns.carried import Carried, Constant
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.logic import Not
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.append import Append, Appended
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.lookup import Lookup
from privjail.ops.rows.pairs import Paired, Pairs
from privjail.ops.rows.per_person import Aggregate, PerPerson
from privjail.ops.rows.sample import Sample
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.sort import Sort
from privjail.ops.rows.source import Column, Dataset, Source, Unit
from privjail.ops.rows.window import Lag, Window
from privjail.plan.domain import CategoryDomain, FloatDomain, IntDomain, TextDomain
from privjail.plan.node import Lit

from .checking import all_weights, covers, given
from .people import NOTES, PATIENTS, STAYS, TWO
from .test_lookup import Columns

S, P, N = Columns(STAYS), Columns(PATIENTS), Columns(NOTES)


def equals(column, key):
    return Compare("==", column, Lit.of(key))


def below(first, second):
    """Patients below stays: a column of both, one of the first, one of the second."""
    rows = Append(first, second)
    return rows, (Appended(rows, S.cost, P.age), Appended(rows, S.stay, None), Appended(rows, None, P.sex))


def programs():
    """Tables below each other, of many forms; with themselves; and what is made of them."""
    yield below(STAYS.source, PATIENTS.source)
    some = Filter(STAYS.source, Compare(">", S.cost, Lit.of(0)))
    yield below(Sort(some, (S.cost,), (1,)), Filter(PATIENTS.source, equals(P.sex, "F")))
    twice = Append(PATIENTS.source, PATIENTS.source)
    yield twice, (twice.owner(), Appended(twice, P.sex, Constant(Lit.of("other"))))
    women, men = (Filter(PATIENTS.source, equals(P.sex, key)) for key in "FM")
    halves = Append(women, men)
    yield halves, (Appended(halves, P.age, P.age),)
    heads = GroupHead(STAYS.source, S.who, 2)
    rows = Append(heads, women)
    age = Appended(rows, Carried(heads, S.cost), P.age)
    yield rows, (age,)
    yield Filter(rows, Compare(">", age, Lit.of(0))), (age, Lookup((rows.owner(),), women, (P.who,), P.sex))
    persons = PerPerson(rows, rows.owner())
    yield persons, (Aggregate(persons, "size", None), Aggregate(persons, "sum", age))
    firsts = GroupHead(Sort(rows, (age,), (0,)), rows.owner(), 1)
    yield firsts, (Carried(firsts, age),)
    pairs = Pairs(PATIENTS.source, (P.who,), rows, (rows.owner(),), "left")
    yield pairs, (Carried(pairs, P.sex), Paired(pairs, age))


def slices():
    """Rows that have no owner: slices and windows, of which rows of others come in."""
    head, tail = Slice(STAYS.source, None, 2), Slice(PATIENTS.source, -1, None)
    ends = Append(head, tail)
    yield ends, (Appended(ends, Carried(head, S.cost), Carried(tail, P.age)),)
    rows = Append(PATIENTS.source, head)
    yield rows, (Appended(rows, P.age, Carried(head, S.cost)),)
    heads = GroupHead(STAYS.source, S.who, 2)
    window = Window(heads, 1, 0)
    rows = Append(window, PATIENTS.source)
    before = Appended(rows, Lag(window, Carried(heads, S.cost), 1), P.age)
    yield rows, (before,)
    some = Filter(rows, equals(before, 3))
    last = Slice(Append(some, Filter(PATIENTS.source, equals(P.sex, "F"))), -1, None)
    yield last, ()


@covers("property", "append", "appended")
@given(TWO.neighbours(4))
def test_edits_add_up(pair):
    for rows, columns in (*programs(), *slices()):
        TWO.check_rows(rows, columns, [pair])


@covers("witness", "append", "appended")
def test_the_sum_of_the_distances_is_reached():
    """A patient who is in both halves of a table that is put below itself: both rows go out with her."""
    rows = Append(PATIENTS.source, PATIENTS.source)
    column = Appended(rows, P.sex, P.sex)

    assert TWO.check_rows(rows, (column,), [(((), ()), (PATIENTS.rows[:1], ()))]) == rows.distance.value == 2


@covers("witness", "append")
def test_parts_that_exclude_each_other_cost_the_larger_one():
    """Women below men: a person is in one of them, so one row moves; and it lies in her cell."""
    women, men = (Filter(PATIENTS.source, equals(P.sex, key)) for key in "FM")
    rows = Append(women, men)

    assert rows.cells == (*women.cells, *men.cells)
    assert TWO.check_rows(rows, (Appended(rows, P.age, P.age),), list(TWO.pairs(2))) == rows.distance.value == 1


@covers("small world", "append", "appended")
def test_all_small_databases():
    """Those with up to four rows are tried in tests/laws/test_small_worlds.py."""
    pairs = list(TWO.pairs(2))
    for rows, columns in (*programs(), *slices()):
        TWO.check_rows(rows, columns, pairs)


def test_distances_hold_together():
    """Filters of the whole, beside filters of its parts: all weighted sums of their distances."""
    heads = GroupHead(STAYS.source, S.who, 1)
    rows = Append(heads, Filter(PATIENTS.source, equals(P.sex, "F")))
    age = Appended(rows, Carried(heads, S.cost), P.age)
    three, others = (Filter(rows, each) for each in (equals(age, 3), Not(equals(age, 3))))
    parts = [(rows, (age,)), (three, (age,)), (others, (age,)), (heads, (Carried(heads, S.cost),))]

    assert rows.distance.value == 2
    assert TWO.check_forms(parts, list(TWO.pairs(2)), list(all_weights(len(parts)))) >= 3


def test_values_of_appended_rows():
    heads = GroupHead(STAYS.source, S.who, 1)
    rows = Append(heads, PATIENTS.source)
    value = Tally(rows, (), Appended(rows, Carried(heads, S.cost), P.age))

    assert value.joint.l1 == 18
    assert TWO.check_value(value, list(TWO.pairs(2))) == 12


def test_rows_and_values_are_those_of_both_tables():
    data = (PATIENTS.rows[:2], STAYS.rows[:2])
    rows, columns = below(Sort(STAYS.source, (S.stay,), (1,)), PATIENTS.source)

    assert TWO.table(rows, (rows.owner(), *columns), data) == (
        (0, None, 1, None), (0, 3, 0, None), (0, 1, None, "F"), (1, None, None, "M"),
    )  # fmt: skip


def test_labels_of_both_tables():
    """Labels are held as positions in the list of their column: in the joined list they have others."""
    rows = Append(PATIENTS.source, PATIENTS.source)
    column = Appended(rows, Constant(Lit.of("other")), P.sex)

    assert TWO.table(rows, (column,), (PATIENTS.rows[:2], ())) == (("other",), ("other",), ("F",), ("M",))


def test_domains_are_joined():
    columns = {"who": IntDomain(False, 0, 9), "c": CategoryDomain(False, ("a", "b")), "x": FloatDomain(False, 0.0, 0.5),
               "n": IntDomain(False, 3, 4), "t": TextDomain(False)}  # fmt: skip
    dataset = Dataset("o", "o", tuple(columns.items()), Unit("who", 1), STAYS.source.dataset.population)
    other = Source(dataset)
    rows = Append(STAYS.source, other)

    def of(first, second):
        return Appended(rows, first, second and Column(other, second)).domain

    assert rows.owner().domain == IntDomain(False, 0, 9)
    assert of(S.cost, "n") == IntDomain(True, -1, 4)
    assert of(S.cost, "x") == FloatDomain(True, -1.0, 3.0)
    assert of(None, "c") == CategoryDomain(True, ("a", "b"))
    assert of(Constant(Lit.of("z")), "c") == CategoryDomain(False, ("z", "a", "b"))
    assert of(Constant(Lit.of("z")), "t") == TextDomain(False)
    with pytest.raises(PlanError, match="cannot hold both"):
        of(S.cost, "c")


# -- refusals


def test_other_populations_and_samples_are_refused():
    stranger = Source(Dataset("x", "x", PATIENTS.columns, Unit("who", 1)))
    for pair in ((PATIENTS.source, stranger), (stranger, PATIENTS.source)):
        with pytest.raises(RefusedError, match="different populations"):
            Append(*pair)
    drawn = Sample(PATIENTS.source, Fraction(1, 2), "x")
    for pair in ((PATIENTS.source, drawn), (Slice(drawn, None, 1), PATIENTS.source)):
        with pytest.raises(RefusedError, match="random sample"):
            Append(*pair)


def test_columns_of_other_rows_are_refused():
    rows = Append(STAYS.source, PATIENTS.source)
    for first, second in ((P.age, S.cost), (S.cost, S.cost)):
        with pytest.raises(RowsError):
            Appended(rows, first, second)
    with pytest.raises(RowsError):
        Carried(rows, S.cost)
    with pytest.raises(PlanError):
        Appended(rows, None, None)


def test_persons_that_cannot_be_compared_are_nobody():
    columns = (("who", CategoryDomain(False, ("ann", "bob"))),)
    other = Source(Dataset("o", "o", columns, Unit("who", 1), STAYS.source.dataset.population))

    assert Append(PATIENTS.source, other).owner() is None
    assert Append(PATIENTS.source, Slice(STAYS.source, None, 1)).owner() is None


def test_rows_do_not_multiply_without_end():
    rows = PATIENTS.source
    with pytest.raises(DPError, match="can be made of one row"):
        for _ in range(9):
            rows = Append(rows, rows)
    assert rows.distance.value == 2**8


def test_a_column_of_one_table_is_missing_in_the_rows_of_the_other():
    rows = Append(STAYS.source, STAYS.source)
    assert not S.who.domain.nullable
    assert not Appended(rows, S.who, S.who).domain.nullable
    assert Appended(rows, S.who, None).domain.nullable and Appended(rows, None, S.who).domain.nullable
