"""Would it help to answer by the unbiased number where smoothing looks wrong? Numbers for decision 0301.

    python bench/histograms_fallback.py [--runs 20]

Each rule reads released numbers only: for each length of range, the mean over windows of that length of
(smoothed - unbiased)² in units of the unbiased variance. Errors are relative to those of the unbiased number.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "bench")]

from histograms_coverage import EPSILONS, WORKLOADS, asked, hash_of, released  # noqa: E402
from histograms_families import small  # noqa: E402

WINDOWS = 64  # of one length, at most
SETTINGS = ((2, "add-remove"), (1, "replace"))
#: a rule says how far to go from the unbiased number to the smoothed one, by the mean that its docstring describes
RULES: dict[str, Callable[[float], float]] = {
    "smoothed": lambda mean: 1.0,
    "unbiased above 1.5": lambda mean: float(mean <= 1.5),
    "unbiased above 2": lambda mean: float(mean <= 2),
    "unbiased above 3": lambda mean: float(mean <= 3),
    "part of the way, 1 / mean": lambda mean: min(1.0, 1 / max(mean, 1e-9)),
    "part of the way, 1.5 / mean": lambda mean: min(1.0, 1.5 / max(mean, 1e-9)),
}


def distances(h: Any) -> dict[int, float]:
    """For each length, how far the smoothed numbers are from the unbiased ones."""
    n, found, length = len(h.counts), {}, 1
    off = np.concatenate([[0], np.cumsum(h.counts - h.unbiased)])
    while True:
        starts = np.arange(0, n - length + 1, max(1, length // 2))
        if len(starts) > WINDOWS:
            starts = starts[np.linspace(0, len(starts) - 1, WINDOWS).astype(int)]
        squares = [
            (off[a + length] - off[a]) ** 2 / max(h.spread.variance(a, a + length), 1e-9) for a in starts.tolist()
        ]
        found[length] = float(np.mean(squares))
        if length == n:
            return found
        length = min(2 * length, n)


def cell(name: str, x: np.ndarray, eps: float, servers: int, neighbours: str, runs: int) -> np.ndarray:
    """The error by each rule, relative to that of the unbiased number: a row for each workload."""
    rng = np.random.default_rng([hash_of(name), int(1000 * eps), servers, len(neighbours), 1])
    sums = np.concatenate([[0], np.cumsum(x)])
    errors: dict[str, list[list[float]]] = {w: [] for w in WORKLOADS}
    for _ in range(runs):
        h = released(x, eps, servers, neighbours, rng, smooth=True)
        means = distances(h)
        for workload, queries in asked(len(x), rng).items():
            for a, b in queries:
                true, told = sums[b] - sums[a], h.answer(a, b)
                unbiased = (told.low + told.high) / 2
                mean = means[min(means, key=lambda length: abs(np.log(length / (b - a))))]
                by_rule = [unbiased + rule(mean) * (told.estimate - unbiased) - true for rule in RULES.values()]
                errors[workload].append([unbiased - true, *by_rule])
    found = np.array([np.sqrt(np.mean(np.square(errors[w]), axis=0)) for w in WORKLOADS])
    return found[:, 1:] / np.maximum(found[:, :1], 1e-12)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    cells = [(name, x, eps, *each) for name, x in small().items() for eps in EPSILONS for each in SETTINGS]
    found = np.maximum([cell(*each, runs) for each in cells], 0.02)
    print(f"{len(cells)} cells; geometric mean, worst, and how many above 1.1, for {', '.join(WORKLOADS)}")
    for i, rule in enumerate(RULES):
        told = [found[:, j, i] for j in range(len(WORKLOADS))]
        shown = "; ".join(f"{np.exp(np.log(r).mean()):.2f}, {r.max():.2f}, {(r > 1.1).sum()}" for r in told)
        print(f"{rule}: {shown}")


if __name__ == "__main__":
    main()
