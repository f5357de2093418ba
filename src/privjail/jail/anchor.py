"""A note beside the ledger of its newest entry: what tells an older copy from the newest one."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from privjail.jail.events import Event, LedgerError, linked, rolled_back, spelled

PUT_BACK = "put anchor.0 and anchor.1 back, or see: privjail verify --help"


@dataclass(frozen=True)
class Note:
    """An entry, and the answer that was kept with it if it is an answer's."""

    event: Event
    answer: bytes | None = None


@dataclass(frozen=True)
class Damaged:
    """A note that is not whole: a crash tore it, or something changed it."""


class Anchor:
    """Two files that take turns, so that one of them is whole whenever the other is being written."""

    def __init__(self, folder: Path) -> None:
        self._files = (folder / "anchor.0", folder / "anchor.1")

    def write(self, slot: int, note: Note) -> None:
        """Write a note and see it on disk before going on."""
        event = note.event
        text = {"seq": event.seq, "hash": event.hash, "body": event.body}
        if note.answer is not None:
            text["answer"] = base64.b64encode(note.answer).decode()
        body = spelled(text).encode()
        new = not self._files[slot].exists()
        fd = os.open(self._files[slot], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
            file.flush()
            os.fdatasync(file.fileno())
        if new:
            _sync_folder(self._files[slot].parent)

    def read(self, slot: int) -> Note | Damaged | None:
        """A note; None where there is no file."""
        try:
            content = self._files[slot].read_bytes()
        except FileNotFoundError:
            return None
        except OSError as e:
            raise LedgerError(f"the ledger's anchor cannot be read: {e.strerror}") from None
        digest, _, body = content.partition(b"\n")
        if hashlib.sha256(body).hexdigest().encode() != digest:
            return Damaged()
        try:
            note = json.loads(body)
            answer = base64.b64decode(note["answer"]) if "answer" in note else None
            return Note(Event(note["seq"], note["hash"], note["body"]), answer)
        except (KeyError, TypeError, ValueError):
            return Damaged()

    def both(self) -> tuple[Note | Damaged | None, Note | Damaged | None]:
        return self.read(0), self.read(1)


def owed(anchor: Anchor, events: list[Event]) -> Note | None:
    """For notes that are written *before* their entry: the entry that a crash kept from being written, if any.

    Entry n is noted in file n mod 2, on disk before the entry is. So a ledger that ends at entry n has a whole
    note of n in one file; the other holds n - 1, or n + 1 (noted, not written), or was torn by a crash while n + 1
    was being noted. Anything else is an older ledger, another ledger, or damage.
    """
    count = len(events)
    own, other = anchor.read(count % 2), anchor.read((count + 1) % 2)
    for note in (own, other):
        if isinstance(note, Note) and note.event.seq > count + 1:
            raise rolled_back(count, note.event.seq)
    ahead = isinstance(other, Note) and other.event.seq == count + 1
    if count == 0:
        if not ahead:
            raise LedgerError("the ledger is empty", do="put the newest copy of the ledger back")
    else:
        _whole(own, events[-1])
        if other is None and count > 1:
            raise LedgerError("one of the ledger's two anchors is gone", do=PUT_BACK)
    if not isinstance(other, Note):
        return None
    if ahead:
        if linked(events[-1] if events else None, other.event.body) != other.event:
            raise rolled_back(count, other.event.seq)
        return other
    if other.event.seq != count - 1 or other.event.hash != events[count - 2].hash:
        raise LedgerError("the ledger's anchor belongs to another ledger, or to another copy of it", do=PUT_BACK)
    return None


def _whole(note: Note | Damaged | None, last: Event) -> None:
    if note is None:
        raise LedgerError("the ledger's anchor is gone", do=PUT_BACK)
    if isinstance(note, Damaged):
        raise LedgerError("the ledger's anchor is damaged", do=PUT_BACK)
    if note.event.seq != last.seq or note.event.hash != last.hash:
        raise LedgerError("the ledger's anchor belongs to another ledger, or to another copy of it", do=PUT_BACK)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
