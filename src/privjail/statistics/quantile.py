"""Quantiles, minima and maxima: the value that splits the rows best, and two ends between which the true one lies.

Which value is chosen says nothing about how far the next row is: no interval follows from it alone. So a quantile is
four releases. Half of eps chooses the value; 3/16 each choose a *lower and an upper end*, quantiles of ranks that lie
τ rows below and above; 1/8 counts the values.

Why the ends hold. Every value lies on a candidate: whole numbers of a small range as they are, others rounded down to
one of 1,000 steps. So where the wanted rank qn - τ is one of the ranks 0 … n, some candidate has score 0. A candidate
c above the true quantile has at least qn - 2 values below it (pandas interpolates between two neighbours), so its
score is at most -(τ - 2). Permute and flip takes a candidate whose score is g below the best with probability at most
exp(-g/b), b being the scale of its noise. With m candidates and τ = b·ln(m/α) + 2 the end is too high with probability
at most α. The same holds above. If qn < τ there is no such rank; then the end is the end of the range. Whether
qn ≥ τ is known from the noisy count, with a bound that fails with probability ``OF_COUNT``. By the union bound the
interval holds with probability 1 - 2·``OF_END`` - ``OF_COUNT`` = 95 %, on all data with at least one value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from privjail import records, session
from privjail.answers.answer import Answer, Facts, Price, laplace_noise
from privjail.answers.laws import LaplaceNoise, RankLaw
from privjail.budget.amounts import amount, exact
from privjail.errors import PlanError, unbounded
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.function import Function
from privjail.ops.columns.isin import IsNull
from privjail.ops.columns.logic import negation
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.numbers.tally import Tally
from privjail.plan.domain import FloatDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.plan.value import Value
from privjail.release import Query
from privjail.rowwise import numeric

STEPS = 1000  # that a wide range is divided into
CONFIDENCE = 0.95
OF_END, OF_COUNT = 0.02, 0.01  # shares of the remaining 5 %
SHARES = (
    Fraction(1, 2),
    Fraction(3, 16),
    Fraction(3, 16),
    Fraction(1, 8),
)  # of eps: value, lower end, upper end, count
HAIR = 2.0**-20  # as a part of a step: a number this close below a candidate counts as being on it


@dataclass(frozen=True)
class Ranked:
    """A bounded column whose values lie on public candidates, in rising order."""

    rows: Rows
    expr: Expr  # the column itself, or the number of the step that a value lies in
    starts: tuple[float, ...]  # the least value that lies on each candidate
    step: float  # how far a value can lie above that; 0 if all that lie on a candidate are equal
    low: float
    high: float
    present: Expr | None

    @classmethod
    def of(cls, rows: Rows, expr: Expr, what: str = "a quantile") -> Ranked:
        expr = numeric(expr)
        domain = expr.domain
        if not isinstance(domain, (IntDomain, FloatDomain)):
            raise PlanError(f"{what} needs numbers, not {domain.dtype}")
        if not domain.bounded:
            raise unbounded(f"{rows} | {expr}")
        low, high = float(domain.lower), float(domain.upper)
        present = negation(IsNull(expr)) if domain.nullable else None
        if isinstance(domain, IntDomain) and domain.upper - domain.lower <= STEPS:
            starts = tuple(map(float, range(domain.lower, domain.upper + 1)))
            return cls(rows, expr, starts, 0.0, low, high, present)
        step = (high - low) / STEPS
        if not math.isfinite(high - low):
            raise PlanError("the range is too wide for quantiles", do="clip the column to a smaller range")
        if step == 0:
            return cls(rows, Cast(expr, "Float64"), (low,), 0.0, low, high, present)
        if isinstance(domain, IntDomain):
            step = float(math.ceil(step))
        starts = tuple(min(low + i * step, high) for i in range(int((high - low) / step + HAIR) + 1))
        return cls(rows, _steps(expr, low, step), starts, step, low, high, present)

    @property
    def size(self) -> int:
        return len(self.starts)

    def scores(self, below: Fraction, above: Fraction, target: Fraction) -> QuantileScores:
        whole = self.step == 0 and isinstance(self.expr.domain, IntDomain)
        points = _points(self.starts[0] if self.step == 0 else 0.0, self.size, whole)
        return QuantileScores(self.rows, self.expr, points, below, above, target)

    def ask(self, below: Fraction, above: Fraction, target: int, eps: Fraction) -> Query:
        return Query(self.scores(below, above, Fraction(target)), NoisyMax(eps))

    def counted(self) -> Tally:
        return Tally(self.rows, (), self.present)

    def margin(self, scores: Value, eps: Fraction, alpha: float = OF_END) -> int:
        """With probability 1 - alpha the candidate that is chosen by such scores is less than this many rows off."""
        mechanism = NoisyMax(eps)
        mechanism.check(scores)
        calibration = mechanism.calibrate(scores)
        return math.ceil(float(calibration.scale * calibration.on.grid) * math.log(self.size / alpha))

    def value(self, i: int) -> float:
        """What is shown for a candidate; for the last one the end of the range."""
        return self.starts[i] if i < self.size - 1 else self.high

    def below(self, i: int) -> float:
        """No value that lies on candidate i is smaller than this."""
        return max(self.starts[i] - HAIR * self.step, self.low)

    def above(self, i: int) -> float:
        """No value that lies on candidate i is larger than this."""
        return min(self.starts[i] + self.step, self.high)


@lru_cache(maxsize=64)
def _points(first: float, size: int, whole: bool) -> tuple[Lit, ...]:
    """Candidates one apart."""
    start = int(first) if whole else first
    return tuple(Lit.of(start + i) for i in range(size))


def _steps(expr: Expr, low: float, step: float) -> Expr:
    """The number of the step that a value lies in, from 0; moved up a little, so that 0.3 is in step 3 of 0.1."""
    moved = Arithmetic("-", Cast(expr, "Float64"), Constant(Lit.of(low)))
    divided = Arithmetic("/", moved, Constant(Lit.of(step)))
    return Function("floor", Arithmetic("+", divided, Constant(Lit.of(HAIR))), 0)


@dataclass(frozen=True)
class RankAsks:
    """The requests behind one quantile: the value, two ends, and the count that it shares with others."""

    ranked: Ranked
    q: Fraction
    margin: int
    asks: tuple[Query, Query, Query]

    @classmethod
    def of(cls, ranked: Ranked, q: Fraction, eps: Fraction) -> RankAsks:
        value, lower, upper = (eps * share for share in SHARES[:3])
        chosen = ranked.ask(1 - q, q, 0, value)
        margin = ranked.margin(chosen.value, lower) + 2
        asks = (
            chosen,
            ranked.ask(1 - q, q, -margin, lower),
            ranked.ask(1 - q, q, margin, upper),
        )
        return cls(ranked, q, margin, asks)

    def answer(self, positions: Sequence[int], count: float, noise: LaplaceNoise, price: Price) -> Answer:
        """The value, moved between its ends, and its law."""
        ranked, (at, lower, upper) = self.ranked, positions
        fewest = count - noise.reach(1 - 2 * OF_COUNT)
        left = ranked.below(lower) if fewest * self.q >= self.margin else ranked.low
        right = ranked.above(upper) if fewest * (1 - self.q) >= self.margin else ranked.high
        if left > right:  # can happen only where one of the ends is wrong
            left, right = right, left
        found = min(max(ranked.value(at), left), right)
        few = few_rows(count, noise)
        return Answer(found, Facts(price, "quantile", RankLaw(left, right, ranked.low, ranked.high, CONFIDENCE, few)))


def few_rows(count: float, noise: LaplaceNoise) -> str | None:
    """Why the chosen candidate may be no better than a random one."""
    if count - noise.reach(0.95) >= 1:
        return None
    return f"perhaps no row at all: the noisy count is {count:.4g} ± {noise.reach(0.95):.3g}"


def quantiles(rows: Rows, expr: Expr, shares: Sequence[Any], eps: Any) -> list[Answer]:
    """One quantile for each share of the rows between 0 and 1; together they cost eps."""
    wanted = [exact(x, "q") for x in shares]
    if not wanted or any(not 0 <= x <= 1 for x in wanted):
        raise PlanError("quantiles lie between 0 and 1")
    ranked = Ranked.of(rows, expr)
    each = amount(eps) / len(wanted)
    asked = [RankAsks.of(ranked, q, each) for q in wanted]
    counting = Query(ranked.counted(), Laplace(amount(eps) * SHARES[3]))
    count, *positions = session.release([counting, *(ask for one in asked for ask in one.asks)])
    noise, price = laplace_noise(counting.value, counting.mechanism), Price(float(amount(eps)))
    found = [one.answer(positions[3 * i : 3 * i + 3], count, noise, price) for i, one in enumerate(asked)]
    shown = ", ".join(f"{float(q):g}" for q in wanted)
    records.answered(f"{rows} | quantile({expr}, {shown})", found)
    return found


def extreme(rows: Rows, expr: Expr, which: str, eps: Any) -> Answer:
    """A value that few rows lie beyond, ``which`` being "min" or "max"; an eighth of eps counts the rows."""
    ranked, total = Ranked.of(rows, expr, which), amount(eps)
    ask, target = extreme_ask(ranked, which, total * (1 - SHARES[3]))
    counting = Query(ranked.counted(), Laplace(total * SHARES[3]))
    count, position = session.release([counting, ask])
    noise = laplace_noise(counting.value, counting.mechanism)
    found = extreme_answer(ranked, which, position, target, count, noise, Price(float(total)))
    records.answered(f"{rows} | {which}({expr})", found)
    return found


def extreme_ask(ranked: Ranked, which: str, eps: Fraction) -> tuple[Query, int]:
    """The request for the value beyond which about t rows lie, t being what the noise would invent on its own."""
    sides = (Fraction(0), Fraction(1)) if which == "max" else (Fraction(1), Fraction(0))
    target = ranked.margin(ranked.scores(*sides, Fraction(0)), eps, alpha=2 * OF_END)
    return ranked.ask(*sides, -target if which == "max" else target, eps), target


def extreme_answer(
    ranked: Ranked, which: str, at: int, target: int, count: float, noise: LaplaceNoise, price: Price
) -> Answer:
    """The true maximum lies between the chosen value and the end of the range: some row lies beyond it.

    A candidate with no row at or beyond it has a score of -t, where another one has 0: it is taken with probability
    exp(-t/b) at most. That needs t rows; with fewer only the range is known.
    """
    enough = count - noise.reach(1 - 2 * OF_COUNT) >= target
    found = ranked.value(at) if which == "max" or ranked.step == 0 else ranked.above(at)
    left = ranked.below(at) if which == "max" and enough else ranked.low
    right = ranked.above(at) if which == "min" and enough else ranked.high
    law = RankLaw(left, right, ranked.low, ranked.high, CONFIDENCE, few_rows(count, noise), fitted=False)
    return Answer(found, Facts(price, which, law))
