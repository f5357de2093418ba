"""How far a released histogram may be off: the variance of the answer to any range query.

Each class is one shape of covariance that an algorithm leaves behind. All answer in a few microseconds.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from privjail.errors import PlanError
from privjail.histograms.laws import Floats


class Spread(Protocol):
    """The covariance of the counts, as far as range queries need it."""

    def variance(self, a: int, b: int) -> float:
        """The variance of the sum of bins a … b-1."""
        ...

    def to_json(self) -> dict[str, Any]: ...


class BlockSpread:
    """Independent bins of variance v, corrected by one noisy sum for each block of neighbouring bins.

    Given a block's sum with noise of variance s, the best correction leaves the covariance diag(v) - v vᵀ / (V + s)
    inside the block, V = Σ v; blocks stay independent. Without sums (s = ∞) the bins are just independent.
    """

    def __init__(self, bins: Floats, block_size: int, block_variance: float = math.inf) -> None:
        self.bins = np.asarray(bins, dtype=float)
        self.block_size = block_size
        self.block_variance = block_variance
        starts = np.arange(0, len(self.bins), block_size)
        total = np.add.reduceat(self.bins, starts) if len(self.bins) else np.zeros(0)
        # 0/0 where nothing was uncertain and nothing noisy: no correction is needed there
        reach = total + block_variance
        self._share = np.divide(1.0, reach, out=np.zeros_like(total), where=(reach > 0) & np.isfinite(reach))
        whole = total - total**2 * self._share
        self._bins = np.concatenate([[0.0], np.cumsum(self.bins)])
        self._blocks = np.concatenate([[0.0], np.cumsum(whole)])

    def variance(self, a: int, b: int) -> float:
        first, last = -(-a // self.block_size), b // self.block_size
        if first > last:  # inside one block
            return self._part(a, b)
        inner = self._blocks[last] - self._blocks[first]
        return float(inner) + self._part(a, first * self.block_size) + self._part(last * self.block_size, b)

    def _part(self, a: int, b: int) -> float:
        if a >= b:
            return 0.0
        v = float(self._bins[b] - self._bins[a])
        return max(0.0, v - v * v * float(self._share[a // self.block_size]))

    def to_json(self) -> dict[str, Any]:
        s = None if math.isinf(self.block_variance) else self.block_variance
        return {"shape": "blocks", "bins": self.bins.tolist(), "block_size": self.block_size, "block_variance": s}


def spread_from_json(found: Any) -> Spread:
    """The spread that to_json() described."""
    if isinstance(found, dict) and found.get("shape") == "blocks":
        s = found["block_variance"]
        return BlockSpread(np.array(found["bins"], dtype=float), int(found["block_size"]), math.inf if s is None else s)
    raise PlanError("this histogram does not say how far it may be off")
