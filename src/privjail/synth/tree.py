"""A tree of columns: which pairs depend on each other most, and what that says about all columns together.

Everything here is computed from noisy counts, at the client.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privjail.simplex import nonnegative

Pair = tuple[Any, Any]


@dataclass(frozen=True)
class Measured:
    """A table of counts with noise, and the standard deviation of the noise on each count."""

    counts: Any
    deviation: float

    def with_(self, other: Measured) -> Measured:
        """The best mean of two measurements of the same table."""
        mine, theirs = 1 / self.deviation**2, 1 / other.deviation**2
        return Measured((mine * self.counts + theirs * other.counts) / (mine + theirs), (mine + theirs) ** -0.5)


def shares(counts: Any) -> Any:
    """Chances that add up to 1: the nearest counts that are not negative, over their sum."""
    given = np.ravel(counts)
    flat = nonnegative(given) if given.sum() >= 0.5 else np.ones_like(given)  # fewer rows than one: nothing is known
    return (flat / flat.sum()).reshape(np.shape(counts))


def dependence(pair: Measured, left: Any, right: Any) -> float:
    """The mutual information of two columns, counting only cells that differ from independence by more than noise."""
    total = max(float(np.sum(pair.counts)), 1.0)
    alone = np.outer(left, right)
    found = np.asarray(pair.counts) / total
    beyond = max(2.0, np.sqrt(2 * np.log(alone.size)))  # standard deviations that the largest of so many may reach
    clear = np.abs(found - alone) > beyond * np.sqrt(pair.deviation**2 + total * alone) / total
    joint = np.where(clear, np.maximum(found, 0), alone)
    if not joint.any():  # all of it noise below zero
        return 0.0
    joint = joint / joint.sum()
    inside = (joint > 0) & (alone > 0)
    return float(np.sum(joint[inside] * np.log(joint[inside] / alone[inside])))


def spanning_tree(columns: list[Any], weights: dict[Pair, float]) -> list[Pair]:
    """The tree with the largest sum of dependences (Chow & Liu 1968), as (parent, child) from the first column on."""
    inside, edges = [columns[0]], []
    while len(inside) < len(columns):
        ends = [(weights[pair], pair) for pair in weights if (pair[0] in inside) != (pair[1] in inside)]
        _, (a, b) = max(ends, key=lambda end: end[0])
        edges.append((a, b) if a in inside else (b, a))
        inside.append(edges[-1][1])
    return edges


def conditional(pair: Any, parent: Any, child: Any) -> Any:
    """Chances of the child's bins for each bin of the parent; those of all rows where the parent is (nearly) never.

    The table is first fitted to both columns' own chances, which are known better than its cells (Deming & Stephan).
    """
    table = np.maximum(pair, 1e-12 * np.outer(parent, child) + 1e-300)
    for _ in range(50):
        table = table * (parent / np.maximum(table.sum(axis=1), 1e-300))[:, None]
        table = table * (child / np.maximum(table.sum(axis=0), 1e-300))[None, :]
    rows = table.sum(axis=1, keepdims=True)
    return np.where(rows > 1e-9, table / np.maximum(rows, 1e-300), child[None, :])


def joint(tree: list[Pair], chances: dict[Any, Any], given: dict[Any, Any], a: Any, b: Any) -> Any:
    """The chances of each pair of bins of two columns, in a row of the tree."""
    parents = {child: parent for parent, child in tree}

    def upward(name: Any) -> list[Any]:
        path = [name]
        while path[-1] in parents:
            path.append(parents[path[-1]])
        return path

    one, other = upward(a), upward(b)
    meet = next(name for name in one if name in other)
    start = np.diag(chances[meet])
    left, right = (_along(path[: path.index(meet)], given, len(chances[meet])) for path in (one, other))
    return left.T @ start @ right


def _along(path: list[Any], given: dict[Any, Any], size: int) -> Any:
    """Chances of a column's bins, for each bin of an ancestor."""
    step = np.eye(size)
    for name in reversed(path):
        step = step @ given[name]
    return step
