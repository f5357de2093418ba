"""numpy's functions of single elements, as row-wise expressions. Shared by arrays, columns and tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from privjail.errors import PlanError
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.function import Function
from privjail.ops.columns.isin import IsNull
from privjail.ops.columns.logic import Logic, negation
from privjail.ops.columns.where import FillNull, NullWhere, Where
from privjail.plan.domain import BoolDomain, FloatDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.rowwise import compared, computed, literal, numeric

Unary = Callable[[Expr], Expr]
Binary = Callable[[Expr, Expr], Expr]
LARGE = 700.0  # beyond this e**x is too large for a float, and 1 / (1 + e**x) is 0


def constant(x: Any) -> Expr:
    return Constant(literal(x))


def as_floats(a: Expr) -> Expr:
    a = numeric(a)
    return a if isinstance(a.domain, FloatDomain) else Cast(a, "Float64")


def function(name: str) -> Unary:
    return lambda a: Function(name, numeric(a), 0)


def sigmoid(a: Expr) -> Expr:
    """1 / (1 + e**-x), between 0 and 1; beyond ±700 as at ±700."""
    bounded = Clip(as_floats(a), Lit.of(-LARGE), Lit.of(LARGE))
    below = Function("exp", computed("-", constant(0.0), bounded), 0)
    return Clip(computed("/", constant(1.0), computed("+", constant(1.0), below)), Lit.of(0.0), Lit.of(1.0))


def tanh(a: Expr) -> Expr:
    """2·sigmoid(2x) - 1."""
    twice = sigmoid(computed("*", constant(2.0), as_floats(a)))
    return computed("-", computed("*", constant(2.0), twice), constant(1.0))


def square(a: Expr) -> Expr:
    """x·x, which is never negative."""
    a = numeric(a)
    product = computed("*", a, a)
    if not isinstance(product.domain, (IntDomain, FloatDomain)):
        raise PlanError("square needs numbers")
    return Clip(product, Lit.of(0.0 if isinstance(product.domain, FloatDomain) else 0), Lit.of(None))


def sign(a: Expr) -> Expr:
    positive, negative = (Cast(compared(op, a, 0), "Int64") for op in (">", "<"))
    return computed("-", positive, negative)


UNARY: dict[str, Unary] = {
    "absolute": function("abs"),
    "fabs": function("abs"),
    "exp": function("exp"),
    "log": function("log"),
    "sqrt": function("sqrt"),
    "floor": function("floor"),
    "ceil": function("ceil"),
    "rint": function("round"),
    "trunc": lambda a: Where(compared("<", a, 0), Function("ceil", numeric(a), 0), Function("floor", numeric(a), 0)),
    "negative": lambda a: computed("-", constant(0), a),
    "positive": lambda a: a,
    "square": square,
    "sign": sign,
    "tanh": tanh,
    "reciprocal": lambda a: computed("/", constant(1.0), a),
    "log1p": lambda a: Function("log", computed("+", constant(1.0), a), 0),
    "expm1": lambda a: computed("-", Function("exp", numeric(a), 0), constant(1.0)),
    "log2": lambda a: computed("/", Function("log", numeric(a), 0), constant(math.log(2))),
    "log10": lambda a: computed("/", Function("log", numeric(a), 0), constant(math.log(10))),
    "logical_not": negation,
    "invert": negation,
    "isnan": IsNull,
    "isfinite": lambda a: negation(IsNull(a)),
}


def _truth(a: Expr) -> Expr:
    return a if isinstance(a.domain, BoolDomain) else compared("!=", a, 0)


def power(a: Expr, b: Expr) -> Expr:
    """A small whole power: x·x·…; or a root."""
    exponent = b.lit.value if isinstance(b, Constant) else None
    if exponent == 0.5:
        return Function("sqrt", numeric(a), 0)
    if exponent == 2:
        return square(a)
    if not isinstance(exponent, (int, float)) or exponent != int(exponent) or not 1 <= exponent <= 16:
        raise PlanError("a power is a public whole number from 1 to 16, or 0.5", do="use np.exp(k * np.log(x))")
    result = numeric(a)
    for _ in range(int(exponent) - 1):
        result = computed("*", result, a)
    return result


def _extreme(op: str) -> Binary:
    """The larger or smaller of two; missing if one is missing, as numpy has it."""

    def build(a: Expr, b: Expr) -> Expr:
        a, b = numeric(a), numeric(b)
        chosen = Where(compared(op, a, b), a, b)
        return chosen if not (a.domain.nullable or b.domain.nullable) else _missing_with(chosen, a, b)

    return build


def _extreme_known(op: str) -> Binary:
    """The larger or smaller of two; the other one if one is missing (fmax, fmin)."""

    def build(a: Expr, b: Expr) -> Expr:
        a, b = numeric(a), numeric(b)
        left = FillNull(a, b) if a.domain.nullable else a
        right = FillNull(b, a) if b.domain.nullable else b
        return Where(compared(op, left, right), left, right)

    return build


def _missing_with(chosen: Expr, *others: Expr) -> Expr:
    for each in others:
        if each.domain.nullable:
            chosen = NullWhere(IsNull(each), chosen)
    return chosen


def _compare(op: str) -> Binary:
    def build(a: Expr, b: Expr) -> Expr:
        kinds = isinstance(a.domain, BoolDomain), isinstance(b.domain, BoolDomain)
        if kinds[0] != kinds[1] and all(isinstance(e.domain, (BoolDomain, IntDomain, FloatDomain)) for e in (a, b)):
            a, b = numeric(a), constant(int(b.lit.value)) if isinstance(b, Constant) and kinds[1] else numeric(b)
        return compared(op, a, b.lit.value if isinstance(b, Constant) else b)

    return build


def _arithmetic(op: str) -> Binary:
    return lambda a, b: Arithmetic(op, numeric(a), numeric(b))


def _logic(op: str) -> Binary:
    return lambda a, b: Logic(op, _truth(a), _truth(b))


BINARY: dict[str, Binary] = {
    "add": _arithmetic("+"), "subtract": _arithmetic("-"), "multiply": _arithmetic("*"), "divide": _arithmetic("/"),
    "true_divide": _arithmetic("/"), "floor_divide": _arithmetic("//"), "remainder": _arithmetic("%"),
    "equal": _compare("=="), "not_equal": _compare("!="), "less": _compare("<"), "less_equal": _compare("<="),
    "greater": _compare(">"), "greater_equal": _compare(">="),
    "logical_and": _logic("&"), "logical_or": _logic("|"), "logical_xor": _logic("^"),
    "bitwise_and": _logic("&"), "bitwise_or": _logic("|"), "bitwise_xor": _logic("^"),
    "power": power, "float_power": power,
    "hypot": lambda a, b: Function("sqrt", computed("+", square(as_floats(a)), square(as_floats(b))), 0),
    "maximum": _extreme(">"), "minimum": _extreme("<"), "fmax": _extreme_known(">"), "fmin": _extreme_known("<"),
}  # fmt: skip
MIRROR = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}


def binary(name: str, a: Expr, b: Expr) -> Expr:
    """One of BINARY; a constant on the left of a comparison changes sides."""
    if isinstance(a, Constant) and not isinstance(b, Constant) and (name in MIRROR or name in ("equal", "not_equal")):
        name, a, b = MIRROR.get(name, name), b, a
    return BINARY[name](a, b)


def settled(name: str, found: Expr) -> Expr:
    """A comparison of arrays: with a missing element it is False, and True for !=, as numpy has it for NaN."""
    if name not in MIRROR and name not in ("equal", "not_equal") or not found.domain.nullable:
        return found
    return FillNull(found, constant(name == "not_equal"))


def comes_before(name: str, e: Expr, best: Expr) -> Expr:
    """Whether an element takes the place of the best so far: a missing one does, and keeps it, as numpy has it."""
    found = settled(name, binary(name, e, best))
    if e.domain.nullable:
        found = Logic("|", found, IsNull(e))
    return Logic("&", found, negation(IsNull(best))) if best.domain.nullable else found


def where(condition: Expr, a: Expr, b: Expr) -> Expr:
    return Where(_truth(condition), a, b)


def clip(a: Expr, low: Any, high: Any) -> Expr:
    """Between public bounds; whole numbers stay whole if the bounds are."""
    a = numeric(a)
    ends = [literal(end) for end in (low, high)]
    if isinstance(a.domain, IntDomain) and any(isinstance(end.value, float) for end in ends):
        a = Cast(a, "Float64")
    return Clip(a, *ends)
