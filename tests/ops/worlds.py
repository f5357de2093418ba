"""The worlds that the tests of operations look at."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hypothesis import strategies as st

from privjail.ops.rows.source import Unit
from privjail.plan.domain import (
    INT_MAX,
    INT_MIN,
    BoolDomain,
    CategoryDomain,
    Domain,
    FloatDomain,
    IntDomain,
    Numeric,
    TextDomain,
    TimeDomain,
)
from privjail.plan.node import micros

from ..tables import Table, World

OLD = datetime(1905, 2, 28, 23, 59, 59, 999999)
NEW = datetime(2024, 12, 31)

# One column, three values, one of them missing.
NUMBERS = World((("x", IntDomain(True, 0, 1)),), ((None,), (0,), (1,)))
SIGNED = World((("x", IntDomain(True, -7, 5)),), ((None,), (-7,), (5,)))
FLOATS = World((("x", FloatDomain(True, -1.5, 0.5)),), ((None,), (-1.5,), (0.5,)))
TRUTHS = World((("x", BoolDomain(True)),), ((None,), (False,), (True,)))
LETTERS = World((("x", CategoryDomain(True, ("a", "b"))),), ((None,), ("a",), ("b",)))
TEXTS = World((("x", TextDomain(True)),), ((None,), ("",), ("Ab ",)))
MOMENTS = World((("x", TimeDomain(True, micros(OLD), micros(NEW))),), ((None,), (OLD,), (NEW,)))

# Two columns: rows that tie in the first one and differ in the second.
TIES = World(
    (("x", IntDomain(True, 0, 1)), ("y", CategoryDomain(False, ("p", "q")))),
    ((None, "p"), (0, "p"), (0, "q")),
)
# All pairs of three values each: nine rows.
SQUARE = World(
    (("x", CategoryDomain(True, ("a", "b"))), ("y", IntDomain(True, -1, 1))),
    tuple((x, y) for x in (None, "a", "b") for y in (None, -1, 1)),
)
PAIRS = World(
    (("x", IntDomain(True, -2, 3)), ("y", IntDomain(True, -2, 3))),
    tuple((x, y) for x in (None, -2, 3) for y in (None, 0, 3)),
)

# Rows that belong to users: a user comes or goes with all rows.
TWO_EACH = World(
    (("u", CategoryDomain(False, ("ann", "bob"))), ("x", IntDomain(True, 0, 1))),
    (("ann", None), ("ann", 1), ("bob", 1), ("bob", 0)),
    Unit("u", 2),
)
ANY_EACH = World(TWO_EACH.columns, TWO_EACH.rows, Unit("u", None))

# -- columns of any range, with the values that break arithmetic (V-7, V-8, V-16)

WHOLE = (0, 1, -1, 2, -2, 3, -7, 10, 1000, 2**31, 2**53 - 1, 2**53 + 1, -(2**53) - 1, 2**62, INT_MAX, -INT_MAX, INT_MIN)
REAL = (
    *(0.0, -0.0, 0.5, -0.5, 1.0, -1.5, 2.5, -7.25, 1e-3, 5e-324, -5e-324, 2.2250738585072014e-308, 0.1, 1 / 3),
    *(2.0**53, -(2.0**53) - 2, 2.0**62, 2.0**63, -(2.0**63), 9.223372036854775e18, 1e15 + 0.3, 709.5, -745.1),
    *(1e300, -1e300, 1.7976931348623157e308, -1.7976931348623157e308),
)
WORDS = ("", " ", "a", "Ab ", "ß", "İ", "1", "-1", "1.5", "1e400", "nan", "inf", "True", "9223372036854775808", "漢字")
DAYS = (OLD, NEW, datetime(1, 1, 1), datetime(1582, 10, 15), datetime(1969, 12, 31, 23, 59, 59), datetime(1970, 1, 1),
        datetime(2000, 2, 29, 12, 30, 59), datetime(9999, 12, 31, 23, 59, 59, 999999))  # fmt: skip
LABELS = ("a", "b", "B ", "1", "2.5", "nan", "True", "-3")


@st.composite
def ranges(draw: Any, kind: type[Numeric], pool: tuple[Any, ...]) -> Numeric:
    """A domain of numbers with random bounds, each of them perhaps unknown."""
    bounds = sorted([draw(st.sampled_from(pool)), draw(st.sampled_from(pool))])
    low, high = (None if draw(st.integers(0, 3)) == 0 else b for b in bounds)
    return kind(draw(st.booleans()), low, high)


def domains(kind: str) -> st.SearchStrategy[Domain]:
    match kind:
        case "int":
            return ranges(IntDomain, WHOLE)
        case "float":
            return ranges(FloatDomain, REAL)
        case "number":
            return domains("int") | domains("float")
        case "bool":
            return st.builds(BoolDomain, st.booleans())
        case "text":
            return st.builds(TextDomain, st.booleans())
        case "time":
            return ranges(TimeDomain, tuple(map(micros, DAYS)))
        case "category":
            labels = st.lists(st.sampled_from(LABELS), min_size=1, max_size=4, unique=True).map(tuple)
            return st.builds(CategoryDomain, st.booleans(), labels, st.booleans())
    raise TypeError(kind)


def values(domain: Domain) -> st.SearchStrategy[Any]:
    """Values of a domain, among them its bounds and the missing value."""
    match domain:
        case TimeDomain():
            pool: list[Any] = [d for d in DAYS if within(domain, micros(d))]
        case IntDomain():
            pool = [v for v in WHOLE if within(domain, v)]
        case FloatDomain():
            pool = [v for v in REAL if within(domain, v)]
        case TextDomain():
            pool = list(WORDS)
        case _:
            pool = list(domain.labels or ())
    if domain.nullable:
        pool.append(None)
    return st.sampled_from(pool)


def within(domain: Numeric, value: Any) -> bool:
    return (domain.lower is None or domain.lower <= value) and (domain.upper is None or value <= domain.upper)


@st.composite
def columns(draw: Any, *kinds: str) -> tuple[World, tuple[Table, Table]]:
    """Columns of random domains, x, y, z, and two neighbouring tables of them."""
    found = tuple((name, draw(domains(kind))) for name, kind in zip("xyz", kinds, strict=False))
    row = st.tuples(*(values(domain) for _, domain in found))
    table = tuple(draw(st.lists(row, min_size=1, max_size=4)))
    gone = draw(st.integers(0, len(table) - 1))
    return World(found, ()), (table[:gone] + table[gone + 1 :], table)
