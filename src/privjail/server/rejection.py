"""Why a token is not accepted: briefly for the caller, in detail for the curator's log. Neither shows the token."""

from __future__ import annotations

import datetime
import logging
import threading
import time
from enum import Enum
from typing import NamedTuple

from privjail.errors import DPError
from privjail.server.ledger.state import ANALYST, State

log = logging.getLogger("privjail.jail")
EVERY = 60.0  # seconds
MOST = 10  # log lines of one kind in that time: a stranger must not fill the disk with them


class Reason(Enum):
    """The reason in the jail's log why a token was not accepted."""

    MISSING = "no token came with the call"
    UNKNOWN = "the token is unknown: never issued here, or replaced by a newer one"
    EXPIRED = "the token of user {user!r} has expired"
    REVOKED = "user {user!r} was revoked"
    ROLE = "the token of user {user!r} is not an analyst's: the jail answers analysts only"
    CERTIFICATE = "the token of user {user!r} did not come with the certificate of that user"


class Rejection(NamedTuple):
    """A reason, and the user that the token was issued to, if there is one."""

    reason: Reason
    user: str | None = None

    def __str__(self) -> str:
        return "authentication failed: " + self.reason.value.format(user=self.user)

    @property
    def error(self) -> DPError:
        """What the caller is told. "Expired" only to a caller who has the complete token, since its hash was found."""
        if self.reason is Reason.EXPIRED:
            return DPError("authentication failed: the token has expired", do="ask the curator for a new one")
        if self.reason is Reason.ROLE:
            return DPError(
                "authentication failed: the jail answers analysts, and this token has another role",
                do="use it for the console; for programs, ask for a user of your own who is an analyst",
            )
        return DPError(
            "authentication failed: the token is not accepted",
            do="use the newest connection file that the curator gave you, or ask for another",
        )


def rejection(state: State, digest: str | None, now: datetime.datetime) -> Rejection:
    """Why a call with a token of this hash is refused. If the token is valid, the client certificate is missing."""
    if digest is None:
        return Rejection(Reason.MISSING)
    name = state.tokens.get(digest)
    if name is None:
        return Rejection(Reason.UNKNOWN)
    user = state.users[name]
    if user.revoked:
        return Rejection(Reason.REVOKED, user.name)
    if not user.active(now):
        return Rejection(Reason.EXPIRED, user.name)
    return Rejection(Reason.CERTIFICATE if user.role == ANALYST else Reason.ROLE, user.name)


class RejectionLog:
    """Writes rejections into the jail's log, few of each kind at a time, and counts those that are left out."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: dict[Rejection, float] = {}
        self._counts: dict[Rejection, int] = {}

    def write(self, rejected: Rejection, peer: str) -> None:
        with self._lock:
            now = time.monotonic()
            left_out = 0
            if now - self._since.get(rejected, -EVERY) >= EVERY:
                left_out = max(0, self._counts.get(rejected, 0) - MOST)
                self._since[rejected], self._counts[rejected] = now, 0
            self._counts[rejected] += 1
            if self._counts[rejected] > MOST:
                return
        if left_out:
            log.warning("%s (%d times more, not logged)", rejected, left_out)
        log.warning("%s (from %s)", rejected, peer)
