"""What a server must not forget: kept on disk before anything depends on it, so that kill -9 changes nothing."""

from __future__ import annotations

import hashlib
import io
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from privjail.errors import DPError

Arrays = dict[str, npt.NDArray[Any]]
TABLES = (
    "CREATE TABLE IF NOT EXISTS steps (release TEXT, step TEXT, asked BLOB, body BLOB, PRIMARY KEY (release, step))",
    "CREATE TABLE IF NOT EXISTS published (seq INTEGER PRIMARY KEY, release TEXT UNIQUE, body TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS owners (name TEXT PRIMARY KEY, fingerprint BLOB UNIQUE, kept INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS total "
    "(id INTEGER PRIMARY KEY CHECK (id = 0), numbers BLOB, submissions INTEGER, chain BLOB)",
    # The compute server's: batches that it added and that the decryption server may not know to be added.
    "CREATE TABLE IF NOT EXISTS unconfirmed (seq INTEGER PRIMARY KEY, batch BLOB UNIQUE)",
    # The decryption server's: batches (pads: while the compute server may yet lose it), and which record is in which.
    "CREATE TABLE IF NOT EXISTS batches (id INTEGER PRIMARY KEY, name BLOB UNIQUE, records INTEGER, pads BLOB)",
    "CREATE TABLE IF NOT EXISTS counted (name BLOB PRIMARY KEY, batch INTEGER NOT NULL) WITHOUT ROWID",
)

FORGET = "DELETE FROM steps WHERE release = ? AND asked IS NULL"  # what no later answer needs


def _damaged(where: str) -> DPError:
    return DPError(
        f"{where} is damaged or cut off",
        do="put the newest copy of it back; without one, start a study with new keys, for records are lost",
    )


class Database:
    """One SQLite file with the server's state; every commit reaches the disk before it returns."""

    def __init__(self, path: Path) -> None:
        self._lock, self._path = threading.RLock(), path
        with self._clear():
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
            path.chmod(0o600)
            for line in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "wal_autocheckpoint=4000"):
                self._db.execute(f"PRAGMA {line}")
            if self._db.execute("PRAGMA quick_check").fetchone() != ("ok",):
                raise sqlite3.DatabaseError("quick_check")
            for table in TABLES:
                self._db.execute(table)

    @contextmanager
    def _clear(self) -> Iterator[None]:
        """What SQLite says, in words that tell what to do."""
        where = f"{self._path.name} of {self._path.parent.name!r}"
        try:
            yield
        except sqlite3.OperationalError as e:
            if e.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise _damaged(where) from None
            why = {sqlite3.SQLITE_FULL: "the disk is full", sqlite3.SQLITE_READONLY: "it is read-only"}
            said = why.get(e.sqlite_errorcode & 0xFF, str(e))
            raise DPError(f"{where} cannot be used: {said}", do="nothing was kept; mend it and try again") from None
        except sqlite3.DatabaseError as e:
            if isinstance(e, sqlite3.IntegrityError | sqlite3.ProgrammingError):
                raise
            raise _damaged(where) from None

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """All of it is kept, or none."""
        with self._lock, self._clear():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def rows(self, query: str, *values: Any) -> list[Any]:
        with self._lock, self._clear():
            return self._db.execute(query, values).fetchall()

    def empty_log(self) -> None:
        """Cut off the write-ahead log, which holds deleted rows until it is used again."""
        with self._lock:
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        with self._lock:
            self._db.close()


def to_bytes(arrays: Arrays) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()


def from_bytes(body: bytes) -> Arrays:
    with np.load(io.BytesIO(body), allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


class Journal:
    """The steps of one release. A step that was done is not done again: its result is read."""

    def __init__(self, database: Database, release: str) -> None:
        self._db, self._release = database, release

    def once(self, step: str, make: Callable[[], Arrays]) -> Arrays:
        """What this step made, now or before the server was last stopped."""
        found = self._db.rows("SELECT body FROM steps WHERE release = ? AND step = ?", self._release, step)
        if found:
            return from_bytes(found[0][0])
        made = make()
        with self._db.writing() as db:
            db.execute("INSERT INTO steps VALUES (?, ?, NULL, ?)", (self._release, step, to_bytes(made)))
        return made

    def has(self, step: str) -> bool:
        return bool(self._db.rows("SELECT 1 FROM steps WHERE release = ? AND step = ?", self._release, step))

    def redo(self, step: str) -> None:
        """Forget what a step made that nothing depends on yet."""
        with self._db.writing() as db:
            db.execute("DELETE FROM steps WHERE release = ? AND step = ?", (self._release, step))

    def mark(self) -> str:
        """A random name of this release, noted here before the ledger notes it: an old copy of this file lacks it."""
        return self.answer("begun", b"", lambda: (secrets.token_bytes(16), {})).hex()

    def read(self, step: str) -> Arrays:
        """What an earlier step kept."""
        found = self._db.rows("SELECT body FROM steps WHERE release = ? AND step = ?", self._release, step)
        if not found:
            raise DPError(f"release {self._release!r} is not that far, or is over")
        return from_bytes(found[0][0])

    def answer(self, step: str, asked: bytes, make: Callable[[], tuple[bytes, Arrays]]) -> bytes:
        """The answer to a message: the same message gets the same answer, another one is refused.

        Without this, who asks twice would get the same value under two draws of noise.
        """
        digest = hashlib.sha256(asked).digest()
        query = "SELECT asked, body FROM steps WHERE release = ? AND step = ?"
        found = self._db.rows(query, self._release, step)
        if found:
            if found[0][0] != digest:
                raise DPError(f"step {step!r} of release {self._release!r} was asked before, with another message")
            return bytes(found[0][1])
        reply, kept = make()
        with self._db.writing() as db:
            db.execute("INSERT INTO steps VALUES (?, ?, ?, ?)", (self._release, step, digest, reply))
            db.execute(
                "INSERT OR REPLACE INTO steps VALUES (?, ?, NULL, ?)", (self._release, f"after {step}", to_bytes(kept))
            )
        return reply

    def forget(self) -> None:
        """Delete the shares, masks and noise of a release that is over. Its answers stay."""
        with self._db.writing() as db:
            db.execute(FORGET, (self._release,))
        self._db.empty_log()
