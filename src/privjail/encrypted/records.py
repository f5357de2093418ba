"""One owner's record as bytes, and the encrypted histogram that records add up to.

A record is encrypted with numbers modulo P that a key of 32 bytes stands for. The key goes to the decryption server in
an envelope; the compute server gets the rest, which is uniform without the key. In a record come first the low 16 bits
of all values, then their high 8 bits, then what proves that the record is one unit (see onehot.py):

    blind      32 bytes that hide the compute server's part in its hash
    name       the hash of the key: what the decryption server calls the record
    expected   the hash of what an honest decryption server answers
    masks      the compute server's shares of A and B, three numbers each
    envelope   for the decryption server: the key, and the hash of what an honest compute server says
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from privjail.encrypted import envelope, onehot
from privjail.encrypted.numbers import P, Whole, uniform
from privjail.encrypted.onehot import FEW, TESTS, tagged
from privjail.errors import PlanError

KEY_BYTES = HASH_BYTES = 32
ENVELOPE_BYTES = envelope.OVERHEAD + KEY_BYTES + HASH_BYTES
MASK_BYTES = 4 * 2 * TESTS
OPENING_BYTES, ANSWER_BYTES = 4 * TESTS, 4 * 2 * TESTS
PROOF_BYTES = 3 * HASH_BYTES + MASK_BYTES + ENVELOPE_BYTES
OUT_OF_RANGE = "these bytes are no record of this study: a value is out of range"
Rows = npt.NDArray[np.uint8]
Values = npt.NDArray[np.uint32]


def size_of(bins: int) -> int:
    """Bytes of one record."""
    return 3 * bins + PROOF_BYTES


def wrong_size(record: bytes | memoryview, bins: int) -> str:
    return f"a record of this study has {size_of(bins)} bytes, this one {len(record)}: cut off?"


def rows_of(records: Any, bins: int) -> Rows:
    """Bytes of records of the right size, one row for each. Nothing is copied."""
    return np.frombuffer(records, dtype=np.uint8).reshape(-1, size_of(bins))


def values_of(rows: Rows, bins: int) -> Values:
    """The encrypted values, [record, bin]."""
    low, high = rows[:, : 2 * bins].view("<u2"), rows[:, 2 * bins : 3 * bins]
    return low.astype(np.uint32) | high.astype(np.uint32) << np.uint32(16)


def packed_values(values: Whole) -> bytes:
    return values.astype("<u2").tobytes() + (values >> 16).astype(np.uint8).tobytes()


class Proof(NamedTuple):
    """What stands behind the values of a record."""

    blind: bytes
    name: bytes
    expected: bytes
    masks: bytes
    envelope: bytes

    @classmethod
    def read(cls, record: memoryview | bytes, bins: int) -> Proof:
        ends = np.cumsum([3 * bins, HASH_BYTES, HASH_BYTES, HASH_BYTES, MASK_BYTES, ENVELOPE_BYTES])
        return cls(*(bytes(record[a:b]) for a, b in zip(ends[:-1], ends[1:], strict=True)))


def name_of(record: memoryview, bins: int) -> bytes:
    """What tells a record from another: copies of it have the same name, or the decryption server refuses them."""
    return bytes(record[3 * bins + HASH_BYTES : 3 * bins + 2 * HASH_BYTES])


# -- hashes that bind the parts of a record to each other


def key_name(study: bytes, key: bytes) -> bytes:
    return tagged("key", study, key)


def compute_part(study: bytes, blind: bytes, values: Any, masks: bytes) -> bytes:
    return tagged("compute part", study, blind, values, masks)


def challenge_seed(part: bytes, name: bytes) -> bytes:
    return tagged("challenge", part, name)


def opening_hash(part: bytes, opening: Any) -> bytes:
    return tagged("opening", part, opening)


def answer_hash(name: bytes, answer: Any) -> bytes:
    return tagged("answer", name, answer)


# -- the owner's side


@dataclass(frozen=True)
class Drawn:
    """All that chance decides in one record. Used once: two records from the same draws show their difference."""

    key: bytes
    blind: bytes
    masked: Whole  # A, one number for each test
    once: bytes  # the envelope's secret key

    @classmethod
    def fresh(cls) -> Drawn:
        token = secrets.token_bytes
        return cls(token(KEY_BYTES), token(HASH_BYTES), uniform(P, TESTS), token(envelope.KEY_BYTES))


@dataclass(frozen=True)
class Encryptor:
    """Encrypts records of one study."""

    study: bytes
    receiver: bytes  # the decryption server's public key
    bins: int

    def record(self, value: int | None) -> bytes:
        """A record in bin `value`, or one that counts nowhere (None): neither server alone can tell which."""
        if value is not None and not 0 <= value < self.bins:
            do = f"use 0 … {self.bins - 1}, or none for absent"
            raise PlanError("a record lies in none of the study's bins", do=do)
        plain = np.zeros(self.bins, dtype=np.int64)
        if value is not None:
            plain[value] = 1
        return self.encrypted(plain)

    def encrypted(self, plain: Whole, drawn: Drawn | None = None) -> bytes:
        """Any numbers modulo P, with the proof that holds only if they are one unit or nothing."""
        drawn = drawn or Drawn.fresh()
        key, blind, masked = drawn.key, drawn.blind, drawn.masked
        pad, a, b = pads(key, self.bins)  # the decryption server has the share a of A
        shares = (masked - a) % P, (masked * masked - b) % P
        values, masks = (plain + pad) % P, onehot.spelled(shares[0][None], shares[1][None]).tobytes()
        body = packed_values(values)
        name, part = key_name(self.study, key), compute_part(self.study, blind, body, masks)
        seed = [challenge_seed(part, name)]
        z, _ = onehot.sketches(values[None], seed)
        opened = onehot.opening(z, shares[0])
        answer = answers(np.array([pad]), np.array([a]), np.array([b]), opened, seed)
        expected = answer_hash(name, answer[0])
        promised = opening_hash(part, onehot.spelled(opened)[0])
        sealed = envelope.sealed(self.receiver, self.study, key + promised, drawn.once)
        return b"".join([body, blind, name, expected, masks, sealed])


def pads(key: bytes, bins: int) -> tuple[Whole, Whole, Whole]:
    """What the key stands for: a number for each bin, and the decryption server's shares of A and B."""
    found = onehot.expanded(key, bins + 2 * TESTS)
    return found[:bins], found[bins : bins + TESTS], found[bins + TESTS :]


def answers(pad: Whole, a: Whole, b: Whole, opened: Whole, seeds: list[bytes]) -> Rows:
    """What the decryption server says of each record: its shares of z + A and of z² - s, as bytes."""
    z, s = onehot.sketches((-pad) % P, seeds)
    own = onehot.opening(z, a)
    return onehot.spelled(own, onehot.outcome((own + opened) % P, s, a, b, first=False))


# -- the compute server's side


@dataclass
class Sum:
    """The encrypted histogram, how many submissions are in it, and a hash of the batches that were added, in order."""

    values: Whole
    submissions: int = 0
    chain: bytes = bytes(HASH_BYTES)

    @classmethod
    def empty(cls, bins: int) -> Sum:
        return cls(np.zeros(bins, dtype=np.int64))

    def plus(self, values: Whole, submissions: int, batch: bytes) -> Sum:
        added = (self.values + values) % P
        return Sum(added, self.submissions + submissions, tagged("batch", self.chain, batch))


@dataclass
class Sketched:
    """The compute server's part of the tests of a batch of records."""

    proofs: list[Proof]
    parts: list[bytes]
    opened: Whole
    s: Whole
    a: Whole
    b: Whole

    def passed(self, answers: Rows) -> list[bool]:
        """Which records are one unit or nothing, if these are the decryption server's answers."""
        said = np.ascontiguousarray(answers).view("<u4").astype(np.int64)
        theirs, outcomes = said[:, :TESTS], said[:, TESTS:]
        mine = onehot.outcome((self.opened + theirs) % P, self.s, self.a, self.b, first=True)
        zero = ((mine + outcomes) % P == 0).all(axis=1)
        promised = [proof.expected == answer_hash(proof.name, answer)
                    for proof, answer in zip(self.proofs, answers, strict=True)]  # fmt: skip
        return [bool(each) for each in zero & np.array(promised)]


def sketched(rows: Rows, bins: int, study: bytes) -> tuple[Sketched, Whole, npt.NDArray[np.bool_]]:
    """The compute server's part of the tests, the sum of all records, and which records are in range.

    A record that is out of range makes the sum worthless: read the others again.
    """
    proofs = [Proof.read(row.data, bins) for row in rows]
    parts = [compute_part(study, proof.blind, row[: 3 * bins], proof.masks)
             for proof, row in zip(proofs, rows, strict=True)]  # fmt: skip
    seeds = [challenge_seed(part, proof.name) for part, proof in zip(parts, proofs, strict=True)]
    masks = np.frombuffer(b"".join(proof.masks for proof in proofs), "<u4").astype(np.int64).reshape(-1, 2 * TESTS)
    total, inside = np.zeros(bins, dtype=np.int64), np.asarray((masks < P).all(axis=1), dtype=np.bool_)
    found = []
    for at in range(0, len(rows), FEW):
        values = values_of(rows[at : at + FEW], bins)
        inside[at : at + FEW] &= values.max(axis=1) < P
        total += values.sum(axis=0, dtype=np.int64)
        found.append(onehot.sketches(values, seeds[at : at + FEW]))
    z, s = (np.concatenate(each) for each in zip(*found, strict=True))
    a, b = masks[:, :TESTS], masks[:, TESTS:]
    return Sketched(proofs, parts, onehot.opening(z, a), s, a, b), total % P, inside
