"""Arithmetic on private numbers and vectors."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError
from privjail.ops.columns.compare import Compare
from privjail.ops.rows.filter import Filter
from privjail.ops.columns.logic import Not
from privjail.ops.numbers.combine import (
    Absolute,
    Add,
    ColumnStack,
    Element,
    Extreme,
    PublicNumber,
    Offset,
    Scale,
    Stack,
    Total,
)
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.rows.slice import Slice
from privjail.ops.numbers.tally import Tally
from privjail.plan.node import Lit

from .checking import carried, check_value, covers, given, numbers
from .worlds import LETTERS, SQUARE, TWO_EACH

KINDS = ("add", "scale", "offset", "absolute", "element", "stack", "column_stack", "total", "extreme", "public_number")
factors = st.fractions(-3, 3, max_denominator=6)


def leaves(rows):
    """Vectors by the letter x of SQUARE, and numbers, of some rows."""
    x, y = carried(rows, SQUARE.column("x")), carried(rows, SQUARE.column("y"))
    one = Filter(rows, Compare("==", x, Lit.of("a")))
    rest = Filter(rows, Not(Compare("==", x, Lit.of("a"))))
    vectors = [Tally(rows, (x,), None), Tally(rows, (x,), y), Tally(one, (x,), None), Tally(rest, (x,), y)]
    return vectors, [Tally(one, (), None), Tally(rest, (), y), Tally(rows, (), None), PublicNumber(Fraction(-5, 3))]


def each_kind(rows, c, n):
    """Every operation of this file, on vectors, numbers and each other."""
    vectors, singles = leaves(rows)
    a, b = vectors[n % 4], vectors[(n + 1 + n // 4) % 4]
    p, q = singles[n % 4], singles[(n + 1) % 4]
    scaled, moved = Scale(a, c), Offset(b, c)
    stack = Stack((p, Scale(q, c), Element(a, 1)), ("p", "q", "r"))
    beside = ColumnStack((a, Add(scaled, b), Absolute(moved)), ("k", "l", "m"))
    return [
        Add(scaled, moved), Add(p, q), Scale(beside, c), scaled, moved, Offset(p, c),
        Absolute(Add(a, Scale(b, Fraction(-1)))), Element(beside, 3), Element(stack, 2), stack, beside,
        Total(beside), Total(stack), Total(scaled), Total(Absolute(moved)), Extreme("max", stack), Extreme("min", beside),
        Extreme("max", Add(a, b)), Extreme("max", moved), PublicNumber(c),
    ]  # fmt: skip


@covers("property", *KINDS)
@given(SQUARE.neighbours(5), factors, st.integers(0, 15), st.sampled_from((None, 1, 3)), examples=30)
def test_results_move_no_further_than_claimed(pair, c, n, head):
    """In each element and in all norms at once, also after a head, where a unit moves two groups."""
    rows = SQUARE.source if head is None else Slice(SQUARE.source, None, head)
    for value in each_kind(rows, c, n):
        check_value(value, [pair], SQUARE.source)


@covers("property", "add", "stack", "column_stack")
@given(TWO_EACH.neighbours(), factors)
def test_results_of_users_rows_move_no_further_than_claimed(pair, c):
    x = TWO_EACH.column("x")
    counts, sums = Tally(TWO_EACH.source, (x,), None), Tally(TWO_EACH.source, (x,), x)
    elements = [Element(counts, i) for i in (0, 1)]
    for value in (
        Add(Scale(counts, c), sums),
        Stack((*elements, Total(sums)), (0, 1, 2)),
        ColumnStack((counts, sums), "cs"),
    ):
        check_value(value, [pair], TWO_EACH.source)


@given(SQUARE.tables_at_random(5), factors, st.integers(0, 15))
def test_results_are_exact(data, c, n):
    """V-8: as fractions compute them, without a float anywhere."""
    source = SQUARE.source
    vectors, singles = leaves(source)
    a, b, p = vectors[n % 4], vectors[(n + 1) % 4], singles[n % 4]

    def exact(value):
        return numbers(value, data, source)

    xs, ys, [z] = exact(a), exact(b), exact(p)
    assert exact(Add(Scale(a, c), b)) == [x * c + y for x, y in zip(xs, ys, strict=True)]
    assert exact(Offset(a, c)) == [x + c for x in xs]
    assert exact(Absolute(Scale(a, c))) == [abs(x * c) for x in xs]
    assert exact(ColumnStack((a, b), "ab")) == [v for pair in zip(xs, ys, strict=True) for v in pair]
    assert exact(Stack((p, PublicNumber(c)), "pq")) == [z, c]
    assert exact(Element(b, 1)) == [ys[1]]
    assert exact(Total(Scale(a, c))) == [sum(xs) * c]
    assert exact(Extreme("max", Offset(a, c))) == [max(xs) + c]
    assert exact(Extreme("min", Add(a, b))) == [min(x + y for x, y in zip(xs, ys, strict=True))]


@covers("witness", *KINDS)
def test_the_claims_are_reached():
    source, x, y = SQUARE.source, SQUARE.column("x"), SQUARE.column("y")
    counts, sums = Tally(source, (x,), None), Tally(source, (x,), y)
    n = Tally(source, (), None)
    a, b = (Tally(Filter(source, Compare("==", x, Lit.of(v))), (), None) for v in "ab")
    row = [((), (("b", 1),))]
    third = Fraction(-1, 3)
    for value, most in (
        (Add(counts, sums), 2),
        (Add(n, b), 2),
        (Add(a, b), 1),
        (Scale(counts, third), Fraction(1, 3)),
        (Offset(counts, third), 1),
        (Absolute(sums), 1),
        (Element(counts, 1), 1),
        (Stack((a, b, n), "abn"), 2),
        (ColumnStack((counts, sums), "cs"), 2),
        (Total(counts), 1),
        (Total(ColumnStack((counts, sums), "cs")), 2),
        (Extreme("max", counts), 1),
        (Extreme("max", Stack((a, b), "ab")), 1),
        (PublicNumber(third), 0),
    ):
        assert check_value(value, row, source)["l1"] == value.joint.l1 == most, str(value)
    down = Extreme("min", counts)
    assert check_value(down, [((("a", 1),), (("a", 1), ("b", 1)))], source)["l1"] == down.joint.l1 == 1
    both = Stack((a, b, n), "abn")
    assert check_value(both, row, source)["l2"] == both.joint.l2**2 or both.joint.l2**2 - 2 < Fraction(1, 2**60)


@covers("small world", *KINDS)
def test_numbers_in_the_small_world():
    for n in (0, 5, 10):
        for value in each_kind(SQUARE.source, Fraction(-3, 2), n):
            check_value(value, SQUARE.pairs(1), SQUARE.source)
    rows = Slice(LETTERS.source, None, 2)
    x = carried(rows, LETTERS.column("x"))
    counts = Tally(rows, (x,), None)
    a, b = Element(counts, 0), Element(counts, 1)
    for value in (
        Add(a, b), Scale(counts, Fraction(-2)), Offset(a, Fraction(1, 2)), Absolute(Add(a, Scale(b, Fraction(-1)))),
        a, Stack((a, b), "ab"), ColumnStack((counts, counts), "ab"), Total(counts), Extreme("max", counts),
        PublicNumber(Fraction(1)),
    ):  # fmt: skip
        check_value(value, LETTERS.pairs(), LETTERS.source)


def test_private_vectors_of_ranks_scale_and_add():
    y = SQUARE.column("y")
    ranks = QuantileScores(SQUARE.source, y, (Lit.of(0), Lit.of(1)), Fraction(1, 2), Fraction(1, 2), Fraction(0))
    for value in (
        Add(ranks, Scale(ranks, Fraction(3))),
        Offset(ranks, Fraction(1)),
        Total(ranks),
        Extreme("max", ranks),
    ):
        check_value(value, SQUARE.pairs(2), SQUARE.source)


def test_shapes_and_sizes_are_checked():
    counts = Tally(LETTERS.source, (LETTERS.column("x"),), None)
    n = Tally(LETTERS.source, (), None)
    for build in (
        lambda: Add(counts, n),
        lambda: Element(counts, 2),
        lambda: Element(counts, -1),
        lambda: Stack((), ()),
        lambda: Stack((counts,), ("a",)),
        lambda: ColumnStack((counts, n), ("a", "b")),
        lambda: ColumnStack((counts,), ()),
        lambda: Extreme("median", counts),
        lambda: Extreme("max", n),
        lambda: Scale(n, Fraction(2**3000)),
        lambda: Offset(n, Fraction(1, 2**3000)),
    ):
        with pytest.raises(PlanError):
            build()


@covers("small world", "absolute", "total")
def test_absolute_values_of_groups_may_all_fall_where_their_sum_does_not_move():
    """After head one group gains what another loses: the sum stays, but the distances from a constant add up."""
    head = Slice(LETTERS.source, None, 2)
    counts = Tally(head, (carried(head, LETTERS.column("x")),), None)
    for c in (-1, -2):
        apart = Total(Absolute(Offset(counts, Fraction(c))))
        found = check_value(apart, LETTERS.pairs(3), LETTERS.source)
        if c == -1:
            assert found["linf"] == apart.joint.linf == 2
    check_value(Absolute(Offset(counts, Fraction(-1))), LETTERS.pairs(3), LETTERS.source)


def test_a_single_number_has_no_elements():
    """Refused when the plan is made: an engine would fail, after the charge."""
    number = Tally(SQUARE.source, (), None)
    for make in (lambda: Total(number), lambda: Element(number, 0), lambda: ColumnStack((number, number), ("a", "b"))):
        with pytest.raises(PlanError, match="no elements"):
            make()


def test_an_element_is_as_long_as_the_elements_of_its_vector():
    counts = Tally(SQUARE.source, (SQUARE.column("x"),), None)
    assert Element(counts, 0).number_bits([(counts, 7)]) == 7


def test_sums_on_a_finer_grid_are_longer():
    counts = Tally(SQUARE.source, (SQUARE.column("x"),), None)
    fine = Scale(counts, Fraction(1, 8))
    both = Add(counts, fine)
    assert both.number_bits([(counts, 7), (fine, 7)]) >= 1 + 7 + 3
