"""Naive Bayes, from noisy counts by class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from privjail.learn.base import Classifier, classes_of, columns_of, frame, target_of
from privjail.learn.bins import bins_of
from privjail.learn.spending import Spending
from privjail.ops.numbers.tally import Tally


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

    def _log_chances(self, counts: Any, noise: float) -> Any:
        """log P(bin | class): a bin that is all noise tells the classes apart as little as their sizes do."""
        smooth = self.alpha + noise
        shares = np.maximum(counts.sum(axis=1, keepdims=True), 0) / max(float(counts.sum()), 1.0)
        held = np.maximum(counts, 0) + smooth * np.maximum(shares, 1e-4)
        return np.log(held / held.sum(axis=0))

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """The chance of each class, for public rows."""
        self._need_fitted()
        given = frame(X, list(self.feature_names_in_))
        total = np.tile(self.class_log_prior_, (len(given), 1))
        for name, bins in self.bins_.items():
            table = np.vstack([self.feature_log_prob_[name], np.zeros(len(self.classes_))])
            total += table[bins.codes(given[name])]
        total -= total.max(axis=1, keepdims=True)
        chances = np.exp(total)
        return chances / chances.sum(axis=1, keepdims=True)
