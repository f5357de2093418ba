"""Scores of candidates for quantiles, minima and maxima."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError, RowsError
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.compare import Compare
from privjail.ops.rows.filter import Filter
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.rows.slice import Slice
from privjail.plan.domain import FloatDomain, IntDomain
from privjail.plan.node import Lit

from ..tables import World
from .checking import carried, check_value, covers, given, numbers
from .worlds import FLOATS, LETTERS, NUMBERS, REAL, SIGNED, TWO_EACH, WHOLE, columns

weights = st.fractions(0, 1, max_denominator=7)
points = st.lists(st.sampled_from((*WHOLE, *REAL)), min_size=1, max_size=4).map(
    lambda drawn: [p for p, q in zip(sorted(drawn), sorted(drawn)[1:] + [float("inf")], strict=True) if p < q]
)


def ranks(rows, expr, candidates, below=Fraction(1), above=Fraction(1), target=Fraction(0)):
    return QuantileScores(rows, expr, tuple(map(Lit.of, candidates)), below, above, target)


@covers("property", "quantile_scores")
@given(columns("number"), points, weights, weights, st.fractions(-3, 3, max_denominator=5), examples=80)
def test_scores_are_exact_and_move_no_further_than_claimed(drawn, candidates, below, above, target):
    """V-8, V-24: whole numbers and candidates that are no floats, or no 64-bit numbers, compare as numbers do."""
    world, pair = drawn
    value = ranks(world.source, world.column("x"), candidates, below, above, target)
    check_value(value, [pair], world.source)

    held = [x for (x,) in pair[1] if x is not None]
    expected = [rank_score(held, c, below, above, target) for c in candidates]
    assert numbers(value, pair[1], world.source) == expected


@covers("property", "quantile_scores")
@given(TWO_EACH.neighbours(), st.integers(1, 3))
def test_scores_after_a_head_and_of_users(pair, n):
    for rows in (TWO_EACH.source, Slice(TWO_EACH.source, None, n)):
        value = ranks(rows, carried(rows, TWO_EACH.column("x")), (0, 0.5, 1), Fraction(1, 4), Fraction(3, 4))
        check_value(value, [pair], TWO_EACH.source)


@covers("witness", "quantile_scores")
def test_the_claims_are_reached_by_all_scores_at_once():
    value = ranks(SIGNED.source, SIGNED.column("x"), (-3, 0, 3))
    found = check_value(value, [((), ((5,),))], SIGNED.source)

    assert found["linf"] == value.joint.linf == 1
    assert found["l1"] == value.joint.l1 == 3
    assert found["l2"] == 3 <= value.joint.l2**2 <= 3 + Fraction(1, 2**60)
    uneven = ranks(SIGNED.source, SIGNED.column("x"), (0,), Fraction(1, 4), Fraction(3, 4))
    assert check_value(uneven, [((), ((5,),))], SIGNED.source)["l1"] == uneven.distance.value == Fraction(3, 4)


@covers("small world", "quantile_scores")
def test_ranks_in_the_small_world():
    for world in (SIGNED, FLOATS):
        value = ranks(
            world.source, world.column("x"), (-7, -1.5, 0, 0.5, 5), Fraction(1, 2), Fraction(1, 3), Fraction(1)
        )
        check_value(value, world.pairs(), world.source)


def test_a_constant_column_has_as_many_values_as_rows():
    """V-24: also where rows were filtered."""
    x = NUMBERS.column("x")
    data = ((1,), (0,), (1,))
    for rows, n in ((NUMBERS.source, 3), (Filter(NUMBERS.source, Compare("==", x, Lit.of(1))), 2)):
        value = ranks(rows, Constant(Lit.of(5)), (4, 5, 6))
        assert numbers(value, data, NUMBERS.source) == [-n, 0, -n]
        assert numbers(value, (), NUMBERS.source) == [0, 0, 0]


def test_candidates_are_finite_rising_numbers():
    x = NUMBERS.column("x")
    for candidates in ((), (1, 1), (2, 1), (float("nan"),), (0, float("inf")), ("a",)):
        with pytest.raises(PlanError):
            ranks(NUMBERS.source, x, candidates)
    with pytest.raises(PlanError):
        ranks(NUMBERS.source, x, (0,), Fraction(2))
    with pytest.raises(PlanError):
        ranks(LETTERS.source, LETTERS.column("x"), (0,))
    with pytest.raises(RowsError):
        ranks(LETTERS.source, x, (0,))


@pytest.mark.parametrize("candidate", [2**70, -(2**70), 1e300])
def test_a_candidate_beyond_64_bits_depends_on_no_data(candidate):
    """V-24: with and without rows the same."""
    for domain in (IntDomain(True), FloatDomain(True)):
        world = World((("x", domain),), ())
        value = ranks(world.source, world.column("x"), (candidate,))
        one = 1 if isinstance(domain, IntDomain) else 1.0
        assert numbers(value, (), world.source) == [0]
        assert numbers(value, ((one,),), world.source) == [-1]


def test_between_two_common_values_nothing_is_as_good_as_the_median():
    world = World((("x", IntDomain(True, 0, 100)),), ())
    data = ((10,),) * 35 + ((20,),) * 60 + ((30,),) * 5
    half = Fraction(1, 2)
    scores = numbers(ranks(world.source, world.column("x"), tuple(range(101)), half, half), data, world.source)

    assert [c for c, score in enumerate(scores) if score == max(scores)] == [20]


def rank_score(held: list[Any], c: Any, below: Fraction, above: Fraction, target: Fraction) -> Fraction:
    """The least distance to the target over all ways to count rows equal to c below or above it."""
    equal = sum(x == c for x in held)
    lowest = below * sum(x < c for x in held) - above * (sum(x > c for x in held) + equal)
    highest = below * (sum(x < c for x in held) + equal) - above * sum(x > c for x in held)
    return -max(Fraction(0), lowest - target, target - highest)


def test_as_many_candidates_as_the_error_says() -> None:
    world = World((("x", IntDomain(True, 0, 10)),), ())
    assert ranks(world.source, world.column("x"), range(20_000)).joint.size == 20_000
    with pytest.raises(PlanError, match="between 1 and 20000"):
        ranks(world.source, world.column("x"), range(20_001))
