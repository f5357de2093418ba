"""Exact draws from the operating system's generator, many at a time.

Claim: every function here has exactly the rational law that it is given. No draw is rounded: a
comparison that the first bits leave open is decided by further bits. There is no seed and no state,
so nobody can replay a draw and a forked worker draws afresh (V-4).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from privjail.errors import PlanError

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def _bytes(count: int) -> bytes:
    return os.urandom(count)


def _words(count: int) -> npt.NDArray[np.uint64]:
    return np.frombuffer(_bytes(8 * count), dtype="<u8").astype(np.uint64)


def bernoulli(chance: Fraction, count: int) -> Bools:
    """``count`` independent coins, each True with exactly this chance.

    Why: a uniform real U is drawn 16 binary digits at a time and compared with the chance's own
    expansion; only ties (1 in 65,536) need the next 16 digits. U < chance is thus decided exactly.
    """
    if not 0 <= chance <= 1:
        raise PlanError("a chance must lie between 0 and 1")
    heads = np.zeros(count, dtype=np.bool_)
    undecided, rest = np.arange(count), chance
    while undecided.size and rest > 0:
        scaled = rest * 65536
        cut = scaled.numerator // scaled.denominator
        rest = scaled - cut
        digits = np.frombuffer(_bytes(2 * undecided.size), dtype="<u2").astype(np.int64)
        heads[undecided[digits < cut]] = True
        undecided = undecided[digits == cut]
    return heads


def below(bound: int, count: int) -> Ints:
    """``count`` independent integers, exactly uniform on 0 … bound − 1."""
    if not 1 <= bound <= 2**62:
        raise PlanError("a uniform integer needs a bound from 1 to 2**62")
    # Without the rejection the first 2^64 mod bound integers would come up too often.
    limit = 2**64 - 2**64 % bound
    drawn = np.empty(count, dtype=np.int64)
    missing = np.arange(count)
    while missing.size:
        words = _words(missing.size)
        good = words <= np.uint64(limit - 1)
        drawn[missing[good]] = (words[good] % np.uint64(bound)).astype(np.int64)
        missing = missing[~good]
    return drawn


def choose(law: Sequence[Fraction], count: int) -> Ints:
    """``count`` independent indices, index i with probability exactly law[i]."""
    if any(p < 0 for p in law) or sum(law) != 1:
        raise PlanError("a law must consist of chances that add up to exactly 1")
    support = [i for i, p in enumerate(law) if p > 0]
    edges: list[Fraction] = []
    total = Fraction(0)
    for i in support[:-1]:
        total += law[i]
        edges.append(total)
    words = _words(count)
    cuts = np.array([int(edge * 2**64) for edge in edges], dtype=np.uint64)
    picked = np.searchsorted(cuts, words, side="right")
    for row in np.flatnonzero(np.isin(words, cuts)):
        picked[row] = _settle(int(words[row]), edges)
    return np.asarray(support, dtype=np.int64)[picked]


def _settle(word: int, edges: list[Fraction]) -> int:
    """The cell of a uniform real that begins with these 64 digits; draws more while an edge is inside."""
    bits = 64
    while any(word < edge * 2**bits < word + 1 for edge in edges):
        word = word << 64 | int.from_bytes(_bytes(8), "little")
        bits += 64
    return sum(edge * 2**bits <= word for edge in edges)
