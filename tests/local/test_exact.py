"""Logarithms are never too small, ratios never too large."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction as F

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privjail.errors import PlanError
from privjail.local.channels.exact import fraction, log_up, ratio_below

ratios = st.fractions(min_value=1, max_value=10**9, max_denominator=10**9)


@given(ratios)
def test_a_logarithm_is_rounded_up_and_by_no_more_than_a_unit(ratio):
    with localcontext() as ctx:
        ctx.prec = 60
        true = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
    got = log_up(ratio)

    assert Decimal(got) >= true - Decimal("1e-55")
    assert Decimal(math.nextafter(got, 0)) <= true + Decimal("1e-40")


@given(st.floats(1e-3, 39))
def test_a_ratio_stays_below_e_to_the_epsilon(eps):
    ratio = ratio_below(eps)
    with localcontext() as ctx:
        ctx.prec = 60
        power = Decimal(str(eps)).exp()
        below = Decimal(ratio.numerator) / Decimal(ratio.denominator)
    assert below < power <= below + Decimal(2) ** -31 + power * Decimal(10) ** -40


def test_no_finite_ratio_is_infinite():
    assert log_up(None) == math.inf


def test_decimals_mean_what_they_say():
    assert fraction(0.1, "x") == F(1, 10) == fraction("1/10", "x") == fraction("0.1", "x")


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "", "1/0", "a", None])
def test_what_is_no_number_is_refused(bad):
    with pytest.raises(PlanError):
        fraction(bad, "a share")
