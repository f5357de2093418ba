"""The numbers of records and of the comparison's encryption scheme, and what is drawn uniformly from them.

Records and shares are numbers modulo P. For the comparison, every data prime is 1 modulo P, so that a sum that wraps
around P moves the noise of a ciphertext by exactly 1; P is 1 modulo 2 · 8192, so that it has 8192 slots. Argued in
decisions 0302 and 0303.
"""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Whole = npt.NDArray[np.int64]

P = 16_760_833  # a prime of 24 bits
BITS = 24

SLOTS = 8192  # the ring of comparisons: one slot for each
PRIMES = (1_125_624_290_787_329, 1_119_857_491_542_017, 1_109_696_940_490_753)  # 50 bits each
KEY_PRIME = 1_108_323_893_051_393

SLOT_FLOOD = 112  # uniform in ± 2**112; PRIMES' product over 2 P is 2**125

LIMB = 12  # bits: times a prime of 50 bits it fits into a word

MOST_BINS = SLOTS // 2  # two comparisons for each pair of neighbours
MOST_RECORDS = 2**22
LARGEST_SCALE = 2**16  # of noise: e**-64 is the chance of a draw beyond 2**22, and P / 2 is 2**23


def uniform(below: int, *shape: int) -> Whole:
    """Independent numbers, uniform in 0 … below - 1, from the operating system's generator."""
    size = int(np.prod(shape))
    bits = (below - 1).bit_length()
    width = next(w for w in (1, 2, 4, 8) if 8 * w >= bits)
    kind, keep = np.dtype(f"<u{width}"), (1 << bits) - 1
    found = np.empty(0, dtype=kind)
    while len(found) < size:  # numbers that are too large are drawn again: folding them would favour some
        want = (size - len(found) << bits) // below  # on average, and some more
        more = np.frombuffer(os.urandom(width * (want + want // 64 + 8)), dtype=kind) & kind.type(keep)
        found = np.concatenate([found, more[more < below]])
    return found[:size].astype(np.int64).reshape(shape)


def wide_flood(bits: int, n: int) -> list[Words]:
    """n numbers, each uniform in -2**bits … 2**bits - 1 and wider than a word, as residues modulo each of PRIMES."""
    digits = [uniform(1 << min(LIMB, bits + 1 - at), n).astype(np.uint64) for at in range(0, bits + 1, LIMB)]
    residues = []
    for prime in PRIMES:
        total = np.full(n, -(1 << bits) % prime, dtype=np.uint64)
        for i, digit in enumerate(digits):
            total += digit * np.uint64((1 << LIMB * i) % prime) % np.uint64(prime)
        residues.append(total % np.uint64(prime))
    return residues


def centred(values: npt.ArrayLike) -> Whole:
    """Numbers modulo P as those nearest to 0."""
    reduced = np.asarray(values, dtype=np.int64) % P
    return np.where(reduced > P // 2, reduced - P, reduced)
