"""How often intervals hold the true number, and how far estimates are off: writes docs/histograms-coverage.md.

    python bench/histograms_coverage.py [--quick]

Each histogram is released many times, for one server's noise and for two; every release answers single bins, prefixes
and random ranges. Data are generated (histograms_families.py), so this runs from a fresh clone.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "bench")]

from histograms_families import Histograms, families, small  # noqa: E402

from privjail.histograms import Law, block_tree  # noqa: E402

EPSILONS = (0.03, 0.3, 2.0)
QUERIES = 8
SMOOTHED = 8  # runs that are smoothed too: that takes ten times as long
WORKLOADS = ("single", "prefix", "random")
LARGE = 256  # with fewer bins the number of records changes little
HEAD = """# Do stated errors hold?

Written by `python bench/histograms_coverage.py`. Each histogram was released {runs} times by `block_tree`, and asked
{queries} queries of each kind each time. *Covered* is how often the 95 % interval of `answer()` held the true number.
*Off* compares the estimate of `answer()`, which is smoothed, with the unbiased one: the ratio of their root mean square
errors, below 1 where smoothing helps ({smoothed} releases). ε is for one added or removed record, or for one replaced
record with the number of records public. Noise is that of one server (in process) or of two (encrypted). Histograms are
released for bins and ranges alike; those of one server and added or removed records for ranges, where the sums that are
made depend on a noisy number of records.

**Covered, over all {cells} cells: {low:.1%} to {high:.1%}.** Laplace noise is not normal: a single count is covered
94 % of the time by 1.96 standard errors, a sum of many 95 %. {runs} runs leave an uncertainty of up to ±{noise:.1%} in
a cell whose queries go together.
"""


def released(x: np.ndarray, eps: float, servers: int, neighbours: str, rng: np.random.Generator, smooth: bool) -> Any:
    """As two servers release it for bins and ranges alike, or one process for ranges."""

    def draw(scale: float, n: int) -> np.ndarray:
        return noise(Law.of(scale), n)

    def noise(law: Law, n: int) -> np.ndarray:
        chances = [-np.expm1(-1 / scale) for scale in law.scales]
        return sum(rng.geometric(p, n) - rng.geometric(p, n) for p in chances)

    if servers == 1 and neighbours == "add-remove":  # which sums are made depends on a noisy number of records
        return block_tree.release(x, eps, purpose="ranges", draw=draw, smooth=smooth)
    split = block_tree.split(eps, len(x), neighbours)
    laws = Law.of(split.leaf_scale, servers), Law.of(split.block_scale, servers)
    sums = block_tree.block_sums(x)
    seen = x + noise(laws[0], len(x)), sums + noise(laws[1], len(sums))
    total = int(x.sum()) if neighbours == "replace" else None
    return block_tree.estimate(*seen, block_tree.BLOCK_SIZE, *laws, neighbours=neighbours, total=total, smooth=smooth)


def asked(n: int, rng: np.random.Generator) -> dict[str, list[tuple[int, int]]]:
    single = [(i, i + 1) for i in rng.integers(0, n, QUERIES).tolist()]
    prefix = [(0, i) for i in rng.integers(1, n + 1, QUERIES).tolist()]
    ends = np.sort(rng.integers(0, n, (QUERIES, 2)), axis=1).tolist()
    return {"single": single, "prefix": prefix, "random": [(a, b + 1) for a, b in ends]}


def cell(name: str, x: np.ndarray, eps: float, servers: int, neighbours: str, runs: int) -> list[tuple[float, float]]:
    """Coverage and ratio of errors, for each workload."""
    rng = np.random.default_rng([abs(hash_of(name)), int(1000 * eps), servers, len(neighbours)])
    sums = np.concatenate([[0], np.cumsum(x)])
    held = {w: [] for w in WORKLOADS}
    off = {w: [] for w in WORKLOADS}
    for run in range(runs):
        h = released(x, eps, servers, neighbours, rng, smooth=run < SMOOTHED)
        for workload, queries in asked(len(x), rng).items():
            for a, b in queries:
                true, told = sums[b] - sums[a], h.answer(a, b)
                held[workload].append(told.low - 1e-6 <= true <= told.high + 1e-6)
                if run < SMOOTHED:
                    off[workload].append((told.estimate - true, (told.low + told.high) / 2 - true))
    found = []
    for workload in WORKLOADS:
        smoothed, plain = np.sqrt(np.mean(np.square(off[workload]), axis=0))
        found.append((float(np.mean(held[workload])), float(smoothed / max(plain, 1e-12))))
    return found


def hash_of(name: str) -> int:
    import zlib

    return zlib.crc32(name.encode())


def settings(quick: bool) -> list[tuple[str, np.ndarray, float, int, str]]:
    data: Histograms = small() | ({} if quick else families(17, (256, 1000)))
    cells = [(name, x, eps, 2, "add-remove") for name, x in data.items() for eps in EPSILONS]
    cells += [(name, x, eps, 1, "replace") for name, x in small().items() for eps in EPSILONS]
    cells += [(name, x, eps, 1, "add-remove") for name, x in data.items() for eps in EPSILONS if len(x) > LARGE]
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few runs, small histograms only, nothing is written")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    asked_for = parser.parse_args()
    runs, cells = 20 if asked_for.quick else asked_for.runs, settings(asked_for.quick)
    with ProcessPoolExecutor(asked_for.processes) as pool:
        found = list(pool.map(cell, *zip(*((*each, runs) for each in cells), strict=True)))
    covered = [c for each in found for c, _ in each]
    columns = ["histogram", "ε", "noise", "neighbours", *(f"{w}: covered, off" for w in WORKLOADS)]
    lines = ["| " + " | ".join(columns) + " |", "| --- " * len(columns) + "|"]
    for (name, _, eps, servers, neighbours), told in zip(cells, found, strict=True):
        shown = " | ".join(f"{c:.1%}, {r:.2f}" for c, r in told)
        lines.append(f"| {name} | {eps} | {'one server' if servers == 1 else 'two servers'} | {neighbours} | {shown} |")
    head = HEAD.format(
        runs=runs, queries=QUERIES, smoothed=min(runs, SMOOTHED), cells=len(covered), low=min(covered),
        high=max(covered), noise=1.96 * (0.05 * 0.95 / runs) ** 0.5,
    )  # fmt: skip
    text = head + "\n" + "\n".join(lines) + "\n"
    if asked_for.quick:
        print(text)
    else:
        (ROOT / "docs" / "histograms-coverage.md").write_text(text, encoding="utf-8")
        print(f"covered: {min(covered):.1%} to {max(covered):.1%}")


if __name__ == "__main__":
    main()
