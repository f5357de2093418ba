"""The nearest counts that can be."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privjail.histograms.laws import Floats


def nonnegative(counts: npt.ArrayLike, variances: npt.ArrayLike | None = None) -> Floats:
    """The nearest counts ≥ 0 with the same sum (0 everywhere if that sum is negative).

    The projection onto {x ≥ 0, Σx = s} takes one number off every count and cuts at 0 (Duchi et al., ICML 2008). With
    variances, distances count in their units, so that number is taken off in proportion to them.
    """
    given = np.asarray(counts, dtype=float)
    total = given.sum()
    if total <= 0:
        return np.zeros_like(given)
    weights = np.ones_like(given) if variances is None else np.maximum(np.asarray(variances, dtype=float), 1e-12)
    order = np.argsort(-given / weights)
    over = (np.cumsum(given[order]) - total) / np.cumsum(weights[order])
    last = int(np.flatnonzero(given[order] > over * weights[order])[-1])
    return np.asarray(np.maximum(given - over[last] * weights, 0.0))
