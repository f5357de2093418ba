"""Is a record one unit in one bin, or nothing? Tested by both servers together, without seeing the record.

For a vector m over the field of P elements and r drawn uniformly, ⟨r, m⟩² - ⟨r², m⟩ is 0 if m is 0 or a unit vector,
and is 0 with probability at most 2 / P otherwise: it is a polynomial of degree 2 in r whose coefficients m_i² - m_i and
2 m_i m_j do not all vanish (Schwartz, Zippel; the test is that of Boneh et al., "Lightweight techniques for private
heavy hitters", S&P 2021). Messages and their laws: decision 0302.
"""

from __future__ import annotations

import hashlib

import numpy as np

from privjail.encrypted.compare import combined, decrypted, flooded, in_slots
from privjail.encrypted.numbers import DEGREE, RECORD_FLOOD, SLOTS, K, P, Q, Whole, Words, flood, uniform
from privjail.encrypted.seal import Public, Secret, records
from privjail.errors import DPError

DIGIT = 12  # bits: ⟨digits, noise⟩ of an honest record stays below 2**29
LIMB = 14  # bits: sums of limb × 24 bits × 4096 are exact in a float64
LOW = np.uint64((1 << LIMB) - 1)
FEW = 8  # records at a time: they stay in the processor's cache
MOST = 1024  # records in one check


def challenge(seed: bytes, bins: int) -> Whole:
    """Digits of r and of r²: [low r, high r, low r², high r²] × bins. r is uniform modulo P but for 2**-40."""
    raw = hashlib.shake_256(b"privjail one-hot" + seed).digest(8 * bins)
    r = (np.frombuffer(raw, dtype="<u8") % np.uint64(P)).astype(np.int64)
    square = r * r % P
    low = (1 << DIGIT) - 1
    return np.array([r & low, r >> DIGIT, square & low, square >> DIGIT])


def products(words: Words, weights: Whole) -> list[list[int]]:
    """⟨record, weight⟩ modulo Q for each record and each weight; |weight| ≤ 2**24. Exact."""
    columns = np.ascontiguousarray(weights.T, dtype=np.float64)
    found = []
    for i in range(0, len(words), FEW):
        some = words[i : i + FEW]
        limbs = [(some >> np.uint64(LIMB * at) & LOW).astype(np.float64) @ columns for at in range(4)]
        whole = [limb.astype(np.int64).astype(object) for limb in limbs]
        found += ((whole[0] + (whole[1] << LIMB) + (whole[2] << 2 * LIMB) + (whole[3] << 3 * LIMB)) % Q).tolist()
    return found


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


def halves(key: Whole, c1: Words, seed: bytes, bins: int) -> list[list[int]]:
    """⟨c1 · key, digits⟩ for each record."""
    return products(c1, adjoint(key, challenge(seed, bins)))


# -- the compute server's masked half


def masked_halves(c0: Words, seed: bytes, bins: int, masks: Whole) -> list[list[int]]:
    """⟨c0, digits⟩ + K · mask + flood for each record: with D's half it rounds to the product + mask modulo P."""
    found = products(c0, challenge(seed, bins))
    noise = flood(RECORD_FLOOD, masks.size)
    return [
        [(x + K * int(m) + noise[4 * i + j]) % Q for j, (x, m) in enumerate(zip(row, masks[i], strict=True))]
        for i, row in enumerate(found)
    ]


def rounded(mine: list[list[int]], theirs: list[list[int]]) -> tuple[Whole, Whole]:
    """D's shares of ⟨r, m⟩ and ⟨r², m⟩."""
    together = (np.array(mine, dtype=object) + np.array(theirs, dtype=object)) % Q
    return joined(((together + K // 2) // K % P).astype(np.int64))


def joined(digits: Whole) -> tuple[Whole, Whole]:
    return (digits[:, 0] + (digits[:, 1] << DIGIT)) % P, (digits[:, 2] + (digits[:, 3] << DIGIT)) % P


# -- the test itself, in slots


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
