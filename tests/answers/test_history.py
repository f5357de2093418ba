"""pj.history() and pj.budget_left()."""

from __future__ import annotations

import inspect

import pandas
import privjail as pj
from privjail import pandas as pd
from privjail import records


def stays(name: str, budget: object = 10) -> pd.PrivDataFrame:
    schema = {"ward": {"type": "category", "categories": ["a", "b"]}, "days": {"type": "Int64", "range": [0, 60]}}
    return pd.from_frame(pandas.DataFrame({"ward": ["a", "b"] * 50, "days": [3, 5] * 50}), name, schema, budget=budget)


def test_every_release_leaves_a_row_with_its_line_price_answer_and_error():
    df = stays("history")
    before = len(pj.history())
    line = inspect.currentframe().f_lineno + 1
    mean = df["days"].mean(eps=0.5)
    counts = df["ward"].value_counts(sort=False).reveal(eps=1)
    largest = pj.noisy_max(df["ward"].value_counts(sort=False), eps=0.25)
    found = pj.history().iloc[before:]
    assert isinstance(found, pandas.DataFrame) and len(found) == 3
    assert found["line"].tolist() == [f"test_history.py:{line + i}" for i in range(3)]
    assert found["eps"].tolist() == [0.5, 1.0, 0.25] and set(found["data"]) == {"history"}
    assert found["answer"].iloc[0] == float(mean) and found["error"].iloc[0] == mean.error()
    assert found["answer"].iloc[1] == counts.tolist() and found["error"].iloc[1] == counts.error().tolist()
    assert found["asked"].tolist()[:2] == ["history | mean(days)", "history | groupby(ward) | count"]
    assert largest in ("a", "b") and found["mechanism"].iloc[2] == "noisy_max"


def test_a_record_keeps_no_plan():
    df = stays("records")
    df["days"].mean(eps=0.5)
    last = records.kept[-1]
    assert all("plan" not in type(x).__module__ for x in vars(last).values())


def test_a_refused_release_is_not_in_the_history():
    df = stays("refused", budget=1)
    before = len(pj.history())
    try:
        df.shape[0].reveal(eps=2)
    except pj.BudgetExceeded:
        pass
    assert len(pj.history()) == before


def test_what_is_left_of_each_budget():
    df = stays("left", budget=2)
    stays("no limit", budget=None)
    zcdp = pd.from_frame(pandas.DataFrame({"x": [1]}), "rho", budget=pj.ZCDP(1))
    both = pd.from_frame(pandas.DataFrame({"x": [1]}), "both", budget=pj.ApproxDP(1, 1e-6))
    df.shape[0].reveal(eps=0.5)
    zcdp.shape[0].reveal(rho=0.25)
    both.shape[0].reveal(eps=0.25, delta=1e-7)
    left = pj.budget_left()
    assert left["left"] == 1.5 and left["no limit"] is None and left["rho"] == 0.75
    assert left["both"] == (0.75, 9e-7)
    assert "<table>" in left._repr_html_()
