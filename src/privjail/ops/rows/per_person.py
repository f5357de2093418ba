"""groupby(person).agg(…): one row for each person, and what is computed from her rows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from privjail.errors import PlanError, RefusedError, RowsError, unbounded
from privjail.ops.direct import first_rows
from privjail.ops.numbers.tally import amount, sql_amount, sum_grid
from privjail.ops.polars_types import plain_zero
from privjail.plan.distance import Number
from privjail.plan.domain import (
    BoolDomain,
    CategoryDomain,
    Domain,
    FloatDomain,
    IntDomain,
    Numeric,
    float_bounds,
)
from privjail.plan.expr import Expr
from privjail.plan.node import node
from privjail.plan.rows import Rows

COUNTS = ("size", "count", "nunique")
SAME = ("min", "max", "first", "last")
TRUTHS = ("any", "all")
AGGREGATES = (*COUNTS, "sum", "mean", *SAME, *TRUTHS)


@node
class PerPerson(Rows):
    """One row for each person who has a row, in the order of their first rows.

    Distance: 1, however many rows a person has. The input is owned: without a person it is the same rows without hers.
    So everybody else has the same rows, the first rows of the others come in the same order, and one row goes
    out. What the row shows is computed from that person's rows alone.
    """

    kind = "per_person"
    starts_base = True
    rows: Rows
    key: Expr

    def __post_init__(self) -> None:
        if self.key is not self.rows.base.owner():
            raise RefusedError(
                f"one row per {self.key} is made only where {self.key} says whose rows they are, in rows that were "
                "filtered and sorted only",
                plan=str(self.rows),
            )
        self.start_owned_base(self.rows, 1)

    def owner(self) -> Expr | None:
        return Aggregate(self, "first", self.key)

    @property
    def sees_itself(self) -> bool:
        return False

    @property
    def inputs(self) -> tuple[Any, ...]:
        return (self.key,)

    def polars(self, frame: Any, *columns: Any) -> Any:
        """The number of each row's person, counted in the order of first appearance."""
        import numpy as np
        import polars as pl

        first = first_rows(frame.select(columns[0].alias("owner"))["owner"])
        new = first == np.arange(len(first))  # the first row of a person: one person more
        return pl.Series((np.cumsum(new) - 1)[first])

    def python(self, rows: list[int], *columns: list[Any]) -> list[int]:
        """The number of each row's person, counted in the order of first appearance."""
        numbers: dict[Any, int] = {}
        return [numbers.setdefault(owner, len(numbers)) for owner in columns[0]]

    def sql(self, sql: Any, table: Any, *columns: Any) -> Any:
        """What the rows are grouped by."""
        return sql.sortable(columns[0], self.key.domain)

    def text(self) -> str:
        return f"groupby({self.key})"


@node
class Aggregate(Expr):
    """A number, or one of the values, of each person's rows, with pandas' names; missing values are left out.

    Of the rows of one person alone: then the row of everybody else stays as it is. Sums are exact: values are
    rounded to a public grid first, so neither the order of the rows nor an engine changes them.
    """

    kind = "aggregate"
    from_elsewhere = shared = True
    persons: PerPerson
    how: str
    inner: Expr | None  # None: the rows themselves, for size

    def __post_init__(self) -> None:
        if self.how not in AGGREGATES or (self.inner is None) != (self.how == "size"):
            raise PlanError(f"there is no aggregate {self.how!r} of a person's rows", do=f"use {', '.join(AGGREGATES)}")
        rows = self.persons.rows
        if self.inner is not None and self.inner.base is not None and self.inner.base is not rows.base:
            raise RowsError("the column does not belong to the rows that were grouped")
        self.fact(base=self.persons, domain=self._domain(rows.edits), inputs=())

    def _domain(self, most: Number | None) -> Domain:
        """What can come out, given how many rows one person can have at most."""
        k = None if most is None else int(most)
        if self.inner is None:
            return IntDomain(False, 1, k)
        given = self.inner.domain
        match self.how:
            case "count":
                return IntDomain(False, 0, k)
            case "nunique":
                known = [len(given.labels)] if given.labels is not None else []
                return IntDomain(False, 0, min([*known, *([] if k is None else [k])], default=None))
            case "first" | "last":
                return given
            case "min" | "max" if isinstance(given, Numeric) or isinstance(given, CategoryDomain) and given.ordered:
                return given
            case "any" | "all" if isinstance(given, BoolDomain):
                return BoolDomain(False)
            case "sum" | "mean" if isinstance(given, (BoolDomain, IntDomain, FloatDomain)):
                return self._sum_domain(given, k) if self.how == "sum" else _mean_domain(self._summed(given))
        raise PlanError(f"{self.how} of a person's rows is not defined for {given.dtype}", plan=str(self.persons))

    def _summed(self, given: Domain) -> IntDomain | FloatDomain:
        """The domain of what is added: bounded, and whole numbers of at most 30 bits."""
        if isinstance(given, BoolDomain):
            return IntDomain(given.nullable, 0, 1)
        assert isinstance(given, (IntDomain, FloatDomain))
        if not given.bounded:
            raise unbounded(f"{self.persons} | {self.how}({self.inner})")
        if isinstance(given, IntDomain) and sum_grid(given) != 1:
            raise PlanError(
                f"{self.how} of a person's rows takes whole numbers of at most 30 bits",
                plan=f"{self.persons} | {self.how}({self.inner})",
                do="divide or clip the column first: .clip(0, 1_000_000)",
            )
        return given

    def _sum_domain(self, given: Domain, k: int | None) -> Domain:
        added = self._summed(given)
        low: Any = 0 if added.lower >= 0 else None if k is None else k * Fraction(added.lower)
        high: Any = 0 if added.upper <= 0 else None if k is None else k * Fraction(added.upper)
        if isinstance(added, FloatDomain):
            return FloatDomain(False, *float_bounds(low, high))
        ends = (None if end is None or abs(end) >= 2**62 else int(end) for end in (low, high))
        return replace(added, nullable=False, **dict(zip(("lower", "upper"), ends, strict=True)))

    def steps(self) -> tuple[Domain, float]:
        """Of a sum or mean: the domain of what is added, and its grid."""
        assert self.inner is not None
        added = self._summed(self.inner.domain)
        return added, float(sum_grid(added))

    def python(self, *inputs: Any) -> Any:
        """Given the held values in the rows of one person, in their order."""
        values = [x for x in inputs[0] if x is not None]
        match self.how:
            case "size":
                return len(inputs[0])
            case "count":
                return len(values)
            case "nunique":
                return len(set(values))
            case "any":
                return True in values
            case "all":
                return False not in values
            case "sum" | "mean":
                return self._python_sum(values)
        if not values:
            return None
        if self.how in ("first", "last"):
            return values[0 if self.how == "first" else -1]
        found = min(values) if self.how == "min" else max(values)
        return found + 0.0 if isinstance(found, float) else found  # of 0.0 and -0.0 neither is smaller

    def _python_sum(self, values: list[Any]) -> Any:
        domain, grid = self.steps()
        total = sum(amount(x, domain) for x in values)
        if self.how == "sum":
            return float(total) * grid if isinstance(self.domain, FloatDomain) else total
        if not values:
            return None
        assert isinstance(self.domain, FloatDomain)
        return min(max(float(total) * grid / len(values), self.domain.lower), self.domain.upper)

    def polars(self, *inputs: Any) -> Any:
        """The Polars aggregate of the column "x" of a group; sums and means are lines of the engine."""
        import polars as pl

        x = pl.col("x")
        match self.how:
            case "size":
                return pl.len().cast(pl.Int64())
            case "count":
                return x.count().cast(pl.Int64())
            case "nunique":
                x = plain_zero(x) if self.inner is not None and isinstance(self.inner.domain, FloatDomain) else x
                return x.drop_nulls().n_unique().cast(pl.Int64())
            case "any":
                return x.fill_null(False).any()
            case "all":
                return x.fill_null(True).all()
            case "first":
                return x.drop_nulls().first()
            case "last":
                return x.drop_nulls().last()
        found = x.min() if self.how == "min" else x.max()
        return plain_zero(found) if isinstance(self.domain, FloatDomain) else found

    def sql(self, sql: Any, *inputs: Any) -> Any:
        """An aggregate of a person's rows, given the number of each among them, and the column."""
        number, x = inputs
        match self.how:
            case "size":
                return sql.aggregate("count", None)
            case "nunique":
                assert self.inner is not None
                return sql.aggregate("count(DISTINCT", sql.sortable(x, self.inner.domain))
            case "any":
                return sql.aggregate("count", sql.case(x, x)) > sql.whole(0)
            case "all":
                return sql.aggregate("count", sql.case(~x, x)).equals(sql.whole(0))
            case "sum" | "mean":
                return self._sql_sum(sql, x)
            case "first" | "last":
                return sql.at_end(x, number, self.how == "last")
        return sql.sortable(sql.aggregate(self.how, x), self.domain)

    def _sql_sum(self, sql: Any, x: Any) -> Any:
        domain, grid = self.steps()
        total = sql.total(sql_amount(sql, x, domain, Fraction(grid)))
        if isinstance(self.domain, FloatDomain):
            total = sql.as_float(total) * sql.number(grid)
        if self.how == "sum":
            return total
        assert isinstance(self.domain, FloatDomain)
        known = sql.aggregate("count", x)
        mean = total / sql.as_float(sql.case(known > sql.whole(0), known))
        low, high = sql.number(self.domain.lower), sql.number(self.domain.upper)
        return sql.switch([(mean < low, low), (mean > high, high)], mean)

    def text(self, *inputs: str) -> str:
        return f"{self.how}({'' if self.inner is None else self.inner})"


def _mean_domain(added: IntDomain | FloatDomain) -> FloatDomain:
    return FloatDomain(added.nullable, float(added.lower), float(added.upper))
