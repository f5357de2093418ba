"""All algorithms beside each other, on generated histograms: writes docs/histograms-ranges.md.

    python bench/histograms_ranges.py [--quick]

The families (histograms_families.py) are drawn from a seed that nothing was chosen by. Every algorithm has the same ε
for one added or removed record, and the noise of one server. Ours answers by ``answer()``, as a user would ask it.
"""

from __future__ import annotations

import argparse
import os
import sys
import zlib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "bench")]

from histograms_families import families  # noqa: E402
from histograms_frontier import section  # noqa: E402

from privjail.histograms import (  # noqa: E402
    PrivateHistogram,
    ahp,
    block_tree,  # noqa: E402
    equal_width,
    hierarchy,
    identity,
    partition,
    php,
    wavelet,
)

EPSILONS = (0.01, 0.1, 1.0, 2.0)
SEED, BINS = 211, (256, 1000, 4096)  # nothing was chosen by looking at this seed
QUICK_SEED = 5
QUERIES = 300
WORKLOADS = ("single", "prefix", "random")
OURS = {f"block_tree for {purpose}": purpose for purpose in block_tree.PURPOSES}
OTHERS = {
    each.__name__.rpartition(".")[2]: each for each in (identity, equal_width, hierarchy, wavelet, partition, php, ahp)
}
HEAD = """# All algorithms, on bins and on ranges

Written by `python bench/histograms_ranges.py`: {cells} histograms and values of ε ({epsilons}), each released {runs}
times by every algorithm, with the noise of one server for one added or removed record. The histograms are generated
(ten kinds, {bins} bins, 3,000 to a million records) from a seed that nothing was chosen by. Queries are {queries}
random ones of each kind; errors are root mean squares. Left out: DAWA and StructureFirst, which take minutes a release
at these sizes.

Each number is an error divided by that of the best of the {others} other algorithms and of `block_tree for bins` on the
same histogram: the geometric mean over all, then the worst, then how often it is the best of all.

"""


def noise(rng: np.random.Generator) -> Callable[[float, int], np.ndarray]:
    def draw(scale: float, n: int) -> np.ndarray:
        p = -np.expm1(-1 / scale)
        return rng.geometric(p, n) - rng.geometric(p, n)

    return draw


def asked(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    single, last = rng.integers(0, n, QUERIES), rng.integers(1, n + 1, QUERIES)
    ends = np.sort(rng.integers(0, n, (QUERIES, 2)), axis=1)
    return {
        "single": np.stack([single, single + 1], axis=1),
        "prefix": np.stack([0 * last, last], axis=1),
        "random": ends + [0, 1],
    }


def answers(h: PrivateHistogram, ranges: np.ndarray) -> np.ndarray:
    if h.exact:
        return np.array([h.answer(a, b).estimate for a, b in ranges.tolist()])
    return np.array([h.range(a, b) for a, b in ranges.tolist()])


def cell(name: str, x: np.ndarray, eps: float, algorithm: str, runs: int) -> list[float]:
    """The root mean square error of each workload."""
    rng = np.random.default_rng([zlib.crc32(f"{name} {algorithm}".encode()), int(1000 * eps)])
    sums, squares = np.concatenate([[0], np.cumsum(x)]), np.zeros(len(WORKLOADS))
    for _ in range(runs):
        if algorithm in OURS:
            h = block_tree.release(x, eps, purpose=OURS[algorithm], draw=noise(rng))
        else:
            h = OTHERS[algorithm].release(x, eps, draw=noise(rng))
        for i, ranges in enumerate(asked(len(x), rng).values()):
            squares[i] += np.mean((answers(h, ranges) - (sums[ranges[:, 1]] - sums[ranges[:, 0]])) ** 2)
    return np.sqrt(squares / runs).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one small family, nothing is written")
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--bins", type=int, nargs="+", default=BINS)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    told = parser.parse_args()
    bins, runs = ((256,), 1) if told.quick else (tuple(told.bins), told.runs)
    data = families(QUICK_SEED if told.quick else SEED, bins)
    algorithms = [*OTHERS, *OURS]
    jobs = [(name, x, eps, a, runs) for name, x in data.items() for eps in EPSILONS for a in algorithms]
    with ProcessPoolExecutor(told.processes) as pool:
        found = np.array(list(pool.map(cell, *zip(*jobs, strict=True), chunksize=9)))
    table = found.reshape(-1, len(algorithms), len(WORKLOADS))
    rivals = [i for i, a in enumerate(algorithms) if a in OTHERS or a == "block_tree for bins"]
    ratios = table / np.maximum(table[:, rivals].min(axis=1, keepdims=True), 1e-9)
    best = table.argmin(axis=1)
    lines = ["| algorithm | " + " | ".join(WORKLOADS) + " |", "| --- " * (1 + len(WORKLOADS)) + "|"]
    for i, a in enumerate(algorithms):
        mean, worst = np.exp(np.log(np.maximum(ratios[:, i], 1e-9)).mean(axis=0)), ratios[:, i].max(axis=0)
        shown = [
            f"{m:.2f}, {w:.1f}, {(best[:, j] == i).sum()}" for j, (m, w) in enumerate(zip(mean, worst, strict=True))
        ]
        lines.append(f"| {a} | " + " | ".join(shown) + " |")
    facts = {"bins": " and ".join(map(str, bins)), "epsilons": "ε = " + ", ".join(map(str, EPSILONS)), "runs": runs}
    text = (
        HEAD.format(cells=len(table), queries=QUERIES, others=len(OTHERS), **facts)
        + "\n".join(lines)
        + "\n"
        + section(bins)
    )
    if not told.quick:
        (ROOT / "docs" / "histograms-ranges.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
