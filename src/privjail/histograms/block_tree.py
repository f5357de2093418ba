"""Noisy counts of bins and of blocks of bins, then all that can be learnt from them without further budget.

The data are touched by additions only: one noisy count for each bin, one noisy sum for each block of bins. So
two servers can make the release on shares or ciphertexts (privjail.encrypted). What follows is post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from privjail.budget.amounts import amount, float_up
from privjail.errors import PlanError
from privjail.histograms.counts import exact_counts
from privjail.histograms.histogram import PLAIN, PrivateHistogram
from privjail.histograms.laws import Draw, Floats, Integers, Law
from privjail.histograms.nested import Nest, NestedSpread
from privjail.histograms.postprocess import BLOCK_SIZE, block_sums, whole
from privjail.histograms.relation import RELATIONS, per_record
from privjail.histograms.shares import PURPOSES, depends_on_records, shares
from privjail.histograms.smoothing import Measured, Unbiased, smooth_blocks
from privjail.mechanisms.noise import Noise

__all__ = ["BLOCK_SIZE", "PURPOSES", "Split", "block_sums", "estimate", "estimate_nested", "release", "shares", "split"]

SMALLEST_VARIANCE = 1e-6  # below that the counts are as good as exact
NAMES = ("leaves", "blocks", "large blocks")
RECORDS = "records"  # the name of the number of records, the sum of one block that holds all bins
TOTAL_SHARE = Fraction(3, 100)  # of ε, for the number of records, where sizes and shares depend on it


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
        return dict(zip(level_names(len(self.each)), self.each, strict=True))

    @property
    def leaf_scale(self) -> float:
        return self.scales[0]

    @property
    def block_scale(self) -> float:
        return self.scales[1]


def split(
    epsilon: Any, bins: int, neighbours: str = "add-remove", purpose: str = "both", records: float | None = None
) -> Split:
    """How ε is divided. One record changes the sums of each size by 1 in all; a replaced one by 2.

    ``records`` is about how many there are, where that is public: with few for each bin, other sums are better.
    """
    budget = per_record(epsilon, neighbours)
    found = shares(bins, purpose, None if records is None else float(budget) * max(records, 0.0) / bins)
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
    bins = len(np.atleast_1d(np.asarray(sums[0]))) if len(sums) else 0
    names = _names(sizes, bins)
    released: dict[str, Integers] = {name: whole(row, name) for name, row in zip(names, sums, strict=False)}
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
    of scale distance / ε₁ on the counts costs ε₁, on sums of blocks ε₂, on larger ones ε₃, and these add up to ε. Which
    sizes are summed may depend on the number of records. That is released first, with noise, for 3 % of ε, and all else
    reads the noisy number; with ``neighbours="replace"`` the number itself, on which neighbours agree.
    Source: Dwork, McSherry, Nissim, Smith, TCC 2006; Ghosh, Roughgarden, Sundararajan, STOC 2009; sums beside
    counts: Hay, Rastogi, Miklau, Suciu, VLDB 2010; means over trees: Willems, Shtarkov, Tjalkens, IT 1995.
    """
    exact = exact_counts(counts)
    draw = draw or Noise().laplace
    public = int(exact.sum()) if neighbours == "replace" else None
    asked = public is None and block_size is None and depends_on_records(len(exact), purpose)
    first = amount(epsilon) * TOTAL_SHARE if asked else Fraction(0)
    told = _told(int(exact.sum()), first, neighbours, len(exact), draw) if asked else None
    about = float(told.sums[0]) if told else public
    budget = split(amount(epsilon) - first, len(exact), neighbours, purpose, about)
    sizes = (1, block_size, *budget.sizes[2:]) if block_size else budget.sizes
    noisy = [
        row + np.asarray(draw(scale, len(row)), dtype=np.int64)
        for row, scale in zip([block_sums(exact, size) for size in sizes], budget.scales, strict=True)
    ]
    if told:  # the number of records is one more sum, of a block that holds all bins
        noisy, sizes = [*noisy, told.sums], (*sizes, told.size)
        budget = Split(sizes, (*budget.each, first), (*budget.scales, told.scale))
    names = _names(sizes, len(exact))
    return estimate_nested(
        noisy,
        sizes,
        [Law.of(scale) for scale in budget.scales],
        neighbours=neighbours,
        epsilons=dict(zip(names, budget.each, strict=True)),
        total=public,
        smooth=smooth,
    )


def level_names(count: int) -> tuple[str, ...]:
    """Names of so many sizes of blocks, from single bins upward."""
    return (*NAMES, *(f"blocks of level {i}" for i in range(len(NAMES), count)))[:count]


def _names(sizes: Sequence[int], bins: int) -> tuple[str, ...]:
    counted = len(sizes) > 2 and sizes[-1] >= bins
    return (*level_names(len(sizes) - 1), RECORDS) if counted else level_names(len(sizes))


class Told(NamedTuple):
    """The noisy number of records, as the sum of one block that holds all bins."""

    sums: Integers
    size: int
    scale: float


def _told(records: int, epsilon: Fraction, neighbours: str, bins: int, draw: Draw) -> Told:
    scale = float_up(1 / per_record(epsilon, neighbours))
    noise = np.asarray(draw(scale, 1), dtype=np.int64)
    return Told(records + noise, 1 << (bins - 1).bit_length(), scale)
