"""One owner's record as bytes, and the encrypted histogram that records add up to.

A record is c1 in full and the first `bins` coefficients of c0: the others would decrypt to bins that do not exist.
A coefficient has 56 bits and takes seven bytes: the high 32 bits of all come first, then the middle 16, then the low 8
(filled up to a multiple of four). So a record is read, added and multiplied as it came, without unpacking.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from privjail.encrypted.numbers import DEGREE, Q, Words
from privjail.encrypted.seal import Public
from privjail.errors import DPError, PlanError

FEW = 32  # records at a time: they stay in the processor's cache
MOST_ADDED = 1 << 16  # records in one sum: the middle and low planes add up in 32 bits
MARKED = 256  # coefficients of c1 that tell a record from another
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
    return packed_size(DEGREE + bins)


def encrypt_record(public: Public, bins: int, value: int | None) -> bytes:
    """A record in bin `value`, or one that counts nowhere (None): nobody but the key's holder can tell which."""
    if value is not None and not 0 <= value < bins:
        raise PlanError("a record lies in none of the study's bins", do=f"use 0 … {bins - 1}, or none for absent")
    c0, c1 = public.monomial(value)[:, 0]
    return pack(np.concatenate([c1, c0[:bins]]))


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


def wrong_size(record: bytes | memoryview, bins: int) -> str:
    return f"a record of this study has {size_of(bins)} bytes, this one {len(record)}: cut off?"


def fingerprint(record: memoryview) -> bytes:
    """What tells a record from another: the first of c1, 32 bits of 256 coefficients.

    No two honest encryptions share them. A ciphertext that shares them with another and differs elsewhere is still a
    copy.
    """
    return hashlib.sha256(record[: 4 * MARKED]).digest()


def c1_of(records: Iterable[memoryview], bins: int) -> list[memoryview]:
    """c1 of records, as it came: what pack(c1) would be, each in three parts."""
    m = _filled(DEGREE + bins)
    parts = np.s_[: 4 * DEGREE], np.s_[4 * m : 4 * m + 2 * DEGREE], np.s_[6 * m : 6 * m + DEGREE]
    return [record[part] for record in records for part in parts]


def rows_of(records: Any, bins: int) -> Rows:
    """Bytes of records of the right size, one row for each. Nothing is copied."""
    return np.frombuffer(records, dtype=np.uint8).reshape(-1, size_of(bins))


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
    """A sum of up to 65536 records, not yet reduced modulo Q."""

    def __init__(self, bins: int) -> None:
        self._bins, self._n = bins, 0
        self._planes: list[Plane] = [np.zeros(DEGREE + bins, dtype=kind) for kind in ("u8", "u4", "u4")]

    def add(self, records: Planes) -> None:
        self._n += len(records.high)
        if self._n > MOST_ADDED:
            raise DPError(f"more than {MOST_ADDED} records in one sum")
        for total, plane in zip(self._planes, records, strict=True):
            total += np.add.reduce(plane, axis=0, dtype=total.dtype)

    def sum(self) -> Sum:
        words = np.zeros(DEGREE + self._bins, dtype=np.uint64)
        for plane, shift in zip(self._planes, SHIFTS, strict=True):
            part = plane.astype(np.uint64)
            for _ in range(0, shift, 8):  # it is below 2**48 at first, and below 2**56 after each step
                part = (part << np.uint64(8)) % np.uint64(Q)
            words += part
        return Sum(self._bins, words % np.uint64(Q), self._n)


def read_all(rows: Rows, bins: int, also: Callable[[Planes], None] | None = None) -> tuple[Sum, set[int]]:
    """The sum of all records that are in range, and the places of the others, in one pass.

    `also` sees c0 of all of them, a few at a time, while they are in the processor's cache.
    """
    adding, wrong = Adding(bins), set[int]()
    for at in range(0, len(rows), FEW):
        planes = Planes.read(rows[at : at + FEW], DEGREE + bins)
        outside = _outside(planes)
        wrong.update(at + i for i in outside)
        adding.add(planes.part([i for i in range(len(planes.high)) if i not in outside]) if outside else planes)
        if also is not None:
            also(planes.part(np.s_[:, DEGREE:]))
    return adding.sum(), wrong


def _outside(planes: Planes) -> list[int]:
    """The rows with a number that is not below Q."""
    maybe = np.flatnonzero(planes.high.max(axis=1) >= Q >> 24).tolist()
    return [i for i in maybe if int(planes.part(i).words.max()) >= Q]


def read_record(packed: bytes, bins: int) -> Words:
    """The coefficients of one record."""
    if len(packed) != size_of(bins):
        raise RecordError(wrong_size(packed, bins))
    planes = Planes.read(rows_of(packed, bins), DEGREE + bins)
    if _outside(planes):
        raise RecordError(OUT_OF_RANGE)
    return np.asarray(planes.words[0])
