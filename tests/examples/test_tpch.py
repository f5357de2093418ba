"""bench/tpch.py at a tiny scale: without noise the answers are those of pandas, and errors fall as ε rises."""

from __future__ import annotations

import tpch


def test_the_queries_are_those_of_pandas_but_for_noise() -> None:
    medians = tpch.main(0.004, [1.0, tpch.NO_NOISE], 2)

    assert set(medians) == {"Q1", "Q3", "Q5", "Q6", "Q13", "Q18"}
    assert all(exact < 0.001 for name, (_, exact) in medians.items() if name not in ("Q3", "Q5"))
    assert all(exact < 0.05 for _, exact in medians.values())  # customers who bought for more than the bound


def test_heavy_customers_are_rare() -> None:
    lines = tpch.data(0.004)["lineitem"].join(tpch.data(0.004)["orders"], on="orderkey")

    assert lines.group_by("custkey").len()["len"].quantile(0.99) < tpch.LINES
