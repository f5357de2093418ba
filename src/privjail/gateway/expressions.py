"""The expressions of the gateway: JSON that becomes private columns.

An expression is a constant (a number, a text, true or false), ``{"column": NAME}``, or ``{"op": NAME, "args": […]}``.
The tables below list all operations. Each is one call of the pandas face, which checks its arguments and derives every
fact.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from privjail.errors import PlanError
from privjail.pandas.frame import PrivDataFrame
from privjail.pandas.series import PrivSeries

DEEPEST = 30  # expressions within expressions
MOST = 500  # parts of one query's expressions

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "eq": operator.eq, "ne": operator.ne, "lt": operator.lt,
    "le": operator.le, "gt": operator.gt, "ge": operator.ge, "and": operator.and_, "or": operator.or_,
    "xor": operator.xor,
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {
    "not": operator.invert, "neg": operator.neg, "abs": abs,
    **{name: operator.methodcaller(name) for name in ("isna", "notna", "floor", "ceil", "sqrt", "exp", "log")},
    **{name: operator.attrgetter(f"dt.{name}") for name in ("year", "month", "day", "hour", "weekday")},
    "lower": lambda a: a.str.lower(), "upper": lambda a: a.str.upper(), "length": lambda a: a.str.len(),
}  # fmt: skip
#: A column, then constants: the operation, and how many constants it takes (at least, at most).
WITH_CONSTANTS: dict[str, tuple[Callable[..., Any], int, int]] = {
    "clip": (lambda a, low, high: a.clip(low, high), 2, 2),
    "round": (lambda a, digits=0: a.round(digits), 0, 1),
    "between": (lambda a, low, high: a.between(low, high), 2, 2),
    "isin": (lambda a, *values: a.isin(list(values)), 1, 1_000),
    "fillna": (lambda a, value: a.fillna(value), 1, 1),
    "contains": (lambda a, text: a.str.contains(text, regex=False), 1, 1),
    "startswith": (lambda a, text: a.str.startswith(text), 1, 1),
    "endswith": (lambda a, text: a.str.endswith(text), 1, 1),
}
OPERATIONS = sorted([*BINARY, *UNARY, *WITH_CONSTANTS, "where"])
Constant = bool | int | float | str


class Expressions:
    """Reads the expressions of one query, and counts their parts."""

    def __init__(self) -> None:
        self._parts = 0

    def column(self, table: PrivDataFrame, given: Any) -> PrivSeries:
        """An expression that gives a private column."""
        found = self.read(table, given)
        if not isinstance(found, PrivSeries):
            raise PlanError("an expression is needed that names a column", do='e.g. {"column": "age"}')
        return found

    def read(self, table: PrivDataFrame, given: Any, depth: int = 0) -> PrivSeries | Constant:
        self._parts += 1
        if self._parts > MOST or depth > DEEPEST:
            raise PlanError(f"an expression has more than {MOST} parts, or more than {DEEPEST} levels")
        if isinstance(given, Constant):
            return given
        if not isinstance(given, dict):
            raise PlanError("an expression is a constant, a column or an operation", do='e.g. {"column": "age"}')
        if set(given) == {"column"} and isinstance(given["column"], str):
            return named(table, given["column"])
        if set(given) == {"op", "args"} and isinstance(given["op"], str) and isinstance(given["args"], list):
            args = [self.read(table, each, depth + 1) for each in given["args"]]
            return _applied(given["op"], args)
        raise PlanError('an expression has "column", or "op" and "args"', do='e.g. {"column": "age"}')


def named(table: PrivDataFrame, name: str) -> PrivSeries:
    if name not in table.columns:
        raise PlanError(f"there is no column {name!r}", do="GET /v1/datasets/NAME lists the columns")
    found: PrivSeries = table[name]
    return found


def _applied(op: str, args: list[Any]) -> PrivSeries:
    if op == "where":
        return _where(*_checked(op, args, 3, 3))
    if op in BINARY:
        left, right = _checked(op, args, 2, 2)
        return _series(BINARY[op](left, right), op)
    if op in UNARY:
        _need_column(op, args, 1, 1)
        return _series(UNARY[op](args[0]), op)
    if op in WITH_CONSTANTS:
        call, least, most = WITH_CONSTANTS[op]
        _need_column(op, args, 1 + least, 1 + most)
        if any(isinstance(each, PrivSeries) for each in args[1:]) and op != "fillna":
            raise PlanError(f"{op} takes constants after its column")
        return _series(call(*args), op)
    raise PlanError(f"there is no operation {op!r}", do=f"use one of: {', '.join(OPERATIONS)}")


def _checked(op: str, args: list[Any], least: int, most: int) -> list[Any]:
    if not least <= len(args) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise PlanError(f"{op} takes {wanted} arguments, not {len(args)}")
    if not any(isinstance(each, PrivSeries) for each in args):
        raise PlanError(f"{op} of constants only is a constant: compute it before you ask")
    return args


def _need_column(op: str, args: list[Any], least: int, most: int) -> None:
    _checked(op, args, least, most)
    if not isinstance(args[0], PrivSeries):
        raise PlanError(f"the first argument of {op} is a column")


def _where(condition: Any, then: Any, other: Any) -> PrivSeries:
    """``then`` where the condition is true, else ``other``; an unknown condition counts as false."""
    if not isinstance(condition, PrivSeries):
        raise PlanError("the first argument of where is a condition on columns")
    if isinstance(then, PrivSeries):
        return then.where(condition, other)
    if isinstance(other, PrivSeries):
        return other.mask(condition, then)
    return condition.fillna(False).map({True: then, False: other})


def _series(found: Any, op: str) -> PrivSeries:
    if not isinstance(found, PrivSeries):
        raise PlanError(f"{op} does not fit these arguments")
    return found
