"""The thesis' partitioning: neighbouring bins that differ little share a bucket. Linear time, few comparisons."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from privjail.budget.amounts import float_up
from privjail.histograms.buckets import labels_of, release_buckets
from privjail.histograms.counts import exact_counts
from privjail.histograms.histogram import PrivateHistogram
from privjail.histograms.laws import Draw
from privjail.histograms.relation import RELATIONS, halves, per_record
from privjail.mechanisms.noise import Noise

SHARE = Fraction(1, 4)


def starts(counts: npt.ArrayLike, noise: npt.ArrayLike, threshold: float) -> npt.NDArray[np.bool_]:
    """Where buckets start: |x[k+1] - x[k]| + noise[k] reaches the threshold. Leading axes of noise are runs."""
    differences = np.abs(np.diff(np.asarray(counts)))
    apart = ~(differences + np.asarray(noise) < threshold)
    return np.concatenate([np.ones((*apart.shape[:-1], 1), dtype=bool), apart], axis=-1)


def release(
    counts: npt.ArrayLike,
    epsilon: Any,
    *,
    neighbours: str = "add-remove",
    share: Fraction | float = SHARE,
    draw: Draw | None = None,
) -> PrivateHistogram:
    """Cut where neighbouring counts seem to differ by more than the noise to come, then release the buckets' sums.

    Guarantee: ε-DP for the stated neighbours: ε₁ for the cuts, ε₂ for the sums.
    Why: one record moves one count by 1, so at most two differences by at most 1 each: L1 distance 2, noise of scale
    2 / ε₁ on the vector of differences (4 / ε₁ for replace). What is made of the noisy differences is post-processing.
    Source: Ushiyama, master's thesis, Waseda 2023, §4.2-4.3. There the sums carry noise for replaced records, the
    differences for added ones; here both follow the stated neighbours.
    """
    exact = exact_counts(counts)
    first, second = halves(per_record(epsilon, neighbours), share)
    draw = draw or Noise().laplace
    noise = draw(float_up(2 / first), max(0, len(exact) - 1))
    cuts = starts(exact, np.asarray(noise, dtype=np.int64), float(1 / second))
    each = RELATIONS[neighbours]
    epsilons = {"cuts": first * each, "sums": second * each}
    return release_buckets(exact, labels_of(cuts), draw, second, "partition", neighbours, epsilons)
