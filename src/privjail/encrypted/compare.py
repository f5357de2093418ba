"""Which of two shared numbers is negative, side by side in 8192 slots: neither server learns more than one bit.

The decryption server D holds Y, the compute server C holds R; v = Y - R modulo P, |v| < P / 2. Doubling modulo an odd P
makes the sign a parity: v < 0 iff lsb(2Y) ⊕ lsb(2R) ⊕ [2Y < 2R], all modulo P. The comparison is that of Damgård,
Geisler and Krøigaard (ACISP 2007), folded into one plaintext matrix. Laws of the messages: decision 0302.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from privjail.encrypted.numbers import BITS, PRIMES, SLOT_FLOOD, SLOTS, P, Whole, uniform, wide_flood
from privjail.encrypted.seal import Public, Secret
from privjail.errors import DPError

ROWS = BITS + 1  # one for each bit, and one that tells equal numbers from smaller ones


def bits_of(numbers: Whole) -> Whole:
    """[bit, slot], lowest bit first."""
    return (numbers[None, :] >> np.arange(BITS)[:, None]) & 1


def in_slots(numbers: Whole) -> Whole:
    """Numbers in the first slots, 0 in the others."""
    if len(numbers) > SLOTS:
        raise DPError(f"{len(numbers)} comparisons do not fit into {SLOTS} slots")
    return np.pad(numbers, (0, SLOTS - len(numbers)))


# -- D: encrypt the bits of 2Y


def encrypted_bits(secret: Secret, share: Whole) -> list[bytes]:
    """D's first message: the bits of 2Y modulo P."""
    return [secret.encrypted(bit) for bit in bits_of(in_slots(2 * share % P))]


# -- C: compare blindly


class Blinding:
    """What C draws for one comparison in each slot: a coin, a factor for each row, an order of the rows."""

    def __init__(self) -> None:
        self.coins = uniform(2, SLOTS)
        self.factors = 1 + uniform(P - 1, ROWS, SLOTS)
        self.order = np.argsort(uniform(2**62, ROWS, SLOTS), axis=0)


def rows_of(share: Whole) -> tuple[Whole, Whole]:
    """The tests as numbers: row i of a slot is constants[i] + Σ_j factors[i, j] · Y_j, without s and without blinding.

    Row 0 compares a bit that is 1 in 2Y and 0 in 2R: equal numbers count as "not smaller".
    """
    r = bits_of(in_slots(2 * share % P))
    factors = np.zeros((ROWS, BITS, SLOTS), dtype=np.int64)
    constants = np.zeros((ROWS, SLOTS), dtype=np.int64)
    for i in range(ROWS):
        constants[i] = 3 * r[i:].sum(axis=0) + (1 if i == 0 else -r[i - 1])
        factors[i, i:] = 3 * (1 - 2 * r[i:])
        if i > 0:
            factors[i, i - 1] = 1
    return constants, factors


def blinded(public: Public, received: list[bytes], share: Whole, blinding: Blinding) -> list[bytes]:
    """C's message: 25 ciphertexts. In a slot one of them is 0 iff [2Y < 2R] ⊕ coin."""
    scheme = public.scheme
    if len(received) != BITS:
        raise DPError(f"a comparison has {BITS} ciphertexts, not {len(received)}")
    constants, factors = rows_of(share)
    constants = constants + (1 - 2 * blinding.coins)
    inputs = [scheme.loaded(scheme.seal.Ciphertext(), each) for each in received]
    for each in inputs:
        scheme.evaluator.transform_to_ntt_inplace(each)
    slot = np.arange(SLOTS)
    sent = []
    for place in range(ROWS):
        row, times = blinding.order[place], blinding.factors[place]
        total = combined(scheme, inputs, factors[row, :, slot].T * times % P)
        sent.append(flooded(public, total, constants[row, slot] * times % P))
    return sent


def combined(scheme: Any, inputs: list[Any], factors: Whole) -> Any:
    """Σ_j factors[j] · inputs[j]; the inputs are in NTT form, the result is not. Empty if all factors are 0."""
    total = scheme.seal.Ciphertext()
    for ciphertext, row in zip(inputs, factors, strict=True):
        if not row.any():
            continue
        plain, part = scheme.seal.Plaintext(), scheme.seal.Ciphertext()
        scheme.encoder.encode(row.tolist(), plain)
        scheme.evaluator.transform_to_ntt_inplace(plain, ciphertext.parms_id())
        scheme.evaluator.multiply_plain(ciphertext, plain, part)
        if total.size():
            scheme.evaluator.add_inplace(total, part)
        else:
            total = part
    if total.size():
        scheme.evaluator.transform_from_ntt_inplace(total)
    return total


def flooded(public: Public, ciphertext: Any, constants: Whole) -> bytes:
    """The ciphertext plus constants, as bytes that show only what it decrypts to."""
    scheme = public.scheme
    return scheme.words(smaller(scheme, drown(public, ciphertext, constants))).astype("<u8").tobytes()


def smaller(scheme: Any, ciphertext: Any) -> Any:
    """Over one prime, to send less. Needs no secret, so it shows nothing more."""
    for _ in scheme.primes[1:]:
        scheme.evaluator.mod_switch_to_next_inplace(ciphertext)
    return ciphertext


def drown(public: Public, ciphertext: Any, constants: Whole) -> Any:
    """A fresh encryption of 0 hides which ciphertexts c1 was made of; numbers uniform in ± 2**112 hide the noise."""
    scheme, seal = public.scheme, public.scheme.seal
    fresh, plain = public.zero(), seal.Plaintext()
    if ciphertext.size():
        scheme.evaluator.add_inplace(fresh, ciphertext)
    scheme.encoder.encode(constants.tolist(), plain)
    scheme.evaluator.add_plain_inplace(fresh, plain)
    words = scheme.words(fresh).copy()
    for i, (prime, noise) in enumerate(zip(PRIMES, wide_flood(SLOT_FLOOD, SLOTS), strict=True)):
        words[0, i] = (words[0, i] + noise) % np.uint64(prime)
    return scheme.ciphertext(words)


# -- D: look for a 0


def decrypted(secret: Secret, message: bytes) -> Whole:
    """The slots of a flooded ciphertext."""
    if len(message) != 16 * SLOTS:
        raise DPError("a ciphertext between the servers was cut off")
    words = np.frombuffer(message, dtype="<u8").reshape(2, 1, SLOTS)
    return secret.slots(secret.scheme.ciphertext(words)).astype(np.int64)


def found_zero(secret: Secret, received: list[bytes]) -> Whole:
    """For each slot, whether one of C's 25 numbers is 0."""
    if len(received) != ROWS:
        raise DPError(f"a comparison has {ROWS} ciphertexts, not {len(received)}")
    zeros = np.array([decrypted(secret, each) == 0 for each in received])
    return np.asarray(zeros.any(axis=0), dtype=np.int64)


def sign_share(bits: Whole, share: Whole) -> Whole:
    """A server's share of [v < 0]: D's from whether it found a 0, C's from its coins. Their xor is the sign."""
    return bits[: len(share)] ^ (2 * share % P & 1)


# -- the AND of two shared bits


def encrypted_pair(secret: Secret, a: Whole, b: Whole) -> list[bytes]:
    """D's second message: its shares of two bits and their product, encrypted."""
    return [secret.encrypted(in_slots(each)) for each in (a, b, a * b)]


def both(public: Public, received: list[bytes], a: Whole, b: Whole) -> bytes:
    """C's second message: (a ⊕ D's) AND (b ⊕ D's), linear in what D sent."""
    if len(received) != 3:
        raise DPError(f"an AND has 3 ciphertexts, not {len(received)}")
    scheme = public.scheme
    inputs = [scheme.loaded(scheme.seal.Ciphertext(), each) for each in received]
    for each in inputs:
        scheme.evaluator.transform_to_ntt_inplace(each)
    u, v = 1 - 2 * a, 1 - 2 * b
    factors = np.array([in_slots(each % P) for each in (b * u, a * v, u * v)])
    return flooded(public, combined(scheme, inputs, factors), in_slots(a * b))
