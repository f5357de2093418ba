"""The anchor: a note of the newest entry, kept beside the ledger. It shows whether a ledger is an older copy.

A note is written before its entry, but not synced: what a process wrote survives the end of the process, but not a
crash of the machine. Each note says in which run of the machine it was written, and which entry was on disk by then.
So after a restart of the machine a ledger may lack entries that were not yet on disk, and no others.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from privjail.server.ledger.events import Event, LedgerError, linked, rolled_back, spelled

PUT_BACK = "put anchor.0 and anchor.1 back, or see: privjail verify --help"
ANOTHER = "the ledger's anchor belongs to another ledger, or to another copy of it"
PAGE = 4096  # bytes of a note: it is written as one block, so a crash leaves all of it or nothing
BOOT = Path("/proc/sys/kernel/random/boot_id")
NO_RUN = (
    f"{BOOT} cannot be read, so a restart of the machine cannot be told from one of the jail: each release is "
    "synced to disk four times, not once, and requests that a restart left unanswered may be given up as lost. "
    "Let the jail read this file: with systemd, no ProcSubset=pid in its unit; in a container, a /proc with /proc/sys."
)
UNSETTLED = "unsettled"  # instead of a run: a restart of the machine was not yet dealt with


@cache
def machine_run() -> str:
    """An id of this run of the machine (since boot). Empty if the system has none; then every write is synced."""
    try:
        return BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""


@dataclass(frozen=True)
class Note:
    """An entry; for an entry of an answer, also the answer."""

    event: Event
    answer: bytes | None = None
    safe: int = 0  # the newest entry that was on disk when this was noted
    run: str = ""  # id of the machine's run, filled in when the note is written; empty if there is none

    def spelled(self, run: str = "") -> bytes:
        event = self.event
        answer = "" if self.answer is None else f'"answer":"{base64.b64encode(self.answer).decode()}",'
        # The body is already serialised; doing it again would cost as much as everything else here.
        text = (
            f'{{"hash":"{event.hash}","run":{spelled(run or self.run)},"safe":{self.safe},"seq":{event.seq},'
            f'{answer}"body":{event.text or spelled(event.body)}}}'
        )
        return text.encode().ljust(PAGE - 65)


@dataclass(frozen=True)
class Damaged:
    """A note is incomplete or damaged: by a crash while it was written, or by a change."""


class Anchor:
    """Two files, written in turn: one is always complete while the other is being written."""

    def __init__(self, folder: Path) -> None:
        self._held: dict[int, int] = {}  # files that stay open: opening costs more than writing
        self._files = (folder / "anchor.0", folder / "anchor.1")

    def write(self, slot: int, note: Note, sync: bool = True) -> None:
        """Write a note. One that is larger than a block, or changes the file's size, is always synced."""
        run = note.run or machine_run()
        body = note.spelled(run)
        content = hashlib.sha256(body).hexdigest().encode() + b"\n" + body
        fd, before = self._opened(slot)
        written = os.pwrite(fd, content, 0)
        while written < len(content):
            written += os.pwrite(fd, content[written:], written)
        if before > len(content):
            os.ftruncate(fd, len(content))
        if sync or not run or before != len(content) or len(content) > PAGE:
            os.fdatasync(fd)
        if not before:
            _sync_folder(self._files[slot].parent)

    def _opened(self, slot: int) -> tuple[int, int]:
        """The current file and its size: it may have been replaced or removed since it was opened."""
        path = self._files[slot]
        if slot in self._held:
            fd = self._held[slot]
            try:
                now = os.stat(path)
                if os.path.samestat(now, os.fstat(fd)):
                    return fd, now.st_size
            except FileNotFoundError:
                pass  # it is made again
            del self._held[slot]
            os.close(fd)
        fd = self._held[slot] = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        return fd, os.fstat(fd).st_size

    def close(self) -> None:
        while self._held:
            os.close(self._held.popitem()[1])

    def __del__(self) -> None:
        self.close()

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
            event = Event(note["seq"], note["hash"], note["body"])
            return Note(event, answer, note.get("safe", 0), note.get("run", ""))
        except (KeyError, TypeError, ValueError):
            return Damaged()

    def both(self) -> tuple[Note | Damaged | None, Note | Damaged | None]:
        return self.read(0), self.read(1)

    def restarted(self) -> bool:
        """Whether the machine was restarted since a note was written, or an earlier restart was not yet dealt with."""
        return _of_another_run(self.both())

    def tells_restarts(self, slot: int) -> bool:
        """Whether a note names a run of the machine, so that a restart is noticed as long as it stands."""
        try:
            fd = os.open(self._files[slot], os.O_RDONLY)
        except OSError:
            return False
        try:
            run = os.pread(fd, PAGE, 0).partition(b'"run":')[2]  # what an analyst wrote comes later
        finally:
            os.close(fd)
        return bool(run) and not run.startswith(b'""')


def _of_another_run(notes: Iterable[Note | Damaged | None]) -> bool:
    return any(isinstance(note, Note) and note.run not in ("", machine_run()) for note in notes)


def missing_entry(anchor: Anchor, last: Event | None, hash_of: Callable[[int], str | None]) -> Note | None:
    """For notes that are written *before* their entry: the entry that a crash kept from being written, if any.

    ``last``: the newest entry that the ledger has. ``hash_of``: the hash of one of its entries, by number.

    Entry n is noted in file n mod 2 before the entry is written. So a ledger that ends at entry n has a whole
    note of n in one file; the other holds n - 1, or n + 1 (noted, not written), or was torn by a crash while n + 1
    was being noted. Anything else is an older ledger, another ledger, or damage.
    """
    count = 0 if last is None else last.seq
    own, other = anchor.read(count % 2), anchor.read((count + 1) % 2)
    if (own is None and count) or (other is None and count > 1):
        raise LedgerError("an anchor of the ledger is gone", do=PUT_BACK)
    if _of_another_run((own, other)):
        return _owed_after_restart([note for note in (own, other) if isinstance(note, Note)], last, hash_of)
    for note in (own, other):
        if isinstance(note, Note) and note.event.seq > count + 1:
            raise rolled_back(count, note.event.seq)
    ahead = isinstance(other, Note) and other.event.seq == count + 1
    if last is None:
        if not ahead:
            raise LedgerError("the ledger is empty", do="put the newest copy of the ledger back")
    else:
        _whole(own, last)
    if not isinstance(other, Note):
        return None
    if ahead:
        return _next(other, last)
    if other.event.seq != count - 1 or other.event.hash != hash_of(count - 1):
        raise LedgerError(ANOTHER, do=PUT_BACK)
    return None


def _owed_after_restart(notes: list[Note], last: Event | None, hash_of: Callable[[int], str | None]) -> Note | None:
    """The same after the machine ended: notes may be older than the ledger, or newer by what was not on disk yet.

    No entry that a note says was on disk may be missing, and no note may belong to another ledger.
    """
    count = 0 if last is None else last.seq
    for note in notes:
        if note.safe > count:
            raise rolled_back(count, note.safe)
        if note.event.seq <= count and hash_of(note.event.seq) != note.event.hash:
            raise LedgerError(ANOTHER, do=PUT_BACK)
    if not count and not any(note.event.seq == 1 for note in notes):
        raise LedgerError("the ledger is empty", do="put the newest copy of the ledger back")
    ahead = [note for note in notes if note.event.seq == count + 1]
    return _next(ahead[0], last) if ahead else None


def _next(note: Note, last: Event | None) -> Note:
    """A note of the entry after the last one, if it continues the chain."""
    if linked(last, note.event.body) != note.event:
        raise rolled_back(0 if last is None else last.seq, note.event.seq)
    return note


def _whole(note: Note | Damaged | None, last: Event) -> None:
    if not isinstance(note, Note):
        raise LedgerError("the ledger's anchor is damaged", do=PUT_BACK)
    if note.event.seq != last.seq or note.event.hash != last.hash:
        raise LedgerError(ANOTHER, do=PUT_BACK)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
