"""Rational numbers in, and logarithms out that are never too small.

Channels are built from fractions, so that their laws and strengths are exact. Only the last step,
the logarithm that people call ε, is rounded, and it is rounded up.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

from privjail.errors import BudgetError, PlanError

Rational = Fraction | int | float | str
GRID = 2**32  # denominators of ratios derived from a wanted ε
_DIGITS = 50


def fraction(value: Rational, what: str) -> Fraction:
    """The rational number a person means: ``0.1``, ``"0.1"`` and ``"1/10"`` are all one tenth."""
    try:
        # str() of a float is its shortest decimal, so 0.1 is read as typed, not as 0.1000000000000000055…
        return Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, TypeError, ZeroDivisionError):
        raise PlanError(f"{what} must be a finite number", do='write it as "3/5" or 0.6') from None


def probability(value: Rational, what: str) -> Fraction:
    """A fraction between 0 and 1."""
    number = fraction(value, what)
    if not 0 <= number <= 1:
        raise PlanError(f"{what} must lie between 0 and 1, got {number}", do='write it as "3/5" or 0.6')
    return number


def ratio_below(epsilon: Rational) -> Fraction:
    """A fraction just below e^ε, so that a channel built from it is never weaker than asked."""
    eps = fraction(epsilon, "ε")
    if not 0 < eps <= 40:
        raise BudgetError(f"ε must be above 0 and at most 40, got {float(eps)}", do="1 is common")
    with localcontext() as ctx:
        ctx.prec = _DIGITS
        ctx.rounding = ROUND_FLOOR
        power = (Decimal(eps.numerator) / Decimal(eps.denominator)).exp()
        # exp() is correctly rounded to 50 digits; one unit in the 48th covers both roundings.
        power *= 1 - Decimal(10) ** -48
        return Fraction(int(power * GRID), GRID)


def log_up(ratio: Fraction | None) -> float:
    """log(ratio) as a float that is never below the true value; None stands for no finite ratio."""
    if ratio is None:
        return math.inf
    if ratio <= 1:
        return 0.0
    with localcontext() as ctx:
        ctx.prec = _DIGITS
        ctx.rounding = ROUND_CEILING
        log = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        log *= 1 + Decimal(10) ** -45
    nearest = float(log)
    return nearest if Decimal(nearest) >= log else math.nextafter(nearest, math.inf)
