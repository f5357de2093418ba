"""Speed of DiffPID3: PrivJail in process beside the same loops in plain pandas, in ms of processor time per tree node.

    python bench/speed.py

Both run in turn, in one process, on the same files; the median of nine runs each. "First" opens the file anew for each
tree; "again" grows one more tree on the same table, whose columns and counts the engine may still hold.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "bench")]

import adult  # noqa: E402
import diffpid3  # noqa: E402
import manual  # noqa: E402
from rich.progress import Progress  # noqa: E402

EPSILONS = (0.3, 1.0, 3.0)
DEPTH = 5
RUNS = 9
Row = dict[str, list[float]]


def timed(grow: Any, count: Any) -> float:
    """Milliseconds of processor time, of all threads, per node of one tree: the same on a busy machine."""
    start = time.process_time()
    tree = grow()
    return 1000 * (time.process_time() - start) / count(tree)


def one_round(files: tuple[str, str, str], module: Any, eps: float, folder: Path, row: Row) -> None:
    schema = json.loads(Path(files[2]).read_text(encoding="utf-8"))
    attributes = set(schema) - {diffpid3.TARGET}
    fresh = folder / f"{time.monotonic_ns()}.csv"
    shutil.copy(files[0], fresh)
    df = diffpid3.load_private(str(fresh), schema)

    def ours() -> Any:
        return diffpid3.DiffPID3(df, attributes, diffpid3.TARGET, DEPTH, eps)

    plain = module.load(files[0], schema)
    row["first"].append(timed(ours, lambda tree: tree.count()))
    row["again"].append(timed(ours, lambda tree: tree.count()))
    row["loop"].append(timed(lambda: module.train(plain, eps, DEPTH), module.count_nodes))


def measure(files: tuple[str, str, str], module: Any) -> dict[float, Row]:
    rows: dict[float, Row] = {eps: {"first": [], "again": [], "loop": []} for eps in EPSILONS}
    with tempfile.TemporaryDirectory() as folder, Progress() as progress:
        task = progress.add_task("timing trees", total=RUNS * len(rows))
        one_round(files, module, 1.0, Path(folder), {"first": [], "again": [], "loop": []})  # imports, warm files
        for eps, row in rows.items():
            for _ in range(RUNS):
                one_round(files, module, eps, Path(folder), row)
                progress.advance(task)
    return rows


def text(rows: dict[float, Row]) -> str:
    lines = [
        "## Trees",
        "",
        f"DiffPID3 on UCI Adult, depth {DEPTH}: ms of processor time per node, median of {RUNS} (fastest–slowest). "
        "PrivJail runs in process. *First*: a newly opened table; *again*: one more tree on the same table, for which "
        "the engine may still hold columns and counts. *Plain pandas*: the same loops by hand, nothing tracked.",
        "",
        "| ε | PrivJail, first | PrivJail, again | plain pandas | first ÷ plain |",
        "| --- | --- | --- | --- | --- |",
    ]
    for eps, row in rows.items():
        middle = {name: statistics.median(times) for name, times in row.items()}
        shown = [f"{middle[name]:.2f} ({min(row[name]):.2f}–{max(row[name]):.2f})" for name in row]
        lines.append(f"| {eps:g} | {' | '.join(shown)} | {middle['first'] / middle['loop']:.2f} |")
    lines += [
        "",
        "The paper reports 20 to 34 times the time of hand-written code for tracking in process (its section 8).",
        "",
    ]
    return "\n".join(lines)


def rows_and_text() -> tuple[list[tuple[str, str, str, str]], str]:
    """The line about trees in process: (work, rival, target, measured); and a section with the details."""
    files, module = adult.files(), manual.load("loop")
    if files is None or module is None:
        why = adult.MISSING if files is None else manual.MISSING
        return [("DiffPID3, in process", "the same loops in plain pandas", "≤ 0.35", why)], ""
    found = measure(files, module)
    middle = {name: statistics.median(times) for name, times in found[1.0].items()}
    shown = f"first {middle['first'] / middle['loop']:.2f}; again {middle['again'] / middle['loop']:.2f}"
    rival = f"the same loops in plain pandas ({middle['loop']:.2f} ms per node)"
    return [(f"DiffPID3, depth {DEPTH}, ε = 1, in process", rival, "≤ 0.35", shown)], text(found)


def plot(rows: list[tuple[str, str, str, str]]) -> str:
    """A figure of the ratios to raw Polars; returns the line that shows it."""
    import re

    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    found = [
        (work.split(",")[0], [float(x) for x in re.findall(r"ms, ([0-9.]+)", measured)])
        for work, rival, _, measured in rows if rival.startswith("raw Polars (")
    ]  # fmt: skip
    bars = [(name, ratios) for name, ratios in found if len(ratios) == 2]
    figure, axes = pyplot.subplots(figsize=(7, 4))
    for shift, which, label in ((-0.2, 1, "fresh"), (0.2, 0, "again")):
        axes.barh([i + shift for i in range(len(bars))], [r[which] for _, r in bars], height=0.38, label=label)
    axes.axvline(1.3, linestyle="--", color="gray", label="target")
    axes.set(yticks=range(len(bars)), yticklabels=[name for name, _ in bars], xlabel="our time ÷ raw Polars' time")
    axes.invert_yaxis()
    axes.legend()
    figure.tight_layout()
    (ROOT / "docs" / "figures").mkdir(exist_ok=True)
    figure.savefig(ROOT / "docs" / "figures" / "speed.png", dpi=130, metadata={"Software": None})
    return "![time beside raw Polars](figures/speed.png)\n"


def main() -> None:
    print(rows_and_text()[1])


if __name__ == "__main__":
    main()
