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
    dawa,
    equal_width,
    hierarchy,
    identity,
    partition,
    php,
    structure_first,
    wavelet,
)

EPSILONS = (0.01, 0.1, 1.0, 2.0)
SEED, BINS = 1118, (256, 1000, 4096)  # nothing was chosen by looking at this seed
QUICK_SEED = 5
QUERIES = 300
SMALL = 0.5  # an error below half a record counts as half a record: ratios of next to nothing say nothing
WORKLOADS = ("single", "prefix", "random")
OURS = {f"block_tree for {purpose}": purpose for purpose in block_tree.PURPOSES}
RIVALS = (identity, equal_width, hierarchy, wavelet, partition, php, ahp, dawa, structure_first)
OTHERS = {each.__name__.rpartition(".")[2]: each for each in RIVALS}
HEAD = """# All algorithms, on bins and on ranges

Written by `python bench/histograms_ranges.py`: {cells} histograms and values of ε ({epsilons}), each released {runs}
times by every algorithm, with the noise of one server for one added or removed record. The histograms are generated
(ten kinds, {bins} bins, 3,000 to a million records) from a seed that nothing was chosen by. Queries are {queries}
random ones of each kind; errors are root mean squares. All algorithms of `privjail.histograms` are here. PHP and
StructureFirst draw some choices without a seed, so their rows change a little from run to run.

`block_tree` for both and for ranges spends 3 % of ε on the number of records first, and with few records for each bin
leaves less for counts and small blocks ([decision 0301](decisions/0301-histograms.md)).

Each number is an error divided by that of the best of the {others} other algorithms and of `block_tree for bins` on the
same histogram: the geometric mean over all, then the worst, then how often it is the best of all. Errors below half a
record count as half a record.

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
    """As a user would be told; only where counts are smoothed does the unbiased estimate play a part."""
    if h.exact and h.unbiased is not h.counts:
        return np.array([h.answer(a, b).estimate for a, b in ranges.tolist()])
    return np.array([h.range(a, b) for a, b in ranges.tolist()])


def cell(name: str, x: np.ndarray, eps: float, algorithm: str, runs: int) -> list[float]:
    """The root mean square error of each workload."""
    rng = np.random.default_rng([zlib.crc32(f"{name} {algorithm}".encode()), int(1000 * eps)])
    sums, squares = np.concatenate([[0], np.cumsum(x)]), np.zeros(len(WORKLOADS))
    queries = asked(len(x), np.random.default_rng(len(x)))
    for _ in range(runs):
        if algorithm in OURS:
            h = block_tree.release(x, eps, purpose=OURS[algorithm], draw=noise(rng))
        else:
            h = OTHERS[algorithm].release(x, eps, draw=noise(rng))
        for i, ranges in enumerate(queries.values()):
            squares[i] += np.mean((answers(h, ranges) - (sums[ranges[:, 1]] - sums[ranges[:, 0]])) ** 2)
    return np.sqrt(squares / runs).tolist()


def by_epsilon(ratios: np.ndarray, algorithms: list[str]) -> list[str]:
    """Jobs run through histograms, then ε: every len(EPSILONS)-th row has the same ε."""
    lines = [f"| algorithm | {' | '.join(f'ε = {eps}' for eps in EPSILONS)} |", "| --- " * (1 + len(EPSILONS)) + "|"]
    for i, a in enumerate(algorithms):
        if a not in OURS and a != "hierarchy":
            continue
        means = [np.exp(np.log(ratios[k :: len(EPSILONS), i]).mean(axis=0)) for k in range(len(EPSILONS))]
        lines.append(f"| {a} | " + " | ".join(", ".join(f"{m:.2f}" for m in each) for each in means) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one small family, nothing is written")
    parser.add_argument("--runs", type=int, default=4)
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
    table = np.maximum(table, SMALL)
    ratios = table / table[:, rivals].min(axis=1, keepdims=True)
    best = table.argmin(axis=1)
    lines = ["| algorithm | " + " | ".join(WORKLOADS) + " |", "| --- " * (1 + len(WORKLOADS)) + "|"]
    for i, a in enumerate(algorithms):
        mean, worst = np.exp(np.log(ratios[:, i]).mean(axis=0)), ratios[:, i].max(axis=0)
        shown = [
            f"{m:.2f}, {w:.1f}, {(best[:, j] == i).sum()}" for j, (m, w) in enumerate(zip(mean, worst, strict=True))
        ]
        lines.append(f"| {a} | " + " | ".join(shown) + " |")
    lines += ["", "The same by ε, geometric means:", "", *by_epsilon(ratios, algorithms)]
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
