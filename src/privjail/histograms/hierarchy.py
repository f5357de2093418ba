"""H_b: noisy sums at every level of a tree, made consistent by least squares."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from privjail.budget.amounts import amount, float_up
from privjail.errors import PlanError
from privjail.histograms.counts import exact_counts
from privjail.histograms.histogram import PrivateHistogram
from privjail.histograms.laws import Draw, Floats, Law
from privjail.histograms.relation import per_record
from privjail.histograms.spread import TreeSpread
from privjail.mechanisms.noise import Noise

FANOUT = 16


def depth_of(bins: int, fanout: int) -> int:
    """How many levels there are: leaves, and sums up to (but without) the sum of all."""
    depth = 1
    while fanout**depth < bins:
        depth += 1
    return depth


def tree_sums(counts: npt.ArrayLike, fanout: int) -> list[npt.NDArray[Any]]:
    """The counts, filled with zeros to whole nodes of the top level, and their sums, level by level."""
    given = np.asarray(counts)
    depth = depth_of(len(given), fanout)
    top = fanout ** (depth - 1)
    levels = [np.concatenate([given, np.zeros(-len(given) % top, dtype=given.dtype)])]
    for _ in range(depth - 1):
        levels.append(levels[-1].reshape(-1, fanout).sum(axis=1))
    return levels


def consistent_tree(levels: list[Floats], fanout: int) -> Floats:
    """The least-squares estimate of the leaves from noisy sums, all of the same variance."""
    told, variances = [levels[0]], [1.0]
    for level in levels[1:]:
        below, variance = told[-1].reshape(-1, fanout).sum(axis=1), fanout * variances[-1]
        variances.append(variance / (1 + variance))
        told.append(below + variances[-1] * (level - below))
    estimate = told[-1]
    for below in reversed(told[:-1]):
        parts = below.reshape(-1, fanout)
        estimate = (parts + (estimate - parts.sum(axis=1))[:, None] / fanout).ravel()
    return estimate


def release(
    counts: npt.ArrayLike,
    epsilon: Any,
    *,
    fanout: int = FANOUT,
    neighbours: str = "add-remove",
    draw: Draw | None = None,
) -> PrivateHistogram:
    """Sums of ranges at every level of a tree with this many children, then least squares.

    Guarantee: ε-DP for the stated neighbours.
    Why: one record is in one node of each level, so it moves all sums together by the number of levels.
    Source: Hay, Rastogi, Miklau, Suciu, VLDB 2010; fanouts: Qardaji, Yang, Li, VLDB 2013.
    """
    exact = exact_counts(counts)
    if fanout < 2:
        raise PlanError("a tree needs at least two children for each node")
    sums = tree_sums(exact, fanout)
    scale = float_up(len(sums) / per_record(epsilon, neighbours))
    draw = draw or Noise().laplace
    noisy = [level + np.asarray(draw(scale, len(level)), dtype=np.int64) for level in sums]
    law = Law.of(scale)
    estimate = consistent_tree([level.astype(float) for level in noisy], fanout)[: len(exact)]
    spread = TreeSpread(len(sums[0]), fanout, len(sums), law.variance)
    names = [f"level {i}" for i in range(len(sums))]
    each = amount(epsilon) / len(sums)
    return PrivateHistogram(
        estimate,
        spread,
        f"hierarchy of {fanout}",
        neighbours,
        dict.fromkeys(names, each),
        dict.fromkeys(names, law),
        dict(zip(names, noisy, strict=True)),
    )
