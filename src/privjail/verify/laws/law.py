"""Laws, and how far two of them are apart. Numbers are ``Fraction``s, or balls of python-flint (``arb``)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

from privjail.errors import PlanError

Number = Any  # Fraction, or arb
Law = dict[Hashable, Number]


class Decay(Protocol):
    """e^−γ for γ ≥ 0. The only way in which ε enters a law."""

    def __call__(self, gamma: Fraction, /) -> Number: ...


@dataclass(frozen=True)
class Rational:
    """e^−γ with e^(−1/unit) taken to be the fraction ``alpha``; γ must be a whole multiple of 1/unit.

    Why that is a check of the real thing: mechanisms use ε only inside noise scales, so what is checked is the
    mechanism at ε times −unit·ln(alpha), and nothing is rounded.
    """

    alpha: Fraction
    unit: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise PlanError("e^−ε must lie strictly between 0 and 1")

    def __call__(self, gamma: Fraction, /) -> Fraction:
        power = Fraction(gamma) * self.unit
        if power.denominator != 1:
            raise PlanError(
                f"e^−{gamma} is no power of {self.alpha}", do=f"use a multiple of {power.denominator} as unit"
            )
        return _power(self.alpha, power.numerator)


@lru_cache(maxsize=100_000)
def _power(base: Fraction, n: int) -> Fraction:
    return base**n


def hockey_stick(left: Law, right: Law, factor: Number, lost: Number = 0) -> Number:
    """The largest Pr[left ∈ S] − factor·Pr[right ∈ S] over all sets S of outcomes: the δ at ε = ln(factor).

    Why: the best S takes just the outcomes where the difference is positive. ``lost`` is mass of ``left`` that is not
    in the table; it may lie anywhere, so it is added. Mass missing on the right can only lower the true value.
    """
    total = lost
    for outcome, p in left.items():
        apart = p - factor * right.get(outcome, 0)
        if not apart <= 0:  # a ball that contains 0 counts
            total = total + apart
    return total


def ratio(left: Law, right: Law) -> Number | None:
    """The largest p/q over all outcomes, which is e^ε for the smallest ε; None if some q is 0 and p is not."""
    worst: Number = Fraction(0)
    for outcome, p in left.items():
        q = right.get(outcome, 0)
        if q == 0:
            if p != 0:
                return None
        elif p > worst * q:
            worst = p / q
    return worst


@dataclass(frozen=True)
class Verdict:
    """What all pairs of neighbours gave, in both directions."""

    pairs: int
    reached: Number | None  # the largest ratio of probabilities; None: infinite
    delta: Number  # the largest hockey-stick sum at the claimed ε
    worst: tuple[Any, Any] | None  # the pair that reached it

    def holds(self, delta: Number = 0) -> bool:
        return bool(self.delta <= delta)


def check(
    law: Callable[[Any], Law],
    pairs: Iterable[tuple[Any, Any]],
    factor: Number,
    watch: Callable[[], None] = lambda: None,
) -> Verdict:
    """Hold a law against the claim e^ε = ``factor``, over all pairs, each in both directions.

    Mass that a law leaves out may lie anywhere: it is added to δ.
    """
    laws: dict[Any, Law] = {}
    lost: dict[Any, Number] = {}
    reached: Number | None = Fraction(0)
    delta: Number = Fraction(0)
    worst, count = None, 0
    for pair in pairs:
        for data in pair:
            if data not in laws:
                laws[data] = law(data)
                lost[data] = _lost(laws[data])
        for a, b in (pair, pair[::-1]):
            left, right = laws[a], laws[b]
            most = ratio(left, right)
            if reached is not None and (most is None or most > reached):
                reached, worst = most, (a, b)
            if lost[a] or most is None or not most <= factor:
                delta = max(delta, hockey_stick(left, right, factor, lost[a]))
        count += 1
        watch()
    if not count:
        raise PlanError("no pair of neighbours was given: nothing was checked", do="an iterator can be used once only")
    return Verdict(count, reached, delta, worst)


def _lost(law: Law) -> Number:
    """The mass that is not in the table, for laws of fractions."""
    if not all(isinstance(p, (int, Fraction)) for p in law.values()):
        return 0
    lost = 1 - sum(law.values())
    if lost < 0 or min(law.values(), default=0) < 0:
        raise PlanError("a law has probabilities from 0 to 1 that add up to at most 1")
    return lost
