"""Means: noisy sums over noisy counts."""

from __future__ import annotations

from numbers import Real
from typing import Any

from privjail import records, session
from privjail.answers.answer import Answer, Facts, Price, laplace_noise
from privjail.answers.laws import LaplaceNoise, MeanLaw, Parts, VarianceLaw
from privjail.budget.amounts import amount
from privjail.errors import PlanError, unbounded
from privjail.mechanisms.laplace import Laplace
from privjail.ops.columns.arithmetic import Arithmetic, is_number
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.isin import IsNull
from privjail.ops.columns.logic import negation
from privjail.ops.numbers.tally import Tally
from privjail.plan.domain import FloatDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.release import Query
from privjail.rowwise import numeric


class CentredColumn:
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
        """Where the column has a value; None if it has one everywhere."""
        return negation(IsNull(_missing_alike(self.expr))) if self.nullable else None

    def deviation(self) -> Expr:
        return Arithmetic("-", self.expr, Constant(Lit.of(self.middle)))

    def square(self) -> Expr:
        return Arithmetic("*", self.deviation(), self.deviation())

    def mean(self, parts: Parts, price: Price) -> Answer:
        """The mean from noisy parts; within the range even for an empty table."""
        found = min(max(self.middle + parts.total / max(parts.count, 1.0), self.low), self.high)
        return Answer(found, Facts(price, "mean", MeanLaw(parts, self.middle, self.low, self.high)))

    def variance(self, squares: float, noise: LaplaceNoise, parts: Parts, price: Price, ddof: int = 1) -> Answer:
        """The variance from noisy parts; within its possible range even for an empty table."""
        n, most = max(parts.count, 2.0), (self.high - self.low) ** 2 / 2
        spread = (squares - parts.total * parts.total / n) / max(n - ddof, 1.0)
        law = VarianceLaw(parts, squares, noise, most, ddof)
        return Answer(min(max(spread, 0.0), most), Facts(price, "variance", law))


def _missing_alike(expr: Expr) -> Expr:
    """A simpler column that is missing in the same rows: neither clip nor a cast to floats adds missing values."""
    while isinstance(expr, Clip) or isinstance(expr, Cast) and expr.to == "Float64" and is_number(expr.a.domain):
        expr = expr.a
    return expr


def checked_ddof(ddof: Any) -> Any:
    """What is taken off the number of rows, before anything is paid."""
    is_number = isinstance(ddof, Real) and not isinstance(ddof, bool)
    if not (is_number and abs(ddof) < 2**32):
        raise PlanError(f"ddof is a number that is taken off the number of rows, not {ddof!r:.40}", do="ddof=1")
    return ddof


def parts_of(sums: Query, counts: Query, total: float, count: float) -> Parts:
    """A noisy sum and a noisy count, with the noise of each."""
    return Parts(total, count, laplace_noise(sums.value, sums.mechanism), laplace_noise(counts.value, counts.mechanism))


def means(rows: Rows, columns: dict[Any, Expr], eps: Any) -> dict[Any, Answer]:
    """The mean of several columns for one eps: each needs a sum, and all without nulls share a count."""
    total = amount(eps)
    centred = {name: CentredColumn(rows, expr) for name, expr in columns.items()}
    if not centred:
        raise PlanError("there is no column to average")
    counts = list(dict.fromkeys(Tally(rows, (), c.present()) for c in centred.values()))
    sums = [Tally(rows, (), c.deviation()) for c in centred.values()]
    share = Laplace(total / (len(counts) + len(sums)))
    asks = [Query(v, share) for v in (*counts, *sums)]
    answers = session.release(asks)
    known = dict(zip(counts, zip(asks, answers, strict=True), strict=False))
    price = Price(float(total))
    found = {}
    for (name, c), ask, answer in zip(centred.items(), asks[len(counts) :], answers[len(counts) :], strict=True):
        count_ask, count = known[Tally(rows, (), c.present())]
        found[name] = c.mean(parts_of(ask, count_ask, answer, count), price)
    columns_shown = ", ".join(map(str, columns.values()))
    records.answered(
        f"{rows} | mean({columns_shown})", found.values() if len(found) > 1 else next(iter(found.values()))
    )
    return found


def group_means(rows: Rows, keys: tuple[Expr, ...], columns: dict[Any, Expr], eps: Any) -> dict[Any, list[Answer]]:
    """The means of several columns in each group, for one eps in all: half for sums, half for counts."""
    centred = {name: CentredColumn(rows, expr) for name, expr in columns.items()}
    total = amount(eps)
    share = Laplace(total / (2 * len(centred)))
    asks = [Query(Tally(rows, keys, v), share) for c in centred.values() for v in (c.deviation(), c.present())]
    answers = session.release(asks)
    price = Price(float(total))
    found: dict[Any, list[Answer]] = {}
    for i, (name, c) in enumerate(centred.items()):
        noises = [laplace_noise(ask.value, ask.mechanism) for ask in asks[2 * i : 2 * i + 2]]
        pairs = zip(answers[2 * i], answers[2 * i + 1], strict=True)
        found[name] = [c.mean(Parts(x, n, *noises), price) for x, n in pairs]
    by, shown = (", ".join(map(str, each)) for each in (keys, columns.values()))
    records.answered(f"{rows} | groupby({by}) | mean({shown})", [x for each in found.values() for x in each])
    return found
