"""Exact choices among options, by work that depends on the number of options alone.

Guarantee: the law is exactly the stated one, and what is computed and drawn does not depend on the scores, except with
a probability below n²·2**-120 for n options (less than 2**-86 for 100,000 of them).
Why exact: a uniform real is drawn bit by bit, and weights are known within bounds. An answer is given only if
every continuation of the bits and all weights within their bounds give it; else both are refined.
Why the work is the same: each pass does the same array operations on arrays of the same shape, whatever the
scores. Only a second pass differs. It is needed if a uniform real falls within the bounds of a boundary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from privjail.mechanisms.weights import BITS, Bools, Kept, carry, less, split, weights, whole

LIMBS = 4  # of the first pass: 128 bits
CHOICE_BYTES = 96  # at most, for each option, while one is chosen: weights, sums, coins and times of 128 bits
Random = Callable[[int, int], Kept]  # (limbs, n) independent uniform limbs of 32 bits


def exponential_choice(scores: Sequence[int], factor: Fraction, random: Random) -> int:
    """Position i with probability proportional to exp(factor·score_i).

    One uniform u: the answer is the first position whose cumulative weight is above u times the sum of all.
    """
    limbs, uniform = LIMBS, random(LIMBS + 2, 1)
    while (found := _inverted(scores, factor, limbs, uniform)) is None:
        uniform = np.concatenate([random(limbs, 1), uniform])
        limbs *= 2
    return found


def _inverted(scores: Sequence[int], factor: Fraction, limbs: int, uniform: Kept) -> int | None:
    """The position, if the bits so far decide it.

    In units of the last place: the true cumulative weight of j lies in [sums_j, sums_j + room], u times the true sum
    in [low, high]. So positions with sums_j + room ≤ low are passed, those with sums_j > high are not.
    """
    table = weights(factor, limbs)
    sums = carry(np.cumsum(table.of(scores), axis=1, dtype=np.uint64))
    total, room = whole(sums[:, -1]), len(scores) * table.error
    drawn, bits = whole(uniform[:, 0]), BITS * len(uniform)
    low, high = drawn * total >> bits, ((drawn + 1) * (total + room) >> bits) + 1
    boundaries = sums[:, :-1]  # u is below 1, so the last one is never passed
    surely = int(less(boundaries, split(max(low - room + 1, 0), limbs)).sum())
    perhaps = int(less(boundaries, split(high + 1, limbs)).sum())
    return surely if surely == perhaps else None


def permute_and_flip(scores: Sequence[int], factor: Fraction, random: Random) -> int:
    """The position of the largest score after exponential noise of mean 1/factor, by permute and flip.

    In random order, take position i with probability exp(-factor·(max - score_i)), else go on: same law (Ding et al.
    2021). The order is that of a uniform time for each position; all coins are flipped, also those after the answer.
    """
    limbs, n = LIMBS, len(scores)
    coins, times = random(limbs, n), random(limbs, n)
    while (found := _first(*_flipped(scores, factor, coins), times)) is None:
        coins, times = (np.concatenate([random(limbs, n), more]) for more in (coins, times))
        limbs *= 2
    return found


def _flipped(scores: Sequence[int], factor: Fraction, coins: Kept) -> tuple[Bools, Bools]:
    """Which coins surely lie below their weight, and which perhaps do."""
    table = weights(factor, len(coins))
    low = table.of(scores)
    high = low.astype(np.uint64)
    high[0] += np.uint64(table.error)
    return less(coins, low), less(coins, carry(high))


def _first(surely: Bools, perhaps: Bools, times: Kept) -> int | None:
    """The position of the earliest time among coins that came up, if all coins are decided and no two times are equal.

    The coin of the largest score perhaps lies below its weight of 1, always; so if all are decided, one came up.
    """
    never, left = np.uint64(2**BITS), surely
    for row in times[::-1]:
        waiting = np.where(left, row, never)
        left = left & (waiting == waiting.min())
    if int(perhaps.sum()) != int(surely.sum()) or int(left.sum()) != 1:
        return None
    return int(left.argmax())
