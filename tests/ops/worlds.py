"""The worlds that the tests of operations look at."""

from __future__ import annotations

from datetime import datetime

from privjail.ops.source import Unit
from privjail.plan.domain import (
    BoolDomain,
    CategoryDomain,
    FloatDomain,
    IntDomain,
    TextDomain,
    TimeDomain,
)
from privjail.plan.node import micros

from ..tables import World

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
