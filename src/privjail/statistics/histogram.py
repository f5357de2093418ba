"""Histograms: noisy counts between public edges."""

from __future__ import annotations

import math
from typing import Any

from privjail.answers import noisy
from privjail.answers.answer import Answer
from privjail.budget.amounts import amount, exact
from privjail.errors import PlanError, unbounded
from privjail.mechanisms.laplace import Laplace
from privjail.ops.columns.cut import Cut
from privjail.ops.numbers.tally import Tally
from privjail.plan.domain import FloatDomain, IntDomain, Interval
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.rowwise import numeric


def histogram(rows: Rows, expr: Expr, bins: Any, eps: Any) -> tuple[Tally, list[Answer]]:
    """A tally by interval, and its noisy counts. ``bins``: public edges, or a number of equal parts of the range."""
    tally = Tally(rows, (binned(rows, numeric(expr), bins),), None)
    counts, facts = noisy.release(tally, Laplace(amount(eps)))
    return tally, [Answer(x, known) for x, known in zip(counts, facts, strict=True)]


def binned(rows: Rows, expr: Expr, bins: Any, closed: str = "left") -> Cut:
    """A column of numbers as intervals: half-open as numpy's, [a, b), and the last one with its right edge; or with
    closed="right" those of pandas.cut, (a, b], the first one with its left edge.

    numpy's last interval takes its right edge in: it ends at the next float above it.
    """
    if isinstance(bins, int) and not isinstance(bins, bool):
        edges = equal_parts(rows, expr, bins)
    else:
        edges = [float(exact(e, "an edge")) for e in bins]
    if closed == "right":
        return Cut(expr, tuple(Lit.of(e) for e in edges), None, 1, 1)
    edges[-1] = math.nextafter(edges[-1], math.inf)
    return Cut(expr, tuple(Lit.of(e) for e in edges), None, 0, 0)


def intervals(tally: Tally) -> tuple[Interval, ...]:
    """The intervals of a half-open histogram as numpy means them: the last one ends at its edge, and takes it in."""
    labels = tally.index[0]
    last = labels[-1]
    return (*labels[:-1], Interval(last.left, math.nextafter(last.right, -math.inf), "both"))


def equal_parts(rows: Rows, expr: Expr, bins: int) -> list[float]:
    """The edges of equal parts of a column's declared range."""
    domain = expr.domain
    if not isinstance(domain, (IntDomain, FloatDomain)):
        raise PlanError(f"bins need numbers, not {domain.dtype}")
    if not domain.bounded:
        raise unbounded(f"{rows} | {expr}")
    if bins < 1:
        raise PlanError("at least one bin is needed")
    low, high = float(domain.lower), float(domain.upper)
    if low == high:
        return [low - 0.5, high + 0.5]
    return [low + (high - low) * (i / bins) for i in range(bins)] + [high]
