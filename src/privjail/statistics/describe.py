"""describe: eight numbers about a column, for one eps in all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from privjail import session
from privjail.budget.amounts import amount, exact
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.ops.numbers.combine import Extreme, Total
from privjail.ops.numbers.distinct import Distinct
from privjail.ops.numbers.tally import Tally
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows
from privjail.release import Query
from privjail.statistics.mean import CentredColumn
from privjail.statistics.quantile import candidate, extreme_ask, quantile_ask


def describe(rows: Rows, expr: Expr, eps: Any, percentiles: Sequence[float] | None = None) -> dict[str, float]:
    """count, mean, std, min, quartiles (or other percentiles) and max of a column, each for an equal share of eps.

    The noise may put one quantile past the next. Sorted they are no worse, and min ≤ quartiles ≤ max.
    """
    c = CentredColumn(rows, expr)
    wanted = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]
    if percentiles is not None:
        wanted = sorted({*(exact(p, "a percentile") for p in percentiles)})
    share = amount(eps) / (5 + len(wanted))
    sums = [Query(Tally(rows, (), v), Laplace(share)) for v in (c.present(), c.deviation(), c.square())]
    ranks = [
        extreme_ask(rows, expr, "min", share),
        *(quantile_ask(rows, expr, p, share) for p in wanted),
        extreme_ask(rows, expr, "max", share),
    ]
    count, total, squares, *positions = session.release([*sums, *ranks])
    found = sorted(candidate(ask, i) for ask, i in zip(ranks, positions, strict=True))
    moments = {
        "count": count,
        "mean": c.mean(total, count),
        "std": math.sqrt(c.variance(squares, total, count)),
    }
    names = ["min", *(f"{float(100 * p):g}%" for p in wanted), "max"]
    return moments | dict(zip(names, found, strict=True))


def describe_labels(rows: Rows, expr: Expr, eps: Any) -> dict[str, Any]:
    """count, unique, top and freq of a column with finitely many values; each gets a quarter of eps."""
    share = amount(eps) / 4
    counts = Tally(rows, (expr,), None)
    asks = [
        Query(Total(counts), Laplace(share)),
        Query(Distinct(rows, expr), Laplace(share)),
        Query(counts, NoisyMax(share)),
        Query(Extreme("max", counts), Laplace(share)),
    ]
    count, unique, top, freq = session.release(asks)
    return {"count": count, "unique": unique, "top": counts.index[0][top], "freq": freq}
