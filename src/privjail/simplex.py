"""The nearest point whose entries are at least 0 and add up to a given sum."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def nearest_on_simplex(
    point: npt.ArrayLike, total: float = 1.0, variances: npt.ArrayLike | None = None
) -> npt.NDArray[np.float64]:
    """The projection of a point onto {x ≥ 0, Σx = total}; zeros if the total is not positive.

    It takes one number off every entry and cuts at 0 (Duchi et al., ICML 2008). With variances, distances are measured
    in their units, so that number is taken off in proportion to them.
    """
    given = np.asarray(point, dtype=np.float64)
    if total <= 0:
        return np.zeros_like(given)
    weights = np.ones_like(given) if variances is None else np.maximum(np.asarray(variances, dtype=float), 1e-300)
    order = np.argsort(-given / weights)
    # The first m entries of this order stay above 0 for the largest m that is consistent with its own shift.
    shift = (np.cumsum(given[order]) - total) / np.cumsum(weights[order])
    last = int(np.flatnonzero(given[order] > shift * weights[order])[-1])
    return np.asarray(np.maximum(given - shift[last] * weights, 0.0), dtype=np.float64)


def nonnegative(counts: npt.ArrayLike, variances: npt.ArrayLike | None = None) -> npt.NDArray[np.float64]:
    """The nearest counts ≥ 0 with the same sum (0 everywhere if that sum is negative)."""
    given = np.asarray(counts, dtype=np.float64)
    floored = None if variances is None else np.maximum(np.asarray(variances, dtype=float), 1e-12)
    return nearest_on_simplex(given, float(given.sum()), floored)
