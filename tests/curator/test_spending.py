"""How a budget was spent over time: forecasts and the chart, at fixed points; and the same total as the ledger's."""

from __future__ import annotations

import datetime
import re

import pytest

from privjail.curator.console.draw import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, burn_down
from privjail.curator.spending import MOST_POINTS, Course, Courses, Point, forecast
from privjail.plan.cells import SAMPLE
from tests.server.jails import make_jail

NOW = datetime.datetime(2026, 6, 30, 12, tzinfo=datetime.UTC)


def course(*points, limit=10.0):
    """Points as (days before now, spent) or (days before now, spent, limit)."""
    made = Course()
    for days, spent, *other in points:
        made.add(Point(NOW - datetime.timedelta(days=days), spent, other[0] if other else limit))
    return made


def test_nothing_spent_has_no_forecast():
    assert forecast(Course(), NOW) is None
    assert forecast(course((9, 0)), NOW) is None
    assert forecast(course((9, 0), (5, 0, 20.0), (1, 0, 5.0)), NOW) is None  # the limit was changed, nothing was spent


def test_the_pace_is_counted_from_the_first_charge():
    """Not from the day on which the data set was added: ten quiet days before it would make the pace look slow."""
    found = forecast(course((20, 0), (10, 1), (5, 4)), NOW)
    assert (found.per_day, found.left, found.days) == pytest.approx((0.4, 6, 15))
    assert found.date == datetime.date(2026, 7, 15)


def test_all_spent_at_one_moment_counts_as_a_day():
    found = forecast(course((3e-5, 0), (2e-5, 2), (2e-5, 4)), NOW)
    assert (found.per_day, found.left, found.days) == (4, 6, 1.5)
    assert found.date == datetime.date(2026, 7, 2)
    at_once = forecast(course((0, 0), (0, 4)), NOW)
    assert (at_once.per_day, at_once.days) == (4, 1.5)


def test_a_pause_slows_the_pace_and_then_ends_it():
    """The pace is that of 30 days: what was spent before them does not count, and after 30 quiet days it is 0."""
    during = forecast(course((90, 0), (80, 5), (40, 6), (10, 9)), NOW)
    assert (during.per_day, during.left, during.days) == pytest.approx((0.1, 1, 10))
    after = forecast(course((90, 0), (80, 5), (40, 6)), NOW)
    assert (after.per_day, after.left, after.days, after.date) == (0, 4, None, None)


def test_a_budget_that_is_used_up_or_lowered_below_what_was_spent_has_nothing_left():
    full = forecast(course((9, 0), (2, 10)), NOW)
    assert (full.left, full.days, full.date) == (0, 0, NOW.date())
    lowered = forecast(course((9, 0), (4, 8), (2, 8, 6.0)), NOW)
    assert (lowered.left, lowered.days) == (0, 0)


def test_a_date_in_more_than_a_hundred_years_is_not_named():
    slow = forecast(course((30, 0), (29, 1e-6)), NOW)
    assert slow.days > 36_500 and slow.date is None


def test_raising_the_limit_lengthens_the_forecast():
    assert forecast(course((10, 0), (10, 5), (1, 5, 20.0)), NOW).days == pytest.approx(30)


# -- the chart

X0, X1, FULL, EMPTY = LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM


def line(made):
    """The corners of the chart's line: where it begins, and each step to the right and up or down."""
    path = re.search(r'class="line" d="M([\d.]+) ([\d.]+)([^"]*)"', str(burn_down(made, NOW)))
    steps = re.findall(r"H([\d.]+)V([\d.]+)", path[3])
    return [(float(path[1]), float(path[2])), *((float(x), float(y)) for x, y in steps)]


def test_the_chart_steps_down_where_something_was_spent():
    half = (FULL + EMPTY) / 2
    corners = line(course((10, 0), (5, 5)))
    assert corners == [(X0, FULL), ((X0 + X1) / 2, half), (X1, half)]
    assert 'aria-label="left of the budget: 5 of 10"' in str(burn_down(course((10, 0), (5, 5)), NOW))


def test_the_chart_of_nothing_and_of_one_moment():
    assert burn_down(Course(), NOW) == ""
    assert line(course((0, 0))) == [(X0, FULL)]
    assert line(course((4, 0))) == [(X0, FULL), (X1, FULL)]  # nothing was spent since
    spent = line(course((0, 0), (0, 10)))  # all at one moment: straight down, at the left edge
    assert spent == [(X0, FULL), (X0, EMPTY)]


def test_a_pause_is_a_level_line_and_overspending_stays_on_the_chart():
    corners = line(course((40, 0), (39, 5), (20, 5, 4.0)))
    assert corners[-1][1] == EMPTY and corners[-2][1] == EMPTY  # a limit below what was spent: nothing is left
    paused = line(course((40, 0), (39, 5)))
    assert paused[1][1] == paused[2][1] and paused[2][0] == X1
    assert line(course((9, 0, 0.0))) == [(X0, EMPTY), (X1, EMPTY)]  # no budget at all


def test_a_long_course_is_thinned_and_keeps_its_ends():
    made = course(*((5000 - i, i / 1000) for i in range(3000)))
    assert len(made.points) <= MOST_POINTS and made.points[0].spent == 0 and made.points[-1].spent == 2.999
    assert forecast(made, NOW).left == pytest.approx(10 - 2.999)


# -- from the ledger


def charge(folder, at, cost, address=()):
    folder.ledger.record({
        "type": "charge", "at": f"2026-06-{at:02}T00:00:00+00:00", "user": "ann", "groups": [],
        "request": f"{at:032x}", "digest": "", "charges": [("census", list(address), [cost])], "kept": 1,
        "program": [("census | count", "Laplace")],
    })  # fmt: skip


def test_the_course_ends_where_the_ledger_does(tmp_path):
    """With groups, samples and a raised limit: the chart shows what the ledger counts, to the last entry."""
    folder = make_jail(tmp_path, budget=5)
    courses = Courses(folder)
    assert [(p.spent, p.limit) for p in courses.of("census").points] == [(0, 5)]
    charge(folder, 1, "1/2")
    charge(folder, 2, "1/4", [("sex", "F")])
    charge(folder, 3, "1/4", [("sex", "M")])  # beside F: it costs nothing more
    charge(folder, 4, "1", [(f"{SAMPLE}1/100 x", "1")])  # a sample costs its table less
    folder.raise_budget("census", [8], "a test")
    points = courses.of("census").points
    assert [p.spent for p in points[:4]] == [0, 0.5, 0.75, 0.75]
    assert points[-1].spent == float(folder.state.total(("dataset", "", "census"))[0]) < 0.8
    assert points[-1].limit == 8 and courses.of("census").programs == {"census | count": 4}
    assert courses.of("census").typical == 0.25 and courses.of("nothing").points == []
