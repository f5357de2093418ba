"""The checker's rules about persons: whose a row is, what is looked up of whom, and rows of two tables."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from privjail.ops.columns.carried import Constant
from privjail.ops.columns.compare import Compare
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.lookup import Lookup
from privjail.plan.node import Lit
from privjail.verify.checker import check, people, rows, two_tables
from privjail.verify.checker.cells import Cell
from privjail.verify.checker.certificate import Certificate, DataSet
from privjail.verify.checker.columns import Column, row_wise_column
from privjail.verify.checker.domains import Domain
from privjail.verify.checker.verdict import CannotCheck, Refuted
from tests.ops.people import NOTES, PATIENTS

from .test_checker_rules import ALL, DATA, KOBE, OLD
from .test_forged import AGE, Made, signed, sum_of
from .test_two_tables import made

WHO, FLOAT, TEXT = Domain("Int64", False, 0, 9), Domain("Float64", False, 0.0, 9.0), Domain("string", False)


def table(at: int) -> rows.Rows:
    """One of two tables about the same persons, who have two rows in each. Both are data sets and nodes of a plan."""
    return rows.data_set(at, at, 0, Fraction(2))


MINE, THEIRS = table(0), table(1)


def column(name: str, of: rows.Rows, domain: Domain = WHO) -> Column:
    return Column(10 + of.node, "column", [of, name], domain, of.node)


def plan(*more: rows.Rows) -> Certificate:
    tables = [DataSet([], "who", Fraction(2), {"kind": "pure"}, "people", keys) for keys in ((), ("stay",))]
    return Certificate(tables, [], [MINE, THEIRS, *more])


def below(first: rows.Rows = MINE, second: rows.Rows = THEIRS) -> rows.Rows:
    return two_tables.below_each_other(2, first, second, (ALL,), plan())


def test_the_first_rows_by_another_key_than_the_person_are_nobodys() -> None:
    """One person's row can push out that of another."""
    heads = rows.group_head(2, MINE)

    assert people.is_owned(MINE, plan()) and not people.is_owned(heads, plan(heads))
    assert people.is_owned(people.at_most(2, "group_head", MINE, Fraction(1), (ALL,)), plan())


# -- populations


@pytest.mark.parametrize(
    "population, unit, verdict",
    [
        ("people", ["x", 1], "ok"),
        ("people", [None, 1], "cannot check"),
        (5, ["x", 1], "cannot check"),
        (None, [None, 1], "ok"),
    ],
)
def test_a_table_of_a_population_says_whose_its_rows_are(population: Any, unit: list[Any], verdict: str) -> None:
    """Without persons, rows of two tables would share a budget, and nothing says which of them come and go together."""
    given: Made = sum_of(AGE, "100")
    given["data sets"][0] |= {"unit": unit, "population": population}

    assert check(signed(given)).verdict == verdict, check(given)


# -- owners


@pytest.mark.parametrize(
    "first, second, owner",
    [
        (column("who", MINE), column("who", THEIRS), True),
        (column("who", MINE), column("stay", THEIRS), False),
        (column("stay", MINE), column("who", THEIRS), False),
        (None, column("who", THEIRS), False),  # all rows of the first table would be one person's
        (column("who", MINE), None, False),
        (column("who", MINE, FLOAT), column("who", THEIRS, FLOAT), False),
        (column("who", MINE), column("who", THEIRS, TEXT), False),  # one and the same person has two names
    ],
)
def test_a_column_of_two_tables_says_whose_a_row_is_if_it_does_in_both(first: Any, second: Any, owner: bool) -> None:
    made = below()
    key = Column(3, "appended", [made, first, second], WHO, made.node)

    assert people.is_owner(key, made, plan(made)) is owner


@pytest.mark.parametrize(
    "claimed, holds",
    [
        (Domain("Int64", True, 0, 9), True),
        (Domain("Int64", True, -1, 10), True),
        (Domain("Int64", False, 0, 9), False),
        (Domain("Int64", True, 1, 9), False),
        (Domain("Int64", True, 0, 8), False),
        (Domain("Float64", True, 0, 9), False),
        (Domain("Int64", True, 0, 9, ("a",)), False),
    ],
)
def test_the_domain_of_what_is_found_of_a_person_holds_all_of_it(claimed: Domain, holds: bool) -> None:
    derived = Domain("Int64", True, 0, 9)
    if holds:
        people.require_holds(claimed, derived)
    else:
        with pytest.raises(Refuted, match="does not hold"):
            people.require_holds(claimed, derived)


@pytest.mark.parametrize("side", [0, 1])
def test_further_keys_are_columns_of_the_same_rows(side: int) -> None:
    """A join pairs row i of a table with its own keys; those of another table's row i are somebody else's."""
    keys = [[column("who", each), column("stay", each)] for each in (MINE, THEIRS)]
    people.check_joined(MINE, keys[0], THEIRS, keys[1], plan())
    keys[side][1] = keys[1 - side][1]

    with pytest.raises(Refuted, match="keys of other rows"):
        people.check_joined(MINE, keys[0], THEIRS, keys[1], plan())


@pytest.mark.parametrize("rows_of_a_person, taken", [(1, True), (2, False)])
def test_a_fact_that_is_found_through_one_of_several_rows_is_not_taken_for_one(
    rows_of_a_person: int, taken: bool
) -> None:
    """As in the library: of several rows, another one may say something else of the same person."""
    theirs = replace(THEIRS, edits=Fraction(rows_of_a_person))
    single = rows.data_set(2, 2, 0, Fraction(1))
    sex = column("sex", single)
    inner = Column(20, "lookup", [[column("who", theirs)], single, [column("who", single)], sex], WHO, theirs.node)
    keys = [[column(name, each) for name in ("who", "stay")] for each in (MINE, theirs)]
    found = Column(21, "lookup", [keys[0], theirs, keys[1], inner], WHO, MINE.node)
    tables = Certificate([], [], [MINE, theirs, single])

    assert people.says(inner, sex, single, tables)
    assert people.says(found, sex, single, tables) is taken


def test_a_fact_stays_one_in_rows_of_the_same_persons_only() -> None:
    """In a slice, a row of somebody else may come in when one goes out."""
    single = rows.data_set(2, 2, 0, Fraction(1))
    sex = column("sex", single)
    found = Column(20, "lookup", [[column("who", MINE)], single, [column("who", single)], sex], WHO, MINE.node)
    tables = [MINE, THEIRS, single]
    for into, taken in (
        (people.at_most(3, "group_head", MINE, Fraction(1), (ALL,)), True),
        (rows.slice_(3, MINE, None, 4), False),
    ):
        given = Certificate(plan().data_sets, [], [*tables, into])
        assert people.says(Column(21, "carried", [into, found], WHO, into.node), sex, single, given) is taken


# -- cells of persons


@pytest.mark.parametrize("claimed", [[], [2]])
def test_rows_of_persons_who_are_in_a_part_of_another_table_lie_in_that_part(claimed: list[int]) -> None:
    """Notes of women: not in no cell at all, and not in that of men."""
    women = Filter(PATIENTS.source, Compare("==", PATIENTS.column("sex"), Lit.of("F")))
    found = Lookup((NOTES.column("who"),), women, (PATIENTS.column("who"),), Constant(Lit.of(True)))
    given = made(Tally(Filter(NOTES.source, found), (), None))
    assert check(given).verdict == "ok", check(given)

    given["cells"].append({**given["cells"][1], "key": ["text", "M"]})
    for each in [each for each in given["nodes"] if each["claims"].get("cells") == [1]][1:]:
        each["claims"]["cells"] = claimed
    given["release"]["charges"] = [[cell, ["1"]] for cell in claimed]
    report = check(json.loads(json.dumps(given)))

    assert report.verdict == "refuted" and "outside of the claimed cells" in report.problems[0], report


# -- rows of two tables


def test_tables_below_each_other_are_counted() -> None:
    """Rules look into each of them, so there is a limit."""
    two = below()
    assert two_tables.number_of_tables(two) == 2
    assert two_tables.number_of_tables(two_tables.below_each_other(3, two, two, (ALL,), plan(two))) == 4
    for tables, enough in ((255, True), (256, False)):
        many = replace(two, parameters=(*two.parameters[:2], tables))
        if enough:
            assert two_tables.number_of_tables(two_tables.below_each_other(3, many, THEIRS, (ALL,), plan(many))) == 256
        else:
            with pytest.raises(CannotCheck, match="256 tables"):
                two_tables.below_each_other(3, many, THEIRS, (ALL,), plan(many))


def test_the_largest_share_of_rows_in_cells_that_do_not_exclude_each_other() -> None:
    """V-18: edits can lie in both cells at once, but a constant is one for all cells together."""
    both = replace(DATA, cells=(KOBE, OLD))

    assert two_tables.at_most(both, Fraction(3)) == 6 and two_tables.at_most(both, Fraction(0)) == 0
    assert two_tables.at_most(replace(both, cap=Fraction(9)), Fraction(3)) == 3


def test_two_tables_have_as_many_rows_as_both_together() -> None:
    """And are at most that many insertions and that many deletions apart, however far each of them may move."""
    first, second = (replace(each, factor=Fraction(5), most=Fraction(n)) for each, n in ((MINE, 3), (THEIRS, 2)))
    both = below(first, second)

    assert (both.most, both.factor, both.edits) == (5, 10, 10)
    few = below(replace(first, most=Fraction(1)), second)
    assert (few.most, few.factor, few.edits) == (3, 10, 6)


@pytest.mark.parametrize("first, second, cap", [(3, None, 5), (None, 4, 6), (3, 4, 7), (None, None, None)])
def test_a_constant_of_one_table_is_one_of_both_together(first: Any, second: Any, cap: Any) -> None:
    """What lies in the other table's cells moves by two rows of a person, whatever part of her edits lies in them."""
    bounds = [None if each is None else Fraction(each) for each in (first, second)]
    made = below(*(replace(each, cap=bound) for each, bound in zip((MINE, THEIRS), bounds, strict=True)))

    assert made.cap == cap and made.edits == (4 if cap is None else cap)


def test_tables_of_two_populations_are_not_put_together() -> None:
    alone = plan()
    alone.data_sets[1] = replace(alone.data_sets[1], population=None)

    with pytest.raises(Refuted, match="different populations"):
        two_tables.below_each_other(2, MINE, THEIRS, (ALL,), alone)


def test_one_key_that_differs_between_the_rows_of_a_person_finds_one_row() -> None:
    """However many other keys there are; and a join without keys is none."""
    keys = [[column(name, each) for name in ("who", "stay")] for each in (MINE, THEIRS)]

    for used, most in ((2, 1), (1, 2)):
        fields = [MINE, keys[0][:used], THEIRS, keys[1][:used], "inner"]
        assert two_tables.joined(2, fields, plan()).factor == most * MINE.factor
    for mine, theirs in (([], []), (keys[0], keys[1][:1])):
        with pytest.raises(CannotCheck, match="such fields"):
            two_tables.joined(2, [MINE, mine, THEIRS, theirs, "inner"], plan())


@pytest.mark.parametrize(
    "nullable, how, missing", [(False, "inner", False), (True, "inner", True), (False, "left", True)]
)
def test_what_stands_in_a_partner_may_be_missing(nullable: bool, how: str, missing: bool) -> None:
    """Where there is no partner, and where it is missing there."""
    keys = [[column("who", each)] for each in (MINE, THEIRS)]
    into = two_tables.joined(2, [MINE, keys[0], THEIRS, keys[1], how], plan())
    found = two_tables.paired(3, into, column("stay", THEIRS, replace(WHO, nullable=nullable)))

    assert found.domain == replace(WHO, nullable=missing)


def test_labels_may_become_texts_but_texts_no_labels() -> None:
    numbers, both = Domain("category", False, labels=(1, 2)), Domain("category", False, labels=(2, "a", 1))

    assert two_tables.holds(TEXT, numbers) and two_tables.holds(TEXT, both) and two_tables.holds(both, numbers)
    assert not two_tables.holds(numbers, both) and not two_tables.holds(both, TEXT)


@pytest.mark.parametrize("filtered", [False, True])
def test_a_sample_is_not_put_together_with_other_rows(filtered: bool) -> None:
    """Its coins would decide at a second place, where the ledger would count them once more for less."""
    drawn = rows.sample(2, THEIRS, Fraction(1, 2), "any", THEIRS.cells)
    if filtered:
        small = row_wise_column(3, "compare", ["==", column("stay", THEIRS), 5], Domain("boolean", False))
        drawn = rows.filter_(4, drawn, small, (Cell(0),))
    keys = [[column("who", each)] for each in (MINE, THEIRS)]

    for first, second in ((MINE, drawn), (drawn, MINE)):
        with pytest.raises(Refuted, match="random sample"):
            below(first, second)
    with pytest.raises(Refuted, match="random sample"):
        two_tables.joined(2, [MINE, keys[0], drawn, keys[1], "inner"], plan())
    two_tables.joined(2, [drawn, keys[1], MINE, keys[0], "inner"], plan())  # these rows are drawn anew as well
