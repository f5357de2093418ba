"""The same queries on every engine, in one run: writes docs/engines-benchmarks.md and docs/figures/engines-workers.svg.

    python bench/engines.py [--quick] [--folder DIR]

*Fresh*: a constant of the query is new each time, so only the loaded table is kept from before. Medians of seven.
Sail is started if it is installed; Spark if there is Java and a distribution (`make spark`), as a standalone cluster of
this machine. The long table is written to a folder (about 3 GB, which stays if it is named) and read by each engine in
a process of its own. ``--quick`` is a small run that shows that the script works; it writes to build/.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import long_rows
import polars as pl

import tables

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / name) for name in (".", "examples")]

import diffpid3  # noqa: E402
from tests.engines.spark_servers import Cluster, no_sail, no_spark, sail  # noqa: E402

from privjail import pandas as pd  # noqa: E402
from privjail import session  # noqa: E402
from privjail.catalogue.ingest import ingest  # noqa: E402
from privjail.engines.engine import Engine  # noqa: E402
from privjail.engines.polars.engine import PolarsEngine  # noqa: E402
from privjail.engines.sql.duckdb import DuckDBEngine  # noqa: E402
from privjail.engines.sql.spark import SparkEngine, SparkStore  # noqa: E402
from privjail.errors import EngineFailed  # noqa: E402
from privjail.ops.rows.source import Source, Unit  # noqa: E402
from privjail.plan.domain import CategoryDomain  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
RUNS = 7
NINE_ROWS, CONNECT_ROWS = 10_000_000, 1_000_000
PART_ROWS, PARTS = 10_000_000, 100  # of the long table: a billion rows
WORKERS = (1, 2, 4)
Times = dict[str, dict[str, float]]  # query → engine → milliseconds


class Sizes(NamedTuple):
    """How much is measured."""

    nine: int = NINE_ROWS
    connect: int = CONNECT_ROWS
    part: int = PART_ROWS
    parts: int = PARTS
    workers: tuple[int, ...] = WORKERS
    runs: int = RUNS


QUICK = Sizes(200_000, 50_000, 100_000, 20, (1, 2), 2)


class Counting(SparkEngine):
    """Notes how many jobs each release takes. Large tables are ingested first."""

    def __init__(self, store: SparkStore) -> None:
        super().__init__(store)
        self.per_release: list[int] = []

    def evaluate_all(self, values: Any) -> Any:
        before = self.store.jobs  # type: ignore[attr-defined]
        found = super().evaluate_all(values)
        self.per_release.append(self.store.jobs - before)  # type: ignore[attr-defined]
        return found

    def hold(self, source: Source, data: Any) -> None:
        if len(pl.DataFrame(data)) < CONNECT_ROWS // 20:
            super().hold(source, data)
            return
        folder = Path(tempfile.mkdtemp(prefix="privjail-bench-"))
        pl.DataFrame(data).with_columns(
            pl.col(name).replace_strict(list(range(len(d.categories))), list(d.categories), return_dtype=pl.String())
            for name, d in source.dataset.columns
            if isinstance(d, CategoryDomain)
        ).write_parquet(folder / "people.parquet")
        origin = {"kind": "parquet", "place": str(folder / "people.parquet")}
        self.store.hold(source, ingest(origin, tables.SCHEMA, Unit(), folder / "held"))


def measured(engines: dict[str, Engine], frame: pl.DataFrame, runs: int) -> Times:
    """Milliseconds of each query with fresh constants, the engines in turns."""
    opened = {}
    for name, engine in engines.items():
        session.set_engine(engine)
        opened[name] = pd.from_frame(frame, f"people on {name}, {frame.height} rows", tables.SCHEMA)
    asked = {name: tables.queries(df, frame.lazy()) for name, df in opened.items()}
    times, x = Times(), 0.0
    for query in next(iter(asked.values())):
        took: dict[str, list[float]] = {name: [] for name in engines}
        for _ in range(runs + 1):
            x += 2.0**-20
            for name, engine in engines.items():
                session.set_engine(engine)
                ours = asked[name][query][0]
                took[name].append(1000 * tables.seconds(lambda: ours(x)))  # noqa: B023
        times[query] = {name: statistics.median(each[1:]) for name, each in took.items()}
    return times


def table(title: str, times: Times) -> list[str]:
    engines = list(next(iter(times.values())))
    lines = [f"## {title}", "", f"| query | {' | '.join(engines)} |", "| --- |" + " --- |" * len(engines)]
    for query, took in times.items():
        first = took[engines[0]]
        cells = [f"{took[e]:.1f} ms" + ("" if e == engines[0] else f", {took[e] / first:.2f}×") for e in engines]
        lines.append(f"| {query} | {' | '.join(cells)} |")
    return [*lines, ""]


def verdict(what: str, worst: float, target: float, unit: str) -> str:
    return f"- {what}: worst {worst:.2f}{unit}, target {target:g}{unit}: {'met' if worst <= target else 'missed'}."


def in_memory(sizes: Sizes, folder: Path, picture: Path) -> list[str]:
    frame = tables.people(sizes.nine)
    times = measured({"polars": PolarsEngine(), "duckdb": DuckDBEngine()}, frame, sizes.runs)
    worst = max(took["duckdb"] / took["polars"] for took in times.values())
    lines = table(f"{sizes.nine:,} rows in memory", times)
    return [*lines, verdict("DuckDB beside Polars", worst, 2, "×"), ""]


def jobs_of_diffpid3(engine: Counting) -> str:
    """The tree of the paper on generated data: how many jobs one release takes."""
    import census

    session.set_engine(engine)
    with tempfile.TemporaryDirectory() as folder:
        found = diffpid3.measure(*census.write_files(folder, rows=20_000), eps=2.0, depth=3)
    jobs = engine.per_release
    return (
        f"- DiffPID3 on Spark: {len(jobs)} releases, {sum(jobs)} jobs, at most {max(jobs)} per release, target 2; "
        f"spent {found['spent']:g} of 2."
    )


def through_connect(sizes: Sizes, folder: Path, picture: Path) -> list[str]:
    """Sail and Spark with two workers, each beside Polars at the same time."""
    frame, times, notes = tables.people(sizes.connect), Times(), []
    servers: list[tuple[str, float, Any]] = []
    if no_sail() is None:
        servers.append(("sail", 150, sail()))
    if no_spark() is None:
        servers.append(("spark", 1000, clustered(folder / "spark", 2)))
    for name, target, server in servers:
        with server as address:
            engine = Counting(SparkStore(address, seconds=600))
            found = measured({"polars": PolarsEngine(), name: engine}, frame, sizes.runs)
            notes.append(verdict(f"{name}, warm release", max(t[name] for t in found.values()), target, " ms"))
            notes.append(f"- {name}: at most {max(engine.per_release)} jobs per release.")
            if name == "spark":
                notes.append(jobs_of_diffpid3(Counting(SparkStore(address, seconds=600))))
        for query, took in found.items():
            times.setdefault(query, {}).update(took | times.get(query, {}))
    for reason in filter(None, (no_sail(), no_spark())):
        notes.append(f"- not measured: {reason}")
    lines = table(f"{frame.height:,} rows through Spark Connect", times) if times else []
    return [*lines, *notes, ""]


@contextlib.contextmanager
def clustered(folder: Path, workers: int) -> Iterator[str]:
    folder.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(folder, workers)
    try:
        yield cluster.address
    finally:
        cluster.close()


def long_table(sizes: Sizes, folder: Path, picture: Path) -> list[str]:
    """A tenth of the parts and all of them, by each engine in a process of its own."""
    small, large = sizes.parts // 10, sizes.parts
    files = long_rows.write(folder, large, sizes.part)
    on_disk = sum(path.stat().st_size for path in files.paths)
    lines = [
        f"## {small * sizes.part:,} and {files.rows:,} rows of Parquet", "",
        f"Four narrow columns and the position, {on_disk / 1e9:.2f} GB. Each engine in a process of its own.", "",
        f"| engine | rows | {' | '.join(long_rows.QUESTIONS)} | most memory |", "| --- |" + " --- |" * 5,
    ]  # fmt: skip
    notes = []
    for engine in ("duckdb", "polars"):
        found = [run_long(folder, parts, engine, 3 if parts == small else 1) for parts in (small, large)]
        for each in found:
            cells = " | ".join(f"{each['seconds'][q]:.2f} s" for q in long_rows.QUESTIONS)
            lines.append(f"| {engine} | {each['rows']:,} | {cells} | {each['bytes'] / 2**30:.2f} GiB |")
        few, many = (each["seconds"] for each in found)
        notes.append(verdict(f"{engine}: growth beside 10 times the time",
                             max(many[q] / (10 * few[q]) for q in few), 1.2, "×"))  # fmt: skip
        notes.append(verdict(f"{engine}: memory", max(each["bytes"] for each in found) / 2**30, 4, " GiB"))
    return [*lines, "", *notes, ""]


def run_long(folder: Path, parts: int, engine: str, runs: int) -> Any:
    script = str(Path(__file__).with_name("long_rows.py"))
    command = [sys.executable, script, str(folder), str(parts), engine, str(runs)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def growth(sizes: Sizes, folder: Path, picture: Path) -> list[str]:
    """The long table's first tenth on Spark with 1, 2, … workers of one core each."""
    reason = no_spark()
    if reason is not None:
        return [f"Growth over workers was not measured: {reason}", ""]
    files, found = long_rows.held(folder, sizes.parts // 10), {}
    for workers in sizes.workers:
        with clustered(folder / f"spark{workers}", workers) as address:
            store = SparkStore(address, seconds=600)
            store.hold(long_rows.source(), files)
            found[workers] = long_rows.timed(lambda: SparkEngine(store, 0), min(3, sizes.runs))  # noqa: B023
    plot(found, picture)
    return [
        f"## Spark with {', '.join(map(str, sizes.workers))} workers: {files.rows:,} rows", "",
        f"| workers | {' | '.join(long_rows.QUESTIONS)} |", "| --- |" + " --- |" * len(long_rows.QUESTIONS),
        *(f"| {n} | {' | '.join(f'{each[q]:.2f} s' for q in long_rows.QUESTIONS)} |" for n, each in found.items()),
        "", f"Each worker has one core; the machine has {os.cpu_count()} for all of them and the driver.", "",
        "![Seconds by the number of workers](figures/engines-workers.svg)", "",
    ]  # fmt: skip


def plot(found: dict[int, dict[str, float]], picture: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 3.2))
    for question in long_rows.QUESTIONS:
        axes.plot(list(found), [each[question] for each in found.values()], marker="o", label=question)
    axes.set_xlabel("workers of one core each")
    axes.set_ylabel("seconds")
    axes.set_xticks(list(found))
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(picture, metadata={"Date": None})


def machine() -> str:
    names = ("polars", "duckdb", "pysail", "pyspark-client")
    packages = ", ".join(f"{n} {version(n)}" for n in names if find_spec(n.split("-")[0]))
    load = os.getloadavg()[1] / (os.cpu_count() or 1)
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {packages}; load per core: {load:.1f}."


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a small run, written to build/")
    parser.add_argument("--folder", type=Path, help="where the long table is written, and kept")
    given = parser.parse_args()
    sizes = QUICK if given.quick else Sizes()
    docs = ROOT / ("build" if given.quick else "docs")
    (docs / "figures").mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="privjail-long-")))
        folder.mkdir(parents=True, exist_ok=True)
        lines = ["# Speed of the engines", "", "One run of `make bench-engines`; medians, fresh constants.", ""]
        for part in (in_memory, through_connect, long_table, growth):
            try:
                found = part(sizes, folder, docs / "figures" / "engines-workers.svg")
            except (EngineFailed, RuntimeError, subprocess.SubprocessError) as e:
                found = [f"Not measured: {part.__name__} ended with {type(e).__name__}.", ""]
            print("\n".join(found), flush=True)
            lines += found
            page = "\n".join([*lines, machine()]) + "\n"
            (docs / "engines-benchmarks.md").write_text(page, encoding="utf-8")  # what is done, if the rest fails


if __name__ == "__main__":
    main()
