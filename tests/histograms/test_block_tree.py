"""Ours: what the smoother must get right, whatever the shape."""

from __future__ import annotations

import numpy as np
import pytest

from privjail.errors import DPError
from privjail.histograms import Law, PrivateHistogram, nonnegative, block_tree, smooth
from privjail.histograms.postprocess import consistent

RNG = np.random.default_rng(11)


def noisy(x: np.ndarray, eps: float, size: int = 128, **how) -> PrivateHistogram:
    s = block_tree.split(eps, len(x))

    def draw(scale: float, n: int) -> np.ndarray:
        p = -np.expm1(-1 / scale)
        return RNG.geometric(p, n) - RNG.geometric(p, n)

    leaves = x + draw(s.leaf_scale, len(x))
    sums = block_tree.block_sums(x, size)
    blocks = sums + draw(s.block_scale, len(sums))
    laws = Law.of(s.leaf_scale), Law.of(s.block_scale)
    return block_tree.estimate(leaves, blocks, size, *laws, epsilons=s.epsilons, **how)


def rms(h: PrivateHistogram, x: np.ndarray) -> float:
    return float(np.sqrt(np.mean((h.counts - x) ** 2)))


SHAPES = {
    "empty": np.zeros(1000, dtype=int),
    "flat": np.full(777, 50),
    "steps": np.repeat([0, 400, 30, 5], 200),
    "one spike": np.eye(1, 640, 77, dtype=int)[0] * 20_000,
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("eps", [0.1, 1.0])
def test_flat_and_empty_stretches_are_found(shape, eps):
    x = SHAPES[shape]
    plain, smoothed = [np.mean([rms(noisy(x, eps, smooth=how), x) for _ in range(4)]) for how in (False, True)]
    assert smoothed < 0.5 * plain


def test_rough_data_are_left_about_as_they_are():
    x = RNG.integers(0, 10_000, 1024)
    plain, smoothed = [np.mean([rms(noisy(x, 1.0, smooth=how), x) for _ in range(4)]) for how in (False, True)]
    assert smoothed < 1.1 * plain


@pytest.mark.parametrize("n, size", [(1, 128), (2, 2), (100, 7), (129, 128), (1000, 100), (4096, 128)])
def test_any_number_of_bins_and_any_size_of_block(n, size):
    x = RNG.poisson(30, n)
    h = noisy(x, 5.0, size)
    assert len(h) == n and rms(h, x) < 2
    assert h.error(0, n) >= 0 and PrivateHistogram.from_json(h.to_json()).total == h.total


def test_counts_up_to_a_million_survive():
    x = RNG.integers(0, 2**20, 256)
    assert rms(noisy(x, 1.0), x) < 5


def test_two_servers_noise():
    x = SHAPES["steps"]
    s = block_tree.split(1.0, len(x))
    two = Law.of(s.leaf_scale, 2), Law.of(s.block_scale, 2)
    rng = np.random.default_rng(5)

    def both(law: Law, n: int) -> np.ndarray:
        p = [-np.expm1(-1 / b) for b in law.scales]
        return sum(rng.geometric(q, n) - rng.geometric(q, n) for q in p)

    h = block_tree.estimate(x + both(two[0], 800), block_tree.block_sums(x) + both(two[1], 7), 128, *two)
    assert two[0].variance == pytest.approx(2 * Law.of(s.leaf_scale).variance) and rms(h, x) < 0.5 * two[0].deviation


def test_a_purpose_buys_accuracy_where_it_is_asked_for():
    x = np.full(4096, 50)
    single, long = zip(
        *(
            (h.error(7, 8), h.error(0, 3000))
            for h in (block_tree.release(x, 1, purpose=p) for p in block_tree.PURPOSES)
        ),
        strict=True,
    )
    assert single[0] < single[1] < single[2] and long[0] > long[1] > long[2]
    assert long[2] < 0.4 * long[0] and single[2] < 2.5 * single[0]
    assert [block_tree.release(x, 1, purpose=p).epsilon for p in block_tree.PURPOSES] == [1, 1, 1]


def test_unsmoothed_estimates_are_unbiased_with_exact_errors():
    x = SHAPES["steps"]
    found = [noisy(x, 1.0, smooth=False) for _ in range(400)]
    off = np.array([h.range(37, 500) - x[37:500].sum() for h in found])
    assert found[0].exact and np.std(off) == pytest.approx(found[0].error(37, 500), rel=0.15)
    assert abs(off.mean()) < 4 * found[0].error(37, 500) / np.sqrt(400)


def test_the_number_of_records_is_used_only_where_it_is_public():
    law = Law.of(1.0)
    with pytest.raises(DPError, match="private"):
        block_tree.estimate([1, 2], [3], 2, law, law, total=3)
    h = block_tree.estimate([1, 2], [3], 2, law, law, total=3, neighbours="replace")
    assert h.total == pytest.approx(3) and h.error(0, 2) == pytest.approx(0, abs=1e-6)
    assert block_tree.release([5, 0, 4], 1.0, neighbours="replace").total == pytest.approx(9)


@pytest.mark.parametrize("leaves, blocks", [([1.5], [2]), ([1, 2, 3], [4]), ([], []), ([[1]], [1])])
def test_what_is_no_release_is_refused(leaves, blocks):
    with pytest.raises(DPError):
        block_tree.estimate(leaves, blocks, 2, Law.of(1.0), Law.of(1.0))


def test_smooth_helps_a_released_vector():
    x = np.repeat([0, 90, 0, 12], 50)
    seen = x + RNG.geometric(0.4, 200) - RNG.geometric(0.4, 200)
    law = Law.of(-1 / np.log(0.6))
    h = smooth(seen, law.scales[0])
    assert rms(h, x) < 0.6 * np.sqrt(np.mean((seen - x) ** 2))
    with pytest.raises(DPError):
        smooth(seen, 0)


def test_nonnegative_is_the_nearest_point():
    from scipy.optimize import minimize

    given = np.array([3.0, -2.0, 0.5, 1.0, -0.1])
    found = nonnegative(given)
    same_sum = {"type": "eq", "fun": lambda v: v.sum() - given.sum()}
    best = minimize(lambda v: ((v - given) ** 2).sum(), np.ones(5), bounds=[(0, None)] * 5, constraints=[same_sum])
    assert found == pytest.approx(best.x, abs=1e-5) and found.sum() == pytest.approx(given.sum())
    assert nonnegative([-1.0, -2.0]).tolist() == [0, 0]
    variances = np.array([4.0, 1.0, 0.1, 2.0, 1.0])  # the same with distances in units of their own
    found = nonnegative(given, variances)
    best = minimize(
        lambda v: ((v - given) ** 2 / variances).sum(), np.ones(5), bounds=[(0, None)] * 5, constraints=[same_sum]
    )
    assert found == pytest.approx(best.x, abs=1e-4) and found.sum() == pytest.approx(given.sum())


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_block_of_sparse_data_is_negative(neighbours):
    """At small ε noise is a hundred times a block of such data; blocks of -300 spoilt every long range."""
    rng = np.random.default_rng(12)
    counts = rng.poisson(np.repeat(rng.gamma(0.3, 0.3, 20), 64))
    for _ in range(10):
        h = block_tree.release(counts, 0.1, neighbours=neighbours)
        assert (block_tree.block_sums(h.counts) > -1e-6).all()


def test_consistent_is_least_squares():
    v, rows = (
        np.array([1.0, 2.0, 4.0, 1.0, 3.0]),
        np.vstack([np.eye(5), [[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0] * 4 + [1]]]),
    )
    bins, sums = RNG.normal(size=5), RNG.normal(size=3)
    weight = 1 / np.sqrt(np.concatenate([v, [0.5] * 3]))
    best = np.linalg.lstsq(rows * weight[:, None], np.concatenate([bins, sums]) * weight, rcond=None)[0]
    assert consistent(bins, v, sums, 0.5, 2) == pytest.approx(best)


def test_ranges_take_microseconds():
    import time

    h = noisy(RNG.poisson(5, 4096), 1.0)
    start = time.perf_counter()
    for _ in range(10_000):
        h.range(100, 3000)
    assert (time.perf_counter() - start) / 10_000 < 50e-6
