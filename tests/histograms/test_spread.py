"""The stated variance of range queries, against the covariance matrix written out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privjail.histograms import Law, PrivateHistogram, hierarchy, wavelet
from privjail.histograms.spread import BucketSpread, TreeSpread, WaveletSpread, spread_from_json


def ranges(n: int):
    return [(a, b) for a in range(n + 1) for b in range(a, n + 1)]


def check(spread, covariance: np.ndarray) -> None:
    n = len(covariance)
    for s in (spread, spread_from_json(spread.to_json())):
        for a, b in ranges(n):
            assert s.variance(a, b) == pytest.approx(covariance[a:b, a:b].sum(), abs=1e-9), (a, b)


def test_buckets():
    labels = np.array([0, 0, 1, 0, 2, 2])
    share = np.array([[float(a == b) for b in range(3)] for a in labels]) / np.bincount(labels)
    check(BucketSpread(labels, 7.0), 7.0 * share @ share.T)


@pytest.mark.parametrize("bins, fanout", [(8, 2), (9, 3), (16, 4), (3, 2)])
def test_trees_and_their_least_squares(bins, fanout):
    levels = hierarchy.tree_sums(np.eye(bins).astype(int)[0], fanout)
    full = len(levels[0])
    rows = np.vstack([np.vstack([np.concatenate(hierarchy.tree_sums(unit, fanout)) for unit in np.eye(full)]).T])
    spread = TreeSpread(full, fanout, len(levels), 2.5)
    check(spread, 2.5 * np.linalg.inv(rows.T @ rows))
    noisy = np.random.default_rng(1).normal(size=len(rows))
    parts = np.split(noisy, np.cumsum([len(level) for level in levels])[:-1])
    assert hierarchy.consistent_tree(parts, fanout) == pytest.approx(np.linalg.lstsq(rows, noisy, rcond=None)[0])


@pytest.mark.parametrize("width", [1, 2, 8, 16])
def test_wavelets(width):
    back = np.stack([wavelet.invert(unit) for unit in np.eye(width)], axis=1)
    check(WaveletSpread(width, 3.0), 3.0 * back @ back.T)
    counts = np.arange(width) ** 2
    assert wavelet.invert(wavelet.transform(counts).astype(float)) == pytest.approx(counts)


@pytest.mark.parametrize("scales", [(3.0,), (2.0, 2.0), (1.0, 2.5)])
def test_a_law_is_one_law_however_it_is_asked(scales):
    law, reach = Law(scales), 80
    x = np.arange(-reach, reach + 1)
    pmf = law.pmf(reach)
    assert pmf.sum() == pytest.approx(1, abs=1e-6) and (pmf * x**2).sum() == pytest.approx(law.variance, rel=1e-4)
    near = np.abs(x) < 30
    assert np.exp(law.log_density(x.astype(float)))[near] == pytest.approx(pmf[near], rel=1e-6)


def test_exact_noise_has_the_stated_error():
    truth = np.zeros(64, dtype=int)
    h = hierarchy.release(truth, 1.0, fanout=4)
    assert isinstance(h, PrivateHistogram) and h.exact
    answers = [hierarchy.release(truth, 1.0, fanout=4).range(5, 39) for _ in range(300)]
    assert np.std(answers) == pytest.approx(h.error(5, 39), rel=0.2)
    assert not math.isclose(h.error(5, 39), h.error(0, 64))
