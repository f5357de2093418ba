"""Parameters, packing, sampling, and how much noise stands in which ciphertext."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from privjail.encrypted import compare, onehot, seal, shares
from privjail.encrypted.numbers import (
    BITS,
    DEGREE,
    KEY_PRIME,
    PRIMES,
    RECORD_FLOOD,
    SLOT_FLOOD,
    SLOTS,
    TEST_FLOOD,
    TEST_KEY_PRIME,
    TEST_PRIMES,
    K,
    P,
    Q,
    centred,
    flood,
    uniform,
    wide_flood,
)
from privjail.encrypted.records import (
    C1_BYTES, FEW, MOST_ADDED, Adding, Planes, RecordError, Sum, encrypt_record, fingerprint, pack, pack_record, read_all, read_record,
    rows_of, size_of,
)  # fmt: skip
from privjail.errors import DPError


@pytest.fixture(scope="module")
def record_keys():
    public, secret = seal.records().new_keys()
    return seal.Public(seal.records(), public), seal.Secret(seal.records(), secret)


@pytest.fixture(scope="module")
def slot_keys():
    public, secret = seal.slots().new_keys()
    return seal.Public(seal.slots(), public), seal.Secret(seal.slots(), secret)


@pytest.fixture(scope="module")
def check_keys():
    public, secret = seal.tests().new_keys()
    return seal.Public(seal.tests(), public), seal.Secret(seal.tests(), secret)


def test_all_schemes_are_128_bit_sets_of_seals_own_table():
    s = seal.api()
    sets = (seal.records(), (Q,)), (seal.slots(), (*PRIMES, KEY_PRIME)), (seal.tests(), (*TEST_PRIMES, TEST_KEY_PRIME))
    for scheme, primes in sets:
        bits = math.prod(primes).bit_length()
        assert bits <= s.CoeffModulus.MaxBitCount(scheme.degree, s.SEC_LEVEL_TYPE.TC128)
        assert scheme.context.key_context_data().qualifiers().sec_level == s.SEC_LEVEL_TYPE.TC128
        assert scheme.context.key_context_data().total_coeff_modulus_bit_count() == bits


def test_a_weaker_set_is_refused():
    with pytest.raises(DPError, match="not safe"):
        seal.Scheme(2048, (Q,))  # 56 bits where 54 are the limit


def test_the_primes_are_what_the_argument_needs():
    s = seal.api()
    data = [
        (Q, DEGREE),
        *((prime, SLOTS) for prime in (*PRIMES, KEY_PRIME)),
        *((prime, DEGREE) for prime in TEST_PRIMES),
    ]
    for prime, degree in data:
        assert s.Modulus(prime).is_prime() and prime % P == 1 and prime % (2 * degree) == 1
    assert s.Modulus(P).is_prime() and P % (2 * SLOTS) == 1 and P.bit_length() == BITS
    assert K * P == Q - 1 and 3 * BITS + 3 < P


def test_packing_is_reversible_and_short():
    words = uniform(Q, 64).astype(np.uint64)
    words[:2] = Q - 1, 0
    assert len(pack(words)) == 448
    for n in (1, 2, 3, 5, 64):
        rows = np.frombuffer(pack(words[:n]) * 9, dtype=np.uint8).reshape(9, -1)
        assert (Planes.read(rows, n).words == words[:n]).all()
    assert size_of(4096) == 57_344 and size_of(64) == 29_120


def test_uniform_numbers_are_uniform_and_whole_range():
    drawn = uniform(P, 200_000)
    assert stats.chisquare(np.bincount(drawn * 64 // P, minlength=64)).pvalue > 1e-6
    assert set(uniform(3, 1000)) == {0, 1, 2}
    assert stats.kstest(np.array(flood(30, 20_000)) / 2.0**30, stats.uniform(-1, 2).cdf).pvalue > 1e-6


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


def products_of(weights, words, long=0):
    products = onehot.Products(weights, long)
    for at in range(0, len(words), 4):
        products.add(Planes.of(words[at : at + 4]))
    return products.result()


def noise_of(secret, total: Sum, message):
    """What stands beside K · plaintext in c0 + c1 · s, as the holder of the key can compute it."""
    from privjail.encrypted.onehot import adjoint, key_vector

    key, rows = key_vector(secret), []
    for i in range(total.bins):
        unit = np.zeros((1, total.bins), dtype=np.int64)
        unit[0, i] = 1
        rows.append(adjoint(key, unit)[0])
    turned = [row[0] for row in zip(*products_of(np.array(rows), message[None, :DEGREE]).tolist(), strict=True)]
    phase = [(int(c) + t) % Q for c, t in zip(message[DEGREE:], turned, strict=True)]
    rounded = [(x + K // 2) // K % P for x in phase]
    noise = [(x - K * y) % Q for x, y in zip(phase, rounded, strict=True)]
    return np.array([x - Q if x > Q // 2 else x for x in noise]), np.array(rounded)


def total_of(public, bins: int, values) -> Sum:
    return read_all(rows_of(b"".join(encrypt_record(public, bins, v) for v in values), bins), bins)[0]


def test_noise_of_records_and_flood_are_as_argued(record_keys):
    public, secret = record_keys
    total = total_of(public, 64, [i % 64 for i in range(128)])
    plain = np.concatenate([total.c1, total.c0])
    before, counts = noise_of(secret, total, plain)
    after, _ = noise_of(secret, total, shares.masked(total, shares.new_masks(64)))

    assert counts.tolist() == [2] * 64
    assert np.abs(before).max() < 2**16  # about 240 · √128, six times
    assert stats.kstest(after / 2.0**RECORD_FLOOD, stats.uniform(-1, 2).cdf).pvalue > 1e-6
    assert np.abs(after).max() < K / 2 - 2**20


def test_a_wrap_moves_the_noise_by_one_and_by_nothing_else(record_keys, monkeypatch):
    public, secret = record_keys
    monkeypatch.setattr(shares, "flood", lambda bits, n: [0] * n)
    total = total_of(public, 4, [0, 1, 2, 3])
    before, _ = noise_of(secret, total, np.concatenate([total.c1, total.c0]))
    masks = np.array([0, P - 1, P - 2, 5])  # bin 1 wraps: 1 + P - 1
    after, y = noise_of(secret, total, shares.masked(total, masks))

    assert y.tolist() == [1, 0, P - 1, 6]
    assert (after - before).tolist() == [0, -1, 0, 0]


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


def batch_test(check_keys, wrong):
    """What D decrypts of C's message, where record j fails the test by wrong[j]."""
    public, secret = check_keys
    wrong = np.asarray(wrong)
    masks, z1 = uniform(P, len(wrong), onehot.ROWS), uniform(P, len(wrong))
    mask1, mask2 = onehot.joined(masks)
    shares = (z1 + mask1) % P, (z1 * z1 - wrong + mask2) % P
    message = onehot.tested_batch(public, onehot.encrypted_batch(secret, *shares), masks)
    words = np.zeros((2, 1, DEGREE), dtype=np.uint64)
    words[0, 0, 0], words[1, 0] = np.frombuffer(message, "<u8")[0], np.frombuffer(message, "<u8")[1:]
    assert onehot.passed_batch(secret, message) == (secret.constant(secret.scheme.ciphertext(words)) == 0)
    return secret.constant(secret.scheme.ciphertext(words))


def test_a_batch_is_one_number_0_if_all_records_pass_and_uniform_otherwise(check_keys):
    assert [batch_test(check_keys, [0] * n) for n in (1, 7, onehot.MOST_CHECKED)] == [0, 0, 0]
    assert batch_test(check_keys, [0] * (onehot.MOST_CHECKED - 1) + [1]) != 0
    # Two owners whose errors cancel in the sum: each has a factor of its own, so that they do not.
    seen = [batch_test(check_keys, [0, 5, P - 5, 0]) for _ in range(160)]
    assert stats.chisquare(np.bincount(np.array(seen) * 8 // P, minlength=8)).pvalue > 1e-6


def test_without_factors_of_their_own_two_errors_cancel(check_keys, monkeypatch):
    """The control: one factor for all records, and the same two owners pass."""
    monkeypatch.setattr(onehot, "uniform", lambda below, *shape: np.full(shape, 3, dtype=np.int64))
    assert batch_test(check_keys, [0, 5, P - 5, 0]) == 0


def test_a_batch_whose_factors_are_all_0_is_sent_all_the_same(check_keys, monkeypatch):
    """One in P batches of one record: SEAL refuses to multiply by 0."""
    monkeypatch.setattr(onehot, "uniform", lambda below, *shape: np.zeros(shape, dtype=np.int64))
    assert batch_test(check_keys, [5]) == 0


def test_the_flood_of_a_test_drowns_its_noise(check_keys, monkeypatch):
    """± 2**66 against at most 2**28: measured on the largest factors that C can have, by what SEAL says is left."""
    public, secret = check_keys
    scheme, room = public.scheme, math.log2(math.prod(TEST_PRIMES) / P)
    ciphertext = scheme.loaded(scheme.seal.Ciphertext(), secret.encrypted_polynomial(uniform(P, DEGREE)))
    scheme.evaluator.multiply_plain_inplace(ciphertext, scheme.plaintext(np.full(DEGREE, 2**11)))
    before = room - secret.noise_bits(ciphertext)
    monkeypatch.setattr(onehot, "flood", lambda bits, n: [2**bits - 1] * n)
    monkeypatch.setattr(onehot, "smaller", lambda _, each: each)
    after = room - secret.noise_bits(onehot._drowned(scheme, ciphertext, 0))

    assert before <= 28  # 21 · 2**11 · 4096, the hard bound of the decision note
    assert TEST_FLOOD - 1 <= after <= TEST_FLOOD + 1
    for constant in (0, 1, P - 1):  # the largest flood, either way, is still rounded away
        for sign in (1, -1):
            monkeypatch.undo()
            monkeypatch.setattr(onehot, "flood", lambda bits, n, sign=sign: [sign * 2**bits] * n)
            assert secret.constant(onehot._drowned(scheme, public.zero(), constant)) == constant


def test_products_are_exact_for_the_largest_numbers():
    rng = np.random.default_rng(1)
    words = np.full((11, 300), Q - 1, dtype=np.uint64)
    words[1:] = rng.integers(0, Q, (10, 300), dtype=np.uint64)
    weights = rng.integers(-(2**23), 2**23 + 1, (5, 300))
    weights[0] = 2**23
    mixed = np.concatenate([weights % 2048, weights[:2]])
    for some, long in ((weights, 5), (weights % 2048, 0), (mixed, 2), (weights % 2048, 1)):  # of two digits, and of one
        exact = words.astype(object) @ some.astype(object).T % Q
        assert (products_of(some, words, long).astype(object) == exact).all()
    for large, long in ((2**24, 1), (2**12, 0)):
        with pytest.raises(DPError, match="too large"):
            products_of(np.full((1, 300), large), words, long)


def test_sums_are_exact_beyond_what_a_word_holds():
    n, bins = 700, 5
    record = pack_record(np.full(DEGREE + bins, Q - 1, dtype=np.uint64))
    for adder in (None, onehot.Totals(np.ones((1, bins), dtype=np.int64))):
        once, wrong = read_all(rows_of(record * n, bins), bins, adder)
        total = once.plus(once)
        assert not wrong and set(total.words.tolist()) == {2 * n * (Q - 1) % Q} and total.submissions == 2 * n


def test_no_more_is_added_than_fits():
    rows = [
        Planes(*(np.repeat(plane, n, axis=0) for plane in Planes.of(np.full((1, 1), 2**56 - 1, dtype=np.uint64))))
        for n in (FEW, FEW + 1)
    ]
    adding = Adding(1)
    with pytest.raises(DPError, match="more than 64"):  # 257 low parts of 8 bits fill 16 bits
        adding.add(rows[1])
    adding = Adding(1)
    for _ in range(MOST_ADDED // FEW):
        adding.add(rows[0])
    assert adding.words.tolist() == [MOST_ADDED * (2**56 - 1) % Q]
    with pytest.raises(DPError, match="65536 in one sum"):  # 2**16 middle parts of 16 bits fill 32 bits
        adding.add(rows[0])


def test_one_pass_sums_what_is_in_range_and_shows_all_of_c0():
    bins, n = 6, FEW + 5
    words = uniform(Q, n, DEGREE + bins).astype(np.uint64)
    bad = [3, 20, FEW + 2]  # in the first pass, and in the second
    words[bad, [7, DEGREE + 5, DEGREE + 1]] = Q, 2**56 - 1, Q
    words[FEW + 4, 0] = Q - 1
    for adder in (None, onehot.Totals(np.eye(bins, dtype=np.int64))):
        total, wrong = read_all(rows_of(b"".join(map(pack_record, words)), bins), bins, adder)

        assert wrong == set(bad)
        assert (total.words == np.delete(words, bad, axis=0).astype(object).sum(axis=0) % Q).all()
        assert total.submissions == n - 3
    assert (adder.result() == words[:, DEGREE:] % Q).all()


def test_a_record_begins_with_c1_as_it_is_sent_on():
    bins = 5
    words = uniform(Q, 3, DEGREE + bins).astype(np.uint64)
    for each in words:
        record = pack_record(each)
        assert record[:C1_BYTES] == pack(each[:DEGREE]) and (read_record(record, bins) == each).all()
        assert fingerprint(memoryview(record)) == (each[:4] >> np.uint64(24)).astype("<u4").tobytes()
    for at in (0, DEGREE):
        with pytest.raises(RecordError, match="out of range"):
            read_record(pack_record(np.where(np.arange(DEGREE + bins) == at, np.uint64(Q), words[0])), bins)


def test_fingerprints_are_128_bits_of_c1_and_no_two_records_share_one(record_keys):
    packed = [memoryview(encrypt_record(record_keys[0], 4, 1)) for _ in range(300)]
    marks = np.frombuffer(b"".join(map(fingerprint, packed)), dtype=np.uint8).reshape(300, 16)
    assert len({bytes(mark) for mark in marks}) == 300
    ones = np.unpackbits(marks, axis=1).mean(axis=0)
    assert (np.abs(ones - 0.5) < 0.2).all()  # seven standard deviations: each bit is as good as a coin


def test_digits_are_those_of_the_number_and_small():
    numbers = np.array([0, 1, -1, 2047, 2048, -2048, -2049, P // 2, -(P // 2), *centred(uniform(P, 500))])
    for bits, n in ((onehot.DIGIT, 2), (onehot.SHORT, onehot.DIGITS)):
        found = onehot.digits(numbers, bits, n)
        assert (sum(digit << bits * i for i, digit in enumerate(found)) == numbers).all()
        assert np.abs(found).max() <= 1 << bits - 1


def test_a_challenge_is_the_bits_of_r_and_the_digits_of_its_square():
    rows = onehot.challenge(b"seed", 4096)
    r, square = onehot.joined(rows.T)
    assert rows.shape == (onehot.ROWS, 4096) and set(rows[:BITS].ravel()) == {0, 1}
    assert (r * r % P == square).all() and r.max() < P and len(set(r.tolist())) > 4000
    assert stats.chisquare(np.bincount(r * 64 // P, minlength=64)).pvalue > 1e-6
    assert (rows != onehot.challenge(b"other", 4096)).any(axis=1).all()


# -- fractions of a unit


def checked(record_keys, packed, bins, seed=None):
    """Both servers' halves of the test of fractions, and what stands beside a multiple of K in each product."""
    import os

    seed, key = seed or os.urandom(32), onehot.key_vector(record_keys[1])
    products = onehot.Totals(onehot.challenge(seed, bins))
    read_all(rows_of(b"".join(packed), bins), bins, products)
    c1 = b"".join(each[:C1_BYTES] for each in packed)
    mine, theirs = onehot.halves(key, memoryview(c1), seed, bins), products.result()
    masks = uniform(P, len(packed), onehot.ROWS)
    first, second, whole = onehot.rounded(mine, onehot.masked(theirs, masks))
    beside = ((mine + theirs) % np.uint64(Q)).astype(np.int64)
    joined = [(y - mask) % P for y, mask in zip((first, second), onehot.joined(masks), strict=True)]
    return joined, whole, (beside + K // 2) % K - K // 2


def test_honest_records_lie_far_within_the_room_of_the_test_of_fractions(record_keys):
    """Ten standard deviations: an honest record is refused with probability below 1e-20."""
    bins, seed = 4096, b"of this test"
    packed = [encrypt_record(record_keys[0], bins, i * 37 % bins if i % 9 else None) for i in range(128)]
    (z1, z2), whole, beside = checked(record_keys, packed, bins, seed)
    r, square = onehot.joined(onehot.challenge(seed, bins).T)
    bin = np.arange(128) * 37 % bins
    there = np.arange(128) % 9 > 0

    assert whole.all()
    assert (z1 == r[bin] * there).all() and (z2 == square[bin] * there).all()
    deviation = beside.std(axis=0)
    assert (10 * deviation < onehot.ROOM - onehot.FLOODS).all()
    assert (deviation[:BITS] < 2**14.2).all() and (deviation[BITS:] < 2**20.8).all()


@pytest.mark.parametrize("places", [1, 2, 5])
@pytest.mark.parametrize(
    "fraction",
    [(Q + 1) // 2, (Q - 1) // 2, Q // 3, Q // 4, Q // 5, Q // 7, Q // 8, Q // 2**20, K // 2, K // 3, K // 64, K // 800],
)
def test_fractions_are_found(record_keys, fraction, places):
    """Each but with probability 1 / P. Four digits of 12 bits, as products, are all multiples of three in one of 81."""
    bins, packed = 64, []
    for i in range(64):
        words = read_record(encrypt_record(record_keys[0], bins, i), bins)
        for j in range(places):
            at = DEGREE + (i + 7 * j) % bins
            words[at] = (int(words[at]) + (-1) ** j * fraction) % Q
        packed.append(pack_record(words))
    assert not checked(record_keys, packed, bins)[1].any()


def test_the_argument_about_fractions_has_room():
    """Two bins with fractions too small for the bits to see move no product from one whole number to the next."""
    unseen = 2 * int(onehot.ROOM[0]) + 1
    assert unseen / K < 1 / 900
    assert 2 * 2**onehot.SHORT * unseen + 2 * int(onehot.ROOM[-1]) + 2**20 < K
    # what the servers see of a wrap: 1, which each row of each record shows with this probability
    leak = sum(
        weight / P / (2 * flood)
        for weight, flood in zip([1] * BITS + [128] * onehot.DIGITS, onehot.FLOODS.tolist(), strict=True)
    )
    assert leak < 2**-40.5
