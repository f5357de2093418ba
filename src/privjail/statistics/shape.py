"""sem, skew and kurt: from noisy sums of powers."""

from __future__ import annotations

import math
from typing import Any

from privjail import session
from privjail.budget.amounts import amount
from privjail.mechanisms.laplace import Laplace
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.numbers.tally import Tally
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows
from privjail.release import Query
from privjail.statistics.correlation import Unit


def power_sums(rows: Rows, expr: Expr, order: int, eps: Any) -> tuple[float, list[float], float]:
    """The noisy count, the noisy mean powers of the column measured in half ranges, and half its range."""
    unit = Unit(rows, expr)
    powers: list[Expr] = [unit.expr]
    while len(powers) < order:
        powers.append(Arithmetic("*", powers[-1], unit.expr))
    parts = [Tally(rows, (), v) for v in (unit.column.present(), *powers)]
    share = Laplace(amount(eps) / len(parts))
    count, *sums = session.release([Query(part, share) for part in parts])
    n = max(count, 4.0)
    return n, [min(max(s / n, -1.0), 1.0) for s in sums], unit.half


def sem(rows: Rows, expr: Expr, eps: Any, ddof: int = 1) -> float:
    """The standard error of the mean."""
    n, (mean, square), half = power_sums(rows, expr, 2, eps)
    return half * math.sqrt(max(square - mean * mean, 0.0) / max(n - ddof, 1.0))


def skew(rows: Rows, expr: Expr, eps: Any) -> float:
    """The skewness, as pandas corrects it for small numbers; NaN where the noisy variance is not positive."""
    n, (m1, m2, m3), _ = power_sums(rows, expr, 3, eps)
    variance = m2 - m1 * m1
    if variance <= 0:
        return math.nan
    third = m3 - 3 * m1 * m2 + 2 * m1**3
    return float(third / variance**1.5 * math.sqrt(n * (n - 1)) / (n - 2))


def kurt(rows: Rows, expr: Expr, eps: Any) -> float:
    """The excess kurtosis, as pandas corrects it for small numbers; NaN where the noisy variance is not positive."""
    n, (m1, m2, m3, m4), _ = power_sums(rows, expr, 4, eps)
    variance = m2 - m1 * m1
    if variance <= 0:
        return math.nan
    fourth = m4 - 4 * m1 * m3 + 6 * m1 * m1 * m2 - 3 * m1**4
    excess = fourth / variance**2
    return float((n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * excess - 3 * (n - 1)))
