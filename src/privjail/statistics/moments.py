"""Means and covariances of several columns, from one vector sum."""

from __future__ import annotations

from typing import Any

from privjail import session
from privjail.budget.amounts import amount, probability
from privjail.mechanisms.gaussian import Gaussian
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.mechanism import Mechanism
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.cast import Cast
from privjail.ops.numbers.tally import Tally
from privjail.ops.numbers.vector_sum import VectorSum
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.release import Query
from privjail.statistics.mean import CentredColumn


def noise_for(eps: Any, delta: Any, rho: Any, parts: int = 1) -> Mechanism:
    """The mechanism for one of so many equal parts of a price: Laplace for eps, Gaussian for rho."""
    if rho is not None:
        return Gaussian(rho=amount(rho, "rho") / parts)
    if delta is not None:
        return Gaussian(amount(eps) / parts, probability(delta) / parts)
    return Laplace(amount(eps) / parts)


def covariance(rows: Rows, columns: list[Expr], *, eps: Any = None, delta: Any = None, rho: Any = None) -> Any:
    """The covariance matrix. Columns are measured from the middle of their ranges, in units of half of them."""
    import numpy as np

    centred = [CentredColumn(rows, each) for each in columns]
    units = [max((c.high - c.low) / 2, 1e-300) for c in centred]
    scaled = [_scaled(c, unit) for c, unit in zip(centred, units, strict=True)]
    d = len(scaled)
    pairs = [(i, j) for i in range(d) for j in range(i, d)]
    products = [Arithmetic("*", scaled[i], scaled[j]) for i, j in pairs]
    noise = noise_for(eps, delta, rho, 3)
    asks = [Tally(rows, (), None), VectorSum(rows, tuple(scaled)), VectorSum(rows, tuple(products))]
    count, sums, squares = session.release([Query(value, noise) for value in asks])
    n = max(float(count), 2.0)
    mean, found = np.array(sums) / n, np.zeros((d, d))
    for (i, j), x in zip(pairs, squares, strict=True):
        found[i, j] = found[j, i] = (x - n * mean[i] * mean[j]) / (n - 1)
    vectors, values = np.linalg.eigh(found)[1], np.maximum(np.linalg.eigvalsh(found), 0)  # no variance is negative
    return (vectors * values) @ vectors.T * np.outer(units, units)


def _scaled(column: CentredColumn, unit: float) -> Expr:
    return Arithmetic("*", Cast(column.deviation(), "Float64"), Constant(Lit.of(1 / unit)))
