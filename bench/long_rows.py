"""A long table in the held form, written part by part, and three questions about it: a count, groups and sums.

    python bench/long_rows.py FOLDER PARTS ENGINE     # in a process of its own: times and the largest memory, as JSON

Four narrow columns. The values are random, the positions dense; no part is ever held beside another one.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from privjail.engines.engine import Engine
from privjail.engines.files import HeldFiles, Part, file_hash, in_polars
from privjail.engines.polars.engine import PolarsEngine
from privjail.engines.sql.duckdb import DuckDBEngine, DuckDBStore, open_database
from privjail.ops.columns.compare import Compare
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.source import Column, Dataset, Source, Unit
from privjail.plan.domain import CategoryDomain, IntDomain
from privjail.plan.node import Lit

JOBS = tuple(f"job{i}" for i in range(20))
COLUMNS = (
    ("age", IntDomain(False, 0, 100)),
    ("days", IntDomain(False, 0, 30)),
    ("job", CategoryDomain(False, JOBS)),
    ("sex", CategoryDomain(False, ("F", "M"))),
)
MEMORY = 3 * 2**30  # of the database; the process around it must stay below 4 GiB
GROUP = 1_000_000  # rows of a row group
QUESTIONS = ("count of a filter", "groups of a category", "sums by two categories")


def write(folder: Path, parts: int, rows: int) -> HeldFiles:
    """Parts of so many rows each; those that are there already are kept."""
    rng, made = np.random.default_rng(0), []
    for i in range(parts):
        path = folder / f"part-{i:05d}.parquet"
        if not path.exists():
            table = pa.table({
                "position": pa.array(np.arange(i * rows, (i + 1) * rows), pa.int64()),
                "c0": pa.array(rng.integers(0, 101, rows), pa.int64()),
                "c1": pa.array(rng.integers(0, 31, rows), pa.int64()),
                "c2": pa.array(rng.integers(0, 20, rows).astype(np.int32), pa.int32()),
                "c3": pa.array(rng.integers(0, 2, rows).astype(np.int32), pa.int32()),
            })  # fmt: skip
            pq.write_table(
                table, path, row_group_size=GROUP, use_dictionary=["c0", "c1", "c2", "c3"],
                column_encoding={"position": "DELTA_BINARY_PACKED"},
            )  # fmt: skip
        made.append(Part(path.name, rows, file_hash(path)))
    found = HeldFiles(folder, {}, (None, 1), (), tuple(made))
    (folder / "parts.json").write_text(json.dumps([[p.name, p.rows, p.sha256] for p in made]))
    return found


def held(folder: Path, parts: int) -> HeldFiles:
    """The first parts of what was written."""
    found = json.loads((folder / "parts.json").read_text())
    return HeldFiles(folder, {}, (None, 1), (), tuple(Part(*each) for each in found[:parts]))


def source() -> Source:
    return Source(Dataset("long", "long", COLUMNS, Unit()))


def questions(x: int) -> list[Tally]:
    """One of each kind; x makes them new ones, so that nothing was counted before."""
    rows = source()
    age, days, job, sex = (Column(rows, name) for name, _ in COLUMNS)
    some = Filter(rows, Compare(">", age, Lit.of(40 + x)))
    return [Tally(some, (), None), Tally(some, (job,), None), Tally(some, (job, sex), days)]


def timed(make: Callable[[], Engine], runs: int) -> dict[str, float]:
    """Seconds of each question, warm: the median of some runs after one that is not counted."""
    took: dict[str, list[float]] = {name: [] for name in QUESTIONS}
    for run in range(runs + 1):
        for name, value in zip(QUESTIONS, questions(run), strict=True):
            engine, start = make(), time.perf_counter()
            engine.evaluate_all([value])
            if run:
                took[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) for name, each in took.items()}


def on_duckdb(files: HeldFiles) -> Callable[[], Engine]:
    store = DuckDBStore(open_database(MEMORY))
    store.hold(source(), files)
    return lambda: DuckDBEngine(0, store)


def on_polars(files: HeldFiles) -> Callable[[], Engine]:
    rows = source()

    def make() -> Engine:
        engine = PolarsEngine()
        engine.hold(rows, in_polars(files, rows.dataset))
        return engine

    return make


def most_memory() -> int:
    """The largest memory of this process (getrusage would count the process that started it, too)."""
    (line,) = (each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def main(folder: str, parts: str, engine: str, runs: str = "3") -> None:
    files = held(Path(folder), int(parts))
    make: Any = {"duckdb": on_duckdb, "polars": on_polars}[engine]
    took = timed(make(files), int(runs))
    print(json.dumps({"rows": files.rows, "seconds": took, "bytes": most_memory()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
