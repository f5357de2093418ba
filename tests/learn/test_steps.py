"""Steps as scikit-learn's users know them: fit_transform at a price, transform of private rows, fitted pipelines."""

from __future__ import annotations

import numpy
import pandas
import pytest

import privjail as pj
from privjail import learn
from privjail import pandas as pd
from privjail.errors import DPError
from privjail.learn.base import Transformer
from privjail.numpy.arrays import PrivArray
from privjail.session import jail

ROWS = 3000
SCHEMA = {
    "age": {"type": "Int64", "range": [0, 100]},
    "pay": {"type": "Float64", "range": [0, 50]},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
    "ill": {"type": "category", "categories": ["no", "yes"]},
}
NUMBERS = ["age", "pay"]
STEPS = [(learn.StandardScaler(), NUMBERS), (learn.PCA(n_components=1), NUMBERS), (learn.OneHotEncoder(), ["ward"]),
         (learn.KBinsDiscretizer(n_bins=4), NUMBERS)]  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    dice = numpy.random.default_rng(5)
    age = dice.integers(20, 80, ROWS)
    table = pandas.DataFrame({"age": age, "pay": numpy.clip(age / 2 + dice.normal(0, 3, ROWS), 0, 50).round(2)})
    table["ward"] = dice.choice(["a", "b", "c"], ROWS)
    table["ill"] = numpy.where(age + dice.normal(0, 8, ROWS) > 50, "yes", "no")
    file = tmp_path_factory.mktemp("steps") / "people.csv"
    table.to_csv(file, index=False)
    return str(file), table


def opened(data, budget=100):
    jail.cache_clear()
    return pd.read_csv(data[0], schema=SCHEMA, budget=pj.PureDP(budget))


def spent():
    return float(jail().ledger.accounts()[0].total()[0])


@pytest.mark.parametrize(("step", "columns"), STEPS, ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("form", ["table", "array"])
def test_fit_transform_gives_what_the_fitted_step_gives_of_public_rows(data, step, columns, form):
    """Row by row: sums of the private array are those of the same rows, transformed in the open."""
    df, (_, table) = opened(data), data
    X = df[columns] if form == "table" or columns == ["ward"] else df[columns].to_numpy()
    made = step.fit_transform(X, eps=1)
    assert spent() == (0 if isinstance(step, (learn.OneHotEncoder, learn.KBinsDiscretizer)) else 1)

    known = step.transform(table[columns] if form == "table" or columns == ["ward"] else table[columns].to_numpy())

    assert isinstance(made, PrivArray) and made.ndim == 2 and isinstance(known, numpy.ndarray)
    exact = made.clip(-20, 20).sum(axis=0).reveal(eps=90)
    assert numpy.allclose(exact, known.sum(axis=0), atol=20)
    again = step.transform(X).clip(-20, 20).sum(axis=0).reveal(eps=5)
    assert numpy.allclose(again, known.sum(axis=0), atol=200)


def test_columns_of_a_private_table_are_taken_by_their_names(data):
    df = opened(data)
    scaler = learn.StandardScaler().fit(df[NUMBERS], eps=1)
    turned = scaler.transform(df[["ill", "pay", "age"]])
    assert numpy.allclose(turned.clip(-9, 9).sum(axis=0).reveal(eps=50), scaler.transform(data[1]).sum(axis=0), atol=20)
    with pytest.raises(DPError, match=r"X lacks the columns \['pay'\]"):
        scaler.transform(df[["age"]])
    with pytest.raises(DPError, match="X needs 2 columns"):
        scaler.transform(df[["age"]].to_numpy())


@pytest.mark.parametrize("step", [learn.StandardScaler(), learn.PCA(), learn.OneHotEncoder()])
def test_a_step_that_is_not_fitted_or_has_no_price_says_so(data, step):
    df = opened(data)
    for X in (df[NUMBERS], df[NUMBERS].to_numpy(), data[1][NUMBERS]):
        with pytest.raises(DPError, match="is not fitted"):
            type(step)().transform(X)
    if not isinstance(step, learn.OneHotEncoder):
        with pytest.raises(DPError, match="eps"):
            type(step)().fit_transform(df[NUMBERS])
    assert spent() == 0 and isinstance(step, Transformer)
    assert not hasattr(learn.Ridge(), "fit_transform")  # a model is no step


def test_steps_and_a_model_are_fitted_one_after_another(data):
    df, (_, table) = opened(data, budget=4), data
    scaler = learn.StandardScaler()
    X = scaler.fit_transform(df[NUMBERS], eps=1).clip(-3, 3)
    model = learn.Ridge().fit(X, df["pay"], eps=3)
    assert model.score(numpy.clip(scaler.transform(table), -3, 3), table["pay"]) > 0.8 and spent() == 4


def test_fitted_steps_and_models_work_in_a_pipeline_on_public_rows(data):
    """A fitted model holds public numbers only: scikit-learn takes it as any other fitted step."""
    pipeline = pytest.importorskip("sklearn.pipeline", reason="scikit-learn is not installed")
    df, (_, table) = opened(data), data
    scaler = learn.StandardScaler().fit(df[NUMBERS], eps=10)
    X = scaler.transform(df[NUMBERS]).clip(-3, 3)
    model = learn.Ridge().fit(X, df["pay"], eps=10)
    whole = pipeline.Pipeline([("scale", scaler), ("model", model)])
    assert (whole.predict(table[NUMBERS]) == model.predict(scaler.transform(table[NUMBERS]))).all()
    assert whole.score(table[NUMBERS], table["pay"]) > 0.8
    hot = learn.OneHotEncoder().fit(df[["ward"]])
    bayes = learn.CategoricalNB().fit(hot.transform(df[["ward"]]), df["ill"], eps=10)
    classes = pipeline.make_pipeline(hot, bayes)
    assert set(classes.predict(table[["ward"]])) <= {"no", "yes"}
    assert classes.predict_proba(table[["ward"]]).shape == (ROWS, 2)
    assert isinstance(whole.predict(df[NUMBERS]), PrivArray)  # of private rows a private column, which is free
    assert spent() == 30
