"""Histograms of many shapes, sizes and numbers of records, made from a seed: data for a run without any files.

``small`` are those of a few hundred records; ``families`` are drawn anew from each seed, so that nothing can be
chosen by looking at them.
"""

from __future__ import annotations

import numpy as np

Histograms = dict[str, np.ndarray]


def small(seed: int = 1) -> Histograms:
    rng = np.random.default_rng([seed, 200])

    def binned(values: np.ndarray, bins: int) -> np.ndarray:
        return np.bincount(np.clip(values.astype(int), 0, bins - 1), minlength=bins)

    return {
        "200 records, one hill, 64 bins": binned(rng.normal(28, 9, 200), 64),
        "200 records, evenly, 64 bins": binned(rng.uniform(0, 64, 200), 64),
        "176 records, two bins, 64 bins": np.eye(1, 64, 20, dtype=int)[0] * 100 + np.eye(1, 64, 45, dtype=int)[0] * 76,
        "4,200 ages, 100 bins": binned(rng.gamma(6, 7, 4200), 100),
        "500 records, one bin of 16": np.eye(1, 16, 3, dtype=int)[0] * 500,
        "nobody, 32 bins": np.zeros(32, dtype=int),
        "300 records, a long tail, 300 bins": binned(rng.pareto(1.2, 300) * 5, 300),
    }


def capital_loss() -> np.ndarray:
    """Like the histogram of capital losses in the Adult data: 4,096 bins, 17,665 records, nearly all in a few bins."""
    rng = np.random.default_rng(17_665)
    counts = np.zeros(4096, dtype=int)
    counts[0] = 16_800
    counts[rng.choice(np.arange(1000, 4096), 90, replace=False)] = rng.multinomial(17_665 - 16_800, np.full(90, 1 / 90))
    return counts


def families(seed: int, bins: tuple[int, ...] = (256, 1000, 4096)) -> Histograms:
    """Ten kinds of histogram for each number of bins, with parameters drawn from the seed."""
    found = {}
    for n in bins:
        rng = np.random.default_rng([seed, n])
        x = np.arange(n)
        records = int(10 ** rng.uniform(3.5, 6))

        def drawn(rates: np.ndarray, rng: np.random.Generator = rng, records: int = records) -> np.ndarray:
            return rng.poisson(rates / rates.sum() * records)

        hills = sum(
            rng.uniform(0.2, 1) * np.exp(-((x - rng.uniform(0, n)) ** 2) / (2 * (n * rng.uniform(0.01, 0.15)) ** 2))
            for _ in range(3)
        )
        steps = np.repeat(rng.gamma(0.7, 1, -(-n // 40)), 40)[:n] + 1e-9
        needles = np.where(rng.random(n) < 0.02, rng.pareto(1.1, n) + 0.1, 0) + 1e-12
        sparse = np.where(rng.random(n) < 0.2, rng.gamma(0.5, 1, n), 0) + 1e-9
        wandering = np.exp(np.cumsum(rng.normal(0, 0.15, n)))
        seasons = 1.2 + np.sin(x * 2 * np.pi / (n / rng.integers(2, 9)))
        found |= {
            f"hills, {n}": drawn(hills + 1e-9),
            f"steps, {n}": drawn(steps),
            f"needles, {n}": drawn(needles),
            f"sparse, {n}": drawn(sparse),
            f"wandering, {n}": drawn(wandering),
            f"seasons, {n}": drawn(seasons),
            f"by rank, {n}": drawn(1 / (x + 1.0)),
            f"ranks shuffled, {n}": drawn(rng.permutation(1 / (x + 1.0))),
            f"evenly, {n}": drawn(np.ones(n)),
            f"half empty, {n}": drawn(np.where(x < n // 2, rng.gamma(2, 1, n), 1e-9)),
        }
    return found
