"""Everything that `make bench` measures: speed, then accuracy. Writes docs/accuracy.md and docs/benchmarks.md.

python bench/run.py [--quick] [--quick-wire] [--no-accuracy]
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
from importlib.metadata import version
from pathlib import Path

import accuracy
import speed
import wire

import tables

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("polars", "numpy", "pandas", "opendp", "grpcio")


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    parts = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    busy = os.getloadavg()[1] / (os.cpu_count() or 1)
    return (
        f"{datetime.date.today()}, {os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}, "
        f"{parts}; "
        f"load per core at the end: {busy:.1f}."
    )


def page(rows: list[tuple[str, str, str, str]], trees: str) -> str:
    lines = ["# Speed", "", "Ratios of our time to a rival's, in one run of `make bench`, medians.", ""]
    lines += ["| work | rival | target | measured |", "| --- | --- | --- | --- |"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    lines += [
        "",
        "*Fresh*: a constant of the query is new each time. *Again*: the same query once more, for which the session "
        "keeps what it counted; the noise is new.",
        "",
        machine(),
        "",
        trees,
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="smaller tables, a shorter session")
    parser.add_argument("--quick-wire", action="store_true", help="a shorter session, the start of the rival's tree")
    parser.add_argument("--no-accuracy", action="store_true", help="measure speed only")
    given = parser.parse_args()
    trees = speed.rows_and_text()  # first: what others leave in memory slows down whoever makes many objects
    wires = wire.rows(given.quick or given.quick_wire)
    rows = [*trees[0], *tables.rows(given.quick), *wires]
    plot = speed.plot(rows)
    (ROOT / "docs" / "benchmarks.md").write_text(page(rows, f"{trees[1]}\n{plot}"), encoding="utf-8")
    print("wrote docs/benchmarks.md")
    if not given.no_accuracy:
        accuracy.main()


if __name__ == "__main__":
    main()
