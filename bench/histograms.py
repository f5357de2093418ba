"""Accuracy of private histograms beside the thesis: writes docs/histograms-accuracy.md.

    python bench/histograms.py [--quick] [--only ours,php]

Needs the seven data sets in ../shared/data/histograms (or where PRIVJAIL_HISTOGRAMS says). What was simulated is
kept in a cache under the folder for temporary files, so a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
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
CACHE = Path(tempfile.gettempdir()) / "privjail-histograms.json"
RUNS = {
    "identity": 4000,
    "proposed": 4000,
    "ahp": 60,
    "ours": 100,
    "ours, total private": 40,
    "structure_first": 60,
    "dp_summary": 200,
    "php": 40,
}
BATCH = 200


def data_sets() -> dict[str, np.ndarray]:
    names = list(TABLES["identity"]["single"])
    if not all((FOLDER / f"{name}.npy").exists() for name in names):
        sys.exit(f"the data sets are not in {FOLDER}: set PRIVJAIL_HISTOGRAMS")
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

    def add(self, key: str, found: dict[str, np.ndarray]) -> None:
        kept = self.kept.setdefault(key, {w: [0.0, 0.0, 0.0] for w in WORKLOADS})
        for w, values in found.items():
            kept[w] = [kept[w][0] + len(values), kept[w][1] + values.sum(), kept[w][2] + (values**2).sum()]
        self.path.write_text(json.dumps(self.kept))

    def mean(self, key: str, workload: str) -> tuple[float, float]:
        """The mean error, and its own standard error."""
        n, total, squares = self.kept[key][workload]
        mean = total / n
        return mean, float(np.sqrt(max(squares / n - mean**2, 0.0) / n))


def name_of(algorithm: str, data: str, eps: float) -> str:
    return f"{algorithm}|{data}|{eps}"


def simulate(results: Results, sets: dict[str, np.ndarray], runs: dict[str, int], only: set[str]) -> None:
    known = {**THESIS, **OURS}
    algorithms = {name: known[name] for name in runs if not only or name in only}
    with Progress() as bar:
        task = bar.add_task("simulating", total=len(algorithms) * len(sets) * len(EPSILONS))
        for algorithm, run in algorithms.items():
            for data, x in sets.items():
                for eps in EPSILONS:
                    key = name_of(algorithm, data, eps)
                    bar.update(task, description=key)
                    while (left := runs[algorithm] - results.runs(key)) > 0:
                        results.add(key, errors(run(x, eps, min(left, BATCH)), x))
                    bar.advance(task)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a fiftieth of the runs")
    parser.add_argument("--only", default="", help="algorithms to simulate, with commas between")
    asked = parser.parse_args()
    runs = {name: max(2, n // 50) if asked.quick else n for name, n in RUNS.items()}
    results = Results(CACHE.with_suffix(".quick.json") if asked.quick else CACHE)
    sets, synthetic = data_sets(), held_out()
    only = set(filter(None, asked.only.split(",")))
    simulate(results, sets, runs, only)
    simulate(results, synthetic, {name: min(n, 40) for name, n in runs.items()}, only)
    if not only:
        text = page(results, list(sets), list(synthetic))
        (ROOT / "docs" / "histograms-accuracy.md").write_text(text, encoding="utf-8")
        print(text)


if __name__ == "__main__":
    main()
