"""Which records the decryption server has added up. Each record counts once, whatever the compute server asks.

A batch is added in two steps, because either server may be killed at any time. First the decryption server notes the
batch beside its sum. The compute server adds the batch to its own sum, and says so with its next message: only then
does the decryption server add it too. A batch that the compute server lost in between is dropped when one of its
records comes again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import numpy as np

from privjail.encrypted.journal import Database
from privjail.encrypted.numbers import MOST_RECORDS, Whole
from privjail.encrypted.records import Sum
from privjail.errors import DPError, PlanError, RefusedError

ADD = "INSERT INTO batches (name, records, pads) VALUES (?, ?, ?)"


class Tally:
    """The sum of the pads of all records that were added, in the server's database."""

    def __init__(self, database: Database, bins: int) -> None:
        self._db, self._bins = database, bins

    def total(self) -> Sum:
        return read_sum(self._db, self._bins)

    def added(self, names: list[bytes]) -> set[bytes]:
        """Those of these records that were added, and so cannot be added again."""
        return {name for name, pending in self._batches(names) if not pending}

    def _batches(self, names: list[bytes]) -> list[tuple[bytes, int | None]]:
        """Records that are in a batch; the batch, if it may yet be lost."""
        places = ", ".join("?" * len(names))
        query = (
            "SELECT counted.name, CASE WHEN pads IS NULL THEN NULL ELSE batches.id END "
            f"FROM counted JOIN batches ON batches.id = batch WHERE counted.name IN ({places})"
        )
        return [(name, pending) for name, pending in self._db.rows(query, *names)]

    def keep(self, batch: bytes, names: list[bytes], pads: Whole) -> None:
        """Note a batch. The same one again changes nothing."""
        if self._db.rows("SELECT 1 FROM batches WHERE name = ?", batch):
            return
        known = self._batches(names)
        if any(pending is None for _, pending in known) or len(set(names)) < len(names):
            raise PlanError("a record of this batch was added before: each counts once")
        if self.total().submissions + len(names) > MOST_RECORDS:
            raise RefusedError(f"a study has at most {MOST_RECORDS} records")
        with self._db.writing() as db:
            for lost in {pending for _, pending in known}:
                db.execute("DELETE FROM counted WHERE batch = ?", (lost,))
                db.execute("DELETE FROM batches WHERE id = ?", (lost,))
            row = db.execute(ADD, (batch, len(names), pads.astype("<i8").tobytes())).lastrowid
            db.executemany("INSERT INTO counted VALUES (?, ?)", [(name, row) for name in names])

    def confirm(self, batches: Iterable[bytes]) -> None:
        """Add batches that the compute server has added; those that were added before change nothing."""
        with self._db.writing() as db:
            total = self.total()
            for batch in batches:
                found = db.execute("SELECT records, pads FROM batches WHERE name = ?", (batch,)).fetchone()
                if found is None:
                    raise DPError(
                        "the compute server added a batch that is not known here: one of the two has an old copy",
                        do="put the newest state.sqlite of both servers back",
                    )
                if found[1] is not None:
                    total = total.plus(np.frombuffer(found[1], "<i8"), found[0], batch)
                    db.execute("UPDATE batches SET pads = NULL WHERE name = ?", (batch,))
            write_sum(db, total)


def read_sum(database: Database, bins: int) -> Sum:
    found = database.rows("SELECT numbers, submissions, chain FROM total")
    if not found:
        return Sum.empty(bins)
    return Sum(np.frombuffer(found[0][0], dtype="<i8").astype(np.int64), found[0][1], found[0][2])


def write_sum(db: sqlite3.Connection, total: Sum) -> None:
    row = (total.values.astype("<i8").tobytes(), total.submissions, total.chain)
    db.execute("INSERT OR REPLACE INTO total VALUES (0, ?, ?, ?)", row)
