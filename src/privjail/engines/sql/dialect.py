"""What the lines of operations are written in: SQL that is total, and means the same on every engine.

Total: no input makes a term fail. What cannot be computed is null, what may pass 64 bits is computed in more or
checked. Nothing here rounds, compares or converts as an engine likes: a function is used only where all engines agree.
Moments are whole microseconds, categories are positions; so no engine's calendar, time zone or collation is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from privjail.engines.sql.term import Term, build, listed
from privjail.errors import EngineGap
from privjail.ops.columns.carried import held_value
from privjail.plan.domain import (
    INT_MIN,
    BoolDomain,
    CategoryDomain,
    Domain,
    FloatDomain,
    IntDomain,
    TextDomain,
    TimeDomain,
)

LARGEST = 1.7976931348623157e308
WHOLE_FLOATS = 2.0**52  # beyond, every float is a whole number
FEW = 16  # entries of a dictionary that are compared one by one
TYPES: dict[type[Domain], str] = {
    IntDomain: "BIGINT",
    TimeDomain: "BIGINT",
    FloatDomain: "DOUBLE",
    BoolDomain: "BOOLEAN",
    CategoryDomain: "INT",
    TextDomain: "TEXT",
}


class Dialect:
    """DuckDB's SQL; what another engine spells differently, it overrides."""

    name = "DuckDB"
    text_type = "VARCHAR"

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

    def whole_of_text(self, term: Term) -> Term:
        return self.case(self.matches(term, "[+-]?[0-9]+"), self.as_whole(term))

    def number_of_text(self, term: Term) -> Term:
        found = build("TRY_CAST(", term, " AS DOUBLE)")
        return self.case(self.matches(term, r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"), self.finite(found))

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

    def pick(self, position: Term, values: Sequence[Any], domain: Domain) -> Term:
        """The held value at a position of a public list; null where there is none."""
        if not values:
            return self.null(domain)
        literals = [self.held(value, domain) for value in values]
        return build("list_extract([", *listed(literals), "], ", position, " + 1)")

    def recoded(
        self, x: Term, before: Domain, pairs: Sequence[tuple[Any, Any]], after: Domain, rest: Term | None = None
    ) -> Term:
        """The image of each held value that is a key of a public dictionary; of others ``rest``, or null."""
        rest = self.null(after) if rest is None else rest
        if len(pairs) <= FEW:
            return self.switch([(x.equals(self.held(k, before)), self.held(v, after)) for k, v in pairs], rest)
        x = self.named(x)
        rising = sorted(pairs, key=lambda pair: pair[0])
        keys = [key for key, _ in rising]
        place = self.named(self.edges_below(x, [self.held(k, before) for k in keys], or_equal=True) - self.code(1))
        found = self.pick(place, [image for _, image in rising], after)
        return self.case(self.pick(place, keys, before).equals(x), found, rest)

    def converted(self, x: Term, before: Domain, after: Domain) -> Term:
        """A column of one domain, as it is held in a domain that contains it."""
        if isinstance(before, CategoryDomain):
            images = [held_value(label, after) for label in before.categories]
            return x if images == list(range(len(images))) else self.pick(x, images, after)
        return self.as_float(x) if isinstance(after, FloatDomain) else x

    def sortable(self, x: Term, domain: Domain) -> Term:
        """A column as rows are sorted and grouped by it."""
        return self.plain_zero(x) if isinstance(domain, FloatDomain) else x

    def edges_below(self, x: Term, edges: Sequence[Term], or_equal: bool) -> Term:
        """How many of rising edges lie below a number (or at it), by halving."""
        x = self.named(x)

        def between(low: int, high: int) -> Term:
            if low == high:
                return self.code(low)
            middle = (low + high) // 2
            beyond = edges[middle] <= x if or_equal else edges[middle] < x
            return self.case(beyond, between(middle + 1, high), between(low, middle))

        return self.case(x.is_known(), between(0, len(edges)))

    # -- whole numbers

    def sum(self, a: Term, b: Term, safe: bool) -> Term:
        return a + b if safe else self._wide("+", a, b)

    def difference(self, a: Term, b: Term, safe: bool) -> Term:
        return a - b if safe else self._wide("-", a, b)

    def product(self, a: Term, b: Term, safe: bool) -> Term:
        return a * b if safe else self._wide("*", a, b)

    def _wide(self, op: str, a: Term, b: Term) -> Term:
        """In 128 bits; what does not fit into 64 is null."""
        return build("TRY_CAST(CAST(", a, " AS HUGEINT) ", op, " CAST(", b, " AS HUGEINT) AS BIGINT)")

    def divided(self, a: Term, b: Term) -> Term:
        """a // b, rounded down; null for b = 0 and where 2**63 would come out."""
        a, b = self.named(a), self.named(b)
        q, rest, divisor = self._divided(a, b)
        down = (rest.differs(self.whole(0))) & ((rest < self.whole(0)).differs(divisor < self.whole(0)))
        negated = self.case(a > self.whole(INT_MIN), self.whole(0) - a)
        floor = q - self.case(down, self.whole(1), self.whole(0))
        return self.case(b.equals(self.whole(-1)), negated, floor)

    def remainder(self, a: Term, b: Term) -> Term:
        """a - (a // b)·b, which has the sign of b."""
        a, b = self.named(a), self.named(b)
        _, rest, divisor = self._divided(a, b)
        up = (rest.differs(self.whole(0))) & ((rest < self.whole(0)).differs(divisor < self.whole(0)))
        found = rest + self.case(up, divisor, self.whole(0))
        return self.case(b.equals(self.whole(-1)), self.case(a.is_known(), self.whole(0)), found)

    def _divided(self, a: Term, b: Term) -> tuple[Term, Term, Term]:
        """Quotient toward zero, its remainder, and the divisor, which is null where it could fail (0 and -1)."""
        divisor = self.case(b.differs(self.whole(0)) & b.differs(self.whole(-1)), b)
        quotient = self.named(self.toward_zero(a, divisor))
        return quotient, self.named(a - quotient * divisor), divisor

    def toward_zero(self, a: Term, b: Term) -> Term:
        return build("(", a, " // ", b, ")")

    def down(self, a: Term, by: int) -> Term:
        """a // by, for a constant by > 1."""
        quotient = self.toward_zero(a, self.whole(by))
        return quotient - self.case((quotient * self.whole(by)) > a, self.whole(1), self.whole(0))

    def modulo(self, a: Term, by: int) -> Term:
        """a % by, for a constant by > 1: from 0 to by - 1."""
        a = self.named(a)
        rest = self.named(a - self.toward_zero(a, self.whole(by)) * self.whole(by))
        return rest + self.case(rest < self.whole(0), self.whole(by), self.whole(0))

    def nearest_multiple(self, a: Term, by: int) -> Term:
        """a / by as the nearest whole number, of two the even one; ``by`` is an even constant."""
        a = self.named(a)
        floor, rest = self.named(self.down(a, by)), self.named(self.modulo(a, by))
        half = self.whole(by // 2)
        up = (rest > half) | (rest.equals(half) & self.modulo(floor, 2).equals(self.whole(1)))
        return floor + self.case(up, self.whole(1), self.whole(0))

    def calendar(self, days: Term) -> dict[str, Term]:
        """Parts of the Gregorian date, from days since 1970. Years begin in March here, so that leap days come last."""

        def n(value: int) -> Term:
            return self.whole(value)

        def over(a: Term, by: int) -> Term:
            return self.toward_zero(a, n(by))  # of numbers ≥ 0

        since = self.named(days + n(719_468))  # from 1 March of the year 0
        cycle = self.named(self.down(since, 146_097))  # 400 years have this many days
        day = self.named(since - cycle * n(146_097))
        year = self.named(over(day - over(day, 1_460) + over(day, 36_524) - over(day, 146_096), 365))
        of_year = self.named(day - (year * n(365) + over(year, 4) - over(year, 100)))
        from_march = self.named(over(of_year * n(5) + n(2), 153))
        late = from_march < n(10)
        month = self.named(from_march + self.case(late, n(3), n(-9)))
        by_4, by_100 = self.modulo(year, 4).equals(n(0)), self.modulo(year, 100).equals(n(0))
        leap = self.case(by_4 & (~by_100 | year.equals(n(0))), n(1), n(0))
        return {
            "year": year + cycle * n(400) + self.case(late, n(0), n(1)),
            "month": month,
            "quarter": over(month + n(2), 3),
            "day": of_year - over(from_march * n(153) + n(2), 5) + n(1),
            "dayofyear": self.case(late, of_year + n(60) + leap, of_year - n(305)),
        }

    # -- floats

    def finite(self, x: Term) -> Term:
        """NaN and infinities become null. (Engines that order NaN put it above all numbers.)"""
        return self.case((x >= self.number(-LARGEST)) & (x <= self.number(LARGEST)), x)

    def floor(self, x: Term) -> Term:
        return self._whole_float("floor(", x)

    def ceil(self, x: Term) -> Term:
        return self._whole_float("ceil(", x)

    def _whole_float(self, function: str, x: Term) -> Term:
        inside = self.inside(x, WHOLE_FLOATS)
        return self.case(inside, build("CAST(", function, self.case(inside, x), ") AS DOUBLE)"), x)

    def toward_zero_float(self, x: Term) -> Term:
        return self.case(x < self.number(0.0), self.ceil(x), self.floor(x))

    def inside(self, x: Term, reach: float) -> Term:
        return (x > self.number(-reach)) & (x < self.number(reach))

    def nearest(self, x: Term) -> Term:
        """The nearest whole number, of two the even one, for |x| < 2**51: floats between 2**52 and 2**53 are whole."""
        far = self.number(1.5 * 2.0**52)
        return (x + far) - far

    def plain_zero(self, x: Term) -> Term:
        """0.0 for -0.0, which some engines sort and group apart."""
        return self.case(x.equals(self.number(0.0)), self.number(0.0), x)

    def call(self, function: str, x: Term) -> Term:
        """abs, sqrt, exp or ln of a float."""
        assert function in ("abs", "sqrt", "exp", "ln")
        return build(function, "(", x, ")")

    # -- text, by code points

    def matches(self, x: Term, pattern: str) -> Term:
        """Whether all of a text matches a pattern; patterns are constants of this library."""
        return build("regexp_full_match(", x, ", ", self.text(pattern), ")")

    def starts_with(self, x: Term, part: str) -> Term:
        return build("starts_with(", x, ", ", self.text(part), ")")

    def ends_with(self, x: Term, part: str) -> Term:
        return build("ends_with(", x, ", ", self.text(part), ")")

    def contains(self, x: Term, part: str) -> Term:
        return build("contains(", x, ", ", self.text(part), ")")

    def characters(self, x: Term) -> Term:
        return build("CAST(length(", x, ") AS BIGINT)")

    def substring(self, x: Term, start: int, length: int | None) -> Term:
        first = min(start, 2**31 - 3) + 1
        most = 2**31 - 1 - first if length is None else min(length, 2**31 - 1 - first)
        return build(f"{self.substring_name}(", x, f", {first:d}, {most:d})")

    substring_name = "substring"

    def stripped(self, x: Term, characters: str) -> Term:
        return build(f"{self.strip_name}(", x, ", ", self.text(characters), ")")

    strip_name = "trim"

    drawn: Callable[[Any, Term], Term]  # whether a sample draws the row at a position; the engine knows the coins
    sha256_ends = ("sha256(", ")")  # of a text; gives hexadecimal digits


class SparkDialect(Dialect):
    """Spark's SQL, as Spark 4 and Sail take it through Spark Connect."""

    name = "Spark"
    text_type = "STRING"
    strip_name = "btrim"
    sha256_ends = ("sha2(", ", 256)")

    float_suffix = "D"

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
