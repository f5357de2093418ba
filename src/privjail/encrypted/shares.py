"""From the encrypted histogram to two shares, each uniform alone: what the compute server sends to be decrypted."""

from __future__ import annotations

import numpy as np

from privjail.encrypted.numbers import DEGREE, RECORD_FLOOD, K, P, Q, Whole, Words, flood, uniform
from privjail.encrypted.records import Sum
from privjail.encrypted.seal import Secret


def new_masks(bins: int) -> Whole:
    """One number for each bin, uniform modulo P."""
    return uniform(P, bins)


def masked(total: Sum, masks: Whole) -> Words:
    """c1, and c0 with K · mask and flood added: decrypts to count + mask modulo P.

    K · P is Q - 1, so a count that wraps around P moves the noise by 1 and by nothing else. The flood hides that.
    """
    moved = [
        (int(c) + K * int(mask) + noise) % Q
        for c, mask, noise in zip(total.c0, masks, flood(RECORD_FLOOD, total.bins), strict=True)
    ]
    return np.concatenate([total.c1, np.array(moved, dtype=np.uint64)])


def opened(secret: Secret, message: Words) -> Whole:
    """The decryption server's share: count + mask modulo P, for each bin."""
    bins = len(message) - DEGREE
    words = np.zeros((2, 1, DEGREE), dtype=np.uint64)
    words[0, 0, :bins], words[1, 0] = message[DEGREE:], message[:DEGREE]
    return secret.coefficients(secret.scheme.ciphertext(words))[:bins].astype(np.int64)
