"""What the lines of operations are written in: SQL that is total, and means the same on every engine.

Total: no input makes a term fail. What cannot be computed is null, what may pass 64 bits is computed in more or
checked. Nothing here rounds, compares or converts as an engine likes: a function is used only where all engines agree.
Moments are whole microseconds, categories are positions; so no engine's calendar, time zone or collation is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from privjail.engines.sql.term import Term, build, listed
from privjail.engines.sql.texts import Texts
from privjail.errors import engine_gap
from privjail.ops.columns.carried import held_value
from privjail.plan.domain import INT_MIN, CategoryDomain, Domain, FloatDomain

LARGEST = 1.7976931348623157e308
WHOLE_FLOATS = 2.0**52  # beyond, every float is a whole number
MOST_ADDED = 1024  # columns in one sum of each row: engines nest expressions to a limit
ADDED_AT_ONCE = 32
FEW = 16  # entries of a dictionary that are compared one by one


class Dialect(Texts):
    """DuckDB's SQL; what another engine spells differently, it overrides (spark_dialect.py)."""

    def whole_of_text(self, term: Term) -> Term:
        return self.case(self.matches(term, "[+-]?[0-9]+"), self.as_whole(term))

    def number_of_text(self, term: Term) -> Term:
        found = build("TRY_CAST(", term, " AS DOUBLE)")
        return self.case(self.matches(term, r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"), self.finite(found))

    # -- choices

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

    def even_edges_below(self, x: Term, edges: Sequence[float], or_equal: bool) -> Term:
        """The same for floats. Where edges are evenly spaced, one multiplication gives the place, or one beside it."""
        if len(edges) <= FEW or not nearly_even(edges, or_equal):
            return self.edges_below(x, [self.number(edge) for edge in edges], or_equal)
        x, last = self.named(x), len(edges) - 1
        steps = (x - self.number(edges[0])) * self.number(steps_per_unit(edges))
        outside = [(x < self.number(edges[0]), self.code(0)), (x >= self.number(edges[-1]), self.code(last))]
        guess = self.named(self.switch(outside, self.as_code(build("floor(", steps, ")"))))
        found = guess
        for place in (guess, guess + self.code(1)):
            edge = self.pick(place, edges, FloatDomain(False))
            found = found + self.case(edge <= x if or_equal else edge < x, self.code(1), self.code(0))
        return found

    # -- of the rows of one person

    def aggregate(self, function: str, x: Term | None) -> Term:
        """count, count(DISTINCT, min or max of a column's known values; without a column, of rows."""
        assert function in ("count", "count(DISTINCT", "min", "max")
        between = " " if "(" in function else "("
        return build(function, between, Term("*") if x is None else x, ")")

    def total(self, amount: Term) -> Term:
        """The sum of whole numbers; 0 of none."""
        return build("CAST(coalesce(sum(", amount, "), 0) AS BIGINT)")

    def at_end(self, x: Term, number: Term, last: bool) -> Term:
        """The first or last known value, by the numbers of the rows."""
        return build("max_by(" if last else "min_by(", x, ", ", self.case(x.is_known(), number), ")")

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

    def added(self, terms: Sequence[Term]) -> Term:
        """The sum of floats from left to right; null where one is. Long sums are computed in several stages."""
        if len(terms) > MOST_ADDED:
            raise engine_gap(f"a sum of more than {MOST_ADDED} columns in each row", self.name)
        total = self.number(0.0)
        for i, term in enumerate(terms):
            total = (self.named(total) if i % ADDED_AT_ONCE == 0 else total) + term
        return total

    def largest(self, terms: Sequence[Term]) -> Term:
        """The largest of floats; null where one is. (Engines leave out nulls.)"""
        known: list[str | Term] = []
        for term in terms:
            known += [" AND ", term.is_known()] if known else [term.is_known()]
        return self.case(build("(", *known, ")"), build("greatest(", *listed([self.number(0.0), *terms]), ")"))

    def finite(self, x: Term) -> Term:
        """NaN and infinities become null. (Engines that order NaN put it above all numbers.)"""
        return self.case((x >= self.number(-LARGEST)) & (x <= self.number(LARGEST)), x)

    def float_remainder(self, a: Term, b: Term) -> Term:
        """a % b with the sign of b, as Python computes it: C's fmod, which is exact, and one addition."""
        divisor = self.named(self.case(b.differs(self.number(0.0)), b))
        rest = self.named(build("(", a, " % ", divisor, ")"))
        zero = self.number(0.0)
        up = rest.differs(zero) & (rest < zero).differs(divisor < zero)
        return self.case(up, rest + divisor, rest)

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

    drawn: Callable[[Any, Term], Term]  # whether a sample draws the row at a position; the engine knows the coins
    sha256_ends = ("sha256(", ")")  # of a text; gives hexadecimal digits


def steps_per_unit(edges: Sequence[float]) -> float:
    return (len(edges) - 1) / (edges[-1] - edges[0])


def nearly_even(edges: Sequence[float], or_equal: bool) -> bool:
    """Whether the guess of ``even_edges_below`` is at most one off for every float between the first edge and the last.

    Differences, products and floors of floats never fall where their input rises. So the guess between two edges lies
    between those at its ends, which are computed here, with the same operations.
    """
    if not 0 < edges[-1] - edges[0] < math.inf or not steps_per_unit(edges) < math.inf:
        return False
    for k, (low, high) in enumerate(pairwise(edges)):
        first, last = (low, math.nextafter(high, -math.inf)) if or_equal else (math.nextafter(low, math.inf), high)
        guesses = [math.floor((x - edges[0]) * steps_per_unit(edges)) for x in (first, last)]
        if guesses[0] < k - 1 or guesses[1] > k + 1:
            return False
    return True
