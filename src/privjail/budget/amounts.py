"""Exact amounts. A float that an analyst types means the simplest fraction that rounds to it."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from privjail.errors import BudgetError

SMALLEST = Fraction(1, 10**9)
LARGEST = Fraction(10**6)
SMALLEST_DELTA = Fraction(1, 10**100)
MOST_DIGITS = 5000  # of a Decimal: 1e-999999999 would fill the memory


@lru_cache(maxsize=1024)
def simplest(x: float) -> Fraction:
    """The fraction with the smallest denominator that rounds to this float: 0.1 is 1/10, 1/12 is 1/12.

    So ten times 0.1 is 1, and a budget divided by twelve can be spent in twelve parts.
    """
    if not math.isfinite(x):
        raise ValueError("only finite floats are fractions")
    if x < 0:
        return -simplest(-x)
    exact = Fraction(x)
    if exact.denominator == 1:
        return exact
    below, above = Fraction(math.nextafter(x, -math.inf)), Fraction(math.nextafter(x, math.inf))
    low, high = (exact + below) / 2, (exact + above) / 2
    found = _between(low, high)
    return found if float(found) == x else exact


def _between(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of smallest denominator in [low, high], 0 ≤ low < high, by continued fractions."""
    digits: list[int] = []
    while True:
        whole = low.numerator // low.denominator
        if low == whole:
            digits.append(whole)
            break
        if whole + 1 <= high:
            digits.append(whole + 1)
            break
        digits.append(whole)
        low, high = 1 / (high - whole), 1 / (low - whole)
    value = Fraction(digits.pop())
    while digits:
        value = digits.pop() + 1 / value
    return value


def exact(x: Any, what: str = "the number") -> Fraction:
    """A public number that an analyst typed, as an exact fraction."""
    if type(x) is Fraction:
        return x
    if isinstance(x, bool):
        raise BudgetError(f"{what} must be a number, not a bool")
    if isinstance(x, (int, Fraction)):
        return Fraction(x)
    if isinstance(x, Decimal):
        if not x.is_finite() or abs(x.adjusted()) > MOST_DIGITS:
            raise BudgetError(f"{what} must be finite, and not absurdly small or large, got {x}")
        return Fraction(x)
    kind = getattr(getattr(x, "dtype", None), "kind", None)  # numpy's numbers, but not its bools or arrays
    if kind in ("i", "u") and getattr(x, "ndim", None) == 0:
        return Fraction(int(x))
    if not isinstance(x, float) and not (kind == "f" and getattr(x, "ndim", None) == 0):
        raise BudgetError(f"{what} must be a number, not {type(x).__name__}")
    x = float(x)
    if not math.isfinite(x):
        raise BudgetError(f"{what} must be finite, got {x}")
    return simplest(x)


def amount(x: Any, what: str = "eps") -> Fraction:
    """An amount of privacy budget: positive, finite, and neither absurdly small nor large."""
    value = exact(x, what)
    _check_amount(*value.as_integer_ratio(), what)
    return value


@lru_cache(maxsize=1024)
def _check_amount(top: int, bottom: int, what: str) -> None:
    value = Fraction(top, bottom)
    if value <= 0:
        raise BudgetError(f"{what} must be greater than 0")
    if value < SMALLEST:
        raise BudgetError(f"{what} is too small to be of use", do=f"use at least {float(SMALLEST):g}")
    if value > LARGEST:
        raise BudgetError(f"{what} is so large that it is no protection at all", do=f"use at most {float(LARGEST):g}")


def probability(x: Any, what: str = "delta") -> Fraction:
    """A δ: strictly between 0 and 1, and not so small that floats cannot tell it from 0."""
    value = exact(x, what)
    if not 0 < value < 1:
        raise BudgetError(f"{what} must lie strictly between 0 and 1")
    if value < SMALLEST_DELTA:
        raise BudgetError(f"{what} is too small to be told from 0", do="use at least 1e-100, or pure ε")
    return value


def float_up(x: Fraction) -> float:
    """A float that is at least x: the smallest such one."""
    f = float(x)
    return f if Fraction(f) >= x else math.nextafter(f, math.inf)
