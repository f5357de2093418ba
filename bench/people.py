"""How long per-person aggregates, joins and filters take, beside the same lines in plain Polars.

`python bench/people.py` makes 10,000,000 stays of 1,000,000 patients in memory; `--quick` a hundredth of it. What the
engine keeps is forgotten before each question; the median of rounds is shown. Noise, charges and the exact sums on a
grid are part of our time. No file is written.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

import privjail as pj
from privjail import pandas as pd
from privjail import session

SCHEMAS = {
    "stays": {"patient": {"type": "Int64"}, "cost": {"type": "Float64", "range": [0, 20000]},
              "ward": {"type": "category", "categories": ["a", "b", "c", "d"]}},
    "patients": {"patient": {"type": "Int64"}, "sex": {"type": "category", "categories": ["F", "M"]}},
}  # fmt: skip


def data(rows: int, seed: int = 1) -> dict[str, pl.DataFrame]:
    """Stays of a tenth as many patients, a few of whom have very many; made-up numbers."""
    pick, persons = np.random.default_rng(seed), rows // 10
    patient = np.minimum((persons * pick.random(rows) ** 2).astype(np.int64), persons - 1)
    return {
        "stays": pl.DataFrame({"patient": patient, "cost": pick.gamma(2, 900, rows).clip(0, 20000),
                               "ward": pl.Series(pick.choice(["a", "b", "c", "d"], rows))}),
        "patients": pl.DataFrame({"patient": np.arange(persons), "sex": pl.Series(pick.choice(["F", "M"], persons))}),
    }  # fmt: skip


def opened(tables: dict[str, pl.DataFrame]) -> tuple[Any, Any]:
    """Both tables in one population."""
    people = pj.population("bench")
    stays, patients = (
        pd.from_frame(tables[t], t, SCHEMAS[t], population=people, unit="patient", max_rows_per_unit=k)
        for t, k in (("stays", None), ("patients", 1))
    )
    return stays, patients


def totals(stays: Any, patients: Any) -> None:
    stays.groupby("patient")["cost"].sum().clip(0, 20000).sum().reveal(eps=1)


def raw_totals(t: dict[str, pl.DataFrame]) -> Any:
    each = t["stays"].group_by("patient", maintain_order=True).agg(pl.col("cost").sum())
    return each["cost"].clip(0, 20000).sum()


def joined(stays: Any, patients: Any) -> None:
    both = stays.merge(patients, on="patient")
    both[both["sex"] == "F"].groupby("patient").size().clip(0, 20).sum().reveal(eps=1)


def raw_joined(t: dict[str, pl.DataFrame]) -> Any:
    both = t["stays"].join(t["patients"], on="patient", how="inner", maintain_order="left")
    each = both.filter(pl.col("sex") == "F").group_by("patient", maintain_order=True).len()
    return each["len"].clip(0, 20).sum()


def by_row(stays: Any, patients: Any) -> None:
    stays[stays["ward"] == "a"].groupby("patient").size().clip(0, 20).sum().reveal(eps=1)


def raw_by_row(t: dict[str, pl.DataFrame]) -> Any:
    each = t["stays"].filter(pl.col("ward") == "a").group_by("patient", maintain_order=True).len()
    return each["len"].clip(0, 20).sum()


def pairs(stays: Any, patients: Any) -> None:
    few = stays.groupby("patient").head(2)
    met = few.merge(few[few["ward"] == "a"], on="patient")
    (met["cost_x"] - met["cost_y"]).sum().reveal(eps=1)


def raw_pairs(t: dict[str, pl.DataFrame]) -> Any:
    few = t["stays"].filter(pl.int_range(pl.len()).over("patient") < 2)
    met = few.join(few.filter(pl.col("ward") == "a"), on="patient", maintain_order="left_right")
    return (met["cost"] - met["cost_right"]).sum()


def below(stays: Any, patients: Any) -> None:
    few = stays.groupby("patient").head(2)
    pd.concat([few[["cost"]], few[few["ward"] == "a"][["cost"]]])["cost"].sum().reveal(eps=1)


def raw_below(t: dict[str, pl.DataFrame]) -> Any:
    few = t["stays"].filter(pl.int_range(pl.len()).over("patient") < 2)
    return pl.concat([few.select("cost"), few.filter(pl.col("ward") == "a").select("cost")])["cost"].sum()


QUESTIONS: dict[str, tuple[Callable[[Any, Any], None], Callable[[dict[str, pl.DataFrame]], Any]]] = {
    "cost per patient, clipped, summed": (totals, raw_totals),
    "stays of women: join, filter by the person": (joined, raw_joined),
    "stays in one ward: filter by the row": (by_row, raw_by_row),
    "two stays of each, each with those in a ward": (pairs, raw_pairs),
    "two stays of each, and those in a ward below": (below, raw_below),
}


def seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="100,000 rows, 2 rounds")
    options = parser.parse_args()
    rows, rounds = (100_000, 2) if options.quick else (options.rows, options.rounds)
    tables = data(rows)
    stays, patients = opened(tables)
    print(f"{rows:,} rows, {rounds} rounds, median seconds")
    print(f"{'question':45} {'PrivJail':>9} {'Polars':>9} {'ratio':>6}")
    for name, (ours, theirs) in QUESTIONS.items():
        mine, raw = [], []
        for _ in range(rounds):
            forget()
            mine.append(seconds(lambda: ours(stays, patients)))  # noqa: B023
            raw.append(seconds(lambda: theirs(tables)))  # noqa: B023
        a, b = statistics.median(mine), statistics.median(raw)
        print(f"{name:45} {a:9.3f} {b:9.3f} {a / b:6.2f}", flush=True)


def forget() -> None:
    """Nothing comes from an earlier question."""
    cache: Any = session.jail().engine.cache
    cache.clear()


if __name__ == "__main__":
    main()
