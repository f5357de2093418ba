"""Records: bytes, keys, envelopes, and the tests that tell one unit from everything else.

False alarms: every statistical line fails on good code with probability at most 1e-6.
"""

from __future__ import annotations

import os

import itertools

import numpy as np
import pytest
from scipy import stats

from privjail.encrypted import envelope, onehot, records
from privjail.encrypted.numbers import MOST_BINS, P, uniform
from privjail.encrypted.onehot import TESTS
from privjail.encrypted.records import Encryptor, Proof, Sum, packed_values, pads, rows_of, size_of, sketched, values_of
from privjail.errors import PlanError

STUDY = bytes(range(32))


@pytest.fixture(scope="module")
def keys():
    return envelope.new_keys()


def even(numbers, cells=16) -> bool:
    counts = np.bincount(np.ravel(numbers) * cells // P, minlength=cells)
    return bool(stats.chisquare(counts).pvalue > 1e-6)


# -- bytes


def test_values_take_three_bytes_each_and_are_read_where_they_lie():
    for bins in (2, 3, 64, 100, MOST_BINS):
        values = uniform(P, 5, bins)
        values[0, :2] = P - 1, 0
        raw = b"".join(packed_values(row) + bytes(records.PROOF_BYTES) for row in values)
        assert (values_of(rows_of(raw, bins), bins) == values).all()
        assert len(raw) == 5 * size_of(bins)
    assert size_of(4096) == 12_520 and size_of(64) == 424


def test_the_size_of_a_record_is_that_of_its_parts(keys):
    record = Encryptor(STUDY, keys[0], 9).record(3)
    proof = Proof.read(record, 9)
    assert len(record) == size_of(9) == 27 + sum(map(len, proof))
    assert records.name_of(memoryview(record), 9) == proof.name


def test_a_bin_that_does_not_exist_is_refused(keys):
    for value in (-1, 9):
        with pytest.raises(PlanError, match="none of the study's bins"):
            Encryptor(STUDY, keys[0], 9).record(value)


def test_values_out_of_range_are_found_and_sums_are_exact(keys):
    bins, n = 5, 2 * onehot.FEW + 3
    made = [bytearray(Encryptor(STUDY, keys[0], bins).record(i % bins)) for i in range(n)]
    values = values_of(rows_of(b"".join(made), bins), bins).astype(np.int64)
    _, total, inside = sketched(rows_of(b"".join(made), bins), bins, STUDY)
    assert inside.all() and (total == values.sum(axis=0) % P).all()
    for place in (3, onehot.FEW, n - 1):
        made[place][: 3 * bins] = packed_values(np.array([0, 0, 0, 0, P]))
    made[7][3 * bins + 96 : 3 * bins + 100] = P.to_bytes(4, "little")  # a mask
    _, _, inside = sketched(rows_of(b"".join(made), bins), bins, STUDY)
    assert np.flatnonzero(~inside).tolist() == [3, 7, onehot.FEW, n - 1]


def test_a_sum_knows_which_batches_are_in_it_and_in_which_order():
    one, two = b"1" * 32, b"2" * 32
    first = Sum.empty(3).plus(np.array([1, 2, P - 1]), 2, one).plus(np.array([0, 0, 3]), 1, two)
    assert first.values.tolist() == [1, 2, 2] and first.submissions == 3
    other = Sum.empty(3).plus(np.array([0, 0, 3]), 1, two).plus(np.array([1, 2, P - 1]), 2, one)
    assert (other.values == first.values).all() and other.chain != first.chain


# -- what hides a record


def test_without_the_key_values_are_uniform_whatever_the_bin(keys):
    made = Encryptor(STUDY, keys[0], 64)
    for value in (None, 5):
        found, _, _ = sketched(rows_of(b"".join(made.record(value) for _ in range(300)), 64), 64, STUDY)
        values = values_of(rows_of(b"".join(made.record(value) for _ in range(300)), 64), 64).astype(np.int64)
        assert even(values) and even(values[:, 5], 8)
        assert even(found.opened) and even(found.a) and even(found.b)  # what the decryption server sees, and the masks


def test_keys_stand_for_uniform_numbers_and_no_two_for_the_same():
    found = np.array([np.concatenate(pads(i.to_bytes(32, "big"), 4096)) for i in range(50)])
    assert found.shape == (50, 4096 + 2 * TESTS) and found.min() >= 0 and found.max() < P and even(found, 64)
    assert len({row.tobytes() for row in found}) == 50
    assert (pads(bytes(32), 7)[0] == pads(bytes(32), 7)[0]).all()


def test_an_envelope_is_opened_by_its_receiver_for_its_study_only(keys):
    public, secret = keys
    sealed = envelope.sealed(public, STUDY, b"content", os.urandom(32))
    assert envelope.Opener(secret, STUDY).opened(sealed) == b"content"
    assert len(sealed) == len(b"content") + envelope.OVERHEAD
    other = envelope.new_keys()[1]
    for opener in (envelope.Opener(secret, bytes(32)), envelope.Opener(other, STUDY)):
        assert opener.opened(sealed) is None
    for bad in (b"", sealed[:40], sealed[:-1], bytes(32) + sealed[32:], sealed + b"x"):  # bytes(32): secret always 0
        assert envelope.Opener(secret, STUDY).opened(bad) is None
    assert envelope.sealed(public, STUDY, b"content", os.urandom(32)) != sealed


# -- the tests


def exact(values, seed):
    """z and s in Python's whole numbers."""
    rows, columns = onehot.square(len(values))
    (alpha,), (beta,) = onehot.challenges([seed], len(values))
    z, s = [], []
    for a, b in zip(alpha.tolist(), beta.tolist(), strict=True):
        r = [a[i // columns] * b[i % columns] for i in range(len(values))]
        z.append(sum(x * v for x, v in zip(r, values, strict=True)) % P)
        s.append(sum(x * x * v for x, v in zip(r, values, strict=True)) % P)
    return z, s


@pytest.mark.parametrize("bins", [2, 3, 5, 16, 17, 63, 4095, 4096])
def test_sketches_are_exact_for_the_largest_numbers(bins):
    rows = np.full((3, bins), P - 1)
    rows[1:] = uniform(P, 2, bins)
    seeds = [bytes([i]) * 32 for i in range(3)]
    z, s = onehot.sketches(rows, seeds)
    for i in range(3):
        assert exact(rows[i].tolist(), seeds[i]) == (z[i].tolist(), s[i].tolist())


def test_the_square_holds_all_bins():
    for bins in range(2, 300):
        rows, columns = onehot.square(bins)
        assert rows * columns >= bins and rows <= columns <= 18
    assert onehot.square(MOST_BINS) == (64, 64)


def test_one_unit_or_nothing_passes_and_nothing_else():
    """All records of four bins with values among 0, 1, 2, -1, 1/2 and 3: only five of them pass."""
    values = np.array(list(itertools.product((0, 1, 2, P - 1, (P + 1) // 2, 3), repeat=4)))
    passed = np.ones(len(values), dtype=bool)
    z, s = onehot.sketches(values, [i.to_bytes(32, "big") for i in range(len(values))])
    passed = (z * z % P == s).all(axis=1)
    assert sorted(values[passed].tolist()) == sorted([[0] * 4, *np.eye(4, dtype=int).tolist()])


def test_challenges_are_uniform_and_of_their_record():
    alpha, beta = onehot.challenges([bytes([i]) * 32 for i in range(200)], 4096)
    assert even(alpha) and even(beta) and alpha.shape == beta.shape == (200, TESTS, 64)
    assert len({row.tobytes() for row in alpha}) == 200


def test_shares_of_the_outcome_add_up_to_z_squared_minus_s():
    z, s, mask = uniform(P, 50, TESTS), uniform(P, 50, TESTS), uniform(P, 50, TESTS)
    z1, s1, a1, b1 = (uniform(P, 50, TESTS) for _ in range(4))
    z2, s2, a2, b2 = ((x - y) % P for x, y in ((z, z1), (s, s1), (mask, a1), (mask * mask, b1)))
    total = (onehot.opening(z1, a1) + onehot.opening(z2, a2)) % P
    found = onehot.outcome(total, s1, a1, b1, first=True) + onehot.outcome(total, s2, a2, b2, first=False)
    assert (found % P == (z * z - s) % P).all()
