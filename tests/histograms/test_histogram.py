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
            assert sum(s.each) == Fraction(3, 10) and len(s.epsilons) == len(s.sizes) == len(s.scales)
            assert all(Fraction(scale) * eps >= distance for scale, eps in zip(s.scales, s.each, strict=True))
    with pytest.raises(PlanError, match="a histogram is for"):
        block_tree.split(1, 10, purpose="all")


def unbiased_errors(bins: int, sizes: tuple[int, ...], shares: list[float]) -> np.ndarray:
    """Root mean squares of single bins, prefixes and ranges, at ε = 1."""
    spread = NestedSpread(Nest(bins, sizes, tuple(2 / share**2 for share in shares)))
    ends = np.unique(np.linspace(0, bins, 25).astype(int) + np.arange(25) % 3).clip(0, bins).tolist()
    asked = [
        [(0, 1), (bins // 3, bins // 3 + 1)],
        [(0, b) for b in ends],
        [(a, b) for a in ends for b in ends if a < b],
    ]
    return np.sqrt([np.mean([spread.variance(a, b) for a, b in each]) for each in asked])


@pytest.mark.parametrize("bins", [64, 256, 1024, 4096])
def test_sizes_and_shares_for_ranges_are_about_the_best(bins):
    """The formula leaves out what blocks know of each other: within 6 % of the best error of a search."""
    found = block_tree.shares(bins, "ranges")
    powers = [2**i for i in range(2, bins.bit_length() - 1)]
    rivals = [((1, b), [s, 1 - s]) for b in powers for s in (0.4, 0.5, 0.6, 0.7)]
    thirds = [(0.3, 0.3), (0.4, 0.3), (0.4, 0.4), (0.3, 0.4), (0.5, 0.3)]
    rivals += [((1, a, b), [s, t, 1 - s - t]) for a in powers[::2] for b in powers if b > 2 * a for s, t in thirds]
    best = min(np.prod(unbiased_errors(bins, sizes, each)[1:]) for sizes, each in rivals)
    ours = np.prod(unbiased_errors(bins, tuple(found), [float(s) for s in found.values()])[1:])
    assert np.sqrt(ours / best) < 1.06
    leaves = [block_tree.shares(bins, purpose)[1] for purpose in block_tree.PURPOSES]
    assert leaves == sorted(leaves, reverse=True) and leaves[0] == Fraction(85, 100)
    assert sum(found.values()) == 1


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
