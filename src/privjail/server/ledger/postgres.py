"""The same ledger in PostgreSQL, for several jails that share their budgets."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from privjail.errors import DPError
from privjail.server.ledger.anchor import Anchor, Note
from privjail.server.ledger.events import CHECKPOINT, Event, LedgerError, other_version, rolled_back, subject
from privjail.server.ledger.store import Row, Store, StoreLost, Writing

LOCK = 0x50524A4C  # one advisory lock for the whole ledger: a release checks and writes under it
TABLES = """
CREATE TABLE IF NOT EXISTS privjail_events
    (seq BIGINT PRIMARY KEY, hash TEXT NOT NULL, body TEXT NOT NULL, answer BYTEA, subject TEXT);
CREATE INDEX IF NOT EXISTS privjail_subject ON privjail_events (subject) WHERE subject IS NOT NULL;
CREATE OR REPLACE FUNCTION privjail_keep() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'append-only'; END $$;
CREATE OR REPLACE TRIGGER privjail_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON privjail_events
    FOR EACH STATEMENT EXECUTE FUNCTION privjail_keep();
"""
COLUMNS = """
SELECT count(*) FROM pg_attribute WHERE attrelid = 'privjail_events'::regclass AND attname IN ('answer', 'subject')
AND NOT attisdropped
"""


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise DPError("PostgreSQL needs another package", do="pip install 'privjail-dp[postgres]'") from None
    return psycopg


class PostgresStore(Store):
    """A shared database. Each jail keeps its own anchor of the newest entry that it has written.

    The note is written after its entry: other jails go on writing while this one is down, so a noted entry could not be
    added later. A charge is noted before its data is read.
    """

    def __init__(self, url: str, folder: Path, new: bool = False) -> None:
        super().__init__()
        self._psycopg = _psycopg()
        self._url, self._new = url, new
        self._anchor = Anchor(folder)
        self._slot = 0
        self._lock = threading.RLock()
        self._conn: Any = None
        if new and any(self._anchor.both()):
            raise LedgerError("there was a ledger here before", do="make the jail in a new folder")
        if new:
            with self._guarded(), self._db().transaction():
                self._db().execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
                there = self._db().execute("SELECT to_regclass('privjail_events') IS NOT NULL").fetchone() == (True,)
                if there and self._db().execute(COLUMNS).fetchone() != (2,):
                    raise other_version("the ledger in this database")
                self._db().execute(TABLES)

    def _db(self) -> Any:
        """The connection; a lost one is replaced."""
        if self._conn is None or self._conn.closed or self._conn.broken:
            try:
                conn = self._psycopg.connect(self._url, autocommit=True, connect_timeout=10)
            except self._psycopg.Error as e:
                raise StoreLost("the PostgreSQL server of the ledger cannot be reached") from e
            # With a snapshot from before the lock, we would not see what the last writer wrote.
            conn.isolation_level = self._psycopg.IsolationLevel.READ_COMMITTED
            conn.execute("SET synchronous_commit = on")
            if conn.execute("SHOW fsync").fetchone() != ("on",):
                raise LedgerError(
                    "the ledger's PostgreSQL server runs with fsync = off: a crash could forget what was spent",
                    do="set fsync = on",
                )
            self._conn = conn
        return self._conn

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """The driver's errors as ours. Only their names are shown: their texts may quote stored data."""
        try:
            yield
        except (json.JSONDecodeError, RecursionError):
            raise LedgerError("the ledger is damaged: an entry is not readable") from None
        except (self._psycopg.OperationalError, self._psycopg.InterfaceError) as e:
            raise StoreLost(f"the ledger's PostgreSQL server was lost ({type(e).__name__})") from None
        except self._psycopg.Error as e:
            raise LedgerError(f"the ledger's database refused ({type(e).__name__})") from None

    def start(self) -> list[Event]:
        with self._lock, self._guarded():
            point = self.newest_checkpoint()
            self.begin_at(point)
            events = self.news()
            ends = 0 if self.last is None else self.last.seq
            notes = self._anchor.both()
            whole = [note.event for note in notes if isinstance(note, Note)]
            if not whole:
                if not self._new:
                    raise LedgerError("the ledger's anchor is gone", do="see: privjail verify --help")
                if events:  # a jail that joins others
                    self._note(events[-1])
                return events
            for note in whole:
                if note.seq > ends:
                    raise rolled_back(ends, note.seq)
                if self.hash_of(note.seq) != note.hash:
                    raise LedgerError("the ledger's anchor belongs to another ledger, or to another copy of it")
            newest = max(whole, key=lambda event: event.seq)
            self._slot = 1 if isinstance(notes[0], Note) and notes[0].event == newest else 0
            return events

    def _note(self, event: Event) -> None:
        try:
            self._anchor.write(self._slot, Note(event))
        except OSError as e:
            raise LedgerError(f"the ledger's anchor cannot be written: {e.strerror}") from None
        self._slot = 1 - self._slot

    @contextlib.contextmanager
    def writing(self, synced: bool = True) -> Iterator[Writing]:
        with self._lock, self._guarded():
            writing = Writing(self, self._insert)
            try:
                with self._db().transaction():
                    self._db().execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
                    yield writing
                if writing.appended and self.last is not None:
                    self._note(self.last)
            except BaseException:
                # If the connection broke during the commit, the entry may be stored: then the next read finds it.
                writing.take_back()
                raise

    def _insert(self, event: Event, answer: bytes | None) -> None:
        entry = event.seq, event.hash, event.text, answer, subject(event.body)
        self._conn.execute("INSERT INTO privjail_events VALUES (%s, %s, %s, %s, %s)", entry)

    def since(self, seq: int) -> list[Row]:
        query = "SELECT seq, hash, CASE WHEN seq > %s THEN body END FROM privjail_events WHERE seq >= %s ORDER BY seq"
        with self._lock, self._guarded():
            return list(self._db().execute(query, (seq, seq)).fetchall())

    def batch(self, after: int, most: int) -> list[Row]:
        query = "SELECT seq, hash, body FROM privjail_events WHERE seq > %s ORDER BY seq LIMIT %s"
        with self._lock, self._guarded():
            return list(self._db().execute(query, (after, most)).fetchall())

    def about(self, what: str) -> list[Row]:
        query = "SELECT seq, hash, body FROM privjail_events WHERE subject = %s ORDER BY seq"
        with self._lock, self._guarded():
            return list(self._db().execute(query, (what,)).fetchall())

    def hash_of(self, seq: int) -> str | None:
        with self._lock, self._guarded():
            row = self._db().execute("SELECT hash FROM privjail_events WHERE seq = %s", (seq,)).fetchone()
        return None if row is None else str(row[0])

    def newest_checkpoint(self) -> int | None:
        query = "SELECT max(seq) FROM privjail_events WHERE subject = %s AND answer IS NOT NULL"
        with self._lock, self._guarded():
            found: int | None = self._db().execute(query, (CHECKPOINT,)).fetchone()[0]
        return found

    def kept(self, seq: int) -> bytes | None:
        with self._lock, self._guarded():
            row = self._db().execute("SELECT answer FROM privjail_events WHERE seq = %s", (seq,)).fetchone()
        return None if row is None or row[0] is None else bytes(row[0])

    def sizes(self, first: int, before: int) -> dict[str, int]:
        query = (
            "SELECT body::jsonb ->> 'user', sum(octet_length(answer))::bigint FROM privjail_events WHERE seq >= %s "
            "AND seq < %s AND answer IS NOT NULL AND subject != %s GROUP BY 1"
        )
        with self._lock, self._guarded():
            return dict(self._db().execute(query, (first, before, CHECKPOINT)).fetchall())

    def newer_than(self, at: str) -> int | None:
        query = (
            "SELECT min(seq) FROM privjail_events WHERE body::jsonb ->> 'type' = 'charge' "
            "AND (body::jsonb ->> 'at') COLLATE \"C\" >= %s"
        )
        with self._lock, self._guarded():
            found: int | None = self._db().execute(query, (at,)).fetchone()[0]
        return found

    def drop_kept(self, before: int) -> None:
        newest = self.newest_checkpoint() or 0
        gone = "UPDATE privjail_events SET answer = NULL WHERE subject IS NOT NULL AND seq < %s AND seq != %s"
        with self.writing():
            self._conn.execute("ALTER TABLE privjail_events DISABLE TRIGGER privjail_keep")
            self._conn.execute(gone, (before, newest))
            self._conn.execute("ALTER TABLE privjail_events ENABLE TRIGGER privjail_keep")

    def renew_anchor(self) -> None:
        with self.writing():
            point = self.newest_checkpoint()
            self.begin_at(None if point is None else point - 1)
            events = self.news()
        for event in events[-2:]:
            self._note(event)

    def close(self) -> None:
        with self._lock:
            self._anchor.close()
            if self._conn is not None:
                self._conn.close()
