""".dt"""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError
from privjail.ops.columns.datetime_part import PARTS, Part
from privjail.plan.domain import IntDomain, TimeDomain
from privjail.plan.node import micros

from ..tables import World

from .checking import check_row_wise, covers, given, growing, table
from .worlds import DAYS, MOMENTS, NEW, NUMBERS, OLD, columns

PYTHON = {
    "quarter": lambda d: (d.month + 2) // 3,
    "dayofweek": lambda d: d.weekday(),
    "dayofyear": lambda d: d.timetuple().tm_yday,
}


@covers("property", "part")
@given(columns("time"), st.sampled_from(sorted(PARTS)), examples=120)
def test_parts_are_those_of_the_calendar(drawn, part):
    """V-10, V-16: also before 1970, and in the last and first year that there is."""
    world, pair = drawn
    expr = Part(part, world.column("x"))

    check_row_wise(expr, [pair])
    of = PYTHON.get(part, lambda d: getattr(d, part))
    found = table(world.source, (expr,), pair[1])
    assert [z for (z,) in found] == [None if d is None else of(d) for (d,) in pair[1]]


@covers("witness", "part")
def test_the_bounds_are_reached():
    year = Part("year", MOMENTS.column("x"))
    assert year.domain == IntDomain(True, 1905, 2024)
    assert check_row_wise(year, growing(MOMENTS.rows)) == {None, 1905, 2024}
    for part, value in (("month", 12), ("day", 31), ("dayofyear", 366), ("hour", 23), ("minute", 59), ("second", 59)):
        expr = Part(part, MOMENTS.column("x"))
        assert max(filter(None, check_row_wise(expr, growing(MOMENTS.rows)))) == expr.domain.upper == value


@covers("small world", "part")
def test_parts_in_the_small_world():
    for part in PARTS:
        check_row_wise(Part(part, MOMENTS.column("x")), MOMENTS.pairs(3))
    check_row_wise(Part("year", MOMENTS.column("x")), MOMENTS.pairs())


def test_only_parts_of_moments():
    with pytest.raises(PlanError):
        Part("year", NUMBERS.column("x"))
    with pytest.raises(PlanError):
        Part("microsecond", MOMENTS.column("x"))
    assert len(DAYS) == 8


@pytest.mark.parametrize("part", sorted(PARTS))
@pytest.mark.parametrize(
    "low, high, nullable, expected",
    [
        (OLD, NEW, False, False),
        (OLD, NEW, True, True),
        (None, NEW, False, True),
        (OLD, None, False, True),
        (None, None, False, True),
    ],
)
def test_a_part_can_be_missing_where_a_moment_can_or_lie_beyond_the_calendar(part, low, high, nullable, expected):
    """V-16: moments that no bound keeps inside of the calendar have no parts."""
    bounds = [None if b is None else micros(b) for b in (low, high)]
    world = World((("x", TimeDomain(nullable, *bounds)),), ())
    found = Part(part, world.column("x"))

    assert found.domain.nullable is expected
    years = tuple(None if b is None else b.year for b in (low, high))
    assert found.domain.range == (PARTS[part] or years)
    data = tuple((v,) for v in (OLD, NEW, *[None] * nullable))
    assert all((z is None) == (v is None) for (z,), (v,) in zip(table(world.source, (found,), data), data, strict=True))


FIRST_AND_LAST = {  # one moment with the least and one with the largest value of each part
    "quarter": ("2024-01-01", "2024-12-31"),
    "month": ("2024-01-01", "2024-12-31"),
    "day": ("2024-01-01", "2024-01-31"),
    "hour": ("2024-01-01T00:00", "2024-01-01T23:00"),
    "minute": ("2024-01-01T00:00", "2024-01-01T00:59"),
    "second": ("2024-01-01T00:00:00", "2024-01-01T00:00:59"),
    "dayofweek": ("2024-01-01", "2024-01-07"),
    "dayofyear": ("2024-01-01", "2024-12-31"),
}


@pytest.mark.parametrize("part", FIRST_AND_LAST)
def test_the_range_of_each_part_is_reached_at_both_ends(part):
    rows = [(datetime.fromisoformat(text),) for text in FIRST_AND_LAST[part]]
    low, high = datetime(1900, 1, 1), datetime(2100, 1, 1)
    world = World((("x", TimeDomain(False, micros(low), micros(high))),), ())
    expr = Part(part, world.column("x"))
    assert check_row_wise(expr, growing(rows)) == {expr.domain.lower, expr.domain.upper}


def test_every_part_with_a_range_of_its_own_is_tried():
    assert FIRST_AND_LAST.keys() == {part for part, ends in PARTS.items() if ends is not None}
