"""One owner's record as bytes, and the encrypted histogram that records add up to.

A record is c1 in full and the first `bins` coefficients of c0: the others would decrypt to bins that do not exist.
A coefficient has 56 bits and takes seven bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privjail.encrypted.numbers import DEGREE, Q, Words
from privjail.encrypted.seal import Public
from privjail.errors import DPError, PlanError

C1_BYTES = 7 * DEGREE
SAFE = 255  # so many numbers below 2**56 are added without overflow


class RecordError(DPError):
    """A submission that is not taken. The rest of its batch is."""


def size_of(bins: int) -> int:
    """Bytes of one record."""
    return 7 * words_of(bins)


def encrypt_record(public: Public, bins: int, value: int | None) -> bytes:
    """A record in bin `value`, or one that counts nowhere (None): nobody but the key's holder can tell which."""
    if value is not None and not 0 <= value < bins:
        raise PlanError("a record lies in none of the study's bins", do=f"use 0 … {bins - 1}, or none for absent")
    c0, c1 = public.monomial(value)[:, 0]
    return pack(c1) + pack(c0[:bins])


def pack(words: Words) -> bytes:
    """56-bit numbers in seven bytes each: the low 32 bits of all, then the next 16, then 8."""
    parts = words.astype("<u8").view(np.uint8).reshape(-1, 8)
    return b"".join(each.tobytes() for each in (parts[:, :4], parts[:, 4:6], parts[:, 6]))


def unpack(packed: bytes) -> Words:
    """What pack() packed."""
    words = np.empty(len(packed) // 7, dtype="<u8")
    _unpack_into(words, packed, 0)
    return words


def _unpack_into(words: Words, packed: bytes, at: int) -> None:
    n = len(words)
    halves, quarters = words.view("<u4"), words.view("<u2")
    halves[0::2] = np.frombuffer(packed, "<u4", n, at)
    quarters[2::4] = np.frombuffer(packed, "<u2", n, at + 4 * n)
    quarters[3::4] = np.frombuffer(packed, np.uint8, n, at + 6 * n)


def words_of(bins: int) -> int:
    """Coefficients of one record."""
    return DEGREE + bins


def read_into(words: Words, packed: bytes, bins: int) -> None:
    """The coefficients of a record, if it can be one: c1, then c0 of the bins."""
    if len(packed) != size_of(bins):
        raise RecordError(f"a record of this study has {size_of(bins)} bytes, this one {len(packed)}: cut off?")
    _unpack_into(words[:DEGREE], packed, 0)
    _unpack_into(words[DEGREE:], packed, C1_BYTES)
    if int(words.max()) >= Q:
        raise RecordError("these bytes are no ciphertext of this study: a coefficient is out of range")


def read_record(packed: bytes, bins: int) -> Words:
    """The coefficients of one record."""
    words = np.empty(words_of(bins), dtype="<u8")
    read_into(words, packed, bins)
    return words


def fingerprint(packed: bytes) -> bytes:
    """What tells a record from another: c1, which no two honest encryptions share."""
    return hashlib.sha256(memoryview(packed)[:C1_BYTES]).digest()


@dataclass
class Sum:
    """The encrypted histogram: c1, then c0 of the bins, and how many submissions are in it."""

    bins: int
    words: Words
    submissions: int = 0

    @classmethod
    def empty(cls, bins: int) -> Sum:
        return cls(bins, np.zeros(words_of(bins), dtype=np.uint64))

    def plus(self, records: Sequence[Words]) -> Sum:
        """This sum and these records."""
        total = self.words.copy()
        for i in range(0, len(records), SAFE - 1):
            for each in records[i : i + SAFE - 1]:
                total += each
            total %= np.uint64(Q)
        return Sum(self.bins, total, self.submissions + len(records))

    @property
    def c1(self) -> Words:
        return self.words[:DEGREE]

    @property
    def c0(self) -> Words:
        return self.words[DEGREE : DEGREE + self.bins]
