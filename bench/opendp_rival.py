"""Times OpenDP's Polars context on a Parquet file. Started by tables.py in an environment that has OpenDP's own Polars.

Prints a line of JSON: milliseconds of each query, or why it refuses it.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import opendp.prelude as dp
import polars as pl


def queries(raw, n):
    """Every query has a context of its own: budgets are fixed when a context is made."""
    dp.enable_features("contrib")
    keys = (["job"], ["job", "sex"])
    margins = [dp.polars.Margin(max_length=n)]
    margins += [dp.polars.Margin(by=by, max_length=n, max_groups=40, invariant="keys") for by in keys]

    def ask():
        return dp.Context.compositor(
            data=raw, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(epsilon=1.0),
            split_evenly_over=1, margins=margins,
        ).query()  # fmt: skip

    pay = pl.col("pay").fill_nan(0.0).fill_null(0.0)
    return {
        "count": lambda: ask().select(dp.len()),
        "filtered count": lambda: ask().filter(pl.col("age") > 40).select(dp.len()),
        "clipped sum": lambda: ask().select(pay.dp.sum((0.0, 100.0))),
        "mean": lambda: ask().select(pay.dp.mean((0.0, 100.0))),
        "group-by count": lambda: ask().group_by("job").agg(dp.len()),
        "two-key group-by sum": lambda: ask().group_by("job", "sex").agg(pay.dp.sum((0.0, 200.0))),
        "crosstab": lambda: ask().group_by("job", "sex").agg(dp.len()),
    }


def main():
    path, runs = sys.argv[1], int(sys.argv[2])
    frame = pl.scan_parquet(path)  # a frame in memory would be written out for every query: ten times slower
    found = {}
    for name, query in queries(frame, frame.select(pl.len()).collect().item()).items():
        try:
            times = []
            for _ in range(runs):
                start = time.perf_counter()
                query().release().collect()
                times.append(1000 * (time.perf_counter() - start))
            found[name] = statistics.median(times)
        except Exception as e:  # noqa: BLE001
            found[name] = f"{type(e).__name__}: {str(e).strip().splitlines()[-1][:160]}"
    print(json.dumps(found))


main()
