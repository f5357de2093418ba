"""k-means, by rounds of noisy sums and counts of each cluster."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from privjail.learn.base import Estimator, columns_of, frame
from privjail.learn.linear import Scaled
from privjail.learn.spending import Spending
from privjail.learn.trees import public_draw
from privjail.notebook import progress
from privjail.numpy.arrays import PrivArray, cells_of
from privjail.ops.columns.cast import Cast
from privjail.ops.numbers.tally import Tally
from privjail.prisoner import Prisoner

BESIDE = 0.3  # how far from a large cluster's centre a spare one is put, at most, in each column


class KMeans(Estimator):
    """Lloyd's rounds on columns over their public ranges; each round asks for the counts and sums of the clusters.

    The first centres are spread over the ranges without data. Under an (ε, δ) budget there is one round.

    >>> model = learn.KMeans(n_clusters=2).fit(df[["age", "days"]], eps=1)
    """

    def __init__(self, n_clusters: int = 8, max_iter: int = 5, random_state: int = 0) -> None:
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, eps: Any = None, delta: Any = None, rho: Any = None) -> Self:  # noqa: N803
        """Fit to private columns of numbers, for eps, for eps and delta, or for rho."""
        rows, columns = columns_of(X)
        scaled = Scaled(columns)
        spending = Spending.of(eps, delta, rho, rows)
        points = PrivArray(rows, cells_of(scaled.exprs))
        centres = self._spread(len(scaled.exprs))
        rounds = 1 if spending.in_one_piece else self.max_iter
        spending.reserve(rows)
        for i in progress(range(rounds), rounds, "rounds", least=2):
            # argmin ‖x - c‖² = argmin ‖c‖² - 2 x·c
            nearest = (points @ (-2 * centres.T) + (centres**2).sum(axis=1)).argmin(axis=1)._flat[0]
            tallies = [Tally(rows, (Cast(nearest, "Int64"),), value) for value in (None, *scaled.exprs)]
            found, noise = spending.release_all(tallies, 1 / rounds, f"clusters, round {i}")
            counts = np.maximum(np.asarray(found[0])[: self.n_clusters], 1.0)
            sums = np.column_stack([np.asarray(a)[: self.n_clusters] for a in found[1:]])
            steady = (counts > 2 * noise)[:, None]
            centres = np.where(steady, np.clip(sums / counts[:, None], -1, 1), centres)
            if i < rounds - 1:
                centres = self._moved(centres, counts, steady[:, 0], i)
        self.cluster_centers_ = np.asarray(scaled.middle) + np.asarray(scaled.half) * centres
        self._half = np.asarray(scaled.half)
        self.feature_names_in_ = np.array(list(columns), dtype=object)
        self.bill = spending.bill
        return self

    def _moved(self, centres: Any, counts: Any, steady: Any, number: int) -> Any:
        """Centres that nothing is near to go beside those of the largest clusters, so as to divide them."""
        found, left = centres.copy(), np.where(steady, counts, 0.0)
        for k in np.flatnonzero(~steady) if steady.any() else ():
            largest = int(np.argmax(left))
            left[largest] /= 2
            which = (self.random_state, "beside", number, int(k))
            place = [public_draw(2**20, *which, j) for j in range(centres.shape[1])]
            found[k] = np.clip(centres[largest] + BESIDE * (np.array(place) / 2**19 - 1), -1, 1)
        return found

    def _spread(self, d: int) -> Any:
        """The first centres: of many public points those that are far from each other."""
        places = range(50 * self.n_clusters)
        points = [[public_draw(2**20, self.random_state, i, j) / 2**19 - 1 for j in range(d)] for i in places]
        candidates, chosen = np.array(points), [np.zeros(d)]
        while len(chosen) < self.n_clusters:
            far = np.min([((candidates - c) ** 2).sum(axis=1) for c in chosen], axis=0)
            chosen.append(candidates[int(np.argmax(far))] * 0.6)
        return np.array(chosen)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The nearest centre of each row, over the public ranges; of private rows a private column.

        >>> df["cluster"] = learn.KMeans(2).fit(df[["age", "days"]], eps=1).predict(df[["age", "days"]])
        """
        self._need_fitted()
        if isinstance(X, Prisoner):
            rows, columns = self._private_columns(X)
            points = PrivArray(rows, cells_of(columns.values())) / self._half
            centres = self.cluster_centers_ / self._half
            return (points @ (-2 * centres.T) + (centres**2).sum(axis=1)).argmin(axis=1)
        values = frame(X, list(self.feature_names_in_)).to_numpy(dtype=float) / self._half
        far = ((values[:, None, :] - (self.cluster_centers_ / self._half)[None]) ** 2).sum(axis=2)
        return np.argmin(far, axis=1)
