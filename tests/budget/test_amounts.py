"""Exact amounts: what a float means, and which amounts are refused."""

from __future__ import annotations

import math
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import privjail as pj
from privjail.budget.amounts import LARGEST, SMALLEST, amount, exact, float_up, probability, simplest
from privjail.errors import BudgetError


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(5e-324)
@example(sys.float_info.max)
@example(sys.float_info.min)
@example(-0.1)
def test_the_simplest_fraction_rounds_to_the_float(x: float) -> None:
    assert float(simplest(x)) == x


@given(st.integers(1, 3000), st.integers(1, 3000))
def test_a_fraction_that_was_typed_as_a_float_comes_back(top: int, bottom: int) -> None:
    assert simplest(top / bottom) == Fraction(top, bottom)


@given(st.floats(min_value=1e-3, max_value=1e3))
def test_no_fraction_with_a_smaller_denominator_rounds_to_it(x: float) -> None:
    found = simplest(x)
    for bottom in range(1, min(found.denominator, 300)):
        near = Fraction(round(x * bottom), bottom)
        assert float(near) != x


def test_parts_of_a_budget_add_up() -> None:
    assert sum(amount(0.1) for _ in range(10)) == 1
    assert sum(amount(1 / 12) for _ in range(12)) == 1
    assert sum(amount(2 / 7) for _ in range(7)) == 2
    assert amount(Decimal("0.1")) == amount(np.float64(0.1)) == amount(Fraction(1, 10)) == Fraction(1, 10)
    assert amount(np.int64(3)) == amount(3) == 3


class Sly(float):
    """A float that pretends to be positive when it is compared."""

    def __gt__(self, other: object) -> bool:
        return True

    def __le__(self, other: object) -> bool:
        return False


REFUSED: list[Any] = [
    math.nan, math.inf, -math.inf, 0, 0.0, -0.0, -1, -1e-9, 5e-324, sys.float_info.min, 1e-10, 1e7, 10**5000,
    True, False, np.True_, np.bool_(True), "0.1", b"1", None, [], [0.1], {}, 1j, object(), np.array([0.1]),
    np.nan, np.inf, np.float32("nan"), Decimal("NaN"), Decimal("Infinity"), Decimal("-1"), Decimal("1e-999999999"),
    Decimal("1e999999999"), Decimal(0), Fraction(0), Fraction(-1, 3), Fraction(1, 10**400), np.datetime64("2020-01-01"),
    np.timedelta64(1, "s"), Sly("nan"), Sly(-1.0), Sly(0.0),
]  # fmt: skip


@pytest.mark.parametrize("x", REFUSED, ids=lambda x: type(x).__name__)
def test_no_such_amount_is_a_budget_v39(x: Any) -> None:
    """V-39."""
    with pytest.raises(BudgetError):
        amount(x)


@given(st.floats() | st.integers() | st.decimals() | st.booleans() | st.text() | st.none())
def test_an_amount_is_refused_or_positive_finite_and_exact_v39(x: Any) -> None:
    """V-39."""
    try:
        value = amount(x)
    except BudgetError:
        return
    assert type(value) is Fraction and SMALLEST <= value <= LARGEST
    assert not isinstance(x, (bool, str)) and float(value) == float(x)


@pytest.mark.parametrize("x", [0, 1, -0.5, math.nan, math.inf, True, "1e-6", 5e-324, 1e-200, 2, None, np.True_])
def test_no_such_delta_v39(x: Any) -> None:
    """V-39."""
    with pytest.raises(BudgetError):
        probability(x)


@pytest.mark.parametrize("x", [math.nan, math.inf, -1, 0, 5e-324, True, "1"])
def test_every_budget_refuses_them_too_v39(x: Any) -> None:
    """V-39."""
    makers: list[Any] = [
        pj.PureDP, pj.ZCDP, lambda v: pj.ApproxDP(v, 1e-6), lambda v: pj.ApproxDP(1, v), lambda v: pj.RenyiDP(v, 1e-6),
        lambda v: pj.RenyiDP(1, v),
    ]  # fmt: skip
    for make in makers:
        with pytest.raises(BudgetError):
            make(x)
    with pytest.raises(BudgetError), pj.budget(x):
        pass


@given(st.fractions(min_value=0, max_value=Fraction(10) ** 300))
@example(Fraction(1, 10))
@example(Fraction(1, 3) / 2**1074)
@example(Fraction(2**53 + 1))
def test_floats_are_rounded_up_to_the_next(x: Fraction) -> None:
    up = float_up(x)
    assert Fraction(up) >= x
    assert up == 0 or Fraction(math.nextafter(up, -math.inf)) < x


def test_public_numbers_may_be_zero_or_negative_but_finite() -> None:
    assert exact(-0.3) == Fraction(-3, 10) and exact(0) == 0
    with pytest.raises(BudgetError):
        exact(math.nan)


@pytest.mark.parametrize("delta", [Fraction(1, 10**9), Fraction(1, 2), Fraction(999, 1000)])
def test_a_delta_between_0_and_1_is_taken_as_it_is(delta: Fraction) -> None:
    assert probability(delta) == delta
