"""Streams of releases. Each is one call that stays open, and holds a thread of the jail."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from privjail.server.limits import Limits
from privjail.server.wire.rpc import grpc


class Place:
    """One open stream. ``busy`` is set while a release runs on it."""

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
    """The open streams of each user. The limit leaves threads for other users."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open: set[Place] = set()
        self._lock = threading.Lock()

    @contextmanager
    def place(self, user: str, context: Any) -> Iterator[Place]:
        """Admit a stream. A user who gets none can still send releases as single calls."""
        place = Place(user, context)
        with self._lock:
            mine = sum(1 for each in self._open if each.user == user)
            # Twice the number of sessions: a stream that just ended may still be counted.
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
        """End the streams that were idle for too long."""
        now, limits = time.monotonic(), self._limits
        old = now - (limits.idle_seconds if idle_seconds is None else idle_seconds)
        # A client that does not read its answer would stay busy for ever.
        stuck = now - limits.idle_seconds - limits.seconds_per_release
        with self._lock:
            idle = [each for each in self._open if each.used <= (stuck if each.busy else old)]
        for each in idle:
            each.context.cancel()

    def __len__(self) -> int:
        with self._lock:
            return len(self._open)
