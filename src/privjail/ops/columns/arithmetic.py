"""+ - * / // % on columns. Bounds move by interval arithmetic; what cannot be computed is null."""

from __future__ import annotations

import math
import operator
from typing import Any

from privjail.errors import PlanError
from privjail.ops.polars_types import finite
from privjail.plan.domain import (
    INT_MAX,
    INT_MIN,
    BoolDomain,
    Domain,
    FloatDomain,
    IntDomain,
    Numeric,
    TimeDomain,
    float_bounds,
)
from privjail.plan.expr import Expr
from privjail.plan.node import node

_PYTHON: dict[str, Any] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}


@node
class Arithmetic(Expr):
    """One operation on two columns of numbers.

    Domain: the corners of the input ranges. Rounding to floats is monotone, so float bounds computed by
    the same float operation enclose all results. A result outside 64 bits, a division by zero, an
    overflow to infinity are null, never an exception and never a wrapped number: the domain says so by
    being nullable, and unbounded on that side.
    """

    kind = "arithmetic"
    op: str
    a: Expr
    b: Expr

    def __post_init__(self) -> None:
        if self.op not in _PYTHON:
            raise PlanError(f"no arithmetic operation {self.op!r}")
        for each in (self.a, self.b):
            if not isinstance(each.domain, (IntDomain, FloatDomain)):
                raise PlanError(
                    f"{self.op} needs numbers, not {each.domain.dtype}", do="convert the column with .astype(…)"
                )
        self.computed_from(self.a, self.b, domain=result_domain(self.op, self.a.domain, self.b.domain))

    @property
    def on_whole_columns(self) -> bool:
        # Polars divides floats by a constant as x * (1/c), except in blocks of one row: not the same numbers,
        # outside the bounds by a rounding, and another one as soon as rows are added. It leaves out + 0.0, except in
        # tables of one row: -0.0 stays what it is, or becomes 0.0.
        if not isinstance(self.domain, FloatDomain):
            return False
        return self.op in ("/", "//") or self.op == "+" and (_is_zero(self.a) or _is_zero(self.b))

    @property
    def _bounded(self) -> bool:
        """Whether no result can be infinite."""
        return isinstance(self.domain, FloatDomain) and self.domain.bounded

    def polars(self, *inputs: Any) -> Any:
        if isinstance(self.domain, IntDomain):
            return self._whole(*inputs)
        import polars as pl

        a, b = (each.cast(pl.Float64()) for each in inputs)
        if self.op == "%":
            both = pl.struct(a.alias("a"), b.alias("b"))
            return both.map_batches(_remainders, return_dtype=pl.Float64(), is_elementwise=True)
        if self.op == "//":
            result = (a / b).floor()
        else:
            result = {"+": a.__add__, "-": a.__sub__, "*": a.__mul__, "/": a.__truediv__}[self.op](b)
        return result if self._bounded else finite(result)

    def _whole(self, a: Any, b: Any) -> Any:
        import polars as pl

        safe = exact_bounds(self.op, self.a.domain, self.b.domain)
        if safe is None or safe[0] < INT_MIN or safe[1] > INT_MAX:
            # Only here can 64 bits overflow: compute in 128 and let what does not fit become null.
            a, b = a.cast(pl.Int128()), b.cast(pl.Int128())
        if self.op in ("//", "%"):
            b = pl.when(b != 0).then(b)
            floor = a // b
            result = floor if self.op == "//" else a - floor * b
        else:
            result = {"+": a.__add__, "-": a.__sub__, "*": a.__mul__}[self.op](b)
        return result.cast(pl.Int64(), strict=False)

    def python(self, *inputs: Any) -> Any:
        a, b = inputs
        if self.op in ("/", "//", "%") and b == 0:
            return None
        if isinstance(self.domain, IntDomain):
            found = _PYTHON[self.op](a, b)
            return found if INT_MIN <= found <= INT_MAX else None
        result = _PYTHON["/" if self.op == "//" else self.op](float(a), float(b))
        if not math.isfinite(result):
            return None
        return float(math.floor(result)) if self.op == "//" else result

    def sql(self, sql: Any, *inputs: Any) -> Any:
        if isinstance(self.domain, IntDomain):
            if self.op in ("//", "%"):
                return {"//": sql.divided, "%": sql.remainder}[self.op](*inputs)
            bounds = exact_bounds(self.op, self.a.domain, self.b.domain)
            safe = bounds is not None and bounds[0] >= INT_MIN and bounds[1] <= INT_MAX
            return {"+": sql.sum, "-": sql.difference, "*": sql.product}[self.op](*inputs, safe)
        a, b = (sql.as_float(each) for each in inputs)
        if self.op == "%":
            return sql.float_remainder(a, b)
        if self.op in ("/", "//"):
            result = a / sql.case(b.differs(sql.number(0.0)), b)
        else:
            result = {"+": a.__add__, "-": a.__sub__, "*": a.__mul__}[self.op](b)
        result = result if self._bounded else sql.finite(result)
        return sql.floor(result) if self.op == "//" else result

    def text(self, *inputs: str) -> str:
        return f"({inputs[0]} {self.op} {inputs[1]})"


def _is_zero(operand: Expr) -> bool:
    """Whether this is a constant that may be zero."""
    domain = operand.domain
    assert isinstance(domain, Numeric)
    return operand.base is None and (not domain.bounded or domain.lower <= 0 <= domain.upper)


def _remainders(both: Any) -> Any:
    """Remainders of floats with the sign of the divisor, as in Python and numpy; null where the divisor is 0.

    Not the engine's own %: that is x - floor(x / y) * y, whose rounding errors can leave the range of a remainder.
    """
    import numpy as np
    import polars as pl

    a, b = (both.struct.field(name) for name in "ab")
    missing = a.is_null() | b.is_null() | (b == 0)
    x, y = a.fill_null(0.0).to_numpy(), b.fill_null(1.0).to_numpy()
    found = pl.Series(both.name, np.mod(x, np.where(y == 0, 1.0, y)))
    return found.set(missing.fill_null(True), None)


def result_domain(op: str, a: Domain, b: Domain) -> Domain:
    assert isinstance(a, Numeric) and isinstance(b, Numeric)
    nullable = a.nullable or b.nullable
    both_whole = isinstance(a, IntDomain) and isinstance(b, IntDomain)
    zero = op in ("/", "//", "%") and (b.lower is None or b.lower <= 0) and (b.upper is None or b.upper >= 0)
    if both_whole and op != "/":
        bounds = exact_bounds(op, a, b)
        fits = bounds is not None and bounds[0] >= INT_MIN and bounds[1] <= INT_MAX
        if bounds is None or not fits:
            low = bounds[0] if bounds and bounds[0] >= INT_MIN and a.lower is not None and b.lower is not None else None
            high = (
                bounds[1] if bounds and bounds[1] <= INT_MAX and a.upper is not None and b.upper is not None else None
            )
            return IntDomain(True, low, high)
        return IntDomain(nullable or zero, *bounds)
    if op == "%":
        # |x % y| ≤ |y|, with the sign of y: exact but for one rounding, which is monotone and so stays within ±|y|.
        least, most = float_bounds(b.lower, b.upper)
        return FloatDomain(nullable or zero, least and min(0.0, least), most and max(0.0, most))
    if zero or not a.bounded or not b.bounded:
        return FloatDomain(True)
    floats = [float_corner(op, float(x), float(y)) for x in (a.lower, a.upper) for y in (b.lower, b.upper)]
    low_f, high_f = min(floats), max(floats)
    overflow = not (math.isfinite(low_f) and math.isfinite(high_f))
    return FloatDomain(
        nullable or overflow, low_f if math.isfinite(low_f) else None, high_f if math.isfinite(high_f) else None
    )


def float_corner(op: str, x: float, y: float) -> float:
    try:
        match op:
            case "//":
                return float(math.floor(x / y))
            case "/":
                return x / y
        return float({"+": operator.add, "-": operator.sub, "*": operator.mul}[op](x, y))
    except OverflowError:
        return math.copysign(math.inf, x) * math.copysign(1, y)


def exact_bounds(op: str, a: Domain, b: Domain) -> tuple[int, int] | None:
    """The exact range of a whole-number operation; an unknown bound counts as the end of 64 bits."""
    assert isinstance(a, IntDomain) and isinstance(b, IntDomain)
    al, ah = (INT_MIN if a.lower is None else a.lower), (INT_MAX if a.upper is None else a.upper)
    bl, bh = (INT_MIN if b.lower is None else b.lower), (INT_MAX if b.upper is None else b.upper)
    match op:
        case "+":
            return al + bl, ah + bh
        case "-":
            return al - bh, ah - bl
        case "*":
            corners = [x * y for x in (al, ah) for y in (bl, bh)]
            return min(corners), max(corners)
        case "//":
            divisors = [y for y in (bl, bh, -1, 1) if y != 0 and bl <= y <= bh]
            if not divisors:
                return 0, 0  # divided by nothing but zero: always null
            corners = [x // y for x in (al, ah) for y in divisors]
            return min(corners), max(corners)
        case "%":
            return min(0, bl + 1), max(0, bh - 1)
    return None


def is_number(domain: Domain) -> bool:
    return isinstance(domain, (IntDomain, FloatDomain, BoolDomain)) and not isinstance(domain, TimeDomain)
