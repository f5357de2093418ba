"""Queries of TPC-H about customers in Tumult Analytics. Runs alone, in its own environment: it imports nothing of ours.

    python bench/tpch_tumult.py FOLDER RUNS EPSILON…

reads the tables that `bench/tpch.py` wrote into the folder, and prints lines of JSON: [query, ε, answers], each answer
a list of (labels, number). The privacy unit is a customer, by `AddRowsWithID`. Each customer's rows are cut by
`MaxRowsPerID`. A sum of each customer's rows could be written as a Python function for `flat_map_by_id`; it is not
here, so Q13 and Q18 are left out, and in Q3, Q5 and Q6 a bound on rows stands where ours has one on each amount.
"""

import json
import os
import sys
import warnings
from importlib import import_module as load
from typing import Any

SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]
REGION = [f"nation {i:02d}" for i in range(5)]
MOST = 105_000  # the declared largest price of a line


def spark() -> Any:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = load("pyspark.sql").SparkSession.builder.master("local[1]")
    for name, value in {"ui.enabled": "false", "sql.shuffle.partitions": "1", "driver.memory": "2g",
                        "driver.host": "127.0.0.1"}.items():  # fmt: skip
        builder = builder.config(f"spark.{name}", value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def opened(folder: str) -> Any:
    """A session on the three tables; each of them names the customer, as our loading does through the link."""
    tmlt, reader = load("tmlt.analytics"), spark().read
    session = tmlt.Session.Builder().with_privacy_budget(tmlt.PureDPBudget(float("inf"))).with_id_space("customers")
    for name in ("customer", "orders", "lineitem"):
        rows = reader.parquet(f"{folder}/{name}.parquet")
        session = session.with_private_dataframe(name, rows, tmlt.AddRowsWithID("custkey", "customers"))
    return session.build()


def queries() -> dict[str, list[Any]]:
    """Each query, as parts that share its ε equally."""
    tmlt = load("tmlt.analytics")
    most, keys, table = tmlt.MaxRowsPerID, tmlt.KeySet.from_dict, tmlt.QueryBuilder  # a builder changes in place
    groups = keys({"flag": ["A", "N", "R"], "status": ["F", "O"]})
    old = table("lineitem").filter("shipped <= '1998-09-02'").enforce(most(120)).groupby(groups)
    before = table("orders").filter("ordered < '1995-03-15'").select(["custkey", "orderkey"])
    year = table("orders").filter("ordered >= '1994-01-01' AND ordered < '1995-01-01'")
    year = year.select(["custkey", "orderkey"])
    unshipped = (
        table("lineitem").filter("shipped > '1995-03-15'").join_private(before, join_columns=["custkey", "orderkey"])
    )
    unshipped = unshipped.join_private("customer", join_columns=["custkey"]).enforce(most(10))
    local = table("lineitem").join_private(year, join_columns=["custkey", "orderkey"])
    local = local.join_private("customer", join_columns=["custkey"]).filter("supplier = nation").enforce(most(4))
    cheap = table("lineitem").filter("shipped >= '1994-01-01' AND shipped < '1995-01-01' AND quantity < 24")
    cheap = cheap.filter("discount >= 0.05 AND discount <= 0.07").enforce(most(5))
    return {
        "Q1": [old.count("x"), old.sum("quantity", 1, 50, "x"), old.sum("revenue", 0, MOST, "x")],
        "Q3": [unshipped.groupby(keys({"segment": SEGMENTS})).sum("revenue", 0, MOST, "x")],
        "Q5": [local.groupby(keys({"nation": REGION})).sum("revenue", 0, MOST, "x")],
        "Q6": [cheap.sum("cost", 0, 3_500, "x")],
    }


def main(folder: str, runs: int, prices: list[float]) -> None:
    lines, sys.stdout = sys.stdout, sys.stderr  # what a package prints is no output of ours
    tmlt, session = load("tmlt.analytics"), opened(folder)
    for name, parts in queries().items():
        for eps in prices:
            for _ in range(runs):
                answers = []
                for part in parts:
                    found = session.evaluate(part, tmlt.PureDPBudget(eps / len(parts))).toPandas()
                    labels = [c for c in found.columns if c != "x"]
                    answers.append([[[row[c] for c in labels], float(row["x"])] for _, row in found.iterrows()])
                print(json.dumps([name, eps, answers]), file=lines, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], int(sys.argv[2]), [float(eps) for eps in sys.argv[3:]])
