"""Sums of vectors: the joint distance follows from the norm of a row."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest
from hypothesis import strategies as st

from privjail.errors import DPError, RowsError
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.norms import RowScale, Truncate
from privjail.ops.numbers.combine import Add, Element, Scale, Total
from privjail.ops.numbers.tally import Tally
from privjail.ops.numbers.vector_sum import MOST_ELEMENTS, VectorSum, row_norms
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.slice import Slice
from privjail.plan.distance import sqrt_up
from privjail.plan.domain import CategoryDomain, FloatDomain, IntDomain
from privjail.plan.node import Lit

from ..tables import World
from .checking import carried, check_value, covers, given, numbers
from .worlds import LETTERS, NUMBERS, SQUARE, TWO_EACH, columns

PLANE = World(
    (("x", FloatDomain(True, -3.0, 4.0)), ("y", FloatDomain(True, -4.0, 3.0)), ("c", CategoryDomain(True, ("a", "b")))),
    tuple((x, y, "a" if x == 4.0 else "b") for x in (None, -3.0, 4.0) for y in (0.0, -4.0, 3.0)),
)
X, Y, C = (PLANE.column(name) for name in "xyc")


def clipped(inner, bound: float, order: str = "2"):
    """What clip_norm builds."""
    scale = RowScale(tuple(inner), Lit.of(bound), order)
    return [Truncate(Clip(Arithmetic("*", x, scale), Lit.of(-bound), Lit.of(bound))) for x in inner]


def one_hot(column, labels):
    return [Compare("==", column, Lit.of(label)) for label in labels]


def outer(left, right):
    return [Truncate(Arithmetic("*", u, v)) for u, v in product(left, right)]


def vectors(world: World, bound: float, order: str):
    """Vector sums of every kind of block, and of several blocks."""
    x, y = (world.column(name) for name, _ in world.columns[:2])
    short = clipped([x, y], bound, order)
    made = [
        (x, y),
        short,
        [*short, x],
        [short[0]],
        [short[0], short[0]],
        outer(short, short),
        [Truncate(Arithmetic("*", u, v)) for u, v in combinations_with_replacement(short, 2)],
        [*outer(short, short), *short],
    ]
    return [VectorSum(world.source, tuple(each)) for each in made]


@covers("property", "vector_sum")
@given(
    columns("number", "number"), st.sampled_from((1.0, 0.3, 1e-9, 1e9)), st.sampled_from(("1", "2", "inf")), examples=80
)
def test_vectors_of_any_numbers_move_no_further_than_claimed(drawn, bound, order):
    """V-8, V-11, V-15: in L1, L2 and L∞, exactly."""
    world, pair = drawn
    if not all(world.column(name).domain.bounded for name in "xy"):
        with pytest.raises(DPError, match="unbounded"):
            VectorSum(world.source, (world.column("x"), world.column("y")))
        return
    for value in vectors(world, bound, order):
        check_value(value, [pair], world.source)


@given(st.lists(st.tuples(*[st.floats(-8, 8)] * 12), min_size=1, max_size=3), st.floats(0.1, 20), examples=60)
def test_long_rows_move_no_further_than_their_norm(rows, bound):
    """Many elements, each rounded: rounding to the nearest step would exceed the bound."""
    world = World(tuple((f"x{i}", FloatDomain(False, -8.0, 8.0)) for i in range(12)), ())
    inner = [world.column(name) for name, _ in world.columns]
    for order in ("1", "2", "inf"):
        value = VectorSum(world.source, tuple(clipped(inner, bound, order)))
        check_value(value, [(tuple(rows[1:]), tuple(rows))], world.source)


@covers("property", "vector_sum")
@given(SQUARE.neighbours(5), st.sampled_from((None, 2)))
def test_one_hot_rows_and_slices_move_no_further_than_claimed(pair, n):
    rows = SQUARE.source if n is None else Slice(SQUARE.source, None, n)
    x, y = SQUARE.column("x"), SQUARE.column("y")
    hot = one_hot(x, "ab")
    block = clipped([y, Cast(hot[0], "Int64")], 1.0)
    for made in (hot, [y, *hot], block, [*block, y], [Arithmetic("*", y, Cast(h, "Int64")) for h in hot]):
        check_value(VectorSum(rows, tuple(carried(rows, each) for each in made)), [pair], SQUARE.source)
    check_value(VectorSum(Filter(SQUARE.source, Compare("==", x, Lit.of("a"))), tuple(block)), [pair], SQUARE.source)


@covers("property", "vector_sum")
@given(TWO_EACH.neighbours(), st.sampled_from((1.0, 0.5)))
def test_vectors_of_users_rows_move_no_further_than_claimed(pair, bound):
    x = TWO_EACH.column("x")
    value = VectorSum(TWO_EACH.source, tuple(clipped([x, x], bound)))
    check_value(value, [pair], TWO_EACH.source)
    assert value.joint.l2 == 2 * Fraction(bound)


@covers("witness", "vector_sum")
def test_the_claims_are_reached():
    far = ((4.0, 3.0, "a"),)
    plain = VectorSum(PLANE.source, (X, Y))
    found = check_value(plain, [((), ((4.0, -4.0, "a"),))], PLANE.source)
    assert (found["l1"], found["l2"], found["linf"]) == (8, 32, 4)
    assert (plain.joint.l1, plain.joint.linf) == (8, 4) and plain.joint.l2 == sqrt_up(32)

    for order, length in (("1", 7), ("2", 5), ("inf", 4)):
        short = VectorSum(PLANE.source, tuple(clipped([X, Y], 1.0, order)))
        found = check_value(short, [((), far)], PLANE.source)
        assert {"1": found["l1"], "2": found["l2"], "inf": found["linf"]}[order] == pytest.approx(1, abs=1e-8), length
    assert short.joint.linf == 1 and short.joint.l1 == 2

    both = clipped([X, Y], 2.0)
    gram = VectorSum(PLANE.source, tuple(outer(both, both)))
    found = check_value(gram, [((), far)], PLANE.source)
    assert found["l2"] == pytest.approx(16, rel=1e-7) and 4 <= gram.joint.l2 < 4 * (1 + Fraction(1, 2**50))

    hot = VectorSum(PLANE.source, tuple(one_hot(C, "ab")))
    found = check_value(hot, [((), far)], PLANE.source)
    assert found["l1"] == hot.joint.l1 == hot.joint.l2 == hot.joint.linf == 1


@covers("small world", "vector_sum")
def test_vector_sums_in_the_small_world():
    for value in vectors(PLANE, 2.0, "2"):
        check_value(value, PLANE.pairs(2), PLANE.source)
    short = clipped([X, Y], 2.0)
    for made in (
        [*short, *one_hot(C, "ab")],
        outer(short, [Cast(h, "Int64") for h in one_hot(C, "ab")]),
        outer(short, [Cast(h, "Float64") for h in one_hot(C, "aa")]),
        [*one_hot(C, "aa"), *one_hot(C, "bb")],
        [Truncate(Arithmetic("*", X, Y)), Truncate(Arithmetic("*", X, X))],
    ):
        check_value(VectorSum(PLANE.source, tuple(made)), PLANE.pairs(2), PLANE.source)
    check_value(VectorSum(NUMBERS.source, (NUMBERS.column("x"),) * 2), NUMBERS.pairs(), NUMBERS.source)


def test_a_bound_is_not_claimed_for_columns_that_do_not_have_it():
    """V-15: each of these differs from a clipped row in one step."""
    scale = RowScale((X, Y), Lit.of(1.0), "2")
    x, y = (Arithmetic("*", each, scale) for each in (X, Y))
    one = Lit.of(1.0)

    def l2(*made):
        return row_norms(made).l2_squared

    assert l2(Truncate(x), Truncate(y)) == 1
    assert l2(x, y) > 1  # sums would round them to the nearest step
    assert l2(Truncate(x), Truncate(x)) > 1  # twice the same column, which the row has once
    other = RowScale((X, X), Lit.of(1.0), "2")
    assert l2(*[Truncate(Arithmetic("*", each, other)) for each in (X, Y)]) > 1  # y is not in that row
    assert l2(*[Truncate(Clip(each, Lit.of(0.5), Lit.of(9.0))) for each in (x, y)]) > 1  # clip raised them
    assert l2(*[Truncate(Arithmetic("+", each, Constant(one))) for each in (x, y)]) > 1
    hot = [Cast(h, "Int64") for h in one_hot(C, "ab")]
    assert l2(*hot) == 1 and l2(*hot, *hot) > 1
    assert l2(*one_hot(C, "a"), *one_hot(LETTERS.column("x"), "b")) == 2
    assert l2(*[Cast(h, "Int64") for h in one_hot(IntDomainWorld.column("i"), (1, 1.0))]) == 2


IntDomainWorld = World((("i", IntDomain(False, 0, 3)),), ())


def test_arithmetic_on_vector_sums_keeps_the_norm():
    short = VectorSum(PLANE.source, tuple(clipped([X, Y], 1.0)))
    pair = ((), ((4.0, 3.0, "a"),))

    assert Scale(short, Fraction(-3)).joint.l2 == 3
    for value in (Scale(short, Fraction(1, 2)), Add(short, short), Element(short, 1), Total(short)):
        check_value(value, [pair], PLANE.source)


def test_what_makes_no_sense_is_refused():
    for made in ((), (X,) * (MOST_ELEMENTS + 1), (C,), (LETTERS.column("x"),)):
        with pytest.raises(DPError):
            VectorSum(PLANE.source, made)
    with pytest.raises(RowsError):
        VectorSum(NUMBERS.source, (X,))
    assert numbers(VectorSum(PLANE.source, (X, Y)), ((None, 1.0, "a"), (2.0, 1.5, "b")), PLANE.source) == [2, 2.5]


def test_the_head_of_a_table_of_users_moves_by_a_constant_whatever_part_of_it_is_asked_about():
    """So its sums are charged to all rows that it was taken from, as that of one column is."""
    x, head = TWO_EACH.column("x"), Slice(TWO_EACH.source, None, 1)
    for rows, column, constant in ((TWO_EACH.source, x, False), (head, carried(head, x), True)):
        sums, one = VectorSum(rows, (column, column)), Tally(rows, (), column)
        assert sums.has_constant_bound is one.has_constant_bound is constant
