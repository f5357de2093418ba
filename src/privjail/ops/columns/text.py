""".str on columns of free text. (On categories the same functions are applied to the labels: see Recode.)"""

from __future__ import annotations

import sys
from typing import Any

from privjail.errors import PlanError, engine_gap
from privjail.plan.domain import BoolDomain, Domain, IntDomain, TextDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, node

FUNCTIONS: dict[str, tuple[int, Any]] = {
    # name: (number of arguments, the same on one Python string)
    "lower": (0, str.lower),
    "upper": (0, str.upper),
    "strip": (0, str.strip),
    "len": (0, len),
    "startswith": (1, str.startswith),
    "endswith": (1, str.endswith),
    "contains": (1, lambda s, part: part in s),
    "slice": (2, lambda s, start, stop: s[start:stop]),
}


@node
class Text(Expr):
    """One text function, applied to each value; null stays null."""

    kind = "text"
    f: str
    a: Expr
    arguments: tuple[Lit, ...]

    def __post_init__(self) -> None:
        if self.f not in FUNCTIONS or len(self.arguments) != FUNCTIONS[self.f][0]:
            raise PlanError(f"no text function {self.f!r} with {len(self.arguments)} arguments")
        if not isinstance(self.a.domain, TextDomain):
            raise PlanError(f".str needs text, not {self.a.domain.dtype}")
        wanted = (int, type(None)) if self.f == "slice" else (str,)
        if any(not isinstance(arg.value, wanted) for arg in self.arguments):
            raise PlanError(f".str.{self.f} takes {'whole numbers ≥ 0' if self.f == 'slice' else 'text'}")
        if self.f == "slice" and any(arg.value is not None and not 0 <= arg.value < 2**31 for arg in self.arguments):
            raise PlanError(".str.slice counts from the start: use numbers ≥ 0, below 2**31")
        self.computed_from(self.a, domain=self._domain())

    def _domain(self) -> Domain:
        nullable = self.a.domain.nullable
        if self.f == "len":
            return IntDomain(nullable, 0, None)
        return BoolDomain(nullable) if self.f in ("startswith", "endswith", "contains") else TextDomain(nullable)

    def polars(self, *inputs: Any) -> Any:
        import polars as pl

        column = inputs[0].str
        arguments = [arg.value for arg in self.arguments]
        match self.f:
            case "lower":
                return column.to_lowercase()
            case "upper":
                return column.to_uppercase()
            case "strip":
                return column.strip_chars()
            case "len":
                return column.len_chars().cast(pl.Int64())
            case "startswith":
                return column.starts_with(arguments[0])
            case "endswith":
                return column.ends_with(arguments[0])
            case "contains":
                return column.contains(arguments[0], literal=True)
        start, stop = arguments[0] or 0, arguments[1]
        return column.slice(start, None if stop is None else max(0, stop - start))

    def python(self, *inputs: Any) -> Any:
        return FUNCTIONS[self.f][1](inputs[0], *(arg.value for arg in self.arguments))

    def sql(self, sql: Any, *inputs: Any) -> Any:
        (x,), arguments = inputs, [arg.value for arg in self.arguments]
        match self.f:
            case "strip":
                return sql.stripped(x, "".join(c for c in map(chr, range(sys.maxunicode + 1)) if c.isspace()))
            case "len":
                return sql.characters(x)
            case "startswith":
                return sql.starts_with(x, arguments[0])
            case "endswith":
                return sql.ends_with(x, arguments[0])
            case "contains":
                return sql.contains(x, arguments[0])
            case "slice":
                start, stop = arguments[0] or 0, arguments[1]
                return sql.substring(x, start, None if stop is None else max(0, stop - start))
        raise engine_gap(f"str.{self.f} on free text", sql.name)  # engines know other letters, and other rules of case

    def text(self, *inputs: str) -> str:
        return f"{inputs[0]}.str.{self.f}({', '.join(repr(a.value) for a in self.arguments)})"
