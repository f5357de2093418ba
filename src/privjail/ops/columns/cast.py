"""astype: the same values in another type."""

from __future__ import annotations

import datetime
import math
import re
from typing import Any

from privjail.errors import PlanError
from privjail.ops.columns.compare import check_constant, held_constant, held_keys
from privjail.ops.polars_types import dtype_of, finite
from privjail.plan.domain import (
    INT_MAX,
    INT_MIN,
    BoolDomain,
    CategoryDomain,
    Domain,
    FloatDomain,
    IntDomain,
    Interval,
    OrdinalDomain,
    TextDomain,
    TimeDomain,
    float_bounds,
    type_name,
)
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, micros, node

TYPES = {"Int64": IntDomain, "Float64": FloatDomain, "boolean": BoolDomain, "string": TextDomain}
MOMENT = "datetime64[us]"
#: Units of whole numbers: the numbers stay as they are, and faces show them as what they count.
UNIT = re.compile(r"timedelta64\[us\]|(period|datetime64)\[(?!us\])[A-Za-z0-9|-]{1,40}\]")
#: Moments that Python's calendar knows, in microseconds: the years 1 to 9999.
CALENDAR = (micros(datetime.datetime.min), micros(datetime.datetime.max))


@node
class Cast(Expr):
    """astype to Int64, Float64, boolean or string. What does not fit is null.

    Domain: bounds are kept, rounded outward to floats or inward (toward zero) to whole numbers.

    A moment is a whole number of microseconds since 1970, and back: the same 64 bits, and the same bounds. (A bound
    outside of the years 1 to 9999 is left out: unknown is a wider claim.) Whole numbers may be given a unit.
    """

    kind = "cast"
    a: Expr
    to: str

    def __post_init__(self) -> None:
        self.computed_from(self.a, domain=_result(self.a.domain, self.to))

    def polars(self, *inputs: Any) -> Any:
        import polars as pl

        column = inputs[0]
        before = self.a.domain
        if isinstance(before, CategoryDomain):
            spelled = _labels(before, self.to)
            return column.replace_strict(
                list(range(len(spelled))), spelled, default=None, return_dtype=dtype_of(self.domain)
            )
        if isinstance(before, FloatDomain) and self.to == "Int64":
            # 2**63 itself is a float but no 64-bit integer: a strict comparison keeps it out.
            inside = (column >= -(2.0**63)) & (column < 2.0**63)
            return pl.when(inside).then(column).cast(pl.Int64(), strict=False)
        if isinstance(before, TextDomain) and self.to == "Float64":
            return finite(column.cast(pl.Float64(), strict=False))
        if self.to == "boolean":
            return column != 0
        return column.cast(dtype_of(self.domain), strict=False)

    def python(self, *inputs: Any) -> Any:
        (x,) = inputs
        match self.a.domain, self.to:
            case CategoryDomain() as before, to:
                return _labels(before, to)[x]
            case FloatDomain(), "Int64":
                return math.trunc(x) if -(2.0**63) <= x < 2.0**63 else None
            case TextDomain(), "Int64":
                return _whole(x)
            case TextDomain(), "Float64":
                return _number(x)
            case BoolDomain(), "string":
                return str(x).lower()
        return {"Int64": int, "Float64": float, "boolean": bool, "string": str}.get(self.to, int)(x)

    def text(self, *inputs: str) -> str:
        return f"{inputs[0]}.astype({self.to!r})"


def _result(before: Domain, to: str) -> Domain:
    if to not in TYPES and to != MOMENT and not UNIT.fullmatch(to):
        raise PlanError(f"astype({to!r}) is not known", do=f"use one of {', '.join(TYPES)}, or a list of categories")
    match before, to:
        case _, "string" if isinstance(before, (IntDomain, BoolDomain, TextDomain, CategoryDomain)):
            return TextDomain(before.nullable)
        case CategoryDomain(), _ if to in TYPES:
            return _from_labels(before, _labels(before, to), to)
        case (IntDomain() | BoolDomain(), "boolean"):
            return BoolDomain(before.nullable)
        case BoolDomain(), "Int64":
            return IntDomain(before.nullable, 0, 1)
        case BoolDomain(), "Float64":
            return FloatDomain(before.nullable, 0.0, 1.0)
        case IntDomain(), "Int64":
            return IntDomain(before.nullable, before.lower, before.upper)
        case IntDomain(), "Float64":
            return FloatDomain(before.nullable, *float_bounds(before.lower, before.upper))
        case FloatDomain(), "Float64":
            return before
        case TimeDomain(), "Int64":
            return IntDomain(before.nullable, before.lower, before.upper)
        case IntDomain(), "datetime64[us]":
            low, high = (b if b is not None and CALENDAR[0] <= b <= CALENDAR[1] else None for b in before.range)
            return TimeDomain(before.nullable, low, high)
        case IntDomain(), _ if UNIT.fullmatch(to):
            return OrdinalDomain(before.nullable, before.lower, before.upper, to)
        case FloatDomain(), "Int64":
            if not before.bounded or before.lower < INT_MIN or before.upper >= INT_MAX:
                return IntDomain(True)
            return IntDomain(before.nullable, math.trunc(before.lower), math.trunc(before.upper))
        case TextDomain(), "Int64":
            return IntDomain(True)
        case TextDomain(), "Float64":
            return FloatDomain(True)
    raise PlanError(f"a {type_name(before)} column cannot become {to}")


def _whole(text: str) -> int | None:
    """A text that is a whole number of 64 bits, and nothing else."""
    if re.fullmatch("[+-]?[0-9]+", text) is None:
        return None
    value = int(text)
    return value if INT_MIN <= value <= INT_MAX else None


def _number(text: str) -> float | None:
    """A text that is a finite decimal number, and nothing else."""
    if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text) is None:
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def _labels(domain: CategoryDomain, to: str) -> list[Any]:
    """What each category becomes; a label that is no number becomes null."""
    out: list[Any] = []
    for label in domain.categories:
        try:
            if to == "string" or isinstance(label, Interval):
                out.append(str(label) if to == "string" else None)
            elif to == "Int64":
                value = int(label)
                out.append(value if INT_MIN <= value <= INT_MAX else None)
            elif to == "Float64":
                number = float(label)
                out.append(number if math.isfinite(number) else None)
            else:
                out.append({"True": True, "False": False}.get(str(label)))
        except (ValueError, OverflowError):
            out.append(None)
    return out


def _from_labels(before: CategoryDomain, values: list[Any], to: str) -> Domain:
    nullable = before.nullable or None in values
    known = [v for v in values if v is not None]
    if to == "boolean":
        return BoolDomain(nullable)
    low, high = (min(known), max(known)) if known else (0, 0)
    return IntDomain(nullable, low, high) if to == "Int64" else FloatDomain(nullable, float(low), float(high))


@node
class Categorise(Expr):
    """astype(category) with a public list of categories; other values become null."""

    kind = "categorise"
    a: Expr
    categories: tuple[Lit, ...]
    ordered: int

    def __post_init__(self) -> None:
        labels = tuple(c.value for c in self.categories)
        for label in labels:
            check_constant(self.a.domain, label, "==")
        self.computed_from(self.a, domain=CategoryDomain(True, labels, bool(self.ordered)))

    def polars(self, *inputs: Any) -> Any:
        import polars as pl

        before, after = self.a.domain, self.domain
        assert isinstance(after, CategoryDomain)
        if isinstance(before, CategoryDomain):
            codes = [after.code(label) for label in before.categories]
            return inputs[0].replace_strict(list(range(len(codes))), codes, default=None, return_dtype=pl.Int32())
        held = held_keys(before, after.categories)
        labels = pl.Series(list(held), dtype=dtype_of(before))
        return inputs[0].replace_strict(labels, list(held.values()), default=None, return_dtype=pl.Int32())

    def python(self, *inputs: Any) -> Any:
        before, after = self.a.domain, self.domain
        assert isinstance(after, CategoryDomain)
        if isinstance(before, CategoryDomain):
            return after.code(before.categories[inputs[0]])
        return held_keys(before, [held_constant(label, before) for label in after.categories]).get(inputs[0])

    def text(self, *inputs: str) -> str:
        return f'{inputs[0]}.astype("category")'
