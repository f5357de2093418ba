"""Every public name of pandas works here, or says why not and what to do instead."""

from __future__ import annotations

import warnings

import pytest
from pandas.api.typing import DataFrameGroupBy, SeriesGroupBy

import pandas
import privjail as pj
from privjail import pandas as pd
from tests.pandas.seen import opened, pair


def names(owner) -> list[str]:
    return [name for name in dir(owner) if not name.startswith("_")]


def of(owner) -> object:
    _, private = pair(0)
    vector = private.groupby("c").size()
    return {
        "frame": private, "series": private["i"], "groups": private.groupby("c"),
        "group column": private.groupby("c")["i"],
        "vector": vector, "table": pd.crosstab(private["c"], private["k"]),
    }[owner]  # fmt: skip


WALKS = {
    "frame": pandas.DataFrame, "series": pandas.Series, "groups": DataFrameGroupBy, "group column": SeriesGroupBy,
    "vector": pandas.Series, "table": pandas.DataFrame,
}  # fmt: skip


@pytest.mark.parametrize("owner", WALKS)
def test_every_public_name_of_pandas_works_or_is_refused_with_reason_and_remedy(owner):
    """V-17 too: factorize, qcut, rank, get_dummies, interpolate, ffill, sample are no row-wise operations."""
    found = of(owner)
    refused = 0
    for name in names(WALKS[owner]):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                getattr(found, name)
        except pj.RefusedError as e:
            refused += 1
            assert ": " in e.what and len(e.what) > 30, f"{owner}.{name}: no reason"
            assert e.do and len(e.do) > 10, f"{owner}.{name}: no remedy"
            assert isinstance(e, AttributeError), "hasattr() and tab completion must keep working"
    assert refused > 10 or owner in ("vector", "table"), "what a vector lacks is done after its release"


def test_every_public_name_of_the_pandas_module_works_or_is_refused_with_reason_and_remedy():
    for name in names(pandas):
        if name in ("annotations", "pandas", "test"):
            continue
        try:
            getattr(pd, name)
        except pj.RefusedError as e:
            assert ": " in e.what and e.do, name


@pytest.mark.parametrize(
    ("program", "reason", "remedy"),
    [
        (lambda d: d["i"].cumsum(), "depends on all rows above", "rolling"),
        (lambda d: d["i"].rank(), "depends on all other rows", "qcut"),
        (lambda d: d["s"].map(len), "does not run on private data", ""),
        (lambda d: d.agg(["sum", "mean"]), "price", "agg(…, eps=0.1)"),
        (lambda d: d.groupby("c")["i"].agg("sum"), "price", "agg(…, eps=0.1)"),
        (lambda d: d.groupby("c")["i"].agg(lambda s: s.sum(), eps=1), "code of the analyst", "one of mean"),
        (lambda d: d.groupby("c")["i"].agg("first", eps=1), "would show a row", "median"),
        (lambda d: pd.concat([d, d.sample(frac=0.5)]), "random sample", "whole tables"),
        (lambda d: pd.get_dummies(d["s"]), "private", "CategoricalDtype"),
        (lambda d: pd.qcut(d["i"], 4), "price", "eps="),
        (lambda d: d["i"].ffill(), "depends on all rows above", "fillna"),
        (lambda d: d["i"].interpolate(), "depends on all rows above", "fillna"),
        (lambda d: d["c"].factorize(), "would show which do", "map("),
        (lambda d: d["c"].cat.remove_unused_categories(), "not offered", ".map(dict)"),
        (lambda d: d.reset_index(), "depends on all rows", "drop=True"),
        (lambda d: d["i"].resample("W"), "no public index", "on="),
        (lambda d: d["x"].mean(), "price", "mean(eps=0.1)"),
        (lambda d: d["x"].quantile(0.5), "price", "quantile(…, eps=0.1)"),
        (lambda d: d.describe(), "price", "describe(eps=0.1)"),
        (lambda d: d.groupby("c")["x"].mean(), "price", "mean(eps=0.1)"),
        (lambda d: d.groupby("c").size().idxmax(), "price", "idxmax(eps=0.1)"),
        (lambda d: d.iterrows(), "show rows", "release"),
        (lambda d: d.to_csv(), "show rows", "release"),
        (lambda d: d["s"].unique(), "private", ""),
        (lambda d: d.corr(), "price", "corr(eps=0.1)"),
        (lambda d: d["b"].any(), "one row", "sum()"),
        (lambda d: d.plot(), "plot", "hist"),
        (lambda d: d["s"].str.findall("a"), "how many", "str.count"),
        (lambda d: d["t"].dt.tz, "not offered", "no time zone"),
        (lambda d: d["i"].dt.year, "no dates", "to_datetime"),
        (lambda d: d["i"].rolling(3).median(), "not offered", "mean"),
        (lambda d: d.groupby("c").describe(), "price", "describe(eps=0.1)"),
        (lambda d: d.groupby("c").groups, "is private", "for key, group"),
        (lambda d: d["c"].value_counts(sort=False).item_s(), "has no", "did you mean"),
    ],
)  # fmt: skip
def test_a_refusal_says_why_and_what_to_do(program, reason, remedy):
    with pytest.raises(pj.RefusedError) as caught:
        program(pair(0)[1])
    assert reason in str(caught.value)
    assert remedy in str(caught.value)


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (lambda d: d["nothing"], "there is no column 'nothing'"),
        (lambda d: d["i"] + "a", "joins texts"),
        (lambda d: d["c"] + 1, "needs numbers"),
        (lambda d: d["i"] & d["b"], "true/false"),
        (lambda d: d["i"] > None, "isna"),
        (lambda d: d["i"] == float("nan"), "isna"),
        (lambda d: d["s"].astype("category"), "CategoricalDtype"),
        (lambda d: d["i"].astype("complex"), "use one of"),
        (lambda d: d.iloc[3], "slice"),
        (lambda d: d.iloc[::2], "without a step"),
        (lambda d: d.loc[3], "condition"),
        (lambda d: d["i"][3], "condition"),
        (lambda d: d.groupby("c", dropna=False), "fillna"),
        (lambda d: d.groupby([]), "at least one"),
        (lambda d: d.assign(z=[1, 2]), "which row comes where"),
        (lambda d: d.assign(z=d.shape[0]), "private number"),
        (lambda d: d["i"] + [1, 2], "which row comes where"),
        (lambda d: d["i"] + d.shape[0], "release the number first"),
        (lambda d: d["s"].str.contains(r"(a)\1"), "regex=False"),
        (lambda d: d["i"].where(True), "condition"),
        (lambda d: d.drop(3), "drop(columns"),
        (lambda d: d.rename({"i": "a"}), "columns="),
        (lambda d: d.rename(columns={"i": "j"}), "same name"),
        (lambda d: d["s"].sum(), "needs numbers"),
        (lambda d: d["s"].mean(eps=1), "needs numbers"),
        (lambda d: d["i"] ** -1, "whole numbers"),
        (lambda d: d["i"].shift(1.5), "whole number"),
        (lambda d: d["i"].isin("abc"), "public list"),
        (lambda d: d.sort_values(["i", "j"], ascending=[True]), "one direction"),
        (lambda d: d.shape[0] * d.shape[0], "release one of them"),
        (lambda d: 1 / d.shape[0], "release it first"),
        (lambda d: d.shape[0] / 0, "division by zero"),
    ],
)  # fmt: skip
def test_a_program_that_makes_no_sense_fails_at_its_line_with_words(program, text):
    with pytest.raises(pj.DPError) as caught:
        program(pair(0)[1])
    assert text in str(caught.value)


def test_an_unknown_name_is_an_attribute_error_with_a_suggestion():
    _, private = pair(0)
    with pytest.raises(AttributeError, match="did you mean.*groupby"):
        private.gruopby("c")
    assert not hasattr(private, "no_such_thing")


def test_public_types_of_pandas_are_at_hand():
    assert pd.NA is pandas.NA and pd.Timestamp is pandas.Timestamp and pd.DataFrame is pandas.DataFrame


def test_of_a_wide_table_the_most_similar_columns_are_named():
    frame = pandas.DataFrame({f"question{i}": [0] for i in range(40)} | {"weight": [1]})
    schema = {name: {"type": "Int64", "range": [0, 9]} for name in frame.columns}
    with pytest.raises(pj.PlanError) as refused:
        opened(frame, schema)["wieght"]
    named = str(refused.value).split("the columns are ")[1]

    assert named.startswith("weight, question0, ") and named.endswith(", … 31 more")
