"""Accuracy of private histograms beside the thesis: writes docs/histograms-accuracy.md.

    python bench/histograms.py [--quick] [--only block_tree,php]

Needs the seven data sets in ../shared/data/histograms (or where PRIVJAIL_HISTOGRAMS says). What was simulated is
kept in a cache under the folder for temporary files, so a run that was stopped goes on where it was; the cache is that
of this source code, so nothing that older code simulated gets into the page.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
import time
import zlib
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
from rich.progress import Progress

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "bench")]

from histograms_page import page  # noqa: E402
from histograms_rivals import OURS, RNG, THESIS  # noqa: E402
from histograms_synthetic import held_out  # noqa: E402
from histograms_thesis import EPSILONS, TABLES  # noqa: E402

WORKLOADS = ("single", "prefix", "random")
FOLDER = Path(os.environ.get("PRIVJAIL_HISTOGRAMS", ROOT.parent / "shared" / "data" / "histograms"))
SOURCES = [*(ROOT / "src" / "privjail" / "histograms").glob("*.py"), *(ROOT / "bench").glob("histograms*.py")]
VERSION = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(SOURCES))).hexdigest()[:12]
CACHE = Path(tempfile.gettempdir()) / f"privjail-histograms-{VERSION}.json"
# The slowest first, so that no process is left with them at the end.
RUNS = {
    "structure_first": 6,
    "dp_summary": 2,
    "block_tree": 10,
    "block_tree, total private": 5,
    "php": 4,
    "ahp": 10,
    "identity": 400,
    "proposed": 400,
}
BATCH = 200
HELD_OUT = 3  # runs on generated histograms
SEED = 20230123
KNOWN = {**THESIS, **OURS}


def data_sets() -> dict[str, np.ndarray]:
    names = list(TABLES["identity"]["single"])
    if not all((FOLDER / f"{name}.npy").exists() for name in names):
        print(f"the thesis' data sets are not in {FOLDER} (PRIVJAIL_HISTOGRAMS): its tables are not compared")
        sys.exit(0)  # what needs no files is measured by histograms_coverage.py and histograms_ranges.py
    return {name: np.load(FOLDER / f"{name}.npy").astype(float) for name in names}


def errors(estimates: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    """The L2 norm of the errors of all queries of each workload, one for each run."""
    off = estimates - x
    sums = np.concatenate([np.zeros((len(off), 1)), np.cumsum(off, axis=1)], axis=1)
    ends = np.sort(RNG.integers(0, len(x), (2, *off.shape)), axis=0)
    ranges = np.take_along_axis(sums, ends[1] + 1, axis=1) - np.take_along_axis(sums, ends[0], axis=1)
    return {w: np.sqrt((v**2).sum(axis=1)) for w, v in (("single", off), ("prefix", sums), ("random", ranges))}


class Results:
    """Sums of errors and of their squares, by algorithm, data set and ε."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kept: dict[str, dict[str, list[float]]] = json.loads(path.read_text()) if path.exists() else {}

    def runs(self, key: str) -> int:
        return int(self.kept[key]["single"][0]) if key in self.kept else 0

    def put(self, key: str, found: dict[str, np.ndarray]) -> None:
        self.kept[key] = {w: [len(v), float(v.sum()), float((v**2).sum())] for w, v in found.items()}
        self.path.write_text(json.dumps(self.kept))

    def mean(self, key: str, workload: str) -> tuple[float, float]:
        """The mean error, and its own standard error."""
        n, total, squares = self.kept[key][workload]
        mean = total / n
        return mean, float(np.sqrt(max(squares / n - mean**2, 0.0) / n))


def name_of(algorithm: str, data: str, eps: float) -> str:
    return f"{algorithm}|{data}|{eps}"


def simulated(algorithm: str, data: str, x: np.ndarray, runs: int) -> dict[str, dict[str, np.ndarray]]:
    """Errors of all runs of one algorithm on one data set, for each ε: what is costly is shared by them."""
    found = {}
    for eps in EPSILONS:
        key = name_of(algorithm, data, eps)
        # Every cell has noise of its own, in whatever order and process it is simulated.
        RNG.bit_generator.state = np.random.default_rng([SEED, zlib.crc32(key.encode())]).bit_generator.state
        parts = [errors(KNOWN[algorithm](x, eps, min(BATCH, runs - at)), x) for at in range(0, runs, BATCH)]
        found[key] = {w: np.concatenate([part[w] for part in parts]) for w in WORKLOADS}
    return found


def simulate(results: Results, sets: dict[str, np.ndarray], runs: dict[str, int], only: set[str]) -> None:
    wanted = [
        (algorithm, data, x, n)
        for algorithm, n in runs.items()
        if not only or algorithm in only
        for data, x in sets.items()
        if results.runs(name_of(algorithm, data, EPSILONS[-1])) < n
    ]
    with Progress() as bar, ProcessPoolExecutor(os.cpu_count()) as pool:
        task = bar.add_task("simulating", total=len(wanted))
        for done in as_completed([pool.submit(simulated, *each) for each in wanted]):
            for key, found in done.result().items():
                results.put(key, found)
            bar.advance(task)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a fiftieth of the runs")
    parser.add_argument("--only", default="", help="algorithms to simulate, with commas between")
    asked = parser.parse_args()
    runs = {name: max(2, n // 50) if asked.quick else n for name, n in RUNS.items()}
    results = Results(CACHE.with_suffix(".quick.json") if asked.quick else CACHE)
    sets, synthetic, begun = data_sets(), held_out(), time.monotonic()
    only = set(filter(None, asked.only.split(",")))
    simulate(results, sets, runs, only)
    simulate(results, synthetic, {name: min(n, HELD_OUT) for name, n in runs.items()}, only)
    if not only:
        text = page(results, list(sets), list(synthetic))
        target = CACHE.with_suffix(".quick.md") if asked.quick else ROOT / "docs" / "histograms-accuracy.md"
        target.write_text(text, encoding="utf-8")
        print(f"{(time.monotonic() - begun) / 60:.0f} minutes")


if __name__ == "__main__":
    main()
