"""A limit on the time that one request may take, however it spends it.

What a request costs is checked where it can be foreseen (limits.py). For the rest there is a clock: when it runs out,
an exception is raised in the thread that does the work, at the next line of Python that it runs. Calls into the engine
are not cut short; each of them is bounded by the number of rows.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


class TimeUp(BaseException):
    """Raised inside the work; no ``except Exception`` on the way swallows it."""


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
        clock = threading.Timer(self._seconds, self._fire)
        clock.daemon = True
        clock.start()
        try:
            return work()
        finally:
            clock.cancel()
            with self._lock:
                self._over = True
                late = self._fired
            if late:  # raised already, or about to be: in no case in the next request of this thread
                _raise_in(self._thread, None)

    def _fire(self) -> None:
        with self._lock:
            if self._over:
                return
            if self._shielded:
                self._late = True
                return
            self._fired = True
            _raise_in(self._thread, TimeUp)

    @contextmanager
    def shield(self) -> Iterator[None]:
        """A part that must not be cut short, such as a change of the ledger; the time is looked at after it."""
        with self._lock:
            if self._fired or self._late:
                raise TimeUp
            self._shielded = True
        try:
            yield
        finally:
            with self._lock:
                self._shielded = False
                late = self._late
        if late:
            raise TimeUp


def _raise_in(thread: int, what: type[BaseException] | None) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), None if what is None else ctypes.py_object(what)
    )
