"""Logistic regression where rows are few for the number of columns: one direction, then a curve along it.

Tables for each column would be mostly noise there. Instead all columns are one sum: for each row the vector of its
columns, times 1 - p or -p by its class, shortened to a common bound. This is the slope of the logistic loss, and its
direction is that of the coefficients. Where a row lies along it is one number: how the odds depend on that, counts by
class tell at little cost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from privjail.learn.bins import Bins, bins_of
from privjail.learn.lengths import bound_of, summed
from privjail.learn.spending import Spending
from privjail.numpy.arrays import PrivArray, cells_of
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.norms import Dot
from privjail.ops.numbers.tally import Tally
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows

BINS = 32  # of each column of numbers
ALONG = 32  # bins along the direction
MIDDLE, LENGTH, CURVE = 0.1, 0.07, 0.2  # shares of the price; the rest is for the direction


class Direction:
    """One fit: ``intercept``, ``tables`` and ``bins`` as those of the additive models."""

    def __init__(self, rows: Rows, columns: dict[Any, Expr], target: Expr, positive: Expr, spending: Spending) -> None:
        self.rows, self.target, self.positive, self.spending = rows, target, positive, spending
        self.bins = {name: bins_of(name, each, BINS) for name, each in columns.items()}
        self.keys = {name: bins.key(columns[name]) for name, bins in self.bins.items()}
        self.intercept = 0.0
        self.tables: dict[Any, Any] = {}

    def run(self, share: float) -> None:
        middle, p = self._middle(MIDDLE * share)
        self._aim(middle, p, share)
        self._along(CURVE * share)

    def _middle(self, share: float) -> tuple[float, float]:
        """Where the numbers of all columns lie on average, from 0 to 1 over their ranges; the share of the class."""
        numbers = [self._looked_up(name, place(bins)) for name, bins in self.bins.items() if not bins.labels]
        tallies = [Tally(self.rows, (self.target,), None)]
        if numbers:
            mean = Dot(tuple(numbers), (Lit.of(1 / len(numbers)),) * len(numbers))
            tallies.append(Tally(self.rows, (self.target,), mean))
        answers, _ = self.spending.release_all(tallies, share, "rows and mean by class")
        counts = np.maximum(np.asarray(answers[0], dtype=float), 1.0)
        middle = float(np.clip(np.sum(answers[-1]) / counts.sum(), 0, 1)) if numbers else 0.0
        return middle, float(np.clip(counts[1] / counts.sum(), 0.1, 0.9))

    def _looked_up(self, name: Any, table: Any) -> Expr:
        return self.bins[name].looked_up(self.keys[name], table)

    def _aim(self, middle: float, p: float, share: float) -> None:
        """The direction: one sum over the rows of (class - p) times what each column shows."""
        shown = {name: features(bins, middle) for name, bins in self.bins.items()}
        missed = Arithmetic("-", Cast(self.positive, "Float64"), Constant(Lit.of(p)))
        exprs = [
            Arithmetic("*", missed, self._looked_up(name, each)) for name, tables in shown.items() for each in tables
        ]
        array = PrivArray(self.rows, cells_of(exprs))
        left = share * (1 - MIDDLE - LENGTH - CURVE)
        bound = bound_of(array, self.spending, share * LENGTH, left, "rows by length")
        found, _ = summed(array, bound, self.spending, left, "direction")
        found = found / max(float(np.abs(found).max()), 1e-9)
        at = 0
        for name, tables in shown.items():
            weights = found[at : at + len(tables)]
            self.tables[name] = np.sum([w * each for w, each in zip(weights, tables, strict=True)], axis=0)
            at += len(tables)

    def _along(self, share: float) -> None:
        """How the odds depend on where a row lies: a straight line, fitted to noisy counts by class."""
        low, high = (sum(float(end(table)) for table in self.tables.values()) for end in (np.min, np.max))
        if not high > low:
            low, high = -1.0, 1.0
        edges = np.linspace(low, np.nextafter(high, np.inf), ALONG + 1)
        score = Dot(tuple(self._looked_up(n, t) for n, t in self.tables.items()), (Lit.of(1.0),) * len(self.tables))
        key = Bins("score", (), tuple(edges.tolist()), True, False).key(score)
        answers, deviation = self.spending.release_all([Tally(self.rows, (key, self.target), None)], share, "curve")
        counts = np.reshape(answers[0], (-1, 2))
        self.intercept, slope = line(edges, counts, deviation)
        self.tables = {name: slope * table for name, table in self.tables.items()}


def place(bins: Bins) -> Any:
    """Where the middle of each bin of numbers lies, from 0 to 1; amounts on their logarithmic scale."""
    scale = bins.scales(1)[1 if bins.logarithmic else 0]
    return (np.asarray(scale) + 1) / 2


def features(bins: Bins, middle: float) -> list[Any]:
    """What a column adds to the vector of a row, by bin: its number less the middle; indicators of a category."""
    if bins.labels:
        return list(np.eye(bins.size)[: bins.known])
    table = place(bins) - middle
    table[bins.known :] = 0.0  # a missing value
    return [table]


def line(edges: Any, counts: Any, deviation: float) -> tuple[float, float]:
    """Intercept and slope of the log odds along a direction, from noisy counts by bin and class.

    The odds are even at the edge that parts the classes with the fewest errors. From there the slope follows by
    Newton's steps. Bins that hold no more rows than noise does are left out.
    """
    held = np.where(counts.sum(axis=1, keepdims=True) > deviation, counts, 0.0)
    even = edges[int(np.argmax(np.concatenate([[0.0], np.cumsum(held[:, 0] - held[:, 1])])))]
    unit = max(float(edges[-1] - edges[0]) / 10, 1e-9)
    x = ((edges[:-1] + edges[1:]) / 2 - even) / unit
    rows, slope = np.maximum(held, 0).sum(axis=1), 0.0
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(slope * x, -30, 30)))
        step = (x @ (np.maximum(held[:, 1], 0) - p * rows) - slope) / (x**2 @ (p * (1 - p) * rows) + 1)
        slope = float(np.clip(slope + np.clip(step, -2, 2), 0.01, 100))
    return -slope * even / unit, slope / unit
