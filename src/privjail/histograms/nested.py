"""Noisy sums of nested blocks of bins: least squares, and the exact variance of every range.

Level 0 are the bins; each block of a level is made of whole blocks of the level below, the last one of fewer. Each
level has noise of its own variance. A known number of records is one more level, a single block without noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from privjail.errors import PlanError
from privjail.histograms.laws import Floats


@dataclass(frozen=True)
class Nest:
    """How bins are nested: the size of a block at each level, from 1 up, and the variance of its noise."""

    bins: int
    sizes: tuple[int, ...]
    variances: tuple[float, ...]

    def __post_init__(self) -> None:
        rising = all(b > a and b % a == 0 for a, b in zip(self.sizes, self.sizes[1:], strict=False))
        if self.bins < 1 or self.sizes[:1] != (1,) or not rising or len(self.variances) != len(self.sizes):
            raise PlanError("levels begin with single bins, and each block holds whole blocks of the level below")
        if not all(v >= 0 for v in self.variances):
            raise PlanError("a variance is at least 0")

    def with_total(self) -> Nest:
        """The same with the number of records known."""
        whole = self.sizes[-1] * -(-self.bins // self.sizes[-1])
        if whole == self.sizes[-1]:  # the top level is one block already
            return Nest(self.bins, self.sizes, (*self.variances[:-1], 0.0))
        return Nest(self.bins, (*self.sizes, whole), (*self.variances, 0.0))

    def blocks(self, level: int) -> int:
        return -(-self.bins // self.sizes[level])

    def children(self, level: int) -> Any:
        """Where the blocks of a level begin among the blocks of the level below."""
        return np.arange(0, self.blocks(level - 1), self.sizes[level] // self.sizes[level - 1])

    @cached_property
    def told(self) -> list[Floats]:
        """The variance of each block's sum, as told by its own noisy sum and all that lies inside it."""
        found = [np.full(self.bins, self.variances[0])]
        for level in range(1, len(self.sizes)):
            below = np.add.reduceat(found[-1], self.children(level))
            reach = below + self.variances[level]
            found.append(np.divide(below * self.variances[level], reach, out=np.zeros_like(below), where=reach > 0))
        return found

    def shares(self, level: int) -> Floats:
        """Each block's share of the variance of the blocks beside it in the same block of the level above."""
        variances, starts = self.told[level], self.children(level + 1)
        inside = np.add.reduceat(variances, starts)
        counts = np.diff(np.append(starts, len(variances)))
        whole = np.repeat(inside, counts)
        even = 1 / np.repeat(counts, counts)  # nothing is uncertain: nothing will be shared out either
        return np.asarray(np.divide(variances, whole, out=even.astype(float), where=whole > 0))

    def least_squares(self, sums: list[Floats]) -> Floats:
        """The best linear unbiased estimate of the bins from noisy sums of all levels."""
        if [len(each) for each in sums] != [self.blocks(level) for level in range(len(self.sizes))]:
            raise PlanError(f"{self.bins} bins in blocks of {self.sizes} need other numbers of sums")
        told = [np.asarray(sums[0], dtype=float)]
        for level in range(1, len(self.sizes)):
            below = np.add.reduceat(told[-1], self.children(level))
            inside = np.add.reduceat(self.told[level - 1], self.children(level))
            reach = inside + self.variances[level]
            gain = np.divide(inside, reach, out=np.zeros_like(inside), where=reach > 0)
            told.append(below + gain * (sums[level] - below))
        estimate = told[-1]
        for level in range(len(self.sizes) - 2, -1, -1):
            starts = self.children(level + 1)
            gap = estimate - np.add.reduceat(told[level], starts)
            counts = np.diff(np.append(starts, len(told[level])))
            estimate = told[level] + self.shares(level) * np.repeat(gap, counts)
        return estimate


class NestedSpread:
    """The exact variance of ranges of the least-squares estimate.

    Let R be the part of a query inside a block of sum S: R = αS + ρ, ρ independent of S, α = 1 for a block inside the
    range and 0 for one outside. Blocks of variances v and shares w = v / Σv inside a block have α = Σ w α_c and
    Var ρ = Σ Var ρ_c + Σ v α_c² - (Σ v α_c)² / Σv. Only the two paths to the ends are neither inside nor outside.
    """

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self._before = [np.concatenate([[0.0], np.cumsum(told)]).tolist() for told in nest.told]

    def variance(self, a: int, b: int) -> float:
        return _variance(self, a, b)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NestedSpread) and other.nest == self.nest

    def __hash__(self) -> int:
        return hash(self.nest)

    def found(self, a: int, b: int) -> float:
        """The variance, computed; variance() remembers it for all releases of the same nest."""
        top = len(self.nest.sizes) - 1
        first, last, found = self._inside(top, 0, self.nest.blocks(top), a, b)
        return max(0.0, found + self._before[top][last] - self._before[top][first] if last > first else found)

    def _inside(self, level: int, begin: int, end: int, a: int, b: int) -> tuple[int, int, float]:
        """Of blocks begin … end-1: those wholly inside the range, and what the partial ones at its ends add."""
        size, bins = self.nest.sizes[level], self.nest.bins
        first = max(begin, min(end, -(-a // size)))
        last = max(begin, min(end, end if b >= bins else b // size))
        found = 0.0
        for block in {a // size, (b - 1) // size} if b > a else set():
            start, stop = block * size, min((block + 1) * size, bins)
            if begin <= block < end and not (a <= start and stop <= b):
                alpha, rest = self._look(level, block, max(a, start), min(b, stop))
                found += rest + alpha**2 * float(self.nest.told[level][block])
        return first, last, found

    def _look(self, level: int, block: int, a: int, b: int) -> tuple[float, float]:
        """α and Var ρ of the part a … b-1 of a block that is neither inside nor outside."""
        each = self.nest.sizes[level] // self.nest.sizes[level - 1]
        begin, end = block * each, min((block + 1) * each, self.nest.blocks(level - 1))
        before = self._before[level - 1]
        whole = before[end] - before[begin]
        size, bins = self.nest.sizes[level - 1], self.nest.bins
        first = max(begin, -(-a // size))
        last = min(end, end if b >= bins else b // size)
        linear = square = before[last] - before[first] if last > first else 0.0
        rest = 0.0
        for child in {a // size, (b - 1) // size}:
            start, stop = child * size, min((child + 1) * size, bins)
            if not (a <= start and stop <= b):
                alpha, own = self._look(level - 1, child, max(a, start), min(b, stop))
                v = float(self.nest.told[level - 1][child])
                linear, square, rest = linear + alpha * v, square + alpha**2 * v, rest + own
        if whole <= 0:
            return 0.0, rest
        return linear / whole, max(0.0, rest + square - linear**2 / whole)

    def covers(self, bins: int) -> bool:
        return self.nest.bins == bins

    def to_json(self) -> dict[str, Any]:
        nest = self.nest
        return {"shape": "nested", "bins": nest.bins, "sizes": list(nest.sizes), "variances": list(nest.variances)}

    @classmethod
    def from_json(cls, found: Any) -> NestedSpread:
        sizes, variances = (int(x) for x in found["sizes"]), (float(x) for x in found["variances"])
        return cls(Nest(int(found["bins"]), tuple(sizes), tuple(variances)))


@lru_cache(maxsize=1 << 14)
def _variance(spread: NestedSpread, a: int, b: int) -> float:
    return spread.found(a, b)
