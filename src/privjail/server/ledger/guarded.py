"""SQLite's errors in our words."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from privjail.faults import disk_fault
from privjail.server.ledger.events import LedgerError

RESTORE = "put the newest complete copy of ledger.sqlite back: an older one would allow spent budget to be spent again"


class Guarded:
    """SQLite's errors as ours. Only their names are shown: their texts may quote stored data."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, (json.JSONDecodeError, RecursionError)):
            raise LedgerError("the ledger is damaged: an entry is not readable", do=RESTORE) from None
        if isinstance(error, sqlite3.Error):
            name = getattr(error, "sqlite_errorname", type(error).__name__)
            raise self._explained(name) from None

    def _explained(self, name: str) -> LedgerError:
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            wrong = f"the ledger cannot be written now ({name}): another process keeps it busy"
            return LedgerError(wrong, do="try again; if it stays so, look for a process that hangs")
        if name.startswith(("SQLITE_FULL", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_PERM")):
            fault = disk_fault(self._folder)
            if fault is not None:
                return LedgerError(f"the ledger cannot be written now ({name}): its folder {fault[0]}", do=fault[1])
            return LedgerError(f"the ledger cannot be written now ({name})", do="check its disk and its files' modes")
        return LedgerError(f"the ledger's database is damaged ({name})", do=RESTORE)
