"""Histograms of other shapes and sizes. Made once, from a fixed seed.

Two things were learnt from the first ten: rough data need kinds rougher than twice the noise (from the first eight),
and sparse data need blocks that are not negative. The last three came after that, and nothing was changed since.
"""

from __future__ import annotations

import numpy as np


def held_out() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4096)
    two_hills = np.concatenate([rng.normal(300, 60, 30_000), rng.normal(700, 20, 10_000)])
    steps = np.repeat(rng.integers(0, 200, 13), 60)[:777]
    needles = np.zeros(1500)
    needles[rng.choice(1500, 25, replace=False)] = rng.geometric(1 / 400, 25)
    ranks = 20_000 / np.arange(1, 1001)
    sparse = rng.poisson(np.repeat(rng.gamma(0.3, 0.3, 20), 64))
    fresh = np.random.default_rng(900)
    ages = fresh.lognormal(4, 0.8, 50_000)
    last = np.random.default_rng(2026)
    clusters = last.integers(0, 1100, 12)[last.integers(0, 12, 300)] + last.normal(0, 8, 300)
    return {
        "two hills, 1,000 bins": np.histogram(two_hills, bins=1000, range=(0, 1000))[0].astype(float),
        "steps, 777 bins": rng.poisson(steps).astype(float),
        "needles, 1,500 bins": needles,
        "Zipf in random order, 1,000 bins": rng.permutation(rng.poisson(ranks)).astype(float),
        "Zipf by rank, 600 bins": rng.poisson(ranks[:600]).astype(float),
        "seasons, 1,461 bins": rng.poisson(60 + 50 * np.sin(np.arange(1461) * 2 * np.pi / 365)).astype(float),
        "sparse, 1,280 bins": sparse.astype(float),
        "white noise, 512 bins": rng.integers(0, 101, 512).astype(float),
        "fresh: log-normal, 900 bins": np.histogram(ages, bins=900, range=(0, 900))[0].astype(float),
        "fresh: weeks, 400 bins": fresh.poisson(np.resize([90, 80, 85, 88, 120, 30, 10], 400)).astype(float),
        "last: a few clusters, 1,100 bins": np.histogram(clusters, bins=1100, range=(0, 1100))[0].astype(float),
        "last: power law, 2,000 bins": np.histogram(last.pareto(1.5, 8000) * 20, 2000, (0, 2000))[0].astype(float),
        "last: rates that wander, 1,200 bins": last.poisson(np.exp(np.cumsum(last.normal(0, 0.2, 1200)))).astype(float),
    }
