"""Plans evaluated by plain Python, row by row: slow, and easy to judge.

A row of a base is a dictionary from column names to values; a window's row also knows its place, so that a lag can
look up and down. Only for tiny tables.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Carried, Constant
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.cut import Cut
from privjail.ops.numbers.distinct import Distinct
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.columns.isin import IsIn, IsNull
from privjail.ops.columns.logic import Logic, Not
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.columns.recode import Recode
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.sort import Sort
from privjail.ops.rows.source import Column, Source
from privjail.ops.numbers.tally import Tally
from privjail.ops.columns.where import FillNull, NullWhere, Where
from privjail.ops.rows.window import Lag, Window
from privjail.plan.domain import INT_MAX, INT_MIN, CategoryDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.plan.value import Value


class Naive:
    """One table of a data set."""

    def __init__(self, table: tuple[tuple[Any, ...], ...]) -> None:
        self.table = table
        self.known: dict[Any, Any] = {}

    # A row of a base is its number in that base; rows are a list of such numbers.

    def rows(self, rows: Rows) -> list[int]:
        match rows:
            case Source():
                return list(range(len(self.table)))
            case Filter(above, condition):
                return [i for i in self.rows(above) if self.at(condition, i) is True]
            case Sort(above, by, descending):
                order = self.rows(above)
                for key, down in reversed(list(zip(by, descending, strict=True))):
                    order.sort(key=lambda i: self._rank(key, i, down))  # noqa: B023
                return order
        return list(range(len(self.before(rows))))

    def _rank(self, key: Expr, i: int, down: int) -> Any:
        value = self.at(key, i)
        if value is None:
            return (1, 0)
        if isinstance(key.domain, CategoryDomain):
            value = key.domain.categories.index(value)
        return (0, -value if down else value)

    def before(self, base: Rows) -> list[int]:
        """For each row of a new base, its number in the base before."""
        if base not in self.known:
            self.known[base] = self._before(base)
        found: list[int] = self.known[base]
        return found

    def _before(self, base: Rows) -> list[int]:
        match base:
            case Slice(above, start, stop):
                return self.rows(above)[start:stop]
            case Window(above):
                return self.rows(above)
            case GroupHead(above, key, k):
                seen: dict[Any, int] = {}
                kept = []
                for i in self.rows(above):
                    value = self.at(key, i)
                    if value is not None and seen.setdefault(value, 0) < k:
                        seen[value] += 1
                        kept.append(i)
                return kept
        raise TypeError(type(base).__name__)

    def at(self, expr: Expr, i: int) -> Any:
        """The value of an expression in row i of its base."""
        match expr:
            case Column(source, name):
                return self.table[i][[n for n, _ in source.dataset.columns].index(name)]
            case Constant(lit):
                return lit.value
            case Carried(into, inner):
                return self.at(inner, self.before(into)[i])
            case Lag(window, inner, k):
                above = self.before(window)
                return self.at(inner, above[i - k]) if 0 <= i - k < len(above) else None
            case Where(c, a, b):
                return self.at(a if self.at(c, i) is True else b, i)
            case FillNull(a, b):
                value = self.at(a, i)
                return self.at(b, i) if value is None else value
            case NullWhere(c, a):
                return None if self.at(c, i) is True else self.at(a, i)
            case Logic(op, a, b):
                return _logic(op, self.at(a, i), self.at(b, i))
            case IsNull(a):
                return self.at(a, i) is None
            case IsIn(a, values):
                value = self.at(a, i)
                return value is not None and value in [v.value for v in values]
        return self._strict(expr, i)

    def _strict(self, expr: Expr, i: int) -> Any:
        """Operations that are null where an operand is."""
        operands = [self.at(each, i) for each in expr.inputs]
        if None in operands:
            return None
        x = operands[0]
        match expr:
            case Not():
                return not x
            case Compare(op, _, b):
                y = b.value if isinstance(b, Lit) else operands[1]
                return {"==": x == y, "<": op == "<" and x < y, ">": op == ">" and x > y}[op]
            case Arithmetic(op):
                return _arithmetic(op, x, operands[1])
            case Clip(_, low, high):
                x = x if low.value is None else max(x, low.value)
                return x if high.value is None else min(x, high.value)
            case Recode(_, pairs, keep):
                return {k.value: v.value for k, v in pairs}.get(x, x if keep else None)
            case Cut(_, edges, None, 1, 0):
                for label, a, b in zip(expr.domain.categories, edges, edges[1:], strict=False):  # type: ignore[attr-defined]
                    if a.value < x <= b.value:
                        return label
                return None
        raise TypeError(type(expr).__name__)

    def value(self, value: Value) -> list[Fraction]:
        match value:
            case Tally(rows, keys, summed):
                return [self._group(rows, keys, labels, summed) for labels in product(*value.index)]
            case Distinct(rows, key):
                return [Fraction(len({self.at(key, i) for i in self.rows(rows)} - {None}))]
            case QuantileScores(rows, a, candidates, below, above, target):
                held = [x for i in self.rows(rows) if (x := self.at(a, i)) is not None]
                return [rank_score(held, c.value, below, above, target) for c in candidates]
        raise TypeError(type(value).__name__)

    def _group(self, rows: Rows, keys: Any, labels: tuple[Any, ...], summed: Expr | None) -> Fraction:
        total = Fraction(0)
        for i in self.rows(rows):
            if all(self.at(k, i) == label for k, label in zip(keys, labels, strict=True)):
                x = 1 if summed is None else self.at(summed, i)
                total += 0 if x is None else Fraction(x)
        return total


def _logic(op: str, a: Any, b: Any) -> Any:
    if op == "&":
        return False if a is False or b is False else (None if a is None or b is None else True)
    if op == "|":
        return True if a is True or b is True else (None if a is None or b is None else False)
    return None if a is None or b is None else a != b


def _arithmetic(op: str, x: Any, y: Any) -> Any:
    if op in ("/", "//", "%") and y == 0:
        return None
    found = {"+": x + y, "-": x - y, "*": x * y}.get(op)
    if found is None:
        found = {"/": lambda: x / y, "//": lambda: x // y, "%": lambda: x % y}[op]()
    if isinstance(found, float):
        return found if math.isfinite(found) else None
    return found if INT_MIN <= found <= INT_MAX else None


def rank_score(held: list[Any], c: Any, below: Fraction, above: Fraction, target: Fraction) -> Fraction:
    """The least distance to the target over all ways to count rows equal to c below or above it."""
    equal = sum(x == c for x in held)
    lowest = below * sum(x < c for x in held) - above * (sum(x > c for x in held) + equal)
    highest = below * (sum(x < c for x in held) + equal) - above * sum(x > c for x in held)
    return -max(Fraction(0), lowest - target, target - highest)
