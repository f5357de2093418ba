"""The columns of a regression: numbers over their public ranges, categories one by one; and back to their own units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from privjail.errors import PlanError
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.compare import Compare
from privjail.plan.domain import BoolDomain, CategoryDomain, FloatDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.rowwise import numeric
from privjail.stats.coefficients import MOST
from privjail.stats.draws import Array


@dataclass(frozen=True)
class Column:
    """One column of a regression: its value is (what it is in its own units - middle) / half, between -1 and 1."""

    name: str
    expr: Expr
    middle: float = 0.0
    half: float = 1.0


ONE = Column("(intercept)", Constant(Lit.of(1)))


def scaled(name: str, given: Expr) -> Column:
    """A number over its public range."""
    expr = numeric(given)
    domain = expr.domain
    if not isinstance(domain, (IntDomain, FloatDomain)) or not domain.bounded:
        raise PlanError(f"the range of {name!r} is not known", do="bound it first: df.clip({'x': …}), or in the schema")
    low, high = float(domain.lower), float(domain.upper)
    middle, half = (low + high) / 2, (high - low) / 2 or 1.0
    moved = Arithmetic("-", Cast(expr, "Float64"), Constant(Lit.of(middle)))
    return Column(name, Arithmetic("*", moved, Constant(Lit.of(1 / half))), middle, half)


def columns(df: Any, on: list[str]) -> list[Column]:
    """The intercept; then each number as one column, true/false as 0 and 1, each label of a category but the first."""
    found = [ONE]
    for name in on:
        expr = df[name]._expr
        if isinstance(expr.domain, BoolDomain):
            found.append(Column(f"{name}=True", Cast(expr, "Int64")))
        elif isinstance(expr.domain, CategoryDomain):
            labels = expr.domain.labels or ()
            found += [Column(f"{name}={x}", Cast(Compare("==", expr, Lit.of(x)), "Int64")) for x in labels[1:]]
        else:
            found.append(scaled(name, expr))
    if not on or len(found) > MOST:
        raise PlanError(
            f"a regression has between 2 and {MOST} coefficients, not {len(found)}", do="name fewer columns"
        )
    if len({each.name for each in found}) < len(found):
        raise PlanError("a column is named twice", do="name each column once")
    return found


def known(df: Any, names: list[str]) -> Any:
    """The rows in which nothing that is used is missing."""
    for name in dict.fromkeys(names):
        if df[name].domain.nullable:
            df = df[df[name].notna()]
    return df


def own_units(given: list[Column]) -> Array:
    """The matrix that turns coefficients of columns into those of numbers in their own units."""
    back = numpy.diag([1 / each.half for each in given])
    back[0, 1:] = [-each.middle / each.half for each in given[1:]]
    return back
