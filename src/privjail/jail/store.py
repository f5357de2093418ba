"""Where events are kept: an append-only table, in SQLite by default."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from privjail.jail.events import Event, LedgerError, checked, linked, spelled


class Anchor:
    """A note beside the ledger of its newest entry, written before the entry itself.

    A ledger that was rolled back to an older copy lacks the noted entry, or has another one in its place. An entry
    that a crash kept from being written is written from the note. Two files take turns, so that one is whole.
    """

    def __init__(self, folder: Path) -> None:
        self._files = [folder / "anchor.0", folder / "anchor.1"]

    def write(self, event: Event) -> None:
        body = spelled({"seq": event.seq, "hash": event.hash, "body": event.body}).encode()
        fd = os.open(self._files[event.seq % 2], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(fd, hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
            os.fdatasync(fd)
        finally:
            os.close(fd)

    def read(self) -> Event | None:
        notes = [note for note in map(self._one, self._files) if note is not None]
        return max(notes, key=lambda e: e.seq, default=None)

    @staticmethod
    def _one(path: Path) -> Event | None:
        try:
            digest, body = path.read_bytes().split(b"\n", 1)
        except (OSError, ValueError):
            return None
        if hashlib.sha256(body).hexdigest().encode() != digest:
            return None
        note = json.loads(body)
        return Event(note["seq"], note["hash"], note["body"])


class Store:
    """An append-only chain of events, and the answers that were given."""

    def __init__(self) -> None:
        self.last: Event | None = None

    def writing(self) -> contextlib.AbstractContextManager[Writing]:
        """One writer at a time, in this process and others; all that is appended is kept, or none of it."""
        raise TypeError

    def after(self, seq: int) -> list[tuple[int, str, str]]:
        raise TypeError

    def answer(self, user: str, request: str) -> bytes | None:
        raise TypeError

    def put_answer(self, user: str, request: str, body: bytes) -> None:
        """Keep an answer, unless there is one already: the first one stands."""
        raise TypeError

    def start(self) -> list[Event]:
        """Check the whole chain against itself and the anchor; all events, in order."""
        raise TypeError

    def close(self) -> None:
        raise TypeError

    def news(self) -> list[Event]:
        """Events that were appended since the last call, by whomever; each is checked against the chain."""
        found = []
        for seq, hash_, text in self.after(self.last.seq if self.last else 0):
            self.last = checked(self.last, seq, hash_, text)
            found.append(self.last)
        return found


class Writing:
    """A transaction: append and it is kept when the block ends."""

    def __init__(self, store: Store, insert: Any, anchor: Anchor | None) -> None:
        self._store, self._insert, self._anchor = store, insert, anchor
        self._before: list[Event | None] = []

    def append(self, body: dict[str, Any]) -> Event:
        event = linked(self._store.last, body)
        self._before.append(self._store.last)
        if self._anchor is not None:
            self._anchor.write(event)
        self._insert(event.seq, event.hash, spelled(body))
        self._store.last = event
        return event

    def take_back(self) -> None:
        """Forget what was appended; what others had written before stays known."""
        if self._before:
            self._store.last = self._before[0]

    @property
    def appended(self) -> bool:
        return bool(self._before)


class SQLiteStore(Store):
    """A file, write-ahead logged, synced to disk at each commit."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._anchor = Anchor(folder)
        self._lock = threading.RLock()
        path = folder / "ledger.sqlite"
        fresh = not path.exists()
        if fresh and self._anchor.read() is not None:
            raise LedgerError("the ledger is gone, but its anchor says that there was one")
        try:
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.execute("CREATE TABLE IF NOT EXISTS events (seq INTEGER PRIMARY KEY, hash TEXT, body TEXT)")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS answers (user TEXT, request TEXT, body BLOB, PRIMARY KEY (user, request))"
            )
        except sqlite3.DatabaseError:
            raise LedgerError("the ledger is no readable database") from None
        os.chmod(path, 0o600)

    def start(self) -> list[Event]:
        """Check the whole chain against itself and the anchor; all events, in order."""
        try:
            if self._db.execute("PRAGMA quick_check").fetchone() != ("ok",):
                raise LedgerError("the ledger's database is damaged")
            events = self.news()
        except (sqlite3.DatabaseError, json.JSONDecodeError):
            raise LedgerError("the ledger is damaged") from None
        note = self._anchor.read()
        if note is None:
            if events:
                raise LedgerError("the ledger's anchor is gone", do="put anchor.0 and anchor.1 back beside the ledger")
            return events
        if note.seq == len(events) + 1 and linked(self.last, note.body) == note:
            with self.writing() as writing:
                events.append(writing.append(note.body))
        elif note.seq > len(events) or events[note.seq - 1].hash != note.hash:
            raise LedgerError(
                f"the ledger was rolled back: it ends at entry {len(events)}, but entry {note.seq} was written",
                do="put the newest copy of the ledger back",
            )
        return events

    @contextlib.contextmanager
    def writing(self) -> Iterator[Writing]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            writing = Writing(self, self._insert, self._anchor)
            try:
                yield writing
                self._db.execute("COMMIT")
            except BaseException:
                self._db.execute("ROLLBACK")
                writing.take_back()
                raise

    def _insert(self, seq: int, hash_: str, text: str) -> None:
        self._db.execute("INSERT INTO events VALUES (?, ?, ?)", (seq, hash_, text))

    def after(self, seq: int) -> list[tuple[int, str, str]]:
        with self._lock:
            return self._db.execute("SELECT seq, hash, body FROM events WHERE seq > ? ORDER BY seq", (seq,)).fetchall()

    def answer(self, user: str, request: str) -> bytes | None:
        with self._lock:
            row = self._db.execute(
                "SELECT body FROM answers WHERE user = ? AND request = ?", (user, request)
            ).fetchone()
        return None if row is None else bytes(row[0])

    def put_answer(self, user: str, request: str, body: bytes) -> None:
        with self._lock:
            self._db.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?)", (user, request, body))

    def close(self) -> None:
        with self._lock:
            self._db.close()
