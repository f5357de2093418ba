"""Private numbers and vectors: arithmetic, indexing, iteration, and every way out."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy
import pytest

import pandas
import privjail as pj
from privjail import pandas as pd
from tests.pandas.seen import opened, pair, random_frame, without_noise


@pytest.fixture
def frame():
    return pair(0)[0]


@pytest.fixture
def private():
    return pair(0)[1]


def exact(x):
    with without_noise():
        found = x.reveal(eps=1)
    return found.to_plain() if hasattr(found, "to_plain") else found


def test_numbers_compute_with_known_distance(private, frame):
    n, k = private.shape[0], private[private["c"] == "u"].shape[0]
    us = (frame["c"] == "u").sum()
    for value, expected, distance in [
        (n + 1, 61, 1), (1 + n, 61, 1), (n - 1, 59, 1), (100 - n, 40, 1), (n * 2, 120, 2), (3 * n, 180, 3),
        (-n, -60, 1),
        (n / 4, 15, 0.25), (n + k, 60 + us, 2), (n - k, 60 - us, 2), (abs(n - 100), 40, 1), (+n, 60, 1),
        (n * Fraction(1, 2), 30, 0.5), (numpy.float64(2) * n, 120, 2), (n * numpy.int64(2), 120, 2), (n * 0, 0, 0),
        (sum([n, k]), 60 + us, 2),
    ]:  # fmt: skip
        assert exact(value) == expected
        assert value.max_distance == distance
    assert isinstance(n, pj.SensitiveInt) and isinstance(n / 4, pj.SensitiveFloat)
    assert isinstance(n * 2, pj.SensitiveInt)


def test_disjoint_counts_add_up_to_distance_one(private):
    counts = [private[private["c"] == label].shape[0] for label in ("u", "v", "w")]
    assert sum(counts[1:], counts[0]).max_distance == 1
    assert pj.max(*counts).max_distance == 1 and pj.min(counts).max_distance == 1


def test_error_and_eps_for_speak_before_anything_is_paid(private):
    before = pj.consumed_privacy_budget()
    n = private.shape[0]
    wide = n.error(eps=0.1, confidence=0.95)
    assert wide == pytest.approx(30, rel=0.1) and n.error(eps=1) < wide
    eps = n.eps_for(error=wide)
    assert eps <= 0.11 and n.error(eps=eps) <= wide
    assert n.error(eps=1, delta=1e-6) > 0 and n.error(rho=0.1) > 0
    counts = private.groupby("c").size()
    assert counts.error(eps=1) >= n.error(eps=1)
    assert counts.error(eps=counts.eps_for(error=5.0)) <= 5.0
    assert pj.consumed_privacy_budget() == before
    for bad in (0, 1, -1, 2, float("nan")):
        with pytest.raises(pj.PlanError):
            n.error(eps=1, confidence=bad)


def test_vectors_are_indexed_and_iterated_as_in_pandas(private, frame):
    counts = private.groupby("c").size()
    expected = frame.groupby("c", observed=False).size()
    assert (len(counts), counts.shape, counts.size, counts.ndim) == (3, (3,), 3, 1)
    assert list(counts.index) == list(counts.keys()) == ["u", "v", "w"]
    assert [exact(x) for x in counts] == expected.tolist()
    assert {k: exact(v) for k, v in counts.items()} == expected.to_dict()
    assert (
        exact(counts["v"]) == exact(counts.loc["v"]) == exact(counts.iloc[1]) == exact(counts.at["v"]) == expected["v"]
    )
    assert exact(counts.iloc[-1]) == expected.iloc[-1]
    assert exact(counts[["v", "u"]]).to_dict() == expected[["v", "u"]].to_dict()
    assert exact(counts.iloc[1:]).tolist() == exact(counts.tail(2)).tolist() == expected.iloc[1:].tolist()
    assert exact(counts.head(1)).tolist() == expected.head(1).tolist()
    assert counts.get("zzz") is None and "u" in counts and "zzz" not in counts
    assert exact(counts.sum()) == expected.sum() and exact(counts.max()) == expected.max()
    assert exact(counts.min()) == expected.min() and exact(counts.mean()) == pytest.approx(expected.mean())
    assert exact(counts.rename("n")).name == "n"
    for bad in ("zzz", 99, None):
        with pytest.raises(pj.PlanError):
            counts[bad]
    with pytest.raises(pj.PlanError):
        counts.iloc[3]


def test_vectors_compute_element_by_element(private, frame):
    counts = private.groupby("c").size()
    expected = frame.groupby("c", observed=False).size()
    sums = private.groupby("c")["j"].sum()
    for value, wanted in [
        (counts + 1, expected + 1), (2 * counts, 2 * expected), (counts - counts, expected - expected),
        (sums + counts, frame.groupby("c", observed=False)["j"].sum() + expected), (-counts, -expected),
        (abs(counts - 20), (expected - 20).abs()), ((counts - 20).abs(), (expected - 20).abs()),
        (counts / 2, expected / 2), (10 - counts, 10 - expected),
    ]:  # fmt: skip
        pandas.testing.assert_series_equal(exact(value), wanted.astype(float), check_names=False)
    with pytest.raises(pj.PlanError, match="same index"):
        counts + private.groupby("k").size()


def test_a_vector_of_two_levels(private, frame):
    counts = private.groupby(["c", "k"]).size()
    expected = frame.groupby(["c", "k"], observed=False).size()
    pandas.testing.assert_series_equal(exact(counts), expected.astype(float))
    assert exact(counts["u", "yes"]) == expected["u", "yes"]
    assert exact(counts["u"]).to_dict() == expected["u"].to_dict()
    table = counts.unstack()
    pandas.testing.assert_frame_equal(exact(table), expected.unstack().astype(float))


def test_tables_of_private_numbers(private, frame):
    table = pd.crosstab(private["c"], private["k"])
    wanted = frame.groupby(["c", "k"], observed=False).size().unstack()
    assert (table.shape, len(table), table.ndim, list(table)) == ((3, 2), 3, 2, ["no", "yes"])
    assert exact(table["yes"]).to_dict() == wanted["yes"].to_dict()
    assert exact(table.loc["u"]).to_dict() == wanted.loc["u"].to_dict()
    assert exact(table.loc["u", "no"]) == exact(table.iloc[0, 0]) == exact(table.at["u", "no"]) == wanted.loc["u", "no"]
    assert exact(table.loc[:, "no"]).to_dict() == wanted["no"].to_dict()
    assert exact(table.sum()).to_dict() == wanted.sum().to_dict()
    assert exact(table.sum(axis=1)).to_dict() == wanted.sum(axis=1).to_dict()
    assert {k: exact(v).tolist() for k, v in table.items()} == {k: v.tolist() for k, v in wanted.items()}
    assert [exact(v).tolist() for _, v in table.iterrows()] == [v.tolist() for _, v in wanted.iterrows()]
    pandas.testing.assert_frame_equal(exact(table + table), (wanted + wanted).astype(float), check_names=False)
    assert "yes" in table and "u" not in table
    with pytest.raises(pj.PlanError):
        table["u"]


def test_every_mechanism_takes_numbers_lists_dicts_and_vectors(private):
    """V-46 (index only, length from the schema) and the shapes that each way out takes."""
    counts = private.groupby("c").size()
    n = private.shape[0]
    scores = {label: counts[label] for label in ("u", "v", "w")}
    with without_noise():
        best = max(scores, key=lambda label: exact(scores[label]))
        assert pj.laplace_mechanism(n, eps=1) == n.reveal(eps=1) == 60
        assert pj.laplace_mechanism([n, n], eps=1) == [60, 60]
        assert pj.laplace_mechanism({"a": n}, eps=1) == {"a": 60}
        assert pj.reveal_all([n, n * 2], eps=1) == [60, 120]
        assert pj.noisy_max(scores, eps=1) == counts.idxmax(eps=1) == best
        assert pj.noisy_min(scores, eps=1) == counts.idxmin(eps=1) == "w"
        assert pj.top_k(scores, 2, eps=1) == pj.top_k(counts, 2, eps=1) == counts.nlargest(2, eps=1)
        assert pj.top_k(scores, 1, eps=1) == [best] and counts.nsmallest(1, eps=1) == ["w"]
        assert pj.above_threshold(counts, 5, eps=1) == "u" and pj.above_threshold([n], 1000, eps=1) is None
        assert pj.max(counts).reveal(eps=1) == pj.max(n, 3).reveal(eps=1) / 60 * pj.max(list(counts)).reveal(eps=1)
    chosen = pj.exponential_mechanism(scores, eps=1e4)
    assert chosen == pj.exponential_mechanism(counts, eps=1e4) == best
    assert set(counts.nlargest(3, eps=1)) == {"u", "v", "w"}
    for bad in (0, 4, -1, 1.5):
        with pytest.raises(pj.PlanError):
            counts.nlargest(bad, eps=1)


def test_gaussian_noise_takes_the_same_shapes():
    private = opened(random_frame(0), budget=pj.ApproxDP(100, 1e-3))
    counts, n = private.groupby("c").size(), private.shape[0]
    with without_noise():
        assert pj.gaussian_mechanism(n, eps=1, delta=1e-6) == n.reveal(eps=1, delta=1e-6) == 60
        assert pj.reveal_all({"n": n}, eps=1, delta=1e-6) == {"n": 60}
        assert isinstance(pj.gaussian_mechanism(counts, eps=1, delta=1e-6), pandas.Series)
    assert n.reveal(eps=20, delta=1e-5) == pytest.approx(60, abs=10)


def test_what_is_no_private_number_is_refused_by_every_mechanism(private):
    for act in (
        lambda: pj.laplace_mechanism(private, eps=1),
        lambda: pj.laplace_mechanism(private["i"], eps=1),
        lambda: pj.laplace_mechanism(3, eps=1),
        lambda: pj.laplace_mechanism([], eps=1),
        lambda: pj.exponential_mechanism({}, eps=1),
        lambda: pj.noisy_max(private["i"], eps=1),
        lambda: pj.max([]),
        lambda: private.shape[0].reveal(),
        lambda: private.shape[0].reveal(eps=1, mechanism="uniform"),
    ):
        with pytest.raises(pj.DPError):
            act()


def test_a_release_costs_what_it_says():
    frame = random_frame(9)
    private = opened(frame)
    name = str(private._rows)
    spent = lambda: pj.consumed_privacy_budget()[name]  # noqa: E731
    for act, cost in [
        (lambda: private.shape[0].reveal(eps=0.1), 0.1),
        (lambda: private["x"].mean(eps=0.1), 0.1),
        (lambda: private[["i", "x", "j"]].mean(eps=0.1), 0.1),
        (lambda: private["x"].var(eps=0.1), 0.1),
        (lambda: private["i"].describe(eps=0.1), 0.1),
        (lambda: private[["i", "x"]].describe(eps=0.1), 0.1),
        (lambda: private["i"].quantile([0.1, 0.5], eps=0.1), 0.1),
        (lambda: private["i"].hist(eps=0.1), 0.1),
        (lambda: private.groupby("c").size().reveal(eps=0.1), 0.1),
        (lambda: private.groupby("c")["x"].mean(eps=0.1), 0.1),
        (lambda: private.groupby("c")["i"].median(eps=0.1), 0.1),
        (lambda: private.groupby("c").size().idxmax(eps=0.1), 0.1),
        (lambda: pd.crosstab(private["c"], private["k"]).reveal(eps=0.1), 0.1),
    ]:  # fmt: skip
        before = Fraction(str(spent()))
        act()
        assert float(Fraction(str(spent())) - before) == pytest.approx(cost, abs=1e-12)
    with pj.budget(0.5), pytest.raises(pj.BudgetExceeded):
        private.shape[0].reveal(eps=0.6)


@pytest.mark.parametrize("how", [{}, {"right": False}, {"include_lowest": True}, {"labels": False}], ids=str)
@pytest.mark.parametrize(
    "edges",
    [[-4.0, -0.5, 0.0, 4.0], [-4, -1, 0, 4], [-4, -0.5, 0, 4.0], [-4, 4], [-4.0, 2**62, 1e300], [2**63, 2**63 + 4096]],
    ids=str,
)
def test_the_index_of_intervals_is_the_one_that_pandas_makes_of_them(private, edges, how):
    by = pd.cut(private["x"], edges, **how)
    made = exact(by.value_counts(sort=False)).index
    closed = ["left" if how.get("right") is False else "right"] * (len(edges) - 1)
    closed[0] = "both" if how.get("include_lowest") else closed[0]
    plain = [pandas.Interval(a, b, c) for a, b, c in zip(edges, edges[1:], closed, strict=False)]
    if "labels" in how:  # numbers, as in pandas
        pandas.testing.assert_index_equal(made, pandas.Index(range(len(plain)), dtype="Int64", name="x"), exact=True)
        return
    held = pandas.Index(plain, dtype=object) if len(set(closed)) > 1 else pandas.Index(plain)
    expected = pandas.CategoricalIndex(held, categories=held, ordered=True, name="x")

    pandas.testing.assert_index_equal(made, expected, exact=True)
    assert made.categories.dtype == expected.categories.dtype and list(map(repr, made)) == list(map(repr, expected))


@pytest.mark.parametrize("edges", [[0, 2**63], [-1, 2**63], [0, 2**63, 2**64], [0.0, 2**63]])
def test_edges_of_which_pandas_makes_no_index_of_intervals_still_give_an_answer(private, edges):
    """It is paid for when the index is made."""
    released = pd.cut(private["i"], edges, labels=None).value_counts(sort=False).reveal(eps=1)

    assert len(released) == len(edges) - 1
    assert [(each.left, each.right) for each in released.index] == list(pairwise(edges))


def test_labels_that_are_one_to_pandas_still_give_an_answer():
    schema = {"c": {"type": "category", "categories": [False, 0, "a"]}}
    released = opened(pandas.DataFrame({"c": ["a"]}), schema)["c"].value_counts(sort=False).reveal(eps=1)

    assert list(map(repr, released.index)) == ["False", "0", "'a'"]
