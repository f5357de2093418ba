"""Private arrays: what numpy's functions build, compared with numpy's own on the same numbers."""

from __future__ import annotations

import json
import re

import numpy
import pandas
import pytest

import privjail as pj
from privjail import numpy as np
from privjail import pandas as pd
from privjail.errors import DPError, PlanError, PrisonerError, RowsError
from privjail.verify.checker import check

RHO = 10**6  # so much that the noise is far below what the tests look at


@pytest.fixture(scope="module")
def data() -> pandas.DataFrame:
    dice = numpy.random.default_rng(5)
    return pandas.DataFrame(
        {"a": dice.integers(0, 10, 400), "b": dice.random(400).round(6), "c": dice.choice(list("xyz"), 400)}
    )


@pytest.fixture(scope="module")
def df(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("arrays")
    data.to_csv(folder / "t.csv", index=False)
    schema = {
        "a": {"type": "Int64", "range": [0, 9], "nullable": False},
        "b": {"type": "Float64", "range": [0, 1]},
        "c": {"type": "category", "categories": ["x", "y", "z"]},
    }
    (folder / "s.json").write_text(
        json.dumps({k: {n: v for n, v in s.items() if n != "nullable"} for k, s in schema.items()})
    )
    return pd.read_csv(str(folder / "t.csv"), schema=str(folder / "s.json"), budget=pj.ZCDP(10**6))


def shown(array, **options):
    """The sums over rows, nearly without noise."""
    return array.sum(axis=0).reveal(rho=1000, **options)


def near(found, expected):
    numpy.testing.assert_allclose(found, expected, atol=2.0, rtol=0.01)


ROW_WISE = {
    "log1p": lambda np, X: np.log1p(X),
    "exp": lambda np, X: np.exp(X / 10),
    "sqrt": lambda np, X: np.sqrt(X),
    "tanh": lambda np, X: np.tanh(X),
    "square": lambda np, X: np.square(X / 9),
    "sign": lambda np, X: np.sign(X - 5),
    "minus a row": lambda np, X: X - numpy.array([1.0, 0.5]),
    "divided by a row": lambda np, X: X / numpy.array([10.0, 0.5]),
    "maximum": lambda np, X: np.maximum(X, 0.3),
    "where": lambda np, X: np.where(X > 0.5, 1, 0),
    "round": lambda np, X: np.round(X, 1),
    "around": lambda np, X: np.around(X),
    "select": lambda np, X: np.select([X[:, 0] > 2, X[:, 1] > 0.5], [X[:, 1], 7], 3),
    "clip": lambda np, X: np.clip(X, 0.2, 0.8),
    "matrix": lambda np, X: X @ numpy.array([[1.0, -2.0, 0.5], [3.0, 0.0, 1.0]]),
    "vector": lambda np, X: X @ numpy.array([1.0, 2.0]),
    "axis": lambda np, X: X[:, 1],
    "new axis": lambda np, X: X[:, 0][:, None] * X,
    "stack": lambda np, X: np.column_stack([X[:, 1], X]),
    "hstack": lambda np, X: np.hstack([X, X]),
    "concatenate": lambda np, X: np.concatenate([X, X], axis=1),
    "norm": lambda np, X: np.linalg.norm(X, axis=1),
    "norm 1": lambda np, X: np.linalg.norm(X, ord=1, axis=1),
    "norm of whole numbers": lambda np, X: np.linalg.norm(X[:, [0, 0]], axis=1),
    "largest": lambda np, X: np.linalg.norm(X, ord=numpy.inf, axis=1),
    "argmax": lambda np, X: np.argmax(X - numpy.array([3, 0]), axis=1),
    "argmin": lambda np, X: X.argmin(axis=1),
    "row sums": lambda np, X: X.sum(axis=1),
    "reshape": lambda np, X: X.reshape(-1, 2, 1).sum(axis=2),
    "power": lambda np, X: (X / 9) ** 3,
    "mask": lambda np, X: X[X[:, 0] > 4],
    "logic": lambda np, X: np.where((X[:, 0] > 2) & ~(X[:, 1] > 0.5), 1, 0),
}


@pytest.mark.parametrize("name", list(ROW_WISE))
def test_row_wise_functions_mean_what_numpy_means(name, df, data):
    private = ROW_WISE[name](numpy, df[["a", "b"]].to_numpy())
    plain = ROW_WISE[name](numpy, data[["a", "b"]].to_numpy())
    assert private.ndim == plain.ndim and private._cells.shape == plain.shape[1:]
    near(shown(private), plain.sum(axis=0))


def test_numpy_functions_on_columns_and_tables_keep_their_type(df, data):
    series = numpy.log1p(df["b"])
    assert type(series).__name__ == "PrivSeries"
    near(series.sum().reveal(rho=20_000), numpy.log1p(data["b"]).sum())
    table = numpy.sqrt(df[["a", "b"]])
    assert list(table.columns) == ["a", "b"]
    both = df.assign(z=numpy.where(df["a"] > 5, 1, 0))
    near(both["z"].sum().reveal(rho=20_000), (data["a"] > 5).sum())


def test_sums_over_rows(df, data):
    X, plain = df[["a", "b"]].to_numpy(), data[["a", "b"]].to_numpy()
    near((X.T @ X).reveal(rho=20_000), plain.T @ plain)
    near((X.T @ X[:, 1]).reveal(rho=20_000), plain.T @ plain[:, 1])
    hot = numpy.eye(3)[data["c"].map({"x": 0, "y": 1, "z": 2})]
    product = X.T @ np.eye(3)[df["c"]]
    near(product.reveal(rho=20_000), plain.T @ hot)
    assert product.sensitivity() == pytest.approx(numpy.hypot(9, 1)) and product.shape == (2, 3)
    near(np.bincount(df["a"]).reveal(rho=20_000), numpy.bincount(data["a"]))
    counts, edges = numpy.histogram(df["b"], bins=7, range=(0, 1))
    expected, same = numpy.histogram(data["b"], bins=7, range=(0, 1))
    near(counts.reveal(rho=20_000), expected)
    assert list(edges) == list(same)
    table, _ = numpy.histogramdd(X, bins=[numpy.arange(0, 11, 5.0), 3], range=[None, (0, 1)])
    near(
        table.reveal(rho=20_000), numpy.histogramdd(plain, bins=[numpy.arange(0, 11, 5.0), numpy.linspace(0, 1, 4)])[0]
    )
    weighted, _ = numpy.histogram(df["a"], bins=5, range=(0, 10), weights=df["b"])
    near(weighted.reveal(rho=20_000), numpy.histogram(data["a"], bins=5, range=(0, 10), weights=data["b"])[0])


def test_priced_aggregates(df, data):
    near(np.mean(df["a"], eps=1000), data["a"].mean())
    near(np.var(df["a"], eps=1000), data["a"].var())
    near(np.percentile(df["a"], [25, 50], eps=1000), numpy.percentile(data["a"], [25, 50]))
    near(np.cov(df[["a", "b"]], rho=20_000), numpy.cov(data[["a", "b"]], rowvar=False))
    assert np.mean([1, 2, 3]) == 2 and np.median([1, 2, 9]) == 2 and np.pi == numpy.pi
    near(df[["a", "b"]].to_numpy().mean(axis=0, eps=1000), data[["a", "b"]].mean())


@pytest.mark.parametrize("ord_", [1, 2, numpy.inf])
def test_clip_norm_scales_rows_and_states_the_bound(df, data, ord_):
    X = pj.clip_norm(df[["a", "b"]].to_numpy(), 2, ord=ord_)
    plain = data[["a", "b"]].to_numpy()
    lengths = numpy.linalg.norm(plain, ord=ord_, axis=1)
    near(shown(X), (plain * numpy.minimum(1, 2 / numpy.maximum(lengths, 1e-9))[:, None]).sum(axis=0))
    assert X.row_norm(ord_) == 2.0 and X.sum(axis=0).sensitivity(ord_) == 2.0
    assert "L2 ≤" in repr(X)


def test_normalised_rows_have_length_one(df):
    X = pj.normalize(df[["a", "b"]].to_numpy())
    assert X.row_norm() == 1.0


def test_a_vector_release_has_a_certificate_that_is_checked(df):
    X = pj.clip_norm(df[["a", "b"]].to_numpy(), 3)
    for value in (X.sum(axis=0), X.T @ X, X.T @ np.eye(3)[df["c"]], (X @ numpy.ones((2, 2))).sum(axis=0)):
        with pj.certify() as kept:
            value.reveal(rho=1)
        assert check(kept.last).verdict == "ok", check(kept.last)


REFUSED = {
    "mean": lambda X: numpy.mean(X), "sort": lambda X: numpy.sort(X), "cumsum": lambda X: numpy.cumsum(X[:, 0]),
    "a row": lambda X: X[0], "rows": lambda X: X[1:3], "public rows": lambda X: X + numpy.zeros((5, 2)),
    "rank": lambda X: X[:, 0] * X, "where alone": lambda X: numpy.where(X[:, 0] > 1), "array": lambda X: numpy.array(X),
    "iteration": lambda X: list(X), "len": lambda X: len(X), "density": lambda X: numpy.histogram(X[:, 0], density=True),
    "vertical": lambda X: numpy.concatenate([X, X]), "first axis": lambda X: X.reshape(2, -1), "T": lambda X: X.T.sum(),
    "if": lambda X: 1 if X[:, 0] > 1 else 0, "reduce": lambda X: numpy.multiply.reduce(X), "flat": lambda X: X.argmax(),
    "out": lambda X: numpy.add(X, 1, out=numpy.zeros(2)), "wrong matrix": lambda X: X @ numpy.ones((3, 3)),
    "nan matrix": lambda X: X @ numpy.full(2, numpy.nan), "public left": lambda X: numpy.ones((2, 2)) @ X,
}  # fmt: skip


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_has_no_rule_is_refused_without_a_value(name, df):
    with pytest.raises((PlanError, PrisonerError, RowsError)) as caught:
        REFUSED[name](df[["a", "b"]].to_numpy())
    assert "do:" in str(caught.value)


def test_arrays_of_other_rows_do_not_meet(df):
    X, Y = df[["a", "b"]].to_numpy(), df[df["a"] > 3][["a", "b"]].to_numpy()
    for make in (lambda: X + Y, lambda: X.T @ Y, lambda: numpy.hstack([X, Y]), lambda: X[Y[:, 0] > 1]):
        with pytest.raises(RowsError):
            make()


def test_an_unbounded_array_cannot_be_summed(df):
    with pytest.raises(DPError):
        (1 / df[["a", "b"]].to_numpy()).sum(axis=0)


LACKED = [n for n in dir(numpy.ndarray) if not n.startswith("_") and n not in dir(np.PrivArray)]


@pytest.mark.parametrize("name", LACKED)
def test_what_a_private_array_lacks_is_refused_with_code_that_runs(df, name):
    X = df[["a", "b"]].to_numpy()  # noqa: N806  as the advice calls it
    assert not hasattr(X, name)
    with pytest.raises(PlanError, match=f"{name} is refused: ") as caught:
        getattr(X, name)
    codes = re.findall("`([^`]+)`", caught.value.do)
    assert codes
    for code in codes:
        exec(code, {"X": X})  # noqa: S102


def test_a_misspelt_name_of_an_array_names_the_nearest(df):
    with pytest.raises(PlanError, match="did you mean reshape"):
        df[["a", "b"]].to_numpy().reshap(-1, 2)


def test_operands_of_a_histogram_have_the_same_rows(df):
    some = df[df["a"] > 3]
    with pytest.raises(DPError, match="same rows"):
        numpy.bincount(df["a"], weights=some["b"])
    with pytest.raises(DPError, match="same rows"):
        np.histogramdd([df["a"], some["b"]], bins=[3, 3])


def test_missing_elements_mean_what_they_mean_to_numpy(tmp_path):
    """fmax takes the other one, != is true, and the position of an extreme is that of the first missing element."""
    dice = numpy.random.default_rng(3)
    given = pandas.DataFrame(dice.random((300, 3)).round(3), columns=list("xyz")).mask(dice.random((300, 3)) < 0.2)
    given.to_csv(tmp_path / "t.csv", index=False)
    table = pd.read_csv(tmp_path / "t.csv", schema={c: {"type": "float64", "range": [0, 1]} for c in "xyz"})
    X, true = table.to_numpy(), given.to_numpy()  # noqa: N806
    for f in (numpy.fmax, numpy.fmin):
        found = f(table["x"], table["y"]).sum().reveal(eps=RHO)
        assert found == pytest.approx(f(given["x"], given["y"]).sum(), abs=0.01)
        found = f(X, 0.5).sum(axis=0).reveal(eps=RHO)
        assert found == pytest.approx(numpy.nansum(f(true, 0.5), axis=0), abs=0.01)
    for op in (numpy.not_equal, numpy.equal, numpy.less, numpy.greater_equal):
        found = op(X[:, 0], X[:, 1]).sum(axis=0).reveal(eps=RHO)
        assert found == pytest.approx(op(true[:, 0], true[:, 1]).sum(), abs=0.01), op
    for name in ("argmax", "argmin"):
        places = np.bincount(getattr(X, name)(axis=1)).reveal(eps=RHO)
        expected = numpy.bincount(getattr(true, name)(axis=1), minlength=3)
        assert places[:3] == pytest.approx(expected, abs=0.01), name
