"""Covariances and correlations: noisy sums of products, of squares and of values, and noisy counts.

Each column is measured from the middle of its range and divided by half its width, so that all values lie between
-1 and 1 and every sum has the same sensitivity: equal shares of eps give equal noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations, combinations_with_replacement
from typing import Any

from privjail import records, session
from privjail.answers.answer import Answer, Facts, Price, laplace_noise
from privjail.answers.box import BoxLaw, Formula, correlation, covariance
from privjail.answers.laws import Law, Mapped
from privjail.budget.amounts import amount
from privjail.errors import PlanError
from privjail.mechanisms.laplace import Laplace
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.logic import joined, negation
from privjail.ops.columns.where import NullWhere
from privjail.ops.numbers.tally import Tally
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.release import Query
from privjail.statistics.mean import CentredColumn, checked_ddof


class Unit:
    """A bounded column as values between -1 and 1."""

    def __init__(self, rows: Rows, expr: Expr) -> None:
        self.column = CentredColumn(rows, expr)
        self.half = (self.column.high - self.column.low) / 2 or 1.0
        scaled = Arithmetic("/", self.column.deviation(), Constant(Lit.of(self.half)))
        self.expr: Expr = Clip(scaled, Lit.of(-1.0), Lit.of(1.0))


class Pair:
    """What the covariance and correlation of two columns need, over the rows in which both have a value."""

    def __init__(self, rows: Rows, a: Unit, b: Unit) -> None:
        self.scale = a.half * b.half
        present = list(dict.fromkeys(p for p in (a.column.present(), b.column.present()) if p is not None))
        both = joined("&", present) if present else None
        x, y = (e.expr if both is None else NullWhere(negation(both), e.expr) for e in (a, b))
        self.count = Tally(rows, (), both)
        self.x, self.y = Tally(rows, (), x), Tally(rows, (), y)
        self.xx, self.yy, self.xy = (
            Tally(rows, (), Arithmetic("*", u, v)) for u, v in ((x, x), (y, y), (x, y))
        )  # fmt: skip

    def parts(self, squares: bool) -> list[Tally]:
        return [self.count, self.x, self.y, self.xy, *([self.xx, self.yy] if squares else [])]

    def answer(self, found: float, released: Released, formula: Formula, ddof: int, most: float) -> Answer:
        """A statistic of these parts with its law, in the columns' own units (``most``: the largest possible)."""
        parts = self.parts(squares=formula is correlation)
        noisy = tuple((released.known[part], laplace_noise(part, released.share)) for part in parts)
        law: Law = BoxLaw(noisy, formula, float(ddof), -most, most)
        if formula is covariance:
            law = Mapped(law, found / self.scale, partial(_times, self.scale))
        return Answer(found, Facts(released.price, formula.__name__, law))

    def moment(self, known: Mapping[Tally, float], product: Tally, u: Tally, v: Tally, ddof: int) -> float:
        """A covariance in half ranges, within its possible range."""
        n = max(known[self.count], 2.0)
        return min(max((known[product] - known[u] * known[v] / n) / max(n - ddof, 1.0), -2.0), 2.0)

    def covariance(self, known: Mapping[Tally, float], ddof: int) -> float:
        return self.moment(known, self.xy, self.x, self.y, ddof) * self.scale

    def correlation(self, known: Mapping[Tally, float]) -> float:
        """Between -1 and 1; NaN where a noisy variance is not positive."""
        spread = self.moment(known, self.xx, self.x, self.x, 1), self.moment(known, self.yy, self.y, self.y, 1)
        if min(spread) <= 0:
            return math.nan
        found = self.moment(known, self.xy, self.x, self.y, 1) / math.sqrt(spread[0] * spread[1])
        return min(max(found, -1.0), 1.0)


Table = dict[tuple[Any, Any], float]


def _times(factor: float, x: float) -> float:
    return factor * x


@dataclass(frozen=True)
class Released:
    """Noisy sums, the mechanism of each, and the price of all."""

    pairs: dict[tuple[Any, Any], Pair]
    known: dict[Tally, float]
    share: Laplace
    price: Price


def covariances(rows: Rows, columns: Mapping[Any, Expr], eps: Any, ddof: int = 1) -> Table:
    """The covariance of each two columns, and of each with itself; equal shares of eps for all sums."""
    ddof = checked_ddof(ddof)
    released = _released(rows, columns, eps, squares=False)
    found: Table = {
        names: pair.answer(pair.covariance(released.known, ddof), released, covariance, ddof, 2.0)
        for names, pair in released.pairs.items()
    }
    records.answered(f"{rows} | cov({', '.join(map(str, columns.values()))})", found.values())
    return _symmetric(found)


def correlations(rows: Rows, columns: Mapping[Any, Expr], eps: Any) -> Table:
    """The correlation of each two columns; equal shares of eps for all sums."""
    released = _released(rows, columns, eps, squares=True)
    found: Table = {
        names: pair.answer(pair.correlation(released.known), released, correlation, 1, 1.0)
        for names, pair in released.pairs.items()
    }
    records.answered(f"{rows} | corr({', '.join(map(str, columns.values()))})", found.values())
    return _symmetric(found)


def _released(rows: Rows, columns: Mapping[Any, Expr], eps: Any, squares: bool) -> Released:
    units = {name: Unit(rows, expr) for name, expr in columns.items()}
    if not units:
        raise PlanError("there is no column of numbers", do='convert with .astype("Float64"), or clip')
    if squares and len(units) == 1:
        raise PlanError("a correlation needs two columns", do='df[["a", "b"]].corr(eps=0.1)')
    choose = combinations if squares else combinations_with_replacement
    pairs = {(a, b): Pair(rows, units[a], units[b]) for a, b in choose(units, 2)}
    parts = list(dict.fromkeys(part for pair in pairs.values() for part in pair.parts(squares)))
    share = Laplace(amount(eps) / len(parts))
    known = dict(zip(parts, session.release([Query(part, share) for part in parts]), strict=True))
    return Released(pairs, known, share, Price(float(amount(eps))))


def _symmetric(found: Table) -> Table:
    return found | {(b, a): value for (a, b), value in found.items()}
