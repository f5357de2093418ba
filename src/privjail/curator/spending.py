"""How budgets were spent over time, by program, and how long they last at this pace. Read from the ledger alone."""

from __future__ import annotations

import datetime
import threading
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from privjail.budget.ledger import CostTree
from privjail.curator.folder import JailFolder
from privjail.server.ledger.events import Event, amounts
from privjail.server.ledger.state import State

MOST_POINTS = 1_000  # of one course; beyond it every second one is dropped
MOST_PROGRAMS = 1_000  # of one data set that are told apart
PACE_DAYS = 30  # the pace of a forecast is that of so many days
FARTHEST_DAYS = 36_500  # a forecast names no date beyond this


@dataclass(frozen=True)
class Point:
    """What was spent of a limit at a time: the first component, ε or ρ."""

    at: datetime.datetime
    spent: float
    limit: float


@dataclass
class Course:
    """How the budget of one data set was spent, and on what."""

    points: list[Point] = field(default_factory=list)
    programs: Counter[str] = field(default_factory=Counter)  # how often each was asked
    costs: list[float] = field(default_factory=list)  # of the newest requests

    def add(self, point: Point) -> None:
        self.points.append(point)
        if len(self.points) > MOST_POINTS:
            self.points[1:-1] = self.points[1:-1:2]

    @property
    def typical(self) -> float | None:
        """What a request costs: the median of the newest."""
        return sorted(self.costs)[len(self.costs) // 2] if self.costs else None


@dataclass(frozen=True)
class Forecast:
    """When a budget is used up if it is spent as in the last days."""

    per_day: float
    left: float
    days: float | None  # None: nothing is spent now
    date: datetime.date | None  # None also if it is more than a hundred years away


def forecast(course: Course, now: datetime.datetime) -> Forecast | None:
    """The pace of the last days, or of all days since the first charge, if these are fewer; at least one day.

    None if nothing was ever spent. ``now`` is the end of the period, and the day from which the date is counted.
    """
    charged = [p for p in course.points if p.spent > 0]
    if not charged:
        return None
    last, begin = course.points[-1], now - datetime.timedelta(days=PACE_DAYS)
    before = [p for p in charged if p.at <= begin]
    start, first = (before[-1].spent, begin) if before else (0.0, charged[0].at)
    days = max(1.0, (now - first).total_seconds() / 86_400)
    pace, left = (last.spent - start) / days, max(0.0, last.limit - last.spent)
    lasts = left / pace if pace > 0 else None
    date = None if lasts is None or lasts > FARTHEST_DAYS else (now + datetime.timedelta(days=lasts)).date()
    return Forecast(pace, left, lasts, date)


class Courses:
    """Follows the ledger. The first look reads all of it, later ones what is new."""

    def __init__(self, folder: JailFolder) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._read = 0
        self._trees: dict[str, CostTree] = {}
        self._limits: dict[str, float] = {}
        self._courses: dict[str, Course] = {}

    def of(self, dataset: str) -> Course:
        with self._lock:
            state = self._folder.state
            for event in self._folder.ledger.past(self._read):
                self._follow(event, state)
                self._read = event.seq
            return self._courses.get(dataset, Course())

    def _follow(self, event: Event, state: State) -> None:
        body = event.body
        match body["type"]:
            case "dataset":
                name = body["name"]
                notion = state.datasets[name].notion
                self._trees[name] = CostTree(notion.zero(), amplifies=notion.amplifies)  # as the ledger counts
                self._courses[name] = Course()
                self._set_limit(name, notion.limit, body)
            case "limit" if body["scope"] == "dataset":
                self._set_limit(body["dataset"], amounts(body["limit"]), body)
            case "charge":
                self._charge(body)
            case "lost":
                for _, name, rest in body.get("leases", ()):
                    self._trees[name].add((), amounts(rest) or ())

    def _set_limit(self, name: str, limit: Any, body: dict[str, Any]) -> None:
        self._limits[name] = float(limit[0]) if limit else 0.0
        self._point(name, body)

    def _charge(self, body: dict[str, Any]) -> None:
        touched: dict[str, Fraction] = {}
        for name, address, cost in body["charges"]:
            before = touched.setdefault(name, self._trees[name].total[0])
            self._trees[name].add(tuple((p, k) for p, k in address), amounts(cost) or ())
        for name, before in touched.items():
            self._point(name, body)
            course = self._courses[name]
            course.costs = [*course.costs[-199:], float(self._trees[name].total[0] - before)]
            for value, _ in body.get("program", ()):
                if value in course.programs or len(course.programs) < MOST_PROGRAMS:
                    course.programs[value] += 1

    def _point(self, name: str, body: dict[str, Any]) -> None:
        at = datetime.datetime.fromisoformat(body["at"])
        self._courses[name].add(Point(at, float(self._trees[name].total[0]), self._limits[name]))
