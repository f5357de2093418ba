"""Answers to any weighted sum of bins: rectangles of a cross table, sums and means of numbers.

Claim: ``weighted`` states the exact standard error of the unbiased answer. Why: with F(i) the number of records before
bin i, a weighted sum is Σ cᵢ F(i) with cᵢ = wᵢ₋₁ − wᵢ and Σ cᵢ = 0, and the variances V(a, b) of ranges tell all
covariances: Cov(F(a), F(b)) = (V(0, a) + V(0, b) − V(a, b)) / 2. So Var = −Σ cᵢ cⱼ V(i, j) over pairs i < j.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from privjail.errors import PlanError
from privjail.histograms.histogram import LEVEL, RARE, Answer, PrivateHistogram

MOST_STEPS = 1000  # places where the weight changes: their pairs are all looked at


def weighted(histogram: PrivateHistogram, weights: npt.ArrayLike, level: float = LEVEL) -> Answer:
    """The sum of weights times records in each bin, with an interval that holds the true one with this probability."""
    w = _checked(histogram, weights, level)
    unbiased, error = float(w @ np.asarray(histogram.unbiased)), math.sqrt(_variance(histogram, w))
    reach = NormalDist().inv_cdf((1 + level) / 2) * error
    named = max(int(np.count_nonzero(w)), 1)
    held = math.log(RARE * len(w) / named) / math.sqrt(2) * error
    estimate = min(max(float(w @ histogram.counts), unbiased - held), unbiased + held)
    return Answer(estimate, unbiased - reach, unbiased + reach)


def mean(
    histogram: PrivateHistogram, values: npt.ArrayLike, weights: npt.ArrayLike | None = None, level: float = LEVEL
) -> Answer:
    """The mean of a number over the records that the weights name, with its interval.

    The interval is Fieller's: all m for which Σ w·(v − m)·records is 0 within its error. It is open where the number of
    records itself is not told apart from 0; then there is no answer.
    """
    v = np.asarray(values, dtype=float)
    w = _checked(histogram, np.ones(len(v)) if weights is None else weights, level)
    z = NormalDist().inv_cdf((1 + level) / 2)
    n = float(w @ np.asarray(histogram.unbiased))
    if n <= z * math.sqrt(_variance(histogram, w)):
        raise PlanError("too few records for a mean: their number is not told apart from 0", do="ask for more bins")
    middle = float(w * v @ np.asarray(histogram.unbiased)) / n

    def off(m: float) -> float:
        """How many standard errors Σ w (v − m) records is away from 0."""
        each = w * (v - m)
        error = math.sqrt(_variance(histogram, each))
        return float(each @ np.asarray(histogram.unbiased)) / error if error else math.inf

    span = float(np.ptp(v[w != 0])) or 1.0
    ends = []
    for sign in (-1, 1):
        near, far = middle, middle + sign * span
        while abs(off(far)) < z and abs(far - middle) < 64 * span:
            far = middle + 2 * (far - middle)
        for _ in range(60):
            half = (near + far) / 2
            near, far = (half, far) if abs(off(half)) < z else (near, half)
        ends.append(far)
    smoothed = float(w @ histogram.counts)
    estimate = float(w * v @ histogram.counts) / smoothed if smoothed > 0 else middle
    return Answer(min(max(estimate, ends[0]), ends[1]), ends[0], ends[1])


def _checked(histogram: PrivateHistogram, weights: npt.ArrayLike, level: float) -> npt.NDArray[np.float64]:
    w = np.asarray(weights, dtype=float)
    if w.shape != (len(histogram),) or not np.isfinite(w).all() or not 0 < level < 1:
        raise PlanError(f"a weighted sum of this histogram has {len(histogram)} finite weights, and a level below 1")
    if not histogram.exact:
        raise PlanError(f"{histogram.method} states the error of its noise only: no interval holds", do="use range()")
    return w


def _variance(histogram: PrivateHistogram, w: npt.NDArray[np.float64]) -> float:
    slopes = -np.diff(np.concatenate([[0.0], w, [0.0]]))  # c of F(0) … F(n)
    places = np.flatnonzero(slopes)
    if len(places) > MOST_STEPS:
        raise PlanError(f"the weights change at {len(places)} places, more than {MOST_STEPS}", do="ask for fewer rows")
    c, spread = slopes[places], histogram.spread
    total = 0.0
    for i, a in enumerate(places.tolist()):
        for j in range(i + 1, len(places)):
            total -= c[i] * c[j] * spread.variance(a, int(places[j]))
    return max(total, 0.0)
