"""A column taken along into a new base, and a constant that fits every base."""

from __future__ import annotations

from typing import Any

from privjail.errors import RowsError
from privjail.ops.polars_types import dtype_of
from privjail.plan.domain import CategoryDomain, Domain, FloatDomain, TextDomain, TimeDomain, domain_of
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, micros, node
from privjail.plan.rows import Rows


@node
class Carried(Expr):
    """The value that an expression had in this row before the slice (window, …) was taken."""

    kind = "carried"
    from_elsewhere = True
    into: Rows
    inner: Expr

    def __post_init__(self) -> None:
        before = self.into.parent
        if before is None or not self.into.starts_base or self.inner.base is not before.base:
            raise RowsError("this column does not belong to the rows that the step was applied to")
        if not self.into.sees_itself:
            raise RowsError("the rows of this step do not see themselves: each is made of other rows, or of several")
        self.fact(base=self.into, domain=self.inner.domain, inputs=())

    def of_person(self) -> tuple[Rows, Expr] | None:
        # In a base that is not owned, rows of other persons come in when one goes out.
        return None if self.into.owner() is None else self.inner.of_person()

    def polars(self, *inputs: Any) -> Any:
        import polars as pl

        return pl.col(self.inner.name)

    def python(self, *inputs: Any) -> Any:
        return inputs[0]  # of the inner expression, in the row that this one was

    def sql(self, sql: Any, *inputs: Any) -> Any:
        return inputs[1]  # of the inner expression, in the rows that this base was made of (inputs[0])

    def text(self, *inputs: str) -> str:
        return str(self.inner)


@node
class Constant(Expr):
    """The same public value in every row."""

    kind = "constant"
    lit: Lit

    def __post_init__(self) -> None:
        self.fact(base=None, domain=domain_of(self.lit.value), inputs=())

    def polars(self, *inputs: Any) -> Any:
        return constant(self.lit.value, self.domain)

    def python(self, *inputs: Any) -> Any:
        return held_value(self.lit.value, self.domain)

    def sql(self, sql: Any, *inputs: Any) -> Any:
        return sql.held(held_value(self.lit.value, self.domain), self.domain)

    def text(self, *inputs: str) -> str:
        return repr(self.lit.value)


def constant(value: Any, domain: Domain) -> Any:
    """A public value as the engine holds it in a column of this domain."""
    import polars as pl

    held = domain.code(value) if isinstance(domain, CategoryDomain) else value
    return pl.lit(held, dtype=dtype_of(domain))


def held_value(value: Any, domain: Domain) -> Any:
    """The same as a Python value (engines/held.py)."""
    match domain:
        case CategoryDomain():
            return domain.code(value)
        case FloatDomain():
            return float(value)
        case TimeDomain():
            return micros(value)
        case TextDomain():
            return str(value)
    return value
