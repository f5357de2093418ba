"""df.query: a condition written as text, parsed by Python's own grammar and never evaluated."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import ChainMap
from collections.abc import Mapping
from typing import Any

from privjail.errors import PlanError
from privjail.prisoner import Prisoner

_COMPARE = {ast.Eq: "__eq__", ast.NotEq: "__ne__", ast.Lt: "__lt__", ast.LtE: "__le__", ast.Gt: "__gt__",
            ast.GtE: "__ge__"}  # fmt: skip
#: What a query may call: functions of one column and constants, which return columns.
_METHODS = {"isin", "between", "isna", "isnull", "notna", "notnull", "abs", "round", "contains", "startswith",
            "endswith", "lower", "upper", "len", "match", "fullmatch", "strip"}  # fmt: skip
_DATE_PARTS = ("year", "month", "day", "hour", "quarter", "dayofweek", "days")
_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
           ast.Mod: "mod", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}  # fmt: skip


def callers_names() -> Mapping[str, Any]:
    """The variables of the line that called us: what @name in a query means."""
    at = sys._getframe(1)
    while at.f_back is not None and at.f_globals.get("__name__", "").startswith("privjail."):
        at = at.f_back
    return ChainMap(dict(at.f_locals), at.f_globals)


def parse_query(text: str, frame: Any, variables: Mapping[str, Any]) -> Any:
    """The condition as a private true/false column."""
    if not isinstance(text, str) or len(text) > 10_000:
        raise PlanError("query takes a condition as text")
    names: dict[str, Any] = {}

    def quoted(match: re.Match[str]) -> str:
        names[f"_column_{len(names)}"] = match[1]
        return f"_column_{len(names) - 1}"

    def variable(match: re.Match[str]) -> str:
        if match[1] not in variables:
            raise PlanError(f"there is no variable {match[1]!r}", plan=f"query({text[:100]!r})")
        names[f"_variable_{len(names)}"] = Variable(variables[match[1]])
        return f"_variable_{len(names) - 1}"

    text = re.sub(r"@\s*([A-Za-z_]\w*)", variable, text)
    try:
        tree = ast.parse(_spelled_out(re.sub(r"`([^`]*)`", quoted, text).strip()), mode="eval").body
        condition = _read(tree, frame, names)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError, tokenize.TokenError):
        raise PlanError("the query is not a valid condition", plan=f"query({text[:100]!r})") from None
    if not isinstance(condition, Prisoner):
        raise PlanError("the query uses no column", plan=f"query({text[:100]!r})")
    return condition


class Variable:
    """A value that a query names by @."""

    def __init__(self, value: Any) -> None:
        self.value = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        if hasattr(value, "tolist") and getattr(value, "ndim", 0) == 1 and not isinstance(value, Prisoner):
            self.value = value.tolist()
        if isinstance(value, (tuple, range)):
            self.value = list(value)


def _spelled_out(text: str) -> str:
    """& and | bind like "and" and "or" in a query, as in pandas."""
    words = {"&": "and", "|": "or"}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return tokenize.untokenize([(tokenize.NAME, words[t[1]]) if t[1] in words else t[:2] for t in tokens])


def _read(tree: ast.expr, frame: Any, names: dict[str, Any]) -> Any:
    match tree:
        case ast.Name(name):
            found = names.get(name, name)
            return found.value if isinstance(found, Variable) else frame[found]
        case ast.Attribute(value, attribute) if attribute in ("str", "dt", *_DATE_PARTS):
            return getattr(_read(value, frame, names), attribute)
        case ast.Call(ast.Attribute(value, method), arguments, []) if method in _METHODS:
            owner = _read(value, frame, names)
            return getattr(owner, method)(*(_read(each, frame, names) for each in arguments))
        case ast.Constant(value):
            return value
        case ast.List(items) | ast.Tuple(items):
            return [_read(each, frame, names) for each in items]
        case ast.BoolOp(op, values):
            parts = [_read(each, frame, names) for each in values]
            result = parts[0]
            for part in parts[1:]:
                result = result & part if isinstance(op, ast.And) else result | part
            return result
        case ast.UnaryOp(ast.Not() | ast.Invert(), operand):
            return ~_read(operand, frame, names)
        case ast.UnaryOp(ast.USub(), operand):
            return -_read(operand, frame, names)
        case ast.BinOp(a, op, b) if type(op) in _BINARY:
            left, right = _read(a, frame, names), _read(b, frame, names)
            if not isinstance(left, Prisoner) and isinstance(right, Prisoner):
                return getattr(right, f"__r{_BINARY[type(op)]}__")(left)
            if not isinstance(left, Prisoner):
                raise PlanError("a query computes with columns, not with two constants")
            return getattr(left, f"__{_BINARY[type(op)]}__")(right)
        case ast.Compare(first, ops, rest):
            return _compared(first, ops, rest, frame, names)
    raise PlanError(f"a query cannot contain {type(tree).__name__}", do="use comparisons, and, or, not, in")


def _compared(first: ast.expr, ops: list[ast.cmpop], rest: list[ast.expr], frame: Any, names: dict[str, Any]) -> Any:
    left = _read(first, frame, names)
    result: Any = None
    for op, tree in zip(ops, rest, strict=True):
        right = _read(tree, frame, names)
        listed = isinstance(right, list) and isinstance(op, (ast.Eq, ast.NotEq))
        if isinstance(op, (ast.In, ast.NotIn)) or listed:
            if not isinstance(left, Prisoner) or not isinstance(right, list):
                raise PlanError("in and not in test a column against a list", do='query("a in [1, 2]")')
            found = left.isin(right)  # type: ignore[attr-defined]
            part = ~found if isinstance(op, (ast.NotIn, ast.NotEq)) else found
        elif type(op) in _COMPARE:
            flipped = {"__lt__": "__gt__", "__gt__": "__lt__", "__le__": "__ge__", "__ge__": "__le__"}
            method = _COMPARE[type(op)]
            if isinstance(left, Prisoner):
                part = getattr(left, method)(right)
            elif not isinstance(right, Prisoner):
                raise PlanError("a query compares columns, not two constants")
            else:
                part = getattr(right, flipped.get(method, method))(left)
        else:
            raise PlanError("a query cannot use 'is'")
        result = part if result is None else result & part
        left = right
    return result
