"""Every fit, replayed on neighbours with frozen noise: nothing that leaves the jail differs, nothing moves too far."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from privjail.verify.audit.auditor import Auditor, audit, auditor

SCHEMA = """{
    "age": {"type": "Int64", "range": [18, 90]}, "pay": {"type": "Float64", "range": [0, 5000]},
    "ward": {"type": "category", "categories": ["a", "b", "c"]}, "member": {"type": "boolean"},
    "ill": {"type": "category", "categories": ["no", "yes"]},
}"""
HEAD = f"""import privjail as pj
from privjail import learn, numpy as np, pandas as pd, stats, synth

df = pd.read_csv("people.csv", schema={SCHEMA}, budget=BUDGET)
X, y = df[["age", "pay", "ward", "member"]], df["ill"]
Z = df[["age", "pay"]]
"""
FOUR = "Z.assign(half=df['age'] / 2, more=df['pay'] + df['age'])"
FITS = {
    "additive": "learn.AdditiveClassifier(rounds=3).fit(X, y, PRICE)",
    "logistic": "learn.LogisticRegression(rounds=2).fit(X, y, PRICE)",
    "direction": "learn.LogisticRegression().fit(X, y, PRICE)",
    "direction for rho": "learn.LogisticRegression().fit(X, y, PRICE)",
    "gaussian": "learn.GaussianNB().fit(X, y, PRICE)",
    "synthetic": "synth.Synthesizer(bins=4).fit(X, PRICE)",
    "bayes": "learn.CategoricalNB().fit(X, y, PRICE)",
    "tree": "learn.DecisionTreeClassifier(max_depth=2).fit(X, y, PRICE)",
    "tree by choices": "learn.DecisionTreeClassifier(max_depth=3).fit(X, y, PRICE)",
    "tree by choices for rho": "learn.DecisionTreeClassifier(max_depth=3).fit(X, y, PRICE)",
    "tree of eps and delta": "learn.DecisionTreeClassifier(max_depth=3).fit(X, y, PRICE)",
    "forest": "learn.RandomForestClassifier(n_estimators=2, max_depth=3).fit(X, y, PRICE)",
    "ridge": "learn.Ridge().fit(Z, df['pay'], PRICE)",
    "pca": "learn.PCA(n_components=1).fit(Z, PRICE)",
    "scaler": "learn.StandardScaler().fit(Z, PRICE)",
    "lengths": f"learn.StandardScaler().fit({FOUR}, PRICE)",
    "lengths for rho": f"learn.StandardScaler().fit({FOUR}, PRICE)",
    "clusters": "learn.KMeans(n_clusters=2, max_iter=2).fit(Z, PRICE)",
    "regressor": "learn.AdditiveRegressor(rounds=2).fit(df[['age', 'ward']], df['pay'], PRICE)",
    "linear": "learn.LinearRegression().fit(Z, df['pay'], PRICE)",
    "one hot": "learn.Ridge().fit(learn.OneHotEncoder().fit_transform(df[['ward', 'member']]), df['pay'], PRICE)",
    "bins": "learn.Ridge().fit(learn.KBinsDiscretizer(n_bins=3).fit_transform(Z), df['pay'], PRICE)",
    "validation": "learn.cross_val_score(learn.AdditiveClassifier(rounds=2), X, y, cv=2, PRICE)",
    "validation of a number": "learn.cross_val_score(learn.Ridge(), Z, df['pay'], cv=1, PRICE)",
    "least squares": "stats.linear_regression(df, 'pay', on=['age', 'ward'], PRICE)",
    "logistic table": "stats.logistic_regression(df, 'ill', on=['age', 'member'], PRICE)",
    "arrays": "(pj.clip_norm(Z.to_numpy(), 50).T @ np.eye(3)[df['ward']]).reveal(PRICE)",
}
PRICES = {
    "pure": ("pj.PureDP(1)", "eps=1"),
    "zcdp": ("pj.ZCDP(1)", "rho=1"),
    "approx": ("pj.ApproxDP(1, 1e-5)", "eps=1, delta=1e-5"),
}
PURE = ("bayes", "forest", "tree", "tree by choices", "direction", "lengths")
PAID = dict.fromkeys(PURE, "pure") | {"tree of eps and delta": "approx"}
# of few rows, too, splits are chosen
SPLIT_ALWAYS = "from privjail.learn import trees\ntrees.SEEN, trees.FEW = 0, 10**9\n"


@pytest.fixture(scope="module")
def at() -> Any:
    with auditor() as made:
        yield made


@pytest.mark.parametrize("fit", list(FITS))
def test_no_fit_shows_more_than_its_releases(fit: str, at: Auditor, tmp_path: Path) -> None:
    """V-11, V-15, V-24, V-26, V-47, V-48."""
    budget, price = PRICES[PAID.get(fit, "zcdp")]
    program = tmp_path / "fit.py"
    head = HEAD.replace("BUDGET", budget) + SPLIT_ALWAYS * ("choices" in fit)
    program.write_text(head + FITS[fit].replace("PRICE", price) + "\nprint('fitted')\n")

    report = audit(program, neighbours=3, within=at)

    assert report.clean, report.leaks
    assert report.releases and report.checked == report.releases
