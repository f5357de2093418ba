"""Linear models and projections from one noisy matrix of products."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from privjail.errors import PlanError
from privjail.learn.base import Regressor, Transformer, columns_of, frame, target_of
from privjail.learn.spending import Spending
from privjail.numpy.arrays import PrivArray, cells_of, clip_norm
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.norms import Dot
from privjail.plan.domain import FloatDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.prisoner import Prisoner
from privjail.rowwise import numeric


class Scaled:
    """Columns over their public ranges: from -1 to 1."""

    def __init__(self, columns: dict[Any, Expr]) -> None:
        self.names = list(columns)
        self.middle, self.half = [], []
        self.exprs = []
        for name, given in columns.items():
            expr = numeric(given)
            domain = expr.domain
            if not isinstance(domain, (IntDomain, FloatDomain)) or not domain.bounded:
                raise PlanError(
                    f"column {name!r} needs a range of numbers, not {domain}", do="clip it, or one-hot encode it"
                )
            middle, half = (
                (float(domain.lower) + float(domain.upper)) / 2,
                (float(domain.upper) - float(domain.lower)) / 2,
            )
            half = half or 1.0
            self.middle.append(middle)
            self.half.append(half)
            moved = Arithmetic("-", Cast(expr, "Float64"), Constant(Lit.of(middle)))
            self.exprs.append(Arithmetic("*", moved, Constant(Lit.of(1 / half))))

    def public(self, X: Any) -> Any:  # noqa: N803
        values = frame(X, self.names).to_numpy(dtype=float)
        return np.clip((values - self.middle) / self.half, -1, 1)


class Ridge(Regressor):
    """Linear regression with a ridge: AdaSSP (Wang 2018). One noisy XᵀX, Xᵀy with a ridge that the noise asks for.

    Columns and target are measured over their public ranges; rows longer than ``clip`` (by default √columns / 2) are
    shortened to it.

    >>> model = learn.Ridge().fit(df[["age", "days"]], df["cost"], eps=1)
    """

    def __init__(self, alpha: float = 1.0, clip: float | None = None) -> None:
        self.alpha = alpha
        self.clip = clip

    def fit(self, X: Any, y: Any, *, eps: Any = None, delta: Any = None, rho: Any = None) -> Self:  # noqa: N803
        """Fit to private columns of numbers and a private number, for eps, for eps and delta, or for rho."""
        rows, columns = columns_of(X)
        scaled, target = Scaled(columns), Scaled({"y": target_of(y, rows)})
        spending = Spending.of(eps, delta, rho, rows)
        one = Cast(Constant(Lit.of(1)), "Float64")
        row = PrivArray(rows, cells_of([*scaled.exprs, one, *target.exprs]))
        d = len(scaled.exprs) + 1
        bound = self.clip or max(1.0, math.sqrt(d + 1) / 2)
        short = clip_norm(row, bound)
        gram = short.T @ short
        [found] = spending.release([gram._value], 1, "products of all pairs of columns")
        noisy = np.asarray(found)[gram._at]
        sigma = spending.deviation() * (gram.sensitivity(1) if spending.is_pure else gram.sensitivity(2))
        products, cross = noisy[:d, :d], noisy[:d, d]
        ridge = max(self.alpha, sigma * math.sqrt(d) - max(float(np.linalg.eigvalsh(products)[0]), 0.0))
        weights = np.linalg.solve(_positive(products) + ridge * np.eye(d), cross)
        unit = target.half[0]
        self.coef_ = weights[:-1] * unit / np.asarray(scaled.half)
        self.intercept_ = target.middle[0] + unit * weights[-1] - float(self.coef_ @ np.asarray(scaled.middle))
        self.feature_names_in_ = np.array(list(columns), dtype=object)
        self.bill = spending.bill
        return self

    def _predicted(self, columns: dict[Any, Expr]) -> Expr:
        known = tuple(Cast(numeric(each), "Float64") for each in columns.values())
        return Arithmetic("+", Dot(known, tuple(map(Lit.of, self.coef_.tolist()))), Constant(Lit.of(self.intercept_)))

    def predict(self, X: Any) -> Any:  # noqa: N803
        self._need_fitted()
        if isinstance(X, Prisoner):
            return self._private_predictions(X)
        return frame(X, list(self.feature_names_in_)).to_numpy(dtype=float) @ self.coef_ + self.intercept_


class LinearRegression(Ridge):
    """Ridge with no ridge beyond what the noise asks for.

    >>> model = learn.LinearRegression().fit(df[["age", "days"]], df["cost"], eps=1)
    """

    def __init__(self, clip: float | None = None) -> None:
        self.clip = clip
        self.alpha = 1e-6


def _positive(matrix: Any) -> Any:
    """The matrix without its negative eigenvalues, which only noise makes."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return (vectors * np.maximum(values, 0)) @ vectors.T


class PCA(Transformer):
    """Principal components of private columns, measured over their public ranges, from one noisy matrix of products.

    The mean is taken from the same release, by a column of ones.

    >>> model = learn.PCA(n_components=1).fit(df[["age", "days"]], eps=1)
    >>> model.components_.shape
    (1, 2)
    >>> learn.PCA(n_components=1).fit_transform(df[["age", "days"]], eps=1).ndim
    2
    """

    def __init__(self, n_components: int = 2, clip: float | None = None) -> None:
        self.n_components = n_components
        self.clip = clip

    def fit(self, X: Any, y: Any = None, *, eps: Any = None, delta: Any = None, rho: Any = None) -> Self:  # noqa: N803
        """Fit to private columns of numbers, for eps, for eps and delta, or for rho."""
        rows, columns = columns_of(X)
        scaled = Scaled(columns)
        spending = Spending.of(eps, delta, rho, rows)
        d = len(scaled.exprs)
        if not 1 <= self.n_components <= d:
            raise PlanError(f"n_components lies between 1 and {d}")
        one = Cast(Constant(Lit.of(1)), "Float64")
        short = clip_norm(PrivArray(rows, cells_of([*scaled.exprs, one])), self.clip or math.sqrt(d + 1))
        gram = short.T @ short
        [found] = spending.release([gram._value], 1, "products of all pairs of columns")
        noisy = np.asarray(found)[gram._at]
        n = max(float(noisy[d, d]), 1.0)
        mean = noisy[:d, d] / n
        values, vectors = np.linalg.eigh(noisy[:d, :d] / n - np.outer(mean, mean))
        order = np.argsort(values)[::-1][: self.n_components]
        half = np.asarray(scaled.half)
        self.components_ = vectors[:, order].T
        self.explained_variance_ = np.maximum(values[order], 0)
        self.explained_variance_ratio_ = self.explained_variance_ / max(float(np.maximum(values, 0).sum()), 1e-300)
        self.scale_, self.mean_ = half, np.asarray(scaled.middle) + half * mean
        self.feature_names_in_ = np.array(list(columns), dtype=object)
        self.bill = spending.bill
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803
        """Public rows by their components; a private table or array as a private array."""
        return ((self._values(X) - self.mean_) / self.scale_) @ self.components_.T

    def inverse_transform(self, X: Any) -> Any:  # noqa: N803
        """From components, of public or private rows, back to the columns of the fit."""
        self._need_fitted()
        return (X @ self.components_) * self.scale_ + self.mean_
