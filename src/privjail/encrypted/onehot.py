"""Is a record one unit in one bin, or nothing? Proved by its owner to both servers, which learn nothing else.

The bins are laid out as a square M. For α and β drawn uniformly modulo P let z = Σ αᵢ βⱼ Mᵢⱼ and s = Σ αᵢ² βⱼ² Mᵢⱼ.
If M is 0 or one unit, z² = s. Otherwise z² - s is a polynomial of degree 4 in α and β that is not 0, and vanishes with
probability at most 4 / P. Three such tests leave 2**-65.

α and β come out of a hash of both servers' parts of the record, so the owner knows them when the record is fixed, and
not before. So she knows every number that an honest server will say, and tells each server what to expect from the
other: a server that says anything else is noticed before it learns anything. Argument: decision 0303.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

from privjail.encrypted.numbers import P, Whole
from privjail.errors import DPError

TESTS = 3
FEW = 64  # records at a time: they stay in the processor's cache
HALF = 12  # bits: a number modulo P in two halves, so that sums of products are exact in floats
Keystream = npt.NDArray[np.uint8]


def square(bins: int) -> tuple[int, int]:
    """Rows and columns that hold all bins."""
    columns = math.isqrt(bins - 1) + 1
    return -(-bins // columns), columns


def tagged(tag: str, *parts: Any) -> bytes:
    """A hash of parts of fixed lengths; the tag tells its purpose."""
    digest = hashlib.sha256(f"privjail {tag}".encode().ljust(32, b"\0"))
    for part in parts:
        digest.update(part)
    return digest.digest()


def _stream(key: bytes, size: int) -> bytes:
    """AES-256 in counter mode, from 0."""
    return Cipher(AES(key), CTR(bytes(16))).encryptor().update(bytes(size))


# -- what the decryption server's key stands for


def expanded(key: bytes, n: int) -> Whole:
    """n numbers, uniform modulo P for whoever does not know the key: AES-256 in counter mode."""
    drawn = n + n // 64 + 32  # one in 1,000 is too large and passed over
    stream = _stream(key, 3 * drawn)
    low, high = np.frombuffer(stream, "<u2", drawn), np.frombuffer(stream, np.uint8, drawn, 2 * drawn)
    found = low.astype(np.int64) | high.astype(np.int64) << 16
    found = found[found < P]
    if len(found) < n:  # probability below 2**-200
        raise DPError("this key cannot be used", do="encrypt the record again")
    return found[:n]


# -- the tests


def challenges(seeds: list[bytes], bins: int) -> tuple[Whole, Whole]:
    """α and β of each record and test: [record, test, row] and [record, test, column], uniform but for 2**-40."""
    rows, columns = square(bins)
    n = TESTS * (rows + columns)
    # A hash of the seed is uniform to whoever made the record, and AES-256 stretches it.
    raw = b"".join(_stream(tagged("one-hot", seed), 8 * n) for seed in seeds)
    found = (np.frombuffer(raw, "<u8") % np.uint64(P)).astype(np.int64).reshape(len(seeds), TESTS, rows + columns)
    return found[:, :, :rows], found[:, :, rows:]


def sketches(values: npt.NDArray[Any], seeds: list[bytes]) -> tuple[Whole, Whole]:
    """z and s of each record and test, modulo P: linear in the values, which lie in 0 … P - 1. One row, one record."""
    n, bins = values.shape
    rows, columns = square(bins)
    alpha, beta = challenges(seeds, bins)
    padded = np.zeros((n, rows * columns))
    padded[:, :bins] = values
    factors = np.concatenate([beta, beta * beta % P], axis=1)
    halves = np.concatenate([factors & (1 << HALF) - 1, factors >> HALF], axis=1).astype(float)
    # 24 bits times 12 bits, at most 64 of them: exact in 53 bits
    found = (padded.reshape(n, rows, columns) @ halves.transpose(0, 2, 1)).astype(np.int64) % P
    joined = (found[:, :, : 2 * TESTS] + (found[:, :, 2 * TESTS :] << HALF)) % P
    weights = np.concatenate([alpha, alpha * alpha % P], axis=1).transpose(0, 2, 1)
    both = (joined * weights).sum(axis=1) % P
    return both[:, :TESTS], both[:, TESTS:]


# -- z² = s, tested on shares: with A and B = A² shared too, z + A may be shown, and z² - s is linear in the shares


def opening(z: Whole, a: Whole) -> Whole:
    """A server's share of z + A."""
    return (z + a) % P


def outcome(total: Whole, s: Whole, a: Whole, b: Whole, first: bool) -> Whole:
    """A server's share of z² - s, for `total` = z + A; one of the two servers is the first."""
    return (total * total * first - 2 * total * a + b - s) % P


def spelled(*numbers: Whole) -> npt.NDArray[np.uint8]:
    """Numbers of each record as bytes, four each: a row for each record."""
    return np.ascontiguousarray(np.concatenate(numbers, axis=1), dtype="<u4").view(np.uint8)
