"""One owner's record as bytes, and the encrypted histogram that records add up to.

A record is c1 in full and the first `bins` coefficients of c0: the others would decrypt to bins that do not exist.
A coefficient has 56 bits and takes seven bytes: of each of the two, the high 32 bits of all coefficients come first,
then the middle 16, then the low 8 (filled up to a multiple of four). So a record is read, added and multiplied as it
came, without unpacking.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from privjail.encrypted.numbers import DEGREE, Q, Words
from privjail.encrypted.seal import Public
from privjail.errors import DPError, PlanError

FEW = 64  # records at a time: they stay in the processor's cache, and 64 times 8 bits add up in 16
MOST_ADDED = 1 << 16  # records in one sum: the middle and low planes add up in 32 bits
MARKED = 4  # coefficients of c1 that tell a record from another
OUT_OF_RANGE = "these bytes are no ciphertext of this study: a coefficient is out of range"
Rows = npt.NDArray[np.uint8]
Plane = npt.NDArray[np.unsignedinteger[Any]]
SHIFTS = (24, 8, 0)  # where the planes stand in a coefficient


class RecordError(DPError):
    """A submission that is not taken. The rest of its batch is."""


def packed_size(n: int) -> int:
    """Bytes that n numbers take."""
    return 7 * _filled(n)


def _filled(n: int) -> int:
    return 4 * -(-n // 4)


C1_BYTES = packed_size(DEGREE)


def size_of(bins: int) -> int:
    """Bytes of one record."""
    return C1_BYTES + packed_size(bins)


def encrypt_record(public: Public, bins: int, value: int | None) -> bytes:
    """A record in bin `value`, or one that counts nowhere (None): nobody but the key's holder can tell which."""
    if value is not None and not 0 <= value < bins:
        raise PlanError("a record lies in none of the study's bins", do=f"use 0 … {bins - 1}, or none for absent")
    c0, c1 = public.monomial(value)[:, 0]
    return pack_record(np.concatenate([c1, c0[:bins]]))


class Planes(NamedTuple):
    """Rows of 56-bit numbers as three arrays: the high 32 bits, the middle 16, the low 8."""

    high: Plane
    middle: Plane
    low: Plane

    @classmethod
    def of(cls, words: Words) -> Planes:
        high, middle, low = (words >> np.uint64(shift) for shift in SHIFTS)
        return cls(high.astype("<u4"), middle.astype("<u2"), low.astype(np.uint8))

    @classmethod
    def read(cls, rows: Rows, n: int) -> Planes:
        """What pack() packed, n numbers in each row. Nothing is copied."""
        high, middle, low = np.split(rows, [4 * _filled(n), 6 * _filled(n)], axis=1)
        return cls(high.view("<u4"), middle.view("<u2"), low).part(np.s_[:, :n])

    @property
    def words(self) -> Words:
        shifted = [plane.astype(np.uint64) << np.uint64(shift) for plane, shift in zip(self, SHIFTS, strict=True)]
        return np.asarray(shifted[0] + shifted[1] + shifted[2])

    def part(self, where: Any) -> Planes:
        return Planes(*(plane[where] for plane in self))


def pack(words: Words) -> bytes:
    """56-bit numbers in seven bytes each."""
    filled = np.zeros(_filled(len(words)), dtype=np.uint64)
    filled[: len(words)] = words
    return b"".join(plane.tobytes() for plane in Planes.of(filled))


def pack_record(words: Words) -> bytes:
    """A record from its coefficients, first those of c1."""
    return pack(words[:DEGREE]) + pack(words[DEGREE:])


def wrong_size(record: bytes | memoryview, bins: int) -> str:
    return f"a record of this study has {size_of(bins)} bytes, this one {len(record)}: cut off?"


def fingerprint(record: memoryview) -> bytes:
    """What tells a record from another: the high 32 bits of the first of c1, which are as good as random.

    No two honest encryptions share them. A ciphertext that shares them with another and differs elsewhere is still a
    copy.
    """
    return bytes(record[: 4 * MARKED])


def rows_of(records: Any, bins: int) -> Rows:
    """Bytes of records of the right size, one row for each. Nothing is copied."""
    return np.frombuffer(records, dtype=np.uint8).reshape(-1, size_of(bins))


def c1_and_c0(rows: Rows, bins: int) -> tuple[Planes, Planes]:
    """The coefficients of records. Nothing is copied."""
    return Planes.read(rows[:, :C1_BYTES], DEGREE), Planes.read(rows[:, C1_BYTES:], bins)


@dataclass
class Sum:
    """The encrypted histogram: c1, then c0 of the bins, and how many submissions are in it."""

    bins: int
    words: Words
    submissions: int = 0

    @classmethod
    def empty(cls, bins: int) -> Sum:
        return cls(bins, np.zeros(DEGREE + bins, dtype=np.uint64))

    def plus(self, other: Sum) -> Sum:
        return Sum(self.bins, (self.words + other.words) % np.uint64(Q), self.submissions + other.submissions)

    @property
    def c1(self) -> Words:
        return self.words[:DEGREE]

    @property
    def c0(self) -> Words:
        return self.words[DEGREE : DEGREE + self.bins]


class Adding:
    """A sum of up to 65536 rows of n numbers, not yet reduced modulo Q."""

    def __init__(self, n: int) -> None:
        self._n = 0
        self._planes: list[Plane] = [np.zeros(n, dtype=kind) for kind in ("u8", "u4", "u4")]

    def add(self, rows: Planes) -> None:
        """Up to FEW rows more."""
        self._n += len(rows.high)
        if len(rows.high) > FEW or self._n > MOST_ADDED:
            raise DPError(f"more than {FEW} records at a time, or {MOST_ADDED} in one sum")
        for total, plane, wide in zip(self._planes, rows, ("u8", "u4", "u2"), strict=True):
            total += np.add.reduce(plane, axis=0, dtype=wide)

    @property
    def words(self) -> Words:
        """The sum modulo Q."""
        total = sum(shifted(plane.astype(np.uint64), by) for plane, by in zip(self._planes, SHIFTS, strict=True))
        return np.asarray(total % np.uint64(Q))


def shifted(numbers: Words, bits: int) -> Words:
    """Numbers of at most 56 bits times 2**bits, modulo Q: eight bits at a time fit into a word."""
    for at in range(0, bits, 8):
        numbers = (numbers << np.uint64(min(8, bits - at))) % np.uint64(Q)
    return numbers


class Adder(Protocol):
    """What adds up rows; `words` is their sum modulo Q."""

    def add(self, rows: Planes) -> None: ...

    @property
    def words(self) -> Words: ...


def read_all(rows: Rows, bins: int, bins_adder: Adder | None = None) -> tuple[Sum, set[int]]:
    """The sum of all records that are in range, and the places of the others, in one pass.

    `bins_adder` sees c0 of all of them, a few at a time, while they are in the processor's cache.
    """
    adders: tuple[Adder, Adder] = Adding(DEGREE), Adding(bins) if bins_adder is None else bins_adder
    wrong = set[int]()
    for at in range(0, len(rows), FEW):
        for adder, planes in zip(adders, c1_and_c0(rows[at : at + FEW], bins), strict=True):
            wrong.update(at + i for i in _outside(planes))
            adder.add(planes)
    if wrong:
        return read_all(rows[[i for i in range(len(rows)) if i not in wrong]], bins)[0], wrong
    return Sum(bins, np.concatenate([adder.words for adder in adders]), len(rows)), wrong


def _outside(planes: Planes) -> list[int]:
    """The rows with a number that is not below Q."""
    maybe = np.flatnonzero(planes.high.max(axis=1) >= Q >> 24).tolist()
    return [i for i in maybe if int(planes.part(i).words.max()) >= Q]


def read_record(packed: bytes, bins: int) -> Words:
    """The coefficients of one record."""
    if len(packed) != size_of(bins):
        raise RecordError(wrong_size(packed, bins))
    both = c1_and_c0(rows_of(packed, bins), bins)
    if any(map(_outside, both)):
        raise RecordError(OUT_OF_RANGE)
    return np.concatenate([planes.words[0] for planes in both])
