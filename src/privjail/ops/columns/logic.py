"""Three-valued logic on true/false columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from privjail.errors import PlanError
from privjail.plan.domain import BoolDomain
from privjail.plan.expr import Expr
from privjail.plan.node import node


def _need_bool(*operands: Expr) -> None:
    for each in operands:
        if not isinstance(each.domain, BoolDomain):
            raise PlanError(
                f"&, |, ^ and ~ need true/false columns, not {each.domain.dtype}",
                do='put each comparison in parentheses: (df["a"] > 1) & (df["b"] < 2)',
            )


@node
class Logic(Expr):
    """a & b, a | b, a ^ b. Null means unknown: true | null is true, false & null is false."""

    kind = "logic"
    sees_nulls = True
    op: str
    a: Expr
    b: Expr

    def __post_init__(self) -> None:
        _need_bool(self.a, self.b)
        if self.op not in ("&", "|", "^"):
            raise PlanError(f"no logical operation {self.op!r}")
        self.computed_from(self.a, self.b, domain=BoolDomain(self.a.domain.nullable or self.b.domain.nullable))

    def polars(self, *inputs: Any) -> Any:
        a, b = inputs
        return {"&": a.__and__, "|": a.__or__, "^": a.__xor__}[self.op](b)

    def python(self, *inputs: Any) -> Any:
        a, b = inputs
        if self.op == "&" and (a is False or b is False):
            return False
        if self.op == "|" and (a is True or b is True):
            return True
        if a is None or b is None:
            return None
        return a != b if self.op == "^" else self.op == "&"

    def sql(self, sql: Any, *inputs: Any) -> Any:
        a, b = inputs
        return {"&": a.__and__, "|": a.__or__, "^": a.differs}[self.op](b)

    def text(self, *inputs: str) -> str:
        return f"({inputs[0]} {self.op} {inputs[1]})"


@node
class Not(Expr):
    """~a: null stays null."""

    kind = "not"
    a: Expr

    def __post_init__(self) -> None:
        _need_bool(self.a)
        self.computed_from(self.a, domain=self.a.domain)

    def polars(self, *inputs: Any) -> Any:
        return inputs[0].not_()

    def python(self, *inputs: Any) -> Any:
        return not inputs[0]

    def sql(self, sql: Any, *inputs: Any) -> Any:
        return ~inputs[0]

    def text(self, *inputs: str) -> str:
        return f"~{inputs[0]}"


def negation(a: Expr) -> Expr:
    """~~a is a, so that a filter and its complement fall into one partition."""
    return a.a if isinstance(a, Not) else Not(a)


def joined(op: str, parts: Sequence[Expr]) -> Expr:
    """All parts joined by one operation, as a tree that is not deep."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return Logic(op, joined(op, parts[:half]), joined(op, parts[half:]))
