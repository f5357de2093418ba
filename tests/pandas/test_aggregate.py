"""Aggregation as typed: what it costs, how it is laid out, and that what waits for the release shows nothing."""

from __future__ import annotations

import numpy as np
import pytest

import pandas
import privjail as pj
from privjail import pandas as pd
from tests.pandas.seen import opened, pair, random_frame, without_noise

COSTS = {
    "agg list": lambda d, e: d.groupby("c")["i"].agg(["mean", "std", "count"], eps=e),
    "agg dict": lambda d, e: d.groupby("c").agg({"i": ["mean", "max"], "x": "sum"}, eps=e),
    "agg named": lambda d, e: d.groupby("c").agg(n=("i", "size"), m=("x", "median"), eps=e),
    "agg frame": lambda d, e: d[["i", "x"]].agg(["mean", "nunique"], eps=e),
    "agg series": lambda d, e: d["i"].agg(["mean", "sem", "skew", "kurt"], eps=e),
    "value counts": lambda d, e: d["c"].value_counts(eps=e),
    "with missing": lambda d, e: d["c"].value_counts(dropna=False, normalize=True, eps=e),
    "group value counts": lambda d, e: d.groupby("k")["c"].value_counts(normalize=True, eps=e),
    "crosstab": lambda d, e: pd.crosstab(d["c"], d["k"], normalize="index", margins=True, eps=e),
    "crosstab of values": lambda d, e: pd.crosstab(d["c"], d["k"], values=d["x"], aggfunc="mean", eps=e),
    "crosstab of several": lambda d, e: pd.crosstab(d["c"], [d["k"], d["b"]], eps=e),
    "pivot": lambda d, e: d.pivot_table("x", index="c", columns="k", eps=e),
    "pivot of several": lambda d, e: d.pivot_table(["i", "x"], index="c", aggfunc=["mean", "count"], eps=e),
    "pivot with margins": lambda d, e: d.pivot_table("x", index="c", columns="k", margins=True, eps=e),
    "pivot with sums": lambda d, e: d.pivot_table("j", index="c", columns="k", aggfunc="sum", margins=True, eps=e),
    "corr": lambda d, e: d[["i", "j", "x"]].corr(eps=e),
    "cov": lambda d, e: d[["i", "j", "x"]].cov(eps=e),
    "corr of two": lambda d, e: d["i"].corr(d["x"], eps=e),
    "corrwith": lambda d, e: d[["i", "x"]].corrwith(d["j"], eps=e),
    "group corr": lambda d, e: d.groupby("c")[["i", "x"]].corr(eps=e),
    "mode": lambda d, e: d[["c", "k"]].mode(eps=e),
    "describe all": lambda d, e: d[["i", "c"]].describe(include="all", eps=e),
    "group describe": lambda d, e: d.groupby("c")[["i", "x"]].describe(eps=e),
    "group hist": lambda d, e: d.groupby("c")["i"].hist(bins=4, eps=e),
    "group quantiles": lambda d, e: d.groupby("c")["i"].quantile([0.25, 0.75], eps=e),
    "group nunique": lambda d, e: d.groupby("c")[["k", "j"]].nunique(eps=e),
    "transform": lambda d, e: d.groupby("c")["x"].transform("mean", eps=e),
    "apply": lambda d, e: d.groupby("c").apply(lambda g: g["x"].mean(eps=e)),
    "apply private": lambda d, e: d.groupby("c").apply(lambda g: g["j"].sum()).reveal(e),
    "flat": lambda d, e: d.groupby("c", as_index=False)["x"].mean(eps=e),
    "sum at once": lambda d, e: d["j"].sum(eps=e),
    "counts": lambda d, e: d.count(eps=e),
    "free text": lambda d, e: d["j"].value_counts(bins=3, eps=e),
}


@pytest.mark.parametrize("name", COSTS)
def test_everything_costs_what_was_said_and_no_more(name):
    table = opened(random_frame(1), budget=1)
    COSTS[name](table, 0.25)
    spent = [v for k, v in pj.consumed_privacy_budget().items() if k == table._rows.base.dataset.name]
    assert spent == [0.25]
    with pytest.raises(pj.BudgetExceeded):
        COSTS[name](table, 0.76)


def test_a_dict_of_prices_is_followed():
    table = opened(random_frame(1), budget=10)
    groups = table.groupby("c")
    groups.agg({"i": ["mean", "std"], "x": "sum"}, eps={"i": 1, "x": 0.5})
    groups["i"].agg(["mean", "std"], eps={"mean": 0.8, "std": 0.2})
    groups.agg(n=("i", "size"), m=("x", "mean"), eps={"n": 0.1, "m": 0.4})
    assert pj.consumed_privacy_budget()[table._rows.base.dataset.name] == 3.0
    for wrong in ({"mean": 1}, {"mean": 1, "std": 1, "max": 1}, {"mean": -1, "std": 1}):
        with pytest.raises(pj.DPError):
            groups["i"].agg(["mean", "std"], eps=wrong)
    assert pj.consumed_privacy_budget()[table._rows.base.dataset.name] == 3.0


def test_steps_that_wait_for_the_release_are_tried_before_anything_is_paid():
    table = opened(random_frame(1), budget=1)
    counts = table["c"].value_counts(normalize=True).mul(100).round(1)
    with pytest.raises(pj.DPError, match="does not work"):
        table["c"].value_counts().loc["nowhere"]
    with pytest.raises(pj.DPError, match="has no"):
        table["c"].value_counts().sort_vlaues()
    for look in (
        lambda: bool(counts),
        lambda: float(counts),
        lambda: list(counts),
        lambda: f"{counts}",
        lambda: len(counts),
    ):
        with pytest.raises(pj.PrisonerError):
            look()
    assert (
        table._rows.base.dataset.name not in pj.consumed_privacy_budget()
        or not pj.consumed_privacy_budget()[table._rows.base.dataset.name]
    )
    with without_noise():
        assert counts.reveal(0.5).sum() == pytest.approx(100, abs=0.2)


def test_a_result_that_waits_says_nothing_of_the_data():
    """The text of a plan is the same for two tables with the same schema."""
    shown = {str(opened(random_frame(seed))["c"].value_counts().head(2)).split("table")[0] for seed in (1, 2)}
    assert len(shown) == 1


def test_the_missing_count_is_one_more_cell_of_the_same_partition():
    """One row more moves the counts by one in all, also with a count of missing values."""
    frame, private = pair(0)
    counts = private["c"].value_counts(dropna=False, sort=False)
    assert counts._vector._value.joint.l1 == 1
    with without_noise():
        expected = [(frame["c"] == c).sum() for c in "uvw"] + [frame["c"].isna().sum()]
        assert counts.reveal(1).tolist() == expected


@pytest.mark.parametrize("eps", [0.5, 5.0])
def test_a_noisy_correlation_is_a_correlation(eps):
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, 4000)
    frame = pandas.DataFrame({"x": x, "y": 0.8 * x + 0.2 * rng.uniform(-1, 1, 4000), "z": rng.uniform(0, 9, 4000)})
    schema = {n: {"type": "Float64", "range": [-1.0, 1.0] if n != "z" else [0.0, 9.0], "fill": 0.0} for n in frame}
    found = opened(frame, schema).corr(eps=eps)
    assert ((found >= -1) & (found <= 1)).all().all() and (np.diag(found) == 1).all()
    assert (found.to_numpy() == found.to_numpy().T).all()
    assert np.abs(found.to_numpy() - frame.corr().to_numpy()).max() < 0.6 / eps


def test_describe_goes_on_without_unbounded_columns_and_is_in_order():
    table = opened(random_frame(4))
    table["wide"] = table["s"].str.len()
    with pytest.warns(pj.DPWarning, match="leaves out wide"):
        found = table[["i", "x", "wide"]].describe(eps=1)
    assert list(found.columns) == ["i", "x"]
    for _ in range(20):
        values = table["i"].describe(eps=0.05)[["min", "25%", "50%", "75%", "max"]].to_list()
        assert values == sorted(values)


def test_cut_without_labels_gives_numbers_and_a_number_of_bins_takes_the_public_range():
    frame, private = pair(0)
    codes = pd.cut(private["i"], [-10, -3, 3, 10], labels=False)
    assert codes.dtype == "Int64" and codes.domain.range == (0, 2)
    with pytest.warns(pj.DPWarning, match="declared range"):
        assert len(pd.cut(private["i"], 3).cat.categories) == 3


def test_observed_groups_are_all_groups_and_that_is_said():
    with pytest.warns(pj.DPWarning, match="private"):
        assert pair(0)[1].groupby("c", observed=True).ngroups == 3


def test_sizes_in_a_pivot_table_are_shown_once():
    public, private = pair(3)
    with without_noise():
        found = private.pivot_table(index="c", columns="k", aggfunc="size", eps=1)
    assert found.shape == (len(private["c"].domain.labels), 2)
    assert found.to_numpy().sum() == public.dropna(subset=["c", "k"]).shape[0]


def test_any_level_of_private_counts_can_be_unstacked():
    _, private = pair(3)
    counts = private.groupby(["c", "k"]).size()
    with without_noise():
        last, first = (counts.unstack(level).reveal(eps=1) for level in (-1, 0))
        by_name = counts.unstack("c", fill_value=0).reveal(eps=1)
    assert (last.T.to_numpy() == first.to_numpy()).all() and (first.to_numpy() == by_name.to_numpy()).all()


def test_a_function_of_groups_is_refused_with_what_to_type():
    df = opened(random_frame(1), budget=9)[["c", "i", "x"]].rename(columns={"c": "g", "i": "b", "x": "a"})
    with pytest.raises(pj.DPError) as caught:
        df.groupby("g")["b"].transform(lambda s: s.fillna(s.median(eps=1)))
    for code in str(caught.value.do).split("`")[1::2]:
        eval(code, {"df": df})  # noqa: S307
    with pytest.raises(pj.DPError, match="eps"):
        df.groupby("g")["b"].transform("mean")


def test_what_describe_leaves_out_is_named():
    table = opened(random_frame(1), budget=9)
    with pytest.warns(pj.DPWarning, match="leaves out .*t"):
        table[["i", "c", "t"]].describe(include="all", eps=1)
