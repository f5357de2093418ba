"""AHP: bins of similar noisy counts share a bucket, wherever they stand."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from privjail.budget.amounts import float_up
from privjail.histograms.buckets import release_buckets
from privjail.histograms.counts import exact_counts
from privjail.histograms.histogram import PrivateHistogram
from privjail.histograms.laws import Draw, Floats, Integers
from privjail.histograms.relation import RELATIONS, halves, per_record
from privjail.mechanisms.noise import Noise

SHARE = Fraction(1, 4)


def labels(noisy: Floats, first: float, second: float) -> Integers:
    """The bucket of each bin, from noisy counts that cost ``first``; the sums to come cost ``second``.

    Counts up to ln(bins) / ε₁ pass for 0. The rest are sorted, and joined from the smallest to the largest as long
    as the squared error of a bucket (scatter and noise) grows by less than the next bin would cost in its own best
    bucket.
    """
    kept = np.where(noisy <= math.log(max(2, len(noisy))) / first, 0.0, noisy)
    order = np.argsort(kept, kind="stable")
    bucket = np.empty(len(noisy), dtype=np.int64)
    bucket[order] = join(kept[order], 2 / second**2)
    return bucket


def join(rising: Floats, noise: float) -> Integers:
    """The buckets of sorted values, when a sum carries noise of this variance."""
    alone = _best_alone(rising, noise)
    sums, squares = (np.concatenate([[0.0], np.cumsum(x)]).tolist() for x in (rising, rising**2))
    bucket = np.zeros(len(rising), dtype=np.int64)
    begin, before, current = 0, noise, 0
    for j in range(1, len(rising)):
        size = j - begin + 1
        total = sums[j + 1] - sums[begin]
        now = squares[j + 1] - squares[begin] - total * total / size + noise / size
        if now >= before + alone[j]:
            begin, now, current = j, noise, current + 1
        before = now
        bucket[j] = current
    return bucket


def _best_alone(rising: Floats, noise: float) -> Floats:
    """The least error that each value can have in a bucket that begins with it."""
    n = len(rising)
    sums = np.concatenate([[0.0], np.cumsum(rising)])
    best = np.full(n, np.inf)
    for size in range(1, n + 1):
        fits = n - size + 1
        own = (rising[:fits] - (sums[size:] - sums[:fits]) / size) ** 2 + noise / size
        best[:fits] = np.minimum(best[:fits], own)
        if size >= 400:  # longer buckets gain next to nothing
            break
    return best


def release(
    counts: npt.ArrayLike,
    epsilon: Any,
    *,
    neighbours: str = "add-remove",
    share: Fraction | float = SHARE,
    draw: Draw | None = None,
) -> PrivateHistogram:
    """Buckets of similar bins by noisy counts; then the noisy sums of those buckets.

    Guarantee: ε-DP for the stated neighbours: ε₁ for the noisy counts, ε₂ for the sums.
    Why: the buckets are made from counts with noise of scale 1 / ε₁ and from nothing else. They are disjoint, so a
    record moves one sum by 1.
    Source: Zhang, Chen, Xu, Meng, Xie, SDM 2014.
    """
    exact = exact_counts(counts)
    first, second = halves(per_record(epsilon, neighbours), share)
    draw = draw or Noise().laplace
    noisy = exact + np.asarray(draw(float_up(1 / first), len(exact)), dtype=np.int64)
    found = labels(noisy.astype(float), float(first), float(second))
    each = RELATIONS[neighbours]
    epsilons = {"counts": first * each, "sums": second * each}
    return release_buckets(exact, found, draw, second, "AHP", neighbours, epsilons)
