"""mean, var, std, quantile, min, max, hist and describe: released at once, for one eps.

The parts are private counts, sums and scores that the jail releases in one step; what is computed from
them here is computed from public values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from privjail import session
from privjail.budget.amounts import amount, exact
from privjail.errors import PlanError, unbounded
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.ops.arithmetic import Arithmetic, is_number
from privjail.ops.carried import Constant
from privjail.ops.cast import Cast
from privjail.ops.clip import Clip
from privjail.ops.cut import Cut
from privjail.ops.isin import IsNull
from privjail.ops.logic import negation
from privjail.ops.ranks import Ranks
from privjail.ops.tally import Tally
from privjail.pandas.axes import Axis, index_of
from privjail.pandas.priced import priced
from privjail.pandas.rowwise import numeric
from privjail.plan.domain import FloatDomain, IntDomain, Numeric
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.release import Ask

CANDIDATES = 1001


class Centred:
    """A bounded column, and its values measured from the middle of the range.

    From the middle the largest absolute value is half the range: half the noise, or less.
    """

    def __init__(self, rows: Rows, expr: Expr) -> None:
        expr = numeric(expr)
        domain = expr.domain
        if not isinstance(domain, (IntDomain, FloatDomain)):
            raise PlanError(f"a mean needs numbers, not {domain.dtype}", plan=f"{rows} | {expr}")
        if not domain.bounded:
            raise unbounded(f"{rows} | {expr}")
        self.rows, self.expr = rows, Cast(expr, "Float64")
        self.low, self.high = float(domain.lower), float(domain.upper)
        self.middle = self.low / 2 + self.high / 2
        self.nullable = domain.nullable

    def present(self) -> Expr | None:
        return negation(IsNull(_bare(self.expr))) if self.nullable else None

    def deviation(self) -> Expr:
        return Arithmetic("-", self.expr, Constant(Lit.of(self.middle)))

    def square(self) -> Expr:
        return Arithmetic("*", self.deviation(), self.deviation())

    def mean(self, total: float, count: float) -> float:
        """The mean from noisy parts; in range even for an empty table."""
        return min(max(self.middle + total / max(count, 1.0), self.low), self.high)

    def variance(self, squares: float, total: float, count: float) -> float:
        n = max(count, 2.0)
        spread = (squares - total * total / n) / (n - 1)
        return min(max(spread, 0.0), (self.high - self.low) ** 2 / 2)


def _bare(expr: Expr) -> Expr:
    """A simpler column that is missing in the same rows: clipping, and turning numbers into floats, loses none."""
    while isinstance(expr, Clip) or isinstance(expr, Cast) and expr.to == "Float64" and is_number(expr.a.domain):
        expr = expr.a
    return expr


def means(rows: Rows, columns: dict[Any, Expr], eps: Any) -> dict[Any, float]:
    """The mean of several columns for one eps: each needs a sum, and all without nulls share a count."""
    total = amount(eps)
    centred = {name: Centred(rows, expr) for name, expr in columns.items()}
    if not centred:
        raise PlanError("there is no column to average")
    counts = list(dict.fromkeys(Tally(rows, (), c.present()) for c in centred.values()))
    sums = [Tally(rows, (), c.deviation()) for c in centred.values()]
    share = Laplace(total / (len(counts) + len(sums)))
    answers = session.release([Ask(v, share) for v in (*counts, *sums)])
    known = dict(zip(counts, answers, strict=False))
    return {
        name: c.mean(answer, known[Tally(rows, (), c.present())])
        for (name, c), answer in zip(centred.items(), answers[len(counts) :], strict=True)
    }


def variance(rows: Rows, expr: Expr, eps: Any) -> float:
    c = Centred(rows, expr)
    share = Laplace(amount(eps) / 3)
    parts = [Tally(rows, (), v) for v in (c.square(), c.deviation(), c.present())]
    return c.variance(*session.release([Ask(v, share) for v in parts]))


def points(domain: Numeric, rows: Rows, expr: Expr) -> tuple[Lit, ...]:
    """The public candidates for a quantile: all whole numbers of a small range, else evenly spaced ones."""
    if not domain.bounded:
        raise unbounded(f"{rows} | {expr}")
    low, high = domain.lower, domain.upper
    if isinstance(domain, IntDomain):
        step = max(1, -(-(high - low) // (CANDIDATES - 1)))
        values: Sequence[Any] = [*range(low, high, step), high]
    else:
        values = [low + (high - low) * (i / (CANDIDATES - 1)) for i in range(CANDIDATES - 1)] + [high]
        if not all(map(math.isfinite, values)):
            raise PlanError("the range is too wide for quantiles", do="clip the column to a smaller range")
    return tuple(Lit.of(v) for v in dict.fromkeys(values))


def quantile_ask(rows: Rows, expr: Expr, q: Fraction, eps: Fraction) -> Ask:
    expr = numeric(expr)
    if not isinstance(expr.domain, (IntDomain, FloatDomain)):
        raise PlanError(f"a quantile needs numbers, not {expr.domain.dtype}")
    candidates = points(expr.domain, rows, expr)
    return Ask(Ranks(rows, expr, candidates, 1 - q, q, Fraction(0)), NoisyMax(eps))


def extreme_ask(rows: Rows, expr: Expr, which: str, eps: Fraction) -> Ask:
    """The value beyond which about t rows lie, t being what the noise would invent on its own."""
    expr = numeric(expr)
    if not isinstance(expr.domain, (IntDomain, FloatDomain)):
        raise PlanError(f"{which} needs numbers, not {expr.domain.dtype}")
    candidates = points(expr.domain, rows, expr)
    target = Fraction(math.ceil(2 * math.log(20 * len(candidates)) / float(eps)))
    above = which == "max"
    sides = (Fraction(0), Fraction(1), -target) if above else (Fraction(1), Fraction(0), target)
    return Ask(Ranks(rows, expr, candidates, *sides), NoisyMax(eps))


def answer(ask: Ask, position: int) -> float:
    assert isinstance(ask.value, Ranks)
    return float(ask.value.candidates[position].value)


@priced
class Statistics:
    """The released statistics of a private column."""

    _rows: Rows
    _expr: Expr
    name: Any

    def mean(self, *, eps: Any) -> float:
        """The mean: a noisy sum over a noisy count, half of eps each."""
        return means(self._rows, {"": self._expr}, eps)[""]

    def var(self, *, eps: Any) -> float:
        """The variance: noisy sums of squares and values, and a noisy count, a third of eps each."""
        return variance(self._rows, self._expr, eps)

    def std(self, *, eps: Any) -> float:
        """The standard deviation: the root of var(eps)."""
        return math.sqrt(self.var(eps=eps))

    def quantile(self, q: Any = 0.5, *, eps: Any) -> Any:
        """A quantile (or several, sharing eps): the candidate value that splits the rows best."""
        import pandas

        many = isinstance(q, (list, tuple))
        wanted = [exact(x, "q") for x in (q if many else [q])]
        if not wanted or any(not 0 <= x <= 1 for x in wanted):
            raise PlanError("quantiles lie between 0 and 1")
        asks = [quantile_ask(self._rows, self._expr, x, amount(eps) / len(wanted)) for x in wanted]
        values = [answer(a, i) for a, i in zip(asks, session.release(asks), strict=True)]
        return pandas.Series(values, index=[float(x) for x in wanted], name=self.name) if many else values[0]

    def median(self, *, eps: Any) -> float:
        """The median."""
        return float(self.quantile(0.5, eps=eps))

    def min(self, *, eps: Any) -> float:
        """A value that few rows lie below."""
        ask = extreme_ask(self._rows, self._expr, "min", amount(eps))
        return answer(ask, session.release([ask])[0])

    def max(self, *, eps: Any) -> float:
        """A value that few rows lie above."""
        ask = extreme_ask(self._rows, self._expr, "max", amount(eps))
        return answer(ask, session.release([ask])[0])

    def hist(self, *, eps: Any, bins: Any = 10) -> Any:
        """Noisy counts in intervals: a public list of edges, or a number of equal parts of the range."""
        import pandas

        cut = binned(self._rows, numeric(self._expr), bins)
        tally = Tally(self._rows, (cut,), None)
        counts = session.release([Ask(tally, Laplace(amount(eps)))])[0]
        return pandas.Series(counts, index=index_of(tally.index, (Axis(self.name, cut.domain),)), name=self.name)

    def describe(self, *, eps: Any) -> Any:
        """count, mean, std, min, quartiles and max, for one eps in all."""
        import pandas

        c = Centred(self._rows, self._expr)
        share = amount(eps) / 8
        sums = [Ask(Tally(self._rows, (), v), Laplace(share)) for v in (c.present(), c.deviation(), c.square())]
        ranks = [
            extreme_ask(self._rows, self._expr, "min", share),
            *(quantile_ask(self._rows, self._expr, Fraction(q, 4), share) for q in (1, 2, 3)),
            extreme_ask(self._rows, self._expr, "max", share),
        ]
        count, total, squares, *positions = session.release(sums + ranks)
        found = [answer(a, i) for a, i in zip(ranks, positions, strict=True)]
        values = [count, c.mean(total, count), math.sqrt(c.variance(squares, total, count)), *found]
        labels = ["count", "mean", "std", "min", "25%", "50%", "75%", "max"]
        return pandas.Series(values, index=labels, name=self.name)


def binned(rows: Rows, expr: Expr, bins: Any) -> Cut:
    domain = expr.domain
    if isinstance(bins, int) and not isinstance(bins, bool):
        if not isinstance(domain, (IntDomain, FloatDomain)):
            raise PlanError(f"bins need numbers, not {domain.dtype}")
        if not domain.bounded:
            raise unbounded(f"{rows} | {expr}")
        if bins < 1:
            raise PlanError("at least one bin is needed")
        low, high = float(domain.lower), float(domain.upper)
        edges = [low + (high - low) * (i / bins) for i in range(bins)] + [high]
        if low == high:
            edges = [low - 0.5, high + 0.5]
    else:
        edges = [float(exact(e, "an edge")) for e in bins]
    return Cut(expr, tuple(Lit.of(e) for e in edges), None, 1, 1)
