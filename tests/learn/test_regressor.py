"""The additive regressor, encoders from public domains, and scores on held-out private rows."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy
import pandas
import pytest

import privjail as pj
from privjail import learn
from privjail import pandas as pd
from privjail.errors import DPError, PlanError
from privjail.prisoner import Prisoner
from privjail.session import jail

SCHEMA = {
    "age": {"type": "Int64", "range": [20, 80]},
    "ward": {"type": "category", "categories": ["a", "b", "c"]},
    "member": {"type": "boolean"},
    "cost": {"type": "Float64", "range": [0, 200]},
    "ill": {"type": "category", "categories": ["no", "yes"]},
}
COLUMNS = ["age", "ward", "member"]


def people(n, seed):
    rng = numpy.random.default_rng(seed)
    age, ward, member = rng.integers(20, 81, n), rng.integers(0, 3, n), rng.random(n) < 0.5
    cost = 60 + 40 * numpy.sin(age / 10) + 30 * (ward == 1) - 15 * member + rng.normal(0, 10, n)
    made = {"age": age, "ward": numpy.array(list("abc"))[ward], "member": member, "cost": numpy.clip(cost, 0, 200)}
    return pandas.DataFrame(made | {"ill": numpy.where(cost + rng.normal(0, 10, n) > 70, "yes", "no")})


TEST = people(2000, 2)


@pytest.fixture
def opened(request):
    def make(budget, rows=8000):
        jail.cache_clear()
        return pd.from_frame(people(rows, 1), request.node.name, SCHEMA, budget=budget)

    return make


@pytest.mark.parametrize(
    ("budget", "price"),
    [(pj.PureDP(2), {"eps": 2}), (pj.ZCDP(1), {"rho": 1}), (pj.ApproxDP(2, 1e-5), {"eps": 2, "delta": 1e-5})],
)
def test_a_regressor_learns_under_every_notion(opened, budget, price):
    df = opened(budget)
    model = learn.AdditiveRegressor().fit(df[COLUMNS], df["cost"], **price)

    assert model.score(TEST, TEST["cost"]) > (0.6 if "delta" not in price else 0.45)  # (ε, δ): one round
    assert (pickle.loads(pickle.dumps(model)).predict(TEST) == model.predict(TEST)).all()  # noqa: S301
    assert len(model.certificate) == len(model.bill._asks) > 0
    spent = jail().ledger.accounts()[0]
    assert not spent.notion.exceeds(spent.total())
    with pytest.raises(DPError):
        learn.AdditiveRegressor().fit(df[COLUMNS], df["cost"], **price)  # nothing is left
    assert isinstance(model.predict(df[COLUMNS]), Prisoner)


def test_more_rounds_do_better_than_one(opened):
    df = opened(pj.ZCDP(400))
    one, six = (learn.AdditiveRegressor(rounds=r).fit(df[COLUMNS], df["cost"], rho=100) for r in (1, 6))

    assert six.score(TEST, TEST["cost"]) > one.score(TEST, TEST["cost"]) + 0.02


# -- encoders


def test_encoders_cost_nothing_and_give_what_they_give_for_public_rows(opened, request):
    df = opened(pj.ZCDP(10**5), rows=500)
    table = people(500, 1)
    for encoder, columns in (
        (learn.OneHotEncoder(), ["ward", "member"]),
        (learn.OneHotEncoder(drop="first"), ["ward", "age"]),
        (learn.KBinsDiscretizer(n_bins=4), ["age", "cost"]),
        (learn.KBinsDiscretizer(n_bins=4, encode="ordinal"), ["age", "cost"]),
    ):
        fitted = encoder.fit(df[columns])
        assert pj.budget_left()[request.node.name] == 10**5 and fitted.certificate == [] and not fitted.bill
        private, public = fitted.transform(df[columns]), fitted.transform(table[columns])
        assert private.ndim == 2 and public.shape == (500, len(fitted.get_feature_names_out()))
        sums = private.sum(axis=0).reveal(rho=1000)
        assert numpy.abs(sums - public.sum(axis=0)).max() < 2
        jail.cache_clear()
        df = opened(pj.ZCDP(10**5), rows=500)


def test_a_row_of_indicators_is_short(opened):
    df = opened(pj.ZCDP(1))
    hot = learn.OneHotEncoder().fit_transform(df[["ward", "age"]])

    assert hot.row_norm(1) == 2  # one indicator of each column
    assert list(learn.OneHotEncoder().fit(df[["ward"]]).get_feature_names_out()) == [
        "ward_a",
        "ward_b",
        "ward_c",
        "ward_missing",
    ]


def test_a_linear_model_on_indicators(opened):
    df = opened(pj.ZCDP(10))
    hot = learn.OneHotEncoder().fit(df[["ward", "member"]])
    model = learn.LinearRegression().fit(hot.transform(df[["ward", "member"]]), df["cost"], rho=5)
    guess = model.predict(hot.transform(pandas.DataFrame({"ward": ["a", "b"], "member": [True, True]})))

    assert guess[1] - guess[0] == pytest.approx(30, abs=5)


def test_encoders_say_what_they_need(opened):
    df = opened(pj.ZCDP(1))
    with pytest.raises(PlanError, match="KBins"):
        learn.OneHotEncoder().fit(df[["cost"]])
    for wrong in (learn.OneHotEncoder(drop="last"), learn.KBinsDiscretizer(1), learn.KBinsDiscretizer(3, "soft")):
        with pytest.raises(PlanError):
            wrong.fit(df[["ward"]])
    with pytest.raises(PlanError, match="not fitted"):
        learn.OneHotEncoder().transform(df[["ward"]])
    with pytest.raises(PlanError, match="order"):
        learn.OneHotEncoder().fit(df[["ward", "member"]]).transform(df[["ward"]])


# -- held-out scores


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (learn.AdditiveClassifier(), "ill"),
        (learn.LogisticRegression(), "ill"),
        (learn.CategoricalNB(), "ill"),
        (learn.GaussianNB(), "ill"),
        (learn.DecisionTreeClassifier(), "ill"),
        (learn.RandomForestClassifier(), "ill"),
        (learn.AdditiveRegressor(), "cost"),
        (learn.Ridge(), "cost"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_scores_on_held_out_rows_are_those_on_new_rows(opened, model, target, request):
    """With next to no noise: the mean over rounds is near the score on public rows of the same law."""
    df, columns = opened(pj.ZCDP(4000)), ["age", "member"] if isinstance(model, learn.Ridge) else COLUMNS
    scores = learn.cross_val_score(model, df[columns], df[target], cv=3, rho=3000)
    plain = type(model)().fit(df[columns], df[target], rho=800)

    assert scores.mean() == pytest.approx(plain.score(TEST, TEST[target]), abs=0.05)
    assert scores.shape == (3,) and not hasattr(model, "bill")
    assert pj.budget_left()[request.node.name] >= 4000 - 3000 - 800 - 1e-6
    assert {line["what"] for line in scores.bill} > {"score"}


def test_a_model_that_learns_by_heart_scores_low_on_held_out_rows(opened):
    """What was fitted to is not scored: 40 rows in 300 bins each, whose class is a coin."""
    rng = numpy.random.default_rng(5)
    rows = pandas.DataFrame({"x": rng.permutation(300)[:200], "y": rng.choice(["no", "yes"], 200)})
    schema = {"x": {"type": "Int64", "range": [0, 299]}, "y": {"type": "category", "categories": ["no", "yes"]}}
    df = pd.from_frame(rows, "by heart", schema, budget=pj.ZCDP(10**6))
    model = learn.CategoricalNB(bins=300)

    assert model.fit(df[["x"]], df["y"], rho=10**5).score(rows, rows["y"]) > 0.95
    assert learn.cross_val_score(model, df[["x"]], df["y"], cv=4, rho=8 * 10**5).mean() < 0.75


def test_a_price_beyond_the_budget_is_refused_before_anything_is_paid(opened, request):
    df = opened(pj.PureDP(1))
    with pytest.raises(DPError):
        learn.cross_val_score(learn.AdditiveClassifier(), df[COLUMNS], df["ill"], eps=2)
    with pytest.raises(PlanError, match="no score"):
        learn.cross_val_score(learn.KMeans(), df[["age"]], df["ill"], eps=1)
    with pytest.raises(PlanError, match="cv"):
        learn.cross_val_score(learn.CategoricalNB(), df[COLUMNS], df["ill"], cv=0, eps=1)
    assert pj.budget_left()[request.node.name] == 1
    learn.cross_val_score(learn.CategoricalNB(), df[COLUMNS], df["ill"], cv=2, eps=1)
    assert 0 <= pj.budget_left()[request.node.name] < Fraction(1, 2)


def test_a_fit_in_a_block_has_rounds_under_an_approximate_budget(opened, request):
    df = opened(pj.ApproxDP(2, 1e-5))
    with pj.accounting("zcdp", eps=2, delta=1e-6) as block:
        rho = float(block.notion.limit[0]) * 0.999
        model = learn.AdditiveRegressor(rounds=3).fit(df[COLUMNS], df["cost"], rho=rho / 2)
        learn.AdditiveRegressor(rounds=2).fit(df[COLUMNS], df["cost"], eps=0.5, delta=1e-6)

    assert len(model.bill) > 2
    assert pj.budget_left()[request.node.name] == pytest.approx((0, 9e-6))
