"""A limit on the time that one request may take.

Costs that can be predicted are limited before a request runs (limits.py). For the rest there is a clock: when the time
is up, an exception is raised in the working thread, at the next line of Python that it runs. Calls into the engine are
not interrupted; each of them is bounded by the number of rows.
"""

from __future__ import annotations

import ctypes
import math
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")
AGAIN = 1.0  # seconds after which the exception is raised again if the work goes on


class TimeUp(BaseException):
    """Raised inside the work; no ``except Exception`` on the way swallows it."""


class Clock:
    """One thread that watches all deadlines. A thread for each request would cost more than most requests."""

    def __init__(self) -> None:
        self._running: dict[Deadline, float] = {}
        self._next = math.inf  # when the thread wakes up next; it is woken earlier only for an earlier deadline
        self._changed = threading.Condition()
        threading.Thread(target=self._run, daemon=True).start()

    def add(self, deadline: Deadline, at: float) -> None:
        with self._changed:
            self._running[deadline] = at
            if at < self._next:
                self._next = at
                self._changed.notify()

    def remove(self, deadline: Deadline) -> None:
        with self._changed:
            self._running.pop(deadline, None)

    def _run(self) -> None:
        while True:
            with self._changed:
                now = time.monotonic()
                due = [each for each, at in self._running.items() if at <= now]
                for each in due:
                    del self._running[each]
                if not due:
                    self._next = min(self._running.values(), default=math.inf)
                    self._changed.wait(None if self._next == math.inf else self._next - now)
            again = [each for each in due if each.fire()]
            with self._changed:
                self._running.update(dict.fromkeys(again, now + AGAIN))


@cache
def clock() -> Clock:
    """The clock of this process, started when it is first needed."""
    return Clock()


class Deadline:
    """Runs work until its time is up."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._thread = 0
        self._shielded = self._fired = self._late = self._over = False

    def run(self, work: Callable[[], T]) -> T:
        """The result of the work, or TimeUp."""
        self._thread = threading.get_ident()
        watch = clock()
        watch.add(self, time.monotonic() + self._seconds)
        try:
            return work()
        finally:
            with self._lock:
                self._over = True
                late = self._fired
            if late:  # the exception is raised or about to be: it must not reach the next request of this thread
                _raise_in(self._thread, None)
            # Not earlier: an exception while the clock's lock is taken would leave it locked for ever.
            watch.remove(self)

    @property
    def fired(self) -> bool:
        """Whether the time was up and the exception was raised."""
        return self._fired

    def fire(self) -> bool:
        """Called by the clock when the time is up. Returns whether to call again, since the exception may be lost.

        Python discards an exception that is raised while it runs a weak reference's callback or a finaliser.
        """
        with self._lock:
            if not self._over and self._shielded:
                self._late = True
            elif not self._over:
                self._fired = True
                _raise_in(self._thread, TimeUp)
            return not self._over

    def shield(self) -> Shield:
        """A block that must not be interrupted, such as a change of the ledger. The time is checked after it."""
        return Shield(self)


class Shield:
    """Holds a deadline back while its block runs."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def __enter__(self) -> None:
        deadline = self._deadline
        with deadline._lock:
            if deadline._fired or deadline._late:
                raise TimeUp
            deadline._shielded = True

    def __exit__(self, kind: Any, *_: Any) -> None:
        deadline = self._deadline
        with deadline._lock:
            deadline._shielded = False
            late = deadline._late
        if late and kind is None:
            raise TimeUp


def _raise_in(thread: int, what: type[BaseException] | None) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None if what is None else ctypes.py_object(what))
