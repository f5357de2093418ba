"""numpy's functions as people type them on private columns and arrays, against numpy's own on the same numbers."""

from __future__ import annotations

import pkgutil
import re

import numpy
import pandas
import pytest

import privjail as pj
import privjail.numpy
from privjail import numpy as np
from privjail import pandas as pd
from privjail.errors import DPError
from privjail.prisoner import Prisoner

E = 1000


def opened(frame: pandas.DataFrame):
    schema = {
        "a": {"type": "Int64", "range": [0, 9], "fill": 0},
        "b": {"type": "Float64", "range": [0, 1]},
        "n": {"type": "Float64", "range": [0, 1]},
        "g": {"type": "category", "categories": ["x", "y", "z"], "fill": "x"},
    }
    return pd.from_frame(frame, f"functions {numpy.random.default_rng().integers(10**12)}", schema, budget=10**6)


@pytest.fixture(scope="module")
def frame() -> pandas.DataFrame:
    dice = numpy.random.default_rng(5)
    made = pandas.DataFrame(
        {"a": dice.integers(0, 10, 600), "b": dice.random(600).round(6), "g": dice.choice(list("xyz"), 600)}
    )
    made["n"] = made["b"].where(dice.random(600) < 0.8)
    return made[["a", "b", "n", "g"]]


@pytest.fixture(scope="module")
def df(frame):
    return opened(frame)


#: lines as they are typed; numpy's own answer is that of the same line without prices
LINES = """
np.array(df["a"]).mean(eps=E)
np.array(df[["a", "b"]]).sum(axis=0).reveal(eps=E)
np.array(df["a"], dtype=float).mean(eps=E)
X @ np.array([1.0, 2.0])
X - np.array([1, 0.5])
X * np.array([[1, 2]])
np.c_[X, y]
np.stack([df["a"], df["b"]], axis=1)
np.stack([X, X], axis=1).sum(axis=1)
np.append(X, y[:, None], axis=1)
np.transpose(X)[0]
X.T[1]
X.T[:1][0]
[column for column in X.T][1]
np.squeeze(y[:, None])
y[:, None].squeeze(1)
X.copy()
X.round(1)
X.clip(max=0.5)
np.ones_like(df["a"])
np.zeros_like(X)
np.full_like(df["b"], 0.25)
X.sum(axis=1, keepdims=True)
X.mean(axis=1, keepdims=True)
X / np.linalg.norm(X + 1, axis=1, keepdims=True)
X.max(axis=1)
np.min(X, axis=1)
X.max(axis=1, keepdims=True)
(X > 0.5).any(axis=1)
np.all(X > 0.5, axis=1)
X[X[:, 0] > 4, 1]
np.trunc(X - 5)
np.fix(X - 5)
np.hypot(X[:, 0], X[:, 1])
np.digitize(df["a"], [3, 6])
np.digitize(df["a"], [3, 6], right=True)
np.searchsorted([3, 6], df["a"])
np.searchsorted([3, 6], df["a"], side="right")
np.interp(df["a"], [2, 5, 7], [0, 1, -3])
np.interp(df["a"], [2], [4])
np.isin(df["a"], [3, 6])
np.isin(df["g"], ["x"], invert=True)
np.polyval([1, -2, 3], df["b"])
((X[:, 1] > 0.5) == y)
np.identity(2)[y].sum(axis=0).reveal(eps=E)
np.eye(3)[df["g"].astype("category").cat.codes].sum(axis=0).reveal(eps=E)
np.bincount(df["g"].astype("category").cat.codes).reveal(eps=E)
np.count_nonzero(df["a"]).reveal(eps=E)
np.count_nonzero(df["a"] > 4, eps=E)
np.count_nonzero(X, axis=0, eps=E)
np.sum(X, axis=0, eps=E)
np.dot(df["a"], df["b"]).reveal(eps=E)
np.inner(df["a"], df["b"], eps=E)
df["a"].dot(df["b"]).reveal(eps=E)
(df["a"] @ df["b"]).reveal(eps=E)
np.matmul(X.T, X).reveal(eps=E)
np.histogram(df["a"], bins=5, range=(0, 10), eps=E)[0]
np.histogram(df["a"], bins=5, range=(0, 10), density=True, eps=E)[0]
np.histogram2d(df["a"], df["b"], bins=[[0, 5, 10], [0, 0.5, 1]])[0].reveal(eps=E)
np.histogram2d(df["a"], df["b"], bins=2, range=[[0, 10], [0, 1]], eps=E)[0]
np.histogram2d(df["a"], df["b"], bins=2, range=[[0, 10], [0, 1]], density=True, eps=E)[0]
np.std(df["a"], ddof=1, eps=E)
np.nanmean(df["n"], eps=E)
np.nanstd(df["n"], eps=E)
np.nanmedian(df["n"], eps=E)
np.nanpercentile(df["n"], 50, eps=E)
np.nanmax(df["n"], eps=E)
np.max(df["a"], eps=E)
np.min(X, axis=0, eps=E)
X.max(axis=0, eps=E)
np.median(X, axis=0, eps=E)
np.percentile(X, [25, 75], axis=0, eps=E)
np.quantile(X, 0.5, axis=0, eps=E)
np.cov(df["a"], df["b"], eps=E)
np.cov(X, rowvar=False, eps=E)
np.cov(X.T, eps=E)
np.corrcoef(df["a"], df["b"], eps=E)
np.corrcoef(X.T, eps=E)
np.corrcoef(X, rowvar=False, eps=E)
np.average(df["a"], eps=E)
np.average(df["a"], weights=df["b"], eps=E)
np.average(X, axis=0, weights=df["a"], eps=E)
""".strip().splitlines()


def names(table):
    return {"df": table, "X": table[["a", "b"]].to_numpy(), "y": (table["a"] > 4).astype(int).to_numpy(), "E": E}


@pytest.mark.parametrize("line", LINES)
def test_a_line_means_what_it_means_to_numpy(line, df, frame):
    found = eval(line, {**names(df), "np": np})  # noqa: S307
    plain = re.sub(r"\.reveal\(eps=E\)|,? ?eps=E", "", line)
    expected = eval(plain, {**names(frame), "np": numpy})  # noqa: S307
    if isinstance(found, Prisoner):
        assert found.ndim == numpy.ndim(expected)
        found, expected = found.sum(axis=0).reveal(eps=E), expected.sum(axis=0)
    numpy.testing.assert_allclose(numpy.asarray(found, float), numpy.asarray(expected, float), atol=0.5, rtol=0.02)


@pytest.mark.parametrize("line", LINES)
def test_of_public_numbers_it_is_numpys_own_and_eps_is_free(line, frame):
    plain = re.sub(r"\.reveal\(eps=E\)|,? ?eps=E", "", line)
    with_price = (
        line if line.startswith("np.") and ".reveal(" not in line and not line.endswith(").mean(eps=E)") else plain
    )
    answers = [eval(text, {**names(frame), "np": m}) for text, m in ((with_price, np), (plain, numpy))]  # noqa: S307
    numpy.testing.assert_array_equal(*[numpy.asarray(x, float) for x in answers])


def test_no_file_of_ours_hides_a_name_of_numpy():
    """`np.array` was the file array.py: np.array([1, 2]) said that a module is not callable."""
    for module in pkgutil.iter_modules(privjail.numpy.__path__):
        assert not hasattr(numpy, module.name), module.name


REFUSED = """
np.array([df["a"], df["b"]])
np.ones(X.shape[0])
np.zeros((X.shape[0], 2))
np.ptp(df["a"])
np.cov(X, rowvar=True, eps=1)
np.corrcoef(df["a"], df["b"])
np.average(df["a"], weights=df["b"])
np.average([1, 2], weights=df["b"], eps=1)
np.median(X)
np.any(df["a"] > 8)
np.unique(df["g"])
np.linalg.lstsq(X, y)
np.polyfit(df["a"], df["b"], 1)
np.outer(df["a"], df["b"])
np.array_split(X, 5)
np.sin(X)
np.cumsum(df["a"])
np.digitize(df["a"], [6, 3])
np.interp(df["a"], [3, 2], [0, 1])
np.sort(X)
np.vstack([X, X])
np.mean(df["a"])
X.mean(eps=1)
X.any()
X.T.mean()
X.T["a"]
X.sum(axis=0, keepdims=True)
X.round(-1)
np.histogram(df["a"], density=True)
""".strip().splitlines()


@pytest.mark.parametrize("line", REFUSED)
def test_what_has_no_answer_says_what_to_type(line, df):
    with pytest.raises(DPError) as caught:
        eval(line, {**names(df), "np": np})  # noqa: S307
    assert "do:" in str(caught.value), caught.value


def test_one_price_is_what_several_columns_cost_together(df):
    for ask in (
        lambda: np.max(df[["a", "b"]], axis=0, eps=0.5),
        lambda: np.median(df[["a", "b"]], axis=0, eps=0.5),
        lambda: np.average(df[["a", "b"]], axis=0, weights=df["a"], eps=0.5),
        lambda: np.corrcoef(df[["a", "b"]], eps=0.5),
    ):
        with pj.rehearsal() as bill:
            ask()
        assert sum(bill.total.values()) == pytest.approx(0.5)


@pytest.mark.parametrize("line", ["np.sum(X, axis=0, dtype=float)", "np.mean(X, axis=0, where=True, eps=1)", "np.any(X)",
                                  "np.histogram(df['a'], normed=True, eps=1)", "np.cov(X, aweights=[1], eps=1)",
                                  "numpy.argmax(X, axis=1, keepdims=True)"])  # fmt: skip
def test_an_argument_that_private_rows_lack_is_told_in_our_words(line, df):
    with pytest.raises(DPError, match="do:"):
        eval(line, {**names(df), "np": np, "numpy": numpy})  # noqa: S307
