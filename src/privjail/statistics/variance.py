"""Variance: noisy sums of squares and of values, and a noisy count."""

from __future__ import annotations

from typing import Any

from privjail import session
from privjail.budget.amounts import amount
from privjail.mechanisms.laplace import Laplace
from privjail.ops.numbers.tally import Tally
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows
from privjail.release import Query
from privjail.statistics.mean import CentredColumn


def variance(rows: Rows, expr: Expr, eps: Any, ddof: int = 1) -> float:
    """The variance of a column; each of its three parts gets a third of eps."""
    c = CentredColumn(rows, expr)
    share = Laplace(amount(eps) / 3)
    parts = [Tally(rows, (), v) for v in (c.square(), c.deviation(), c.present())]
    squares, total, count = session.release([Query(v, share) for v in parts])
    return c.variance(squares, total, count, ddof)
