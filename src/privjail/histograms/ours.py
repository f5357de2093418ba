"""Noisy counts of bins and of blocks of bins, then all that can be learnt from them without further budget.

The data are touched by additions only: one noisy count for each bin, one noisy sum for each block of 128 bins. So
two servers can make the release on shares or ciphertexts (privjail.encrypted). What follows is post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from privjail.budget.amounts import amount, float_up
from privjail.errors import PlanError
from privjail.histograms.histogram import RELATIONS, PrivateHistogram
from privjail.histograms.laws import Floats, Integers, Law
from privjail.histograms.spread import BlockSpread

BLOCK_SIZE = 128
LEAF_SHARE = Fraction(85, 100)


@dataclass(frozen=True)
class Split:
    """What each of the two vectors costs, and the scale of the discrete Laplace noise that each must carry.

    Where two servers add noise, each adds noise of this scale, so that either alone is enough.
    """

    leaf_epsilon: Fraction
    block_epsilon: Fraction
    leaf_scale: float
    block_scale: float

    @property
    def epsilons(self) -> dict[str, Fraction]:
        return {"leaves": self.leaf_epsilon, "blocks": self.block_epsilon}


def split(epsilon: Any, neighbours: str = "add-remove", leaf_share: Fraction = LEAF_SHARE) -> Split:
    """How ε is divided. One record changes the counts by 1 in all and the block sums by 1; a replaced one by 2."""
    if neighbours not in RELATIONS:
        raise PlanError(f"neighbours are {' or '.join(RELATIONS)}, not {neighbours!r}")
    distance = 1 if neighbours == "add-remove" else 2
    leaf = amount(epsilon) * leaf_share
    block = amount(epsilon) - leaf
    return Split(leaf, block, float_up(distance / leaf), float_up(distance / block))


def block_sums(counts: npt.ArrayLike, block_size: int = BLOCK_SIZE) -> npt.NDArray[Any]:
    """The sum of each block of bins; the last block may be shorter."""
    counts = np.asarray(counts)
    return np.add.reduceat(counts, np.arange(0, counts.shape[-1], block_size), axis=-1)


def estimate(
    leaves: npt.ArrayLike,
    blocks: npt.ArrayLike,
    block_size: int,
    leaf_noise: Law,
    block_noise: Law,
    *,
    neighbours: str = "add-remove",
    epsilons: Mapping[str, Fraction] | None = None,
) -> PrivateHistogram:
    """The best histogram that can be told from noisy counts of bins and noisy sums of blocks. Costs nothing."""
    leaves, blocks = np.asarray(leaves, dtype=np.int64), np.asarray(blocks, dtype=np.int64)
    if leaves.ndim != 1 or not len(leaves) or block_size < 1:
        raise PlanError("leaves are one row of whole numbers, block_size a number ≥ 1")
    if blocks.shape != (-(-len(leaves) // block_size),):
        raise PlanError(f"{len(leaves)} bins in blocks of {block_size} need {-(-len(leaves) // block_size)} sums")
    variances = np.full(len(leaves), leaf_noise.variance)
    counts = consistent(leaves.astype(float), variances, blocks.astype(float), block_noise.variance, block_size)
    spread = BlockSpread(variances, block_size, block_noise.variance)
    laws = {"leaves": leaf_noise, "blocks": block_noise}
    released: dict[str, Integers] = {"leaves": leaves, "blocks": blocks}
    return PrivateHistogram(counts, spread, "ours", neighbours, epsilons or {}, laws, released, exact=True)


def consistent(
    bins: Floats, variances: Floats, sums: Floats, sum_variance: float, block_size: int = BLOCK_SIZE
) -> Floats:
    """Bins moved to agree with their block's sum, each by its share of the uncertainty (least squares)."""
    total = block_sums(variances, block_size)
    gap = sums - block_sums(bins, block_size)
    reach = total + sum_variance
    step = np.divide(gap, reach, out=np.zeros_like(gap), where=reach > 0)
    return np.asarray(bins + variances * np.repeat(step, block_size, axis=-1)[..., : bins.shape[-1]])
