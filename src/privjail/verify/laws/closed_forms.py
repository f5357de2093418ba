"""The exact output laws of the mechanisms, in closed form.

Scores, counts and thresholds are whole numbers, in steps of the grid that the mechanism works on. ``a`` is e^(−1/b) for
noise of scale b: a fraction or a ball. Nothing is cut off: what goes on for ever is summed as a geometric series, or
put together where that loses nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import cache
from itertools import product

from privjail.verify.laws.geometric_series import Factor, Fixed, OneSided, TwoSided, total
from privjail.verify.laws.law import Decay, Law, Number


def geometric(value: int, a: Number, reach: int) -> Law:
    """A whole number with discrete Laplace noise. The outcomes ±reach stand for all beyond them.

    For values within ±reach the ratio of two such laws is constant beyond ±reach, so no event is lost.
    """
    noise = TwoSided(a)
    law: Law = {y: noise.pmf(y - value) for y in range(-reach + 1, reach)}
    law[reach], law[-reach] = noise.at_least(reach - value), noise.at_least(reach + value)
    return law


def independent(*laws: Law) -> Law:
    """The law of several independent answers."""
    joint: Law = {}
    for outcomes in product(*(law.items() for law in laws)):
        p: Number = 1
        for _, each in outcomes:
            p = p * each
        joint[tuple(key for key, _ in outcomes)] = p
    return joint


def randomised_response(value: int, k: int, truth: Number) -> Law:
    """The true one of k answers with chance ``truth``, else any other alike."""
    return {o: truth if o == value else (1 - truth) / (k - 1) for o in range(k)}


def exponential(scores: Sequence[int], gamma: Fraction, decay: Decay) -> Law:
    """Position i with probability proportional to exp(gamma·score_i): also the largest after Gumbel noise."""
    best = max(scores)
    weights = [decay((best - s) * gamma) for s in scores]
    whole = sum(weights[1:], weights[0])
    return {i: w / whole for i, w in enumerate(weights)}


def permute_and_flip(scores: Sequence[int], gamma: Fraction, decay: Decay) -> Law:
    """In random order, take position i with probability exp(−gamma·(max − score_i)), else go on.

    Why: give each position a uniform time t. Position i is the answer if it is taken at its time and none before it
    was: a_i·∫ Π_{j≠i} (1 − a_j·t) dt over [0, 1], an integral of a polynomial. It is also the law of the
    largest score after exponential noise of mean 1/gamma (Ding et al. 2021).
    """
    best = max(scores)
    return permute_and_flip_of([decay((best - s) * gamma) for s in scores])


def permute_and_flip_of(accept: Sequence[Number]) -> Law:
    law: Law = {}
    for i, a in enumerate(accept):
        polynomial: list[Number] = [1 + 0 * a]
        for j, other in enumerate(accept):
            if j != i:
                raised = [0, *(-other * c for c in polynomial)]
                polynomial = [c + r for c, r in zip([*polynomial, 0], raised, strict=True)]
        integral = sum((c / (n + 1) for n, c in enumerate(polynomial)), 0 * a)
        law[i] = a * integral
    return law


def noisy_max(scores: Sequence[int], noise: TwoSided | OneSided) -> Law:
    """The first position of the largest score, each with whole-number noise of its own."""
    law: Law = {}
    for i, x in enumerate(scores):
        factors: list[Factor] = [noise.equals(x)]
        # Of equal ones the first is taken, so those before i must be smaller.
        factors += [noise.at_most(s + (j < i)) for j, s in enumerate(scores) if j != i]
        law[i] = total(factors)
    return law


def first_above(xs: Sequence[int], line: int, outer: TwoSided, inner: TwoSided | Fixed) -> Law:
    """The first position whose noisy number reaches the noisy line; None if there is none."""
    law: Law = {}
    for i in range(len(xs) + 1):
        # y is the noisy line; those before i lie below it, that is, at most at y − 1
        factors = [outer.equals(line)] + [inner.at_most(x + 1) for x in xs[:i]]
        law[i if i < len(xs) else None] = total(factors + [inner.reaches(x) for x in xs[i : i + 1]])
    return law


def thresholded(count: int, line: int, a: Number, reach: int) -> Law:
    """One key of a histogram with discrete Laplace noise: shown if it occurs and its noisy count reaches the line.

    The outcome ``reach`` stands for all noisy counts from there on.
    """
    hidden: Law = {None: Fraction(1)}
    if count == 0:
        return hidden
    noise = TwoSided(a)
    law: Law = {y: noise.pmf(y - count) for y in range(line, reach)}
    law[reach] = noise.at_least(reach - count)
    law[None] = 1 - noise.at_least(line - count)
    return law


def histogram_delta(line: int, a: Number) -> Number:
    """The δ of a thresholded histogram: the chance that a key which one row brings in is shown."""
    return TwoSided(a).at_least(line - 1)


@cache
def _cached(kind: str, scores: tuple[int, ...], a: Fraction) -> Law:
    if kind == "laplace":
        return noisy_max(scores, TwoSided(a))
    return noisy_max(scores, OneSided(a))


def noisy_max_up_to_shift(kind: str, scores: Sequence[int], a: Fraction) -> Law:
    """The same law; adding one number to all scores changes nothing, so it is computed once."""
    low = min(scores)
    return _cached(kind, tuple(s - low for s in scores), a)


def merged(law: Law, rule: dict[Hashable, Hashable]) -> Law:
    """Post-processing: outcomes named by a rule; those not named stay."""
    result: Law = {}
    for outcome, p in law.items():
        key = rule.get(outcome, outcome)
        result[key] = result.get(key, 0) + p
    return result
