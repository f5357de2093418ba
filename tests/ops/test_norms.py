"""Weighted sums of columns, scaling rows to a norm, and rounding toward zero."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.norms import MOST_COLUMNS, Dot, RowScale, Truncate
from privjail.ops.numbers.tally import Tally, sum_grid
from privjail.plan.domain import FloatDomain, IntDomain
from privjail.plan.node import Lit

from ..tables import World
from .checking import check_row_wise, covers, given, growing, numbers, table
from .worlds import FLOATS, LETTERS, PAIRS, REAL, columns

WEIGHTS = (0.0, 1.0, -1.0, 0.1, -2.5, 1e-300, 1e300, 2.0**60)
BOUNDS = (1.0, 0.1, 3.0, 2.0**-90, 2.0**90, 1e-5)
ORDERS = ("1", "2", "inf")
PLANE = World(
    (("x", FloatDomain(True, -3.0, 4.0)), ("y", FloatDomain(True, -1.0, 3.0))),
    tuple((x, y) for x in (None, -3.0, 4.0) for y in (None, 0.0, 3.0)),
)


def dot(world: World, weights) -> Dot:
    names = [name for name, _ in world.columns]
    return Dot(tuple(map(world.column, names)), tuple(Lit.of(float(w)) for w in weights))


def scale(world: World, bound: float, order: str) -> RowScale:
    return RowScale(tuple(world.column(name) for name, _ in world.columns), Lit.of(bound), order)


def norm(values, order: str) -> float | Fraction:
    """The p-th power for p = 2, exactly; else the norm."""
    sizes = [abs(Fraction(v)) for v in values]
    return {"1": sum(sizes), "2": sum(v * v for v in sizes), "inf": max(sizes)}[order]


@covers("property", "dot")
@given(columns("number", "number", "number"), st.lists(st.sampled_from(WEIGHTS), min_size=3, max_size=3), examples=80)
def test_weighted_sums_stay_in_the_claimed_range(drawn, weights):
    """V-7, V-8, V-16: overflow is null; rounding stays inside the claim."""
    world, pair = drawn
    check_row_wise(dot(world, weights), [pair])


@covers("witness", "dot")
def test_a_weighted_sum_reaches_both_ends():
    expr = dot(PLANE, (2, -1))
    found = check_row_wise(expr, growing([(-3.0, 3.0), (4.0, -1.0), (None, 1.0)]))

    assert (expr.domain.lower, expr.domain.upper) == (-9.0, 9.0) and found == {-9.0, 9.0, None}


@covers("small world", "dot")
def test_weighted_sums_in_the_small_world():
    for weights in ((1, 1), (0.1, -3), (0, 0)):
        check_row_wise(dot(PLANE, weights), PLANE.pairs(2))
        check_row_wise(dot(PAIRS, weights), PAIRS.pairs(2))


@covers("property", "row_scale")
@given(columns("number", "number", "number"), st.sampled_from(BOUNDS), st.sampled_from(ORDERS), examples=120)
def test_scaled_rows_have_the_norm(drawn, bound, order):
    """V-15, V-8: exactly, not up to rounding; whatever the numbers, of any size."""
    world, pair = drawn
    s = scale(world, bound, order)
    check_row_wise(s, [pair])
    most = Fraction(bound) ** (2 if order == "2" else 1)
    wide = [Arithmetic("*", each, s) for each in s.columns]
    for row in table(world.source, tuple(wide), pair[1]):
        assert None in row or norm(row, order) <= most


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40), st.floats(1e-3, 1e3), st.sampled_from(ORDERS), examples=100
)
def test_rows_at_the_bound_do_not_exceed_it_by_a_rounding(values, bound, order):
    world = World(tuple((f"x{i}", FloatDomain(False, -1e6, 1e6)) for i in range(len(values))), ())
    s = scale(world, bound, order)
    wide = tuple(Arithmetic("*", each, s) for each in s.columns)
    [row] = table(world.source, wide, (tuple(values),))

    assert norm(row, order) <= Fraction(bound) ** (2 if order == "2" else 1)


def check_scaled_to_the_bound(values, bound):
    world = World(tuple((f"x{i}", FloatDomain(False, -9.0, 9.0)) for i in range(len(values))), ())
    s = scale(world, bound, "2")
    [row] = table(world.source, tuple(Arithmetic("*", each, s) for each in s.columns), (values,))
    assert norm(row, "2") <= Fraction(bound) ** 2


@covers("witness", "row_scale")
def test_short_rows_stay_and_long_ones_reach_the_bound():
    for order, length in (("1", 7.0), ("2", 5.0), ("inf", 4.0)):
        s = scale(PLANE, 1.0, order)
        found = table(PLANE.source, (s,), ((4.0, 3.0), (0.1, 0.1), (0.0, 0.0), (None, 1.0)))
        check_row_wise(s, [((), ((4.0, 3.0),))])
        assert found[0][0] == pytest.approx(1 / length, rel=1e-11) and found[1:] == ((1.0,), (1.0,), (None,))
        assert (s.domain.lower, s.domain.upper) == (0.0, 1.0)


@covers("small world", "row_scale")
def test_scales_in_the_small_world():
    for order in ORDERS:
        check_row_wise(scale(PLANE, 2.0, order), PLANE.pairs(2))


@covers("property", "truncate")
@given(st.sampled_from(REAL), st.sampled_from(REAL), st.sampled_from(REAL), examples=150)
def test_truncation_only_shrinks_and_lands_on_the_grid_of_sums(a, b, x):
    """V-8: so that a norm bound survives it, and a sum adds the very numbers that it gave."""
    domain = FloatDomain(False, min(a, b), max(a, b))
    if not domain.lower <= x <= domain.upper:
        return
    world = World((("x", domain),), ())
    cut = Truncate(world.column("x"))
    check_row_wise(cut, growing([(x,), (a,)]))
    [(found,)] = table(world.source, (cut,), ((x,),))
    grid = sum_grid(domain)

    assert abs(found) <= abs(x) and abs(Fraction(x) - Fraction(found)) < grid and found * x >= 0
    assert (Fraction(found) / sum_grid(cut.domain)).denominator == 1
    assert cut.domain.lower <= found <= cut.domain.upper
    assert numbers(Tally(world.source, (), cut), ((x,),), world.source) == [Fraction(found)]


@covers("witness", "truncate")
def test_truncation_moves_by_almost_a_step():
    world = World((("x", FloatDomain(True, -1.0, 1.0)),), ())
    cut = Truncate(world.column("x"))
    step = 2.0**-29
    rows = ((1.0,), (-1.0,), (1.9 * step,), (-1.9 * step,), (0.9 * step,), (-0.0,), (None,))
    check_row_wise(cut, growing(rows))

    assert cut.grid == step and (cut.domain.lower, cut.domain.upper) == (-1.0, 1.0)
    found = [x for (x,) in table(world.source, (cut,), rows)]
    assert found == [1.0, -1.0, step, -step, 0.0, 0.0, None] and math.copysign(1, found[5]) == 1


@covers("small world", "truncate")
def test_truncation_in_the_small_world():
    check_row_wise(Truncate(FLOATS.column("x")), FLOATS.pairs(3))


def test_what_makes_no_sense_is_refused():
    x = PLANE.column("x")
    letter = LETTERS.column("x")
    free = World((("x", FloatDomain(True)), ("i", IntDomain(True, 0, 1))), ())
    for make in (
        lambda: Dot((), ()),
        lambda: Dot((x,), ()),
        lambda: Dot((x,), (Lit.of(math.inf),)),
        lambda: Dot((x,), (Lit.of(1),)),
        lambda: Dot((letter,), (Lit.of(1.0),)),
        lambda: RowScale((), Lit.of(1.0), "2"),
        lambda: RowScale((x,) * (MOST_COLUMNS + 1), Lit.of(1.0), "2"),
        lambda: RowScale((x,), Lit.of(0.0), "2"),
        lambda: RowScale((x,), Lit.of(math.nan), "2"),
        lambda: RowScale((x,), Lit.of(1), "2"),
        lambda: RowScale((x,), Lit.of(1.0), "3"),
        lambda: RowScale((letter,), Lit.of(1.0), "2"),
        lambda: Truncate(letter),
        lambda: Truncate(free.column("x")),
        lambda: Truncate(free.column("i")),
    ):
        with pytest.raises(PlanError):
            make()
