"""Shares the workers among users: whoever has the least at work goes next, and short work passes long work.

What a request will take is not known when it comes. So every request starts as short work, and counts as long once it
has run for a second. Some places are kept for users who have nothing at work, and while everything that runs is long,
such users are let in beyond the number of workers: nobody waits for the end of another user's long work. Each user can
be let in once in this way, so the number of requests at work is at most the number of workers and users together.
"""

from __future__ import annotations

import threading
import time

LONG = 1.0  # seconds after which work counts as long


class Work:
    """A request of a user that waits for a worker, or runs since ``started``; as a context, it runs inside."""

    __slots__ = ("_workers", "arrived", "started", "user")

    def __init__(self, workers: Workers, user: str) -> None:
        self._workers, self.user, self.arrived = workers, user, time.monotonic()
        self.started: float | None = None

    def __enter__(self) -> None:
        self._workers._take(self)

    def __exit__(self, *_: object) -> None:
        self._workers._end(self)


class Workers:
    """The places at which requests run."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._kept = max(1, places // 4)  # for users with nothing at work
        self._waiting: list[Work] = []
        self._running: list[Work] = []
        self._at_work: dict[str, int] = {}  # requests that run, by user
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    def place(self, user: str) -> Work:
        """Enter it to wait until this user's turn comes; a place is held until it is left."""
        return Work(self, user)

    def _take(self, work: Work) -> None:
        with self._lock:
            if not self._waiting and self._may_start(work.user, work.arrived):
                self._start(work, work.arrived)  # as below, without looking for whose turn it is
                return
            try:
                self._wait(work)
            except BaseException:
                if work.started is None:
                    self._waiting.remove(work)
                raise

    def _wait(self, work: Work) -> None:
        self._waiting.append(work)
        self._start_next()
        while work.started is None:
            self._changed.wait(self._until_one_is_long())
            self._start_next()

    def _start(self, work: Work, now: float) -> None:
        self._running.append(work)
        self._at_work[work.user] = self._at_work.get(work.user, 0) + 1
        work.started = now

    def _start_next(self) -> None:
        """Start all that may run now. If the one whose turn it is may not, nobody may."""
        started = False
        while self._waiting:
            work = min(self._waiting, key=lambda each: (self._at_work.get(each.user, 0), each.arrived))
            now = time.monotonic()
            if not self._may_start(work.user, now):
                break
            self._waiting.remove(work)
            self._start(work, now)
            started = True
        if started:  # in whatever thread they wait
            self._changed.notify_all()

    def _may_start(self, user: str, now: float) -> bool:
        if user in self._at_work:
            return len(self._running) < self._places - self._kept
        return len(self._running) < self._places or len(self._short(now)) < self._kept

    def _short(self, now: float) -> list[float]:
        """When the requests were started that have not run for long."""
        return [each.started for each in self._running if each.started is not None and now - each.started < LONG]

    def _until_one_is_long(self) -> float | None:
        """Seconds until the next request counts as long, which may let somebody in; None if there is none."""
        now = time.monotonic()
        return min((started + LONG - now for started in self._short(now)), default=None)

    def _end(self, work: Work) -> None:
        with self._lock:
            self._running.remove(work)
            left = self._at_work[work.user] - 1
            if left:
                self._at_work[work.user] = left
            else:
                del self._at_work[work.user]
            if self._waiting:
                self._changed.notify_all()
