"""Is a record one unit in one bin, or nothing? Tested by both servers together, without seeing the record.

For a vector m over the field of P elements and r drawn uniformly, ⟨r, m⟩² - ⟨r², m⟩ is 0 if m is 0 or a unit vector,
and is 0 with probability at most 2 / P otherwise: it is a polynomial of degree 2 in r whose coefficients m_i² - m_i and
2 m_i m_j do not all vanish (Schwartz, Zippel; the test is that of Boneh et al., "Lightweight techniques for private
heavy hitters", S&P 2021).

An owner need not encrypt whole numbers: (Q + 1) / 2 is half of P, and twice it is 1. So r enters bit by bit. If a
coefficient lies between two multiples of K, its bit decides in each of 24 products whether the product does, and at
most one of all r_i passes. Argument, messages and their laws: decision 0302.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from privjail.encrypted.compare import combined, decrypted, flooded, in_slots, smaller
from privjail.encrypted.numbers import (
    BITS,
    DEGREE,
    SLOTS,
    TEST_FLOOD,
    K,
    P,
    Q,
    Whole,
    Words,
    centred,
    flood,
    uniform,
)  # fmt: skip
from privjail.encrypted.records import C1_BYTES, FEW, Planes, shifted
from privjail.encrypted.seal import Public, Scheme, Secret, records
from privjail.errors import DPError

DIGIT = 12  # bits of a factor's digit, and of a weight's
SHORT, DIGITS = 8, 3  # bits of a digit of r², and how many it has
ROWS = BITS + DIGITS  # products for each record: with the bits of r, and with the digits of r²
# Noise that C adds to each product, uniform in ± this, and how far one may then lie from a multiple of K: that of an
# honest record has a standard deviation of 2**13.4 beside a product with bits, and of 2**20.2 beside one with digits.
FLOODS = np.repeat([1 << 21, 1 << 26], [BITS, DIGITS])
ROOM = FLOODS + np.repeat([1 << 18, 1 << 24], [BITS, DIGITS])
MOST_CHECKED = DEGREE // 4  # records in one check: four coefficients for each


def challenge(seed: bytes, bins: int) -> Whole:
    """The bits of r, lowest first, then the digits of r²: [27] × bins. r is uniform modulo P but for 2**-40."""
    raw = hashlib.shake_256(b"privjail one-hot" + seed).digest(8 * bins)
    r = (np.frombuffer(raw, dtype="<u8") % np.uint64(P)).astype(np.int64)
    return np.concatenate([r >> np.arange(BITS)[:, None] & 1, digits(centred(r * r), SHORT, DIGITS)])


def joined(found: Whole) -> tuple[Whole, Whole]:
    """⟨r, m⟩ and ⟨r², m⟩ modulo P from the products with bits and digits: a row for each record."""
    places = 1 << np.arange(BITS), 1 << SHORT * np.arange(DIGITS)
    return found[:, :BITS] @ places[0] % P, found[:, BITS:] @ places[1] % P


def digits(numbers: Whole, bits: int = DIGIT, n: int = 2) -> Whole:
    """n digits, lowest first, of which all but the last lie in -2**(bits-1) … 2**(bits-1) - 1."""
    half, found = 1 << bits - 1, []
    for _ in range(n - 1):
        found.append((numbers + half) % (2 * half) - half)
        numbers = numbers - found[-1] >> bits
    return np.array([*found, numbers])


class Products:
    """⟨row, weight⟩ modulo Q for each row and each weight; |weights| ≤ 2**11, and for the last `long` of them ≤ 2**23.

    Sums of 32 bits × 12 bits in floats are exact below 2**53. With weights up to 2**8 that is always so. With others,
    rows are fixed before weights are drawn, so such a sum is that of 4096 terms of random sign, each in an interval of
    2**44: beyond 2**53 it is with probability below e**-127 (Hoeffding; for the decryption server's weights, which are
    not independent, the coefficients of an honest c1 are).
    """

    def __init__(self, weights: Whole, long: int = 0) -> None:
        self._k, self._long = len(weights), slice(len(weights) - long, len(weights))
        columns = np.concatenate([weights[: self._long.start], *digits(weights[self._long])])
        if int(np.abs(columns).max()) > 1 << DIGIT - 1:
            raise DPError("a weight is too large")
        self._columns = columns.T.astype(float)
        n = len(self._columns)
        self._rows = np.empty((2 * FEW, n))
        self._low, self._lowest = np.empty((2, FEW, n), dtype=np.int32)
        self._found: list[npt.NDArray[np.float64]] = []

    def add(self, rows: Planes) -> None:
        """Up to FEW rows more."""
        n = len(rows.high)
        low, lowest, numbers = self._low[:n], self._lowest[:n], self._rows[: 2 * n]
        low[:], lowest[:] = rows.middle, rows.low
        low <<= 8
        low |= lowest
        numbers[:n], numbers[n:] = rows.high, low
        self._found.append((numbers @ self._columns).reshape(2, n, -1))

    def result(self) -> Words:
        """Of all rows so far."""
        total = _joined(*np.concatenate(self._found, axis=1))
        found = total[:, : self._k]
        found[:, self._long] += shifted(total[:, self._k :], DIGIT)
        return np.asarray(found % np.uint64(Q))


class Totals(Products):
    """The same, and the sum of the rows: they are there as floats anyway. Exact for 2**21 rows of 32 bits and less."""

    def __init__(self, weights: Whole) -> None:
        super().__init__(weights)
        self._sums = np.zeros((2, len(self._columns)))

    def add(self, rows: Planes) -> None:
        super().add(rows)
        self._sums += self._rows[: 2 * len(rows.high)].reshape(2, -1, len(self._columns)).sum(axis=1)

    @property
    def words(self) -> Words:
        return _joined(*self._sums)


def _joined(high: npt.NDArray[np.float64], low: npt.NDArray[np.float64]) -> Words:
    """high · 2**24 + low modulo Q, of whole numbers."""
    parts = (np.array([high, low]).astype(np.int64) % Q).astype(np.uint64)
    return np.asarray((shifted(parts[0], 24) + parts[1]) % np.uint64(Q))


# -- the decryption server's half of ⟨r, m⟩


def key_vector(secret: Secret) -> Whole:
    """The secret key's coefficients, -1, 0 or 1: what the ciphertext (0, K) decrypts to."""
    words = np.zeros((2, 1, DEGREE), dtype=np.uint64)
    words[1, 0, 0] = K
    found = secret.coefficients(records().ciphertext(words)).astype(np.int64)
    return np.where(found > 1, found - P, found)


def adjoint(key: Whole, weights: Whole) -> Whole:
    """w with ⟨c1, w⟩ = ⟨c1 · key, weights⟩ in the ring modulo x**DEGREE + 1."""
    size = 2 * DEGREE
    spectrum = np.fft.rfft(key.astype(float), size)
    out = []
    for row in weights:
        padded = np.fft.rfft(row.astype(float), size)
        # correlation: Σ_i row[i] · key[i - j], and with a minus where i - j wraps around
        both = np.rint(np.fft.irfft(padded * np.conj(spectrum), size)).astype(np.int64)
        out.append(both[:DEGREE] - both[DEGREE:])
    return np.array(out)


def halves(key: Whole, c1: memoryview, seed: bytes, bins: int) -> Words:
    """⟨c1 · key, row⟩ for each record and row of the challenge; c1 as it came, packed."""
    products = Products(adjoint(key, challenge(seed, bins)), long=DIGITS)
    rows = np.frombuffer(c1, dtype=np.uint8).reshape(-1, C1_BYTES)
    for at in range(0, len(rows), FEW):
        products.add(Planes.read(rows[at : at + FEW], DEGREE))
    return products.result()


# -- the compute server's masked half


def masked(found: Words, masks: Whole) -> Words:
    """⟨c0, row⟩ + K · mask + flood for each record and row: with D's half it rounds to product + mask modulo P."""
    noise = (uniform(2 * int(FLOODS.max()), *masks.shape) & 2 * FLOODS - 1) - FLOODS  # powers of two
    return np.asarray((found + (Q + K * masks + noise).astype(np.uint64)) % np.uint64(Q))


def rounded(mine: Words, theirs: Words) -> tuple[Whole, Whole, npt.NDArray[np.bool_]]:
    """D's shares of ⟨r, m⟩ and ⟨r², m⟩, and which records are near whole numbers in all products.

    A multiple of K that passes Q comes back 1 higher: ROOM has place for that.
    """
    together = ((mine + theirs) % np.uint64(Q)).astype(np.int64) + K // 2
    whole = (np.abs(together % K - K // 2) <= ROOM).all(axis=1)
    return *joined(together // K % P), whole


# -- the test of all records at once: Σ γ · (⟨r, m⟩² - ⟨r², m⟩), γ uniform for each record
#
# An inner product of numbers that D knows and numbers that C knows: the constant coefficient of one ciphertext times
# one plaintext. C sends no other coefficient of c0. C's numbers are split into digits, so that noise stays small.


def encrypted_batch(secret: Secret, first: Whole, second: Whole) -> bytes:
    """D's message: y1 and y1² - y2, each also times 2**12."""
    second = (first * first - second) % P
    return secret.encrypted_polynomial(_blocks([first, first << DIGIT, second, second << DIGIT]))


def _blocks(rows: Iterable[Whole]) -> Whole:
    return np.concatenate([np.pad(row % P, (0, MOST_CHECKED - len(row))) for row in rows])


def tested_batch(public: Public, received: bytes, masks: Whole) -> bytes:
    """C's message: c1, and the constant coefficient of c0, of Σ γ · (⟨r, m⟩² - ⟨r², m⟩)."""
    scheme = public.scheme
    mask1, mask2 = joined(masks)
    gamma = uniform(P, len(masks))
    factors = _blocks([*digits(centred(-2 * mask1 * gamma)), *digits(centred(gamma))])
    # Σ a_i · b_i is the constant coefficient of a · b', where b' is b turned round, and x**DEGREE is -1.
    turned = np.concatenate([factors[:1], -factors[:0:-1]])
    known = int((gamma * ((mask1 * mask1 + mask2) % P) % P).sum()) % P
    total = public.zero()
    if turned.any():
        ciphertext = scheme.loaded(scheme.seal.Ciphertext(), received)
        scheme.evaluator.multiply_plain_inplace(ciphertext, scheme.plaintext(turned))
        scheme.evaluator.add_inplace(total, ciphertext)
    words = scheme.words(_drowned(scheme, total, known))
    return bytes(np.concatenate([words[0, 0, :1], words[1, 0]]).astype("<u8").tobytes())


def _drowned(scheme: Scheme, ciphertext: Any, constant: int) -> Any:
    """The ciphertext plus a number, safe to show if of c0 only the constant coefficient is shown."""
    noise = np.zeros((2, len(scheme.primes), scheme.degree), dtype=np.uint64)
    (drawn,) = flood(TEST_FLOOD, 1)
    noise[0, :, 0] = [drawn % prime for prime in scheme.primes]
    scheme.evaluator.add_plain_inplace(ciphertext, scheme.seal.Plaintext(f"{constant:X}"))
    scheme.evaluator.add_inplace(ciphertext, scheme.ciphertext(noise))
    return smaller(scheme, ciphertext)


def passed_batch(secret: Secret, message: bytes) -> bool:
    """Whether all records are one unit or nothing."""
    if len(message) != 8 + 8 * DEGREE:
        raise DPError("a ciphertext between the servers was cut off")
    words = np.zeros((2, 1, DEGREE), dtype=np.uint64)
    received = np.frombuffer(message, dtype="<u8")
    words[0, 0, 0], words[1, 0] = received[0], received[1:]
    return secret.constant(secret.scheme.ciphertext(words)) == 0


# -- the test of each record, in slots: only where the test of all fails


def encrypted_shares(secret: Secret, first: Whole, second: Whole) -> list[bytes]:
    """D's message: y1 and y1² - y2."""
    return [secret.encrypted(in_slots(first)), secret.encrypted(in_slots((first * first - second) % P))]


def tested(public: Public, received: list[bytes], masks: Whole) -> bytes:
    """C's message: (⟨r, m⟩² - ⟨r², m⟩) · γ, γ uniform and not 0.

    With z = y - mask, z1² - z2 is (y1² - y2) - 2 mask1 · y1 + mask1² + mask2: linear in what D sent.
    """
    if len(received) != 2:
        raise DPError(f"a check has 2 ciphertexts, not {len(received)}")
    scheme = public.scheme
    mask1, mask2 = joined(masks)
    blind = 1 + uniform(P - 1, SLOTS)
    inputs = [scheme.loaded(scheme.seal.Ciphertext(), each) for each in received]
    for each in inputs:
        scheme.evaluator.transform_to_ntt_inplace(each)
    # Slots without a record get factor 0 and so decrypt to 0, whatever D put there.
    used = in_slots(np.ones(len(masks), dtype=np.int64)) * blind
    factors = np.array([-2 * in_slots(mask1) % P * used % P, used])
    constants = in_slots((mask1 * mask1 + mask2) % P) * used % P
    return flooded(public, combined(scheme, inputs, factors), constants)


def passed(secret: Secret, message: bytes, n: int) -> npt.NDArray[np.bool_]:
    """Which records are one unit or nothing."""
    return np.asarray(decrypted(secret, message)[:n] == 0)
