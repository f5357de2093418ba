"""What an editor offers after `df["` and `df.`: names of columns, which are public, and nothing that costs or shows."""

from __future__ import annotations

import pytest

from privjail import pandas as pd
from privjail.session import consumed_privacy_budget

SCHEMA = {
    "age": {"type": "Int64", "range": [0, 120]},
    "days in care": {"type": "Int64", "range": [0, 90]},
    "ward": {"type": "category", "categories": ["a", "b"]},
}


@pytest.fixture
def df(tmp_path):
    (tmp_path / "stays.csv").write_text("age,days in care,ward\n41,3,a\n52,9,b\n", encoding="utf-8")
    return pd.read_csv(str(tmp_path / "stays.csv"), schema=SCHEMA, budget=1)


def test_keys_are_the_names_of_the_columns(df):
    assert df._ipython_key_completions_() == list(df.columns) == ["age", "days in care", "ward"]
    assert df.groupby("ward")._ipython_key_completions_() == ["age", "days in care", "ward"]
    narrow = df[["ward"]].assign(old=df["age"] > 40)
    assert narrow._ipython_key_completions_() == ["ward", "old"]
    assert {"age", "ward"} <= set(dir(df)) and "days in care" not in dir(df)


def test_ipython_offers_them_and_nothing_is_spent(df, tmp_path):
    completer = pytest.importorskip("IPython.core.completer", reason="IPython is not installed")
    found = completer.IPCompleter(namespace={"df": df, "groups": df.groupby("ward")}, global_namespace={})
    for line, wanted in (
        ('df["', {"age", "days in care", "ward"}),
        ('df["d', {"days in care"}),
        ('groups["a', {"age"}),
    ):
        with completer.provisionalcompleter():
            offered = [each.text for each in found.completions(line, len(line))]
        assert {each.strip("\"']") for each in offered} == wanted, line
    assert consumed_privacy_budget()[str(tmp_path / "stays.csv")] == 0
