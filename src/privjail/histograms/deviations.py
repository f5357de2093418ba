"""Σ |x - mean| over any range of bins: what a bucket loses by averaging. Any number of ranges at once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from privjail.errors import PlanError
from privjail.histograms.counts import MOST_RECORDS, exact_counts
from privjail.histograms.laws import Integers

GRID = 1024  # costs are whole numbers of steps of 1/1024 record
COST_MOVES = 2 * GRID  # how many steps one record moves the cost of a bucket, at most
LARGEST_COST = 2 * GRID * MOST_RECORDS  # of any number of disjoint buckets together
MOST_BINS = 2**25  # 2 · GRID · bins² must fit into 64 bits


class Deviations:
    """The cost of any range of bins, ⌊1024 · Σ |x - mean|⌋, by a wavelet matrix of the counts.

    Guarantee: one more record moves the cost of a range by at most COST_MOVES = 2048 steps if it is in the range, and
    not at all otherwise.
    Why: for m bins with sum S let D = Σ |m·x - S|, a whole number, so that Σ |x - mean| = D / m. A record moves one
    m·x - S by m - 1 and the m - 1 others by -1, so D by at most 2 (m - 1), and D / m by less than 2. The cost is
    ⌊1024 · D / m⌋, and ⌊y + δ⌋ - ⌊y⌋ ≤ ⌈δ⌉ ≤ 2048 for δ ≤ 2048. This needs D to be exact: everything below is
    computed in whole numbers that fit into 64 bits.

    The matrix gives the number and the sum of the counts up to a threshold, in any range, in log(bins) steps. With
    S = q·m + r and 0 ≤ r < m, D / m = 2 Σ (q + r/m - x) over x ≤ q. For n such counts with sum T that is
    2 (n·q - T) + 2·n·r / m, where n·q - T is at most the number of records, and n·r less than m².
    """

    def __init__(self, counts: npt.ArrayLike) -> None:
        values = exact_counts(counts)
        if len(values) > MOST_BINS:
            raise PlanError(f"costs of buckets are computed for at most {MOST_BINS} bins")
        self._values, rank = np.unique(values, return_inverse=True)
        self._sums = _sums_before(values)
        self._bits = max(1, len(self._values).bit_length())
        self._low_counts: list[Integers] = []
        self._low_sums: list[Integers] = []
        for bit in reversed(range(self._bits)):
            high = (rank >> bit) & 1
            self._low_counts.append(_sums_before(1 - high))
            self._low_sums.append(_sums_before(np.where(high == 0, values, 0)))
            order = np.argsort(high, kind="stable")
            rank, values = rank[order], values[order]

    def __call__(self, a: Integers, b: Integers) -> Integers:
        """⌊1024 · Σ |x - mean|⌋ over bins a … b-1, for each pair; 0 where there are none."""
        length = np.maximum(b - a, 1)
        mean, rest = np.divmod(self._sums[b] - self._sums[a], length)
        count, total = self._up_to(mean, a, b)
        return np.asarray(2 * GRID * (count * mean - total) + 2 * GRID * count * rest // length)

    def _up_to(self, most: Integers, low: Integers, high: Integers) -> tuple[Integers, Integers]:
        """How many counts of a range are at most this, and their sum."""
        threshold = np.searchsorted(self._values, most, side="right")
        count, total = np.zeros_like(most), np.zeros_like(most)
        for level, bit in enumerate(reversed(range(self._bits))):
            counts, sums = self._low_counts[level], self._low_sums[level]
            below = (threshold >> bit) & 1 == 1
            count = count + np.where(below, counts[high] - counts[low], 0)
            total = total + np.where(below, sums[high] - sums[low], 0)
            lows = counts[-1]
            low, high = (np.where(below, at - counts[at] + lows, counts[at]) for at in (low, high))
        return count, total


def _sums_before(values: Integers) -> Integers:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(values)])


def steps(records: Fraction | float, buckets: int) -> int:
    """A public price in steps; so much at most that the price of all buckets still fits into 64 bits."""
    return int(min(round(records * GRID), LARGEST_COST // 2 // buckets))
