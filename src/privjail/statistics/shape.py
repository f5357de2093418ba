"""sem, skew and kurt: from noisy sums of powers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from privjail import records, session
from privjail.answers.answer import Answer, Facts, Price, laplace_noise
from privjail.answers.box import BoxLaw, Formula, kurtosis, skewness, standard_error
from privjail.answers.laws import LaplaceNoise, Mapped
from privjail.budget.amounts import amount
from privjail.mechanisms.laplace import Laplace
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.numbers.tally import Tally
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows
from privjail.release import Query
from privjail.statistics.correlation import Unit
from privjail.statistics.mean import checked_ddof


@dataclass(frozen=True)
class Powers:
    """The noisy count, the noisy mean powers of the column measured in half ranges, and half its range."""

    count: float
    means: list[float]
    half: float
    parts: tuple[tuple[float, LaplaceNoise], ...]
    price: Price

    def answer(self, asked: str, found: float, formula: Formula, public: float, low: float, high: float) -> Answer:
        """A statistic of them, in half ranges, with its law."""
        made = Answer(found, Facts(self.price, formula.__name__, BoxLaw(self.parts, formula, public, low, high)))
        records.answered(asked, made)
        return made


def power_sums(rows: Rows, expr: Expr, order: int, eps: Any) -> Powers:
    """Noisy sums of powers, for equal shares of eps."""
    unit = Unit(rows, expr)
    powers: list[Expr] = [unit.expr]
    while len(powers) < order:
        powers.append(Arithmetic("*", powers[-1], unit.expr))
    parts = [Tally(rows, (), v) for v in (unit.column.present(), *powers)]
    share = Laplace(amount(eps) / len(parts))
    count, *sums = session.release([Query(part, share) for part in parts])
    n = max(count, 4.0)
    noisy = tuple((x, laplace_noise(part, share)) for x, part in zip([count, *sums], parts, strict=True))
    return Powers(n, [min(max(s / n, -1.0), 1.0) for s in sums], unit.half, noisy, Price(float(amount(eps))))


def sem(rows: Rows, expr: Expr, eps: Any, ddof: int = 1) -> Answer:
    """The standard error of the mean."""
    ddof = checked_ddof(ddof)
    powers = power_sums(rows, expr, 2, eps)
    mean, square = powers.means
    found = math.sqrt(max(square - mean * mean, 0.0) / max(powers.count - ddof, 1.0))
    inner = powers.answer("", found, standard_error, float(ddof), 0.0, 1.0)
    law = Mapped(inner.facts.law, found, partial(_times, powers.half))
    made = Answer(powers.half * found, replace(inner.facts, law=law))
    records.answered(f"{rows} | sem({expr})", made)
    return made


def _times(factor: float, x: float) -> float:
    return factor * x


def skew(rows: Rows, expr: Expr, eps: Any) -> Answer:
    """The skewness, as pandas corrects it for small numbers; NaN where the noisy variance is not positive."""
    powers = power_sums(rows, expr, 3, eps)
    n, (m1, m2, m3) = powers.count, powers.means
    variance, found = m2 - m1 * m1, math.nan
    if variance > 0:
        third = m3 - 3 * m1 * m2 + 2 * m1**3
        found = float(third / variance**1.5 * math.sqrt(n * (n - 1)) / (n - 2))
    return powers.answer(f"{rows} | skew({expr})", found, skewness, 0.0, -math.inf, math.inf)


def kurt(rows: Rows, expr: Expr, eps: Any) -> Answer:
    """The excess kurtosis, as pandas corrects it for small numbers; NaN where the noisy variance is not positive."""
    powers = power_sums(rows, expr, 4, eps)
    n, (m1, m2, m3, m4) = powers.count, powers.means
    variance, found = m2 - m1 * m1, math.nan
    if variance > 0:
        fourth = m4 - 4 * m1 * m3 + 6 * m1 * m1 * m2 - 3 * m1**4
        excess = fourth / variance**2
        found = float((n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * excess - 3 * (n - 1)))
    return powers.answer(f"{rows} | kurt({expr})", found, kurtosis, 0.0, -math.inf, math.inf)
