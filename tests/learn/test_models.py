"""Naive Bayes, trees, forests, regression, components, clusters: they learn, and spend what they are given."""

from __future__ import annotations

import pickle

import numpy
import pandas
import pytest

import privjail as pj
from privjail import learn
from privjail import pandas as pd
from privjail.errors import DPError
from privjail.session import jail

from .test_additive import COLUMNS, TEST, files, opened  # noqa: F401

CLASSIFIERS = (learn.CategoricalNB, learn.GaussianNB, learn.DecisionTreeClassifier, learn.RandomForestClassifier)


@pytest.mark.parametrize("model", CLASSIFIERS)
@pytest.mark.parametrize(
    "budget, price",
    [
        (pj.PureDP(2), {"eps": 2}),
        (pj.ZCDP(1), {"rho": 1}),
        (pj.ApproxDP(2, 1e-5), {"eps": 2, "delta": 1e-5}),
    ],
)
def test_classifiers_learn_under_every_notion(files, model, budget, price):  # noqa: F811
    df = opened(files, budget)
    fitted = model().fit(df[COLUMNS], df["ill"], **price)
    usual = (TEST["ill"] == "yes").mean()

    assert fitted.score(TEST, TEST["ill"]) > max(usual, 1 - usual) + 0.03
    assert numpy.allclose(fitted.predict_proba(TEST).sum(axis=1), 1)
    assert (pickle.loads(pickle.dumps(fitted)).predict(TEST) == fitted.predict(TEST)).all()  # noqa: S301
    spent = jail().ledger.accounts()[0]
    assert not spent.notion.exceeds(spent.total())
    with pytest.raises(DPError):
        model().fit(df[COLUMNS], df["ill"], **price)  # nothing is left
    assert fitted.predict(df[COLUMNS]).ndim == 1  # private rows have private predictions, which are free


@pytest.fixture(scope="module")
def points(tmp_path_factory):
    dice = numpy.random.default_rng(3)
    centres = numpy.array([[2.0, 2.0], [8.0, 8.0], [2.0, 8.0]])
    where = dice.integers(0, 3, 4000)
    xy = numpy.clip(centres[where] + dice.normal(0, 0.6, (4000, 2)), 0, 10)
    target = numpy.clip(3 * xy[:, 0] - 2 * xy[:, 1] + 5 + dice.normal(0, 1, 4000), -20, 40)
    data = pandas.DataFrame({"x": xy[:, 0], "y": xy[:, 1], "t": target})
    file = tmp_path_factory.mktemp("points") / "points.csv"
    data.to_csv(file, index=False)
    schema = {
        name: {"type": "Float64", "range": ends} for name, ends in (("x", [0, 10]), ("y", [0, 10]), ("t", [-20, 40]))
    }
    return str(file), schema, data, centres


def private(points, budget):
    jail.cache_clear()
    return pd.read_csv(points[0], schema=points[1], budget=budget)


@pytest.mark.parametrize("price, budget", [({"eps": 5}, pj.PureDP(5)), ({"rho": 1}, pj.ZCDP(1))])
def test_linear_regression_finds_the_slopes(points, price, budget):
    df = private(points, budget)
    model = learn.LinearRegression().fit(df[["x", "y"]], df["t"], **price)

    assert model.coef_ == pytest.approx([3, -2], abs=0.5) and model.score(points[2], points[2]["t"]) > 0.9
    with pytest.raises(DPError):
        learn.Ridge().fit(df[["x", "y"]], df["t"], **price)


def test_gaussian_bayes_finds_means_and_variances_of_each_class(files):  # noqa: F811
    df, data = opened(files, pj.ZCDP(200)), pandas.read_csv(files[0])
    model = learn.GaussianNB().fit(df[["age", "ward"]], df["ill"], rho=100)
    ages = data.groupby("ill")["age"]

    assert model.theta_[:, 0] == pytest.approx(ages.mean().loc[["no", "yes"]].to_numpy(), abs=0.5)
    assert model.var_[:, 0] == pytest.approx(ages.var().loc[["no", "yes"]].to_numpy(), rel=0.05)


def test_components_are_those_of_the_data(points):
    df, data = private(points, pj.ZCDP(2)), points[2]
    model = learn.PCA(n_components=1).fit(df[["x", "y"]], rho=1)
    first = numpy.linalg.eigh(numpy.cov(data[["x", "y"]].to_numpy(), rowvar=False))[1][:, -1]

    assert abs(float(model.components_[0] @ first)) > 0.98
    assert model.transform(data).shape == (4000, 1)
    assert model.transform(df[["x", "y"]].to_numpy()).ndim == 2


def test_clusters_are_found(points):
    df, data, centres = private(points, pj.ZCDP(10)), points[2], points[3]
    model = learn.KMeans(n_clusters=3).fit(df[["x", "y"]], rho=5)
    far = numpy.linalg.norm(model.cluster_centers_[:, None] - centres[None], axis=2).min(axis=0)

    assert far.max() < 1 and set(model.predict(data)) == {0, 1, 2}


def test_a_scaler_knows_means_and_deviations(points):
    df, data = private(points, pj.ZCDP(2)), points[2]
    scaler = learn.StandardScaler().fit(df[["x", "y"]], rho=1)
    found = scaler.transform(data)

    assert numpy.abs(found.mean(axis=0)).max() < 0.1 and found.std(axis=0) == pytest.approx([1, 1], abs=0.1)


def test_models_say_what_they_need(points):
    df = private(points, pj.ZCDP(2))
    with pytest.raises(DPError):
        learn.PCA(n_components=5).fit(df[["x", "y"]], rho=1)
    with pytest.raises(DPError):
        learn.Ridge().fit((1 / df)[["x", "y"]], df["t"], rho=1)
    with pytest.raises(DPError):
        learn.CategoricalNB().fit(df[["x", "y"]], df["t"], rho=1)
