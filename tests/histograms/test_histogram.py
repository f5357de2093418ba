"""A released histogram: ranges, errors, json."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from privjail.errors import DPError, PlanError
from privjail.histograms import Law, PrivateHistogram, hierarchy, identity, block_tree as ours, partition, wavelet


def released(n: int = 300, size: int = 128, draws: int = 1) -> PrivateHistogram:
    rng = np.random.default_rng(7)
    counts = rng.poisson(20, n)
    s = ours.split(0.5)
    leaf, block = Law.of(s.leaf_scale, draws), Law.of(s.block_scale, draws)
    leaves = counts + rng.integers(-5, 6, n)
    blocks = ours.block_sums(counts, size) + rng.integers(-5, 6, -(-n // size))
    return ours.estimate(leaves, blocks, size, leaf, block, epsilons=s.epsilons)


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
        s = ours.split(0.3, relation)
        assert s.leaf_epsilon + s.block_epsilon == Fraction(3, 10)
        assert Fraction(s.leaf_scale) * s.leaf_epsilon >= distance
        assert Fraction(s.block_scale) * s.block_epsilon >= distance


def test_the_repr_says_what_it_is():
    text = repr(released(draws=2))
    assert "300 bins" in text and "add-remove" in text and "0.5 = 0.425 leaves + 0.075 blocks" in text


@pytest.mark.parametrize("module", [identity, ours, partition, hierarchy, wavelet])
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


def test_a_smoothed_text_that_lacks_blocks_is_refused():
    text = json.loads(ours.release(np.arange(300), 1).to_json())
    text["spread"]["blocks"] = text["spread"]["blocks"][:-1]
    with pytest.raises(PlanError, match="other bins than counts"):
        PrivateHistogram.from_json(json.dumps(text))
