"""Laws with 40 digits at an ε as it is: what privjail.verify does with fractions, for tests that need logarithms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import mpmath as mp

from privjail.mechanisms.noise import Noise
from privjail.verify.laws import closed_forms
from privjail.verify.laws.neighbours import vectors
from privjail.verify.laws.scripted import found_law, single, vector

__all__ = [
    "Law",
    "exponential_noise_max",
    "law_of",
    "loss",
    "neighbours",
    "permute_and_flip",
    "real",
    "renyi",
    "single",
]
__all__ += ["vector"]

mp.mp.dps = 40
Law = dict[Any, mp.mpf]


def real(x: Fraction | int | float) -> mp.mpf:
    x = Fraction(x)
    return mp.mpf(x.numerator) / x.denominator


def decay(gamma: Fraction) -> mp.mpf:
    return mp.exp(-real(gamma))


def law_of(sample: Callable[[Noise], Any]) -> Law:
    """The law of a mechanism whose noise has finitely many outcomes: all of them, one after another."""
    found = found_law(sample, decay)
    assert abs(found.lost) < mp.mpf(10) ** -35
    return dict(found.law)


def permute_and_flip(scores: Sequence[int], scale: Fraction) -> Law:
    return dict(closed_forms.permute_and_flip(scores, 1 / Fraction(scale), decay))


def exponential_noise_max(scores: Sequence[int], scale: Fraction) -> Law:
    """Pr[score_i + X_i is largest] for independent exponential X, by integration: another way to the same law."""
    b = real(scale)
    law: Law = {}
    for i, s in enumerate(scores):

        def density(t: mp.mpf, s: int = s, i: int = i) -> mp.mpf:
            below = [1 - mp.exp(-(t - x) / b) if t > x else mp.mpf(0) for j, x in enumerate(scores) if j != i]
            return mp.exp(-(t - s) / b) / b * mp.fprod(below) if t >= s else mp.mpf(0)

        top = max(scores)
        law[i] = mp.quad(density, [top, top + b, top + 4 * b, top + 20 * b, top + 90 * b])
    return law


def loss(left: Law, right: Law) -> mp.mpf:
    """The largest log-ratio of probabilities."""
    worst = mp.mpf(0)
    for key in left.keys() | right.keys():
        p, q = left.get(key, mp.mpf(0)), right.get(key, mp.mpf(0))
        if p == q:
            continue
        if p == 0 or q == 0:
            return mp.inf
        worst = max(worst, abs(mp.log(p / q)))
    return worst


def renyi(left: Law, right: Law, order: float) -> mp.mpf:
    total = mp.fsum(p**order * right[key] ** (1 - order) for key, p in left.items() if p)
    return mp.log(total) / (order - 1)


def neighbours(n: int, values: int, reach: int, monotone: bool) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All pairs of score vectors whose elements differ by at most ``reach``; all one way if monotone."""
    return vectors(n, values, reach, monotone)
