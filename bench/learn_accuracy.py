"""The accuracy of privjail.learn on UCI Adult (official split), through a jail in this process: docs/learn-accuracy.md.

    python bench/learn_accuracy.py --runs 5

Noise has no seed: runs differ. Hyperparameters are the models' defaults, chosen by cross-validation on the training
rows. Earlier versions of the models had been scored on the test rows: it is a test set that was looked at once.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy
from sklearn.metrics import roc_auc_score

import pandas

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
import adult  # noqa: E402

import privjail as pj  # noqa: E402
from privjail import learn  # noqa: E402
from privjail import pandas as pd  # noqa: E402
from privjail.session import jail  # noqa: E402

MODELS = (
    "AdditiveClassifier", "LogisticRegression", "CategoricalNB", "DecisionTreeClassifier", "RandomForestClassifier",
)  # fmt: skip
PRICES = (
    ("ε = 1, δ = 1e-5", {"eps": 1, "delta": 1e-5}),
    ("ε = 1", {"eps": 1}),
    ("ε = 0.1, δ = 1e-5", {"eps": 0.1, "delta": 1e-5}),
)


def budget(eps, delta=None):
    """A budget of just this price, in the notion that suits it: rounds need zCDP, a single release (ε, δ) alone."""
    if delta is None:
        return pj.PureDP(eps)
    return pj.ApproxDP(eps, delta) if eps < 0.3 else pj.ZCDP(float(learn.rho_for(eps, delta)) * 1.000001)


def run(name, price, files):
    train, test, schema = files
    jail.cache_clear()
    df = pd.read_csv(train, schema=schema, budget=budget(**price))
    started = time.perf_counter()
    model = getattr(learn, name)().fit(df.drop(columns=["income"]), df["income"], **price)
    took = time.perf_counter() - started
    public = pandas.read_csv(test, na_values="?")
    chance = model.predict_proba(public)[:, 1]
    return model.score(public, public["income"]), roc_auc_score(public["income"] == model.classes_[1], chance), took


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--models", nargs="*", default=MODELS)
    given = options.parse_args()
    files = adult.files()
    if files is None:
        raise SystemExit(adult.MISSING)
    print("| model | price | accuracy (s.d.) | AUC | seconds |\n| --- | --- | --- | --- | --- |")
    for name in given.models:
        for words, price in PRICES:
            found = numpy.array([run(name, price, files) for _ in range(given.runs)])
            mean, spread = found.mean(axis=0), found.std(axis=0)
            print(f"| {name} | {words} | {mean[0]:.2%} ({spread[0]:.2%}) | {mean[1]:.3f} | {mean[2]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
