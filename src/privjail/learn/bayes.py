"""Naive Bayes, from noisy counts by class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from privjail.learn.base import Classifier, classes_of, columns_of, frame, target_of
from privjail.learn.bins import bins_of
from privjail.learn.linear import Scaled
from privjail.learn.spending import Spending
from privjail.numpy.elementwise import comes_before, constant, where
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.norms import Dot
from privjail.ops.columns.where import FillNull
from privjail.ops.numbers.tally import Tally
from privjail.plan.domain import BoolDomain, CategoryDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.rowwise import numeric


class CategoricalNB(Classifier):
    """Naive Bayes on bins: one table of counts by bin and class for each column.

    Each row is in one cell of each table, so each table has sensitivity 1. Counts are smoothed by ``alpha`` plus what
    the noise would invent.

    >>> model = learn.CategoricalNB().fit(df[["age", "ward"]], df["sex"], eps=1)
    """

    def __init__(self, alpha: float = 1.0, bins: int = 16) -> None:
        self.alpha = alpha
        self.bins = bins

    def fit(self, X: Any, y: Any, *, eps: Any = None, delta: Any = None, rho: Any = None) -> Self:  # noqa: N803
        """Fit to a private table and a private column of classes, for eps, for eps and delta, or for rho."""
        rows, columns = columns_of(X)
        target = target_of(y, rows)
        classes = classes_of(target)
        spending = Spending.of(eps, delta, rho, rows)
        self.bins_ = {name: bins_of(name, each, self.bins) for name, each in columns.items()}
        tallies = [Tally(rows, (bins.key(columns[name]), target), None) for name, bins in self.bins_.items()]
        answers, noise = spending.release_all(tallies, 1, "counts by bin and class")
        counts = [np.reshape(a, (-1, len(classes))) for a in answers]
        self.classes_ = np.array(classes)
        self.class_count_ = np.maximum(np.mean([c.sum(axis=0) for c in counts], axis=0), 1.0)
        self.class_log_prior_ = np.log(self.class_count_ / self.class_count_.sum())
        self.feature_log_prob_ = {name: self._log_chances(c, noise) for name, c in zip(self.bins_, counts, strict=True)}
        self.feature_names_in_ = np.array(list(columns), dtype=object)
        self.bill = spending.bill
        return self

    def _predicted(self, columns: dict[Any, Expr]) -> Expr:
        keys = {name: bins.key(columns[name]) for name, bins in self.bins_.items()}
        scores: list[Expr] = []
        for i, prior in enumerate(self.class_log_prior_):
            parts = [b.looked_up(keys[n], self.feature_log_prob_[n][:, i]) for n, b in self.bins_.items()]
            sum_ = Dot(tuple(parts), (Lit.of(1.0),) * len(parts))
            scores.append(Arithmetic("+", sum_, Constant(Lit.of(float(prior)))))
        return largest(scores)

    def _log_chances(self, counts: Any, noise: float) -> Any:
        return log_chances(counts, self.alpha + noise)

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """The chance of each class, for public rows."""
        self._need_fitted()
        given = frame(X, list(self.feature_names_in_))
        total = np.tile(self.class_log_prior_, (len(given), 1))
        for name, bins in self.bins_.items():
            table = np.vstack([self.feature_log_prob_[name], np.zeros(len(self.classes_))])
            total += table[bins.codes(given[name])]
        return as_chances(total)


def largest(scores: list[Expr]) -> Expr:
    """The number of the largest of several scores; the first of equal ones."""
    best, at = scores[0], constant(0)
    for i, each in enumerate(scores[1:], 1):
        found = comes_before("greater", each, best)
        best, at = where(found, each, best), where(found, constant(i), at)
    return at


def log_chances(counts: Any, smooth: float) -> Any:
    """log P(bin | class): a bin that is all noise tells the classes apart as little as their sizes do."""
    shares = np.maximum(counts.sum(axis=1, keepdims=True), 0) / max(float(counts.sum()), 1.0)
    held = np.maximum(counts, 0) + smooth * np.maximum(shares, 1e-4)
    return np.log(held / held.sum(axis=0))


def as_chances(logs: Any) -> Any:
    """Chances that add up to 1, from their logarithms up to a constant for each row."""
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    return chances / chances.sum(axis=1, keepdims=True)


class GaussianNB(Classifier):
    """Naive Bayes with a normal law for each number and class, from noisy sums and squares; categories by counts.

    Numbers are measured over their public ranges; a missing one counts as the middle of its range. ``var_smoothing`` is
    added to each variance, in units of half the range, beside what the noise asks for.

    >>> model = learn.GaussianNB().fit(df[["age", "ward"]], df["sex"], eps=1)
    >>> model.theta_.shape  # two classes, one number
    (2, 1)
    """

    def __init__(self, var_smoothing: float = 1e-4) -> None:
        self.var_smoothing = var_smoothing

    def fit(self, X: Any, y: Any, *, eps: Any = None, delta: Any = None, rho: Any = None) -> Self:  # noqa: N803
        """Fit to a private table and a private column of classes, for eps, for eps and delta, or for rho."""
        rows, columns = columns_of(X)
        target = target_of(y, rows)
        self.classes_ = np.array(classes_of(target))
        spending = Spending.of(eps, delta, rho, rows)
        counted = {n: e for n, e in columns.items() if isinstance(e.domain, (CategoryDomain, BoolDomain))}
        scaled = Scaled({n: _filled(n, e) for n, e in columns.items() if n not in counted})
        self.bins_ = {name: bins_of(name, each, 2) for name, each in counted.items()}
        values = [*scaled.exprs, *(Arithmetic("*", e, e) for e in scaled.exprs)]
        tallies = [Tally(rows, (bins.key(columns[name]), target), None) for name, bins in self.bins_.items()]
        tallies += [Tally(rows, (target,), value) for value in (None, *values)]
        found, noise = spending.release_all(tallies, 1, "counts, sums and squares by class")
        k, size = len(self.bins_), len(self.classes_)
        counts = [np.reshape(a, (-1, size)) for a in found[:k]]
        sizes = np.mean([*(c.sum(axis=0) for c in counts), np.asarray(found[k])], axis=0)
        self.class_count_ = np.maximum(sizes, 1.0)
        self.feature_log_prob_ = {n: log_chances(c, 1 + noise) for n, c in zip(self.bins_, counts, strict=True)}
        self._set_laws(np.asarray(found[k + 1 :], dtype=float).reshape(2, -1, size), noise, scaled)
        self.feature_names_in_ = np.array(list(columns), dtype=object)
        self.bill = spending.bill
        return self

    def _set_laws(self, sums: Any, noise: float, scaled: Scaled) -> None:
        """Means and variances of each class, drawn towards those of all rows by as much as the noise asks for."""
        held, slack = self.class_count_, 2 * noise
        total = held.sum()
        first, second = (part.sum(axis=1, keepdims=True) / total for part in sums)
        mean = np.clip((sums[0] + slack * first) / (held + slack), -1, 1)
        square = np.clip((sums[1] + slack * second) / (held + slack), 0, 1)
        floor = self.var_smoothing + slack / total
        half = np.asarray(scaled.half)
        self.theta_ = np.asarray(scaled.middle) + half * mean.T
        self.var_ = half**2 * np.maximum(square - mean**2, floor).T
        self.numbers_ = scaled.names

    def _predicted(self, columns: dict[Any, Expr]) -> Expr:
        keys = {name: bins.key(columns[name]) for name, bins in self.bins_.items()}
        numbers = [Cast(numeric(columns[name]), "Float64") for name in self.numbers_]
        scores: list[Expr] = []
        for i, prior in enumerate(np.log(self.class_count_ / self.class_count_.sum())):
            parts = [b.looked_up(keys[n], self.feature_log_prob_[n][:, i]) for n, b in self.bins_.items()]
            parts += [_log_density(x, self.theta_[i, j], self.var_[i, j]) for j, x in enumerate(numbers)]
            sum_ = Dot(tuple(parts), (Lit.of(1.0),) * len(parts))
            scores.append(Arithmetic("+", sum_, Constant(Lit.of(float(prior)))))
        return largest(scores)

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """The chance of each class, for public rows; a missing value says nothing."""
        self._need_fitted()
        given = frame(X, list(self.feature_names_in_))
        total = np.tile(np.log(self.class_count_ / self.class_count_.sum()), (len(given), 1))
        for name, bins in self.bins_.items():
            table = np.vstack([self.feature_log_prob_[name], np.zeros(len(self.classes_))])
            total += table[bins.codes(given[name])]
        for i, name in enumerate(self.numbers_):
            x = np.asarray(given[name], dtype=float)[:, None]
            logs = -0.5 * np.log(self.var_[:, i]) - (x - self.theta_[:, i]) ** 2 / (2 * self.var_[:, i])
            total += np.where(np.isnan(x), 0.0, logs)
        return as_chances(total)


def _log_density(x: Expr, mean: float, variance: float) -> Expr:
    """The logarithm of a normal density, up to a constant; 0 for a missing number."""
    away = Arithmetic("-", x, Constant(Lit.of(float(mean))))
    square = Arithmetic("*", Arithmetic("*", away, away), Constant(Lit.of(float(-0.5 / variance))))
    found = Arithmetic("+", square, Constant(Lit.of(float(-0.5 * np.log(variance)))))
    return FillNull(found, Constant(Lit.of(0.0))) if found.domain.nullable else found


def _filled(name: Any, expr: Expr) -> Expr:
    """A number without missing values: they count as the middle of the range."""
    number = Scaled({name: expr})
    if not expr.domain.nullable:
        return expr
    return FillNull(Cast(numeric(expr), "Float64"), Constant(Lit.of(number.middle[0])))
