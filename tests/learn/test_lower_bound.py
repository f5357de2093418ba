"""The auditor looks at fitted models alone: what it can prove about ε stays below what was paid, and finds underpaying."""

from __future__ import annotations

from typing import Any

import pandas
import pytest

import privjail as pj
from privjail import learn, synth
from privjail import pandas as pd
from privjail.session import jail
from privjail.verify.checks.blackbox import lower_bound

SCHEMA = {
    "age": {"type": "Int64", "range": [0, 9]},
    "ward": {"type": "category", "categories": ["a", "b"]},
    "ill": {"type": "category", "categories": ["no", "yes"]},
}
FEW = pandas.DataFrame({"age": [1, 2, 8], "ward": ["a", "b", "a"], "ill": ["no", "no", "yes"]})
ONE_MORE = pandas.concat([FEW, pandas.DataFrame({"age": [9], "ward": ["b"], "ill": ["yes"]})])
PROBE = ONE_MORE[-1:]
SEEN = {  # what an attacker would look at: numbers in which the row that is added shows most
    "bayes": lambda df, eps: learn.CategoricalNB(bins=2).fit(df[["age"]], df["ill"], eps=eps).class_count_[1],
    "gaussian": lambda df, eps: learn.GaussianNB().fit(df[["age"]], df["ill"], eps=eps).class_count_[1],
    "additive": lambda df, eps: (
        4 * learn.AdditiveClassifier(rounds=1, bins=2).fit(df[["age"]], df["ill"], eps=eps).decision_function(PROBE)[0]
    ),
    "logistic": lambda df, eps: (
        4 * learn.LogisticRegression(rounds=1, bins=2).fit(df[["age"]], df["ill"], eps=eps).decision_function(PROBE)[0]
    ),
    "regressor": lambda df, eps: (
        4 * learn.AdditiveRegressor(rounds=1, bins=2).fit(df[["ward"]], df["age"], eps=eps).predict(PROBE)[0]
    ),
    "tree": lambda df, eps: (
        9 * learn.DecisionTreeClassifier(1, 2).fit(df[["age"]], df["ill"], eps=eps).predict_proba(PROBE)[0][1]
    ),
    "forest": lambda df, eps: (
        9 * learn.RandomForestClassifier(1, 1, 2).fit(df[["age"]], df["ill"], eps=eps).predict_proba(PROBE)[0][1]
    ),
    "scaler": lambda df, eps: learn.StandardScaler().fit(df[["age"]], eps=eps).mean_[0],
    "components": lambda df, eps: 4 * learn.PCA(1).fit(df[["age"]], eps=eps).explained_variance_[0],
    "ridge": lambda df, eps: 4 * learn.Ridge().fit(df[["ward_b"]], df["age"], eps=eps).intercept_,
    "clusters": lambda df, eps: learn.KMeans(2, 1).fit(df[["age"]], eps=eps).cluster_centers_.max(),
    "validation": lambda df, eps: (
        9 * learn.cross_val_score(learn.CategoricalNB(bins=2), df[["age"]], df["ill"], cv=1, eps=eps)[0]
    ),
    "synthetic": lambda df, eps: synth.Synthesizer(bins=2).fit(df[["ward", "ill"]], eps=eps).n_rows_,
}
SAMPLES = 300


@pytest.fixture
def frames(tmp_path) -> dict[str, Any]:
    jail.cache_clear()
    found = {}
    for name, table in {"few": FEW, "one more": ONE_MORE}.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
        df = pd.read_csv(str(tmp_path / f"{name}.csv"), schema=SCHEMA, budget=pj.PureDP(10**6))
        found[name] = df.assign(ward_b=(df["ward"] == "b").astype("Int64"))
    return found


LONG = ("logistic", "forest", "components", "clusters", "validation")  # seconds each


@pytest.mark.parametrize("model", [pytest.param(x, marks=[pytest.mark.slow] * (x in LONG)) for x in SEEN])
def test_no_more_than_the_price_can_be_proved_about_a_model(model, frames):
    found = lower_bound(lambda name: round(SEEN[model](frames[name], 1)), "few", "one more", samples=SAMPLES)

    assert found.epsilon <= 1


@pytest.mark.parametrize("model", ["bayes", "synthetic"])
def test_a_model_with_too_little_noise_is_found_out(model, frames):
    """The same look at a fit that costs 30: the auditor could see it, were it sold for 1."""
    found = lower_bound(lambda name: round(SEEN[model](frames[name], 30)), "few", "one more", samples=SAMPLES)

    assert found.epsilon > 1
