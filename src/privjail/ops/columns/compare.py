"""Comparisons: ==, <, > (the other three are their negations)."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from privjail.errors import PlanError
from privjail.ops.columns.carried import constant, held_value
from privjail.ops.polars_types import dtype_of
from privjail.plan.domain import (
    INT_MAX,
    INT_MIN,
    TRUTH,
    BoolDomain,
    CategoryDomain,
    Domain,
    FloatDomain,
    Numeric,
    TextDomain,
    TimeDomain,
    float_above,
    float_below,
)
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, node

_PYTHON: dict[str, Any] = {"==": operator.eq, "<": operator.lt, ">": operator.gt}


@node
class Compare(Expr):
    """True or false in each row; null where an operand is null.

    Domain: true/false, null only if an operand can be. A constant that is no category is equal to none.
    """

    kind = "compare"
    op: str  # "==", "<" or ">"
    a: Expr
    b: Expr | Lit

    def __post_init__(self) -> None:
        if self.op not in ("==", "<", ">"):
            raise PlanError(f"no comparison {self.op!r}")
        if isinstance(self.b, Lit):
            check_constant(self.a.domain, self.b.value, self.op)
            self.computed_from(self.a, domain=TRUTH[self.a.domain.nullable])
        else:
            check_columns(self.a.domain, self.b.domain, self.op)
            self.computed_from(self.a, self.b, domain=TRUTH[self.a.domain.nullable or self.b.domain.nullable])

    def polars(self, *inputs: Any) -> Any:
        import polars as pl

        left = inputs[0]
        domain = self.a.domain
        if not isinstance(self.b, Lit):
            right = inputs[1]
            if isinstance(domain, CategoryDomain) and isinstance(self.b.domain, CategoryDomain):
                right = recoded(right, self.b.domain, domain)
        elif isinstance(domain, CategoryDomain):
            code = domain.code(self.b.value)
            right = pl.lit(-1 if code is None else code, dtype=pl.Int32())
        elif isinstance(domain, Numeric) and not isinstance(domain, TimeDomain):
            bound = exact(domain, self.op, self.b.value)
            if isinstance(bound, bool):
                return (left == left) if bound else (left != left)
            right = pl.lit(bound, dtype=dtype_of(domain))
        else:
            right = constant(self.b.value, domain)
        return {"==": left.__eq__, "<": left.__lt__, ">": left.__gt__}[self.op](right)

    def python(self, *inputs: Any) -> Any:
        left, domain = inputs[0], self.a.domain
        if isinstance(self.b, Lit):
            right = held_constant(self.b.value, domain)
        elif isinstance(domain, CategoryDomain) and isinstance(self.b.domain, CategoryDomain):
            right = domain.code(self.b.domain.categories[inputs[1]])
        else:
            right = inputs[1]
            if type(left) is not type(right):  # a whole number and a float meet as floats
                left, right = float(left), float(right)
        if right is None:  # no such category
            return False
        return bool(_PYTHON[self.op](left, right))

    def text(self, *inputs: str) -> str:
        right = repr(self.b.value) if isinstance(self.b, Lit) else inputs[1]
        return f"({inputs[0]} {self.op} {right})"


def held_constant(value: Any, domain: Domain) -> Any:
    """A public value that a column's held values are compared with; None if it is no category. (Python compares
    whole numbers and floats exactly, so they stay what they are.)
    """
    if isinstance(domain, Numeric) and not isinstance(domain, TimeDomain):
        return value
    return held_value(value, domain)


def exact(domain: Numeric, op: str, c: int | float) -> int | float | bool:
    """A constant of the column's own type with which it compares as with c; True or False if all values do.

    Engines compare a whole number with a float by rounding the whole number: 2**53 + 1 would be 2.0**53, and
    a row would be outside the cell that its filter claims.
    """
    if isinstance(domain, FloatDomain):
        if isinstance(c, float) or float(c) == c:
            return float(c)
        beside = {"<": float_above, ">": float_below}
        return False if op == "==" else beside[op](c) or 0.0
    if math.isinf(c):
        return (c > 0) is (op == "<") and op != "=="
    bound = math.ceil(c) if op == "<" else math.floor(c)
    if op == "==" and bound != c:
        return False
    if not INT_MIN <= bound <= INT_MAX:
        return op != "==" and (c > 0) is (op == "<")
    return bound


def held_keys(domain: Domain, values: Sequence[Any]) -> dict[Any, int]:
    """Public values as the column can hold them, each with its place in the list.

    One that the column cannot hold (2.5 or 1e300 among whole numbers) is left out: converted by the engine it
    would be a neighbour's value, or the missing one. Of two that the column holds alike, the first counts.
    """
    held: dict[Any, int] = {}
    for i, value in enumerate(values):
        if isinstance(domain, Numeric) and not isinstance(domain, TimeDomain):
            value = exact(domain, "==", value)
            if isinstance(value, bool):
                continue
        held.setdefault(value, i)
    return held


def check_constant(domain: Domain, value: Any, op: str) -> None:
    if value is None or not domain.accepts(value):
        raise PlanError(
            f"a {domain.dtype} column cannot be compared with {value!r}",
            do="use .isna() to look for missing values" if value is None else None,
        )
    if isinstance(value, float) and value != value:
        raise PlanError("nothing compares with NaN", do="use .isna() to look for missing values")
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        raise PlanError("the constant does not fit into 64 bits")
    if op != "==" and isinstance(domain, CategoryDomain):
        if not domain.ordered:
            raise PlanError("categories without an order can only be tested for equality")
        if domain.code(value) is None:
            raise PlanError(f"{value!r} is not a category of the column")


def check_columns(left: Domain, right: Domain, op: str) -> None:
    same = type(left) is type(right)
    numbers = all(isinstance(d, Numeric) and not isinstance(d, TimeDomain) for d in (left, right))
    if not same and not numbers:
        raise PlanError(f"a {left.dtype} column cannot be compared with a {right.dtype} column")
    if op != "==" and isinstance(left, (CategoryDomain, TextDomain, BoolDomain)):
        if isinstance(left, CategoryDomain) and left.ordered and left == right:
            return
        raise PlanError(f"two {left.dtype} columns can only be tested for equality")


def recoded(column: Any, old: CategoryDomain, new: CategoryDomain) -> Any:
    """Positions in one list of categories, as positions in another; -1 for labels that it lacks."""
    if old.categories == new.categories:
        return column
    import polars as pl

    codes = [new.code(label) for label in old.categories]
    return column.replace_strict(
        list(range(len(codes))), [-1 if c is None else c for c in codes], default=None, return_dtype=pl.Int32()
    )
