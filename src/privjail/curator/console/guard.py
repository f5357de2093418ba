"""Who is at the console: logins, the word against forged requests, and patience with wrong tokens."""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from privjail.server.authentication import holder
from privjail.server.ledger.state import State, UserEntry
from privjail.server.tokens import token_hash

IDLE = 15 * 60.0  # seconds until a login that does nothing ends
LONGEST = 8 * 3600.0  # seconds until any login ends
MOST_LOGINS = 1_000
TRIES, PAUSE = 5, 60.0  # wrong tokens from one address in so many seconds
MOST_ADDRESSES = 10_000

#: Nothing is loaded from elsewhere, nothing inline is run, and no other page may show this one.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
SECURE = {"Strict-Transport-Security": "max-age=31536000"}


@dataclass
class Login:
    """A session of one person. The token itself is not kept, only its hash."""

    user: str
    digest: str
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    began: float = field(default_factory=time.monotonic)
    used: float = field(default_factory=time.monotonic)
    said: list[str] = field(default_factory=list)  # what the next page tells

    def fresh(self, now: float) -> bool:
        return now - self.used < IDLE and now - self.began < LONGEST


class Logins:
    """All sessions, in memory: a restart of the console ends them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_id: dict[str, Login] = {}

    def begin(self, user: UserEntry, digest: str | None = None) -> tuple[str, Login]:
        """A new session under a new id, whatever the browser sent: an id that was planted before means nothing.

        ``digest``: of the token that she came with; the session ends with it.
        """
        now = time.monotonic()
        with self._lock:
            self._by_id = {i: each for i, each in self._by_id.items() if each.fresh(now)}
            while len(self._by_id) >= MOST_LOGINS:
                self._by_id.pop(min(self._by_id, key=lambda i: self._by_id[i].used))
            number, login = secrets.token_urlsafe(32), Login(user.name, digest or user.token)
            self._by_id[number] = login
            return number, login

    def find(self, number: str | None, state: State, touch: bool = True) -> tuple[Login, UserEntry] | None:
        """The session of a cookie, if its token is still valid: a revoked or replaced one ends it.

        ``touch``: whether this counts as use. A page that reloads itself must not keep a session alive for ever.
        """
        with self._lock:
            login = self._by_id.get(number or "")
            user = None if login is None else holder(state, login.digest)
            if login is None or user is None or not login.fresh(time.monotonic()):
                self._by_id.pop(number or "", None)
                return None
            login.used = time.monotonic() if touch else login.used
            return login, user

    def end(self, number: str | None) -> None:
        with self._lock:
            self._by_id.pop(number or "", None)


def right_word(login: Login, given: str) -> bool:
    return hmac.compare_digest(login.csrf.encode(), given.encode())


def who(state: State, token: str) -> UserEntry | None:
    return holder(state, token_hash(token.strip())) if len(token) < 1000 else None


class Patience:
    """Slows down who tries too often: so many times from one address, then a pause."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, tries: int = TRIES) -> None:
        self._clock, self._lock, self._tries = clock, threading.Lock(), tries
        self._wrong: dict[str, list[float]] = {}

    def wait(self, address: str) -> float:
        """Seconds until this address may try again; 0 if it may now."""
        with self._lock:
            now = self._clock()
            wrong = [t for t in self._wrong.get(address, []) if now - t < PAUSE]
            return 0.0 if len(wrong) < self._tries else PAUSE - (now - wrong[-self._tries])

    def failed(self, address: str) -> None:
        with self._lock:
            now = self._clock()
            if len(self._wrong) >= MOST_ADDRESSES:
                self._wrong = {a: ts for a, ts in self._wrong.items() if now - ts[-1] < PAUSE}
            self._wrong[address] = [*self._wrong.get(address, [])[-self._tries :], now]
