"""The gateway's connections to the jail: one for each token, closed when nobody uses it; and limits on requests."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from privjail.budget.blocks import Block
from privjail.client import Connection, connect
from privjail.client_errors import NotAccepted
from privjail.errors import DPError
from privjail.release import Query

IDLE = 300.0  # seconds after which an unused connection is closed
OLD = 600.0  # seconds after which a new connection is made: what a curator changed is seen then at the latest
MOST = 200  # connections at once


class Full(DPError):
    """The gateway has no place for one more connection."""


@dataclass
class _Held:
    connection: Connection
    users: int = 0
    retired: bool = False  # no further request gets it; the last one closes it
    began: float = field(default_factory=time.monotonic)
    used: float = field(default_factory=time.monotonic)


class Connections:
    """Ordinary analysts' connections. A token is not looked at here: the jail is asked with it, at every request."""

    def __init__(self, address: str, certificate: str | None) -> None:
        self._address, self._certificate = address, certificate
        self._lock = threading.Lock()
        self._held: dict[str, _Held] = {}

    def knows(self, token: str) -> bool:
        with self._lock:
            return _name(token) in self._held

    @contextmanager
    def of(self, token: str) -> Iterator[Connection]:
        """The connection of a token. One that the jail no longer accepts is closed."""
        held = self._taken(token)
        try:
            yield held.connection
        except NotAccepted:
            with self._lock:
                if self._held.get(_name(token)) is held:
                    self._retire(_name(token))
            raise
        finally:
            with self._lock:
                held.users -= 1
                held.used = time.monotonic()
                over = held.retired and not held.users
            if over:
                held.connection.close()

    def _taken(self, token: str) -> _Held:
        self._sweep()
        name = _name(token)
        with self._lock:
            held = self._held.get(name)
            if held is not None:
                held.users += 1
                return held
            if len(self._held) >= MOST:
                raise Full("the gateway has too many connections", do="try again later")
        made = self._connected(token)
        with self._lock:
            first = self._held.setdefault(name, _Held(made))
            first.users += 1
        if first.connection is not made:  # two requests came at once
            made.close()
        return first

    def _sweep(self) -> None:
        """Retire connections that are old or not used; close those that nobody uses."""
        now = time.monotonic()
        with self._lock:
            over = [n for n, h in self._held.items() if now - h.began > OLD or not h.users and now - h.used > IDLE]
            ending = [held for held in map(self._retire, over) if not held.users]
        for held in ending:
            held.connection.close()

    def _retire(self, name: str) -> _Held:
        held = self._held.pop(name)
        held.retired = True
        return held

    def _connected(self, token: str) -> Connection:
        if self._certificate is None:
            return connect(self._address, token=token, insecure_loopback=True)
        return connect(self._address, token=token, certificate=self._certificate)

    def close(self) -> None:
        with self._lock:
            ending, self._held = list(self._held.values()), {}
        for held in ending:
            held.connection.close()


def _name(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class Asking:
    """A connection as one request sees it: the ids of its releases follow from the id of the request.

    So a request that is sent again, through this gateway or another one, is answered and charged once, by the jail.
    """

    def __init__(self, connection: Connection, request: bytes) -> None:
        self._connection, self._request, self._next = connection, request, 0

    def release(self, asks: list[Query], request: bytes | None = None, block: Block | None = None) -> list[Any]:
        self._next += 1
        number = hashlib.sha256(b"privjail gateway" + self._request + self._next.to_bytes(8, "big")).digest()[:16]
        return self._connection.release(asks, number, block)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


class Rate:
    """At most so many events of one kind in a minute; kinds that are not seen for a minute are forgotten."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock, self._lock = most, clock, threading.Lock()
        self._minute, self._seen = -1, dict[str, int]()

    def over(self, kind: str, add: int = 1) -> bool:
        """Count an event (or with ``add=0`` none). Whether there were too many in this minute."""
        with self._lock:
            minute = int(self._clock() // 60)
            if minute != self._minute:
                self._minute, self._seen = minute, {}
            self._seen[kind] = self._seen.get(kind, 0) + add
            return self._seen[kind] > self._most - (add == 0)
