"""lookup: the value in the one row of another table that belongs to the same person."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privjail.errors import PlanError, RefusedError, RowsError
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Carried, Constant
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.isin import IsIn, IsNull
from privjail.ops.columns.logic import Not
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.lookup import Lookup, comparable
from privjail.ops.rows.per_person import Aggregate, PerPerson
from privjail.ops.rows.sample import Sample
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.sort import Sort
from privjail.ops.rows.source import Column, Dataset, Source, Unit
from privjail.plan.domain import CategoryDomain, FloatDomain, IntDomain, TextDomain
from privjail.plan.node import Lit

from .checking import all_weights, covers, given
from .people import NOTES, PATIENTS, STAYS, THREE, TWO, WHO, Part


class Columns:
    """Columns by name. Nodes are made when they are asked for: a test may run while a rule is broken on purpose."""

    def __init__(self, part):
        self.part = part

    def __getattr__(self, name):
        return self.part.column(name)


S, P = Columns(STAYS), Columns(PATIENTS)


def of_patient(column, other=None):
    """A column of the patients, in the rows of stays."""
    return Lookup((S.who,), other or PATIENTS.source, (P.who,), column)


def persons():
    """One row per person of the stays, and two columns of it."""
    found = PerPerson(STAYS.source, S.who)
    return found, Aggregate(found, "size", None), Aggregate(found, "sum", S.cost)


def programs():
    """Rows with looked-up columns, of many forms."""
    women = Filter(PATIENTS.source, Compare("==", P.sex, Lit.of("F")))
    base, n, total = persons()
    yield STAYS.source, (S.stay, of_patient(P.sex), of_patient(P.age))
    yield STAYS.source, (S.stay, of_patient(Constant(Lit.of(True)), women))
    yield Sort(STAYS.source, (of_patient(P.age),), (1,)), (S.stay, of_patient(P.sex))
    yield PATIENTS.source, tuple(Lookup((P.who,), base, (base.owner(),), each) for each in (n, total))
    yield Filter(STAYS.source, Compare("==", of_patient(P.sex), Lit.of("F"))), (S.stay, S.cost)
    yield Filter(STAYS.source, Compare(">", of_patient(P.age), Lit.of(0))), (S.stay, S.cost)
    yield Filter(STAYS.source, IsNull(of_patient(P.sex, women))), (S.stay, S.cost)
    yield STAYS.source, tuple(Lookup((S.who,), base, (base.owner(),), each) for each in (n, total))
    heads = GroupHead(STAYS.source, S.who, 1)
    yield heads, (Carried(heads, of_patient(P.sex)), Lookup((heads.owner(),), women, (P.who,), P.age))


@covers("property", "lookup")
@given(TWO.neighbours())
def test_looked_up_columns_move_with_their_own_person_only(pair):
    for rows, columns in programs():
        TWO.check_rows(rows, columns, [pair])


@covers("property", "lookup")
@given(THREE.neighbours(4))
def test_a_link_finds_one_row_of_the_same_person(pair):
    note, link = NOTES.column("who"), NOTES.column("stay")
    found = Lookup((note, link), STAYS.source, (S.who, S.stay), S.cost)

    THREE.check_rows(NOTES.source, (link, found), [pair])
    THREE.check_value(Tally(NOTES.source, (), found), [pair])


@covers("witness", "lookup")
def test_the_distance_of_the_table_itself_is_reached():
    """Two notes of one person: both go out with her, whatever is looked up."""
    found = Lookup((NOTES.column("who"),), PATIENTS.source, (P.who,), P.sex)
    everything = ((PATIENTS.rows[0],), (), NOTES.rows[:2])

    assert THREE.check_rows(NOTES.source, (found,), [(((), (), ()), everything)]) == NOTES.source.distance.value == 2


@covers("small world", "lookup")
def test_all_small_databases():
    pairs = list(TWO.pairs(3))
    for rows, columns in programs():
        TWO.check_rows(rows, columns, pairs)


def test_values_are_those_of_a_left_join():
    data = ((PATIENTS.rows[0], PATIENTS.rows[2]), STAYS.rows)
    found = TWO.table(STAYS.source, (S.who, S.stay, of_patient(P.sex), of_patient(P.age)), data)

    assert found == ((0, 0, "F", 1), (0, 1, "F", 1), (1, 2, None, None), (2, 4, None, 9), (1, None, None, None))


def test_missing_keys_find_nothing():
    """A stay without a number, and a note without one, are not the same stay."""
    columns = (NOTES.column("who"), NOTES.column("stay"))
    found = Lookup(columns, STAYS.source, (S.who, S.stay), S.cost)

    assert THREE.table(NOTES.source, (found,), ((), ((1, None, 1),), ((1, None, "a"),))) == ((None,),)


def test_a_link_to_a_row_of_somebody_else_finds_nothing():
    """Owners are always compared, so a wrong link cannot tie two persons together."""
    columns = (NOTES.column("who"), NOTES.column("stay"))
    found = Lookup(columns, STAYS.source, (S.who, S.stay), S.cost)

    assert THREE.table(NOTES.source, (found,), ((), ((0, 0, 3),), ((1, 0, "a"),))) == ((None,),)


# -- cells of persons


def parts_by_sex():
    """Filters by the same fact about the person, in three tables."""
    note = NOTES.column("who")
    for key in ("F", "M"):
        equals = [Compare("==", each, Lit.of(key)) for each in (P.sex, of_patient(P.sex))]
        yield Filter(PATIENTS.source, equals[0]), (P.age,)
        heads = GroupHead(Filter(STAYS.source, equals[1]), S.who, 2)
        yield heads, (Carried(heads, S.cost),)
        found = Lookup((note,), PATIENTS.source, (P.who,), P.sex)
        yield Filter(NOTES.source, Compare("==", found, Lit.of(key))), (NOTES.column("code"),)


def test_filters_by_a_fact_about_persons_share_their_cells_over_all_tables():
    parts = [rows for rows, _ in parts_by_sex()]
    women, men = parts[:3], parts[3:]

    assert len({rows.cells for rows in women}) == len({rows.cells for rows in men}) == 1
    one = sum((rows.distance for rows in women), start=women[0].distance * 0).value
    both = sum((rows.distance for rows in parts), start=women[0].distance * 0).value
    assert one == both == 1 + 2 + 2
    assert all(not cell.partition.splits for rows in parts for cell in rows.cells)


def test_the_forms_of_such_filters_hold_together():
    parts = list(parts_by_sex())
    pairs = [pair for pair in THREE.pairs(3)]

    assert THREE.check_forms(parts, pairs, list(all_weights(len(parts)))) > 1


def test_a_computed_fact_is_the_same_partition_in_every_table():
    condition = Compare(">", P.age, Lit.of(4))
    old, stays = Filter(PATIENTS.source, condition), Filter(STAYS.source, Compare(">", of_patient(P.age), Lit.of(4)))

    assert old.cells == stays.cells
    assert GroupHead(stays, S.who, 1).cells == old.cells


def test_persons_without_a_row_there_are_in_no_known_cell():
    """Missing may mean that the person is not among the looked-up rows: nothing is known of her sex then."""
    women = Filter(PATIENTS.source, Compare("==", P.sex, Lit.of("F")))
    found = of_patient(P.sex, women)
    without = Filter(STAYS.source, IsNull(found))
    others = Filter(STAYS.source, Not(IsIn(found, (Lit.of("F"),))))

    for rows in (without, others):
        assert all(cell.partition.base is STAYS.source for cell in rows.cells)


def test_a_fact_about_rows_stays_one_about_rows():
    found = Lookup((NOTES.column("who"), NOTES.column("stay")), STAYS.source, (S.who, S.stay), S.cost)
    rows = Filter(NOTES.source, Compare("==", found, Lit.of(3)))

    assert all(cell.partition.base is NOTES.source and cell.partition.splits for cell in rows.cells)


def test_after_a_slice_nothing_is_known_of_persons():
    """V-18: rows of other persons come into a slice, so its groups are groups of rows."""
    head = Slice(Filter(NOTES.source, Compare("==", NOTES.column("code"), Lit.of("a"))), None, 2)
    found = Carried(head, Lookup((NOTES.column("who"),), PATIENTS.source, (P.who,), P.sex))
    rows = Filter(head, Compare("==", found, Lit.of("F")))

    assert all(cell.partition.base is head for cell in rows.cells)
    assert head.owner() is None


# -- refusals


def test_joins_on_anything_else_are_refused():
    with pytest.raises(RefusedError, match="on the person"):
        Lookup((S.stay,), PATIENTS.source, (P.who,), P.sex)
    with pytest.raises(RefusedError, match="on the person"):
        Lookup((S.who,), PATIENTS.source, (P.age,), P.sex)
    head = Slice(PATIENTS.source, None, 2)
    with pytest.raises(RefusedError, match="filtered and sorted only"):
        Lookup((S.who,), head, (Carried(head, P.who),), Carried(head, P.sex))


def test_samples_are_refused():
    drawn = Sample(PATIENTS.source, Fraction(1, 2), "some")
    with pytest.raises(RefusedError, match="random sample"):
        Lookup((S.who,), drawn, (P.who,), P.sex)
    persons = PerPerson(Sample(STAYS.source, Fraction(1, 2), "some"), S.who)
    with pytest.raises(RefusedError, match="random sample"):
        Lookup((P.who,), persons, (persons.owner(),), Aggregate(persons, "size", None))


def test_other_populations_are_refused():
    stranger = Source(Dataset("x", "x", PATIENTS.columns, Unit("who", 1)))
    with pytest.raises(RefusedError, match="different populations"):
        Lookup((S.who,), stranger, (Column(stranger, "who"),), Column(stranger, "sex"))


def test_several_rows_cannot_be_looked_up():
    with pytest.raises(PlanError, match="several rows"):
        Lookup((P.who,), STAYS.source, (S.who,), S.cost)
    with pytest.raises(PlanError, match="several rows"):
        Lookup((P.who,), NOTES.source, (NOTES.column("who"),), NOTES.column("code"))
    with pytest.raises(RowsError):
        Lookup((S.who,), PATIENTS.source, (P.who,), S.cost)
    with pytest.raises(PlanError):
        Lookup((), PATIENTS.source, (), P.sex)


def test_keys_of_different_types_are_refused():
    def other(domain):
        return Source(Dataset("o", "o", (("p", domain),), Unit("p", 1), STAYS.source.dataset.population))

    for domain in (CategoryDomain(False, ("0", "1")), FloatDomain(False, 0.0, 2.0)):
        with pytest.raises(PlanError, match="different types"):
            Lookup((S.who,), other(domain), (Column(other(domain), "p"),), Column(other(domain), "p"))
    assert Lookup(
        (S.who,), other(IntDomain(False, 5, 9)), (Column(other(IntDomain(False, 5, 9)), "p"),), Constant(Lit.of(1))
    )
    assert IntDomain(False, 5, 9) != WHO


def test_keys_are_comparable_if_equal_held_values_are_equal_values():
    """Categories are held as positions: of two lists, or of a list and texts, equal ones need not be equal."""
    one, other = CategoryDomain(True, ("a", "b")), CategoryDomain(False, ("b", "a"))
    text, whole, real = TextDomain(True), IntDomain(True), FloatDomain(True)

    assert comparable(one, CategoryDomain(False, ("a", "b"))) and comparable(text, text) and comparable(whole, whole)
    for a, b in ((one, other), (one, text), (text, one), (one, whole), (real, real), (whole, text)):
        assert not comparable(a, b), (a, b)


def depth_of_rows_found(filters, others):
    """How deep the cells of stays are whose patient is found: after so many filters of the stays, and of the patients."""
    patients, stays = PATIENTS.source, STAYS.source
    for i in range(others):
        patients = Filter(patients, Compare(">", P.age, Lit.of(i)))
    for i in range(filters):
        stays = Filter(stays, Compare(">", S.cost, Lit.of(i)))
    (cell,) = Filter(stays, of_patient(Constant(Lit.of(True)), patients)).cells
    return cell.depth


def test_cells_of_persons_found_in_another_table_are_at_most_64_deep():
    """Those of this table and those of the other one below them, counted together; else the rows stay where they are."""
    assert depth_of_rows_found(0, 0) == 0
    assert depth_of_rows_found(60, 4) == 64
    assert depth_of_rows_found(60, 5) == 60


def test_a_fact_in_one_of_several_rows_of_a_person_says_nothing_of_the_person():
    """With a second key one row is found, of several: another row of the same person may say something else."""
    for most, is_hers in ((1, True), (2, False), (None, False)):
        other = Part("others", STAYS.columns, STAYS.rows, most=most, keys=("stay",))
        found = Lookup((S.who, S.stay), other.source, (other.column("who"), other.column("stay")), other.column("cost"))
        assert (found.of_person() is not None) is is_hers


def test_what_is_computed_from_facts_of_one_person_is_one():
    """Of one table, and of something of the person at all."""
    age, sex = of_patient(P.age), of_patient(P.sex)
    both = Arithmetic("+", age, Cast(sex, "Int64"))
    found = both.of_person()
    assert found is not None and found[0] is PATIENTS.source
    assert Compare("==", Constant(Lit.of(1)), Lit.of(1)).of_person() is None
