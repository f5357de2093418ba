"""clip."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError
from privjail.ops.columns.clip import Clip
from privjail.ops.numbers.tally import Tally
from privjail.plan.domain import FloatDomain, IntDomain
from privjail.plan.node import Lit

from ..tables import World
from .checking import check_row_wise, check_value, covers, given, growing, table
from .worlds import FLOATS, LETTERS, SIGNED, WHOLE, columns


def clipped(world, low, high):
    return Clip(world.column("x"), Lit.of(low), Lit.of(high))


@covers("property", "clip")
@given(columns("number"), st.sampled_from((None, *WHOLE)), st.sampled_from((None, *WHOLE)), examples=80)
def test_values_stay_in_the_claimed_range(drawn, low, high):
    world, pair = drawn
    if low is not None and high is not None and low > high:
        low, high = high, low
    expr = clipped(world, low, high)

    check_row_wise(expr, [pair])
    assert low is None or expr.domain.lower >= type(expr.domain.lower)(low)
    assert high is None or expr.domain.upper <= type(expr.domain.upper)(high)


@covers("witness", "clip")
def test_the_bounds_are_reached():
    world = World((("x", FloatDomain(True)),), ())
    expr = clipped(world, -2, 3)

    assert (expr.domain.lower, expr.domain.upper) == (-2.0, 3.0)
    found = check_row_wise(expr, growing([(-1e300,), (1e300,), (None,)]))
    assert found == {-2.0, 3.0, None}


@covers("small world", "clip")
def test_clips_in_the_small_world():
    for low, high in ((-1, 1), (None, 0), (0, None), (7, 9), (None, None)):
        check_row_wise(clipped(SIGNED, low, high), SIGNED.pairs(3))
        check_row_wise(clipped(FLOATS, low, high), FLOATS.pairs(3))
    check_row_wise(clipped(SIGNED, -1, 1), SIGNED.pairs())


def test_an_outlier_counts_as_much_as_the_bound():
    """V-15: the sum is one of the clipped column, not of the column before."""
    world = World((("x", FloatDomain(True)),), ())
    total = Tally(world.source, (), clipped(world, 0, 10))
    data = ((5.0,), (3.0,))

    found = check_value(total, [(data, (*data, (1e300,))), (data, (*data, (-1e300,)))], world.source)
    assert found["l1"] == total.distance.value == 10


def test_bounds_are_finite_ordered_and_of_the_type_of_the_column():
    for low, high in ((2, 1), (float("nan"), 1), (0, float("inf")), (0.5, 1)):
        with pytest.raises(PlanError):
            clipped(SIGNED, low, high)
    with pytest.raises(PlanError):
        clipped(LETTERS, 0, 1)
    assert isinstance(clipped(SIGNED, 0, 1).domain, IntDomain)
    assert table(SIGNED.source, (clipped(SIGNED, 0, 1),), ((-7,), (None,), (5,))) == ((0,), (None,), (1,))


def test_bounds_are_floats_for_floats_and_fit_into_64_bits_for_whole_numbers():
    real, whole = (World((("x", kind(False)),), ()) for kind in (FloatDomain, IntDomain))

    assert clipped(real, 0.5, 2.5).domain == FloatDomain(False, 0.5, 2.5)
    assert clipped(whole, -(2**63), 2**63 - 1).domain == IntDomain(False, -(2**63), 2**63 - 1)
    for low, high in ((0, 2**63), (-(2**63) - 1, 0)):
        with pytest.raises(PlanError, match="64 bits"):
            clipped(whole, low, high)
