"""Noisy counts of bins and of blocks of bins, then all that can be learnt from them without further budget.

The data are touched by additions only: one noisy count for each bin, one noisy sum for each block of 128 bins. So
two servers can make the release on shares or ciphertexts (privjail.encrypted). What follows is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from privjail.budget.amounts import float_up
from privjail.errors import PlanError
from privjail.histograms.counts import exact_counts
from privjail.histograms.histogram import PLAIN, PrivateHistogram
from privjail.histograms.laws import Draw, Floats, Integers, Law
from privjail.histograms.nested import Nest, NestedSpread
from privjail.histograms.postprocess import BLOCK_SIZE, block_sums, unblocked, whole
from privjail.histograms.relation import RELATIONS, halves, per_record
from privjail.histograms.smoothing import smooth_blocks
from privjail.mechanisms.noise import Noise

PURPOSES = ("bins", "both", "ranges")
BINS_ODDS = 85 / 15  # counts to blocks, where single bins are asked: blocks keep long ranges from drifting
SMALLEST_VARIANCE = 1e-6  # below that the counts are as good as exact


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


def leaf_share(bins: int, purpose: str) -> Fraction:
    """The share of ε that goes to the counts; the rest goes to the sums of blocks. Depends on public facts only.

    With k blocks of B bins, noise of variance v on counts and b on blocks, a prefix holds k / 2 whole blocks on
    average, and ends inside one, of which v B / 6 is known no better than by the counts. With v = 2 / s² and
    b = 2 / (1 - s)², k b / 2 + v B / 6 is least for s / (1 - s) = (B / 3k)**(1/3). For both, the mean of both odds.
    """
    if purpose not in PURPOSES:
        raise PlanError(f"a histogram is for {', '.join(PURPOSES)}, not for {purpose!r}")
    blocks = -(-bins // BLOCK_SIZE)
    ranges_odds = (BLOCK_SIZE / (3 * blocks)) ** (1 / 3)
    odds = {"bins": BINS_ODDS, "both": math.sqrt(BINS_ODDS * ranges_odds), "ranges": ranges_odds}[purpose]
    return Fraction(round(100 * odds / (1 + odds)), 100)


def split(epsilon: Any, bins: int, neighbours: str = "add-remove", purpose: str = "both") -> Split:
    """How ε is divided. One record changes the counts by 1 in all and the block sums by 1; a replaced one by 2."""
    leaf, block = halves(per_record(epsilon, neighbours), leaf_share(bins, purpose))
    each = RELATIONS[neighbours]
    return Split(leaf * each, block * each, float_up(1 / leaf), float_up(1 / block))


def estimate(
    leaves: npt.ArrayLike,
    blocks: npt.ArrayLike,
    block_size: int,
    leaf_noise: Law,
    block_noise: Law,
    *,
    neighbours: str = "add-remove",
    epsilons: Mapping[str, Fraction] | None = None,
    total: int | None = None,
    smooth: bool = True,
) -> PrivateHistogram:
    """The best histogram that can be told from noisy counts of bins and noisy sums of blocks. Costs nothing.

    ``total`` is the number of records where that is public: neighbours that differ in one replaced record agree
    on it, so it may be given with ``neighbours="replace"`` only. ``smooth=False`` leaves out all that is
    learnt about empty, flat and rough stretches. Errors and intervals are those of the unbiased estimate either way.
    """
    leaves, blocks = whole(leaves, "leaves"), whole(blocks, "blocks")
    if not len(leaves) or block_size < 2:
        raise PlanError("there must be at least one bin, and block_size must be at least 2")
    if len(blocks) != -(-len(leaves) // block_size):
        raise PlanError(f"{len(leaves)} bins in blocks of {block_size} need {-(-len(leaves) // block_size)} sums")
    if total is not None and neighbours != "replace":
        raise PlanError("the number of records is private where neighbours add or remove one", do="leave total out")
    told = leaves.astype(float), blocks.astype(float)
    smooth = smooth and leaf_noise.variance > SMALLEST_VARIANCE and block_noise.variance > SMALLEST_VARIANCE
    nest = Nest(len(leaves), (1, block_size), (leaf_noise.variance, block_noise.variance))
    unbiased, spread = fitted(nest, list(told), total)
    laws = {"leaves": leaf_noise, "blocks": block_noise}
    released: dict[str, Integers] = {"leaves": leaves, "blocks": blocks}
    plain = PrivateHistogram(unbiased, spread, f"block_tree{PLAIN}", neighbours, epsilons or {}, laws, released)
    if not smooth:
        return plain
    found = smooth_blocks(*told, block_size, leaf_noise, block_noise, total)
    counts = unblocked(found, len(leaves), block_size)
    return replace(plain, counts=counts, unbiased=unbiased, method="block_tree")


def fitted(nest: Nest, sums: list[Floats], total: int | None) -> tuple[Floats, NestedSpread]:
    """The unbiased estimate from noisy sums of all levels, and its errors."""
    if total is not None:
        nest, sums = nest.with_total(), [*sums[: len(nest.with_total().sizes) - 1], np.array([float(total)])]
    return nest.least_squares(sums), NestedSpread(nest)


def release(
    counts: npt.ArrayLike,
    epsilon: Any,
    *,
    neighbours: str = "add-remove",
    purpose: str = "both",
    block_size: int = BLOCK_SIZE,
    draw: Draw | None = None,
    smooth: bool = True,
) -> PrivateHistogram:
    """Release a histogram of whole counts that this process may see.

    ``purpose`` is what it will be asked: single "bins", "ranges", or "both". It changes what is accurate, not what is
    possible.

    Guarantee: ε-DP for the stated neighbours.
    Why: one record moves one count and one block sum by 1 (a replaced one two of each). Discrete Laplace noise of
    scale distance / ε₁ on the counts costs ε₁, on the sums ε₂, and ε₁ + ε₂ = ε. The rest reads the
    noisy numbers only; with ``neighbours="replace"`` also the number of records, on which neighbours agree.
    Source: Dwork, McSherry, Nissim, Smith, TCC 2006; Ghosh, Roughgarden, Sundararajan, STOC 2009; sums beside
    counts: Hay, Rastogi, Miklau, Suciu, VLDB 2010; means over trees: Willems, Shtarkov, Tjalkens, IT 1995.
    """
    exact = exact_counts(counts)
    budget = split(epsilon, len(exact), neighbours, purpose)
    draw = draw or Noise().laplace
    sums = block_sums(exact, block_size)
    leaves = exact + np.asarray(draw(budget.leaf_scale, len(exact)), dtype=np.int64)
    blocks = sums + np.asarray(draw(budget.block_scale, len(sums)), dtype=np.int64)
    laws = Law.of(budget.leaf_scale), Law.of(budget.block_scale)
    total = int(exact.sum()) if neighbours == "replace" else None
    return estimate(
        leaves,
        blocks,
        block_size,
        *laws,
        neighbours=neighbours,
        epsilons=budget.epsilons,
        total=total,
        smooth=smooth,
    )
