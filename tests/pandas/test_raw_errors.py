"""Mistakes that ended in an error of Python, pandas or the engine: they are answered in our words, and cost nothing."""

from __future__ import annotations

import pytest

import pandas
import privjail as pj
from privjail import learn
from privjail import pandas as pd
from tests.pandas.seen import opened, random_frame

HALF = "\ud800"  # of a surrogate pair
WRONG = {
    "compared with half a pair": lambda d: (d["s"] == HALF).sum(eps=1),
    "filled with half a pair": lambda d: d["c"].fillna(HALF).value_counts(eps=1),
    "replaced by half a pair": lambda d: d["c"].replace("u", HALF).value_counts(eps=1),
    "a column of half a pair": lambda d: d.assign(q=HALF)["q"].str.len().sum(eps=1),
    "half a pair in a list": lambda d: d["c"].isin([HALF]).sum(eps=1),
    "half a pair to look for": lambda d: d["s"].str.contains(HALF, regex=False).sum(eps=1),
    "half a pair as a prefix": lambda d: d["s"].str.startswith(HALF).sum(eps=1),
    "half a pair in a map": lambda d: d["c"].map({"u": HALF}).value_counts(eps=1),
    "half a pair as a label": lambda d: pd.cut(d["i"], [-5, 0, 5], labels=["a", HALF]).value_counts(eps=1),
    "half a pair in a pattern": lambda d: d["s"].str.replace(HALF, "a").str.len().sum(eps=1),
    "a dict of sorted counts": lambda d: dict(d["c"].value_counts()),
    "concat of pandas": lambda d: pandas.concat([d, d]),
    "concat of columns": lambda d: pandas.concat([d["i"], d["x"]], axis=1),
    "merge of pandas": lambda d: pandas.merge(d, pandas.DataFrame({"c": ["u"]})),
    "a public table merged with ours": lambda d: pandas.DataFrame({"c": ["u"]}).merge(d),
    "a public column mapped by ours": lambda d: pandas.Series([1, 2]).map(d["i"]),
    "cut of pandas": lambda d: pandas.cut(d["i"], 3),
    "no columns to count by": lambda d: d.value_counts([]).reveal(eps=1),
    "no statistics": lambda d: d.groupby("c").agg({}, eps=1),
    "a text for ddof": lambda d: d["i"].std(ddof="a", eps=1),
    "no number for ddof": lambda d: d["i"].sem(ddof=float("nan"), eps=1),
    "a list for ddof": lambda d: d[["i", "x"]].cov(ddof=[1], eps=1),
    "a list for a name": lambda d: d["c"].value_counts(sort=False).rename(["n"]).reveal(eps=1),
    "a table for a name": lambda d: d["c"].rename(d),
    "a number for a list": lambda d: d["i"].isin(5).sum(eps=1),
    "a number for a list, in a table": lambda d: d.isin(5).sum(eps=1),
    "a number for a list of names": lambda d: d.filter(5),
    "a dict for a name": lambda d: d[{"i": 1}],
    "a table behind a text": lambda d: d["s"] + d,
    "C": lambda d: learn.LogisticRegression(C=1.0),
    "random_state": lambda d: learn.DecisionTreeClassifier(random_state=0),
    "too many": lambda d: learn.KMeans(1, 2, 3, 4),
}


@pytest.mark.parametrize("name", WRONG)
def test_it_is_refused_in_our_words_and_costs_nothing(name):
    table = opened(random_frame(2), budget=5)
    with pytest.raises(pj.DPError) as caught:
        WRONG[name](table)
    str(caught.value).encode()
    assert pj.consumed_privacy_budget()[table._rows.base.dataset.name] == 0


def test_the_function_of_pandas_is_named_with_ours():
    table = opened(random_frame(2), budget=5)
    with pytest.raises(pj.DPError, match=r"pandas' own concat .*\n.*\n.*use pd\.concat\("):
        pandas.concat([table["i"], table["x"]], axis=1)
    assert list(pd.concat([table["i"], table["x"]], axis=1).columns) == ["i", "x"]


def test_what_the_refusal_of_a_dict_says_can_be_typed():
    df = opened(random_frame(2), budget=5).rename(columns={"c": "g"})
    with pytest.raises(pj.DPError) as caught:
        dict(df["g"].value_counts())
    codes = str(caught.value.do).split("`")[1::2]
    assert len(codes) == 2 and all(len(eval(code, {"df": df})) > 1 for code in codes)  # noqa: S307


def test_bars_can_be_drawn_in_several_pictures():
    table = opened(random_frame(2), budget=5)
    axes = table.groupby("c")[["i", "j"]].sum(eps=1).plot(subplots=True)
    assert len(axes) == 2 and axes[0].get_title()
    assert len(table["c"].value_counts().plot(subplots=True).reveal(eps=1)) == 1
