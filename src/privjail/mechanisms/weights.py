"""exp(-γ) for many γ at once, with certified bounds, by work that does not depend on the γ.

Numbers from 0 to 1 are whole multiples of 2**-(32·limbs), held as ``limbs`` rows of 32 bits each, the least
significant row first. Every number of an array costs the same array operations, whatever its value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

import numpy as np
import numpy.typing as npt

from privjail.errors import PlanError

Limbs = npt.NDArray[np.uint64]  # to compute with: there is room for products and carries
Kept = npt.NDArray[np.uint32]  # to keep
Bools = npt.NDArray[np.bool_]

BITS = 32
BLOCK = 16_384  # scores at a time, so that some 300 bytes for each are needed for so many only
_MASK = np.uint64(2**BITS - 1)
_SHIFT = np.uint64(BITS)


@dataclass(frozen=True)
class Weights:
    """How to compute exp(-gap·factor) for whole gaps ≥ 0, in ``limbs`` limbs.

    A gap is the sum of its digits in base 256, so its weight is the product of one table entry for each digit.
    What is computed is never above exp(-gap·factor), and below it by at most ``error`` units of the last place:
    e for each table entry, 1 for each product that is rounded down, 1 for bits of the gap that are dropped.
    (If a ≤ A ≤ 1 and b ≤ B ≤ 1 are off by e and f, a·b is off by at most e + f.)
    """

    limbs: int
    drop: int  # low bits of a gap that change the weight by less than a unit of the last place
    cap: int  # the weight of this gap, after the drop, and of larger ones is less than a unit of the last place
    tables: tuple[Limbs, ...]  # for each digit: (limbs, 256)
    error: int

    def of(self, scores: Sequence[int]) -> Kept:
        """The weight of each score's gap to the largest one: (limbs, number of scores)."""
        best, found = max(scores), np.empty((self.limbs, len(scores)), dtype=np.uint32)
        for i in range(0, len(scores), BLOCK):
            found[:, i : i + BLOCK] = self._block(scores[i : i + BLOCK], best)
        return found

    def _block(self, scores: Sequence[int], best: int) -> Limbs:
        digits = self._digits(scores, best)
        weights = self.tables[0][:, digits[0]]
        for table, digit in zip(self.tables[1:], digits[1:], strict=True):
            weights = product(weights, table[:, digit])
        return weights

    def _digits(self, scores: Sequence[int], best: int) -> npt.NDArray[np.uint8]:
        """The digits of each gap, least significant first: (digits, number of scores)."""
        size = len(self.tables) + 1
        # Python makes no new object for a small integer. With one more digit on top no gap is small, so that
        # small gaps do not take less time than others.
        top = 256 ** len(self.tables)
        gaps = best + (top << self.drop) - np.array(scores, dtype=object)
        if self.drop:  # rounded up, so that weights are rounded down
            gaps = -(-gaps >> self.drop)
        written = [x.to_bytes(size, "little") for x in np.minimum(gaps, top + self.cap)]
        return np.frombuffer(b"".join(written), dtype=np.uint8).reshape(-1, size).T[:-1]


@lru_cache(maxsize=256)
def weights(factor: Fraction, limbs: int) -> Weights:
    """From public facts alone, so the cache tells nothing about the data."""
    if factor <= 0:
        raise PlanError("weights need a factor above 0")
    places = BITS * limbs
    small = Fraction(1, 2**places) / factor
    drop = (small.numerator // small.denominator).bit_length() - 1 if small >= 1 else 0
    unit = factor * 2**drop
    cap = ceil(places / unit)  # e**-places is less than 2**-places
    count = (cap.bit_length() + 7) // 8
    work = places + 8 * count + 64
    step = exponential(unit, work)
    tables, spread = [], 0
    for _ in range(count):
        table, step, off = _table(step, work, limbs)
        tables.append(table)
        spread = max(spread, off)
    return Weights(limbs, drop, cap, tuple(tables), count * spread + count - 1 + (drop > 0))


Interval = tuple[int, int]  # lower and upper bound, in units of 2**-work


def _table(step: Interval, work: int, limbs: int) -> tuple[Limbs, Interval, int]:
    """The powers 0 to 255 of a number rounded down to limbs, its power 256, and how far they are off."""
    low, high = step
    power = (1 << work, 1 << work)
    shift, rows, off = work - BITS * limbs, [], 0
    for _ in range(256):
        kept = min(power[0] >> shift, 2 ** (BITS * limbs) - 1)
        off = max(off, _up(power[1], shift) - kept)
        rows.append(kept.to_bytes(4 * limbs, "little"))
        power = power[0] * low >> work, _up(power[1] * high, work)
    table = np.frombuffer(b"".join(rows), dtype="<u4").reshape(256, limbs).T
    return np.ascontiguousarray(table.astype(np.uint64)), power, off


def exponential(x: Fraction, work: int) -> Interval:
    """Bounds of exp(-x), x ≥ 0, by its series at x/2**r < 1/2, squared r times; all rounding is outward."""
    if x >= work:
        return 0, 1  # e**-work is less than 2**-work
    halvings = (x.numerator // x.denominator).bit_length() + 1
    bits = work + 2 * halvings + 16
    bottom = x.denominator << halvings
    low_x, high_x = (x.numerator << bits) // bottom, -((-x.numerator << bits) // bottom)
    low_term = high_term = low = high = 1 << bits
    k = 0
    while high_term > 1:
        k += 1
        low_term, high_term = low_term * low_x // (k << bits), -(-high_term * high_x // (k << bits))
        low, high = (low - high_term, high - low_term) if k % 2 else (low + low_term, high + high_term)
    low, high = low - 1, high + 1  # terms alternate and fall, so what is left out is less than the last one
    for _ in range(halvings):
        low, high = low * low >> bits, _up(high * high, bits)
    return low >> (bits - work), min(_up(high, bits - work), 1 << work)


def _up(x: int, shift: int) -> int:
    return -(-x >> shift)


def product(a: Limbs, b: Limbs) -> Limbs:
    """The products of numbers from 0 to 1, rounded down."""
    limbs = len(a)
    columns = np.zeros((2 * limbs, a.shape[1]), dtype=np.uint64)
    for i in range(limbs):  # a column gets at most 2·limbs terms below 2**32
        terms = a[i] * b
        columns[i : i + limbs] += terms & _MASK
        columns[i + 1 : i + limbs + 1] += terms >> _SHIFT
    carry(columns)
    return columns[limbs:]


def carry(columns: Limbs) -> Limbs:
    """Bring every limb but the last below 2**32, in place."""
    for i in range(len(columns) - 1):
        columns[i + 1] += columns[i] >> _SHIFT
        columns[i] &= _MASK
    return columns


def less(a: Limbs | Kept, b: Limbs | Kept) -> Bools:
    """Whether a < b, for each number. All limbs are looked at, also where the first ones decide."""
    found: Bools = a[0] < b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        found = (x < y) | ((x == y) & found)
    return found


def whole(limbs: Limbs | Kept) -> int:
    """The number of units that one column of limbs holds."""
    return sum(int(x) << (BITS * i) for i, x in enumerate(limbs))


def split(x: int, limbs: int) -> Limbs:
    """A number of units as a column of limbs; the last one keeps all that is left."""
    parts = [x >> (BITS * i) & (2**BITS - 1) for i in range(limbs - 1)]
    return np.array([*parts, x >> (BITS * (limbs - 1))], dtype=np.uint64)[:, None]
