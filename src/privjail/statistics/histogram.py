"""Histograms: noisy counts between public edges."""

from __future__ import annotations

from typing import Any

from privjail.answers import noisy
from privjail.answers.answer import Answer
from privjail.budget.amounts import amount, exact
from privjail.errors import PlanError, unbounded
from privjail.mechanisms.laplace import Laplace
from privjail.ops.columns.cut import Cut
from privjail.ops.numbers.tally import Tally
from privjail.plan.domain import FloatDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.rowwise import numeric


def histogram(rows: Rows, expr: Expr, bins: Any, eps: Any) -> tuple[Tally, list[Answer]]:
    """A tally by interval, and its noisy counts. ``bins``: public edges, or a number of equal parts of the range."""
    tally = Tally(rows, (binned(rows, numeric(expr), bins),), None)
    counts, facts = noisy.release(tally, Laplace(amount(eps)))
    return tally, [Answer(x, known) for x, known in zip(counts, facts, strict=True)]


def binned(rows: Rows, expr: Expr, bins: Any) -> Cut:
    """A column of numbers as intervals."""
    if isinstance(bins, int) and not isinstance(bins, bool):
        edges = _equal_parts(rows, expr, bins)
    else:
        edges = [float(exact(e, "an edge")) for e in bins]
    return Cut(expr, tuple(Lit.of(e) for e in edges), None, 1, 1)


def _equal_parts(rows: Rows, expr: Expr, bins: int) -> list[float]:
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
