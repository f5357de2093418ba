"""Row-wise operations give what pandas gives: values, missing values, types."""

from __future__ import annotations

import datetime

import pytest

import pandas
import privjail as pj
from privjail import pandas as pd
from tests.pandas.seen import opened, pair, random_frame, same, seen

SEEDS = range(2)
WORDS = ["EPS", "délta", "", "alpha", "Beta beta", " gamma "]

#: name: (the program, with P for the pandas module); the same text runs on both
PROGRAMS = {
    "add": lambda d, P: d["i"] + d["j"],
    "add constant": lambda d, P: 3 + d["i"],
    "sub": lambda d, P: d["i"] - d["x"],
    "rsub": lambda d, P: 5 - d["x"],
    "mul": lambda d, P: d["x"] * d["j"] * 2,
    "truediv": lambda d, P: d["i"] / d["j"],
    "rtruediv": lambda d, P: 6 / d["j"],
    "floordiv": lambda d, P: d["i"] // d["j"],
    "rfloordiv": lambda d, P: 17 // d["j"],
    "mod": lambda d, P: d["i"] % d["j"],
    "mod constant": lambda d, P: d["i"] % 4,
    "pow": lambda d, P: d["i"] ** 3,
    "neg": lambda d, P: -d["x"],
    "pos": lambda d, P: +d["x"],
    "abs": lambda d, P: d["i"].abs() + abs(d["x"]),
    "add method": lambda d, P: d["i"].add(d["j"]),
    "rsub method": lambda d, P: d["i"].rsub(3),
    "div method": lambda d, P: d["i"].div(4),
    "mul method": lambda d, P: d["i"].mul(d["x"]),
    "eq": lambda d, P: d["i"] == 3,
    "ne": lambda d, P: d["i"] != 3,
    "lt": lambda d, P: d["x"] < 0.5,
    "le": lambda d, P: d["i"] <= d["j"],
    "gt": lambda d, P: d["i"] > 2.5,
    "ge": lambda d, P: d["x"] >= 1,
    "ge method": lambda d, P: d["i"].ge(0),
    "eq columns": lambda d, P: d["i"] == d["j"],
    "and": lambda d, P: (d["i"] > 0) & d["b"],
    "or": lambda d, P: d["b"] | (d["x"] > 0),
    "xor": lambda d, P: d["b"] ^ (d["x"] > 0),
    "not": lambda d, P: ~d["b"],
    "and constant": lambda d, P: d["b"] & True,
    "isin": lambda d, P: d["i"].isin([1, 2, -3]),
    "isin floats": lambda d, P: d["i"].isin([1.0, 2.5]),
    "isin text": lambda d, P: d["s"].isin(["alpha", "zzz"]),
    "isin category": lambda d, P: d["c"].isin(["u", "zzz"]),
    "isin nothing": lambda d, P: d["i"].isin([]),
    "not isin": lambda d, P: ~d["i"].isin([1, 2]),
    "between": lambda d, P: d["i"].between(-2, 3),
    "between neither": lambda d, P: d["x"].between(-1, 1, inclusive="neither"),
    "between left": lambda d, P: d["i"].between(-2, 3, inclusive="left"),
    "isna": lambda d, P: d["x"].isna(),
    "notna": lambda d, P: d["t"].notnull(),
    "fillna": lambda d, P: d["i"].fillna(7),
    "fillna column": lambda d, P: d["i"].fillna(d["j"]),
    "fillna bool": lambda d, P: d["b"].fillna(False),
    "fillna category": lambda d, P: d["c"].fillna("w"),
    "fillna text": lambda d, P: d["s"].fillna("?"),
    "replace": lambda d, P: d["i"].replace(3, 4),
    "replace dict": lambda d, P: d["i"].replace({1: 5, 2: 6}),
    "replace list": lambda d, P: d["j"].replace([1, 2], 5),
    "replace lists": lambda d, P: d["j"].replace([1, 2], [2, 1]),
    "map": lambda d, P: d["j"].map({1: 10, 2: 20}).astype("Int64"),
    "map category to number": lambda d, P: d["c"].map({"u": 1, "v": 2, "w": 3}).astype("Int64"),
    "astype float": lambda d, P: d["i"].astype("Float64"),
    "astype int": lambda d, P: d["x"].floor().astype("Int64") if P is pd else _floor(d["x"]).astype("Int64"),
    "astype bool to int": lambda d, P: d["b"].astype("Int64"),
    "astype int to bool": lambda d, P: d["i"].astype("boolean"),
    "astype string": lambda d, P: d["i"].astype("string"),
    "astype category": lambda d, P: d["s"].astype(pandas.CategoricalDtype(WORDS)),
    "astype ordered": lambda d, P: d["j"].astype(pandas.CategoricalDtype([3, 1, 2, 5, 4], ordered=True)),
    "clip": lambda d, P: d["i"].clip(-2, 3),
    "clip lower": lambda d, P: d["x"].clip(lower=0.0),
    "clip upper": lambda d, P: d["i"].clip(upper=0),
    "round": lambda d, P: d["x"].round(1),
    "round half": lambda d, P: (d["x"] * 2).round(),
    "str lower": lambda d, P: d["s"].str.lower(),
    "str upper": lambda d, P: d["s"].str.upper(),
    "str strip": lambda d, P: d["s"].str.strip(),
    "str len": lambda d, P: d["s"].str.len(),
    "str startswith": lambda d, P: d["s"].str.startswith("al"),
    "str endswith": lambda d, P: d["s"].str.endswith("ta", na=False),
    "str contains": lambda d, P: d["s"].str.contains("et"),
    "str contains case": lambda d, P: d["s"].str.contains("BETA", case=False),
    "str contains dot": lambda d, P: d["s"].str.contains("a.", regex=False),
    "str slice": lambda d, P: d["s"].str[1:3],
    "str get": lambda d, P: d["s"].str[4],
    "dt year": lambda d, P: d["t"].dt.year.astype("Int64"),
    "dt month": lambda d, P: d["t"].dt.month.astype("Int64"),
    "dt day": lambda d, P: d["t"].dt.day.astype("Int64"),
    "dt hour": lambda d, P: d["t"].dt.hour.astype("Int64"),
    "dt minute": lambda d, P: d["t"].dt.minute.astype("Int64"),
    "dt second": lambda d, P: d["t"].dt.second.astype("Int64"),
    "dt quarter": lambda d, P: d["t"].dt.quarter.astype("Int64"),
    "dt day_of_week": lambda d, P: d["t"].dt.day_of_week.astype("Int64"),
    "dt dayofyear": lambda d, P: d["t"].dt.day_of_year.astype("Int64"),
    "cut": lambda d, P: P.cut(d["x"], [-4, -1, 0, 2]),
    "cut left": lambda d, P: P.cut(d["x"], [-4, -1, 0, 2], right=False),
    "cut labels": lambda d, P: P.cut(d["i"], [-10, -3, 3, 9], labels=["low", "mid", "high"]),
    "cut lowest": lambda d, P: P.cut(d["x"], [-4, 0, 4], labels=["-", "+"], include_lowest=True),
    "where": lambda d, P: d["i"].where(d["x"] > 0),
    "where other": lambda d, P: d["i"].where(d["x"] > 0, -1),
    "where column": lambda d, P: d["i"].where(d["j"] > 2, d["j"]),
    "mask": lambda d, P: d["x"].mask(d["j"] > 2),
    "mask other": lambda d, P: d["i"].mask(d["j"] > 2, 0),
    "mask with missing condition": lambda d, P: d["j"].mask(d["x"] > 0, 0),
    "mask to missing with missing condition": lambda d, P: d["i"].mask(d["x"] > 0),
    "where callable": lambda d, P: d["i"].where(lambda s: s > 0, 0),
    "case_when": lambda d, P: d["j"].case_when([(d["j"] > 3, 100), (d["j"] > 1, 10)]),
    "shift": lambda d, P: d["i"].shift(1),
    "shift back": lambda d, P: d["i"].shift(-2),
    "diff": lambda d, P: d["i"].diff(),
    "diff 2": lambda d, P: d["x"].diff(2),
    "shift minus": lambda d, P: d["j"] - d["j"].shift(1) + d["i"].shift(-1),
    "rolling sum": lambda d, P: d["x"].rolling(3).sum().astype("Float64"),
    "rolling mean": lambda d, P: d["j"].rolling(2).mean().astype("Float64"),
    "rolling max": lambda d, P: d["x"].rolling(3).max().astype("Float64"),
    "rolling min": lambda d, P: d["j"].rolling(4).min().astype("Float64"),
}  # fmt: skip


def _floor(s):
    import numpy

    return numpy.floor(s)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_column_equals_the_one_of_pandas(name):
    for seed in SEEDS:
        frame, private = pair(seed)
        expected = PROGRAMS[name](frame, pandas)
        if name.startswith(("str startswith", "str endswith", "str contains")):
            expected = expected.fillna(False)  # as pandas' own text, unlike its "string", has it
        same(PROGRAMS[name](private, pd), expected, exact=expected.dtype != "Float64")


#: As in pandas: False where a category, a text or a time is missing, and True for !=.
MISSING = {
    "eq": lambda d: d["c"] == "v",
    "ne": lambda d: d["c"] != "u",
    "text eq": lambda d: d["s"] == "alpha",
    "text ne": lambda d: d["s"] != "alpha",
    "columns eq": lambda d: d["t"] == d["t"],
    "columns ne": lambda d: d["t"] != d["t"],
    "time gt": lambda d: d["t"] > pandas.Timestamp("1990-05-05"),
    "time lt": lambda d: d["t"] < pandas.Timestamp("1990-05-05"),
    "time ge": lambda d: d["t"] >= pandas.Timestamp("1990-05-05"),
    "time le": lambda d: d["t"] <= datetime.datetime(1970, 1, 1),
    "time between": lambda d: d["t"].between(datetime.datetime(1960, 1, 1), datetime.datetime(1970, 1, 1)),
    "negated": lambda d: ~(d["c"] == "v"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_category_text_or_time_compares_as_in_pandas(name):
    for seed in SEEDS:
        frame, private = pair(seed)
        plain = frame.assign(s=frame["s"].astype("str"))  # pandas' own text type, in which NaN stands for missing
        found = MISSING[name](private)
        same(found, MISSING[name](plain).astype("boolean"))
        assert not found.domain.nullable
        assert seen(private[found])["j"].tolist() == plain[MISSING[name](plain)]["j"].tolist()


def test_a_filter_and_its_complement_with_missing_values_are_paid_once():
    _, private = pair(0)
    table = opened(random_frame(5), budget=1)
    for part in (table[table["c"] == "u"], table[table["c"] != "u"], table[table["c"] == "v"]):
        part.shape[0].reveal(eps=1 / 2)
    with pytest.raises(pj.BudgetExceeded):
        table[table["c"] != "w"].shape[0].reveal(eps=1)


@pytest.mark.parametrize(("typed", "nearest"), [("U", "'u'"), ("elsewhere", "'u', 'v', 'w'")])
def test_a_constant_that_is_no_category_is_said_aloud(typed, nearest):
    _, private = pair(0)
    with pytest.warns(pj.DPWarning, match=f"is no category.*{nearest}") as caught:
        private["c"] == typed  # noqa: B015
    assert caught[0].filename == __file__, "the warning points at the analyst's line"


TABLES = {
    "assign": lambda d, P: d.assign(n=d["i"] + 1, m=lambda t: t["n"] * 2),
    "assign constant": lambda d, P: d[["i"]].assign(one=1).astype({"one": "Int64"}),
    "select": lambda d, P: d[["x", "i"]],
    "drop": lambda d, P: d.drop(columns=["x", "s"]),
    "drop axis": lambda d, P: d.drop("x", axis=1),
    "rename": lambda d, P: d.rename(columns={"i": "I"}),
    "rename function": lambda d, P: d.rename(columns=str.upper),
    "prefix": lambda d, P: d.add_prefix("p_").add_suffix("_q"),
    "set_axis": lambda d, P: d[["i", "x"]].set_axis(["a", "b"], axis=1),
    "filter items": lambda d, P: d.filter(items=["x", "i", "none"]),
    "filter like": lambda d, P: d.add_prefix("ab_").filter(like="b_x"),
    "filter regex": lambda d, P: d.filter(regex="^[ij]$"),
    "select_dtypes": lambda d, P: d.select_dtypes("number"),
    "add tables": lambda d, P: d[["i", "x"]] + d[["i", "x"]],
    "add constant": lambda d, P: 2 * d[["i", "x"]] + 1,
    "compare": lambda d, P: d[["i", "x"]] > 0,
    "not": lambda d, P: ~d[["b"]],
    "neg": lambda d, P: -d[["i", "x"]],
    "isna": lambda d, P: d.isna(),
    "notna": lambda d, P: d.notnull(),
    "fillna": lambda d, P: d.fillna({"i": 0, "c": "w"}),
    "fillna all": lambda d, P: d[["i", "j"]].fillna(0),
    "clip": lambda d, P: d[["i", "j"]].clip(-1, 2),
    "abs": lambda d, P: d[["i", "x"]].abs(),
    "round": lambda d, P: d.drop(columns=["t"]).round(1),
    "where": lambda d, P: d[["i", "j"]].where(d[["i", "j"]] > 0, 0),
    "mask": lambda d, P: d[["j"]].mask(d[["j"]] > 3),
    "replace": lambda d, P: d[["i", "j"]].replace({1: 2}),
    "replace by column": lambda d, P: d.replace({"i": {1: 2}, "j": {3: 4}}),
    "isin": lambda d, P: d[["i", "j"]].isin([1, 2]),
    "shift": lambda d, P: d[["i", "x"]].shift(1),
    "diff": lambda d, P: d[["i", "x"]].diff(),
    "table minus shifted": lambda d, P: d[["i", "x"]] - d[["i", "x"]].shift(2),
    "eq method": lambda d, P: d[["i", "j"]].eq(2),
    "pipe": lambda d, P: d.pipe(lambda t: t[["i"]]),
    "copy": lambda d, P: d.copy(),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_a_table_equals_the_one_of_pandas(name):
    for seed in SEEDS:
        frame, private = pair(seed)
        same(TABLES[name](private, pd), TABLES[name](frame, pandas), exact=False)


def _masked(d):
    d[d["i"] > 0] = 1


def _loc(d):
    d.loc[d["x"] > 0, "i"] = 5


def _loc_list(d):
    d.loc[d["x"] > 0, ["i", "j"]] = 2


def _loc_column(d):
    d.loc[d["j"] > 3, "i"] = d["j"]


def _loc_all(d):
    d.loc[:, "j"] = d["i"] + 1


def _set(d):
    d["n"] = d["i"] * 2
    d["i"] = d["n"] + d["j"]


def _set_list(d):
    d[["i", "j"]] = d[["j", "i"]]


def _insert(d):
    d.insert(1, "new", d["i"] + 1)


def _pop(d):
    d["kept"] = d.pop("x")


def _del(d):
    del d["s"]


def _columns(d):
    d.columns = [c.upper() for c in d.columns]


def _attribute(d):
    d.i = d.j


@pytest.mark.parametrize(
    "change", [_loc, _loc_list, _loc_column, _loc_all, _set, _set_list, _insert, _pop, _del, _columns, _attribute]
)
def test_assignment_changes_a_table_as_in_pandas(change):
    for seed in SEEDS:
        frame = random_frame(seed)
        private = opened(frame)
        change(frame)
        change(private)
        same(private, frame)


def test_masked_assignment_sets_every_column():
    frame = random_frame(1)[["i", "j"]]
    private = opened(frame, {"i": {"type": "Int64"}, "j": {"type": "Int64"}})
    _masked(frame)
    _masked(private)
    same(private, frame)


def test_a_copy_is_not_changed_by_assignment():
    private = opened(random_frame(0))
    copy = private.copy()
    copy["i"] = 0
    assert private.domains["i"] != copy.domains["i"]


def test_masked_assignment_widens_the_domain():
    """V-18: the constant 1000 written into [1, 5] moves the bound that sums rest on."""
    private = opened(random_frame(0))
    private.loc[private["b"], "j"] = 1000
    assert private.domains["j"].range == (1, 1000)
    assert private["j"].sum().max_distance == 1000


def test_a_table_is_joined_with_a_public_one_as_in_pandas():
    table = pandas.DataFrame({"j": [1, 2, 4, 9], "price": [1.5, 2.5, None, 4.0], "kind": ["a", "b", "a", "c"]})
    for seed in SEEDS:
        frame = random_frame(seed)
        for how in ("left", "inner"):
            expected = frame.merge(table, on="j", how=how)
            found = opened(frame).merge(table, on="j", how=how)
            same(found.drop(columns=["kind"]), expected.drop(columns=["kind"]).astype({"price": "Float64"}))
            kinds = expected["kind"].astype(pandas.CategoricalDtype(["a", "b", "c"]))
            same(found["kind"], kinds)
    assert pd.merge(opened(frame), table, on="j").columns.tolist() == expected.columns.tolist()


def test_a_public_key_that_is_not_unique_is_refused():
    with pytest.raises(pj.PlanError, match="unique"):
        opened(random_frame(0)).merge(pandas.DataFrame({"j": [1, 1], "y": [1, 2]}), on="j")


def test_two_private_tables_are_not_joined():
    with pytest.raises(pj.RefusedError, match="joined on the person"):
        opened(random_frame(0)).merge(opened(random_frame(1)), on="j")


def test_numpy_functions_and_scalars_meet_columns_as_in_pandas():
    import numpy

    frame = random_frame(2)
    private = opened(frame)
    same(numpy.float64(2) * private["x"], numpy.float64(2) * frame["x"])
    same(numpy.int64(3) < private["i"], numpy.int64(3) < frame["i"])
    same(numpy.exp(private["x"]), numpy.exp(frame["x"]), exact=False)
    same(numpy.abs(private["i"]), numpy.abs(frame["i"]))


def test_day_and_month_names():
    frame = random_frame(3)
    private = opened(frame)
    same(private["t"].dt.day_name().astype("string"), frame["t"].dt.day_name().astype("string"))
    same(private["t"].dt.month_name().astype("string"), frame["t"].dt.month_name().astype("string"))


def test_to_numeric_reads_text_and_nothing_fails():
    frame = pandas.DataFrame({"n": ["1", " 2.5", "x", None, "1e3"]})
    private = opened(frame, {"n": {"type": "string"}})
    expected = pandas.to_numeric(frame["n"], errors="coerce").astype("Float64")
    same(pd.to_numeric(private["n"].str.strip()), expected)
