"""Membership in a public list, and the test for missing values."""

from __future__ import annotations

from typing import Any

from privjail.errors import PlanError
from privjail.ops.columns.compare import check_constant, exact, held_constant, held_keys
from privjail.ops.polars_types import dtype_of
from privjail.plan.domain import BoolDomain, CategoryDomain, Numeric, TimeDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, node

MOST_VALUES = 100_000
SHOWN = 4  # values that are spelled out in the log


@node
class IsIn(Expr):
    """Whether the value is one of a public list. A missing value is in no list: false, never null."""

    kind = "isin"
    sees_nulls = True
    a: Expr
    values: tuple[Lit, ...]

    def __post_init__(self) -> None:
        if len(self.values) > MOST_VALUES:
            raise PlanError(f"isin takes at most {MOST_VALUES} values")
        for value in self.values:
            check_constant(self.a.domain, value.value, "==")
        self.computed_from(self.a, domain=BoolDomain(False))

    def polars(self, *inputs: Any) -> Any:
        import polars as pl

        domain = self.a.domain
        wanted = [v.value for v in self.values]
        if isinstance(domain, CategoryDomain):
            codes = [domain.code(v) for v in wanted]
            listed = pl.Series([c for c in codes if c is not None], dtype=pl.Int32())
        elif isinstance(domain, Numeric) and not isinstance(domain, TimeDomain):
            # As a comparison would do it: what has no exact counterpart in the column's type is in no row.
            found = [exact(domain, "==", v) for v in wanted]
            listed = pl.Series([v for v in found if not isinstance(v, bool)], dtype=dtype_of(domain))
        else:
            listed = pl.Series(wanted, dtype=dtype_of(domain))
        return inputs[0].is_in(listed.implode()).fill_null(False)

    def python(self, *inputs: Any) -> Any:
        return inputs[0] is not None and any(inputs[0] == held_constant(v.value, self.a.domain) for v in self.values)

    def sql(self, sql: Any, *inputs: Any) -> Any:
        domain = self.a.domain
        held = held_keys(domain, [held_constant(v.value, domain) for v in self.values])
        return sql.among(inputs[0], [sql.held(value, domain) for value in held if value is not None])

    def text(self, *inputs: str) -> str:
        few = ", ".join(map(repr, self.values)) if len(self.values) <= SHOWN else f"{len(self.values)} values"
        return f"{inputs[0]}.isin([{few}])"


@node
class IsNull(Expr):
    """Whether the value is missing."""

    kind = "isnull"
    sees_nulls = True
    a: Expr

    def __post_init__(self) -> None:
        self.computed_from(self.a, domain=BoolDomain(False))

    def polars(self, *inputs: Any) -> Any:
        return inputs[0].is_null()

    def python(self, *inputs: Any) -> Any:
        return inputs[0] is None

    def sql(self, sql: Any, *inputs: Any) -> Any:
        return inputs[0].is_null()

    def text(self, *inputs: str) -> str:
        return f"{inputs[0]}.isna()"
