"""How far a released histogram may be off: the variance of the answer to any range query.

Each class is one shape of covariance that an algorithm leaves behind.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from privjail.errors import PlanError
from privjail.histograms.laws import Integers
from privjail.histograms.nested import NestedSpread


class Spread(Protocol):
    """The covariance of the counts, as far as range queries need it."""

    def variance(self, a: int, b: int) -> float:
        """The variance of the sum of bins a … b-1."""
        ...

    def covers(self, bins: int) -> bool:
        """Whether this is the spread of so many bins."""
        ...

    def to_json(self) -> dict[str, Any]: ...


class BucketSpread:
    """Each bin is its share of its bucket's noisy sum. What averaging hides of the bins is not known, nor in here."""

    def __init__(self, labels: Integers, variance: float) -> None:
        self.labels, self.noise = np.asarray(labels, dtype=np.int64), variance
        self._sizes = np.bincount(self.labels)

    def variance(self, a: int, b: int) -> float:
        inside = np.bincount(self.labels[a:b], minlength=len(self._sizes))
        return self.noise * float(((inside / self._sizes) ** 2).sum())

    def covers(self, bins: int) -> bool:
        return self.labels.shape == (bins,)

    def to_json(self) -> dict[str, Any]:
        return {"shape": "buckets", "labels": self.labels.tolist(), "variance": self.noise}


class TreeSpread:
    """Least squares over a tree of noisy sums: ``fanout`` children each, noise of the same variance everywhere.

    Let R be the part of a query below a node of sum S. R = αS + ρ, ρ independent of S: a leaf has α = 1 inside and 0
    outside; children of variance v each give α = mean α_c and Var ρ = Σ Var ρ_c + v (Σ α_c² - fanout·α²). Only the
    two paths to the ends of the range are neither all inside nor all outside.
    """

    def __init__(self, bins: int, fanout: int, depth: int, noise: float) -> None:
        self.bins, self.fanout, self.depth, self.noise = bins, fanout, depth, noise
        self._below = [noise]  # variance of a node's sum, told by itself and all below it; from the leaves up
        for _ in range(depth - 1):
            self._below.append(1 / (1 / noise + 1 / (fanout * self._below[-1])))

    def variance(self, a: int, b: int) -> float:
        width = self.fanout ** (self.depth - 1)
        found = 0.0
        for start in range(0, self.bins, width):
            alpha, rest = self._look(self.depth - 1, start, width, a, b)
            found += rest + alpha**2 * self._below[-1]
        return found

    def _look(self, height: int, start: int, width: int, a: int, b: int) -> tuple[float, float]:
        if a <= start and start + width <= b:
            return 1.0, 0.0
        if b <= start or start + width <= a:
            return 0.0, 0.0
        step = width // self.fanout
        looks = [self._look(height - 1, start + i * step, step, a, b) for i in range(self.fanout)]
        alpha = sum(x for x, _ in looks) / self.fanout
        own = self._below[height - 1] * (sum(x * x for x, _ in looks) - self.fanout * alpha**2)
        return alpha, sum(rest for _, rest in looks) + own

    def covers(self, bins: int) -> bool:
        return self.bins >= bins

    def to_json(self) -> dict[str, Any]:
        kept = {"bins": self.bins, "fanout": self.fanout, "depth": self.depth, "noise": self.noise}
        return {"shape": "tree", **kept}


class WaveletSpread:
    """A Haar tree: the total and, for each node, left less right, all with noise of the same variance.

    A node of width w adds ±d / w to each of its bins, so a range that holds l bins of its left half and r of its right
    one has (l - r) d / w of its noise.
    """

    def __init__(self, width: int, noise: float) -> None:
        self.width, self.noise = width, noise

    def variance(self, a: int, b: int) -> float:
        found = ((b - a) / self.width) ** 2
        width = self.width
        while width > 1:
            for start in {a // width * width, max(b - 1, a) // width * width}:  # others lie inside or outside
                middle, end = start + width // 2, start + width
                left = max(0, min(b, middle) - max(a, start))
                right = max(0, min(b, end) - max(a, middle))
                found += ((left - right) / width) ** 2
            width //= 2
        return found * self.noise

    def covers(self, bins: int) -> bool:
        return self.width >= bins

    def to_json(self) -> dict[str, Any]:
        return {"shape": "wavelet", "width": self.width, "noise": self.noise}


def spread_from_json(found: Any) -> Spread:
    """The spread that to_json() described."""
    if isinstance(found, dict) and found.get("shape") == "nested":
        return NestedSpread.from_json(found)
    if isinstance(found, dict) and found.get("shape") == "buckets":
        return BucketSpread(np.array(found["labels"], dtype=np.int64), float(found["variance"]))
    if isinstance(found, dict) and found.get("shape") == "tree":
        return TreeSpread(int(found["bins"]), int(found["fanout"]), int(found["depth"]), float(found["noise"]))
    if isinstance(found, dict) and found.get("shape") == "wavelet":
        return WaveletSpread(int(found["width"]), float(found["noise"]))
    raise PlanError("this histogram does not say how far it may be off")
