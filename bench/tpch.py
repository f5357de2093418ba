"""Six queries of TPC-H about customers, with differential privacy: how far the answers are from the exact ones.

`python bench/tpch.py` makes tables in the manner of TPC-H's generator (scale 0.1: 15,000 customers, 150,000 orders,
600,000 lines), asks each query several times at each ε, and prints the median relative error over all cells and runs.
The privacy unit is a customer, with all her orders and lines. ε = ∞ is the same program without noise: what is left is
the error of cutting heavy customers. No file is written.

`--tumult PYTHON` asks the same questions of Tumult Analytics, as far as it can express them, on the same tables and
at the same ε (tpch_tumult.py). PYTHON is the interpreter of an environment with tmlt.analytics 0.21.0 and Java.
`--page docs/people-tpch.md` writes both into that page.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import pandas
import privjail as pj
from privjail import pandas as pd

SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]
NATIONS = [f"nation {i:02d}" for i in range(25)]  # five for each region
FIRST, DAYS = np.datetime64("1992-01-01"), 2406 - 151  # orders end 151 days before the last day
NO_NOISE = 1e6  # the largest ε that there is
TODAY = 1263  # 1995-06-17, the current day of TPC-H
DATE = {"type": "datetime", "range": ["1992-01-01", "1998-12-31"]}
SCHEMAS: dict[str, dict[str, Any]] = {
    "customer": {"custkey": {"type": "Int64"}, "segment": {"type": "category", "categories": SEGMENTS},
                 "nation": {"type": "category", "categories": NATIONS}},
    "orders": {"orderkey": {"type": "Int64"}, "custkey": {"type": "Int64"}, "orderdate": DATE,
               "special": {"type": "boolean"}},
    "lineitem": {"orderkey": {"type": "Int64"}, "quantity": {"type": "Int64", "range": [1, 50]},
                 "price": {"type": "Float64", "range": [0, 105_000]},
                 "discount": {"type": "Float64", "range": [0, 0.1]},
                 "flag": {"type": "category", "categories": ["A", "N", "R"]},
                 "status": {"type": "category", "categories": ["F", "O"]},
                 "shipdate": DATE, "supplier": {"type": "category", "categories": NATIONS}},
}  # fmt: skip
LINES = 120  # of one customer at most; the mean of those who order is 60


def data(scale: float, seed: int = 1) -> dict[str, pl.DataFrame]:
    """Two thirds of the customers order, each order has one to seven lines; other columns are drawn as in TPC-H."""
    pick = np.random.default_rng(seed)
    customers, orders = int(150_000 * scale), int(1_500_000 * scale)
    key = np.arange(1, customers + 1)
    buyers = key[key % 3 != 0]
    day = pick.integers(0, DAYS, orders)
    owner = pick.choice(buyers, orders)
    lines = pick.integers(1, 8, orders)
    order = np.repeat(np.arange(orders), lines)
    n = len(order)
    shipped = day[order] + pick.integers(1, 122, n)
    quantity = pick.integers(1, 51, n)
    returned = shipped + pick.integers(1, 31, n) <= TODAY
    return {
        "customer": pl.DataFrame({"custkey": key, "segment": pick.choice(SEGMENTS, customers),
                                  "nation": pick.choice(NATIONS, customers)}),
        "orders": pl.DataFrame({"orderkey": np.arange(orders), "custkey": owner, "orderdate": _dates(day),
                                "special": pick.random(orders) < 0.01}),
        "lineitem": pl.DataFrame({"orderkey": order, "quantity": quantity,
                                  "price": quantity * (900 + pick.integers(0, 120_001, n) / 100),
                                  "discount": pick.integers(0, 11, n) / 100,
                                  "flag": np.where(returned, pick.choice(["A", "R"], n), "N"),
                                  "status": np.where(shipped > TODAY, "O", "F"), "shipdate": _dates(shipped),
                                  "supplier": pick.choice(NATIONS, n)}),
    }  # fmt: skip


def _dates(days: Any) -> pl.Series:
    return pl.Series((FIRST + days).astype("datetime64[us]"))


class Tables:
    """The three tables of one population, with at most ``LINES`` lines of each customer."""

    def __init__(self, tables: dict[str, pl.DataFrame], name: str) -> None:
        here: Any = {"population": pj.population(name)}
        self.customer = pd.from_frame(
            tables["customer"], "customer", SCHEMAS["customer"], unit="custkey", max_rows_per_unit=1, **here
        )
        self.orders = pd.from_frame(
            tables["orders"], "orders", SCHEMAS["orders"], unit="custkey", key="orderkey", **here
        )
        lines = pd.from_frame(
            tables["lineitem"], "lineitem", SCHEMAS["lineitem"], link="orderkey=orders.orderkey", **here
        )
        self.lines = lines.groupby("custkey").head(LINES)
        self.lines["revenue"] = self.lines["price"] * (1 - self.lines["discount"])


def revenue_by(lines: Any, column: str, most: float, eps: float) -> Any:
    """Revenue of each group: of each customer at most so much, all in one group."""
    each = lines.groupby("custkey").agg(group=(column, "first"), revenue=("revenue", "sum"))
    each["revenue"] = each["revenue"].clip(0, most)
    return each.groupby("group")["revenue"].sum().reveal(eps=eps)


def q1(t: Tables, eps: float) -> Any:
    """Quantity, revenue and number of lines by flag and status."""
    lines = t.lines[t.lines["shipdate"] <= "1998-09-02"]
    groups = lines.groupby(["flag", "status"])
    return [groups.size().reveal(eps=eps / 3), groups["quantity"].sum().reveal(eps=eps / 3),
            groups["revenue"].sum().reveal(eps=eps / 3)]  # fmt: skip


def q3(t: Tables, eps: float) -> Any:
    """Revenue not yet shipped on a day, by segment (the query lists single orders, which nobody may see)."""
    day = "1995-03-15"
    lines = t.lines[t.lines["shipdate"] > day].merge(t.orders[t.orders["orderdate"] < day], on="orderkey")
    return [revenue_by(lines.merge(t.customer, on="custkey"), "segment", 600_000, eps)]


def q5(t: Tables, eps: float) -> Any:
    """Revenue by nation of a region in a year, from suppliers of the customer's nation."""
    year = t.orders[(t.orders["orderdate"] >= "1994-01-01") & (t.orders["orderdate"] < "1995-01-01")]
    lines = t.lines.merge(year, on="orderkey").merge(t.customer, on="custkey")
    local = lines[(lines["supplier"] == lines["nation"]) & lines["nation"].isin(NATIONS[:5])]
    return [revenue_by(local, "nation", 200_000, eps)]


def q6(t: Tables, eps: float) -> Any:
    """What a small discount cost in a year."""
    lines = t.lines[(t.lines["shipdate"] >= "1994-01-01") & (t.lines["shipdate"] < "1995-01-01")]
    lines = lines[(lines["discount"] >= 0.05) & (lines["discount"] <= 0.07) & (lines["quantity"] < 24)]
    lines["cost"] = lines["price"] * lines["discount"]
    return [lines.groupby("custkey")["cost"].sum().clip(0, 20_000).sum().reveal(eps=eps)]


def q13(t: Tables, eps: float) -> Any:
    """How many customers have 0, 1, 2, … orders, special ones left out."""
    orders = t.orders[~t.orders["special"]].groupby("custkey").agg(n=("orderkey", "size"))
    counts = t.customer.merge(orders, on="custkey", how="left")["n"].fillna(0).clip(0, 40)
    return [counts.value_counts(sort=False).reveal(eps=eps)]


def q18(t: Tables, eps: float) -> Any:
    """How many customers bought more than a quantity (the query lists them)."""
    bought = t.lines.groupby("custkey")["quantity"].sum()
    return [(bought > 1_500).sum().reveal(eps=eps)]


QUERIES: dict[str, Callable[[Tables, float], Any]] = {"Q1": q1, "Q3": q3, "Q5": q5, "Q6": q6, "Q13": q13, "Q18": q18}


def exact(tables: dict[str, pl.DataFrame]) -> dict[str, list[Any]]:
    """The same questions in pandas itself, of all rows."""
    customer, orders, lines = (tables[name].to_pandas() for name in ("customer", "orders", "lineitem"))
    lines = lines.merge(orders, on="orderkey").merge(customer, on="custkey")
    lines["revenue"] = lines["price"] * (1 - lines["discount"])
    old = lines[lines["shipdate"] <= "1998-09-02"].groupby(["flag", "status"])
    ship, ordered, day = lines["shipdate"], lines["orderdate"], "1995-03-15"
    unshipped = lines[(ship > day) & (ordered < day)]
    local = lines[(ordered >= "1994-01-01") & (ordered < "1995-01-01") & (lines["supplier"] == lines["nation"])]
    local = local[local["nation"].isin(NATIONS[:5])]
    cheap = lines[(ship >= "1994-01-01") & (ship < "1995-01-01") & (lines["quantity"] < 24)]
    cheap = cheap[cheap["discount"].between(0.05, 0.07)]
    counts = orders[~orders["special"]].groupby("custkey").size().reindex(customer["custkey"], fill_value=0).clip(0, 40)
    bought = lines.groupby("custkey")["quantity"].sum()
    return {
        "Q1": [old.size(), old["quantity"].sum(), old["revenue"].sum()],
        "Q3": [unshipped.groupby("segment")["revenue"].sum()],
        "Q5": [local.groupby("nation")["revenue"].sum()],
        "Q6": [(cheap["price"] * cheap["discount"]).sum()],
        "Q13": [counts.value_counts()],
        "Q18": [(bought > 1_500).sum()],
    }


def errors(found: list[Any], truth: list[Any], least: float = 0.0) -> list[float]:
    """The relative error of each cell that is not empty."""
    all_of: list[float] = []
    for ours, theirs in zip(found, truth, strict=True):
        if not isinstance(theirs, pandas.Series):
            all_of.append(abs(float(ours) - theirs) / theirs)
            continue
        known = {key: float(x) for key, x in ours.items()}
        all_of += [abs(known[key] - x) / x for key, x in theirs.items() if x > least]
    return all_of


def main(scale: float, prices: list[float], runs: int) -> dict[str, list[float]]:
    """The median relative error of each query, at each ε."""
    tables = data(scale)
    truth, here = exact(tables), Tables(tables, f"tpch {scale} {runs}")
    print(f"scale {scale}: {', '.join(f'{t.height:,} {name}' for name, t in tables.items())}; {runs} runs")
    print("query " + " ".join(f"{'∞' if eps == NO_NOISE else f'{eps:g}':>9}" for eps in prices))
    medians: dict[str, list[float]] = {}
    for name, query in QUERIES.items():
        medians[name] = []
        for eps in prices:
            seen = [e for _ in range(1 if eps == NO_NOISE else runs) for e in errors(query(here, eps), truth[name])]
            medians[name].append(float(np.median(seen)))
        print(f"{name:5} " + " ".join(f"{x:9.2%}" for x in medians[name]), flush=True)
    return medians


def written(tables: dict[str, pl.DataFrame], folder: str) -> None:
    """The tables as files for Tumult Analytics: lines name their customer, days are text, amounts are computed."""

    def day(column: str) -> pl.Expr:
        return pl.col(column).dt.strftime("%Y-%m-%d")

    price, discount = pl.col("price"), pl.col("discount")
    lines = tables["lineitem"].join(tables["orders"].select("orderkey", "custkey"), on="orderkey")
    lines = lines.with_columns(shipped=day("shipdate"), revenue=price * (1 - discount), cost=price * discount)
    tables["customer"].write_parquet(f"{folder}/customer.parquet")
    orders = tables["orders"].select("orderkey", "custkey", ordered=day("orderdate"))
    orders.write_parquet(f"{folder}/orders.parquet")
    lines.drop("shipdate").write_parquet(f"{folder}/lineitem.parquet")


def of_tumult(
    tables: dict[str, pl.DataFrame], python: str, prices: list[float], runs: int, seconds: float
) -> tuple[dict[str, list[float]], str]:
    """The same medians for Tumult Analytics, for what it could be asked in this time; and what was not, and why."""
    script, truth = Path(__file__).with_name("tpch_tumult.py"), exact(tables)
    seen: dict[tuple[str, float], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        written(tables, folder)
        command = [python, str(script), folder, str(runs), *map(str, prices)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
            out, why = done.stdout, "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["?"])[-1]
        except subprocess.TimeoutExpired as e:
            out, why = (e.stdout or b"").decode(), f"stopped after {seconds:.0f} s"
        except OSError as e:
            out, why = "", f"{python} cannot be run: {e.strerror}"
    for line in out.splitlines():
        name, eps, answers = json.loads(line)
        found = [{tuple(key) if len(key) > 1 else key[0] if key else None: x for key, x in part} for part in answers]
        given = [part.get(None, part) for part in found]
        seen.setdefault((name, eps), []).extend(errors(given, truth[name]))
    names = dict.fromkeys(name for name, _ in seen)
    nothing = [float("nan")]
    return {name: [float(np.median(seen.get((name, eps), nothing))) for eps in prices] for name in names}, why


def beside(tables: dict[str, pl.DataFrame], python: str, prices: list[float], runs: int, seconds: float) -> str:
    """Both libraries at the same ε in one run, as a table of text."""
    theirs, why = of_tumult(tables, python, prices, runs, seconds)
    truth, here = exact(tables), Tables(tables, f"tpch beside {runs}")
    lines = ["query " + " ".join(f"{f'PrivJail {eps:g}':>13} {f'Tumult {eps:g}':>13}" for eps in prices)]
    for name, query in QUERIES.items():
        cells = []
        for i, eps in enumerate(prices):
            ours = float(np.median([e for _ in range(runs) for e in errors(query(here, eps), truth[name])]))
            other = theirs[name][i] if name in theirs else float("nan")
            cells += [f"{ours:13.2%}", f"{'-' if np.isnan(other) else f'{other:.2%}':>13}"]
        lines.append(f"{name:5} " + " ".join(cells))
    return "\n".join([*lines, *([f"Tumult Analytics: {why}"] if why else [])])


def put_into(page: Path, table: str) -> None:
    """Replace the table below the heading of the comparison."""
    text = page.read_text(encoding="utf-8")
    start = text.index("```text\n", text.index("## Beside Tumult Analytics")) + len("```text\n")
    page.write_text(text[:start] + table + text[text.index("\n```", start) :], encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--tumult", metavar="PYTHON", help="compare with Tumult Analytics in this environment")
    parser.add_argument("--eps", type=float, nargs="+", default=[1.0], help="of the comparison")
    parser.add_argument("--seconds", type=float, default=1800, help="for Tumult Analytics")
    parser.add_argument("--page", type=Path, help="a page to put the comparison into")
    options = parser.parse_args()
    if options.tumult is None:
        main(options.scale, [0.1, 1.0, 10.0, NO_NOISE], options.runs)
    else:
        found = beside(data(options.scale), options.tumult, options.eps, options.runs, options.seconds)
        print(found)
        if options.page is not None:
            put_into(options.page, found)
