"""StructureFirst: a given number of buckets, the best ones found first, their limits then chosen privately."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from privjail.errors import PlanError
from privjail.histograms.buckets import labels_of, release_buckets
from privjail.histograms.choice import Pick, pick_exactly
from privjail.histograms.counts import exact_counts
from privjail.histograms.deviations import COST_MOVES, LARGEST_COST, Deviations
from privjail.histograms.histogram import PrivateHistogram
from privjail.histograms.laws import Draw, Integers
from privjail.histograms.relation import RELATIONS, halves, per_record
from privjail.mechanisms.noise import Noise

SHARE = Fraction(1, 4)
BINS_PER_BUCKET = 10  # as the authors of the algorithm, and the thesis, found good


ROWS = 32  # ends at a time: they stay in the processor's cache
NEVER = 2 * LARGEST_COST  # more than any partition costs; added to one it still fits into 64 bits


class Structure:
    """The cost of every bucket, and of the best partition of the first bins into so many buckets."""

    def __init__(self, cost: Integers, buckets: int) -> None:
        self.cost, self.buckets = cost, buckets  # cost[b, a] of bins a … b-1; NEVER or more for a ≥ b
        bins = len(cost) - 1
        self.best = np.full((buckets, bins + 1), NEVER, dtype=cost.dtype)
        self.best[0] = cost[:, 0]
        some = np.empty(ROWS * bins, dtype=cost.dtype)
        for k in range(1, buckets):
            for end in range(k + 1, bins + 1, ROWS):
                self._extend(k, end, min(end + ROWS, bins + 1), some)

    def _extend(self, k: int, first: int, last: int, some: Integers) -> None:
        """The best with one bucket more, for ends first … last - 1.

        One more bucket never costs more, and a longer bucket never less. So a last bucket that costs more than the
        best without it, even for the nearest end, is never the best one, nor is any that begins before it.
        """
        before = self.best[k - 1]
        begin = k + int(np.searchsorted(-self.cost[first, k:first], -before[last - 1]))
        rows = some[: (last - first) * (last - 1 - begin)].reshape(last - first, -1)
        np.add(self.cost[first:last, begin : last - 1], before[begin : last - 1], out=rows)
        self.best[k, first:last] = rows.min(axis=1)

    @classmethod
    def of(cls, counts: npt.ArrayLike, buckets: int) -> Structure:
        """By the cost Σ |x - mean|, which a record moves by at most COST_MOVES, like the best sum of such costs."""
        bins = len(np.asarray(counts))
        deviation = Deviations(counts)
        cost = np.full((bins + 1, bins + 1), NEVER)
        for end in range(1, bins + 1):
            begin = np.arange(end)
            cost[end, :end] = deviation(begin, np.full(end, end))
        return cls(cost, buckets)

    def starts(self, sensitivity: int, epsilon: Fraction, pick: Pick) -> npt.NDArray[np.bool_]:
        """Where buckets start, chosen from the last bucket to the first, with an equal part of ε each."""
        bins = len(self.cost) - 1
        found = np.zeros(bins, dtype=bool)
        found[0] = True
        end = bins
        for k in range(self.buckets - 1, 0, -1):
            score = -(self.best[k - 1, k:end] + self.cost[end, k:end])
            end = k + int(pick(score, np.array([0]), sensitivity, epsilon / (self.buckets - 1))[0])
            found[end] = True
        return found


def release(
    counts: npt.ArrayLike,
    epsilon: Any,
    *,
    buckets: int | None = None,
    neighbours: str = "add-remove",
    share: Fraction | float = SHARE,
    draw: Draw | None = None,
    pick: Pick = pick_exactly,
) -> PrivateHistogram:
    """So many buckets (a tenth of the bins, unless told), and their noisy sums. Cubic time at worst.

    Guarantee: ε-DP for the stated neighbours: ε₁ for the limits of buckets, ε₂ for the sums.
    Why: the score of a limit is the best cost before it plus the cost of the bucket behind it. A record is in one of
    the two and moves it by at most COST_MOVES. There are buckets - 1 choices, with ε₁ / (buckets - 1) each.
    Source: Xu, Zhang, Xiao, Yang, Yu, ICDE 2012, with the sum of absolute deviations as the cost: that of squares
    has a sensitivity that depends on the largest count, which is private.
    """
    exact = exact_counts(counts)
    wanted = buckets if buckets is not None else max(1, len(exact) // BINS_PER_BUCKET)
    if not 1 <= wanted <= len(exact):
        raise PlanError(f"there are between 1 and {len(exact)} buckets")
    first, second = halves(per_record(epsilon, neighbours), share)
    cuts = Structure.of(exact, wanted).starts(COST_MOVES, first, pick)
    each = RELATIONS[neighbours]
    epsilons = {"limits": first * each, "sums": second * each}
    return release_buckets(
        exact, labels_of(cuts), draw or Noise().laplace, second, "StructureFirst", neighbours, epsilons
    )
