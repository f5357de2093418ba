"""One owner's record as bytes, and the encrypted histogram that records add up to.

A record is c1 in full and the first `bins` coefficients of c0: the others would decrypt to bins that do not exist.
A coefficient has 56 bits and takes seven bytes (the bins are filled up to a multiple of four).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from privjail.encrypted.numbers import DEGREE, Q, Words
from privjail.encrypted.seal import Public
from privjail.errors import DPError, PlanError

C1_BYTES = 7 * DEGREE
LOW = (1 << 32) - 1
SAFE = 254  # so many numbers below 2**56, and one more, are added without overflow of 64 bits
FEW = 8  # records at a time: they stay in the processor's cache
MARKED = 256  # coefficients of c1 that tell a record from another

Halves = npt.NDArray[np.uint32]


class RecordError(DPError):
    """A submission that is not taken. The rest of its batch is."""


def size_of(bins: int) -> int:
    """Bytes of one record."""
    return C1_BYTES + packed_size(bins)


def encrypt_record(public: Public, bins: int, value: int | None) -> bytes:
    """A record in bin `value`, or one that counts nowhere (None): nobody but the key's holder can tell which."""
    if value is not None and not 0 <= value < bins:
        raise PlanError("a record lies in none of the study's bins", do=f"use 0 … {bins - 1}, or none for absent")
    c0, c1 = public.monomial(value)[:, 0]
    return pack(c1) + pack(c0[:bins])


def pack(words: Words) -> bytes:
    """56-bit numbers in seven bytes each: the low 32 bits of all, then the high 24 bits, four of them in three words.

    The first three quarters of the high parts keep their places; the fourth quarter fills the bytes left above them.
    """
    high = np.zeros(4 * -(-len(words) // 4), dtype="<u4")
    high[: len(words)] = words >> np.uint64(32)
    *three, last = high.reshape(4, -1)
    for i, each in enumerate(three):
        each |= (last >> np.uint32(8 * (2 - i)) & np.uint32(0xFF)) << np.uint32(24)
    return (words & np.uint64(LOW)).astype("<u4").tobytes() + high[: len(high) // 4 * 3].tobytes()


def packed_size(n: int) -> int:
    """Bytes that n numbers take."""
    return 4 * n + 12 * -(-n // 4)


class Planes(NamedTuple):
    """Numbers of 56 bits as two arrays of 32-bit words: low 32 bits, high 24. They are read, added and multiplied
    several times faster so than as 64-bit words, which would have to be put together first."""

    low: Halves
    high: Halves

    @classmethod
    def of(cls, words: Words) -> Planes:
        return cls((words & np.uint64(LOW)).astype(np.uint32), (words >> np.uint64(32)).astype(np.uint32))

    @property
    def words(self) -> Words:
        return self.low.astype(np.uint64) + (self.high.astype(np.uint64) << np.uint64(32))

    def part(self, where: Any) -> Planes:
        return Planes(self.low[where], self.high[where])

    @classmethod
    def unpacked(cls, packed: Halves, n: int, high: Halves | None = None) -> Planes:
        """What pack() packed, n numbers in each row. The low parts are not copied; `high` is memory to be used."""
        at = -(-n // 4)
        high = np.empty((len(packed), 4 * at), dtype=np.uint32) if high is None else high
        for first in range(0, len(packed), FEW):
            _spread(packed[first : first + FEW, n:], high[first : first + FEW], at)
        return cls(packed[:, :n], high[:, :n])


def _spread(three: Halves, high: Halves, at: int) -> None:
    """The high parts, which pack() put four into three words."""
    np.bitwise_and(three, np.uint32(0xFFFFFF), out=high[:, : 3 * at])
    last = high[:, 3 * at :]
    np.right_shift(three[:, :at], np.uint32(8), out=last)
    last &= np.uint32(0xFF0000)
    last |= three[:, at : 2 * at] >> np.uint32(16) & np.uint32(0xFF00)
    last |= three[:, 2 * at :] >> np.uint32(24)


def words_of(bins: int) -> int:
    """Coefficients of one record."""
    return DEGREE + bins


class Batch:
    """Records that came together: memory that is used again, for getting it anew takes longer than adding."""

    def __init__(self, bins: int, most: int) -> None:
        self._size = size_of(bins)
        # Filled, not only asked for: the system hands out memory when it is first written to.
        self._packed = np.full((most, self._size // 4), 0, dtype=np.uint32)
        self._high = [np.full((most, 4 * -(-n // 4)), 0, dtype=np.uint32) for n in (DEGREE, bins)]
        self._bins = bins

    def read(self, records: Iterable[bytes]) -> list[str]:
        """Take over the coefficients of each record: c1, then c0 of the bins. Says what is wrong with each, or ""."""
        wrong: list[str] = []
        waiting = iter(records)
        while some := list(islice(waiting, FEW)):
            wrong += self._read(len(wrong), some)
        return wrong

    def _read(self, first: int, records: list[bytes]) -> list[str]:
        """The same for a few records, which stay in the processor's cache."""
        packed = self._packed[first : first + len(records)]
        wrong = [""] * len(records)
        for i, record in enumerate(records):
            if len(record) == self._size:
                packed[i] = np.frombuffer(record, dtype="<u4")
            else:
                wrong[i] = f"a record of this study has {self._size} bytes, this one {len(record)}: cut off?"
        for each in self._planes(np.s_[first : first + len(records)], fresh=True):
            for i in np.flatnonzero(each.high.max(axis=1) >= Q >> 32).tolist():
                if not wrong[i] and int(each.part(i).words.max()) >= Q:
                    wrong[i] = "these bytes are no ciphertext of this study: a coefficient is out of range"
        return wrong

    def _planes(self, where: Any, fresh: bool = False) -> tuple[Planes, Planes]:
        """c1, and c0 of the bins; if they are fresh, their high parts are unpacked first."""
        packed = self._packed[where]
        halves = packed[:, : C1_BYTES // 4], packed[:, C1_BYTES // 4 :]
        sizes, highs = (DEGREE, self._bins), [high[where] for high in self._high]
        if fresh:
            c1, c0 = (Planes.unpacked(*each) for each in zip(halves, sizes, highs, strict=True))
        else:
            c1, c0 = (Planes(p[:, :n], high[:, :n]) for p, n, high in zip(halves, sizes, highs, strict=True))
        return c1, c0

    def rows(self, places: list[int]) -> tuple[Planes, Planes]:
        """The coefficients of some records: c1, and c0 of the bins."""
        return self._planes(_picked(places))

    def c1(self, places: list[int]) -> list[memoryview]:
        """c1 of some records, as they came."""
        return [self._packed[place, : C1_BYTES // 4].data for place in places]

    def fingerprint(self, place: int) -> bytes:
        """What tells a record from another: the first of c1, 32 bits of 256 coefficients.

        No two honest encryptions share them. A ciphertext that shares them with another and differs elsewhere is
        still a copy.
        """
        return hashlib.sha256(self._packed[place, :MARKED].data).digest()


def _picked(places: list[int]) -> Any:
    """These rows; as a slice, which copies nothing, if they are the first ones, as they mostly are."""
    n = len(places)
    return np.s_[:n] if n == 0 or places[-1] == n - 1 else np.array(places)


def read_record(packed: bytes, bins: int) -> Words:
    """The coefficients of one record."""
    batch = Batch(bins, 1)
    wrong = batch.read([packed])[0]
    if wrong:
        raise RecordError(wrong)
    return np.concatenate([each.words[0] for each in batch.rows([0])])


@dataclass
class Sum:
    """The encrypted histogram: c1, then c0 of the bins, and how many submissions are in it."""

    bins: int
    words: Words
    submissions: int = 0

    @classmethod
    def empty(cls, bins: int) -> Sum:
        return cls(bins, np.zeros(words_of(bins), dtype=np.uint64))

    def plus(self, c1: Planes, c0: Planes) -> Sum:
        """This sum and these records."""
        total, n = self.words.copy(), len(c1.low)
        for where, records in ((np.s_[:DEGREE], c1), (np.s_[DEGREE:], c0)):
            part = total[where]
            for i in range(0, n, SAFE):
                part += np.add.reduce(records.low[i : i + SAFE], axis=0, dtype=np.uint64)
                high = np.add.reduce(records.high[i : i + SAFE], axis=0, dtype=np.uint32)
                part += high.astype(np.uint64) << np.uint64(32)
                part %= np.uint64(Q)
        return Sum(self.bins, total, self.submissions + n)

    @property
    def c1(self) -> Words:
        return self.words[:DEGREE]

    @property
    def c0(self) -> Words:
        return self.words[DEGREE : DEGREE + self.bins]
