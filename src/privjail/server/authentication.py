"""Authentication: which user a call's token belongs to."""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from privjail.server.ledger.ledger import DurableLedger
from privjail.server.ledger.state import ANALYST, State, UserEntry
from privjail.server.tokens import token_hash

LONGEST_HEADER = 1000  # characters; a longer authorization header is not read
PREFIX = "Bearer "


def digest_of(metadata: Iterable[tuple[str, Any]]) -> str | None:
    """The hash of the token in a call's metadata, or None if it has none."""
    given = dict(metadata).get("authorization", "")
    if not isinstance(given, str) or not given.startswith(PREFIX) or len(given) > LONGEST_HEADER:
        return None
    return token_hash(given.removeprefix(PREFIX))


def authenticate(state: State, digest: str | None) -> UserEntry | None:
    """The analyst that a token belongs to, if it is valid now.

    One dictionary access, whatever the number of users. Its time may depend on the hash of the token that was sent.
    That reveals nothing about valid tokens, because nobody can construct a token whose hash has a chosen prefix.
    """
    user = holder(state, digest)
    return user if user is not None and user.role == ANALYST else None


def holder(state: State, digest: str | None) -> UserEntry | None:
    """Whose token it is, if it is valid now, whatever the role: the jail answers analysts only, the console all."""
    name = None if digest is None else state.tokens.get(digest)
    user = None if name is None else state.users.get(name)
    return user if user is not None and user.active(datetime.datetime.now(datetime.UTC)) else None


class Caller:
    """The credentials of a call: the hash of its token and its TLS certificate. They do not change while it is open."""

    def __init__(self, context: Any) -> None:
        self.context = context

    @cached_property
    def digest(self) -> str | None:
        return digest_of(self.context.invocation_metadata())

    @cached_property
    def certified(self) -> str | None:
        """The user name in the client certificate of the connection."""
        names = self.context.auth_context().get("x509_common_name", [])
        return names[0].decode() if names else None


class SharedRefresh:
    """Reads the ledger for calls with an unknown token: one read for all of them, and few reads per second.

    The curator may have issued the token a moment ago, so the ledger must be read again. But callers without a valid
    token must not be able to make the jail read its database as often as they like.
    """

    EVERY = 0.2  # seconds between two reads

    def __init__(self, ledger: DurableLedger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._began = 0.0  # when the last read began: everything written before that has been read

    def since(self, moment: float) -> None:
        """Return after the ledger was read at or after this time (of the monotonic clock)."""
        with self._lock:
            if self._began > moment:
                return
            time.sleep(max(0.0, self._began + self.EVERY - time.monotonic()))
            self._began = time.monotonic()
            self._ledger.refresh()
