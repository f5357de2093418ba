"""Regression tables: coverage and false positives by simulation, and through the jail."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

import privjail as pj
from privjail import pandas as pd
from privjail import stats
from privjail.errors import DPError, PlanError
from privjail.stats.coefficients import Noisy, pairs
from privjail.stats.design import Column
from privjail.stats.regression import CURVES, ROUNDS, last_step, least_squares, step

FLAT = np.array([0.1, 0.0, 0.3, -0.2])  # the second one is zero: how often it is called anything else is counted
STEEP = np.array([-1.0, 0.0, 1.5, 0.7])


def used(d):
    return [Column(f"x{i}", None) for i in range(d)]


def points(rng, n, d):
    return np.column_stack([np.ones(n), rng.uniform(-1, 1, (n, d - 2)), rng.random(n) < 0.4])


def noisy(rng, values, scale, normal, told=1.0):
    draw = rng.normal if normal else rng.laplace
    return Noisy(values + draw(0, scale, values.shape), told * scale, normal)


def products(columns, weights=1.0):
    return np.array([(weights * columns[:, i] * columns[:, j]).sum() for i, j in pairs(columns.shape[1])[0]])


def linear(rng, n, scale, normal, told=1.0):
    x = points(rng, n, len(FLAT))
    y = x @ FLAT + rng.normal(0, 0.2, n)
    found = noisy(rng, products(np.column_stack([x, y])), scale, normal, told)
    return least_squares(found, used(len(FLAT)), Column("y", None), 0.95, "y")


def logistic(rng, n, scale, normal, told=1.0):
    """``scale``: of the noise that the whole price would buy for a sum that moves by 1."""
    x = points(rng, n, len(STEEP))
    y = rng.random(n) < 1 / (1 + np.exp(-x @ STEEP))
    at = np.zeros(len(STEEP))
    for share in ROUNDS:
        p = 1 / (1 + np.exp(-x @ at))
        more = [(share * part) ** (-0.5 if normal else -1) for part in (CURVES, 1 - CURVES)]
        bends = noisy(rng, products(x, p * (1 - p)), scale * more[0], normal, told)
        pulls = noisy(rng, x.T @ (y - p), 3 * scale * more[1], normal, told)
        if share != ROUNDS[-1]:
            at = at + step(bends, pulls)
    return last_step(at, bends, pulls, used(len(STEEP)), 0.95, "y", n)


def missed(made, truth, runs, **given):
    """Shares of reliable tables: whose intervals miss, by coefficient; whose zero is called significant; and of all."""
    rng = np.random.default_rng(11)
    tables = [r.table for r in (made(rng, **given) for _ in range(runs)) if r.reliable]
    misses = [(t["low"].to_numpy() > truth) | (t["high"].to_numpy() < truth) for t in tables]
    false = [t["pvalue"].iloc[1] <= 0.05 for t in tables]
    return np.mean(misses, axis=0), np.mean(false), len(tables) / runs


def most(runs):
    """5 %, and four standard deviations of that share in so many runs."""
    return 0.05 + 4 * (0.05 * 0.95 / runs) ** 0.5


FAST = [
    (linear, FLAT, {"n": 1000, "scale": 5, "normal": False}),
    (linear, FLAT, {"n": 3000, "scale": 20, "normal": True}),
    (logistic, STEEP, {"n": 5000, "scale": 2, "normal": True}),
]
SLOW = [
    *FAST,
    *[(linear, FLAT, {"n": n, "scale": s, "normal": k}) for n, s in ((300, 1), (1000, 7), (10_000, 60)) for k in (0, 1)],
    *[(logistic, STEEP, {"n": n, "scale": s, "normal": k}) for n, s in ((3000, 0.3), (20_000, 3)) for k in (0, 1)],
]  # fmt: skip


@pytest.mark.parametrize(("made", "truth", "given"), FAST)
def test_tables_have_nominal_coverage_and_false_positives(made, truth, given):
    misses, false, reliable = missed(made, truth, 60, **given)

    assert max(*misses, false) <= most(60)
    assert reliable > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(("made", "truth", "given"), SLOW)
def test_coverage_at_more_sizes_prices_and_kinds_of_noise(made, truth, given):
    misses, false, reliable = missed(made, truth, 600, **given)

    assert max(*misses, false) <= most(600 * reliable)
    assert reliable > 0.9


@pytest.mark.parametrize(("made", "truth", "given"), FAST[1:])
def test_forgetting_the_noise_is_noticed(made, truth, given):
    """What the check above would say if the noise of the release were left out of the error."""
    misses, _, _ = missed(made, truth, 30, told=1e-9, **given)

    assert max(misses) > most(30)


def test_intervals_are_not_all_that_is_possible_and_differences_are_found():
    found = linear(np.random.default_rng(3), 3000, 5, True).table

    assert (found["high"] - found["low"]).max() < 0.15
    assert found["pvalue"].iloc[2] < 0.01 < found["pvalue"].iloc[1]


def test_too_few_rows_are_said_to_be_too_few():
    found = linear(np.random.default_rng(4), 50, 20, True)

    assert not found.reliable and (found.table["pvalue"] == 1).all() and np.isinf(found.table["low"]).all()
    assert "unreliable" in repr(found)
    assert not logistic(np.random.default_rng(4), 50, 20, True).reliable


# -- through the jail

SCHEMA = {
    "age": {"type": "Int64", "range": [20, 80]},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
    "member": {"type": "boolean"},
    "cost": {"type": "Float64", "range": [0, 200]},
    "ill": {"type": "category", "categories": ["no", "yes"]},
}
TRUE = {"(intercept)": 20.0, "age": 1.0, "ward=b": 10.0, "ward=c": 0.0, "member=True": -15.0}


def people(n=20_000):
    rng = np.random.default_rng(8)
    age, ward = rng.integers(20, 81, n), rng.integers(0, 3, n)
    member = rng.random(n) < 0.5
    cost = 20 + age + 10 * (ward == 1) - 15 * member + rng.normal(0, 10, n)
    odds = -3 + 0.05 * age + 1.0 * (ward == 1) - 0.5 * member
    made = {"age": age, "ward": np.array(list("abc"))[ward], "member": member, "cost": np.clip(cost, 0, 200)}
    frame = pandas.DataFrame(made | {"ill": np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no")})
    frame["age"] = frame["age"].astype("Int64")
    frame.loc[::50, "age"] = pandas.NA  # rows that are left out
    return frame


@pytest.fixture
def df(request):
    return lambda budget: pd.from_frame(people(), request.node.name, SCHEMA, budget=budget)


@pytest.mark.parametrize(
    ("budget", "price"),
    [(pj.PureDP(5), {"eps": 5}), (pj.ZCDP(1), {"rho": 1}), (pj.ApproxDP(5, 1e-5), {"eps": 5, "delta": 1e-5})],
)
def test_a_linear_table_through_the_jail(df, budget, price, request):
    found = stats.linear_regression(df(budget), "cost", on=["age", "ward", "member"], **price, confidence=0.9999)

    assert found.reliable and list(found.table.index) == list(TRUE)
    for name, value in TRUE.items():
        assert found.table.loc[name, "low"] < value < found.table.loc[name, "high"], name
    assert found.table.loc["age", "pvalue"] < 0.01 and found.rows == pytest.approx(19_600, rel=0.02)
    assert "least squares" in repr(found)
    assert all(x == pytest.approx(0, abs=1e-9) for x in np.atleast_1d(pj.budget_left()[request.node.name]))


@pytest.mark.parametrize(
    ("budget", "price"),
    [
        (pj.ZCDP(1), {"rho": 1}),
        pytest.param(pj.PureDP(8), {"eps": 8}, marks=pytest.mark.slow),
        pytest.param(pj.ApproxDP(8, 1e-5), {"eps": 8, "delta": 1e-5}, marks=pytest.mark.slow),
    ],
)
def test_a_logistic_table_through_the_jail(df, budget, price, request):
    found = stats.logistic_regression(df(budget), "ill", on=["age", "ward", "member"], **price, confidence=0.9999)

    assert found.reliable
    for name, value in {"(intercept)": -3, "age": 0.05, "ward=b": 1.0, "ward=c": 0.0, "member=True": -0.5}.items():
        assert found.table.loc[name, "low"] < value < found.table.loc[name, "high"], name
    assert found.table.loc["age", "pvalue"] < 0.01
    assert found.bill and found.certificate[0]["release"]
    assert all(x >= 0 for x in np.atleast_1d(pj.budget_left()[request.node.name]))


def test_mistakes_cost_nothing(df, request):
    table = df(pj.ZCDP(1))
    with pytest.raises(PlanError, match="classes"):
        stats.logistic_regression(table, "ward", on=["age"], rho=1)
    with pytest.raises(PlanError, match="confidence"):
        stats.linear_regression(table, "cost", on=["age"], rho=1, confidence=1)
    with pytest.raises(PlanError, match="range"):
        stats.linear_regression(table, "ward", on=["age"], rho=1)
    with pytest.raises(PlanError, match="coefficients"):
        stats.linear_regression(table, "cost", on=[], rho=1)
    with pytest.raises(PlanError, match="twice"):
        stats.linear_regression(table, "cost", on=["age", "age"], rho=1)
    with pytest.raises(DPError):
        stats.logistic_regression(table, "ill", on=["age"], rho=2)
    assert pj.budget_left()[request.node.name] == 1
