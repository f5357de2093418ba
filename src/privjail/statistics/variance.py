"""Variance: noisy sums of squares and of values, and a noisy count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from privjail import records, session
from privjail.answers.answer import Answer, Price, laplace_noise
from privjail.answers.laws import Mapped, root
from privjail.budget.amounts import amount
from privjail.mechanisms.laplace import Laplace
from privjail.ops.numbers.tally import Tally
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows
from privjail.release import Query
from privjail.statistics.mean import CentredColumn, checked_ddof, parts_of


def variance(rows: Rows, expr: Expr, eps: Any, ddof: int = 1) -> Answer:
    """The variance of a column; each of its three parts gets a third of eps."""
    c, ddof = CentredColumn(rows, expr), checked_ddof(ddof)
    share = Laplace(amount(eps) / 3)
    asks = [Query(Tally(rows, (), v), share) for v in (c.square(), c.deviation(), c.present())]
    squares, total, count = session.release(asks)
    parts = parts_of(asks[1], asks[2], total, count)
    found = c.variance(squares, laplace_noise(asks[0].value, share), parts, Price(float(amount(eps))), ddof)
    records.answered(f"{rows} | var({expr})", found)
    return found


def deviation(spread: Answer) -> Answer:
    """The standard deviation, from a variance that was released."""
    facts = spread.facts
    found = Answer(root(float(spread)), replace(facts, mechanism="std", law=Mapped(facts.law, float(spread), root)))
    records.answered("", found)
    return found
