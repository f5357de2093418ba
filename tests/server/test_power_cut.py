"""The machine ends: what was not synced may be gone, in any combination. No charge is lost, no answer drawn anew (V-37).

A ledger is used by two users; after every step the files are copied. A power cut after step j leaves a database
of any step from the last synced one to j, and in each anchor what it held after any step up to j, or a torn note.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from privjail.curator.folder import JailFolder
from privjail.curator.keeping import renew_anchor
from privjail.server.ledger import anchor
from privjail.server.ledger.anchor import PAGE, Anchor, Note
from privjail.server.ledger.events import LedgerError
from privjail.server.ledger.store import SQLiteStore

from .jails import make_jail
from .test_ledger import cells, spend

#: who does what: charges, and answers to the charge of that number; answers of both users are open at once
STEPS = ["charge 0", "charge 1", "answer 0", "answer 1", "charge 2", "answer 2", "charge 3", "charge 4", "answer 4"]
DATABASE = ("ledger.sqlite", "ledger.sqlite-wal")


@dataclass
class History:
    """What was done, and copies of the files after each step."""

    folder: Path
    first: int  # entries before the first step
    copies: list[Path] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    answered: dict[int, bytes] = field(default_factory=dict)  # by charge


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    where = tmp_path_factory.mktemp("history")
    folder = make_jail(where, budget=10, users=("ann", "bob"), grant=5)
    made = History(folder.path, len(folder.events()))
    for i, step in enumerate(STEPS):
        what, _, which = step.partition(" ")
        user = ("ann", "bob")[int(which) % 2]
        if what == "charge":
            made.requests.append(spend(folder, user, (cells()[0], "1/10")))
        else:
            made.answered[int(which)] = b"answer %d" % int(which)
            folder.ledger.keep_answer(user, made.requests[int(which)], made.answered[int(which)])
        made.copies.append(where / str(i))
        made.copies[-1].mkdir()
        for name in (*DATABASE, "anchor.0", "anchor.1"):
            shutil.copy(folder.path / name, made.copies[-1] / name)
    folder.ledger.close()
    return made


@pytest.fixture
def restart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine was started again: another run than the one in which the notes were written."""
    anchor.machine_run.cache_clear()
    assert anchor.machine_run()
    monkeypatch.setattr(anchor, "machine_run", lambda: "another run")


def synced(step: int) -> int:
    """The last step up to this one that was synced."""
    return max(i for i in range(step + 1) if STEPS[i].startswith("charge"))


def left(history: History, to: Path, database: int, notes: tuple[int | None, int | None]) -> Path:
    """A jail's folder with files of these steps; None is a torn note."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(history.folder, to)
    for name in ("ledger.sqlite-wal", "ledger.sqlite-shm"):
        (to / name).unlink(missing_ok=True)
    for name in DATABASE:
        shutil.copy(history.copies[database] / name, to / name)
    for slot, step in enumerate(notes):
        file = to / f"anchor.{slot}"
        file.write_bytes(b"torn" * 100 if step is None else (history.copies[step] / file.name).read_bytes())
    return to


def cuts() -> Iterator[tuple[int, int, tuple[int | None, int | None]]]:
    """Step of the power cut, database that is left, notes that are left."""
    for step in range(1, len(STEPS)):
        for database in range(synced(step), step + 1):
            for other in {0, synced(step), step - 1, step, None}:
                yield step, database, (step, other)
                yield step, database, (other, step)
            yield step, database, (0, 0)


def check(history: History, path: Path, step: int) -> int:
    """Every charge that was synced counts; every answer that may have been seen is the same, or refused."""
    folder = JailFolder(path)
    charged = [i for i in range(step + 1) if STEPS[i].startswith("charge")]
    assert folder.state.total(("dataset", "", "census"))[0] * 10 >= len([i for i in charged if i <= synced(step)])
    refused = 0
    for i in range(step + 1):
        what, _, which = STEPS[i].partition(" ")
        key = ("ann", "bob")[int(which) % 2], history.requests[int(which)]
        try:
            found = folder.ledger.answer(*key)
            assert what == "charge" or found == history.answered[int(which)], "an answer that was seen is open again"
        except LedgerError as e:
            assert "may have been sent" in str(e)
            with pytest.raises(LedgerError):
                folder.ledger.keep_answer(*key, b"another one")
            refused += 1
    # The ledger goes on, in this process and in the next, as if nothing had been.
    spend(folder, "ann", (cells()[0], "1/10"))
    folder.ledger.close()
    again = JailFolder(path)
    assert not again.ledger._store._anchor.restarted()  # type: ignore[attr-defined]
    again.ledger.close()
    return refused


def test_whatever_a_power_cut_leaves_no_charge_is_lost_and_no_answer_drawn_anew_v37(
    history: History, tmp_path: Path, restart: None
) -> None:
    """V-37"""
    tried = refused = 0
    for step, database, notes in cuts():
        refused += check(history, left(history, tmp_path / "jail", database, notes), step)
        tried += 1
    assert tried > 50 and refused > 20


def test_a_ledger_without_a_synced_charge_is_refused_after_a_restart_too_v37(
    history: History, tmp_path: Path, restart: None
) -> None:
    """V-37: older copies of the database under notes that know better."""
    for step in range(4, len(STEPS)):
        known = max(i for i in range(step) if STEPS[i].startswith("charge"))  # on disk when the note of `step` was made
        for database in range(known):
            with pytest.raises(LedgerError, match="rolled back"):
                JailFolder(left(history, tmp_path / "jail", database, (step, step)))


def test_without_a_restart_nothing_may_be_missing(history: History, tmp_path: Path) -> None:
    """The same files, in the run of the machine that wrote them, are an older copy: refused, or made whole."""
    for step in range(2, len(STEPS)):
        for database in range(step - 1):
            with pytest.raises(LedgerError):
                JailFolder(left(history, tmp_path / "jail", database, (step, step)))


def test_notes_of_another_ledger_are_refused_after_a_restart(history: History, tmp_path: Path, restart: None) -> None:
    path = left(history, tmp_path / "jail", len(STEPS) - 1, (8, 8))
    for slot in (0, 1):
        note = Anchor(path).read(slot)
        assert isinstance(note, Note)
        text = note.spelled().replace(note.event.hash.encode(), b"0" * 64)
        (path / f"anchor.{slot}").write_bytes(hashlib.sha256(text).hexdigest().encode() + b"\n" + text)
    with pytest.raises(LedgerError, match="another ledger"):
        JailFolder(path)


def test_where_the_run_of_the_machine_is_not_known_everything_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from privjail.server.ledger import store

    for module in (anchor, store):
        monkeypatch.setattr(module, "machine_run", lambda: "")
    synced: list[Any] = []
    monkeypatch.setattr(anchor.os, "fdatasync", lambda fd: synced.append(fd))
    folder = make_jail(tmp_path, budget=10, grant=5)
    before = len(synced)
    request = spend(folder, "ann", (cells()[0], "1/10"))
    folder.ledger.keep_answer("ann", request, b"answer")
    assert len(synced) == before + 2
    assert folder.ledger._store._db.execute("PRAGMA synchronous").fetchone() == (2,)  # type: ignore[attr-defined]


@pytest.mark.parametrize("answer", [b"answer", b"x" * 9000])
def test_notes_of_a_process_that_cannot_see_restarts_do_not_open_answers_again_v37(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    """V-37: two of its notes are on disk, synced; then answers are sent, and everything unsynced is lost."""
    from privjail.server.ledger import store

    folder = make_jail(tmp_path, budget=10, users=("ann", "bob"), grant=5)
    with monkeypatch.context() as blind:
        for module in (anchor, store):
            blind.setattr(module, "machine_run", lambda: "")
        other = JailFolder(folder.path)
    first, second = (spend(folder, "ann", (cells()[0], "1/10")) for _ in range(2))
    with monkeypatch.context() as blind:
        for module in (anchor, store):
            blind.setattr(module, "machine_run", lambda: "")
        for _ in range(2):
            spend(other, "bob", (cells()[0], "1/10"))
    other.ledger.close()
    shutil.copytree(folder.path, tmp_path / "left")  # all of it is on disk

    def sync(fd: int) -> None:
        file = Path(f"/proc/self/fd/{fd}").readlink()
        shutil.copy(file, tmp_path / "left" / file.name)

    with monkeypatch.context() as disk:
        disk.setattr(anchor.os, "fdatasync", sync)
        for request in (first, second):
            folder.ledger.keep_answer("ann", request, answer)
    folder.ledger.close()
    monkeypatch.setattr(anchor, "machine_run", lambda: "another run")

    after = JailFolder(tmp_path / "left")
    assert after.ledger.answer("ann", first) == answer  # its note was synced
    with pytest.raises(LedgerError, match="may have been sent"):
        after.ledger.answer("ann", second)


def test_a_note_is_one_block_or_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Notes that a crash could tear are synced, so that never both are torn."""
    folder = make_jail(tmp_path, budget=10, grant=5)
    sizes, counted = [], []
    sync = anchor.os.fdatasync
    monkeypatch.setattr(anchor.os, "fdatasync", lambda fd: (counted.append(fd), sync(fd))[1])
    for answer in (b"short", b"x" * 9000, b"short", b"short", b"short"):
        request = spend(folder, "ann", (cells()[0], "1/10"))
        folder.ledger.keep_answer("ann", request, answer)
        newest = folder.path / f"anchor.{len(folder.events()) % 2}"
        sizes.append((newest.stat().st_size == PAGE, len(counted)))
    assert [one for one, _ in sizes] == [True, False, True, True, True]
    assert [n for _, n in sizes] == [0, 1, 2, 2, 2]  # the large one, and the one that shrinks the file again


@pytest.mark.parametrize("at", ["note", "append", "commit", "last"])
@pytest.mark.parametrize("notes", [(8, 8), (8, None), (None, 8)])
def test_a_crash_while_a_restart_is_settled_does_not_open_answers_again_v37(
    history: History, tmp_path: Path, restart: None, monkeypatch: pytest.MonkeyPatch, at: str, notes: Any
) -> None:
    """V-37: charge 4 was answered and its answer may have been seen; the entry of it is gone, or owed."""
    path = left(history, tmp_path / "jail", 7, notes)
    torn_at = {"note": ("_settle", None), "append": ("_insert", "lost"), "commit": ("_insert", "lost")}.get(at)
    with monkeypatch.context() as patch:
        if torn_at is None:
            told = SQLiteStore._note_anew
            patch.setattr(SQLiteStore, "_note_anew", lambda s, e: told(s, e) if s._run else crash())
        else:
            name, wanted = torn_at
            work = getattr(SQLiteStore, name)

            def crashing(store: Any, given: Any, *more: Any) -> Any:
                if wanted is None or given.body["type"] == wanted:
                    if at == "commit":
                        work(store, given, *more)
                    crash()
                return work(store, given, *more)

            patch.setattr(SQLiteStore, name, crashing)
        with pytest.raises(KeyboardInterrupt):
            JailFolder(path)
    check(history, path, 8)


def crash() -> None:
    raise KeyboardInterrupt


def test_a_second_power_cut_soon_after_the_first_was_settled(
    history: History, tmp_path: Path, restart: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """V-37: the notes that settled the first may be all that is left, beside a charge that was synced after them."""
    path = left(history, tmp_path / "jail", 5, (5, 5))
    folder = JailFolder(path)
    notes = [(path / f"anchor.{slot}").read_bytes() for slot in (0, 1)]
    request = spend(folder, "ann", (cells()[0], "1/10"))
    folder.ledger.close()
    for slot in (0, 1):
        (path / f"anchor.{slot}").write_bytes(notes[slot])
    monkeypatch.setattr(anchor, "machine_run", lambda: "a third run")
    with pytest.raises(LedgerError, match="may have been sent"):
        JailFolder(path).ledger.answer("ann", request)


def test_renewing_the_anchor_does_not_open_answers_again(history: History, tmp_path: Path, restart: None) -> None:
    """V-37: the notes that told of the restart are gone; the renewed ones must not say that nothing was lost."""
    path = left(history, tmp_path / "jail", 7, (None, None))
    with pytest.raises(LedgerError, match="damaged"):
        JailFolder(path)
    renew_anchor(path, "both were torn")
    check(history, path, 7)
    with pytest.raises(LedgerError, match="may have been sent"):
        JailFolder(path).ledger.answer("ann", history.requests[4])
