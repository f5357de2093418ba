"""The auditor looks at fitted models alone: what it can prove about ε stays below what was paid, and finds underpaying."""

from __future__ import annotations

from typing import Any

import pandas
import pytest

import privjail as pj
from privjail import learn, synth
from privjail import pandas as pd
from privjail.learn import trees
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
# The best first split of a tree: by age without the last row, by ward with it. Forty rows on the other side of both
# splits make the share of each class known.
BY_AGE = pandas.DataFrame(
    {"age": [1] * 3 + [8] * 42, "ward": list("bbbaa" + "b" * 40), "ill": ["no"] * 3 + ["yes"] * 2 + ["no", "yes"] * 20}
)
BY_WARD = pandas.concat([BY_AGE, pandas.DataFrame({"age": [1], "ward": ["a"], "ill": ["yes"]})])
NAMES = ["age", "b", "c", "d"]
FAR = pandas.DataFrame([[9] * 4], columns=NAMES)


def wide(df: Any) -> Any:
    """Four columns, so that a scaler looks at the length of rows."""
    return df[["age"]].assign(b=df["age"], c=df["age"], d=df["age"])


SEEN = {  # what an attacker would look at: numbers in which the row that is added shows most
    "bayes": lambda df, eps: learn.CategoricalNB(bins=2).fit(df[["age"]], df["ill"], eps=eps).class_count_[1],
    "gaussian": lambda df, eps: learn.GaussianNB().fit(df[["age"]], df["ill"], eps=eps).class_count_[1],
    "additive": lambda df, eps: (
        4 * learn.AdditiveClassifier(rounds=1, bins=2).fit(df[["age"]], df["ill"], eps=eps).decision_function(PROBE)[0]
    ),
    "logistic": lambda df, eps: (
        4 * learn.LogisticRegression(rounds=1, bins=2).fit(df[["age"]], df["ill"], eps=eps).decision_function(PROBE)[0]
    ),
    "direction": lambda df, eps: (
        4 * learn.LogisticRegression().fit(wide(df), df["ill"], eps=eps).decision_function(FAR)[0]
    ),
    "lengths": lambda df, eps: learn.StandardScaler().fit(wide(df), eps=eps).mean_[0],
    "regressor": lambda df, eps: (
        4 * learn.AdditiveRegressor(rounds=1, bins=2).fit(df[["ward"]], df["age"], eps=eps).predict(PROBE)[0]
    ),
    "tree": lambda df, eps: (
        9 * learn.DecisionTreeClassifier(1, 2).fit(df[["age"]], df["ill"], eps=eps).predict_proba(PROBE)[0][1]
    ),
    "tree by choices": lambda df, eps: chosen_tree(df, eps),
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


def chosen_tree(df: Any, eps: int) -> float:
    """Which column the root of a tree is split by, chosen by noisy max; 0 if it is not split."""
    model = learn.DecisionTreeClassifier(2, 2).fit(df[["age", "ward"]], df["ill"], eps=eps)
    assert not model.tree_.splits or any(line["what"].startswith("splits") for line in model.bill)
    return ["", "age", "ward"].index(model.tree_.splits[0].name if model.tree_.splits else "")


@pytest.fixture(autouse=True)
def splits_however_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule for how many rows a split needs is about accuracy: without it, four rows are split by choices, too."""
    monkeypatch.setattr(trees, "SEEN", 0)
    monkeypatch.setattr(trees, "FEW", 10**9)


TABLES = {"few": FEW, "one more": ONE_MORE, "by age": BY_AGE, "by ward": BY_WARD}


def pair(model: str) -> tuple[str, str]:
    return ("by age", "by ward") if model == "tree by choices" else ("few", "one more")


@pytest.fixture
def frames(tmp_path) -> dict[str, Any]:
    jail.cache_clear()
    found = {}
    for name, table in TABLES.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
        df = pd.read_csv(str(tmp_path / f"{name}.csv"), schema=SCHEMA, budget=pj.PureDP(10**6))
        found[name] = df.assign(ward_b=(df["ward"] == "b").astype("Int64"))
    return found


LONG = (
    "logistic",
    "forest",
    "components",
    "clusters",
    "validation",
    "tree by choices",
    "direction",
    "lengths",
)  # seconds each


@pytest.mark.parametrize("model", [pytest.param(x, marks=[pytest.mark.slow] * (x in LONG)) for x in SEEN])
def test_no_more_than_the_price_can_be_proved_about_a_model(model, frames):
    found = lower_bound(lambda name: round(SEEN[model](frames[name], 1)), *pair(model), samples=SAMPLES)

    assert found.epsilon <= 1


@pytest.mark.parametrize("model", ["bayes", "synthetic", pytest.param("tree by choices", marks=pytest.mark.slow)])
def test_a_model_with_too_little_noise_is_found_out(model, frames):
    """The same look at a fit that costs 30: the auditor could see it, were it sold for 1."""
    found = lower_bound(lambda name: round(SEEN[model](frames[name], 30)), *pair(model), samples=SAMPLES)

    assert found.epsilon > 1
