"""Exact sums over all whole numbers of products of noise probabilities: geometric series, never cut off."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from privjail.verify.laws.law import Number

Terms = list[tuple[Number, Number]]  # Σ coefficient · rate^|y|


@dataclass(frozen=True)
class Factor:
    """A function of a whole number y that is a sum of exponentials from some point on, in both directions."""

    at: Callable[[int], Number]
    up: int  # for y ≥ up it is Σ c·rate^y
    rising: Terms
    down: int  # for y ≤ down it is Σ c·rate^−y
    falling: Terms


def total(factors: Sequence[Factor]) -> Number:
    """Σ over all whole y of the product of all factors."""
    up = max(f.up for f in factors)
    down = min(min(f.down for f in factors), up - 1)
    result = _tail([f.rising for f in factors], up) + _tail([f.falling for f in factors], -down)
    for y in range(down + 1, up):
        value: Number = 1
        for f in factors:
            value = value * f.at(y)
        result = result + value
    return result


def _tail(parts: list[Terms], start: int) -> Number:
    """Σ over n ≥ start of the product of Σ c·rate^n."""
    product: Terms = [(1, 1)]
    for terms in parts:
        product = _collected([(c * d, r * s) for c, r in product for d, s in terms if d != 0])
    # The coefficients of rate 1 belong to no law unless they cancel to 0: a probability cannot have an infinite sum.
    result: Number = 0
    for c, rate in product:
        result = result + c * rate**start / (1 - rate)
    return result


def _collected(terms: Terms) -> Terms:
    """Terms of one rate put together, where rates can be told equal (balls cannot)."""
    if not all(isinstance(rate, Hashable) for _, rate in terms):
        return terms
    by_rate: dict[Number, Number] = {}
    for c, rate in terms:
        by_rate[rate] = by_rate.get(rate, 0) + c
    return [(c, rate) for rate, c in by_rate.items()]


@dataclass(frozen=True)
class TwoSided:
    """Discrete Laplace noise: Pr[X = k] = (1 − a)/(1 + a)·a^|k|."""

    a: Number

    def pmf(self, k: int) -> Number:
        return (1 - self.a) / (1 + self.a) * self.a ** abs(k)

    def at_least(self, k: int) -> Number:
        """Pr[X ≥ k]."""
        a = self.a
        return a**k / (1 + a) if k >= 0 else 1 - a ** (1 - k) / (1 + a)

    def equals(self, x: int) -> Factor:
        """Pr[x + X = y], as a function of y."""
        a = self.a
        c = (1 - a) / (1 + a)
        return Factor(lambda y: self.pmf(y - x), x, [(c * a**-x, a)], x, [(c * a**x, a)])

    def at_most(self, x: int) -> Factor:
        """Pr[x + X ≤ y], as a function of y."""
        a = self.a
        rising, falling = [(1, 1), (-(a ** (1 - x)) / (1 + a), a)], [(a**x / (1 + a), a)]
        return Factor(lambda y: 1 - self.at_least(y - x + 1), x, rising, x, falling)

    def reaches(self, x: int) -> Factor:
        """Pr[x + X ≥ y], as a function of y."""
        a = self.a
        rising, falling = [(a**-x / (1 + a), a)], [(1, 1), (-(a ** (1 + x)) / (1 + a), a)]
        return Factor(lambda y: self.at_least(y - x), x, rising, x, falling)


@dataclass(frozen=True)
class OneSided:
    """Geometric noise, the discrete exponential: Pr[X = k] = (1 − a)·a^k for k ≥ 0."""

    a: Number

    def pmf(self, k: int) -> Number:
        return (1 - self.a) * self.a**k if k >= 0 else 0 * self.a

    def at_least(self, k: int) -> Number:
        return self.a**k if k >= 0 else 1 + 0 * self.a

    def equals(self, x: int) -> Factor:
        a = self.a
        return Factor(lambda y: self.pmf(y - x), x, [((1 - a) * a**-x, a)], x - 1, [(0, a)])

    def at_most(self, x: int) -> Factor:
        a = self.a
        return Factor(lambda y: 1 - self.at_least(y - x + 1), x, [(1, 1), (-(a ** (1 - x)), a)], x - 1, [(0, a)])


@dataclass(frozen=True)
class Fixed:
    """No noise."""

    def at_most(self, x: int) -> Factor:
        return Factor(lambda y: int(y >= x), x, [(1, 1)], x - 1, [(0, 1)])

    def reaches(self, x: int) -> Factor:
        return Factor(lambda y: int(y <= x), x + 1, [(0, 1)], x, [(1, 1)])
