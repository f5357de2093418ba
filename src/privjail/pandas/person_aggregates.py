"""Aggregates of the rows of each person by their names: those of the core, and the spread, which is made of them."""

from __future__ import annotations

from typing import Any

from privjail.errors import PlanError
from privjail.ops.rows.lookup import Lookup
from privjail.ops.rows.per_person import AGGREGATES, Aggregate, PerPerson
from privjail.pandas.series import PrivSeries
from privjail.plan.domain import BoolDomain
from privjail.plan.expr import Expr
from privjail.rowwise import numeric

OF_NUMBERS = ("sum", "mean", "min", "max")
SPREADS = ("var", "std")


def aggregate(persons: PerPerson, how: Any, column: Expr) -> Expr:
    """One aggregate by its name in pandas."""
    name = getattr(how, "__name__", how) if how in (sum, min, max, any, all) else how
    if name in ("max", "min") and isinstance(column.domain, BoolDomain):
        name = "any" if name == "max" else "all"
    if name in SPREADS:
        return spread(persons, name, column)
    if not isinstance(name, str) or name not in AGGREGATES:
        code = "an aggregate of a person's rows is named by a text: code does not run in the jail"
        raise PlanError(
            f"there is no aggregate {how!r} of a person's rows" if isinstance(how, str) else code,
            do=f"use one of {', '.join((*AGGREGATES, *SPREADS))}, and compute with their columns: "
            f'`df.groupby("{persons.key}").agg(low=("{column}", "min"), high=("{column}", "max"))'
            '.assign(span=lambda d: d["high"] - d["low"])`',
        )
    if name == "size":
        return Aggregate(persons, name, None)
    return Aggregate(persons, name, numeric(column) if name in OF_NUMBERS and _untyped(column) else column)


def spread(persons: PerPerson, how: str, column: Expr, ddof: int = 1) -> Expr:
    """The variance or standard deviation of each person's rows: of squared distances from her mean, which are bounded.

    Missing for a person with fewer values than it takes. Squares are added on a grid of 30 bits of the squared range.
    """
    if type(ddof) is not int or ddof not in (0, 1):
        raise PlanError(f"ddof is 0 or 1 for the rows of a person, got {ddof!r}", do="leave out ddof")
    values = numeric(column)
    mean = Aggregate(persons, "mean", values)
    domain: Any = mean.domain
    widest = (domain.upper - domain.lower) ** 2
    owner: Any = persons.owner()
    hers = PrivSeries(persons.rows, Lookup((persons.key,), persons, (owner,), mean))
    step = PrivSeries(persons.rows, values).astype("Float64") - hers
    squares = (step * step).clip(0.0, widest)
    total = PrivSeries(persons, Aggregate(persons, "sum", squares._expr))
    count = PrivSeries(persons, Aggregate(persons, "count", values))
    found = (total / (count - ddof)).where(count > ddof).clip(0.0, widest / 2)
    return (found if how == "var" else found.sqrt())._expr


def _untyped(column: Expr) -> bool:
    return column.domain.dtype == "untyped"
