"""The scheme of comparisons: parameters, sampling, and how much noise stands in which ciphertext."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from privjail.encrypted import compare, seal
from privjail.encrypted.numbers import BITS, KEY_PRIME, PRIMES, SLOT_FLOOD, SLOTS, P, centred, uniform, wide_flood
from privjail.errors import DPError


@pytest.fixture(scope="module")
def slot_keys():
    public, secret = seal.slots().new_keys()
    return seal.Public(seal.slots(), public), seal.Secret(seal.slots(), secret)


def test_the_scheme_is_a_128_bit_set_of_seals_own_table():
    s, scheme, bits = seal.api(), seal.slots(), math.prod((*PRIMES, KEY_PRIME)).bit_length()
    assert bits <= s.CoeffModulus.MaxBitCount(scheme.degree, s.SEC_LEVEL_TYPE.TC128)
    assert scheme.context.key_context_data().qualifiers().sec_level == s.SEC_LEVEL_TYPE.TC128
    assert scheme.context.key_context_data().total_coeff_modulus_bit_count() == bits


def test_a_weaker_set_is_refused():
    with pytest.raises(DPError, match="not safe"):
        seal.Scheme(4096, (*PRIMES, KEY_PRIME))  # 200 bits where 109 are the limit


def test_the_primes_are_what_the_argument_needs():
    s = seal.api()
    for prime in (*PRIMES, KEY_PRIME):
        assert s.Modulus(prime).is_prime() and prime % P == 1 and prime % (2 * SLOTS) == 1
    assert s.Modulus(P).is_prime() and P % (2 * SLOTS) == 1 and P.bit_length() == BITS and 3 * BITS + 3 < P


def test_uniform_numbers_are_uniform_and_whole_range():
    drawn = uniform(P, 200_000)
    assert stats.chisquare(np.bincount(drawn * 64 // P, minlength=64)).pvalue > 1e-6
    assert set(uniform(3, 1000)) == {0, 1, 2}


def test_wide_floods_are_uniform_numbers_given_by_their_residues():
    product = PRIMES[0] * PRIMES[1] * PRIMES[2]
    rows = np.array(wide_flood(112, 5000)).T.tolist()
    # Chinese remainders
    weights = [product // q * pow(product // q, -1, q) for q in PRIMES]
    found = [sum(int(r) * w for r, w in zip(row, weights, strict=True)) % product for row in rows]
    numbers = [x - product if x > product // 2 else x for x in found]

    assert min(numbers) >= -(2**112) and max(numbers) < 2**112
    assert stats.kstest(np.array([float(x) for x in numbers]) / 2.0**112, stats.uniform(-1, 2).cdf).pvalue > 1e-6
    assert stats.chisquare(np.bincount([x % 64 for x in numbers], minlength=64)).pvalue > 1e-6


def test_the_flood_of_slots_drowns_the_noise_of_the_computation(slot_keys):
    """± 2**112 against a noise that must be below 2**53: measured by what SEAL says is left."""
    public, secret = slot_keys
    scheme = public.scheme
    share = uniform(P, SLOTS)
    inputs = [scheme.loaded(scheme.seal.Ciphertext(), each) for each in compare.encrypted_bits(secret, share)]
    for each in inputs:
        scheme.evaluator.transform_to_ntt_inplace(each)
    total = compare.combined(scheme, inputs, uniform(P, BITS, SLOTS))
    room = 3 * 50 - BITS  # log2 of q / P
    before = room - secret.noise_bits(total)
    after = room - secret.noise_bits(compare.drown(public, total, np.zeros(SLOTS, dtype=np.int64)))

    assert before <= 53  # the hard bound of the decision note
    assert SLOT_FLOOD - 1 <= after <= SLOT_FLOOD + 2
    assert after - before >= 59  # 2**-59 for each coefficient, 2**-41 for all


def test_signs_of_shared_numbers(slot_keys):
    public, secret = slot_keys
    rng = np.random.default_rng(3)
    v = rng.integers(-(P // 2), P // 2 + 1, SLOTS)
    v[:10] = [0, 1, -1, 2, -2, P // 2, -(P // 2), P // 2 - 1, 1 - P // 2, 7]
    r = uniform(P, SLOTS)
    r[:3] = 0, P - 1, (P + 1) // 2
    y = (v + r) % P
    blinding = compare.Blinding()
    rows = compare.blinded(public, compare.encrypted_bits(secret, y), r, blinding)
    found = compare.found_zero(secret, rows)
    d, c = compare.sign_share(found, y), compare.sign_share(blinding.coins, r)
    half = SLOTS // 2
    both = compare.both(public, compare.encrypted_pair(secret, d[:half], d[half:]), c[:half], c[half:])

    assert ((d ^ c) == (v < 0)).all()
    assert (compare.decrypted(secret, both)[:half] == ((v[:half] < 0) & (v[half:] < 0))).all()
    assert (compare.decrypted(secret, both)[half:] == 0).all()
    assert (centred(y - r) == v).all()
    # What D decrypts is exactly what the tests on laws (test_views.py) compute in the clear.
    from .test_views import rows_in_the_clear

    assert (np.array([compare.decrypted(secret, row) for row in rows]) == rows_in_the_clear(y, r, blinding)).all()
