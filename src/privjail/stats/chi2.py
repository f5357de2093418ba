"""Pearson's test of independence on a noisy table of counts.

The statistic is Σ (observed - expected)² / (expected + variance of the noise), expected counts being those of margins.
Its law under independence is simulated: tables of that many rows with these margins (in their normal approximation)
plus noise of the same law, each put through the same steps (Gaboardi, Lim, Rogers, Vadhan, ICML 2016).
"""

from __future__ import annotations

from typing import Any

import numpy

from privjail.budget.amounts import amount
from privjail.stats.draws import Array, laplace, normal
from privjail.stats.result import Independence
from privjail.stats.words import chi2_called

DRAWS = 2_000
LEAST = 5.0  # expected rows in each cell, beyond the noise


def chi2_test(df: Any, a: Any = None, b: Any = None, *, eps: Any = None) -> Independence:
    """Whether two columns with finitely many values depend on each other, from one release of their table.

    >>> result = stats.chi2_test(df, "sex", "ward", eps=1)
    """
    chi2_called(df, a, b, eps)
    counts = df.groupby([a, b]).size()
    scale = float(counts._value.joint.l1) / float(amount(eps))
    found = counts.reveal(eps=eps)
    table = numpy.asarray(found, dtype=float).reshape([len(axis) for axis in counts._value.index])
    return independence(table, scale, f"{a} and {b}")


def independence(table: Array, scale: float, what: str = "two columns") -> Independence:
    """From a noisy table and the scale of its noise."""
    rows = float(table.sum())
    expected = _expected(table[None])[0]
    reliable = bool(expected.min() >= LEAST + scale)
    statistic = float(_statistic(table[None], scale)[0])
    if not reliable:
        return Independence(what, statistic, 1.0, rows, reliable=False)
    shares = expected / expected.sum()
    z = normal("cells", DRAWS, *table.shape)
    swing = numpy.sqrt(expected) * z - shares * (numpy.sqrt(expected) * z).sum(axis=(1, 2), keepdims=True)
    simulated = _statistic(expected + swing + laplace("noise", scale, DRAWS, *table.shape), scale)
    pvalue = (1 + int((simulated >= statistic).sum())) / (1 + DRAWS)
    return Independence(what, statistic, pvalue, rows, reliable=True)


def _expected(tables: Array) -> Array:
    """Expected counts under independence, from margins that are at least one row each."""
    across = numpy.maximum(tables.sum(axis=2, keepdims=True), 1.0)
    down = numpy.maximum(tables.sum(axis=1, keepdims=True), 1.0)
    found: Array = across * down / numpy.maximum(tables.sum(axis=(1, 2), keepdims=True), 1.0)
    return found


def _statistic(tables: Array, scale: float) -> Array:
    expected = _expected(tables)
    found: Array = ((tables - expected) ** 2 / (expected + 2 * scale**2)).sum(axis=(1, 2))
    return found
