"""DAWA's partition (the thesis' DP-summary): the cheapest buckets by a noisy cost of every interval."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from privjail.budget.amounts import float_up
from privjail.histograms.buckets import labels_of, release_buckets
from privjail.histograms.counts import exact_counts
from privjail.histograms.deviations import COST_MOVES, LARGEST_COST, Deviations, steps
from privjail.histograms.histogram import PrivateHistogram
from privjail.histograms.laws import Draw, Integers
from privjail.histograms.relation import RELATIONS, halves, per_record
from privjail.mechanisms.noise import Noise

SHARE = Fraction(1, 4)


def lengths_of(bins: int, every: bool) -> Integers:
    """The lengths of buckets that are considered: all, or the powers of two."""
    powers = 2 ** np.arange(bins.bit_length())
    return np.arange(1, bins + 1) if every else powers[powers <= bins]


def costs(counts: npt.ArrayLike, lengths: Integers) -> list[Integers]:
    """For each end 1 … n, the cost Σ |x - mean| of the buckets that end there, one for each length that fits."""
    cost = Deviations(counts)
    fits = [lengths[lengths <= end] for end in range(1, len(np.asarray(counts)) + 1)]
    return [cost(end - fit, np.full(len(fit), end)) for end, fit in enumerate(fits, start=1)]


def cheapest(noisy: list[Integers], lengths: Integers, price: int) -> npt.NDArray[np.bool_]:
    """Where the buckets of the cheapest partition start, each bucket costing its noisy cost and a price."""
    best = np.zeros(len(noisy) + 1, dtype=np.result_type(np.int64, *noisy[:1]))
    came_from = np.zeros(len(noisy) + 1, dtype=np.int64)
    for end, cost in enumerate(noisy, start=1):
        begins = end - lengths[: len(cost)]
        total = best[begins] + cost + price
        winner = int(total.argmin())
        best[end], came_from[end] = total[winner], begins[winner]
    starts = np.zeros(len(noisy), dtype=bool)
    at = len(noisy)
    while at > 0:
        at = int(came_from[at])
        starts[at] = True
    return starts


def _exact_noise(drawn: Any, buckets: int) -> Integers:
    """Whole numbers of 64 bits, or Python's where sums of so many could be longer."""
    try:
        noise = np.asarray(drawn, dtype=np.int64)
    except OverflowError:
        return np.array(drawn, dtype=object)
    longest = max(int(noise.max(initial=0)), -int(noise.min(initial=0)))
    return noise if longest * buckets <= LARGEST_COST // 2 else noise.astype(object)


def release(
    counts: npt.ArrayLike,
    epsilon: Any,
    *,
    neighbours: str = "add-remove",
    share: Fraction | float = SHARE,
    every_length: bool = False,
    draw: Draw | None = None,
) -> PrivateHistogram:
    """The buckets whose averages lose least, by noisy costs; then their noisy sums.

    Guarantee: ε-DP for the stated neighbours: ε₁ for the partition, ε₂ for the sums.
    Why: let a record join bin k, and let B be a partition, b its bucket around k. Fix all noise but that of b.
    Partitions with b in them move with B. Every other one holds another bucket b' around k, and against it B moves by
    at most 2 COST_MOVES, since a record moves the cost of a bucket by at most COST_MOVES. So B wins for a noise of b
    up to some limit (of equal partitions the same one always wins), and the limit moves by at most 2 COST_MOVES: noise
    of scale 2 COST_MOVES / ε₁ is enough. It is needed on single bins too, though their cost is always 0: their
    rivals' costs move. Costs, noise and sums are whole numbers, or the limit could move by more.
    Source: Li, Hay, Miklau, Wang, VLDB 2014. The noise there and in the thesis is smaller, and the argument
    above does not hold for it.
    """
    exact = exact_counts(counts)
    first, second = halves(per_record(epsilon, neighbours), share)
    draw = draw or Noise().laplace
    lengths = lengths_of(len(exact), every_length)
    scale = float_up(2 * COST_MOVES / first)
    exact_costs = costs(exact, lengths)
    noise = _exact_noise(draw(scale, sum(map(len, exact_costs))), len(exact))
    at, noisy = 0, []
    for cost in exact_costs:
        noisy.append(cost + noise[at : at + len(cost)])
        at += len(cost)
    cuts = cheapest(noisy, lengths, steps(1 / second, len(exact)))
    each = RELATIONS[neighbours]
    epsilons = {"partition": first * each, "sums": second * each}
    return release_buckets(exact, labels_of(cuts), draw, second, "DAWA partition", neighbours, epsilons)
