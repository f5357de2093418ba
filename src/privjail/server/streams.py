"""Streams of releases: each is one call that stays open, and holds a thread of the jail that sleeps."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from privjail.server.limits import Limits
from privjail.server.wire.rpc import grpc


class Place:
    """One open stream. Setting ``busy`` says that something happens on it."""

    def __init__(self, user: str, context: Any) -> None:
        self.user, self.context = user, context
        self.used = time.monotonic()
        self._busy = False

    @property
    def busy(self) -> bool:
        return self._busy

    @busy.setter
    def busy(self, value: bool) -> None:
        self.used = time.monotonic()
        self._busy = value


class Streams:
    """Who has how many streams open: not so many that there is no thread left for others."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open: set[Place] = set()
        self._lock = threading.Lock()

    @contextmanager
    def place(self, user: str, context: Any) -> Iterator[Place]:
        """A place for a stream. Who gets none can still send releases one by one."""
        place = Place(user, context)
        with self._lock:
            mine = sum(1 for each in self._open if each.user == user)
            # Twice as many as sessions: one that just ended may not have been noticed yet.
            free = mine < 2 * self._limits.sessions_per_user and len(self._open) < self._limits.sessions
            if free:
                self._open.add(place)
        if not free:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many open streams")
        try:
            yield place
        finally:
            with self._lock:
                self._open.discard(place)

    def sweep(self, idle_seconds: float | None = None) -> None:
        """End the streams that nobody has used for long."""
        now, limits = time.monotonic(), self._limits
        old = now - (limits.idle_seconds if idle_seconds is None else idle_seconds)
        # Who does not take an answer would be busy for ever.
        stuck = now - limits.idle_seconds - limits.seconds_per_release
        with self._lock:
            idle = [each for each in self._open if each.used <= (stuck if each.busy else old)]
        for each in idle:
            each.context.cancel()

    def __len__(self) -> int:
        with self._lock:
            return len(self._open)
