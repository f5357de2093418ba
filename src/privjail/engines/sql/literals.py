"""Literals, types and choices in SQL: how public values are spelled, by digits and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from privjail.engines.sql.term import Term, all_of, build, listed
from privjail.errors import EngineGap
from privjail.plan.domain import (
    BoolDomain,
    CategoryDomain,
    Domain,
    FloatDomain,
    IntDomain,
    TextDomain,
    TimeDomain,
)

TYPES: dict[type[Domain], str] = {
    IntDomain: "BIGINT",
    TimeDomain: "BIGINT",
    FloatDomain: "DOUBLE",
    BoolDomain: "BOOLEAN",
    CategoryDomain: "INT",
    TextDomain: "TEXT",
}


class Literals:
    """What every engine spells in its way: values, types, choices."""

    name = "DuckDB"
    text_type = "VARCHAR"
    kept = "MATERIALIZED "  # before a relation that is computed once, and not written out where it is used
    stacks = False  # whether stack() makes several rows of one, so that several tables are counted in one pass

    def __init__(self) -> None:
        self.named: Callable[[Term], Term] = lambda term: term  # a term that is mentioned often, as a computed column

    def stored(self, number: int) -> Term:
        """A column of the data set."""
        return Term(f"c{number:d}")

    # -- literals: digits and nothing else

    def whole(self, value: int) -> Term:
        return Term(f"CAST({value:d} AS BIGINT)" if abs(value) < 2**31 else f"CAST('{value:d}' AS BIGINT)")

    def number(self, value: float) -> Term:
        value = float(value)
        if math.isinf(value):  # comparisons may name it, columns never hold it
            return Term(f"CAST('{'-' if value < 0 else ''}Infinity' AS DOUBLE)")
        digits = repr(value)  # the shortest that are read as this float; Spark refuses longer ones of the largest
        return Term(f"({digits if 'e' in digits else digits + 'e0'}{self.float_suffix})")

    float_suffix = ""

    def truth(self, value: bool) -> Term:
        return Term("TRUE" if value else "FALSE")

    def text(self, value: str) -> Term:
        try:
            return Term(f"decode(unhex('{value.encode().hex()}'))")
        except UnicodeEncodeError:
            raise EngineGap("this text is not Unicode that can be stored: it holds half of a surrogate pair") from None

    def null(self, domain: Domain) -> Term:
        return Term(f"CAST(NULL AS {self.type_of(domain)})")

    def held(self, value: Any, domain: Domain) -> Term:
        """A held value (engines/held.py) of a domain, as a literal of its column's type."""
        if value is None:
            return self.null(domain)
        if isinstance(domain, BoolDomain):
            return self.truth(bool(value))
        if isinstance(domain, FloatDomain):
            return self.number(float(value))
        if isinstance(domain, CategoryDomain):
            return self.code(int(value))
        if isinstance(domain, TextDomain):
            return self.text(str(value))
        return self.whole(int(value))

    def code(self, value: int) -> Term:
        return Term(f"CAST({value:d} AS INT)")

    # -- types

    def type_of(self, domain: Domain) -> str:
        for kind in type(domain).__mro__:
            if kind in TYPES:
                return self.text_type if TYPES[kind] == "TEXT" else TYPES[kind]
        raise EngineGap(f"{self.name} has no column type for {domain.dtype}")

    def as_float(self, term: Term) -> Term:
        return build("CAST(", term, " AS DOUBLE)")

    def as_whole(self, term: Term) -> Term:
        """Of a whole number of fewer bits, a true/false value, or a float that is a whole number of 64 bits."""
        return build("TRY_CAST(", term, " AS BIGINT)")

    def as_code(self, term: Term) -> Term:
        return build("TRY_CAST(", term, " AS INT)")

    def as_text(self, term: Term) -> Term:
        return build("CAST(", term, f" AS {self.text_type})")

    # -- choices

    def case(self, condition: Term, then: Term, otherwise: Term | None = None) -> Term:
        rest: tuple[str | Term, ...] = () if otherwise is None else (" ELSE ", otherwise)
        return build("CASE WHEN ", condition, " THEN ", then, *rest, " END")

    def switch(self, pairs: Sequence[tuple[Term, Term]], otherwise: Term) -> Term:
        """The value of the first condition that is true."""
        if not pairs:
            return otherwise
        parts: list[str | Term] = ["CASE"]
        for condition, value in pairs:
            parts += [" WHEN ", condition, " THEN ", value]
        return build(*parts, " ELSE ", otherwise, " END")

    def coalesce(self, *terms: Term) -> Term:
        return build("coalesce(", *listed(list(terms)), ")")

    def among(self, term: Term, values: Sequence[Term]) -> Term:
        """Whether a value is one of a list; false where it is missing."""
        if not values:
            return self.truth(False)
        return build("(", term, " IN (", *listed(list(values)), "))").is_true()

    def all_equal(self, these: Sequence[Term], those: Sequence[Term]) -> Term:
        """Whether two lists of values are the same, one by one; not true where one is missing."""
        return all_of([a.equals(b) for a, b in zip(these, those, strict=True)])

    def pick(self, position: Term, values: Sequence[Any], domain: Domain) -> Term:
        """The held value at a position of a public list; null where there is none."""
        if not values:
            return self.null(domain)
        literals = [self.held(value, domain) for value in values]
        return build("list_extract([", *listed(literals), "], ", position, " + 1)")
