"""Is a record one unit in one bin, or nothing? Tested by both servers together, without seeing the record.

For a vector m over the field of P elements and r drawn uniformly, ⟨r, m⟩² - ⟨r², m⟩ is 0 if m is 0 or a unit vector,
and is 0 with probability at most 2 / P otherwise: it is a polynomial of degree 2 in r whose coefficients m_i² - m_i and
2 m_i m_j do not all vanish (Schwartz, Zippel; the test is that of Boneh et al., "Lightweight techniques for private
heavy hitters", S&P 2021). Messages and their laws: decision 0302.
"""

from __future__ import annotations

import hashlib

import numpy as np

from privjail.encrypted.compare import combined, decrypted, drowned_constant, flooded, in_slots
from privjail.encrypted.numbers import DEGREE, RECORD_FLOOD, SLOTS, K, P, Q, Whole, Words, uniform
from privjail.encrypted.records import Halves, Planes
from privjail.encrypted.seal import Public, Secret, records
from privjail.errors import DPError

DIGIT = 12  # bits: ⟨digits, noise⟩ of an honest record stays below 2**29
FEW = 8  # records at a time: they stay in the processor's cache, and below the size where BLAS would start threads
SOME = 32  # records that are unpacked at a time
MOST = SLOTS // 2  # records in one check: two slots for each


def challenge(seed: bytes, bins: int) -> Whole:
    """Digits of r and of r²: [low r, high r, low r², high r²] × bins. r is uniform modulo P but for 2**-40."""
    raw = hashlib.shake_256(b"privjail one-hot" + seed).digest(8 * bins)
    r = (np.frombuffer(raw, dtype="<u8") % np.uint64(P)).astype(np.int64)
    square = r * r % P
    low = (1 << DIGIT) - 1
    return np.array([r & low, r >> DIGIT, square & low, square >> DIGIT])


class Products:
    """⟨row, weight⟩ modulo Q for each row and each weight; |weight| < 2**24.

    A weight is low + 2**12 · high with |low| ≤ 2**11. Sums of 32 bits × 12 bits in floats are exact below 2**53. Rows
    are fixed before weights are drawn, so such a sum is that of 4096 independent terms: beyond 2**53 are 27 standard
    deviations (Hoeffding: probability below e**-127).
    """

    def __init__(self, weights: Whole) -> None:
        low = (weights + (1 << DIGIT - 1)) % (1 << DIGIT) - (1 << DIGIT - 1)
        self._columns = np.ascontiguousarray(np.concatenate([low, weights - low >> DIGIT]).T, dtype=np.float64)
        self._some = np.empty((FEW, weights.shape[1]))

    def __call__(self, rows: Planes) -> Words:
        n, k = len(rows.low), self._columns.shape[1]
        found = np.empty((2, n, k))
        for at in range(0, n, FEW):
            for plane, out in zip(rows, found, strict=True):
                part = plane[at : at + FEW]
                some = self._some[: len(part)]
                some[:] = part
                np.matmul(some, self._columns, out=out[at : at + FEW])
        parts = (found.astype(np.int64) % Q).astype(np.uint64)
        digits = (parts[0] + _shifted(parts[1], 32)) % np.uint64(Q)
        return np.asarray((digits[:, : k // 2] + _shifted(digits[:, k // 2 :], DIGIT)) % np.uint64(Q))


def _shifted(numbers: Words, bits: int) -> Words:
    """Numbers below Q, times 2**bits, modulo Q: eight bits at a time fit into a word."""
    for at in range(0, bits, 8):
        numbers = (numbers << np.uint64(min(8, bits - at))) % np.uint64(Q)
    return numbers


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


def halves(key: Whole, c1: Halves, seed: bytes, bins: int) -> Words:
    """⟨c1 · key, digits⟩ for each record; c1 as it came, packed."""
    products = Products(adjoint(key, challenge(seed, bins)))
    return np.concatenate([products(Planes.unpacked(c1[at : at + SOME], DEGREE)) for at in range(0, len(c1), SOME)])


# -- the compute server's masked half


def masked_halves(c0: Planes, seed: bytes, bins: int, masks: Whole) -> Words:
    """⟨c0, digits⟩ + K · mask + flood for each record: with D's half it rounds to the product + mask modulo P."""
    found = Products(challenge(seed, bins))(c0)
    noise = Q - (1 << RECORD_FLOOD) + uniform(1 << RECORD_FLOOD + 1, *masks.shape)
    return (found + (K * masks + noise).astype(np.uint64)) % np.uint64(Q)


def rounded(mine: Words, theirs: Words) -> tuple[Whole, Whole]:
    """D's shares of ⟨r, m⟩ and ⟨r², m⟩."""
    together = (mine + theirs) % np.uint64(Q) + np.uint64(K // 2)
    return joined((together // np.uint64(K) % np.uint64(P)).astype(np.int64))


def joined(digits: Whole) -> tuple[Whole, Whole]:
    return (digits[:, 0] + (digits[:, 1] << DIGIT)) % P, (digits[:, 2] + (digits[:, 3] << DIGIT)) % P


# -- the test of all records at once: Σ γ · (⟨r, m⟩² - ⟨r², m⟩), γ uniform for each record
#
# The sum over all slots of a polynomial is SLOTS times its constant coefficient. So one ciphertext times one plaintext
# holds the whole test in one coefficient, and C sends no other.


def encrypted_batch(secret: Secret, first: Whole, second: Whole) -> bytes:
    """D's message: y1 in the first half of the slots, y1² - y2 in the other."""
    return secret.encrypted(np.concatenate([_half(first), _half((first * first - second) % P)]))


def _half(numbers: Whole) -> Whole:
    return np.pad(numbers, (0, MOST - len(numbers)))


def tested_batch(public: Public, received: bytes, masks: Whole) -> bytes:
    """C's message: c1, and the constant coefficient of c0, of Σ γ · (⟨r, m⟩² - ⟨r², m⟩) / SLOTS."""
    scheme = public.scheme
    mask1, mask2 = joined(masks)
    gamma = uniform(P, len(masks))
    ciphertext = scheme.loaded(scheme.seal.Ciphertext(), received)
    scheme.evaluator.transform_to_ntt_inplace(ciphertext)
    factors = np.concatenate([_half(-2 * mask1 % P * gamma % P), _half(gamma)])
    known = int((gamma * ((mask1 * mask1 + mask2) % P) % P).sum()) * pow(SLOTS, -1, P) % P
    words = scheme.words(drowned_constant(public, combined(scheme, [ciphertext], factors[None]), known))
    return bytes(np.concatenate([words[0, 0, :1], words[1, 0]]).astype("<u8").tobytes())


def passed_batch(secret: Secret, message: bytes) -> bool:
    """Whether all records are one unit or nothing."""
    if len(message) != 8 + 8 * SLOTS:
        raise DPError("a ciphertext between the servers was cut off")
    words = np.zeros((2, 1, SLOTS), dtype=np.uint64)
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


def passed(secret: Secret, message: bytes, n: int) -> list[bool]:
    """Which records are one unit or nothing."""
    return [bool(x) for x in decrypted(secret, message)[:n] == 0]
