"""describe: eight numbers about a column, for one eps in all."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from privjail import session
from privjail.budget.amounts import amount
from privjail.mechanisms.laplace import Laplace
from privjail.ops.numbers.tally import Tally
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows
from privjail.release import Query
from privjail.statistics.mean import CentredColumn
from privjail.statistics.quantile import candidate, extreme_ask, quantile_ask


def describe(rows: Rows, expr: Expr, eps: Any) -> dict[str, float]:
    """count, mean, std, min, quartiles and max of a column; each of eight releases gets an eighth of eps."""
    c = CentredColumn(rows, expr)
    share = amount(eps) / 8
    sums = [Query(Tally(rows, (), v), Laplace(share)) for v in (c.present(), c.deviation(), c.square())]
    ranks = {
        "min": extreme_ask(rows, expr, "min", share),
        "25%": quantile_ask(rows, expr, Fraction(1, 4), share),
        "50%": quantile_ask(rows, expr, Fraction(1, 2), share),
        "75%": quantile_ask(rows, expr, Fraction(3, 4), share),
        "max": extreme_ask(rows, expr, "max", share),
    }
    count, total, squares, *positions = session.release([*sums, *ranks.values()])
    moments = {
        "count": count,
        "mean": c.mean(total, count),
        "std": math.sqrt(c.variance(squares, total, count)),
    }
    return moments | {name: candidate(ask, i) for (name, ask), i in zip(ranks.items(), positions, strict=True)}
