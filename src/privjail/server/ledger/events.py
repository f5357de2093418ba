"""The ledger's events, in one hash chain: a change of an earlier event is noticed.

Curators' decisions and analysts' charges are entries of one append-only log. Each entry's hash covers the entry
before it, so a changed, missing or reordered entry breaks the chain. The state follows from all entries in order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from privjail.errors import DPError

VERSION = 4  # of a jail's folder and its ledger; 4: entries can be found by their request, and checkpoints
GENESIS = "0" * 64
SPELLER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


class LedgerError(DPError):
    """The ledger was changed, cut short or rolled back. The jail does not start with it."""


@dataclass(frozen=True)
class Event:
    """One line of the log."""

    seq: int
    hash: str
    body: dict[str, Any]
    text: str = field(default="", compare=False, repr=False)  # the serialised body, if it was just made


def spelled(body: dict[str, Any] | str) -> str:
    """The canonical text of a body."""
    return SPELLER.encode(body)


def chained(previous: str, seq: int, text: str) -> str:
    return hashlib.sha256(f"{previous}\n{seq}\n{text}".encode()).hexdigest()


def linked(previous: Event | None, body: dict[str, Any]) -> Event:
    """The next event of the chain."""
    seq = 1 if previous is None else previous.seq + 1
    before = GENESIS if previous is None else previous.hash
    text = spelled(body)
    return Event(seq, chained(before, seq, text), body, text)


def checked(previous: Event | None, seq: Any, hash_: Any, text: Any) -> Event:
    """An event read from disk; raises if it does not continue the chain."""
    before = GENESIS if previous is None else previous.hash
    expected = 1 if previous is None else previous.seq + 1
    if seq != expected or not isinstance(text, str) or chained(before, expected, text) != hash_:
        raise LedgerError(
            f"the ledger is damaged or was changed at entry {expected}",
            do="restore the newest complete copy; budgets must not be lowered by a restore",
        )
    return Event(expected, hash_, json.loads(text))


CHECKPOINT = "checkpoint"


def unanswered(events: Iterable[Event], before: Iterable[tuple[str, str]] = ()) -> set[tuple[str, str]]:
    """The requests that were charged and may still be answered for the first time: (user, request id).

    ``before``: those of which that was so before the first of these events.
    """
    open_ = set(before)
    for body in (event.body for event in events):
        match body.get("type"):
            case "charge":
                open_.add((body["user"], body["request"]))
            case "answer" | "given_up":
                open_.discard((body["user"], body["request"]))
            case "lost":
                open_.difference_update((user, request) for user, request in body["requests"])
    return open_


def subject(body: dict[str, Any]) -> str | None:
    """What an entry can be found by later: the request that it is about, or that it is a checkpoint."""
    if "request" in body:
        return f"{body['user']}/{body['request']}"
    return CHECKPOINT if body.get("type") == CHECKPOINT else None


def other_version(what: str) -> LedgerError:
    return LedgerError(
        f"{what} was made by another version of privjail",
        do="use that version, or make a new jail: what was spent in this one still counts for the same people",
    )


def rolled_back(ends: int, written: int) -> LedgerError:
    return LedgerError(
        f"the ledger was rolled back: it ends at entry {ends}, but entry {written} was written",
        do="put the newest copy of the ledger back",
    )


def amounts(texts: list[str] | None) -> tuple[Fraction, ...] | None:
    return None if texts is None else tuple(Fraction(t) for t in texts)


def texts(values: tuple[Fraction, ...] | None) -> list[str] | None:
    return None if values is None else [str(v) for v in values]
