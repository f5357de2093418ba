"""Noisy counts of bins and of blocks of bins, then all that can be learnt from them without further budget.

The data are touched by additions only: one noisy count for each bin, one noisy sum for each block of bins. So
two servers can make the release on shares or ciphertexts (privjail.encrypted). What follows is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
from privjail.histograms.postprocess import BLOCK_SIZE, block_sums, whole
from privjail.histograms.relation import RELATIONS, per_record
from privjail.histograms.smoothing import Measured, Unbiased, smooth_blocks
from privjail.mechanisms.noise import Noise

PURPOSES = ("bins", "both", "ranges")
BINS_ODDS = 85 / 15  # counts to blocks, where single bins are asked: blocks keep long ranges from drifting
SMALLEST_VARIANCE = 1e-6  # below that the counts are as good as exact


NEAR_BEST = 1.03  # of nests that differ by less, the coarsest is taken: it leaves most to smoothing
NAMES = ("leaves", "blocks", "large blocks")


@dataclass(frozen=True)
class Split:
    """Which sums are released, what those of each size cost, and the scale of the discrete Laplace noise on each.

    ``sizes`` begin with single bins. Where two servers add noise, each adds noise of this scale, so that either alone
    is enough.
    """

    sizes: tuple[int, ...]
    each: tuple[Fraction, ...]
    scales: tuple[float, ...]

    @property
    def epsilons(self) -> dict[str, Fraction]:
        return dict(zip(NAMES, self.each, strict=False))

    @property
    def leaf_scale(self) -> float:
        return self.scales[0]

    @property
    def block_scale(self) -> float:
        return self.scales[1]


def shares(bins: int, purpose: str) -> dict[int, Fraction]:
    """The sizes of blocks that are summed, 1 for single bins, and the share of ε of each. From public facts only.

    A share s has noise of variance 2 / s². With k blocks of the largest size, a prefix holds k / 2 of them on average,
    a random range k / 3. At each end of it, of a block that consists of f smaller ones, f / 6 times their variance is
    left. So prefixes and random ranges together have Σ c · 2 / s² for c = 5k / 12 at the top and f / 4 below; that is
    least for s proportional to c**(1/3), and then 2 (Σ c**(1/3))³. Single bins have 2 / s² of the first share alone.
    For bins, blocks of 128 get 15 %, which keeps long ranges from drifting. For both, the odds of counts to blocks of
    128 are the geometric mean of those for bins and of (128 / 3k)**(1/3), the best ones for prefixes.
    """
    if purpose not in PURPOSES:
        raise PlanError(f"a histogram is for {', '.join(PURPOSES)}, not for {purpose!r}")
    if purpose == "ranges":
        return _for_ranges(bins)
    blocks = -(-bins // BLOCK_SIZE)
    ranges_odds = (BLOCK_SIZE / (3 * blocks)) ** (1 / 3)
    odds = BINS_ODDS if purpose == "bins" else math.sqrt(BINS_ODDS * ranges_odds)
    leaf = Fraction(round(100 * odds / (1 + odds)), 100)
    return {1: leaf, BLOCK_SIZE: 1 - leaf}


def _for_ranges(bins: int) -> dict[int, Fraction]:
    powers = [2**i for i in range(1, max(bins - 1, 2).bit_length())]
    nests = [(1, b) for b in powers] + [(1, a, b) for a in powers for b in powers if b > a]
    roots = {nest: _cube_roots(bins, nest) for nest in nests}
    costs = {nest: sum(found) ** 3 for nest, found in roots.items()}
    least = min(costs.values())
    best = max((nest for nest in nests if costs[nest] < NEAR_BEST * least), key=lambda nest: (nest[-1], nest[1]))
    upper = [Fraction(round(100 * root / sum(roots[best])), 100) for root in roots[best][1:]]
    return dict(zip(best, [1 - sum(upper, Fraction(0)), *upper], strict=True))


def _cube_roots(bins: int, nest: tuple[int, ...]) -> list[float]:
    inner = [b / a / 4 for a, b in zip(nest, nest[1:], strict=False)]
    return [c ** (1 / 3) for c in [*inner, 5 * -(-bins // nest[-1]) / 12]]


def split(epsilon: Any, bins: int, neighbours: str = "add-remove", purpose: str = "both") -> Split:
    """How ε is divided. One record changes the sums of each size by 1 in all; a replaced one by 2."""
    found, budget = shares(bins, purpose), per_record(epsilon, neighbours)
    parts = [budget * share for share in found.values()]
    each = tuple(part * RELATIONS[neighbours] for part in parts)
    return Split(tuple(found), each, tuple(float_up(1 / part) for part in parts))


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
    return estimate_nested(
        [leaves, blocks], (1, block_size), [leaf_noise, block_noise], neighbours=neighbours, epsilons=epsilons,
        total=total, smooth=smooth,
    )  # fmt: skip


def estimate_nested(
    sums: Sequence[npt.ArrayLike],
    sizes: Sequence[int],
    noises: Sequence[Law],
    *,
    neighbours: str = "add-remove",
    epsilons: Mapping[str, Fraction] | None = None,
    total: int | None = None,
    smooth: bool = True,
) -> PrivateHistogram:
    """The same from noisy sums of blocks of several sizes, the first of which is 1."""
    released: dict[str, Integers] = {name: whole(row, name) for name, row in zip(NAMES, sums, strict=False)}
    bins = len(released["leaves"])
    if not len(sums) == len(sizes) == len(noises) == len(released) or not bins or min(sizes[1:], default=2) < 2:
        raise PlanError("there must be at least one bin, and block_size must be at least 2")
    if any(len(row) != -(-bins // size) for row, size in zip(released.values(), sizes, strict=True)):
        needed = ", ".join(str(-(-bins // size)) for size in sizes[1:])
        raise PlanError(f"{bins} bins in blocks of {', '.join(map(str, sizes[1:]))} need {needed} sums")
    if total is not None and neighbours != "replace":
        raise PlanError("the number of records is private where neighbours add or remove one", do="leave total out")
    told = [row.astype(float) for row in released.values()]
    nest = Nest(bins, tuple(sizes), tuple(law.variance for law in noises))
    unbiased, spread = fitted(nest, told, total)
    laws = dict(zip(released, noises, strict=True))
    plain = PrivateHistogram(unbiased, spread, f"block_tree{PLAIN}", neighbours, epsilons or {}, laws, released)
    if not smooth or min(nest.variances) <= SMALLEST_VARIANCE:
        return plain
    fair = Unbiased(*fitted(nest, told, None)) if total is not None else Unbiased(unbiased, spread)
    measured = [Measured(*each) for each in zip(sizes[1:], told[1:], noises[1:], strict=True)]
    counts = smooth_blocks(told[0], noises[0], measured, fair, total)
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
    block_size: int | None = None,
    draw: Draw | None = None,
    smooth: bool = True,
) -> PrivateHistogram:
    """Release a histogram of whole counts that this process may see.

    ``purpose`` is what it will be asked: single "bins", "ranges", or "both". It changes what is accurate, not what is
    possible.

    Guarantee: ε-DP for the stated neighbours.
    Why: one record moves one count and one sum of each size by 1 (a replaced one two of each). Discrete Laplace noise
    of scale distance / ε₁ on the counts costs ε₁, on sums of blocks ε₂, on larger ones ε₃, and these add up to ε. The
    rest reads the noisy numbers only; with ``neighbours="replace"`` also the number of records, on which neighbours
    agree.
    Source: Dwork, McSherry, Nissim, Smith, TCC 2006; Ghosh, Roughgarden, Sundararajan, STOC 2009; sums beside
    counts: Hay, Rastogi, Miklau, Suciu, VLDB 2010; means over trees: Willems, Shtarkov, Tjalkens, IT 1995.
    """
    exact = exact_counts(counts)
    budget = split(epsilon, len(exact), neighbours, purpose)
    sizes = (1, block_size or budget.sizes[1], *budget.sizes[2:])
    draw = draw or Noise().laplace
    sums = [block_sums(exact, size) for size in sizes]
    noisy = [
        row + np.asarray(draw(scale, len(row)), dtype=np.int64) for row, scale in zip(sums, budget.scales, strict=True)
    ]
    return estimate_nested(
        noisy,
        sizes,
        [Law.of(scale) for scale in budget.scales],
        neighbours=neighbours,
        epsilons=budget.epsilons,
        total=int(exact.sum()) if neighbours == "replace" else None,
        smooth=smooth,
    )
