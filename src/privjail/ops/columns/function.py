"""Functions of one number: abs, round, floor, ceil, sqrt, exp, log."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from privjail.errors import PlanError
from privjail.ops.polars_types import finite
from privjail.plan.domain import Domain, FloatDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import node

_SLACK = 1 + 2.0**-40  # libraries may disagree in the last bits of exp and log: bounds are widened by this


@node
class Function(Expr):
    """One function, applied to each value. Outside its range of definition the result is null.

    Domain: all but abs are monotone, so the bounds are the images of the bounds, rounded outward.
    """

    kind = "function"
    f: str
    a: Expr
    digits: int  # round only: decimals to keep

    def __post_init__(self) -> None:
        if not isinstance(self.a.domain, (IntDomain, FloatDomain)):
            raise PlanError(f"{self.f} needs numbers, not {self.a.domain.dtype}")
        if self.f not in ("abs", "round", "floor", "ceil", "sqrt", "exp", "log"):
            raise PlanError(f"no function {self.f!r}")
        if not 0 <= self.digits <= 15:
            raise PlanError("round keeps 0 to 15 decimals")
        self.computed_from(self.a, domain=_result(self.f, self.a.domain, self.digits))

    def polars(self, *inputs: Any) -> Any:
        import polars as pl

        column = inputs[0]
        if isinstance(self.domain, IntDomain):
            if self.f != "abs":
                return column
            # -2**63 has no positive counterpart in 64 bits.
            return pl.when(column > -(2**63)).then(column.abs())
        column = column.cast(pl.Float64())
        match self.f:
            case "abs":
                return column.abs()
            case "round":
                return finite(column.round(self.digits))
            case "floor":
                return column.floor()
            case "ceil":
                return column.ceil()
            case "sqrt":
                return finite(column.sqrt())
            case "exp":
                return finite(column.exp())
        return finite(pl.when(column > 0).then(column.log()))

    def python(self, *inputs: Any) -> Any:
        (x,) = inputs
        if isinstance(self.domain, IntDomain):
            return x if self.f != "abs" else (abs(x) if x > -(2**63) else None)
        x = float(x)
        if self.f in ("abs", "floor", "ceil"):
            return {"abs": abs(x), "floor": float(math.floor(x)), "ceil": float(math.ceil(x))}[self.f]
        if self.f == "sqrt" and x < 0 or self.f == "log" and x <= 0:
            return None
        try:
            found = _round(x, self.digits) if self.f == "round" else getattr(math, self.f)(x)
        except OverflowError:
            return None
        return found if math.isfinite(found) else None

    def text(self, *inputs: str) -> str:
        return f"{inputs[0]}.round({self.digits})" if self.f == "round" else f"{self.f}({inputs[0]})"


def _round(x: float, digits: int) -> float:
    """To the nearest multiple of 10**-digits, ties to even: as engines do it, in floats."""
    scaled = x * 10.0**digits
    return float(round(scaled)) / 10.0**digits if math.isfinite(scaled) else x


def _result(f: str, domain: IntDomain | FloatDomain, digits: int) -> Domain:
    low, high = domain.lower, domain.upper
    if f == "abs":
        both = None if low is None or high is None else max(abs(low), abs(high))
        near = 0 if low is None or high is None or low <= 0 <= high else min(abs(low), abs(high))
        nullable = domain.nullable or (isinstance(domain, IntDomain) and (low is None or low <= -(2**63)))
        if isinstance(domain, IntDomain) and both is not None and both >= 2**63:
            both = None
        return replace(domain, nullable=nullable, lower=type(low)(near) if low is not None else near, upper=both)
    if isinstance(domain, IntDomain) and f in ("round", "floor", "ceil"):
        return domain
    match f:
        case "round":
            least = None if low is None else _rounded(low, digits)
            most = None if high is None else _rounded(-high, digits)
            return FloatDomain(domain.nullable, least, None if most is None else -most)
        case "floor":
            return FloatDomain(domain.nullable, _map(low, math.floor), _map(high, math.floor))
        case "ceil":
            return FloatDomain(domain.nullable, _map(low, math.ceil), _map(high, math.ceil))
        case "sqrt":
            nullable = domain.nullable or low is None or low < 0
            top = None if high is None else math.sqrt(max(high, 0))
            return FloatDomain(nullable, 0.0 if low is None or low < 0 else math.sqrt(low), top)
        case "exp":
            overflow = high is None or high > 709.0
            top = None if overflow else math.exp(high) * _SLACK
            bottom = 0.0 if low is None or low > 709.0 else max(0.0, math.exp(low) / _SLACK)
            return FloatDomain(domain.nullable or overflow, bottom, top)
    nullable = domain.nullable or low is None or low <= 0
    first = None if low is None or low <= 0 else _widen(math.log(low), -1)
    return FloatDomain(nullable, first, None if high is None or high <= 0 else _widen(math.log(high), 1))


def _map(bound: Any, f: Any) -> float | None:
    return None if bound is None else float(f(bound))


def _rounded(low: float, digits: int) -> float | None:
    """A number that no value from ``low`` upward is rounded below; None if there is no such float.

    Engines multiply by 10**digits, round to a whole number and divide: each of the three is monotone, and
    leaves whole numbers alone as long as the product is exact. Beyond that, multiplication and division
    are off by a few units in the last place.
    """
    step = 0.5 * 10.0**-digits
    below = math.nextafter(low - step - abs(low) * 2.0**-50, -math.inf)
    if not math.isfinite(below):
        return None
    whole = float(math.floor(low))
    return max(below, whole) if abs(whole) * 10.0**digits < 2.0**53 else below


def _widen(x: float, sign: int) -> float:
    return x + sign * (abs(x) * 2.0**-40 + 2.0**-60)
