"""Quantiles, minima and maxima: the candidate value that splits the rows best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from privjail import session
from privjail.budget.amounts import amount, exact
from privjail.errors import PlanError, unbounded
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.plan.domain import FloatDomain, IntDomain, Numeric
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.release import Query
from privjail.rowwise import numeric

CANDIDATES = 1001


def quantiles(rows: Rows, expr: Expr, shares: Sequence[Any], eps: Any) -> list[float]:
    """One quantile for each share of the rows between 0 and 1; together they cost eps."""
    wanted = [exact(x, "q") for x in shares]
    if not wanted or any(not 0 <= x <= 1 for x in wanted):
        raise PlanError("quantiles lie between 0 and 1")
    return chosen([quantile_ask(rows, expr, x, amount(eps) / len(wanted)) for x in wanted])


def extreme(rows: Rows, expr: Expr, which: str, eps: Any) -> float:
    """A value that few rows lie beyond, ``which`` being "min" or "max"."""
    return chosen([extreme_ask(rows, expr, which, amount(eps))])[0]


def chosen(asks: list[Query]) -> list[float]:
    """Release several choices among candidates; the value of each candidate that was chosen."""
    return [candidate(ask, position) for ask, position in zip(asks, session.release(asks), strict=True)]


def candidate(ask: Query, position: int) -> float:
    """The value of a candidate."""
    assert isinstance(ask.value, QuantileScores)
    return float(ask.value.candidates[position].value)


def quantile_ask(rows: Rows, expr: Expr, q: Fraction, eps: Fraction) -> Query:
    """The request for one quantile."""
    expr = numeric(expr)
    candidates = candidates_of(rows, expr, "a quantile")
    return Query(QuantileScores(rows, expr, candidates, 1 - q, q, Fraction(0)), NoisyMax(eps))


def extreme_ask(rows: Rows, expr: Expr, which: str, eps: Fraction) -> Query:
    """The request for the value beyond which about t rows lie, t being what the noise would invent on its own."""
    expr = numeric(expr)
    candidates = candidates_of(rows, expr, which)
    target = Fraction(math.ceil(2 * math.log(20 * len(candidates)) / float(eps)))
    sides = (Fraction(0), Fraction(1), -target) if which == "max" else (Fraction(1), Fraction(0), target)
    return Query(QuantileScores(rows, expr, candidates, *sides), NoisyMax(eps))


def candidates_of(rows: Rows, expr: Expr, what: str) -> tuple[Lit, ...]:
    """The public candidates: all whole numbers of a small range, else evenly spaced ones."""
    if not isinstance(expr.domain, (IntDomain, FloatDomain)):
        raise PlanError(f"{what} needs numbers, not {expr.domain.dtype}")
    if not expr.domain.bounded:
        raise unbounded(f"{rows} | {expr}")
    return tuple(Lit.of(v) for v in dict.fromkeys(_spaced(expr.domain)))


def _spaced(domain: Numeric) -> Sequence[Any]:
    low, high = domain.lower, domain.upper
    if isinstance(domain, IntDomain):
        step = max(1, -(-(high - low) // (CANDIDATES - 1)))
        return [*range(low, high, step), high]
    values = [low + (high - low) * (i / (CANDIDATES - 1)) for i in range(CANDIDATES - 1)] + [high]
    if not all(map(math.isfinite, values)):
        raise PlanError("the range is too wide for quantiles", do="clip the column to a smaller range")
    return values
