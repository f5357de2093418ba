"""Amounts that a jail charges: exact while they stay short, and then rounded up."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privjail.jail.charging import EXACT_BITS, FINE, Denominators

LONG = 2**EXACT_BITS  # alone one bit too many


@pytest.mark.parametrize(
    "cost, charged",
    [
        (Fraction(1, LONG), Fraction(1, FINE)),  # never nothing
        (Fraction(1, FINE) + Fraction(1, LONG), Fraction(2, FINE)),
        (1 + Fraction(1, LONG), 1 + Fraction(1, FINE)),
        (3 - Fraction(1, LONG), Fraction(3)),
        (Fraction(5, FINE) - Fraction(1, LONG), Fraction(5, FINE)),
    ],
)
def test_a_cost_that_is_too_long_to_write_is_rounded_up(cost: Fraction, charged: Fraction) -> None:
    """V-39: half a step rounded down, a million times, is privacy that nobody paid for."""
    assert Denominators().rounded("ann", "d", cost) == charged >= cost


def test_costs_stay_exact_for_as_many_bits_as_are_said() -> None:
    denominators = Denominators()
    shortest, longest = Fraction(1, 3), Fraction(1, 2 ** (EXACT_BITS - 3))  # lcm 3 · 2**1021: 1023 bits
    assert denominators.rounded("ann", "d", shortest) == shortest
    assert denominators.rounded("ann", "d", longest) == longest
    assert denominators.rounded("ann", "d", Fraction(1, 5)) > Fraction(1, 5)  # 5 · 3 · 2**1021 has 1025
    assert denominators.rounded("ann", "d", shortest) == shortest  # divides what is there
    exactly = Denominators()
    assert exactly.rounded("ann", "d", Fraction(1, LONG // 2)) == Fraction(1, LONG // 2)  # 1024 bits are allowed


def test_denominators_are_counted_for_each_user_and_data_set() -> None:
    denominators = Denominators()
    denominators.rounded("ann", "d", Fraction(1, LONG // 2))
    third = Fraction(1, 3)
    assert denominators.rounded("ann", "d", third) > third
    assert denominators.rounded("bob", "d", third) == denominators.rounded("ann", "e", third) == third
    # What was rounded does not count: its denominator was not kept.
    assert denominators.rounded("ann", "d", Fraction(1, 4)) == Fraction(1, 4)
