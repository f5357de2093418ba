"""Open calls. Each holds a thread, so their number is limited, and so is the wait for the first message."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from privjail.server.limits import Limits


class Call:
    """One open call of a user. While its first message has not arrived, ``waiting`` is its gRPC context."""

    def __init__(self, user: str) -> None:
        self.user = user
        self.since = time.monotonic()
        self.waiting: Any = None


class Calls:
    """All open calls. The limit per user leaves threads for other users."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open: set[Call] = set()
        self._of_user: Counter[str] = Counter()
        self._lock = threading.Lock()

    def admit(self, user: str) -> Call | None:
        """Admit a call of this user, or return None if too many are open. Pass an admitted call to ``end``."""
        with self._lock:
            if self._of_user[user] >= self._limits.calls_per_user or len(self._open) >= self._limits.calls:
                return None
            call = Call(user)
            self._open.add(call)
            self._of_user[user] += 1
            return call

    def end(self, call: Call) -> None:
        with self._lock:
            self._open.discard(call)
            self._of_user[call.user] -= 1
            if not self._of_user[call.user]:
                del self._of_user[call.user]

    def messages(self, call: Call, bodies: Iterator[bytes], context: Any) -> Iterator[bytes]:
        """The messages of a call. It is cancelled if the first one does not arrive in time."""
        call.waiting = context
        for body in bodies:
            call.waiting = None
            yield body

    def sweep(self, seconds: float | None = None) -> None:
        """Cancel the calls whose first message has not arrived in time."""
        old = time.monotonic() - (self._limits.first_message_seconds if seconds is None else seconds)
        with self._lock:
            late = [each.waiting for each in self._open if each.since <= old]
        for context in late:
            if context is not None:
                context.cancel()

    def __len__(self) -> int:
        with self._lock:
            return len(self._open)
