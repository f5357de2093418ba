"""Long tables: counts, sums, groups and histograms of 10 million rows beside raw Polars and OpenDP; and files on disk.

    python bench/tables.py [--quick]

*Fresh*: a constant of the query is new each time, so nothing but the loaded table is kept from before. *Again*: the
same query once more, for which a session keeps what it counted; the noise is new. Raw Polars computes the same query,
without noise, on the same frame. All in one run, in turns; medians of seven.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import shown
from rich.progress import Progress

from privjail import pandas as pd

Row = tuple[str, str, str, str]  # work, rival, target, measured
Query = Callable[[float], Any]
RUNS = 7
OPENDP = "opendp[polars]==0.16.*"
JOBS = [f"job{i}" for i in range(20)]
EDGES = [2.0 * i for i in range(101)]
SCHEMA = {
    "age": {"type": "Int64", "range": [0, 100]},
    "pay": {"type": "Float64", "range": [0, 200]},
    "job": {"type": "category", "categories": JOBS},
    "sex": {"type": "category", "categories": ["F", "M"]},
}


def people(n: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(0, 101, n),
            "pay": np.clip(rng.normal(60, 30, n), 0, 200),
            "job": pl.Series(rng.integers(0, 20, n).astype(np.uint32)).replace_strict(
                list(range(20)), JOBS, return_dtype=pl.Enum(JOBS)
            ),
            "sex": pl.Series(rng.integers(0, 2, n).astype(np.uint32)).replace_strict(
                [0, 1], ["F", "M"], return_dtype=pl.Enum(["F", "M"])
            ),
        }
    )


def queries(df: Any, raw: pl.LazyFrame) -> dict[str, tuple[Query, Query]]:
    """Each as (ours, raw Polars); x is a small number that makes it a new query, or zero."""

    def binned(x: float) -> Any:
        return pd.cut(df["pay"] + x, EDGES, right=False).value_counts(sort=False).reveal(eps=1)

    def old(x: float) -> Any:
        return df[df["age"] >= -x]

    def also_old(x: float) -> pl.LazyFrame:
        return raw.filter(pl.col("age") >= -x)

    def run(query: pl.LazyFrame) -> pl.DataFrame:
        return query.collect()

    return {
        "count": (lambda x: df.shape[0].reveal(eps=1), lambda x: run(raw.select(pl.len()))),
        "filtered count": (
            lambda x: df[df["age"] > 40 + x].shape[0].reveal(eps=1),
            lambda x: run(raw.filter(pl.col("age") > 40 + x).select(pl.len())),
        ),
        "clipped sum": (
            lambda x: df["pay"].clip(0, 100 + x).sum().reveal(eps=1),
            lambda x: run(raw.select(pl.col("pay").clip(0, 100 + x).sum())),
        ),
        "mean": (
            lambda x: df["pay"].clip(0, 100 + x).mean(eps=1),
            lambda x: run(raw.select(pl.col("pay").clip(0, 100 + x).mean())),
        ),
        "group-by count": (
            lambda x: old(x).groupby("job").size().reveal(eps=1),
            lambda x: run(also_old(x).group_by("job").len()),
        ),
        "two-key group-by sum": (
            lambda x: old(x).groupby(["job", "sex"])["pay"].sum().reveal(eps=1),
            lambda x: run(also_old(x).group_by("job", "sex").agg(pl.col("pay").sum())),
        ),
        "100-bin histogram": (
            binned,
            lambda x: run(raw.select((pl.col("pay") + x).hist(bins=EDGES))),
        ),
        "crosstab": (
            lambda x: pd.crosstab(old(x)["job"], old(x)["sex"]).reveal(eps=1),
            lambda x: run(also_old(x).group_by("job", "sex").len()),
        ),
    }


def opendp_ms(frame: pl.DataFrame) -> dict[str, float | str]:
    """Milliseconds of what OpenDP's Polars context can express of these, in an environment of its own."""
    folder = Path(tempfile.gettempdir()) / "privjail-bench-opendp"
    python = folder / "bin" / "python"
    try:
        if not python.exists():
            venv.create(folder, with_pip=True)
            subprocess.run([str(python), "-m", "pip", "install", "-q", OPENDP], check=True, capture_output=True)
        with tempfile.TemporaryDirectory() as where:
            frame.write_parquet(f"{where}/people.parquet")
            command = [str(python), "-W", "ignore", str(Path(__file__).with_name("opendp_rival.py"))]
            done = subprocess.run(
                [*command, f"{where}/people.parquet", str(RUNS)], check=True, capture_output=True, text=True
            )
        found: dict[str, float | str] = json.loads(done.stdout.splitlines()[-1])
        return found
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return {}


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def beside_polars(n: int, advance: Callable[[], Any]) -> list[Row]:
    frame = people(n)
    df = pd.from_frame(frame, "people", SCHEMA)
    rows: list[Row] = []
    rivals = opendp_ms(frame)
    x = 0.0
    for name, (ours, raw) in queries(df, frame.lazy()).items():
        times: dict[str, list[float]] = {"fresh": [], "again": [], "raw": []}
        for _ in range(RUNS):
            x += 2.0**-20
            times["raw"].append(seconds(lambda: raw(x)))  # noqa: B023
            times["fresh"].append(seconds(lambda: ours(x)))  # noqa: B023
            times["again"].append(seconds(lambda: ours(x)))  # noqa: B023
        took = {key: 1000 * statistics.median(each) for key, each in times.items()}
        shown = f"again {took['again']:.1f} ms, {took['again'] / took['raw']:.2f}; "
        shown += f"fresh {took['fresh']:.1f} ms, {took['fresh'] / took['raw']:.2f}"
        work = f"{name}, {n:,} rows, in process"
        rows.append((work, f"raw Polars ({took['raw']:.1f} ms)", "≤ 1.3 + 1 ms", shown))
        rival = rivals.get(name, "cannot express it" if rivals else "its environment could not be made")
        if isinstance(rival, str):
            rows.append((work, "OpenDP 0.16 through Polars", "≤ 0.8", rival))
        else:
            shown = f"again {took['again'] / rival:.3f}; fresh {took['fresh'] / rival:.2f}"
            rows.append((work, f"OpenDP 0.16 through Polars ({rival:.0f} ms)", "≤ 0.8", shown))
        advance()
    return rows


def many_categories(n: int, k: int) -> list[Row]:
    """A group-by of k categories, released as one vector, beside the same counts and one call of the sampler."""
    from privjail.mechanisms.noise import Noise

    labels = [str(i) for i in range(k)]
    codes = pl.Series("key", np.random.default_rng(1).integers(0, k, n).astype(np.uint32))
    frame = pl.DataFrame({"key": codes.cast(pl.String()).cast(pl.Enum(labels))})
    df = pd.from_frame(frame, "keys", {"key": {"type": "category", "categories": labels}})
    noise = Noise()

    def raw() -> Any:
        counts = frame.lazy().group_by("key").len().collect()
        return counts["len"].to_numpy() + np.array(noise.laplace(1.0, k))

    ours, theirs = [], []
    for _ in range(RUNS):
        theirs.append(seconds(raw))
        ours.append(seconds(lambda: df.groupby("key").size().reveal(eps=1)))
    own, rival = statistics.median(ours), statistics.median(theirs)
    return [(f"group-by over {k:,} categories, {n:,} rows, one vector", f"raw Polars + sampler ({1000 * rival:.0f} ms)",
             "≤ 1.5", f"{own / rival:.2f} ({1000 * own:.0f} ms)")]  # fmt: skip


ON_DISK = """
import json, resource, sys, time
from privjail import pandas as pd
path, schema = sys.argv[1], json.loads(sys.argv[2])
start = time.perf_counter()
df = pd.read_parquet(path, schema)
df[df["age"] > 40].shape[0].reveal(eps=1)
df["pay"].clip(0, 100).sum().reveal(eps=1)
df.groupby(["job", "sex"])["pay"].sum().reveal(eps=1)
pd.cut(df["pay"], [2.0 * i for i in range(101)]).value_counts(sort=False).reveal(eps=1)
print(json.dumps([time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20]))
"""


def growth(sizes: tuple[int, ...], advance: Callable[[], Any]) -> list[Row]:
    """Open a Parquet file and ask four questions, each size in a process of its own."""
    took: dict[int, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            path = Path(folder) / "people.parquet"
            write_parquet(path, n)
            command = [sys.executable, "-c", ON_DISK, str(path), json.dumps(SCHEMA)]
            runs = [json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                    for _ in range(3 if n <= 10**7 else 1)]  # fmt: skip
            took[n] = (statistics.median(r[0] for r in runs), max(r[1] for r in runs))
            advance()
    rows = []
    for small, large in zip(sizes, sizes[1:], strict=False):
        ratio = took[large][0] / took[small][0] / (large / small)
        shown = f"{ratio:.2f} ({took[small][0]:.2f} → {took[large][0]:.2f} s; peak {took[large][1]:.2f} GiB)"
        rows.append((f"Parquet, {small:,} → {large:,} rows: open, four questions", "linear", "≤ 1.2; ≤ 4 GiB", shown))
    return rows


def write_parquet(path: Path, n: int) -> None:
    """In parts, so that the writer does not need the memory that the reader must not."""
    import pyarrow.parquet

    part = min(n, 1_000_000)
    block = people(part).with_columns(pl.col("job", "sex").cast(pl.String()))
    with pyarrow.parquet.ParquetWriter(path, block.to_arrow().schema) as writer:
        for _ in range(n // part):
            writer.write_table(block.to_arrow())


def rows(quick: bool = False) -> list[Row]:
    n = 1_000_000 if quick else 10_000_000
    sizes = (100_000, 1_000_000) if quick else (1_000_000, 10_000_000, 100_000_000)
    with Progress() as progress:
        task = progress.add_task("long tables", total=9 + len(sizes))
        found = beside_polars(n, lambda: progress.advance(task))
        found += many_categories(n, 10_000)
        progress.advance(task)
        found += growth(sizes, lambda: progress.advance(task))
    return found


if __name__ == "__main__":
    shown.main(__doc__, "a tenth of the rows, and no file of 100 million", rows)
