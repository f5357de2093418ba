"""Haar wavelets: the total, and for every node of a binary tree its left half less its right half."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from privjail.budget.amounts import amount, float_up
from privjail.histograms.counts import exact_counts
from privjail.histograms.histogram import PrivateHistogram
from privjail.histograms.laws import Draw, Floats, Law
from privjail.histograms.relation import per_record
from privjail.histograms.spread import WaveletSpread
from privjail.mechanisms.noise import Noise


def transform(counts: npt.ArrayLike) -> npt.NDArray[Any]:
    """The total, then the differences from the root down; bins are filled with zeros to a power of two."""
    given = np.asarray(counts)
    width = 1 << max(0, len(given) - 1).bit_length()
    sums = np.concatenate([given, np.zeros(width - len(given), dtype=given.dtype)])
    differences = []
    while len(sums) > 1:
        differences.append(sums[0::2] - sums[1::2])
        sums = sums[0::2] + sums[1::2]
    return np.concatenate([sums, *reversed(differences)])


def invert(coefficients: Floats) -> Floats:
    """The counts that have these coefficients."""
    sums, at = coefficients[:1], 1
    while at < len(coefficients):
        difference = coefficients[at : 2 * at]
        sums = np.stack([(sums + difference) / 2, (sums - difference) / 2], axis=1).ravel()
        at *= 2
    return sums


def release(
    counts: npt.ArrayLike, epsilon: Any, *, neighbours: str = "add-remove", draw: Draw | None = None
) -> PrivateHistogram:
    """Noisy Haar coefficients, turned back into counts.

    Guarantee: ε-DP for the stated neighbours.
    Why: one record moves the total and one difference for each of the log₂(bins) levels, by 1 each, so all of them by
    1 + log₂(bins); the noise has that much over ε as its scale. In whole differences of sums, not averages, this is
    the weighting of Privelet.
    Source: Xiao, Wang, Gehrke, ICDE 2010.
    """
    exact = exact_counts(counts)
    coefficients = transform(exact)
    scale = float_up(len(coefficients).bit_length() / per_record(epsilon, neighbours))
    noisy = coefficients + np.asarray((draw or Noise().laplace)(scale, len(coefficients)), dtype=np.int64)
    law = Law.of(scale)
    estimate = invert(noisy.astype(float))[: len(exact)]
    spread = WaveletSpread(len(coefficients), law.variance)
    epsilons = {"coefficients": amount(epsilon)}
    return PrivateHistogram(
        estimate, spread, "wavelet", neighbours, epsilons, {"coefficients": law}, {"coefficients": noisy}
    )
