"""Bounds found in the data: a range that holds almost all values, from one noisy histogram.

An ordinary program over one release. Values are counted between public edges that double, 0, 1, 2, 4, …, on both sides
of 0 (for floats also below 1). The chosen range leaves out what is a small share of all values, or no more than the
noise could make up. So it costs eps whatever comes out, and the range is public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from privjail.answers import noisy
from privjail.budget.amounts import amount
from privjail.errors import PlanError
from privjail.mechanisms.laplace import Laplace
from privjail.ops.columns.cut import Cut
from privjail.ops.numbers.tally import Tally
from privjail.plan.domain import FloatDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.rowwise import numeric

OUTSIDE = 0.005  # the share of values that may lie beyond each end
FINEST, WIDEST = -20, 50  # powers of two


def doubling_edges(domain: IntDomain | FloatDomain) -> list[float]:
    """0 and the powers of two on both sides of it, as far as the declared range reaches."""
    first = 0 if isinstance(domain, IntDomain) else FINEST
    powers = [2.0**k for k in range(first, WIDEST + 1)]
    edges = [-math.inf, *(-x for x in reversed(powers)), 0.0, *powers, math.inf]
    if domain.lower is not None:
        edges = [e for e in edges if e > domain.lower]
        edges = [float(domain.lower), *edges]
    if domain.upper is not None:
        edges = [e for e in edges if e < domain.upper]
        edges = [*edges, math.nextafter(float(domain.upper), math.inf)]
    return edges


def found_bounds(rows: Rows, expr: Expr, eps: Any) -> tuple[float, float]:
    """A range with doubling ends that holds almost all values of a column, for eps."""
    column = numeric(expr)
    domain = column.domain
    if not isinstance(domain, (IntDomain, FloatDomain)):
        raise PlanError(f"bounds are found for numbers, not {domain.dtype}", plan=str(rows))
    edges = doubling_edges(domain)
    if len(edges) < 2 or edges[0] >= edges[-1]:
        return float(edges[0]), float(edges[0])
    mechanism = Laplace(amount(eps))
    tally = Tally(rows, (Cut(column, tuple(map(Lit.of, edges)), None, 0, 0),), None)
    counts, _ = noisy.release(tally, mechanism)
    scale = float(mechanism.calibrate(tally).scale)
    low, high = chosen(edges, [float(x) for x in counts], scale)
    upper = high if domain.upper is None else min(high, float(domain.upper))
    return low, upper


def chosen(edges: Sequence[float], counts: Sequence[float], scale: float) -> tuple[float, float]:
    """The ends of the range, from noisy counts between edges whose noise has this scale. If none stand out: all."""
    finite = [e for e in edges if math.isfinite(e)]
    total = max(sum(counts), 0.0)
    low, high = finite[0], finite[-1]
    first, last = _outermost(counts, total, scale), _outermost(counts[::-1], total, scale)
    if first is None or last is None or first > len(counts) - 1 - last:
        return low, high
    return max(edges[first], low), min(edges[len(counts) - last], high)


def _outermost(counts: Sequence[float], total: float, scale: float) -> int | None:
    """The first place up to which more lies than may be left out, beyond what the noise of so many counts makes up."""
    beyond = 0.0
    for i, count in enumerate(counts):
        beyond += count
        if beyond > OUTSIDE * total + 4 * scale * math.sqrt(2 * (i + 1)):
            return i
    return None
