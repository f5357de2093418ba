"""Additive models: accuracy on made-up data, scikit-learn's habits, and what they spend."""

from __future__ import annotations

import json
import pickle

import numpy
import pandas
import pytest

import privjail as pj
from privjail import learn
from privjail import pandas as pd
from privjail.errors import DPError
from privjail.learn.spending import rho_for
from privjail.prisoner import Prisoner
from privjail.session import jail
from privjail.verify.checker import check

COLUMNS = ["age", "pay", "ward", "member"]


def people(n: int, seed: int) -> pandas.DataFrame:
    """Made-up people: the class depends on three of four columns, one of them by a curve."""
    dice = numpy.random.default_rng(seed)
    age, pay = dice.integers(18, 90, n), (10 ** dice.uniform(0, 4.9, n)).astype(int)
    ward, member = dice.choice(list("abcd"), n), dice.choice([True, False], n)
    odds = (
        2 * numpy.cos((age - 50) / 15) + 1.5 * (pay > 1000) - 1 + numpy.select([ward == "a", ward == "b"], [2, -2], 0)
    )
    ill = dice.random(n) < 1 / (1 + numpy.exp(-odds))
    return pandas.DataFrame(
        {"age": age, "pay": pay, "ward": ward, "member": member, "ill": numpy.where(ill, "yes", "no")}
    )


SCHEMA = {
    "age": {"type": "Int64", "range": [18, 90]},
    "pay": {"type": "Int64", "range": [0, 80_000]},
    "ward": {"type": "category", "categories": ["a", "b", "c", "d"]},
    "member": {"type": "boolean"},
    "ill": {"type": "category", "categories": ["no", "yes"]},
}
TEST = people(3000, 1)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    people(6000, 0).to_csv(folder / "people.csv", index=False)
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    return str(folder / "people.csv"), str(folder / "schema.json")


def opened(files, budget):
    jail.cache_clear()
    return pd.read_csv(files[0], schema=files[1], budget=budget)


@pytest.mark.parametrize(
    "budget, price, least",
    [
        (pj.PureDP(1), {"eps": 1}, 0.74),
        (pj.ZCDP(1), {"rho": 0.5}, 0.76),
        (pj.RenyiDP(2, 1e-5), {"eps": 1, "delta": 1e-5}, 0.74),
        (pj.ApproxDP(1, 1e-5), {"eps": 1, "delta": 1e-5}, 0.72),
    ],
)
def test_the_additive_model_learns_under_every_notion_and_stays_in_budget(files, budget, price, least):
    df = opened(files, budget)
    with pj.certify() as kept:
        model = learn.AdditiveClassifier().fit(df[COLUMNS], df["ill"], **price)

    assert [check(each).verdict for each in kept.all] == ["ok"] * len(kept)
    assert model.score(TEST, TEST["ill"]) > least
    spent = jail().ledger.accounts()[0]
    assert not spent.notion.exceeds(spent.total()) and model.bill
    with pytest.raises(DPError):
        learn.AdditiveClassifier().fit(
            df[COLUMNS], df["ill"], **{k: v * (20 if k != "delta" else 1) for k, v in price.items()}
        )


def test_a_curve_is_learnt_by_the_additive_model_and_a_line_by_the_logistic_one(files):
    df = opened(files, pj.ZCDP(100))
    additive = learn.AdditiveClassifier().fit(df[COLUMNS], df["ill"], rho=5)
    logistic = learn.LogisticRegression(degree=1).fit(df[COLUMNS], df["ill"], rho=5)
    squares = learn.LogisticRegression().fit(df[COLUMNS], df["ill"], rho=5)
    best = ((additive.predict_proba(TEST)[:, 1] > 0.5) == (TEST["ill"] == "yes")).mean()

    assert best > 0.76 and 0.6 < logistic.score(TEST, TEST["ill"]) < best - 0.03
    table = logistic.coef_["age"][: logistic.bins_["age"].known]
    assert numpy.allclose(numpy.diff(table, 2), 0, atol=1e-6)
    bent = squares.coef_["age"][: squares.bins_["age"].known]
    assert numpy.abs(numpy.diff(bent, 2)).max() > 1e-3 and numpy.allclose(numpy.diff(bent, 3), 0, atol=1e-6)
    assert squares.score(TEST, TEST["ill"]) > logistic.score(TEST, TEST["ill"]) + 0.03


def test_sklearns_habits(files):
    from sklearn.base import clone

    df = opened(files, pj.ZCDP(10))
    model = clone(learn.AdditiveClassifier(rounds=2, bins=8))
    assert model.get_params() == {"rounds": 2, "bins": 8} and "rounds=2" in repr(model)
    with pytest.raises(DPError, match="not fitted"):
        model.predict(TEST)
    model.fit(df[COLUMNS], df["ill"], rho=1)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert (again.predict(TEST) == model.predict(TEST)).all()
    assert model.predict_proba(TEST).shape == (3000, 2) and set(model.classes_) == {"no", "yes"}
    assert model.set_params(rounds=3).rounds == 3
    with pytest.raises(DPError):
        model.set_params(depth=3)


def test_a_model_knows_what_it_paid_for(files):
    df = opened(files, pj.ZCDP(10))
    model = learn.AdditiveClassifier(rounds=2).fit(df[COLUMNS], df["ill"], rho=1)

    assert [line["what"] for line in model.bill] == ["rows", "counts by bin and class", "residuals, round 1"]
    assert "counts by bin and class" in repr(model.bill) and "rho" in repr(model.bill)
    asked = sum(line["values"] for line in model.bill)
    without = pickle.loads(pickle.dumps(model))  # noqa: S301
    with pytest.raises(DPError, match="before pickling"):
        _ = without.certificate
    assert [check(each).verdict for each in model.certificate] == ["ok"] * asked
    assert len(pickle.loads(pickle.dumps(model)).certificate) == asked  # noqa: S301


def test_what_cannot_be_fitted_is_refused_before_anything_is_charged(files):
    df = opened(files, pj.ZCDP(1))
    wide = df[["age"]].assign(free=1 / df["pay"])
    for fit in (
        lambda: learn.AdditiveClassifier().fit(wide, df["ill"], rho=0.5),
        lambda: learn.AdditiveClassifier(rounds=0).fit(df[COLUMNS], df["ill"], rho=0.5),
        lambda: learn.AdditiveClassifier().fit(df[COLUMNS], df["ill"], rho=2),
        lambda: learn.DecisionTreeClassifier().fit(df[COLUMNS], df["ill"], rho=2),
        lambda: learn.GaussianNB().fit(wide, df["ill"], rho=0.5),
    ):
        with pytest.raises(DPError):
            fit()
    assert next(iter(pj.consumed_privacy_budget().values())) == 0


def test_few_rows_and_many_columns_get_few_bins(tmp_path):
    """With 32 bins a column all steps would be noise: 300 rows, 15 columns that each tell a little."""
    dice = numpy.random.default_rng(8)
    kind = dice.choice([-1, 1], 900)
    values = numpy.clip(dice.normal(0.9 * kind[:, None], 1, (900, 15)), -5, 5)
    names = [f"x{i}" for i in range(15)]
    data = pandas.DataFrame(values, columns=names).assign(kind=numpy.where(kind > 0, "up", "down"))
    data[:300].to_csv(tmp_path / "few.csv", index=False)
    schema = {name: {"type": "Float64", "range": [-5, 5]} for name in names}
    schema |= {"kind": {"type": "category", "categories": ["down", "up"]}}
    jail.cache_clear()
    df = pd.read_csv(str(tmp_path / "few.csv"), schema=schema, budget=pj.ZCDP(1))
    test = data[300:]
    model = learn.AdditiveClassifier().fit(df[names], df["kind"], rho=0.1)
    assert max(bins.size for bins in model.bins_.values()) <= 9
    logistic = learn.LogisticRegression().fit(df[names], df["kind"], rho=0.1)
    assert any(line["what"] == "direction" for line in logistic.bill)
    assert model.score(test, test["kind"]) > 0.75 and logistic.score(test, test["kind"]) > 0.75
    tree = learn.DecisionTreeClassifier().fit(df[names], df["kind"], rho=0.1)
    assert any(line["what"] == "splits, level 0" for line in tree.bill)


def test_a_price_is_needed_and_what_is_predicted_of_private_rows_is_private(files):
    df = opened(files, pj.ZCDP(10))
    for price in ({}, {"delta": 1e-5}, {"eps": 1, "rho": 1}):
        with pytest.raises(DPError):
            learn.AdditiveClassifier().fit(df[COLUMNS], df["ill"], **price)
    with pytest.raises(DPError):
        learn.AdditiveClassifier().fit(df[COLUMNS], df["ward"], rho=1)
    with pytest.raises(DPError):
        learn.AdditiveClassifier().fit(df[COLUMNS], TEST["ill"], rho=1)
    with pytest.raises(DPError):
        learn.AdditiveClassifier().fit(df[df["age"] > 30][COLUMNS], df["ill"], rho=1)
    model = learn.AdditiveClassifier().fit(df[COLUMNS], df["ill"], rho=1)
    assert isinstance(model.predict(df[COLUMNS]), Prisoner)
    with pytest.raises(DPError):
        model.score(TEST, df["ill"])


def test_the_rho_of_a_price_gives_back_at_most_that_price():
    import math

    for eps, delta in ((0.1, 1e-5), (1, 1e-5), (3, 1e-9), (20, 0.01)):
        rho = float(rho_for(eps, delta))
        assert 0.999 * eps < rho + 2 * math.sqrt(rho * math.log(1 / delta)) <= eps


def test_public_and_private_rows_fall_into_the_same_bins(files):
    """A model that is applied to other bins than it was fitted on would only be inaccurate; still, it must not."""
    data = pandas.read_csv(files[0])
    df = opened(files, pj.ZCDP(10**6))
    model = learn.AdditiveClassifier().fit(df[COLUMNS], df["ill"], rho=1)
    for name, bins in model.bins_.items():
        from privjail.ops.numbers.tally import Tally
        from privjail.sensitive import number  # noqa: F401
        from privjail.pandas.vectors import SensitiveSeries

        counts = SensitiveSeries(Tally(df._rows, (bins.key(df._exprs[name]),), None)).reveal(rho=10**4)
        expected = numpy.bincount(bins.codes(data[name]), minlength=bins.size)
        assert numpy.abs(counts.to_numpy() - expected).max() < 1, name
