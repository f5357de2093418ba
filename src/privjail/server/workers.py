"""Shares the workers among users: the user with the fewest running requests is next, and short requests pass long ones.

How long a request takes is not known when it arrives. So each request starts as a short one, and counts as long once it
has run for a second. Some workers are reserved for users without a running request. While all running requests are
long, such users are admitted beyond the number of workers: nobody waits for another user's long request to end. Each
user can be admitted once in this way, so at most as many requests run as there are workers and users together.
"""

from __future__ import annotations

import threading
import time

LONG = 1.0  # seconds after which a request counts as long


class Work:
    """A request that waits for a worker, or runs since ``started``. Used as a context: the block is the request."""

    __slots__ = ("_workers", "arrived", "started", "turn", "user")

    def __init__(self, workers: Workers, user: str) -> None:
        self._workers, self.user, self.arrived = workers, user, time.monotonic()
        self.started: float | None = None
        self.turn: threading.Condition | None = None  # what it waits for; each has its own, so that no other is woken

    def __enter__(self) -> None:
        self._workers._take(self)

    def __exit__(self, *_: object) -> None:
        self._workers._end(self)


class Workers:
    """Decides which requests run."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._kept = max(1, places // 4)  # reserved for users without a running request
        self._waiting: list[Work] = []
        self._running: list[Work] = []
        self._at_work: dict[str, int] = {}  # requests that run, by user
        self._lock = threading.Lock()

    def busy(self) -> tuple[int, int]:
        """How many requests wait, and how many run."""
        with self._lock:
            return len(self._waiting), len(self._running)

    def place(self, user: str) -> Work:
        """A context that waits until it is this user's turn, and holds a worker until it is left."""
        return Work(self, user)

    def _take(self, work: Work) -> None:
        with self._lock:
            if not self._waiting and self._may_start(work.user, work.arrived):
                self._start(work, work.arrived)  # the common case: nobody waits, so there is no turn to find
                return
            try:
                self._wait(work)
            except BaseException:
                if work.started is None:
                    self._waiting.remove(work)
                raise

    def _wait(self, work: Work) -> None:
        work.turn = threading.Condition(self._lock)
        self._waiting.append(work)
        self._start_next()
        while work.started is None:
            work.turn.wait(self._until_one_is_long())
            self._start_next()

    def _start(self, work: Work, now: float) -> None:
        self._running.append(work)
        self._at_work[work.user] = self._at_work.get(work.user, 0) + 1
        work.started = now

    def _start_next(self) -> None:
        """Start all requests that may run now. If the next one in turn may not run, no other may."""
        while self._waiting:
            work = min(self._waiting, key=lambda each: (self._at_work.get(each.user, 0), each.arrived))
            now = time.monotonic()
            if not self._may_start(work.user, now):
                break
            self._waiting.remove(work)
            self._start(work, now)
            if work.turn is not None:
                work.turn.notify()

    def _may_start(self, user: str, now: float) -> bool:
        if user in self._at_work:
            return len(self._running) < self._places - self._kept
        return len(self._running) < self._places or len(self._short(now)) < self._kept

    def _short(self, now: float) -> list[float]:
        """The start times of the short requests."""
        return [each.started for each in self._running if each.started is not None and now - each.started < LONG]

    def _until_one_is_long(self) -> float | None:
        """Seconds until the next short request counts as long, which may admit another one; None if none is short."""
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
            self._start_next()
