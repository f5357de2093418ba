"""Groups, counts and statistics give what pandas gives with observed=False, when there is no noise."""

from __future__ import annotations

import numpy
import numpy as np
import pandas.testing
import pytest

import pandas
import privjail as pj
from privjail import pandas as pd
from tests.pandas.seen import opened, pair, random_frame, same, without_noise

SEEDS = range(2)


def plain(found):
    """The numbers alone: what a release returns is a Series or DataFrame that knows its errors, too."""
    return found.to_plain() if hasattr(found, "to_plain") else found


def released(x):
    with without_noise():
        return x.reveal(eps=1)


def equal(found, expected, names=True):
    found, expected = plain(found), expected.astype("float64")
    if isinstance(expected, pandas.DataFrame):
        pandas.testing.assert_frame_equal(found, expected, check_names=names, rtol=1e-6, check_exact=False)
    else:
        pandas.testing.assert_series_equal(found, expected, check_names=names, rtol=1e-6, check_exact=False)


GROUPED = {
    "size": lambda d: d.groupby("c", observed=False).size(),
    "size of two": lambda d: d.groupby(["c", "k"], observed=False).size(),
    "sum": lambda d: d.groupby("c", observed=False)["i"].sum(),
    "sum of floats": lambda d: d.groupby("c", observed=False)["x"].sum(),
    "sum of two keys": lambda d: d.groupby(["k", "c"], observed=False)["j"].sum(),
    "sum of columns": lambda d: d.groupby("c", observed=False)[["i", "x"]].sum(),
    "count": lambda d: d.groupby("c", observed=False)["i"].count(),
    "count of columns": lambda d: d.groupby("c", observed=False)[["i", "j", "s"]].count(),
    "by integers": lambda d: d.groupby("j", observed=False).size(),
    "by two sorts": lambda d: d.groupby(["j", "c"], observed=False).size(),
    "by bool": lambda d: d.groupby("b", observed=False)["j"].sum(),
    "by a column": lambda d: d.groupby(d["c"], observed=False)["j"].sum(),
    "series": lambda d: d["j"].groupby(d["k"], observed=False).sum(),
    "attribute": lambda d: d.groupby("c", observed=False).j.sum(),
    "filtered": lambda d: d[d["i"] > 0].groupby("c", observed=False).size(),
}


@pytest.mark.parametrize("name", GROUPED)
def test_groups_are_those_of_pandas_with_empty_ones_and_index_types(name):
    """V-20: the keys come from the schema; category "w" never occurs and has its place."""
    for seed in SEEDS:
        frame, private = pair(seed)
        expected = GROUPED[name](frame)
        if name.startswith("by"):  # every whole number and truth value has its group here, also one that is absent
            full = GROUPED[name](private).index
            assert set(expected.index) <= set(full)
            expected = expected.reindex(full, fill_value=0)
        equal(released(GROUPED[name](private)), expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_counts_of_values(seed):
    frame = random_frame(seed)
    private = opened(frame)
    equal(released(private["c"].value_counts(sort=False)), frame["c"].value_counts(sort=False))
    table = released(pd.crosstab(private["c"], private["k"]))
    equal(
        table,
        pandas.crosstab(frame["c"], frame["k"], dropna=False).reindex(table.index, columns=table.columns),
        names=False,
    )
    assert (table.index.tolist(), table.columns.tolist()) == (["u", "v", "w"], ["no", "yes"])
    assert released(private["c"].nunique()) == frame["c"].nunique()
    assert released(private["i"].nunique()) == frame["i"].nunique()
    assert released(private[["c", "k"]].nunique()).tolist() == frame[["c", "k"]].nunique().tolist()
    pairs = released(private.value_counts(["c", "k"], sort=False))
    assert pairs.sum() == len(frame.dropna(subset=["c", "k"]))
    inner = released(private.groupby("c")["k"].value_counts(sort=False))
    assert inner["u", "yes"] == ((frame["c"] == "u") & (frame["k"] == "yes")).sum()


@pytest.mark.parametrize("seed", SEEDS)
def test_counts_and_sums_of_tables_and_columns(seed):
    frame = random_frame(seed)
    private = opened(frame)
    assert released(private.shape[0]) == len(frame)
    assert private.shape[1] == frame.shape[1]
    assert released(private.size) == frame.size
    assert released(private["i"].count()) == frame["i"].count()
    assert released(private["i"].sum()) == frame["i"].sum()
    assert released(private["b"].sum()) == frame["b"].sum()
    assert released(private["x"].sum()) == pytest.approx(frame["x"].sum(), abs=1e-6)
    equal(released(private.count()), frame.count())
    equal(released(private[["i", "x"]].sum()), frame[["i", "x"]].sum())


@pytest.mark.parametrize("keys", ["c", ["c"], ["c", "k"], "j", "b"])
def test_iteration_and_get_group(keys):
    frame = random_frame(3)
    private = opened(frame)
    groups = dict(private.groupby(keys))
    expected = frame.groupby(keys, observed=False)
    for key, rows in expected:
        same(groups[key].drop(columns=keys), rows.drop(columns=keys))
        same(private.groupby(keys).get_group(key).drop(columns=keys), rows.drop(columns=keys))
    assert len(private.groupby(keys)) == private.groupby(keys).ngroups == len(groups)
    empty = [key for key in groups if key not in dict(list(expected))]
    assert all(released(groups[key].shape[0]) == 0 for key in empty)
    assert "u" in private.groupby("c") and "zzz" not in private.groupby("c")
    with pytest.raises(pj.PlanError, match="no possible key"):
        private.groupby("c").get_group("zzz")


def test_groups_of_intervals():
    frame = random_frame(1)
    private = opened(frame)
    edges = [-4, -1, 0, 4]
    by, expected_by = pd.cut(private["x"], edges), pandas.cut(frame["x"], edges)
    equal(released(private.groupby(by).size()), frame.groupby(expected_by, observed=False).size())
    counts = private.groupby(by).size()
    assert released(counts["(-1, 0]"]) == released(counts[pandas.Interval(-1, 0)]) == (expected_by.cat.codes == 1).sum()
    group = private.groupby(by).get_group(pandas.Interval(-4, -1))
    assert released(group.shape[0]) == (expected_by.cat.codes == 0).sum()


def test_statistics_without_noise_are_those_of_pandas():
    frame = random_frame(2, 400)
    private = opened(frame)
    with without_noise():
        x, i = private["x"], private["i"]
        assert x.mean(eps=1) == pytest.approx(frame["x"].mean(), abs=1e-6)
        assert x.var(eps=1) == pytest.approx(frame["x"].var(), rel=1e-4)
        assert x.std(eps=1) == pytest.approx(frame["x"].std(), rel=1e-4)
        assert i.median(eps=1) == pytest.approx(frame["i"].median(), abs=1)
        assert i.quantile(0.25, eps=1) == pytest.approx(frame["i"].quantile(0.25), abs=1)
        assert i.quantile([0.25, 0.75], eps=1).tolist() == pytest.approx(
            frame["i"].quantile([0.25, 0.75]).tolist(), abs=1
        )
        assert i.min(eps=1e6) == -9 or i.min(eps=1e6) == -8
        assert i.max(eps=1e6) in (8, 9)
        means = private[["i", "x"]].mean(eps=1)
        pandas.testing.assert_series_equal(plain(means), frame[["i", "x"]].mean().astype(float), rtol=1e-5)
        hist = i.hist(eps=1, bins=[-9, 0, 9])
        assert hist.tolist() == np.histogram(frame["i"].dropna().to_numpy(int), [-9, 0, 9])[0].tolist()
        assert [str(each) for each in hist.index] == ["[-9.0, 0.0)", "[0.0, 9.0]"]
        assert private.hist("i", eps=1, bins=3).sum() == frame["i"].count()
        described = private[["i", "x"]].describe(eps=1)
        parts = ["count", "mean", "std"]
        expected = frame[["i", "x"]].describe().loc[parts].astype(float)
        pandas.testing.assert_frame_equal(plain(described).loc[parts], expected, rtol=1e-4)
        assert described.index.tolist() == frame[["i", "x"]].describe().index.tolist()
        by = private.groupby("c")["x"].mean(eps=1)
        expected = frame.groupby("c", observed=False)["x"].mean().astype(float)
        pandas.testing.assert_series_equal(plain(by).iloc[:2], expected.iloc[:2], rtol=1e-5)
        assert -4 <= by["w"] <= 4  # an empty group has a mean too, in range
        frame_means = private.groupby("c")[["i", "x"]].mean(eps=1)
        assert frame_means.columns.tolist() == ["i", "x"] and frame_means.index.tolist() == ["u", "v", "w"]
        assert private.groupby("c")["i"].median(eps=1)["u"] == pytest.approx(
            frame[frame["c"] == "u"]["i"].median(), abs=1
        )
        for name in ("var", "std", "min", "max", "median"):
            assert getattr(private[["i", "x"]], name)(eps=1).index.tolist() == ["i", "x"]
            assert getattr(private.groupby("c")["i"], name)(eps=1).index.tolist() == ["u", "v", "w"]
        assert private[["i", "x"]].quantile([0.1, 0.9], eps=1).shape == (2, 2)


def test_real_noise_at_a_large_eps_is_small():
    frame = random_frame(2, 500)
    private = opened(frame)
    assert private["x"].mean(eps=1e4) == pytest.approx(frame["x"].mean(), abs=0.02)
    assert private["i"].median(eps=1e4) == pytest.approx(frame["i"].median(), abs=1)
    assert private["x"].std(eps=1e4) == pytest.approx(frame["x"].std(), abs=0.05)
    assert private.describe(eps=1e5).loc["count", "i"] == pytest.approx(frame["i"].count(), abs=1)
    counts = private["c"].value_counts(sort=False).reveal(eps=1e4)
    assert numpy.allclose(counts, frame["c"].value_counts(sort=False), atol=0.5)


def test_order_by_frequency_is_that_of_the_noisy_counts():
    frame = random_frame(0)
    private = opened(frame)
    for counts in (
        private["c"].value_counts(),
        private.value_counts(["c"]),
        private.groupby("c")["k"].value_counts(),
    ):
        assert isinstance(counts, pj.Prisoner)
        for refused in (str.format, bool, list, float):
            with pytest.raises(pj.PrisonerError):
                refused("{}", counts) if refused is str.format else refused(counts)
    released = [private["c"].value_counts().reveal(eps=0.01) for _ in range(20)]
    assert all(counts.is_monotonic_decreasing for counts in released)
    assert len({tuple(counts.index) for counts in released}) > 1, "the order is that of the noise, not of the data"


def test_keys_without_a_finite_domain_are_refused():
    """V-20: which texts occur is private, so no groups can be made of them."""
    private = opened(random_frame(0))
    for act in (lambda: private.groupby("s").size(), lambda: private["x"].value_counts(sort=False)):
        with pytest.raises(pj.PlanError, match="private"):
            act()


def test_users_have_at_most_so_many_rows():
    users = pandas.DataFrame({"user": [1, 1, 1, 2, 2, 3, None], "v": [1, 2, 3, 4, 5, 6, 7]})
    schema = {"user": {"type": "Int64", "range": [1, 9]}, "v": {"type": "Int64", "range": [0, 10]}}
    free = opened(users, schema, unit="user")
    assert free.shape[0].max_distance == float("inf")
    with pytest.raises(pj.DPError):
        free.shape[0].reveal(eps=1)
    with pytest.raises(pj.DPError):
        free["v"].sum().reveal(eps=1)
    two = free.groupby("user").head(2)
    assert two.shape[0].max_distance == 2
    same(two["v"], pandas.Series([1, 2, 4, 5, 6], dtype="Int64"))
    assert released(two["v"].sum()) == 18 and two["v"].sum().max_distance == 20
    has_constant_bound = opened(users, schema, unit="user", max_rows_per_unit=1)
    assert "all rows of one 'user' (at most 1)" in str(has_constant_bound)
    same(has_constant_bound["v"], pandas.Series([1, 4, 6], dtype="Int64"))
    assert has_constant_bound.shape[0].max_distance == 1
    for bad in (0, -1, 1.5, "2"):
        with pytest.raises(pj.PlanError):
            opened(users, schema, unit="user", max_rows_per_unit=bad)
    with pytest.raises(pj.PlanError):
        opened(users, schema, max_rows_per_unit=2)
    with pytest.raises(pj.SchemaError):
        opened(users, schema, unit="nobody")
