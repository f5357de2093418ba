"""Which sums of blocks are released, and what share of ε each size gets: from public facts and released numbers."""

from __future__ import annotations

import math
from fractions import Fraction

from privjail.errors import PlanError
from privjail.histograms.postprocess import BLOCK_SIZE

PURPOSES = ("bins", "both", "ranges")
BINS_ODDS = 85 / 15  # counts to blocks, where single bins are asked: blocks keep long ranges from drifting
NEAR_BEST = 1.03  # of nests that differ by less, the coarsest is taken: it leaves most to smoothing
CROWDED = 4.0  # records times ε in a block that is told from noise
LEAST_WIDTH = 16  # of such a block; narrower ones are left to smoothing
LEAST_BLOCKS = 8  # so many of them at least
FEW = Fraction(3, 10)  # what counts get where they say next to nothing


def shares(bins: int, purpose: str, crowd: float | None = None) -> dict[int, Fraction]:
    """The sizes of blocks that are summed, 1 for single bins, and the share of ε of each.

    A share s has noise of variance 2 / s². With k blocks of the largest size, a prefix holds k / 2 of them on average,
    a random range k / 3. At each end of it, of a block that consists of f smaller ones, f / 6 times their variance is
    left. So prefixes and random ranges together have Σ c · 2 / s² for c = 5k / 12 at the top and f / 4 below; that is
    least for s proportional to c**(1/3), and then 2 (Σ c**(1/3))³. Single bins have 2 / s² of the first share alone.
    For bins, blocks of 128 get 15 %, which keeps long ranges from drifting. For both, the odds of counts to blocks of
    128 are the geometric mean of those for bins and of (128 / 3k)**(1/3), the best ones for prefixes.

    ``crowd`` is about how many records there are for each bin, times ε, if that is known. Where it is far below 1, a
    bin's count says next to nothing. For ranges, 30 % of ε is left for counts then, and the rest is divided as for
    bins that are ``CROWDED`` / crowd times as wide. For both, ε is divided as for ranges.
    """
    if purpose not in PURPOSES:
        raise PlanError(f"a histogram is for {', '.join(PURPOSES)}, not for {purpose!r}")
    width = 1 if crowd is None or not depends_on_records(bins, purpose) else _wide_enough(bins, crowd)
    if purpose == "ranges" and width > 1:
        wide = _for_ranges(-(-bins // width))
        return {1: FEW} | {size * width: share * (1 - FEW) for size, share in wide.items()}
    if purpose == "ranges" or width > 1:
        return _for_ranges(bins)
    blocks = -(-bins // BLOCK_SIZE)
    ranges_odds = (BLOCK_SIZE / (3 * blocks)) ** (1 / 3)
    odds = BINS_ODDS if purpose == "bins" else math.sqrt(BINS_ODDS * ranges_odds)
    leaf = Fraction(round(100 * odds / (1 + odds)), 100)
    return {1: leaf, BLOCK_SIZE: 1 - leaf}


def depends_on_records(bins: int, purpose: str) -> bool:
    """Whether the number of records can change sizes and shares."""
    return purpose != "bins" and bins > BLOCK_SIZE


def _wide_enough(bins: int, crowd: float) -> int:
    """How many bins together hold enough records to be told from noise: a power of two, or 1 if few would do."""
    wanted = round(math.log2(CROWDED / max(crowd, CROWDED / bins)))
    width = 2 ** min(wanted, (bins // LEAST_BLOCKS).bit_length() - 1)
    return width if width >= LEAST_WIDTH else 1


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
