"""A released histogram: ranges, errors, json."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from privjail.errors import DPError, PlanError
from privjail.histograms import Law, PrivateHistogram, hierarchy, identity, block_tree, partition, wavelet
from privjail.histograms.nested import Nest, NestedSpread


def released(n: int = 300, size: int = 128, draws: int = 1) -> PrivateHistogram:
    rng = np.random.default_rng(7)
    counts = rng.poisson(20, n)
    s = block_tree.split(0.5, n)
    leaf, block = Law.of(s.leaf_scale, draws), Law.of(s.block_scale, draws)
    leaves = counts + rng.integers(-5, 6, n)
    blocks = block_tree.block_sums(counts, size) + rng.integers(-5, 6, -(-n // size))
    return block_tree.estimate(leaves, blocks, size, leaf, block, epsilons=s.epsilons)


def test_a_range_is_the_sum_of_its_bins():
    h = released()
    for a, b in [(0, 300), (0, 0), (17, 18), (100, 257), (128, 256)]:
        assert h.range(a, b) == pytest.approx(h.counts[a:b].sum())


@pytest.mark.parametrize("a, b", [(-1, 3), (3, 2), (0, 301)])
def test_what_is_no_range_is_refused(a, b):
    with pytest.raises(DPError, match="no range"):
        released().range(a, b)
    with pytest.raises(DPError, match="no range"):
        released().error(a, b)


def test_json_brings_everything_back():
    h = released(draws=2)
    back = PrivateHistogram.from_json(h.to_json())
    assert np.array_equal(back.counts, h.counts) and back.laws == h.laws and back.epsilons == h.epsilons
    assert back.error(3, 200) == h.error(3, 200) and back.exact == h.exact and back.neighbours == h.neighbours
    assert all(np.array_equal(back.released[k], h.released[k]) for k in h.released)
    with pytest.raises(DPError, match="no released histogram"):
        PrivateHistogram.from_json("[1]")
    for part in ({"epsilons": {"a": "1/0"}}, {"released": {"a": [10**30]}}):  # a server may send anything
        with pytest.raises(DPError, match="no released histogram"):
            PrivateHistogram.from_json(json.dumps(json.loads(h.to_json()) | part))
    with pytest.raises(DPError, match="no released histogram"):
        PrivateHistogram.from_json("[" * 100_000)


def test_the_split_adds_up_to_epsilon():
    for relation, distance in [("add-remove", 1), ("replace", 2)]:
        for bins, purpose in [(2, "bins"), (300, "both"), (4096, "ranges")]:
            s = block_tree.split(0.3, bins, relation, purpose)
            assert s.leaf_epsilon + s.block_epsilon == Fraction(3, 10)
            assert Fraction(s.leaf_scale) * s.leaf_epsilon >= distance
            assert Fraction(s.block_scale) * s.block_epsilon >= distance
    with pytest.raises(PlanError, match="a histogram is for"):
        block_tree.split(1, 10, purpose="all")


@pytest.mark.parametrize("bins", [256, 1024, 4096])
def test_the_share_for_ranges_is_about_the_best_for_the_unbiased_estimate(bins):
    """The formula leaves out what inner blocks know of each other: within 3 % of the best error on a grid."""

    def mean_error(share: float) -> float:
        spread = NestedSpread(Nest(bins, (1, 128), (2 / share**2, 2 / (1 - share) ** 2)))
        return float(np.sqrt(np.mean([spread.variance(0, b) for b in range(1, bins + 1, bins // 64)])))

    best = min(mean_error(share) for share in np.arange(0.3, 0.95, 0.02))
    assert mean_error(float(block_tree.leaf_share(bins, "ranges"))) < 1.03 * best
    shares = [block_tree.leaf_share(bins, purpose) for purpose in block_tree.PURPOSES]
    assert shares == sorted(shares, reverse=True) and shares[0] == Fraction(85, 100)


def test_the_repr_says_what_it_is():
    text = repr(released(draws=2))
    assert "300 bins" in text and "add-remove" in text and "0.5 = 0.395 leaves + 0.105 blocks" in text


@pytest.mark.parametrize("module", [identity, block_tree, partition, hierarchy, wavelet])
def test_a_text_whose_parts_have_different_lengths_is_refused(module):
    h = module.release(np.arange(16), 1)
    text = json.loads(h.to_json())
    for counts in (
        text["counts"] * 3,
        [],
        5,
        [text["counts"]],
    ):  # without the check the last bins had errors of nothing
        with pytest.raises(PlanError, match="no released histogram"):
            PrivateHistogram.from_json(json.dumps(text | {"counts": counts}))


def test_a_text_whose_unbiased_counts_or_errors_are_of_other_bins_is_refused():
    text = json.loads(block_tree.release(np.arange(300), 1).to_json())
    for part in ({"unbiased": text["unbiased"][:-1]}, {"spread": text["spread"] | {"bins": 299}}):
        with pytest.raises(PlanError, match="other bins than counts"):
            PrivateHistogram.from_json(json.dumps(text | part))


def test_intervals_are_those_of_the_unbiased_counts_and_estimates_stay_near_them():
    h = released()
    plain = h.unsmoothed()
    assert plain.method == "block_tree, unsmoothed" and plain.unsmoothed().method == plain.method
    for a, b in [(0, 300), (17, 18), (100, 257), (4, 4)]:
        told = h.answer(a, b)
        far = replace(h, counts=h.counts + 1000.0).answer(a, b).estimate  # as if smoothing had gone astray
        assert abs(told.estimate - plain.range(a, b)) <= abs(far - plain.range(a, b)) + 1e-9
        most = np.log(20 * 300 / max(b - a, 1)) / np.sqrt(2) * h.error(a, b)
        assert far - plain.range(a, b) == pytest.approx(most if b > a else 0.0, abs=1e-6)
        assert (told.low + told.high) / 2 == pytest.approx(plain.range(a, b), abs=1e-6)
        assert told.high - told.low == pytest.approx(2 * 1.959964 * h.error(a, b), abs=1e-4)
        assert h.answer(a, b, 0.5).high <= told.high
    with pytest.raises(PlanError, match="level"):
        h.answer(0, 3, 1.0)
    with pytest.raises(PlanError, match="no interval"):
        partition.release(np.arange(16), 1).answer(0, 3)
