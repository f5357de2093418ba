"""Sums of one-feature tables for a number: the additive classifier's rounds with squared errors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from privjail.learn.additive import ONLY, Fitting, added_up, scored, whole_rounds
from privjail.learn.base import Regressor, columns_of, frame, target_of
from privjail.learn.bins import Bins
from privjail.learn.linear import Scaled
from privjail.learn.shrink import smooth_covariances
from privjail.learn.spending import Spending
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.where import FillNull
from privjail.ops.numbers.tally import Tally
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.prisoner import Prisoner

LEAST = 1e-3  # of the variance of residuals, in units of half the target's range


def unit_target(target: Expr) -> tuple[Expr, Scaled]:
    """A number over its public range, from -1 to 1; a missing one counts as the middle."""
    scaled = Scaled({"y": target})
    unit: Expr = Clip(scaled.exprs[0], Lit.of(-1.0), Lit.of(1.0))
    return (FillNull(unit, Constant(Lit.of(0.0))) if unit.domain.nullable else unit), scaled


class AdditiveRegressor(Regressor):
    """prediction = intercept + a table for each feature, looked up in its bin: a generalised additive model.

    The first round asks for counts and sums of the target by bin, and one sum of squares; each later round for sums of
    the residuals, cut off at half the target's range. A missing target counts as the middle of its range.

    >>> model = learn.AdditiveRegressor().fit(df[["age", "ward"]], df["cost"], eps=1)
    >>> len(model.tables_["ward"])  # four wards, and one bin for missing values
    5
    """

    def __init__(self, rounds: int | None = None, bins: int | None = None) -> None:
        self.rounds = rounds
        self.bins = bins

    def _covariances(self, bins: Bins) -> list[Any]:
        return smooth_covariances(bins.size, bins.known, bins.ordered)

    def fit(self, X: Any, y: Any, *, eps: Any = None, delta: Any = None, rho: Any = None) -> Self:  # noqa: N803
        """Fit to a private table and a private number with a range, for eps, for eps and delta, or for rho."""
        rows, columns = columns_of(X)
        unit, scaled = unit_target(target_of(y, rows))
        spending = Spending.of(eps, delta, rho, rows)
        whole_rounds(self.rounds)
        fitting = NumberFitting(self, rows, columns, unit, spending)
        fitting.run(fitting.rounds if self.rounds is None else self.rounds)
        half = scaled.half[0]
        self.intercept_ = scaled.middle[0] + half * fitting.intercept
        self.tables_ = {name: half * table for name, table in fitting.tables.items()}
        self.bins_ = fitting.bins
        self.feature_names_in_ = np.array(list(columns), dtype=object)
        self.n_features_in_ = len(columns)
        self.bill = spending.bill
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The number that is expected of each public row."""
        self._need_fitted()
        if isinstance(X, Prisoner):
            return self._private_predictions(X)
        return added_up(frame(X, list(self.feature_names_in_)), self.intercept_, self.tables_, self.bins_)

    def _predicted(self, columns: dict[Any, Expr]) -> Expr:
        return scored({n: b.key(columns[n]) for n, b in self.bins_.items()}, self.intercept_, self.tables_, self.bins_)


class NumberFitting(Fitting):
    """Of a number between -1 and 1. Slopes are residuals over their variance, as those of a normal law are."""

    def __init__(
        self, model: AdditiveRegressor, rows: Rows, columns: dict[Any, Expr], target: Expr, spending: Spending
    ) -> None:
        self.target = target
        self.only = max(ONLY, 1.5 / (1 + len(columns)))  # few columns: little of what they show is shown twice
        super().__init__(model, rows, columns, spending, 2 * len(columns) + 1)

    def _residual(self, score: Expr) -> Expr:
        return Clip(Arithmetic("-", self.target, score), Lit.of(-1.0), Lit.of(1.0))

    def _count(self, share: float) -> None:
        """The first round: rows and sums of the target by bin, and the sum of its squares."""
        keys = list(self.keys.values())
        square = Clip(Arithmetic("*", self.target, self.target), Lit.of(0.0), Lit.of(1.0))
        tallies = [Tally(self.rows, (key,), value) for value in (None, self.target) for key in keys]
        tallies.append(Tally(self.rows, (Constant(Lit.of("all")),), square))
        answers, self.noise = self.spending.release_all(tallies, share, "counts and sums by bin")
        found = [np.asarray(a, dtype=float) for a in answers]
        counts, sums = found[: len(keys)], found[len(keys) : -1]
        self.total = max(float(np.mean([c.sum() for c in counts])), 1.0)
        mean = float(np.clip(np.mean([s.sum() for s in sums]) / self.total, -1, 1))
        self.intercept = mean
        self.unit = float(np.clip(found[-1][0] / self.total - mean**2, LEAST, 1.0))
        self.curvature = 1 / self.unit
        self.counts = {name: self._steadied(c) for name, c in zip(self.keys, counts, strict=True)}
        gradients = {n: (s - mean * c) / self.unit for n, c, s in zip(self.keys, counts, sums, strict=True)}
        self.active = self._step(gradients, (self.noise / self.unit) ** 2 * (1 + mean**2), self.curvature)
