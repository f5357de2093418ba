"""What anyone may do to released numbers, as often as they like: post-processing costs no budget."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from privjail.errors import PlanError
from privjail.histograms.histogram import PrivateHistogram
from privjail.histograms.laws import Floats, Integers, Law
from privjail.histograms.nested import Nest, NestedSpread
from privjail.histograms.smoothing import smooth_blocks
from privjail.simplex import nonnegative

BLOCK_SIZE = 128

__all__ = ["BLOCK_SIZE", "block_sums", "consistent", "nonnegative", "smooth", "whole"]


def whole(vector: npt.ArrayLike, what: str) -> Integers:
    """A row of whole numbers of 64 bits; floats pass where each is one."""
    found = np.asarray(vector)
    if found.ndim != 1 or found.dtype.kind not in "iuf" or not (found == np.rint(found)).all():
        raise PlanError(f"{what} are one row of whole numbers")
    if (np.abs(found.astype(float)) >= 2.0**63).any():
        raise PlanError(f"{what} must fit into 64 bits")
    return found.astype(np.int64)


def block_sums(counts: npt.ArrayLike, block_size: int = BLOCK_SIZE) -> npt.NDArray[Any]:
    """The sum of each block of bins; the last block may be shorter."""
    counts = np.asarray(counts)
    return np.add.reduceat(counts, np.arange(0, counts.shape[-1], block_size), axis=-1)


def consistent(
    bins: Floats, variances: Floats, sums: Floats, sum_variance: float, block_size: int = BLOCK_SIZE
) -> Floats:
    """Bins moved to agree with their block's noisy sum, each by its share of the uncertainty (least squares)."""
    total = block_sums(variances, block_size)
    gap = sums - block_sums(bins, block_size)
    reach = total + sum_variance
    step = np.divide(gap, reach, out=np.zeros_like(gap), where=reach > 0)
    return np.asarray(bins + variances * np.repeat(step, block_size, axis=-1)[..., : bins.shape[-1]])


def smooth(noisy_counts: npt.ArrayLike, scale: float, *, draws: int = 1) -> PrivateHistogram:
    """A better histogram from released noisy counts in their natural order: what is empty, flat or rough is learnt.

    ``scale`` is that of the Laplace noise on each count: 1 / eps for a released ``value_counts`` or histogram of a
    table where one unit is one row. Costs nothing, whatever it was told: it sees released numbers only.

    >>> smooth([0, 1, -1, 0, 2, 40, 41, 38], scale=1).counts.round().astype(int).tolist()
    [0, 0, 0, 0, 1, 40, 40, 39]
    """
    leaves = whole(np.asarray(noisy_counts), "noisy counts")
    if not len(leaves) or not scale > 0:
        raise PlanError("smooth needs at least one count, and the scale of its noise, which is greater than 0")
    law = Law.of(scale, draws)
    counts = smooth_blocks(leaves.astype(float), law)
    spread = NestedSpread(Nest(len(leaves), (1,), (law.variance,)))
    laws, released = {"counts": law}, {"counts": leaves}
    return PrivateHistogram(
        counts, spread, "smoothed counts", laws=laws, released=released, unbiased=leaves.astype(float)
    )
