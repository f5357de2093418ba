"""Models and tests as people type them who know scikit-learn, scipy and statsmodels."""

from __future__ import annotations

import numpy
import pandas
import pytest

import privjail as pj
from privjail import learn, stats, synth
from privjail import pandas as pd
from privjail.errors import DPError, PlanError, UnknownName
from privjail.learn.base import Estimator

N = 2000


@pytest.fixture(scope="module")
def plain() -> pandas.DataFrame:
    dice = numpy.random.default_rng(3)
    age = dice.integers(20, 80, N)
    ward = dice.choice(["er", "or"], N)
    cost = age * 2.0 + numpy.where(ward == "or", 50, 0) + dice.normal(0, 5, N)
    sick = numpy.where(age + dice.normal(0, 8, N) > 50, "yes", "no")
    return pandas.DataFrame({"age": age, "ward": ward, "cost": cost.clip(0, 300), "sick": sick})


@pytest.fixture(scope="module")
def df(plain):
    schema = {
        "age": {"type": "Int64", "range": [20, 80], "fill": 20},
        "ward": {"type": "category", "categories": ["er", "or"], "fill": "er"},
        "cost": {"type": "Float64", "range": [0, 300], "fill": 0},
        "sick": {"type": "category", "categories": ["no", "yes"], "fill": "no"},
    }
    return pd.from_frame(plain, "as typed", schema, budget=10**6)


MODELS = [
    learn.AdditiveClassifier(), learn.LogisticRegression(), learn.CategoricalNB(), learn.GaussianNB(),
    learn.DecisionTreeClassifier(max_depth=2), learn.RandomForestClassifier(n_estimators=3),
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_private_rows_get_predictions_that_are_those_of_public_rows(model, df, plain):
    features = ["age", "ward"]
    model.fit(df[features], df["sick"], eps=50)
    expected = model.predict(plain[features])
    assert model.predict(df[features]).ndim == 1
    table = df.assign(guess=model.predict(df[features]))
    counts = table["guess"].value_counts(eps=100)
    for label in ("no", "yes"):
        assert counts.get(label, 0.0) == pytest.approx((expected == label).sum(), abs=5)
    score = model.score(df[features], df["sick"], eps=100)
    assert score == pytest.approx((expected == plain["sick"]).mean(), abs=0.01)
    assert score == pytest.approx(model.score(plain[features], plain["sick"]), abs=0.01)
    assert model.predict_log_proba(plain[features]).shape == (N, 2)


@pytest.mark.parametrize("model", [learn.LinearRegression(), learn.AdditiveRegressor()], ids=lambda m: type(m).__name__)
def test_numbers_are_predicted_for_private_rows_and_scored(model, df, plain):
    model.fit(df[["age"]], df["cost"], eps=100)
    found = df.assign(miss=df["cost"] - model.predict(df[["age"]]))["miss"].clip(-300, 300).mean(eps=1000)
    assert found == pytest.approx((plain["cost"] - model.predict(plain[["age"]])).mean(), abs=1)
    assert model.score(df[["age"]], df["cost"], eps=1000) == pytest.approx(
        model.score(plain[["age"]], plain["cost"]), abs=0.05
    )


def test_the_price_of_a_score_is_the_one_that_is_named(df):
    model = learn.GaussianNB().fit(df[["age"]], df["sick"], eps=1)
    with pj.rehearsal() as bill:
        model.score(df[["age"]], df["sick"], eps=0.25)
    assert sum(bill.total.values()) == pytest.approx(0.25)


def test_clusters_of_private_rows_can_be_grouped_by(df, plain):
    model = learn.KMeans(n_clusters=2).fit(df[["age", "cost"]], eps=50)
    table = df.assign(cluster=model.predict(df[["age", "cost"]]))
    sizes = table.groupby("cluster").size().reveal(eps=100)
    expected = numpy.bincount(model.predict(plain[["age", "cost"]]), minlength=2)
    assert sizes.tolist() == pytest.approx(expected, abs=5)


def test_a_step_without_parameters_prints_and_can_be_cloned():
    """object.__init__ seems to take args and kwargs: repr, get_params and clone looked for them."""
    scaler = learn.StandardScaler()
    assert repr(scaler) == "StandardScaler()" and scaler.get_params() == {}
    sklearn_base = pytest.importorskip("sklearn.base")
    pipeline = pytest.importorskip("sklearn.pipeline").make_pipeline(scaler, learn.GaussianNB())
    assert isinstance(sklearn_base.clone(scaler), learn.StandardScaler)
    assert "StandardScaler" in repr(pipeline) and "standardscaler" in pipeline.get_params()
    with pytest.raises(PlanError, match="with_mean.*\n.*leave it out"):
        learn.StandardScaler(with_mean=False)


def test_scaled_columns_and_components_go_back(df, plain):
    scaler = learn.StandardScaler().fit(df[["age", "cost"]], eps=100)
    back = scaler.inverse_transform(scaler.transform(plain[["age", "cost"]]))
    numpy.testing.assert_allclose(back, plain[["age", "cost"]])
    numpy.testing.assert_allclose(scaler.var_, plain[["age", "cost"]].var(), rtol=0.05)
    pca = learn.PCA(n_components=2).fit(df[["age", "cost"]], eps=100)
    numpy.testing.assert_allclose(pca.inverse_transform(pca.transform(plain[["age", "cost"]])), plain[["age", "cost"]])
    assert pca.explained_variance_ratio_.sum() == pytest.approx(1, abs=0.01)
    assert [list(x) for x in learn.OneHotEncoder().fit(df[["ward", "sick"]]).categories_] == [
        ["er", "or"],
        ["no", "yes"],
    ]


LACKED = {
    "not fitted": lambda df: learn.KMeans().cluster_centers_, "bill": lambda df: learn.KMeans().bill,
    "labels_": lambda df: learn.KMeans(2).fit(df[["age"]], eps=1).labels_,
    "misspelt": lambda df: learn.KMeans().predit(df), "partial_fit": lambda df: learn.GaussianNB().partial_fit(df, df),
    "model": lambda df: learn.SVC(), "split": lambda df: learn.train_test_split(df), "eps": lambda df: learn.PCA(eps=1),
    "scoring": lambda df: learn.cross_val_score(learn.GaussianNB(), df[["age"]], df["sick"], scoring="f1", eps=1),
    "private score without price": lambda df: learn.GaussianNB().fit(df[["age"]], df["sick"], eps=1).score(
        df[["age"]], df["sick"]),
    "columns": lambda df: learn.GaussianNB().fit(df[["age"]], df["sick"], eps=1).predict(df[["cost"]]),
    "fit_sample": lambda df: synth.Synthesizer().fit_sample(df), "ttest_ind": lambda df: stats.ttest_ind(df, df),
    "columns of a test": lambda df: stats.ttest(df["age"], df["cost"], eps=1),
    "no price of a test": lambda df: stats.ttest(df, "age", by="sick"), "misspelt test": lambda df: stats.ttst(df),
    "table of a test": lambda df: stats.chi2_test(pd.crosstab(df["sick"], df["ward"]), eps=1),
    "two results": lambda df: tuple(stats.ttest(df, "age", by="sick", eps=1)),
    "statistic": lambda df: stats.ttest(df, "age", by="sick", eps=1).statistic,
    "nothing to explain": lambda df: stats.linear_regression(df, "cost", eps=1),
}  # fmt: skip


@pytest.mark.parametrize("name", LACKED)
def test_what_is_lacking_says_what_to_type(name, df):
    with pytest.raises(DPError, match="do:"):
        LACKED[name](df)


def test_what_is_lacking_is_no_attribute():
    for model in (learn.KMeans(), learn.GaussianNB()):
        assert not hasattr(model, "labels_") and not hasattr(model, "decision_function") and not hasattr(model, "_x")
    assert not hasattr(learn, "SVC") and not hasattr(stats, "ttest_ind")
    with pytest.raises(UnknownName, match="did you mean KMeans"):
        learn.Kmeans  # noqa: B018
    assert issubclass(learn.KMeans, Estimator)


def test_regressions_are_named_as_people_name_them(df):
    for call in (
        lambda: stats.linear_regression(df, "cost", ["age", "ward"], eps=50),
        lambda: stats.linear_regression(df, "cost ~ age + ward", eps=50),
    ):
        found = call().summary()
        assert list(found.params.index) == ["(intercept)", "age", "ward=or"]
        assert found.params["age"] == pytest.approx(2, abs=0.2) and found.pvalues["age"] < 0.05
        assert found.conf_int().shape == (3, 2)
    assert list(stats.logistic_regression(df, "sick", on="age", eps=50).params.index) == ["(intercept)", "age"]


def test_a_synthetic_sample_takes_random_state(df):
    made = synth.Synthesizer(bins=4).fit(df[["age", "sick"]], eps=10)
    pandas.testing.assert_frame_equal(made.sample(20, random_state=3), made.sample(20, seed=3))
