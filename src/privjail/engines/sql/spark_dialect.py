"""Spark's spellings, as Spark 4 and Sail take them through Spark Connect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from privjail.engines.sql.dialect import Dialect
from privjail.engines.sql.term import Term, build, listed
from privjail.errors import engine_gap
from privjail.ops.columns.pattern import Pattern
from privjail.plan.domain import Domain


class SparkDialect(Dialect):
    """Spark's SQL, as Spark 4 and Sail take it through Spark Connect."""

    name = "Spark"
    text_type = "STRING"
    kept = ""  # Spark does not write out what is used more than once
    stacks = True
    float_suffix = "D"
    sha256_ends = ("sha2(", ", 256)")

    def text(self, value: str) -> Term:
        super().text(value)
        return Term(f"decode(unhex('{value.encode().hex()}'), 'UTF-8')")

    def pick(self, position: Term, values: Sequence[Any], domain: Domain) -> Term:
        if not values:
            return self.null(domain)
        literals = [self.held(value, domain) for value in values]
        return build("get(array(", *listed(literals), "), ", position, ")")

    def sum(self, a: Term, b: Term, safe: bool) -> Term:
        return a + b if safe else build("try_add(", a, ", ", b, ")")

    def difference(self, a: Term, b: Term, safe: bool) -> Term:
        return a - b if safe else build("try_subtract(", a, ", ", b, ")")

    def product(self, a: Term, b: Term, safe: bool) -> Term:
        return a * b if safe else build("try_multiply(", a, ", ", b, ")")

    def toward_zero(self, a: Term, b: Term) -> Term:
        return build("(", a, " div ", b, ")")

    def characters(self, x: Term) -> Term:
        return build("CAST(char_length(", x, ") AS BIGINT)")

    def matches(self, x: Term, pattern: str) -> Term:
        return build("rlike(", x, ", ", self.text(rf"\A(?:{pattern})\z"), ")")

    def starts_with(self, x: Term, part: str) -> Term:
        return build("startswith(", x, ", ", self.text(part), ")")

    def ends_with(self, x: Term, part: str) -> Term:
        return build("endswith(", x, ", ", self.text(part), ")")

    def stripped(self, x: Term, characters: str, side: str = "BOTH") -> Term:
        return build(f"TRIM({side} ", self.text(characters), " FROM ", x, ")")

    def joined(self, *texts: Term) -> Term:
        return build("concat(", *listed(list(texts)), ")")

    def split(self, x: Term, separator: str) -> Term:
        spelled = "".join(f"\\x{{{ord(c):x}}}" for c in separator)  # Spark takes a pattern here
        return build("split(", x, ", ", self.text(spelled), ")")

    def size(self, parts: Term) -> Term:
        return self.case(parts.is_known(), build("CAST(size(", parts, ") AS BIGINT)"))

    def element(self, parts: Term, place: Term) -> Term:
        return build("get(", parts, ", CAST(", place, " AS INT))")

    def joined_from(self, parts: Term, first: int, separator: str) -> Term:
        left = self.size(parts) - self.whole(first)
        length = self.case(left > self.whole(0), left, self.whole(0))  # slice() fails for a negative one
        some = build("slice(", parts, f", {first + 1:d}, CAST(", length, " AS INT))")
        return build("array_join(", some, ", ", self.text(separator), ")")

    def pattern(self, pattern: Pattern, extract: bool) -> Term:
        # Java's matcher tries one way after another: for some texts it takes forever, or fails for want of stack.
        raise engine_gap("a regular expression", self.name)
