"""Where events are kept: an append-only table, in SQLite by default."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from privjail.faults import FILES
from privjail.server.ledger.anchor import UNSETTLED, Anchor, Note, machine_run, missing_entry
from privjail.server.ledger.checkpoint import unpack as checkpoint_state
from privjail.server.ledger.events import (
    CHECKPOINT,
    Event,
    LedgerError,
    checked,
    linked,
    rolled_back,
    subject,
    texts,
    unanswered,
)
from privjail.server.ledger.guarded import RESTORE, Guarded
from privjail.server.ledger.leases import open_after

Row = tuple[Any, Any, Any]
CHECK_DISK = "check the disk, then start the jail again"
FIRST = -(2**63)  # before the first entry
fdatasync = getattr(os, "fdatasync", os.fsync)  # macOS has the latter only


class StoreLost(LedgerError):
    """The connection to the ledger was lost. Whether the last write was stored is unknown."""


class Store:
    """An append-only chain of events. The event of an answer is stored together with the answer."""

    def __init__(self) -> None:
        self.last: Event | None = None

    def writing(self, synced: bool = True) -> contextlib.AbstractContextManager[Writing]:
        """A transaction, one at a time among all processes: all that is appended is stored, or nothing.

        Without ``synced``, entries may be lost in a crash of the machine, but not of this process.
        """
        raise TypeError

    def since(self, seq: int) -> list[Row]:
        """The entry with this number, without its body, and all later ones."""
        raise TypeError

    def batch(self, after: int, most: int) -> list[Row]:
        """The next entries after one of them, at most so many."""
        raise TypeError

    def kept(self, seq: int) -> bytes | None:
        """The answer that was kept with an entry, or the state that was kept with a checkpoint."""
        raise TypeError

    def quick_check(self) -> None:
        """Look over the database itself, beside the entries."""

    def about(self, what: str) -> list[Row]:
        """The entries about one request, or all checkpoints; each can be checked alone (``alone``)."""
        raise TypeError

    def hash_of(self, seq: int) -> str | None:
        """The hash of an entry, if there is one of this number."""
        raise TypeError

    def newest_checkpoint(self) -> int | None:
        """The number of the newest checkpoint whose state is kept."""
        raise TypeError

    def start(self) -> list[Event]:
        """Check the chain against itself and the anchor; all events from the newest checkpoint on, in order."""
        raise TypeError

    def renew_anchor(self) -> None:
        """Write a new anchor for the newest entry, ignoring the old one. Only a curator may decide this."""
        raise TypeError

    def sizes(self, first: int, before: int) -> dict[str, int]:
        """How many bytes of answers and certificates are kept for each user, with entries of these numbers."""
        raise TypeError

    def newer_than(self, at: str) -> int | None:
        """The number of the first charge that was made at this time or later."""
        raise TypeError

    def drop_kept(self, before: int) -> None:
        """Remove what is kept with requests and checkpoints before an entry. The entries themselves stay."""
        raise TypeError

    @property
    def leases(self) -> bool:
        """Whether charges can be made under leases: a restart of the machine must be told from one of the jail."""
        return False

    def sync(self, upto: int | None = None) -> None:
        """Wait until all that was committed, or an entry, is on disk. Here it is when it is committed."""

    def close(self) -> None:
        raise TypeError

    def alone(self, row: Row) -> Event:
        """One entry, checked against the hash of the one before it."""
        seq = row[0]
        before = self.hash_of(seq - 1) if isinstance(seq, int) and seq > 1 else None
        return checked(None if before is None else Event(seq - 1, before, {}), *row)

    def begin_at(self, seq: int | None) -> None:
        """Let the next ``news`` begin with an entry; with the first one of all, if none is given."""
        before = None if seq is None or seq <= 1 else self.hash_of(seq - 1)
        self.last = None if seq is None or before is None else Event(seq - 1, before, {})

    def news(self) -> list[Event]:
        """Events that any process appended since the last call, each checked against the chain."""
        rows = self.since(self.last.seq if self.last else FIRST)
        if self.last is not None:
            if not rows or rows[0][:2] != (self.last.seq, self.last.hash):
                raise rolled_back(0 if not rows else rows[0][0] - 1, self.last.seq)
            rows = rows[1:]
        found = []
        last = self.last
        for row in rows:
            last = checked(last, *row)
            found.append(last)
        self.last = last
        return found


class Writing:
    """A transaction: what is appended is stored when the block ends."""

    def __init__(self, store: Store, insert: Callable[[Event, bytes | None], None]) -> None:
        self._store, self._insert = store, insert
        self._before: list[Event | None] = []

    def append(self, body: dict[str, Any], answer: bytes | None = None) -> Event:
        if self._before:
            raise TypeError("one entry in one transaction: the anchor holds no more")
        event = linked(self._store.last, body)
        self._insert(event, answer)
        self._before.append(self._store.last)
        self._store.last = event
        return event

    def take_back(self) -> None:
        """Drop what was appended; entries of others that were read before stay."""
        if self._before:
            self._store.last = self._before[0]

    @property
    def appended(self) -> bool:
        return bool(self._before)


TABLES = (
    "CREATE TABLE events (seq INTEGER PRIMARY KEY, hash TEXT NOT NULL, body TEXT NOT NULL, answer BLOB, subject TEXT)",
    "CREATE INDEX events_subject ON events (subject) WHERE subject IS NOT NULL",
    *(
        f"CREATE TRIGGER events_{verb} BEFORE {verb} ON events BEGIN SELECT RAISE(ABORT, 'append-only'); END"
        for verb in ("UPDATE", "DELETE")
    ),
)


class SQLiteStore(Store):
    """An SQLite file with a write-ahead log. Entries are synced to disk when they are committed, except answers.

    Each entry is noted in the anchor before it is written. So a copy of the file that lacks even one entry is noticed:
    the entry is written again from the note, or the copy is refused (see anchor.py).
    If a crash of the machine loses an answer, no new one is given: see decision 0006.
    """

    def __init__(self, folder: Path, new: bool = False) -> None:
        super().__init__()
        self._anchor = Anchor(folder)
        self._lock, self._guarded = threading.RLock(), Guarded(folder)
        self._safe = 0  # the newest entry that is known to be on disk
        self._committed = 0  # the newest entry that is known to be in the database
        self._syncing = threading.Lock()
        self._failed = ""  # why a sync failed: nothing is charged any more
        self._run = ""  # written into notes instead of the machine's run, if set
        self._version: int | None = None  # SQLite's counter of changes by other connections
        path = self._path = (folder / "ledger.sqlite").absolute()
        if new and (path.exists() or any(self._anchor.both())):
            raise LedgerError("there was a ledger here before", do="make the jail in a new folder")
        if not new and not path.is_file():
            raise LedgerError("the ledger is gone", do="put ledger.sqlite back into the jail's folder")
        with self._guarded:
            mode = "rwc" if new else "rw"
            uri = f"{path.as_uri()}?mode={mode}"
            self._db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=30)
            if self._db.execute("PRAGMA journal_mode=WAL").fetchone() != ("wal",):
                raise LedgerError("the ledger's file system cannot hold it safely", do="use a local disk")
            self._db.execute("PRAGMA synchronous=FULL")
            self._synced = True
            for statement in TABLES if new else ():
                self._db.execute(statement)
        if new:
            os.chmod(path, 0o600)

    def start(self) -> list[Event]:
        with self._lock, self._guarded:
            point = self.newest_checkpoint()
            if point is None:
                self.quick_check()
            # Inside a transaction, so that nobody else is between noting an entry and writing it.
            with self.writing() as writing:
                self.begin_at(None if point is None else point - 1)
                events = self.news()
                self._sync_log()
                restarted = self._anchor.restarted()
                self._run = UNSETTLED if restarted else ""
                anchored = self.last is not None or any(self._anchor.both())
                noted = missing_entry(self._anchor, self.last, self.hash_of) if anchored else None
                if noted is not None:
                    events.append(writing.append(noted.event.body, noted.answer))
            if restarted:
                events += self._settle(events, point)
            return events if point is None else events[1:]

    def quick_check(self) -> None:
        """Let SQLite look over its file."""
        with self._lock, self._guarded:
            if self._db.execute("PRAGMA quick_check").fetchone() != ("ok",):
                raise LedgerError("the ledger's database is damaged", do=RESTORE)

    def _open_at(self, events: list[Event], point: int | None) -> set[tuple[str, str]]:
        """The requests that may still be answered for the first time, after these events."""
        if point is None:
            return unanswered(events)
        known = checkpoint_state(self.kept(point), events[1].body).requests
        return unanswered(events[2:], [key for key, entry in known.items() if entry.open])

    def _settle(self, events: list[Event], point: int | None) -> list[Event]:
        """After the machine ended: enter the answers that may have been sent as lost, and note the newest entries.

        The rests of open leases are forfeited by the same entry: charges under them may have been lost, too.

        Until this is done, every note says that it is not; so after another crash it is done at the next start.
        Requests that another process has charged after the restart are not among the lost ones.
        """
        with self.writing() as writing:
            news = self.news()
            lost = sorted(self._open_at(events, point) - {(e.body.get("user"), e.body.get("request")) for e in news})
            known = events if point is None else events[1:]  # a checkpoint ends all leases
            leases = [lease for lease in open_after([*known, *news]) if lease.number <= known[-1].seq]
            self._note_anew([*events, *news])
            if (lost or leases) and not any(event.body.get("type") == "lost" for event in news):
                body: dict[str, Any] = {"type": "lost", "requests": [list(each) for each in lost]}
                if leases:
                    body["leases"] = [[lease.user, lease.dataset, texts(lease.rest)] for lease in leases]
                news.append(writing.append(body))
        self._run = ""
        with self.writing():
            news += self.news()
            self._note_anew([*events, *news])
        return news

    def _note_anew(self, events: list[Event]) -> None:
        self._sync_log()
        for event in events[-2:]:
            answer = self.kept(event.seq) if event.body.get("type") == "answer" else None
            self._anchor.write(event.seq % 2, Note(event, answer, event.seq, self._run))

    def _sync_log(self, written: bool = False) -> None:
        """Sync the log. ``written``: by us, so it must be there; else a process may have stopped before it synced."""
        try:
            fd = os.open(f"{self._path}-wal", os.O_RDONLY)
        except FileNotFoundError:
            if not written:
                return
            raise LedgerError("the ledger's log ledger.sqlite-wal is gone", do=RESTORE) from None
        except OSError as e:
            raise LedgerError(f"the ledger cannot be synced to its disk: {e.strerror}", do=CHECK_DISK) from None
        try:
            fdatasync(fd)
        except OSError as e:
            self._failed = f"the ledger cannot be synced to its disk: {e.strerror}"
            raise LedgerError(self._failed, do=CHECK_DISK) from None
        finally:
            os.close(fd)

    def news(self) -> list[Event]:
        with self._lock, self._guarded:
            version = self._db.execute("PRAGMA data_version").fetchone()[0]
            if version == self._version and self.last is not None:
                return []  # nobody else has written
            before = self.last
            found = super().news()
            if found:
                self._committed = found[-1].seq
            try:
                if any(event.body.get("type") != "answer" for event in found):
                    self.sync()  # whoever wrote them may not have done so yet
            except BaseException:
                self.last = before  # nobody has seen them: they are read again
                raise
            self._version = version
            return found

    @property
    def leases(self) -> bool:
        return bool(machine_run())

    def sync(self, upto: int | None = None) -> None:
        """Wait until all that was committed, or an entry, is on disk. Threads that wait together share one sync.

        Whoever holds the lock syncs for all that was committed before; those behind it find theirs done.
        """
        wanted = self._committed if upto is None else upto
        with self._syncing, self._guarded:
            self._need_disk()
            if self._safe >= wanted:
                return
            done = self._committed
            self._sync_log(written=True)
            self._safe = max(self._safe, done)

    def _need_disk(self) -> None:
        """Refuse after a sync that failed: the system may drop what it could not write, and report success later."""
        if self._failed:
            raise LedgerError(self._failed, do=CHECK_DISK)

    @contextlib.contextmanager
    def writing(self, synced: bool = True) -> Iterator[Writing]:
        sync = synced or not machine_run()
        with self._lock, self._guarded:
            self._need_disk()
            if sync is not self._synced:
                self._db.execute("PRAGMA synchronous=FULL" if sync else "PRAGMA synchronous=NORMAL")
                self._synced = sync
            self._db.execute("BEGIN IMMEDIATE")
            writing = Writing(self, self._insert)
            try:
                yield writing
                self._db.execute("COMMIT")
            except BaseException:
                writing.take_back()
                self._version = None  # read the current state again
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            if writing.appended and self.last is not None:
                self._committed = self.last.seq
                if sync:
                    self._safe = max(self._safe, self._committed)

    def _insert(self, event: Event, answer: bytes | None) -> None:
        about = subject(event.body)
        # Not the state of a checkpoint, which can be added up again, nor a certificate: both can be large.
        noted = answer if event.body.get("type") == "answer" else None
        # One note on disk must tell of a restart; the other one may be by a process that cannot see restarts.
        sync = not machine_run() or not self._anchor.tells_restarts((event.seq - 1) % 2)
        try:
            self._anchor.write(event.seq % 2, Note(event, noted, self._safe, self._run), sync=sync)
        except OSError as e:
            raise LedgerError(
                f"the ledger's anchor cannot be written: {e.strerror}", do=FILES.get(e.errno or 0, ("", None))[1]
            ) from None
        entry = event.seq, event.hash, event.text, answer, about
        self._db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", entry)

    def since(self, seq: int) -> list[Row]:
        query = "SELECT seq, hash, CASE WHEN seq > ? THEN body END FROM events WHERE seq >= ? ORDER BY seq"
        with self._lock, self._guarded:
            return self._db.execute(query, (seq, seq)).fetchall()

    def batch(self, after: int, most: int) -> list[Row]:
        query = "SELECT seq, hash, body FROM events WHERE seq > ? ORDER BY seq LIMIT ?"
        with self._lock, self._guarded:
            return self._db.execute(query, (after, most)).fetchall()

    def about(self, what: str) -> list[Row]:
        query = "SELECT seq, hash, body FROM events WHERE subject = ? ORDER BY seq"
        with self._lock, self._guarded:
            return self._db.execute(query, (what,)).fetchall()

    def hash_of(self, seq: int) -> str | None:
        with self._lock, self._guarded:
            row = self._db.execute("SELECT hash FROM events WHERE seq = ?", (seq,)).fetchone()
        return None if row is None else str(row[0])

    def newest_checkpoint(self) -> int | None:
        query = "SELECT max(seq) FROM events WHERE subject = ? AND answer IS NOT NULL"
        with self._lock, self._guarded:
            found: int | None = self._db.execute(query, (CHECKPOINT,)).fetchone()[0]
        return found

    def kept(self, seq: int) -> bytes | None:
        with self._lock, self._guarded:
            row = self._db.execute("SELECT answer FROM events WHERE seq = ?", (seq,)).fetchone()
        return None if row is None or row[0] is None else bytes(row[0])

    def sizes(self, first: int, before: int) -> dict[str, int]:
        query = (
            "SELECT json_extract(body, '$.user'), sum(length(answer)) FROM events WHERE seq >= ? AND seq < ? "
            "AND answer IS NOT NULL AND subject != ? GROUP BY 1"
        )
        with self._lock, self._guarded:
            return dict(self._db.execute(query, (first, before, CHECKPOINT)).fetchall())

    def newer_than(self, at: str) -> int | None:
        query = (
            "SELECT min(seq) FROM events WHERE json_extract(body, '$.type') = 'charge' "
            "AND json_extract(body, '$.at') >= ?"
        )
        with self._lock, self._guarded:
            found: int | None = self._db.execute(query, (at,)).fetchone()[0]
        return found

    def drop_kept(self, before: int) -> None:
        newest = self.newest_checkpoint() or 0
        with self.writing(), self._guarded:
            self._db.execute("DROP TRIGGER events_UPDATE")
            gone = "UPDATE events SET answer = NULL WHERE subject IS NOT NULL AND seq < ? AND seq != ?"
            self._db.execute(gone, (before, newest))
            self._db.execute(next(each for each in TABLES if "events_UPDATE" in each))
        with self._lock, self._guarded:
            self._db.execute("VACUUM")

    def renew_anchor(self) -> None:
        with self.writing():
            self._run = UNSETTLED  # the old notes may have said that the machine was restarted
            point = self.newest_checkpoint()
            self.begin_at(None if point is None else point - 1)
            self._note_anew(self.news())

    def close(self) -> None:
        with self._lock:
            self._db.close()
            self._anchor.close()


def open_store(folder: Path, url: str | None, new: bool = False) -> Store:
    """The ledger of a jail: in its folder, or in a shared PostgreSQL database."""
    if url is None:
        return SQLiteStore(folder, new)
    from privjail.server.ledger.postgres import PostgresStore

    return PostgresStore(url, folder, new)
