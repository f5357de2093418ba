"""Charges that wait together share one sync, and none of them goes on before it."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from privjail.curator.folder import JailFolder
from privjail.errors import BudgetExceeded
from privjail.server.ledger import store
from privjail.server.ledger.anchor import Note
from privjail.server.ledger.events import LedgerError

from .jails import make_jail
from .test_ledger import cells, spend

USERS = tuple(f"user{i}" for i in range(8))


def spend_at_once(folder: Any) -> list[str]:
    """Each user spends once, all at the same time."""
    together = threading.Barrier(len(USERS))
    errors: list[str] = []

    def one(user: str) -> None:
        together.wait()
        try:
            spend(folder, user, (cells()[0], "1/100"))
        except LedgerError as e:
            errors.append(str(e))

    threads = [threading.Thread(target=one, args=(user,)) for user in USERS]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return errors


def test_charges_at_once_share_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_jail(tmp_path, budget=10, users=USERS, grant=5)
    real, syncs = store.fdatasync, []

    def slow(fd: int) -> None:
        syncs.append(fd)
        time.sleep(0.05)
        real(fd)

    monkeypatch.setattr(store, "fdatasync", slow)
    assert spend_at_once(folder) == []
    assert folder.state.total(("dataset", "", "census"))[0] * 100 == len(USERS)
    assert 1 <= len(syncs) <= len(USERS) // 2


def test_nobody_goes_on_before_the_charge_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the one whose charge is being synced, nor one that is committed meanwhile; and no note says so."""
    folder = make_jail(tmp_path, budget=10, users=USERS, grant=5)
    begun, go_on, real = threading.Event(), threading.Event(), store.fdatasync
    went_on: list[str] = []
    before = folder.ledger.entries

    def held(fd: int) -> None:
        begun.set()
        assert go_on.wait(20)
        real(fd)

    def one(user: str) -> None:
        spend(folder, user, (cells()[0], "1/100"))
        went_on.append(user)

    monkeypatch.setattr(store, "fdatasync", held)
    threads = [threading.Thread(target=one, args=(user,)) for user in USERS[:2]]
    threads[0].start()
    assert begun.wait(20)
    threads[1].start()
    while folder.ledger.entries < before + 2:
        time.sleep(0.01)
    time.sleep(0.1)
    assert went_on == []
    notes = [note for note in folder.ledger._store._anchor.both() if isinstance(note, Note)]  # type: ignore[attr-defined]
    assert max(note.event.seq for note in notes) == before + 2
    assert max(note.safe for note in notes) <= before
    go_on.set()
    for each in threads:
        each.join(20)
    assert sorted(went_on) == sorted(USERS[:2])


def test_a_failed_sync_stops_all_charges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system may drop what it could not write, and report success the next time."""
    folder = make_jail(tmp_path, budget=10, users=USERS, grant=5)

    def fails(fd: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(store, "fdatasync", fails)
        with pytest.raises(LedgerError, match="cannot be synced"):
            spend(folder, "user0", (cells()[0], "1/100"))
    with pytest.raises(LedgerError, match="cannot be synced"):
        spend(folder, "user1", (cells()[0], "1/100"))
    with pytest.raises(LedgerError, match="cannot be synced"):
        folder.grant("user1", "census", [6], False, "no decision either")
    assert folder.state.total(("dataset", "", "census"))[0] > 0, "what may be on disk counts as spent"


def test_a_log_that_is_gone_is_not_synced(tmp_path: Path) -> None:
    """SQLite would go on writing into a file without a name."""
    folder = make_jail(tmp_path, budget=10, users=USERS, grant=5)
    (folder.path / "ledger.sqlite-wal").unlink()
    with pytest.raises(LedgerError, match="is gone"):
        spend(folder, "user0", (cells()[0], "1/100"))


def test_entries_of_others_are_not_skipped_when_they_cannot_be_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process without file descriptors must not forget what another one has charged and revoked."""
    folder = make_jail(tmp_path, budget=10, users=USERS, grant=10)
    other = JailFolder(folder.path)
    spend(other, "user0", (cells()[0], "6"))
    other.revoke("user1", None)
    real = store.os.open

    def none_left(path: Any, *given: Any) -> int:
        if str(path).endswith("-wal"):
            raise OSError(24, "Too many open files")
        return real(path, *given)

    with monkeypatch.context() as patched:
        patched.setattr(store.os, "open", none_left)
        with pytest.raises(LedgerError, match="Too many open files"):
            folder.ledger.refresh()
    with pytest.raises(BudgetExceeded):
        spend(folder, "user2", (cells()[0], "9"))
    assert folder.state.users["user1"].revoked
