"""The checker's rules by themselves: cells, distances, rows and charges."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from math import inf, isclose, sqrt
from typing import Any

import pytest

from privjail.budget.notions import ZCDP
from privjail.mechanisms.gaussian import Gaussian
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Carried
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.norms import RowScale, Truncate
from privjail.ops.numbers.vector_sum import VectorSum
from privjail.ops.rows import source as library
from privjail.ops.rows.slice import Slice
from privjail.plan.domain import FloatDomain
from privjail.plan.node import Lit
from privjail.release import Query
from privjail.verify import certificate
from privjail.verify.checker import check, people, numbers, rows
from privjail.verify.checker.cells import Cell, Step
from privjail.verify.checker.certificate import Certificate
from privjail.verify.checker.charges import above_shared_partitions, exclude_each_other, exclusive
from privjail.verify.checker.columns import Column, row_wise_column
from privjail.verify.checker.distances import (
    MOST_VERTICES,
    LinearForm,
    largest,
    largest_euclidean,
    maximum,
    plus,
    times,
)
from privjail.verify.checker.domains import Domain
from privjail.verify.checker.verdict import CannotCheck, Refuted, Report

ALL = Cell(0)
KOBE, NARA = (ALL.extended(Step(0, 1, city)) for city in ("Kobe", "Nara"))
OLD = ALL.extended(Step(0, 2, "old"))
OLD_IN_KOBE, TALL_IN_KOBE = (KOBE.extended(Step(0, by, key)) for by, key in ((2, "old"), (3, "tall")))
ELSEWHERE = Cell(1)


def form(**coefficients: int) -> Any:
    named = {"all": ALL, "kobe": KOBE, "nara": NARA, "old": OLD, "old_in_kobe": OLD_IN_KOBE,
             "tall_in_kobe": TALL_IN_KOBE, "elsewhere": ELSEWHERE}  # fmt: skip
    constant = Fraction(coefficients.pop("constant", 0))
    return (LinearForm(constant, {named[name]: Fraction(c) for name, c in coefficients.items()}),)


@pytest.mark.parametrize(
    "distance, value",
    [
        (form(kobe=2, nara=3), 3),  # a unit's edits are in one of the two
        (form(kobe=2, old=3), 5),  # or in both: these are two partitions
        (form(all=1, kobe=2, nara=3, constant=10), 14),
        (form(kobe=2, old_in_kobe=5, nara=6), 7),
        (form(old_in_kobe=2, tall_in_kobe=3), 5),  # two partitions of a part
        (form(all=1, elsewhere=4), 5),
        (maximum([form(kobe=2), form(nara=9)]), 9),
        (plus(form(kobe=2), maximum([form(kobe=1), form(nara=2)])), 3),
        (times(form(kobe=2, constant=1), Fraction(3)), 9),
        (times((LinearForm(inf, {}),), Fraction(0)), 0),
        ((), 0),
    ],
)
def test_the_largest_value_of_a_distance(distance: Any, value: int) -> None:
    assert largest(maximum([distance])) == value


def test_numbers_are_only_as_long_as_can_be_computed_with() -> None:
    long = Fraction(10**4001 + 1, 10**4001)
    with pytest.raises(CannotCheck, match="too long"):
        maximum([form(constant=long)])
    assert maximum([form(constant=10**3000)]) == form(constant=10**3000)


def every_choice(cells: list[Cell]) -> list[set[Cell]]:
    """All sets of cells in which edits of one unit can be: with each cell its ancestors, and one key per partition."""
    found: list[set[Cell]] = [set()]
    for cell in cells:
        found += [{*chosen, *cell.path()} for chosen in found]
    return [chosen for chosen in found if all(not exclude_each_other(a, b) or a.data_set != b.data_set
                                              for a in chosen for b in chosen if a != b)]  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_largest_values_are_those_of_all_choices(seed: int) -> None:
    """V-11: against plain enumeration, in all three norms."""
    pick = random.Random(seed)
    cells = [ALL, KOBE, NARA, OLD, OLD_IN_KOBE, NARA.extended(Step(0, 2, "old")), OLD.extended(Step(0, 1, "Kobe"))]
    elements = [(LinearForm(Fraction(pick.randint(0, 2)), {c: Fraction(pick.randint(1, 5)) for c in pick.sample(cells, 3)}),)
                for _ in range(3)]  # fmt: skip

    def at(distance: Any, chosen: set[Cell]) -> Fraction:
        return distance[0].constant + sum(c for cell, c in distance[0].coefficients.items() if cell in chosen)

    moves = [[at(each, {ALL, *chosen}) for each in elements] for chosen in every_choice(cells)]
    assert largest(plus(plus(elements[0], elements[1]), elements[2])) == max(map(sum, moves))
    assert largest(maximum(elements)) == max(map(max, moves))
    assert isclose(largest_euclidean(elements), sqrt(max(sum(x * x for x in each) for each in moves)), rel_tol=1e-12)


@pytest.mark.parametrize(
    "cells, charged",
    [
        ({KOBE, NARA}, {KOBE, NARA}),
        ({KOBE, OLD}, {ALL}),
        ({KOBE, OLD_IN_KOBE}, {KOBE}),
        ({OLD_IN_KOBE, NARA}, {OLD_IN_KOBE, NARA}),
        ({OLD_IN_KOBE, NARA, OLD}, {ALL}),
        ({ALL, KOBE}, {ALL}),
        ({KOBE, ELSEWHERE}, {KOBE, ELSEWHERE}),
        (set(), set()),
    ],
)
def test_cells_that_do_not_exclude_each_other_are_charged_above(cells: set[Cell], charged: set[Cell]) -> None:
    """V-56"""
    assert exclusive(cells) == charged


DATA = rows.data_set(0, 0, 0, Fraction(1))


@pytest.mark.parametrize("rows_of_a_unit, charged", [(1, OLD_IN_KOBE), (2, ALL), (inf, ALL)])
def test_a_unit_that_can_be_in_two_parts_is_charged_above_them(rows_of_a_unit: Any, charged: Cell) -> None:
    """V-56: as soon as it has two rows."""
    checked = Certificate([], [], [rows.data_set(0, 0, 0, rows_of_a_unit)])

    assert above_shared_partitions(OLD_IN_KOBE, checked) == charged


def test_slices_of_slices_are_one_operation() -> None:
    inner = rows.slice_(1, DATA, -4, 5)
    outer = rows.slice_(2, inner, None, None)
    short = rows.slice_(3, outer, None, 2)

    assert (inner.factor, outer.factor, inner.most, short.most, short.edits) == (3, 3, 4, 2, 3)
    assert (inner.inserted, inner.deleted, short.inserted, short.deleted) == (1, 2, 1, 2)
    assert outer.base == 2 and inner.base == 1
    assert rows.slice_(4, DATA, None, 0).edits == 0


def test_the_stability_of_windows_and_group_heads() -> None:
    user = rows.data_set(0, 0, 0, Fraction(5))
    kobe = replace(user, cells=(KOBE,))
    window = rows.window(1, user, 2, 1)
    any_key = rows.group_head(2, kobe)
    by_owner = people.at_most(3, "group_head", kobe, Fraction(3), (ALL,))
    few = people.at_most(4, "group_head", kobe, Fraction(5), (ALL,))

    assert (window.factor, window.edits) == (35, 35)
    assert (any_key.factor, any_key.cells) == (10, (KOBE,))
    assert (by_owner.factor, by_owner.cells, by_owner.edits) == (3, (ALL,), 3)
    assert (few.factor, few.cells) == (5, (KOBE,))
    assert rows.window(5, replace(user, cap=Fraction(2)), 1, 0).cap == 6
    assert (window.inserted, window.deleted) == (20, 15) and (any_key.inserted, any_key.deleted) == (5, 5)
    assert (by_owner.inserted, by_owner.deleted) == (3, 0)
    assert rows.window(6, user, 7, -7).factor == 5 and rows.window(7, user, -1, 2).factor == 15
    with pytest.raises(Refuted):
        rows.window(8, user, 1, -2)


def test_insertions_and_deletions_of_a_part_are_not_known_apart() -> None:
    """V-18: of one row in and one row out, either may lie in the part."""
    head = rows.slice_(1, DATA, None, 5)
    part = replace(head, cells=(Cell(0, (Step(1, 2, True),)),))

    assert head.apart() == (1, 1) and part.apart() == (2, 2)
    assert replace(part, deleted=Fraction(0)).apart() == (1, 0)
    assert replace(part, cap=Fraction(4)).apart() == (1, 1)
    assert largest(head.sum_distance(Fraction(-1), Fraction(3))) == 4
    assert largest(part.sum_distance(Fraction(-1), Fraction(3))) == 6  # two edits of at most 3 each


def test_bounds_on_insertions_and_deletions_are_checked_against_what_is_claimed() -> None:
    head = rows.slice_(1, DATA, None, 5)

    assert rows.bounds_apart(head, None) == [1, 1]
    assert rows.bounds_apart(rows.slice_(1, rows.data_set(0, 0, 0, Fraction(9)), None, 2), Fraction(4)) == [2, 2]
    assert rows.bounds_apart(replace(head, cap=Fraction(2)), None) == [inf, inf]


def city(nullable: bool) -> Column:
    return Column(1, "column", [], Domain("category", nullable, labels=("Kobe", "Nara")), 0)


@pytest.mark.parametrize("kind, fields, nullable, cells", [
    ("compare", ["==", 1, "Kobe"], True, (KOBE,)),
    ("compare", ["==", 1, "Nara"], True, (NARA,)),
    ("isin", [1, ["Kobe", "Nara"]], True, (KOBE, NARA)),
    ("isnull", [1], True, (ALL.extended(Step(0, 1, None)),)),
    ("isnull", [1], False, ()),
    ("text", ["contains", 1, ["K"]], False, (KOBE, NARA)),  # not evaluated: each part may be kept
])  # fmt: skip
def test_a_filter_is_claimed_to_lie_in_just_the_parts_that_it_keeps(
    kind: str, fields: Any, nullable: bool, cells: Any
) -> None:
    by = city(nullable)
    condition = row_wise_column(2, kind, [by if x == 1 else x for x in fields], Domain("boolean", True))

    assert rows.filter_(3, DATA, condition, cells).cells == cells
    assert rows.filter_(3, DATA, condition, (ALL,)).cells == (ALL,)
    for left_out in cells:
        with pytest.raises(Refuted, match="outside of the claimed cells"):
            rows.filter_(3, DATA, condition, tuple(c for c in cells if c != left_out))


def test_a_filter_needs_a_condition() -> None:
    with pytest.raises(Refuted):
        rows.filter_(3, DATA, city(False), (ALL,))


def test_counts_and_sums() -> None:
    """V-8, V-11"""
    age = Column(2, "column", [], Domain("Int64", True, -3, 10), 0)
    sure = Column(3, "column", [], Domain("boolean", False), 0)
    counts, total = numbers.tally(DATA, [city(True), sure], None), numbers.tally(DATA, [], age)
    trues = numbers.tally(DATA, [], sure)

    assert (counts.size, counts.sensitivity("l1"), counts.sensitivity("l2"), counts.monotone) == (4, 1, 1, True)
    assert counts.element_distance(1)[0].coefficients == {KOBE.extended(Step(0, 3, True)): 1}
    assert counts.element_distance(2)[0].coefficients == {NARA.extended(Step(0, 3, False)): 1}
    assert (total.sensitivity("linf"), total.monotone, total.grid) == (10, True, 1)
    user = numbers.tally(rows.data_set(0, 0, 0, Fraction(2)), [city(True)], age)
    assert (user.sensitivity("l1"), user.sensitivity("linf"), user.monotone) == (20, 20, False)
    head = numbers.tally(rows.slice_(1, DATA, None, 5), [replace(city(True), base=1)], None)
    assert (head.sensitivity("l1"), head.sensitivity("linf"), head.monotone) == (2, 1, False)
    assert numbers.total(head).sensitivity("l1") == 1
    assert (trues.sensitivity("l1"), trues.monotone) == (1, True)
    with pytest.raises(Refuted):
        numbers.tally(DATA, [replace(age, domain=Domain("Int64", True))], None)


@pytest.mark.parametrize("rows_of_a_person, partition", [(1, (5, 6)), (2, (0, 9))])
def test_groups_by_what_is_looked_up_are_groups_of_persons_where_each_has_one_row(
    rows_of_a_person: int, partition: tuple[int, int]
) -> None:
    """V-11: where a person has several rows there, rows of hers here may be in several groups."""
    there = rows.data_set(5, 1, 0, Fraction(rows_of_a_person))
    sex = Column(6, "column", [there, "sex"], Domain("category", True, labels=("F", "M")), 5)
    found = Column(9, "lookup", [[], there, [], sex], sex.domain, 0)

    assert numbers.divided(0, found) == partition
    assert numbers.tally(DATA, [found], None).element_distance(1)[0].coefficients == {
        ALL.extended(Step(*partition, "M")): 1
    }


@pytest.mark.parametrize("value, type_, exponent", [
    (2**30 - 1, "Int64", 0), (2**30, "Int64", 1), (2**31 - 1, "Int64", 1), (2**63 - 1, "Int64", 34),
    (1, "Float64", -29), (Fraction(1, 2), "Float64", -30), (Fraction(3, 4), "Float64", -30), (Fraction(3, 8), "Float64", -31),
    (Fraction(5e-324), "Float64", -1020), (0, "Float64", 0),
])  # fmt: skip
def test_the_grid_of_a_sum_has_thirty_bits(value: Any, type_: str, exponent: int) -> None:
    assert numbers.sum_grid(Fraction(value), type_) == Fraction(2) ** exponent


def test_arithmetic_on_numbers() -> None:
    counts = numbers.tally(DATA, [city(False)], None)
    kobe, nara = numbers.element(counts, 0), numbers.element(counts, 1)
    both, twice = numbers.stack([kobe, nara], [0, 1]), numbers.add(counts, counts)

    assert (kobe.cells, nara.cells) == ((KOBE,), (NARA,))
    assert numbers.add(kobe, nara).sensitivity("l1") == 1 and numbers.add(kobe, kobe).sensitivity("l1") == 2
    assert [both.sensitivity(norm) for norm in ("l1", "l2", "linf")] == [1, 1, 1]
    assert isclose(numbers.stack([kobe, kobe], [0, 1]).sensitivity("l2"), sqrt(2)) and not both.monotone
    assert (twice.sensitivity("l1"), twice.monotone, numbers.total(counts).sensitivity("l1")) == (2, False, 1)
    assert (numbers.scale(counts, Fraction(-3)).sensitivity("l1"), numbers.scale(counts, Fraction(-3)).grid) == (3, 3)
    assert numbers.offset(counts, Fraction(1, 3)).grid == Fraction(1, 3)
    assert numbers.extreme(both).sensitivity("l1") == 1 and numbers.absolute(counts).monotone
    many = numbers.tally(rows.data_set(0, 0, 0, Fraction(2)), [city(False)], None)
    assert many.monotone and not numbers.absolute(many).monotone
    for other in (2, -1, True):
        with pytest.raises(CannotCheck):
            numbers.element(counts, other)
    with pytest.raises(Refuted):
        numbers.add(counts, kobe)


def test_quantile_scores_all_move_at_once() -> None:
    scores = numbers.quantile_scores(DATA, [1, 2, 3], Fraction(1, 2), Fraction(-2, 3), Fraction(1))

    assert (scores.sensitivity("l1"), scores.sensitivity("linf")) == (2, Fraction(2, 3))
    assert scores.grid == Fraction(1, 6) and not scores.monotone


def test_the_euclidean_norm_of_a_maximum_takes_the_larger_form() -> None:
    assert isclose(largest_euclidean([maximum([form(kobe=2), form(kobe=3)]), form(kobe=4)]), 5)
    assert largest_euclidean([(LinearForm(inf, {}),)]) == inf


def test_the_euclidean_norm_of_very_many_groups_needs_no_search() -> None:
    """There are more of them than combinations would be tried."""
    groups = [(LinearForm(Fraction(0), {ALL.extended(Step(0, 1, i)): Fraction(3)}),) for i in range(MOST_VERTICES + 1)]

    assert largest_euclidean(groups) == 3
    with pytest.raises(CannotCheck, match="combinations"):
        largest_euclidean([maximum([group, form(all=1)]) for group in groups])


def test_columns_in_a_list_are_inputs_too():
    left, right = (Column(i, "column", [], Domain("Float64", False, -1.0, 2.0), 7) for i in (1, 2))
    made = row_wise_column(3, "dot", [[left, right], [1.0, 2.0]], Domain("Float64", False))

    assert made.inputs == (left, right) and made.base == 7 and made.with_ancestors == (left, right, made)


def test_a_weighted_sum_lies_between_its_lowest_and_its_highest_products():
    from privjail.verify.checker.norms import dot_results

    left, right = (Column(i, "column", [], Domain("Float64", False, -1.0, 2.0), 7) for i in (1, 2))
    found = dot_results([left, right], [3.0, -1.0])

    assert found[:2] == [-5.0, 7.0]


def test_a_claim_that_is_larger_than_need_be_is_remarked_on_and_a_rounding_is_not():
    report = Report()
    for claimed, needed in ((2, 2), (1 + Fraction(1, 2**30), 1), (0, 0)):
        report.require("the distance", Fraction(claimed), Fraction(needed))
    assert report.larger == []
    for claimed, needed in ((3, 2), (Fraction(1, 2**40), 0)):
        report.require("the distance", Fraction(claimed), Fraction(needed))
    assert len(report.larger) == 2 and report.verdict == "ok"
    report.require("the distance", Fraction(0), Fraction(-1, 2))
    assert len(report.larger) == 3


def sum_of_short_rows(carried: bool) -> dict[str, Any]:
    """The certificate of a sum of rows that are at most 1 long: of a data set, or of its first rows."""
    x, y = (library.Column(PLANE, name) for name in "xy")
    scale = RowScale((x, y), Lit.of(1.0), "2")
    short = [Truncate(Arithmetic("*", each, scale)) for each in (x, y)]
    rows_ = Slice(PLANE, None, 5) if carried else PLANE
    columns = tuple(Carried(rows_, each) for each in short) if carried else tuple(short)
    return of_a_release(VectorSum(rows_, columns))


def of_a_release(value: Any) -> dict[str, Any]:
    asked = Query(value, Gaussian(rho=Fraction(1)))
    return certificate.of(asked, {PLANE.cells[0]: ZCDP()})


OPEN = (
    ("x", FloatDomain(False, -3.0, 3.0)),
    ("y", FloatDomain(False, -3.0, 3.0)),
    ("z", FloatDomain(False, 0.0, None)),
)
PLANE = library.Source(library.Dataset("plane", "plane", OPEN, library.Unit()))


@pytest.mark.parametrize("carried", [False, True])
def test_a_short_row_is_as_short_among_the_first_rows(carried: bool) -> None:
    """The columns of a row keep their common length where they are carried together."""
    made = sum_of_short_rows(carried)

    assert Fraction(made["release"]["noise"]["sensitivity"]) <= (2 if carried else 1)
    assert check(made).verdict == "ok", check(made)


def test_products_of_short_rows_are_as_short_but_for_one_rounding() -> None:
    """Both sides grant the same rounding of a product: with less, the claim would not hold the needed one."""
    x, y = (library.Column(PLANE, name) for name in "xy")
    scale = RowScale((x, y), Lit.of(1.0), "2")
    short = [Truncate(Arithmetic("*", each, scale)) for each in (x, y)]
    products = tuple(Truncate(Arithmetic("*", u, v)) for u in short for v in short)
    made = of_a_release(VectorSum(PLANE, products))

    assert 1 < Fraction(made["release"]["noise"]["sensitivity"]) < 1 + Fraction(1, 2**50)
    assert check(made).verdict == "ok", check(made)


def test_a_product_with_a_factor_that_has_no_bound_is_as_long_as_it_is_clipped() -> None:
    """Factors without bounds have no length to multiply."""
    x, z = library.Column(PLANE, "x"), library.Column(PLANE, "z")
    made = [Truncate(Clip(Arithmetic("*", u, z), Lit.of(-1.0), Lit.of(1.0))) for u in (x, z)]

    assert check(of_a_release(VectorSum(PLANE, tuple(made)))).verdict == "ok"
