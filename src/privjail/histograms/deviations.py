"""Σ |x - mean| over any range of bins: what a bucket loses by averaging. Any number of ranges at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privjail.histograms.laws import Floats, Integers


class Deviations:
    """A wavelet matrix: counts and sums of the values below a threshold, in any range, in log(bins) steps.

    Σ |x - m| = 2 Σ (m - x) over x < m, for m the mean.
    """

    def __init__(self, counts: npt.ArrayLike) -> None:
        values = np.asarray(counts, dtype=float)
        self._values, rank = np.unique(values, return_inverse=True)
        self._sums = np.concatenate([[0.0], np.cumsum(values)])
        self._bits = max(1, len(self._values).bit_length())
        self._low_counts: list[Integers] = []
        self._low_sums: list[Floats] = []
        for bit in reversed(range(self._bits)):
            high = (rank >> bit) & 1
            self._low_counts.append(np.concatenate([[0], np.cumsum(1 - high)]))
            self._low_sums.append(np.concatenate([[0.0], np.cumsum(np.where(high == 0, values, 0.0))]))
            order = np.argsort(high, kind="stable")
            rank, values = rank[order], values[order]

    def __call__(self, a: Integers, b: Integers) -> Floats:
        """Σ |x - mean| over bins a … b-1, for each pair."""
        mean = (self._sums[b] - self._sums[a]) / np.maximum(b - a, 1)
        threshold = np.searchsorted(self._values, mean, side="left")
        count, total = np.zeros(np.shape(a), dtype=np.int64), np.zeros(np.shape(a))
        low, high = a, b
        for level, bit in enumerate(reversed(range(self._bits))):
            counts, sums = self._low_counts[level], self._low_sums[level]
            below = (threshold >> bit) & 1 == 1
            count = count + np.where(below, counts[high] - counts[low], 0)
            total = total + np.where(below, sums[high] - sums[low], 0.0)
            lows = counts[-1]
            low, high = (np.where(below, at - counts[at] + lows, counts[at]) for at in (low, high))
        return np.asarray(np.maximum(2 * (count * mean - total), 0.0))
