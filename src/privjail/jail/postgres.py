"""The same ledger in PostgreSQL, for several jails that share their budgets."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from privjail.errors import DPError
from privjail.jail.events import Event, LedgerError
from privjail.jail.store import Anchor, Store, Writing

LOCK = 0x50524A4C  # one advisory lock for the whole ledger: a release checks and writes under it


class PostgresStore(Store):
    """A shared database. Each jail keeps its own anchor of the newest entry that it has seen."""

    def __init__(self, url: str, folder: Path) -> None:
        super().__init__()
        try:
            import psycopg
        except ImportError:
            raise DPError("PostgreSQL needs another package", do="pip install 'privjail[postgres]'") from None
        self._anchor = Anchor(folder)
        self._lock = threading.RLock()
        try:
            self._db = psycopg.connect(url, autocommit=True)
        except psycopg.OperationalError:
            raise DPError("the PostgreSQL server of the ledger cannot be reached") from None
        with self._db.transaction():
            self._db.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS privjail_events "
                "(seq BIGINT PRIMARY KEY, hash TEXT NOT NULL, body TEXT NOT NULL)"
            )
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS privjail_answers "
                '("user" TEXT, request TEXT, body BYTEA NOT NULL, PRIMARY KEY ("user", request))'
            )

    def start(self) -> list[Event]:
        events = self.news()
        note = self._anchor.read()
        if note is not None and (note.seq > len(events) or events[note.seq - 1].hash != note.hash):
            raise LedgerError(
                f"the ledger was rolled back: it ends at entry {len(events)}, but entry {note.seq} was written"
            )
        return events

    @contextlib.contextmanager
    def writing(self) -> Iterator[Writing]:
        with self._lock:
            writing = Writing(self, self._insert, None)
            try:
                with self._db.transaction():
                    self._db.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
                    yield writing
            except BaseException:
                writing.take_back()
                raise
            if writing.appended and self.last is not None:
                self._anchor.write(self.last)

    def _insert(self, seq: int, hash_: str, text: str) -> None:
        self._db.execute("INSERT INTO privjail_events VALUES (%s, %s, %s)", (seq, hash_, text))

    def after(self, seq: int) -> list[tuple[int, str, str]]:
        with self._lock:
            rows: Any = self._db.execute(
                "SELECT seq, hash, body FROM privjail_events WHERE seq > %s ORDER BY seq", (seq,)
            ).fetchall()
        return list(rows)

    def answer(self, user: str, request: str) -> bytes | None:
        with self._lock:
            row: Any = self._db.execute(
                'SELECT body FROM privjail_answers WHERE "user" = %s AND request = %s', (user, request)
            ).fetchone()
        return None if row is None else bytes(row[0])

    def put_answer(self, user: str, request: str, body: bytes) -> None:
        with self._lock:
            self._db.execute(
                "INSERT INTO privjail_answers VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", (user, request, body)
            )

    def close(self) -> None:
        with self._lock:
            self._db.close()
