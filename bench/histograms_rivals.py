"""The six algorithms of the thesis, and block_tree, simulated: fast float noise in place of the exact samplers.

``conventions`` say how much noise each adds. "thesis" is what reproduces its tables, mixed as it is (docs/decisions/
0301): counts and sums carry noise for replaced records, differences and AHP for added ones, costs less than
a proof needs; the number of records is public. Only simulations may use it.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from privjail.histograms import Law, ahp, block_tree, dawa, partition, php
from privjail.histograms.buckets import averages, sums_of
from privjail.histograms.deviations import GRID, Deviations, steps
from privjail.histograms.structure_first import Structure

Floats = np.ndarray
REDRAWN = 20  # a partition of DAWA's takes a second, its sums no time: draw their noise this often for each
RNG = np.random.default_rng(20230123)


def halves(eps: float) -> tuple[float, float]:
    return eps / 4, 3 * eps / 4


def in_buckets(x: Floats, starts: Floats, scale: float) -> Floats:
    """Each bin as its share of its bucket's noisy sum, for all runs at once."""
    labels = np.cumsum(starts.ravel()) - 1
    sums = np.bincount(labels, weights=np.broadcast_to(x, starts.shape).ravel())
    means = (sums + RNG.laplace(0, scale, len(sums))) / np.bincount(labels)
    return means[labels].reshape(starts.shape)


def identity(x: Floats, eps: float, runs: int) -> Floats:
    return x + RNG.laplace(0, 2 / eps, (runs, len(x)))


def proposed(x: Floats, eps: float, runs: int) -> Floats:
    first, second = halves(eps)
    noise = RNG.laplace(0, 2 / first, (runs, len(x) - 1))
    return in_buckets(x, partition.starts(x, noise, 1 / second), 2 / second)


class Costs:
    """DAWA's costs of all intervals of one histogram, by where they end."""

    def __init__(self, x: Floats) -> None:
        self.lengths = dawa.lengths_of(len(x), every=True)
        self.ends = [np.float32(c / GRID) for c in dawa.costs(x, self.lengths)]


@lru_cache(maxsize=1)
def costs_of(x: bytes) -> Costs:
    return Costs(np.frombuffer(x))


def dp_summary(x: Floats, eps: float, runs: int) -> Floats:
    first, second = halves(eps)
    costs = costs_of(x.tobytes())
    starts = []
    for _ in range(-(-runs // REDRAWN)):
        noisy = [c + fast_laplace(len(c)) * np.float32(2 / first) for c in costs.ends]
        starts.append(dawa.cheapest(noisy, costs.lengths, 1 / second))
    return in_buckets(x, np.repeat(starts, REDRAWN, axis=0)[:runs], 2 / second)


def fast_laplace(n: int) -> Floats:
    size = RNG.standard_exponential(n, dtype=np.float32)
    return np.where(RNG.integers(0, 2, n, dtype=np.int8) == 1, size, -size)


def pick_like(sensitivity: float):
    """The exponential mechanism by Gumbel noise, with this sensitivity in place of the proven one."""

    def pick(scores: Floats, starts: Floats, _proven: float, eps: Fraction) -> Floats:
        noisy = scores * (float(eps) / (2 * sensitivity)) + RNG.gumbel(size=len(scores))
        if len(starts) == 1:
            return np.array([noisy.argmax()])
        best = np.maximum.reduceat(noisy, starts)
        group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(scores))))
        return np.flatnonzero(noisy == best[group])

    return pick


def php_runs(x: Floats, eps: float, runs: int) -> Floats:
    first, second = halves(eps)
    cost, pick = Deviations(x), pick_like(GRID)
    starts = [php.starts(cost, len(x), steps(2 / second, len(x)), Fraction(first), pick) for _ in range(runs)]
    return in_buckets(x, np.array(starts), 2 / second)


def squared_costs(x: Floats) -> Floats:
    n = len(x)
    sums, squares = (np.concatenate([[0.0], np.cumsum(v)]) for v in (x, x**2))
    cost = np.full((n + 1, n + 1), np.inf)
    for end in range(1, n + 1):
        begin = np.arange(end)
        cost[end, :end] = squares[end] - squares[:end] - (sums[end] - sums[:end]) ** 2 / (end - begin)
    return np.maximum(cost, 0.0)


@lru_cache(maxsize=1)
def structure_of(x: bytes) -> Structure:
    counts = np.frombuffer(x)
    return Structure(squared_costs(counts), 400 if len(counts) == 4096 else max(2, len(counts) // 10))


def structure_first(x: Floats, eps: float, runs: int) -> Floats:
    first, second = halves(eps)
    structure, pick = structure_of(x.tobytes()), pick_like(2 * x.max() + 1)
    starts = [structure.starts(0.0, Fraction(first), pick) for _ in range(runs)]
    return in_buckets(x, np.array(starts), 2 / second)


def ahp_runs(x: Floats, eps: float, runs: int) -> Floats:
    first, second = halves(eps)
    found = np.empty((runs, len(x)))
    for run in range(runs):
        labels = ahp.labels(x + RNG.laplace(0, 1 / first, len(x)), first, second)
        sums = sums_of(x.astype(np.int64), labels)
        found[run] = averages(sums + RNG.laplace(0, 1 / second, len(sums)), labels)
    return found


def geometric(scale: float, shape: tuple[int, ...]) -> Floats:
    p = -np.expm1(-1 / scale)
    return RNG.geometric(p, shape) - RNG.geometric(p, shape)


SIZE = block_tree.BLOCK_SIZE


def block_tree_runs(x: Floats, eps: float, runs: int, total_known: bool = True, neighbours: str = "replace") -> Floats:
    split = block_tree.split(eps, len(x), neighbours, "bins")
    exact = x.astype(np.int64)
    sums = block_tree.block_sums(exact)
    laws = Law.of(split.leaf_scale), Law.of(split.block_scale)
    total = int(exact.sum()) if total_known else None
    found = np.empty((runs, len(x)))
    for run in range(runs):
        leaves = exact + geometric(split.leaf_scale, exact.shape)
        blocks = sums + geometric(split.block_scale, sums.shape)
        found[run] = block_tree.estimate(leaves, blocks, SIZE, *laws, neighbours=neighbours, total=total).counts
    return found


def block_tree_without_total(x: Floats, eps: float, runs: int) -> Floats:
    return block_tree_runs(x, eps, runs, total_known=False)


THESIS = {
    "identity": identity,
    "dp_summary": dp_summary,
    "php": php_runs,
    "structure_first": structure_first,
    "ahp": ahp_runs,
    "proposed": proposed,
}
OURS = {"block_tree": block_tree_runs, "block_tree, total private": block_tree_without_total}
