"""How much automatic bounds cost: means with ``clip("auto")`` beside means with good fixed bounds, at the same ε.

    .venv/bin/python bench/bounds.py

*good* is cut at the true quantiles of half a per cent on both sides, which nobody knows without looking. *auto* pays
half of its ε for the bounds. *wide* is cut at bounds that somebody might guess: a hundred times too wide. Errors are
|answer − true mean| / true mean, the median of 40 runs; the true mean is of all rows, so cutting counts as an error.
"""

from __future__ import annotations

import itertools
import statistics

import numpy as np

import pandas
import privjail as pj
from privjail import pandas as pd

RUNS, EPS = 40, 1
SHAPES = {
    "even, 0 to 100": lambda pick, n: pick.uniform(0, 100, n),
    "normal, 50 ± 10": lambda pick, n: pick.normal(50, 10, n),
    "exponential, mean 300": lambda pick, n: pick.exponential(300, n),
    "log-normal, σ = 1": lambda pick, n: pick.lognormal(6, 1, n),
    "log-normal, σ = 2": lambda pick, n: pick.lognormal(6, 2, n),
}


def errors(values: np.ndarray) -> dict[str, float]:
    """The median relative error of the mean, by how it is cut."""
    schema = {"x": {"type": "Float64"}}
    table = pd.from_frame(pandas.DataFrame({"x": values}), "bench", schema, budget=10**6)
    true = float(values.mean())
    low, high = (float(q) for q in np.quantile(values, (0.005, 0.995)))
    ways = {
        "good": lambda: table["x"].clip(low, high).mean(eps=EPS),
        "auto": lambda: table["x"].clip("auto", eps=EPS / 2).mean(eps=EPS / 2),
        "wide": lambda: table["x"].clip(0.0, 100 * high).mean(eps=EPS),
    }
    return {name: statistics.median(abs(float(ask()) - true) / true for _ in range(RUNS)) for name, ask in ways.items()}


def main() -> None:
    pj.raise_gc_threshold()
    pick = np.random.default_rng(20)
    print("| values | rows | good | auto | wide | auto / good |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    for (name, draw), rows in itertools.product(SHAPES.items(), (1_000, 10_000, 100_000)):
        found = errors(draw(pick, rows))
        shown = " | ".join(f"{100 * found[way]:.2f} %" for way in ("good", "auto", "wide"))
        print(f"| {name} | {rows:,} | {shown} | {found['auto'] / found['good']:.1f} |", flush=True)


if __name__ == "__main__":
    main()
