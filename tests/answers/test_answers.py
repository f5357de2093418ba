"""Answers are floats, and pandas objects; they know their error until they are computed with."""

from __future__ import annotations

from collections.abc import Callable
import copy
import json
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pandas
import privjail as pj
from privjail import pandas as pd
from privjail.answers.answer import Answer, Facts, Price
from privjail.answers.laws import LaplaceNoise, MeanLaw, Parts, VarianceLaw, two_laplace_tail
from privjail.answers.released import ReleasedFrame, ReleasedSeries
from privjail.mechanisms.laplace import Laplace

WARDS = ["a", "b", "empty"]


@pytest.fixture(scope="module")
def df() -> pd.PrivDataFrame:
    rng = np.random.default_rng(3)
    frame = pandas.DataFrame(
        {"ward": rng.choice(["a", "b"], 3000), "days": rng.integers(0, 30, 3000), "cost": rng.random(3000) * 900}
    )
    schema = {
        "ward": {"type": "category", "categories": WARDS},
        "days": {"type": "Int64", "range": [0, 60]},
        "cost": {"type": "Float64", "range": [0, 1000]},
    }
    private = pd.from_frame(frame, "stays", schema)
    private["long"] = private["days"] > 10
    return private


RELEASES: dict[str, Any] = {
    "count": lambda d: d.shape[0].reveal(eps=1),
    "mean": lambda d: d["days"].mean(eps=1),
    "median": lambda d: d["cost"].median(eps=1),
    "std": lambda d: d["cost"].std(eps=1),
    "var": lambda d: d["days"].var(eps=1),
    "quantile": lambda d: d["days"].quantile(0.9, eps=1),
    "min": lambda d: d["days"].min(eps=1),
    "max": lambda d: d["days"].max(eps=1),
    "sem": lambda d: d["days"].sem(eps=1),
    "skew": lambda d: d["days"].skew(eps=1),
    "corr": lambda d: d["days"].corr(d["cost"], eps=1),
    "cov": lambda d: d["days"].cov(d["cost"], eps=1),
}
SERIES: dict[str, Any] = {
    "counts": lambda d: d["ward"].value_counts(sort=False).reveal(eps=1),
    "sums": lambda d: d[["days", "cost"]].sum().reveal(eps=1),
    "group means": lambda d: d.groupby("ward")["days"].mean(eps=1),
    "group medians": lambda d: d.groupby("ward")["days"].median(eps=1),
    "hist": lambda d: d["days"].hist(bins=4, eps=1),
    "describe": lambda d: d["cost"].describe(eps=1),
    "means": lambda d: d[["days", "cost"]].mean(eps=1),
    "quantiles": lambda d: d["cost"].quantile([0.1, 0.9], eps=1),
    "sorted counts": lambda d: d["ward"].value_counts().reveal(eps=1),
    "agg": lambda d: d["cost"].agg(["mean", "std", "max"], eps=1),
    "group agg": lambda d: d.groupby("ward")["days"].agg("mean", eps=1),
}
FRAMES: dict[str, Any] = {
    "crosstab": lambda d: pd.crosstab(d["ward"], d["days"] > 10).reveal(eps=1),
    "group sums": lambda d: d.groupby("ward")[["days", "cost"]].sum().reveal(eps=1),
    "group means": lambda d: d.groupby("ward")[["days", "cost"]].mean(eps=1),
    "describe": lambda d: d[["days", "cost"]].describe(eps=1),
    "agg": lambda d: d.groupby("ward").agg(stays=("days", "count"), cost=("cost", "mean"), eps=1),
    "agg of lists": lambda d: d.groupby("ward")[["days", "cost"]].agg(["mean", "sum"], eps=1),
    "group describe": lambda d: d.groupby("ward")["days"].describe(eps=1),
    "cov": lambda d: d[["days", "cost"]].cov(eps=1),
    "pivot": lambda d: d.pivot_table(values="cost", index="ward", columns="long", aggfunc="mean", eps=1),
    "pivot of lists": lambda d: d.pivot_table(
        values="cost", index="ward", columns="long", aggfunc=["mean", "sum"], eps=1
    ),
}


@pytest.mark.parametrize("release", RELEASES.values(), ids=list(RELEASES))
def test_a_released_number_is_a_float_that_knows_its_error(df: Any, release: Any) -> None:
    x = release(df)
    assert isinstance(x, float) and isinstance(x, Answer) and x.eps == 1
    low, high = x.interval(0.95)
    assert low <= x <= high and x.error() == max(x - low, high - x) == pj.error(x)
    assert pj.interval(x) == (low, high)
    narrow = x.interval(0.5)
    assert low <= narrow[0] and narrow[1] <= high
    for made in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):  # noqa: S301
        assert made == x and made.interval(0.9) == x.interval(0.9) and repr(made) == repr(x)
    for computed in (x + 1, 2 * x, -x, abs(x), round(x, 1), x / 2, max(x, 0.0) + 0):
        assert type(computed) is float
    assert json.loads(json.dumps({"x": x}))["x"] == float(x) and f"{x:.3f}" == f"{float(x):.3f}"
    with pytest.raises(pj.PlanError, match="does not know its error"):
        pj.interval(x * 1.0)


@pytest.mark.parametrize("release", SERIES.values(), ids=list(SERIES))
def test_a_released_vector_is_a_series_with_an_equally_indexed_frame_of_intervals(df: Any, release: Any) -> None:
    x = release(df)
    assert isinstance(x, ReleasedSeries) and isinstance(x, pandas.Series)
    ends = pj.interval(x, 0.95)
    assert ends.index.equals(x.index) and list(ends.columns) == ["low", "high"] and not ends.isna().any().any()
    assert (ends["low"] <= x).all() and (x <= ends["high"]).all() and x.error().index.equals(x.index)
    for plain in (x * 2, x[x > 0], x.astype(int), x.to_frame(), pandas.concat([x, x]), x.cumsum()):
        assert type(plain) in (pandas.Series, pandas.DataFrame)
    for made in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), x.copy()):  # noqa: S301
        assert made.equals(x) and made.interval().equals(ends)
    turned = x.sort_values(ascending=False)
    assert turned.interval().equals(ends.loc[turned.index]) and x.head(1).interval().equals(ends.head(1))
    first = x[x.index[0]]
    assert first.interval() == tuple(ends.iloc[0])
    assert str(x).startswith(str(x.to_plain()))


@pytest.mark.parametrize("release", FRAMES.values(), ids=list(FRAMES))
def test_a_released_table(df: Any, release: Any) -> None:
    x = release(df)
    assert isinstance(x, ReleasedFrame) and x.error().shape == x.shape and not x.error().isna().any().any()
    ends = x.interval()
    assert ends.index.equals(x.index) and ends.shape == (len(x), 2 * x.shape[1])
    column = x[x.columns[0]]
    assert (column.interval().to_numpy() == ends.iloc[:, :2].to_numpy()).all()
    assert pickle.loads(pickle.dumps(x)).interval().equals(ends)  # noqa: S301
    assert type(x * 2) is pandas.DataFrame and type(x.T) is pandas.DataFrame and "<table" in x._repr_html_()


def test_a_vector_that_was_changed_in_place_does_not_state_an_error(df: Any) -> None:
    x = df["ward"].value_counts(sort=False).reveal(eps=1)
    x += 1
    with pytest.raises(pj.PlanError, match="changed in place"):
        x.interval()
    assert str(x)


def test_a_pivot_says_which_of_its_cells_are_not_reliable(df: Any) -> None:
    found = df.pivot_table(values="days", index="ward", columns="long", aggfunc="mean", eps=1)
    assert "unreliable: empty, False (perhaps no row" in str(found)
    assert found.interval().loc["a", False].tolist() == pytest.approx([5.0, 5.0], abs=3.0)  # noise


def test_what_cannot_be_relied_on_says_so(df: Any) -> None:
    """Also where noise makes it look like a proper number, and a mean of no row comes out as a bound.

    A statement of this kind holds for 95 of 100 draws, so most of ten must say so.
    """

    def most(holds: Callable[[], bool]) -> bool:
        return sum(holds() for _ in range(10)) >= 6

    groups = df.groupby("ward")["days"]
    for name in ("mean", "median", "std"):

        def doubted(name: str = name) -> bool:
            found = getattr(groups, name)(eps=1)
            return not found.reliable()["empty"] and "unreliable: empty (perhaps no row" in str(found)

        assert most(doubted)
        assert most(lambda name=name: getattr(groups, name)(eps=1).reliable()["a"])

    def alone() -> bool:
        found = df[df["ward"] == "empty"]["days"].mean(eps=1)
        return not found.reliable and "unreliable: perhaps no row" in repr(found) and "unreliable" in f"{found}"

    assert most(alone)
    assert most(lambda: df["days"].mean(eps=1).reliable and "unreliable" not in repr(df["days"].mean(eps=1)))


@pytest.mark.parametrize("confidence", [0, 1, -1, 2, True, "0.9", float("nan")])
def test_a_confidence_lies_between_0_and_1(df: Any, confidence: Any) -> None:
    x, y = df.shape[0].reveal(eps=1), df["ward"].value_counts(sort=False).reveal(eps=1)
    for ask in (x.interval, x.error, y.interval, y.error):
        with pytest.raises(pj.PlanError, match="strictly between 0 and 1"):
            ask(confidence)


def test_a_private_number_has_no_interval_yet(df: Any) -> None:
    with pytest.raises(pj.PlanError, match="once it is released"):
        pj.interval(df.shape[0])


# -- the laws against exact ones


def laplace_pmf(scale: float, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Two-sided geometric noise on whole numbers, cut off where less than 1e-13 is left."""
    x = np.arange(-most, most + 1)
    p = np.exp(-np.abs(x) / scale)
    return x, p / p.sum()


@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 4.0])
def test_the_reach_of_laplace_noise_is_exact(scale: float) -> None:
    x, p = laplace_pmf(scale, 400)
    for confidence in (0.5, 0.8, 0.95, 0.999):
        far = LaplaceNoise(scale, 1.0).reach(confidence)
        assert p[np.abs(x) > far].sum() <= 1 - confidence + 1e-12
        assert far == 0 or p[np.abs(x) > far - 1].sum() > 1 - confidence - 1e-12
    assert LaplaceNoise(scale, 1.0).noise == pytest.approx(math.sqrt((p * x * x).sum()), rel=1e-6, abs=1e-6)


@given(st.floats(0.05, 5), st.floats(0.05, 5), st.floats(-3, 3), st.floats(0, 30))
def test_the_tail_of_a_mean_is_at_least_the_exact_one(a: float, b: float, mu: float, t: float) -> None:
    """Pr[|X - μY| ≥ t] of noise in whole steps, by adding up all pairs, against the stated bound half a step nearer."""
    x, p = laplace_pmf(a, 150)
    y, q = laplace_pmf(b, 150)
    exact = float((np.outer(p, q) * (np.abs(x[:, None] - mu * y[None, :]) >= t + 1e-9)).sum())
    assert two_laplace_tail(t - 0.5 - abs(mu) / 2, a, abs(mu) * b) >= exact - 1e-9


@given(st.integers(2, 40), st.floats(0, 400), st.floats(-60, 60), st.floats(0.1, 20))
def test_the_box_of_a_variance_holds_all_its_points(n: int, q: float, s: float, scale: float) -> None:
    noise = LaplaceNoise(scale, 1.0)
    law = VarianceLaw(Parts(s, n, noise, noise), q, noise, most=1e9)
    low, high = law.interval(0.0, 0.9)
    far = noise.reach(1 - 0.1 / 3)
    counts = np.linspace(max(n - far, 2), max(n + far, 2), 41)
    for squares in (q - far, q, q + far):
        for total in (s - far, s, s + far, max(min(0.0, s + far), s - far)):
            spread = np.maximum((squares - total**2 / counts) / (counts - 1), 0)
            assert low <= spread.min() + 1e-6 * (1 + spread.max()) and spread.max() <= high * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("total", [-300.0, 0.0, 300.0])
def test_an_interval_of_a_mean_holds_the_mean_also_where_the_noisy_count_is_negative(total):
    noise = LaplaceNoise(2.0, 1.0)
    law = MeanLaw(Parts(total, -5.0, LaplaceNoise(60.0, 1.0), noise), 30.0, 0.0, 60.0)
    for mean in (0.0, 30.0, 60.0):
        low, high = law.interval(mean, 0.95)
        assert low <= mean <= high


def test_a_mean_that_contradicts_its_range_has_the_whole_range() -> None:
    noise = LaplaceNoise(1.0, 1.0)
    law = MeanLaw(Parts(1e6, 10.0, noise, noise), 30.0, 0.0, 60.0)
    assert Answer(60.0, Facts(Price(1.0), "mean", law)).interval() == (0.0, 60.0)


def test_an_answer_says_the_noise_that_was_drawn(df: Any) -> None:
    x = df.shape[0].reveal(eps=0.1)
    stated = Laplace(Fraction(1, 10)).calibrate(df.shape[0]._value)
    assert x.facts.law.scale == float(stated.scale) and x.noise == pytest.approx(math.sqrt(2) * 10, rel=0.01)
    assert x.error(0.9) == df.shape[0].error(eps=0.1, confidence=0.9)


def test_a_plot_has_a_bar_and_a_line_for_each_number(df: Any) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    for x, bars in (
        (df["ward"].value_counts(sort=False).reveal(eps=1), 3),
        (df.groupby("ward")[["days", "cost"]].mean(eps=1), 6),
        (df.shape[0].reveal(eps=1), 1),
    ):
        for axes in (x.plot(), pj.plot(x, 0.5)):
            assert len(axes.patches) == bars and len(axes.containers) >= 1
            plt.close("all")
    with pytest.raises(pj.PlanError, match="does not know its error"):
        pj.plot(df["ward"].value_counts(sort=False).reveal(eps=1) * 2)
