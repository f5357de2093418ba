"""Checking all of a ledger's past: every link of the chain, every kept answer, every checkpoint.

A start reads the newest checkpoint and what came after it. This reads everything, and adds it up again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from privjail.server.ledger.checkpoint import damaged, pack, sha256, unpack
from privjail.server.ledger.events import CHECKPOINT, Event, LedgerError, checked
from privjail.server.ledger.state import State
from privjail.server.ledger.store import FIRST, Store

BATCH = 5_000  # entries that are read at a time


@dataclass(frozen=True)
class Checked:
    """How far the past was checked: up to this entry."""

    seq: int
    hash: str


def events_of(store: Store, after: Event | None = None, at_once: int = BATCH) -> Iterator[Event]:
    """All entries after one of them, each checked against the chain; read in batches, so that memory does not grow."""
    last = after
    while True:
        rows = store.batch(FIRST if last is None else last.seq, at_once)
        for row in rows:
            last = checked(last, *row)
            yield last
        if not rows:
            return


def events_from(store: Store, seq: int, at_once: int = BATCH) -> Iterator[Event]:
    """All entries from one number on, the first of them checked against the hash of the one before it."""
    if seq <= 1:
        return events_of(store, None, at_once)
    before = store.hash_of(seq - 1)
    return iter(()) if before is None else events_of(store, Event(seq - 1, before, {}), at_once)


def check_history(
    store: Store, progress: Callable[[Checked], None] = lambda _: None, resume: Checked | None = None, dropped: int = 0
) -> Checked:
    """Check every entry, and that each checkpoint says what all entries before it add up to.

    ``progress`` is told each checkpoint that was found right. ``resume``: one of these, to go on from there.
    ``dropped``: answers of entries before this one need not be there; those that are must be right.
    """
    store.quick_check()
    state, last = State(), None
    if resume is not None:
        state, last = _resumed(store, resume)
    for event in events_of(store, last):
        last = event
        if event.body.get("type") == CHECKPOINT:
            _check_checkpoint(store, event, state)
        state.apply(event)
        if event.body.get("type") == "answer":
            _check_answer(store, event, dropped)
        if "certificate" in event.body or event.body.get("type") == "example":
            _check_beside(store, event)
        if event.body.get("type") == CHECKPOINT:
            progress(Checked(event.seq, event.hash))
    if last is None:
        raise LedgerError("the ledger is empty", do="put the newest copy of the ledger back")
    return Checked(last.seq, last.hash)


def _resumed(store: Store, checked: Checked) -> tuple[State, Event]:
    """The state at a checkpoint that an earlier run found right."""
    found = [row for row in store.about(CHECKPOINT) if row[0] == checked.seq and row[1] == checked.hash]
    if not found:
        raise LedgerError(
            f"entry {checked.seq} is not the one that was checked before: the ledger was rolled back or replaced",
            do="put the newest copy of the ledger back, or check all of it: privjail verify without --resume",
        )
    event = store.alone(found[0])
    state = unpack(store.kept(event.seq), event.body)
    return state, event


def _check_checkpoint(store: Store, event: Event, state: State) -> None:
    packed = store.kept(event.seq)
    right = pack(state)
    # A crash between the note of a checkpoint and its entry leaves the entry without the state: it is never used.
    late = event.body.get("latest", state.latest) != state.latest
    if event.body["sha256"] != sha256(right) or (packed is not None and packed != right) or late:
        raise damaged()


def _check_beside(store: Store, event: Event) -> None:
    """A certificate or a table that was kept must be the one that its entry names. A crash can leave it out."""
    body, named = store.kept(event.seq), event.body.get("certificate") or event.body.get("sha256")
    if body is not None and hashlib.sha256(body).hexdigest() != named:
        what = "certificate" if "certificate" in event.body else "table"
        raise LedgerError(f"the {what} that was kept with entry {event.seq} was changed")


def _check_answer(store: Store, event: Event, dropped: int) -> None:
    body = store.kept(event.seq)
    if body is None and event.seq < dropped:
        return
    if body is None or hashlib.sha256(body).hexdigest() != event.body["sha256"]:
        raise LedgerError(f"the answer that was kept with entry {event.seq} was lost or changed")
