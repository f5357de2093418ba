"""Bound a column of numbers: what every sum and mean needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from privjail.errors import PlanError
from privjail.plan.domain import FloatDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, node


@node
class Clip(Expr):
    """Values below the lower bound become it, above the upper bound likewise; nulls stay.

    Domain: the input's bounds, clipped the same way (clipping is monotone).
    """

    kind = "clip"
    a: Expr
    lower: Lit
    upper: Lit

    def __post_init__(self) -> None:
        domain = self.a.domain
        if not isinstance(domain, (IntDomain, FloatDomain)):
            raise PlanError(f"clip needs numbers, not {domain.dtype}")
        low, high = self.lower.value, self.upper.value
        for bound in (low, high):
            if bound is not None and not (isinstance(bound, (int, float)) and -1e308 < bound < 1e308):
                raise PlanError(f"clip needs finite bounds, got {bound!r}")
            if isinstance(domain, IntDomain) and isinstance(bound, float):
                raise PlanError("whole numbers are clipped to whole numbers", do='use .astype("Float64") first')
            if isinstance(domain, IntDomain) and bound is not None and not -(2**63) <= bound < 2**63:
                raise PlanError("the bound does not fit into 64 bits")
        if low is not None and high is not None and low > high:
            raise PlanError(f"clip needs lower ≤ upper, got {low} and {high}")
        if isinstance(domain, FloatDomain):
            low, high = (None if b is None else float(b) for b in (low, high))
        bounds = (_clipped(domain.lower, low, high, low), _clipped(domain.upper, low, high, high))
        self.computed_from(self.a, domain=replace(domain, lower=bounds[0], upper=bounds[1]))

    def polars(self, *inputs: Any) -> Any:
        column = inputs[0]
        floats = isinstance(self.domain, FloatDomain)
        low, high = (b.value if b.value is None or not floats else float(b.value) for b in (self.lower, self.upper))
        return column.clip(low, high)

    def python(self, *inputs: Any) -> Any:
        (x,) = inputs
        low, high = (None if b.value is None else type(x)(b.value) for b in (self.lower, self.upper))
        x = x if low is None else max(x, low)
        return x if high is None else min(x, high)

    def text(self, *inputs: str) -> str:
        return f"{inputs[0]}.clip({self.lower.value}, {self.upper.value})"


def _clipped(bound: Any, low: Any, high: Any, otherwise: Any) -> Any:
    if bound is None:
        return otherwise
    if low is not None and bound < low:
        bound = low
    return high if high is not None and bound > high else bound
