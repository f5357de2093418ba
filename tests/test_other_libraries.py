"""scikit-learn's and scipy's own functions, given private values: refused in our words, with what runs instead."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("scipy")

import scipy.stats
from sklearn import linear_model, metrics, model_selection, preprocessing

from privjail import pandas as pd
from privjail.errors import PrisonerError, RefusedError

CODE = re.compile(r"`([^`]+)`")
SCHEMA = {
    "a": {"type": "Float64", "range": [0.0, 1.0]},
    "b": {"type": "Float64", "range": [0.0, 1.0]},
    "g": {"type": "category", "categories": ["x", "y"]},
    "h": {"type": "category", "categories": ["x", "z"]},
    "y": {"type": "Int64", "range": [0, 1]},
}


@pytest.fixture(scope="module")
def names():
    rng = np.random.default_rng(3)
    n = 2000
    frame = pandas.DataFrame(
        {
            "a": rng.random(n),
            "b": rng.random(n),
            "g": rng.choice(["x", "y"], n),
            "h": rng.choice(["x", "z"], n),
            "y": rng.integers(0, 2, n),
        }
    )
    df = pd.from_frame(frame, "other libraries", SCHEMA, budget=10**6)
    modules = {
        "linear_model": linear_model, "metrics": metrics, "model_selection": model_selection,
        "preprocessing": preprocessing, "scipy": scipy,
    }  # fmt: skip
    return {"df": df, "X": df[["a", "b"]], "y": df["y"], "z": df["b"], **modules}


TYPED = [
    ("model_selection.train_test_split(df)", "train_test_split"),
    ("model_selection.train_test_split(X, y, test_size=0.2)", "train_test_split"),
    ("model_selection.train_test_split(X.to_numpy())", "train_test_split"),
    ("model_selection.cross_val_score(linear_model.LogisticRegression(), X, y)", "cross_val_score"),
    ("model_selection.GridSearchCV(linear_model.LogisticRegression(), {'C': [1, 2]}).fit(X, y)", "GridSearchCV"),
    ("list(model_selection.KFold(5).split(X))", "KFold"),
    ("linear_model.LogisticRegression().fit(X, y)", "LogisticRegression"),
    ("linear_model.Ridge().fit(X, z)", "Ridge"),
    ("preprocessing.StandardScaler().fit_transform(X)", "StandardScaler"),
    ("metrics.accuracy_score(y, y)", "accuracy_score"),
    ("scipy.stats.zscore(df['a'])", "zscore"),
    ("scipy.stats.pearsonr(df['a'], df['b'])", "pearsonr"),
    ("scipy.stats.ttest_ind(df['a'], df['b'])", ""),
    ("scipy.stats.zscore(df['a'].to_numpy())", "zscore"),
]


@pytest.mark.parametrize("typed, asked", TYPED, ids=[line for line, _ in TYPED])
def test_their_functions_are_refused_in_our_words(typed, asked, names):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RefusedError, match=f"own {asked}.*cannot take a private value") as caught:
            eval(typed, names)  # noqa: S307
    advice = CODE.findall(caught.value.do or "")
    assert advice, caught.value.do
    here = dict(names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec("from privjail import learn", here)  # noqa: S102
        exec("model = learn.LogisticRegression().fit(X, y, eps=1)", here)  # noqa: S102
        if asked == "Ridge":
            here["y"] = here["z"]
        for code in advice:
            exec(code, here)  # noqa: S102


def test_everybody_else_gets_the_type_error_of_python(names):
    with pytest.raises(TypeError):
        len(names["df"])
    with pytest.raises(PrisonerError, match="conversion to a numpy array"):
        np.asarray(names["df"])
    assert list(names["X"]) == ["a", "b"]
