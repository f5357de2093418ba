"""How long rows are: a bound for ``clip_norm`` that cuts few rows off, found with noise for a small part of the price.

Sums of many columns are one vector. Its noise grows with the bound on the norm of a row (L1 for Laplace noise, L2 for
Gaussian noise), and that bound follows from public ranges: with 64 columns it is 64, though a row may be 10 long. Rows
that are longer than a lower bound are shortened, which is an error, too; the rule below makes both errors equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from privjail.learn.bins import Bins
from privjail.learn.spending import Spending
from privjail.numpy.arrays import PrivArray, clip_norm, norm
from privjail.numpy.sums import SensitiveArray
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.where import FillNull
from privjail.ops.numbers.tally import Tally
from privjail.plan.expr import Expr
from privjail.plan.node import Lit

STEP = 1.15  # between two bounds that are tried
STEPS = 40


def order_of(spending: Spending) -> int:
    """The norm in which a sum is bounded: that of the noise."""
    return 1 if spending.is_pure else 2


def bound_of(array: PrivArray, spending: Spending, look: float, share: float, what: str) -> float:
    """A bound on the rows' norms, for sums that will get ``share`` of the price; ``look`` pays for finding it.

    A bound B costs each of d sums noise of deviation s·B, and what longer rows lose: on average Σ(length - B) / d for
    L1, over √d for L2. The sum of both is least where s·d (s·√d) rows are longer. At most half of the rows are.
    """
    order = order_of(spending)
    top = array.row_norm(order)
    edges = (0.0, *(top * STEP ** np.arange(1 - STEPS, 1)).tolist())
    [found], deviation = spending.release_all([_lengths(array, order, edges)], look, what)
    counts = np.asarray(found, dtype=float)
    longer = np.cumsum(counts[::-1])[::-1]  # rows in this bin or a later one
    columns = len(array._flat) ** (1 / order)
    wanted = min(spending.deviation(share) * columns, max(float(longer[0]), 0.0) / 2)
    noise = deviation * np.sqrt(np.arange(STEPS, 0, -1))  # of a sum of so many bins; without it, a bound of noise alone
    reached = [i for i in range(STEPS) if longer[i] >= wanted + 2 * noise[i]]
    return float(edges[1 + max(reached, default=0)])


def _lengths(array: PrivArray, order: int, edges: tuple[float, ...]) -> Tally:
    length: Expr = norm(array, ord=order)._flat[0]
    if length.domain.nullable:
        length = FillNull(length, Constant(Lit.of(0.0)))
    return Tally(array._rows, (Bins("length", (), edges, True, False).key(length),), None)


def summed(array: PrivArray, bound: float, spending: Spending, share: float, what: str) -> tuple[Any, float]:
    """The sums of the columns over rows that are shortened to the bound, and the deviation of their noise."""
    sums = clip_norm(array, bound, ord=order_of(spending)).sum(axis=0)
    assert isinstance(sums, SensitiveArray)  # one for each column
    [found] = spending.release([sums._value], share, what)
    return np.asarray(found, dtype=float)[sums._at], spending.deviation(share) * bound
