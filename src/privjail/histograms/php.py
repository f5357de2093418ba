"""PHP: cut in two where it helps most, again and again, then choose how many of the cuts to keep."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from privjail.histograms.buckets import labels_of, release_buckets
from privjail.histograms.choice import Pick, pick_exactly
from privjail.histograms.counts import exact_counts
from privjail.histograms.deviations import COST_MOVES, Deviations, steps
from privjail.histograms.histogram import PrivateHistogram
from privjail.histograms.laws import Draw, Integers
from privjail.histograms.relation import RELATIONS, halves, per_record
from privjail.mechanisms.noise import Noise

SHARE = Fraction(1, 4)


def bisect(
    cost: Deviations, bins: int, price: int, depth: int, each: Fraction, pick: Pick
) -> tuple[Integers, Integers]:
    """Cuts in the order they were made (-1: a part that was left whole), and the cost before and after each.

    Each level costs ``each``: its parts are disjoint, so a record is in one of them, and there it moves the cost of
    each way to cut by at most COST_MOVES. All of it is whole numbers.
    """
    begin, end = np.array([0]), np.array([bins])
    made: list[Integers] = []
    cost_now = [cost(begin, end) + price]
    for _ in range(depth):
        long = end - begin > 1
        begin, end = begin[long], end[long]
        if not len(begin):
            break
        part = np.repeat(np.arange(len(begin)), end - begin)
        first = np.concatenate([[0], np.cumsum(end - begin)[:-1]])
        at = np.arange(len(part)) - first[part] + begin[part]  # at == begin: leave this part whole
        score = -(cost(begin[part], at) + cost(at, end[part]) + price * np.where(at > begin[part], 2, 1))
        won = pick(score, first, COST_MOVES, each)
        where, cut = at[won], at[won] > begin
        change = -score[won] - cost(begin, end) - price
        cost_now.append(cost_now[-1][-1] + np.cumsum(change))
        made.append(np.where(cut, where, -1))
        begin, end = (np.stack(pair, axis=1).ravel() for pair in ((begin[cut], where[cut]), (where[cut], end[cut])))
    return np.concatenate(made or [np.zeros(0, dtype=np.int64)]), np.concatenate(cost_now)


def starts(cost: Deviations, bins: int, price: int, epsilon: Fraction, pick: Pick) -> npt.NDArray[np.bool_]:
    """Where buckets start. Half of ε goes to the cuts, half to the choice of how many to keep."""
    depth = max(1, (bins - 1).bit_length() + 1)
    cuts, cost_after = bisect(cost, bins, price, depth, epsilon / 2 / depth, pick)
    kept = int(pick(-cost_after, np.array([0]), COST_MOVES, epsilon / 2)[0])
    found = np.zeros(bins, dtype=bool)
    found[0] = True
    found[cuts[:kept][cuts[:kept] >= 0]] = True
    return found


def release(
    counts: npt.ArrayLike,
    epsilon: Any,
    *,
    neighbours: str = "add-remove",
    share: Fraction | float = SHARE,
    draw: Draw | None = None,
    pick: Pick = pick_exactly,
) -> PrivateHistogram:
    """Buckets by repeated bisection; then their noisy sums.

    Guarantee: ε-DP for the stated neighbours: ε₁ for the cuts and how many to keep, ε₂ for the sums.
    Why: the parts of one level are disjoint, so a level costs what one choice costs, and there are at most
    log₂(bins) + 1 levels. A record is in one bucket and moves its cost by at most COST_MOVES, so each score as well.
    Source: Acs, Castelluccia, Chen, ICDM 2012.
    """
    exact = exact_counts(counts)
    first, second = halves(per_record(epsilon, neighbours), share)
    cuts = starts(Deviations(exact), len(exact), steps(1 / second, len(exact)), first, pick)
    each = RELATIONS[neighbours]
    epsilons = {"cuts": first * each, "sums": second * each}
    return release_buckets(exact, labels_of(cuts), draw or Noise().laplace, second, "PHP", neighbours, epsilons)
