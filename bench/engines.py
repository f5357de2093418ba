"""The same queries on every engine, in one run: writes docs/engines-benchmarks.md.

    python bench/engines.py [--rows 10_000_000] [--spark sc://host:port]

*Fresh*: a constant of the query is new each time, so only the loaded table is kept from before. Medians of seven.
Sail is started here if it is installed; Spark is measured where an address is given.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

import tables
from privjail import pandas as pd
from privjail import session
from privjail.catalogue.ingest import ingest
from privjail.engines.engine import Engine
from privjail.engines.polars.engine import PolarsEngine
from privjail.engines.sql.duckdb import DuckDBEngine
from privjail.engines.sql.spark import SparkEngine, SparkStore
from privjail.ops.rows.source import Source, Unit
from privjail.plan.domain import CategoryDomain

ROOT = Path(__file__).resolve().parents[1]
RUNS = 7
SAIL_ROWS = 1_000_000
SAIL = "from pysail.spark import SparkConnectServer as S; s = S('127.0.0.1', {}); s.start(background=False)"
Times = dict[str, dict[str, float]]  # query → engine → milliseconds


def measured(name: str, engine: Engine, frame: pl.DataFrame, times: Times) -> int:
    """Milliseconds of each query with fresh constants. Gives the number of jobs per release, where they are counted."""
    session.set_engine(engine)
    df = pd.from_frame(frame, f"people on {name}, {frame.height} rows", tables.SCHEMA)
    x, releases = 0.0, 0
    before = getattr(getattr(engine, "store", None), "jobs", 0)
    for query, (ours, _) in tables.queries(df, frame.lazy()).items():
        took = []
        for _ in range(RUNS + 1):
            x += 2.0**-20
            took.append(1000 * tables.seconds(lambda: ours(x)))  # noqa: B023
            releases += 1
        times.setdefault(query, {})[name] = statistics.median(took[1:])
    return -(-(getattr(getattr(engine, "store", None), "jobs", 0) - before) // max(1, releases))


@contextmanager
def sail(port: int = 50_271) -> Iterator[str]:
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, "-c", SAIL.format(port)], **quiet)
    try:
        time.sleep(5)
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


class FromFiles(SparkEngine):
    """Writes what it is given in the held form first, as `privjail ingest` does."""

    def hold(self, source: Source, data: Any) -> None:
        folder = Path(tempfile.mkdtemp(prefix="privjail-bench-"))
        pl.DataFrame(data).with_columns(
            pl.col(name).replace_strict(list(range(len(d.categories))), list(d.categories), return_dtype=pl.String())
            for name, d in source.dataset.columns
            if isinstance(d, CategoryDomain)
        ).write_parquet(folder / "people.parquet")
        origin = {"kind": "parquet", "place": str(folder / "people.parquet")}
        self.store.hold(source, ingest(origin, tables.SCHEMA, Unit(), folder / "held"))


def table(title: str, times: Times, engines: list[str]) -> list[str]:
    lines = [f"## {title}", "", f"| query | {' | '.join(engines)} |", "| --- |" + " --- |" * len(engines)]
    for query, took in times.items():
        first = took[engines[0]]
        cells = [f"{took[e]:.1f} ms" + ("" if e == engines[0] else f", {took[e] / first:.2f}×") for e in engines]
        lines.append(f"| {query} | {' | '.join(cells)} |")
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=lambda text: int(text.replace("_", "")), default=10_000_000)
    parser.add_argument("--spark", help="a Spark Connect server, sc://host:port")
    given = parser.parse_args()

    lines = ["# Speed of the engines", "", "One run of `make bench-engines`; medians of seven, fresh constants.", ""]
    frame, times = tables.people(given.rows), Times()
    for name, engine in (("polars", PolarsEngine()), ("duckdb", DuckDBEngine())):
        measured(name, engine, frame, times)
    lines += table(f"{given.rows:,} rows in memory", times, ["polars", "duckdb"])
    small, times, jobs = tables.people(min(given.rows, SAIL_ROWS)), Times(), {}
    measured("polars", PolarsEngine(), small, times)
    engines = ["polars"]
    if find_spec("pysail") is not None:
        with sail() as address:
            jobs["sail"] = measured("sail", FromFiles(SparkStore(address)), small, times)
        engines.append("sail")
    if given.spark is not None:
        jobs["spark"] = measured("spark", FromFiles(SparkStore(given.spark)), small, times)
        engines.append("spark")
    lines += table(f"{small.height:,} rows through Spark Connect", times, engines)
    lines += [f"Jobs per release: {', '.join(f'{name} at most {n}' for name, n in jobs.items())}.", ""]
    names = ("polars", "duckdb", "pysail", "pyspark-client")
    packages = ", ".join(f"{n} {version(n)}" for n in names if find_spec(n.split("-")[0]))
    load = os.getloadavg()[1] / (os.cpu_count() or 1)
    lines.append(f"{os.cpu_count()} cores, Python {platform.python_version()}, {packages}; load per core: {load:.1f}.")
    (ROOT / "docs" / "engines-benchmarks.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
