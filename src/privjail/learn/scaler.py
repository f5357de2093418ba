"""Means and standard deviations of private columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from privjail.errors import PlanError
from privjail.learn.base import Transformer, columns_of
from privjail.learn.lengths import bound_of, summed
from privjail.learn.linear import Scaled
from privjail.learn.spending import Spending
from privjail.numpy.arrays import PrivArray, cells_of
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.norms import Dot
from privjail.ops.columns.where import FillNull
from privjail.ops.numbers.tally import Tally
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows

MANY = 4  # columns, from which on the length of rows is looked at
MIDDLE, LENGTH, SUMS, SQUARES = 0.05, 0.05, 0.5, 0.35  # shares of the price; LENGTH is paid twice
LEAST = 1e-6  # of a variance, in units of half the range


class StandardScaler(Transformer):
    """Means and standard deviations of private columns, from noisy sums; applies to public tables and private arrays.

    From four columns on, rows are measured from a common middle and shortened to a bound that few exceed, both found
    with noise; then their squared distances from the means likewise. Where noise is large, columns are drawn towards
    what they have in common. A missing value counts as the middle.

    >>> scaler = learn.StandardScaler().fit(df[["age", "days"]], eps=1)
    >>> scaler.transform(df[["age", "days"]]).ndim
    2
    """

    def fit(self, X: Any, y: Any = None, *, eps: Any = None, delta: Any = None, rho: Any = None) -> Self:  # noqa: N803
        """Fit to private columns of numbers, for eps, for eps and delta, or for rho."""
        rows, columns = columns_of(X)
        if not columns:
            raise PlanError("X has no columns")
        scaled = Scaled(columns)
        spending = Spending.of(eps, delta, rho, rows)
        spending.reserve(rows)
        find = _by_lengths if len(scaled.exprs) >= MANY else _by_ranges
        mean, variance = find(rows, scaled.exprs, spending)
        half = np.asarray(scaled.half)
        self.mean_, self.scale_ = np.asarray(scaled.middle) + half * mean, half * np.sqrt(variance)
        self.feature_names_in_ = np.array(list(columns), dtype=object)
        self.bill = spending.bill
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803
        """(X - mean) / standard deviation, of public rows, or of a private table or array."""
        return (self._values(X) - self.mean_) / self.scale_

    def inverse_transform(self, X: Any) -> Any:  # noqa: N803
        """From scaled columns, of public or private rows, back to those of the fit."""
        self._need_fitted()
        return X * self.scale_ + self.mean_

    @property
    def var_(self) -> Any:
        """The squares of the standard deviations."""
        self._need_fitted()
        return self.scale_**2


def _by_ranges(rows: Rows, exprs: Sequence[Expr], spending: Spending) -> tuple[Any, Any]:
    """Sums and squares of columns from -1 to 1, at once."""
    one = Cast(Constant(Lit.of(1)), "Float64")
    squares = [Arithmetic("*", each, each) for each in exprs]
    sums = PrivArray(rows, cells_of([*exprs, *squares, one])).sum(axis=0)
    [found] = spending.release([sums._value], 1, "sums and squares")
    n = max(found[-1], 1.0)
    mean = np.array(found[: len(exprs)]) / n
    return mean, np.maximum(np.array(found[len(exprs) : -1]) / n - mean**2, LEAST)


def _by_lengths(rows: Rows, exprs: Sequence[Expr], spending: Spending) -> tuple[Any, Any]:
    """First the means, then squared distances from them: these are short, so that little noise hides them."""
    n, middle = _middle(rows, exprs, spending)
    moved = PrivArray(rows, cells_of(_less(each, middle) for each in exprs))
    bound = bound_of(moved, spending, LENGTH, SUMS, "rows by length")
    sums, noise = summed(moved, bound, spending, SUMS, "sums")
    means, kept = drawn_together(middle + sums / n, noise / n)
    means = np.clip(means, -1, 1)
    off = [_less(each, mean) for each, mean in zip(exprs, means.tolist(), strict=True)]
    squares = PrivArray(rows, cells_of(Arithmetic("*", each, each) for each in off))
    bound = bound_of(squares, spending, LENGTH, SQUARES, "squares by length")
    found, wide = summed(squares, bound, spending, SQUARES, "squares")
    variances, _ = drawn_together(found / n, wide / n)
    common = max(float(np.mean(found / n)), LEAST)
    variances = np.maximum(variances, max(min(common / 2, wide / n), LEAST))  # less could be noise
    # They were taken from noisy means: the square of that error is in them.
    return means, np.maximum(variances - kept * (noise / n) ** 2, variances / 2)


def _middle(rows: Rows, exprs: Sequence[Expr], spending: Spending) -> tuple[float, float]:
    """The number of rows, and where the values of all columns lie on average."""
    everyone = (Constant(Lit.of("all")),)
    mean = Dot(tuple(_less(each, 0.0) for each in exprs), (Lit.of(1 / len(exprs)),) * len(exprs))
    answers, _ = spending.release_all([Tally(rows, everyone, None), Tally(rows, everyone, mean)], MIDDLE, "middle")
    n = max(float(answers[0][0]), 1.0)
    return n, float(np.clip(answers[1][0] / n, -1, 1))


def _less(expr: Expr, centre: float) -> Expr:
    """A column less a public number; a missing value is 0."""
    moved = Arithmetic("-", expr, Constant(Lit.of(centre)))
    return FillNull(moved, Constant(Lit.of(0.0))) if moved.domain.nullable else moved


def drawn_together(values: Any, noise: float) -> tuple[Any, float]:
    """Noisy numbers, each drawn towards their mean by as much as noise makes up their spread; and what is kept.

    The variance of so many draws of the noise is itself known up to a deviation, which counts as noise, too.
    """
    likely = noise**2 * (1 + math.sqrt(2 / len(values)))
    middle, spread = float(np.mean(values)), max(float(np.var(values)) - likely, 0.0)
    kept = spread / max(spread + noise**2, 1e-30)
    return middle + kept * (values - middle), kept
