"""Choose between two columns row by row, and fill missing values."""

from __future__ import annotations

from typing import Any

from privjail.errors import PlanError
from privjail.ops.columns.carried import held_value
from privjail.ops.columns.compare import recoded
from privjail.ops.polars_types import dtype_of
from privjail.plan.domain import BoolDomain, CategoryDomain, Domain, FloatDomain, join
from privjail.plan.expr import Expr
from privjail.plan.node import node


@node
class Where(Expr):
    """``a`` where the condition is true, else ``b``; a null condition counts as false.

    Domain: both domains joined. A constant written into a column widens the column's range.
    """

    kind = "where"
    sees_nulls = True
    condition: Expr
    a: Expr
    b: Expr

    def __post_init__(self) -> None:
        if not isinstance(self.condition.domain, BoolDomain):
            raise PlanError(f"a condition must be true/false, not {self.condition.domain.dtype}")
        self.computed_from(self.condition, self.a, self.b, domain=join(self.a.domain, self.b.domain))

    def polars(self, *inputs: Any) -> Any:
        import polars as pl

        condition, a, b = inputs
        a, b = as_held(a, self.a.domain, self.domain), as_held(b, self.b.domain, self.domain)
        return pl.when(condition.fill_null(False)).then(a).otherwise(b)

    def python(self, *inputs: Any) -> Any:
        condition, a, b = inputs
        chosen, x = (self.a, a) if condition is True else (self.b, b)
        return converted(x, chosen.domain, self.domain)

    def text(self, *inputs: str) -> str:
        return f"where({', '.join(inputs)})"


@node
class FillNull(Expr):
    """``a``, or ``b`` where ``a`` is missing. Domain: both joined; nullable only if ``b`` is."""

    kind = "fillnull"
    sees_nulls = True
    a: Expr
    b: Expr

    def __post_init__(self) -> None:
        domain = join(self.a.domain, self.b.domain).with_nulls(self.b.domain.nullable and self.a.domain.nullable)
        self.computed_from(self.a, self.b, domain=domain)

    def polars(self, *inputs: Any) -> Any:
        a, b = (as_held(c, e.domain, self.domain) for c, e in zip(inputs, (self.a, self.b), strict=True))
        return a.fill_null(b)

    def python(self, *inputs: Any) -> Any:
        a, b = inputs
        chosen, x = (self.b, b) if a is None else (self.a, a)
        return converted(x, chosen.domain, self.domain)

    def text(self, *inputs: str) -> str:
        return f"{inputs[0]}.fillna({inputs[1]})"


@node
class NullWhere(Expr):
    """``a``, made missing where the condition is true (a null condition counts as false)."""

    kind = "nullwhere"
    sees_nulls = True
    condition: Expr
    a: Expr

    def __post_init__(self) -> None:
        if not isinstance(self.condition.domain, BoolDomain):
            raise PlanError(f"a condition must be true/false, not {self.condition.domain.dtype}")
        self.computed_from(self.condition, self.a, domain=self.a.domain.with_nulls(True))

    def polars(self, *inputs: Any) -> Any:
        import polars as pl

        condition, a = inputs
        return pl.when(~condition.fill_null(False)).then(a)

    def python(self, *inputs: Any) -> Any:
        return None if inputs[0] is True else inputs[1]

    def text(self, *inputs: str) -> str:
        return f"{inputs[1]}.mask({inputs[0]})"


def as_held(column: Any, before: Domain, after: Domain) -> Any:
    """A column of one domain, as the engine holds it in a domain that contains it."""
    if isinstance(before, CategoryDomain) and isinstance(after, CategoryDomain):
        return recoded(column, before, after)
    if isinstance(before, CategoryDomain):
        labels = [str(label) for label in before.categories]
        return column.replace_strict(list(range(len(labels))), labels, default=None, return_dtype=dtype_of(after))
    return column.cast(dtype_of(after), strict=False)


def converted(value: Any, before: Domain, after: Domain) -> Any:
    """The same for one held value."""
    if value is None:
        return None
    if isinstance(before, CategoryDomain):
        return held_value(before.categories[value], after)
    return float(value) if isinstance(after, FloatDomain) else value
