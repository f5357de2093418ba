"""Changed, cut, reordered and rolled-back ledgers are refused; nothing but a LedgerError says so (V-37)."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from privjail.curator.folder import JailFolder
from privjail.curator.keeping import expect, renew_anchor
from privjail.errors import PlanError
from privjail.server.ledger.anchor import Anchor, missing_entry
from privjail.server.ledger.events import Event, LedgerError
from privjail.server.ledger.store import FIRST, SQLiteStore

from .jails import make_jail
from .test_ledger import cells, spend

FILES = ("ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "anchor.0", "anchor.1")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small ledger, closed: decisions, three charges, two answers."""
    folder = make_jail(tmp_path_factory.mktemp("whole"), budget=10, grant=5)
    for i in range(3):
        request = spend(folder, "ann", (cells()[i], "1/2"))
        if i:
            folder.ledger.keep_answer("ann", request, b"answer %d" % i)
    folder.ledger.close()
    return folder.path


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "jail"))


def events(path: Path) -> list[Event]:
    folder = JailFolder(path)
    found = folder.events()
    folder.ledger.close()
    return found


def edit(path: Path, *statements: str) -> None:
    """Change the tables behind the ledger's back."""
    db = sqlite3.connect(path / "ledger.sqlite")
    for verb in ("UPDATE", "DELETE"):
        db.execute(f"DROP TRIGGER events_{verb}")
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


def flip(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


class Flipped(SQLiteStore):
    """Reads one entry with one bit changed."""

    change: Callable[[list[Any]], list[Any]]

    def since(self, seq: int) -> list[Any]:
        return self.change(super().since(seq))


def test_every_single_bit_of_every_entry_is_noticed_v37(copy: Path) -> None:
    """V-37: number, hash and body of each entry."""
    store = Flipped(copy)
    rows = SQLiteStore(copy).since(FIRST)
    tried = 0
    for i, row in enumerate(rows):
        fields = [row[0].to_bytes(8, "big", signed=True), row[1].encode(), row[2].encode()]
        for which, content in enumerate(fields):
            for bit in range(8 * len(content)):
                changed: Any = flip(content, bit)
                changed = int.from_bytes(changed, "big", signed=True) if not which else changed.decode("latin-1")
                wrong = [*rows[:i], (*row[:which], changed, *row[which + 1 :]), *rows[i + 1 :]]
                store.change = lambda _, wrong=wrong: wrong  # type: ignore[misc]
                store.last = None
                with pytest.raises(LedgerError):
                    store.news() if bit % 64 else store.start()
                tried += 1
    assert tried > 8 * 2000
    store.change, store.last = (lambda given: given), None
    assert len(store.start()) == len(rows)


def test_random_bits_of_the_files_are_noticed_or_do_not_matter(whole: Path, copy: Path) -> None:
    """What SQLite does not use may change unnoticed; but then the entries are what they were."""
    right = events(whole)
    rng = random.Random(3)
    noticed = 0
    for _ in range(150):
        name = rng.choice(["ledger.sqlite", "ledger.sqlite", "anchor.0", "anchor.1"])
        for file in FILES:
            (copy / file).unlink(missing_ok=True)
            if (whole / file).exists():
                shutil.copy(whole / file, copy / file)
        content = (whole / name).read_bytes()
        (copy / name).write_bytes(flip(content, rng.randrange(8 * len(content))))
        try:
            assert events(copy) == right
        except LedgerError:
            noticed += 1
    assert noticed > 30


def test_every_bit_of_the_newest_anchor_is_noticed(whole: Path, copy: Path) -> None:
    newest = f"anchor.{len(events(whole)) % 2}"
    content = (whole / newest).read_bytes()
    right = events(copy)
    text = 8 * len(content.rstrip())  # in the padding, one bit of each byte
    for bit in (*range(text), *(8 * byte + byte % 8 for byte in range(text // 8, len(content)))):
        (copy / newest).write_bytes(flip(content, bit))
        with pytest.raises(LedgerError, match="anchor"):
            missing_entry(Anchor(copy), right[-1], lambda seq: right[seq - 1].hash)
        if not bit % 256:
            with pytest.raises(LedgerError, match="anchor"):
                events(copy)
    (copy / newest).write_bytes(content)
    assert events(copy) == right


@pytest.mark.parametrize(
    "statements",
    [
        ("DELETE FROM events WHERE seq = (SELECT max(seq) - 1 FROM events)",),
        ("DELETE FROM events WHERE seq = 1",),
        ("DELETE FROM events WHERE seq > (SELECT max(seq) - 2 FROM events)",),
        ("DELETE FROM events",),
        ("UPDATE events SET seq = -1 WHERE seq = 3", "UPDATE events SET seq = 3 WHERE seq = 4",
         "UPDATE events SET seq = 4 WHERE seq = -1"),
        ("INSERT INTO events SELECT max(seq) + 1, hash, body, answer, NULL FROM events",),
        ("INSERT INTO events SELECT -7, hash, body, answer, NULL FROM events WHERE seq = 2",),
        ("INSERT INTO events SELECT 0, hash, body, answer, NULL FROM events WHERE seq = 2",),
        ("UPDATE events SET body = replace(body, '5', '9') WHERE body LIKE '%limit%'",),
        ("UPDATE events SET body = CAST(body AS BLOB) WHERE seq = 2",),
        ("UPDATE events SET body = CAST(x'ff00' AS TEXT) WHERE seq = 2",),
        ("DROP TABLE events",),
        ("ALTER TABLE events RENAME COLUMN body TO other",),
    ],
)  # fmt: skip
def test_deleted_reordered_doubled_and_changed_entries_are_noticed_v37(copy: Path, statements: tuple[str, ...]) -> None:
    """V-37"""
    edit(copy, *statements)
    with pytest.raises(LedgerError):
        events(copy)


def test_a_file_cut_at_any_length_is_noticed_or_has_all_entries(whole: Path, copy: Path) -> None:
    """Where only free space at its end is gone, the entries are all there."""
    right = events(whole)
    content = (whole / "ledger.sqlite").read_bytes()
    lengths = [*range(0, len(content), 1024), 1, 99, 100, 101, len(content) - 1]
    noticed = 0
    for length in lengths:
        for file in FILES[:3]:
            (copy / file).unlink(missing_ok=True)
        (copy / "ledger.sqlite").write_bytes(content[:length])
        try:
            assert events(copy) == right
        except LedgerError:
            noticed += 1
    assert noticed >= len(lengths) - 4


@pytest.mark.parametrize("gone", [("anchor.0",), ("anchor.1",), ("anchor.0", "anchor.1"), ("ledger.sqlite",),
                                  ("ledger.sqlite", "anchor.0", "anchor.1")])  # fmt: skip
def test_what_is_gone_is_missed(copy: Path, gone: tuple[str, ...]) -> None:
    """Even with everything gone there is no fresh ledger: only `privjail init` makes one."""
    for name in gone:
        (copy / name).unlink()
    with pytest.raises(LedgerError, match="gone"):
        events(copy)


def test_the_anchors_of_another_ledger_are_noticed(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    other = make_jail(tmp_path / "b", budget=10, grant=5)
    while len(other.events()) < len(events(copy)):
        spend(other, "ann", (cells()[0], "1/10"))
    for name in ("anchor.0", "anchor.1"):
        shutil.copy(other.path / name, copy / name)
    with pytest.raises(LedgerError, match="another ledger"):
        events(copy)


@pytest.mark.parametrize("checkpoint", [True, False])
def test_older_copies_are_refused_or_brought_up_to_date_v37(tmp_path: Path, checkpoint: bool) -> None:
    """V-37: copies from every moment, with and without the write-ahead log; the anchors stay the newest ones.

    A copy that lacks one entry is what a crash leaves, too: the entry, and its answer, are written again.
    """
    folder = make_jail(tmp_path, budget=10, grant=5)
    path, copies = folder.path, []
    for i in range(6):
        request = spend(folder, "ann", (cells()[0], "1/10"))
        copies += [_copy(folder, tmp_path / f"{i}a", checkpoint)]
        folder.ledger.keep_answer("ann", request, b"%d" % i)
        copies += [_copy(folder, tmp_path / f"{i}b", checkpoint)]
    right = folder.events()
    folder.ledger.close()
    for behind, older in enumerate(reversed(copies)):
        for with_log in (True, False):
            _put_back(older, path, with_log)
            if behind > 1 or (behind and not checkpoint and not with_log):
                with pytest.raises(LedgerError, match="rolled back|damaged|empty"):
                    events(path)
            elif behind:
                assert events(path) == right
                assert JailFolder(path).ledger.answer("ann", right[-1].body["request"]) == b"5"


def _copy(folder: JailFolder, to: Path, checkpoint: bool) -> Path:
    if checkpoint:
        folder.ledger._store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # type: ignore[attr-defined]
    to.mkdir()
    for name in FILES[:2]:
        shutil.copy(folder.path / name, to / name)
    return to


def _put_back(older: Path, path: Path, with_log: bool) -> None:
    for name in FILES[:3]:
        (path / name).unlink(missing_ok=True)
    for name in FILES[: 2 if with_log else 1]:
        shutil.copy(older / name, path / name)


def test_an_older_file_under_the_newest_log_is_refused_or_whole(tmp_path: Path) -> None:
    folder = make_jail(tmp_path, budget=10, grant=5)
    old = _copy(folder, tmp_path / "old", True)
    for _ in range(5):
        spend(folder, "ann", (cells()[0], "1/10"))
    right = folder.events()
    new = _copy(folder, tmp_path / "new", False)
    folder.ledger.close()
    for name in FILES[:3]:
        (folder.path / name).unlink(missing_ok=True)
    shutil.copy(old / FILES[0], folder.path / FILES[0])
    shutil.copy(new / FILES[1], folder.path / FILES[1])
    with contextlib.suppress(LedgerError):
        assert events(folder.path) == right


def test_a_rollback_under_a_running_jail_is_noticed_at_the_next_request_v37(copy: Path) -> None:
    """V-37"""
    running = JailFolder(copy)
    edit(copy, "DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)")
    for _ in range(2):
        with pytest.raises(LedgerError, match="rolled back"):
            running.ledger.refresh()
        with pytest.raises(LedgerError, match="rolled back"):
            spend(running, "ann", (cells()[0], "1/10"))


@pytest.mark.parametrize("replaced", [True, False])
def test_an_anchor_that_is_taken_away_under_a_running_jail_is_written_anew(copy: Path, replaced: bool) -> None:
    folder = JailFolder(copy)
    spend(folder, "ann", (cells()[0], "1/100"))
    spend(folder, "ann", (cells()[0], "1/100"))  # both files are in use
    for name in ("anchor.0", "anchor.1"):
        shutil.copy(copy / name, copy / "older")
        (copy / name).unlink()
        if replaced:
            (copy / "older").rename(copy / name)
    spend(folder, "ann", (cells()[0], "1/100"))
    spend(folder, "ann", (cells()[0], "1/100"))
    right = folder.events()
    folder.ledger.close()

    assert events(copy) == right


def test_a_closed_ledger_holds_no_file(copy: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    folder = JailFolder(copy)
    spend(folder, "ann", (cells()[0], "1/100"))
    spend(folder, "ann", (cells()[0], "1/100"))
    folder.ledger.close()

    assert len(os.listdir("/proc/self/fd")) == before


def test_what_a_crash_can_leave_of_the_anchors_is_accepted(copy: Path) -> None:
    """The older note torn or empty: a crash while the next entry was being noted."""
    right = events(copy)
    older = copy / f"anchor.{(len(right) + 1) % 2}"
    for left in (b"", older.read_bytes()[:100]):
        older.write_bytes(left)
        assert events(copy) == right


def test_both_rolled_back_together_is_told_only_by_an_entry_noted_elsewhere(tmp_path: Path) -> None:
    """What the anchors cannot see: `privjail verify --expect` can."""
    folder = make_jail(tmp_path, budget=10, grant=5)
    older = Path(shutil.copytree(folder.path, tmp_path / "snapshot"))
    noted = spend(folder, "ann", (cells()[0], "1/10")) and folder.events()[-1]
    assert len(events(older)) == noted.seq - 1  # accepted
    with pytest.raises(LedgerError, match="rolled back or replaced"):
        expect(JailFolder(older), f"{noted.seq}:{noted.hash}")
    expect(folder, f"{noted.seq}:{noted.hash}")
    with pytest.raises(PlanError, match="SEQ:HASH"):
        expect(folder, noted.hash)


def test_an_anchor_is_renewed_by_the_curator_with_a_reason_that_is_logged(copy: Path) -> None:
    right = events(copy)
    for name in ("anchor.0", "anchor.1"):
        (copy / name).write_bytes(b"lost in a disk fault")
    with pytest.raises(LedgerError, match="anchor is damaged"):
        events(copy)
    with pytest.raises(PlanError, match="reason"):
        renew_anchor(copy, " ")
    renew_anchor(copy, "disk fault")
    after = events(copy)
    # What was charged and not answered may have been answered: nobody knows what the old anchor said.
    assert after[:-2] == right and after[-2].body["type"] == "lost" and after[-1].body["reason"] == "disk fault"
    edit(copy, "UPDATE events SET body = replace(body, 'disk', 'risk')")
    with pytest.raises(LedgerError, match="damaged or was changed"):
        renew_anchor(copy, "this cannot be renewed")


def test_anchors_that_were_written_anew_owe_the_answer_too(tmp_path: Path) -> None:
    """The newest entry is an answer: from its note it comes back as it was."""
    folder = make_jail(tmp_path, budget=10, grant=5)
    request = spend(folder, "ann", (cells()[0], "1/2"))
    folder.ledger.keep_answer("ann", request, b"seen")
    folder.ledger.close()
    store = SQLiteStore(folder.path)
    store.renew_anchor()
    store.close()
    *_, last = events(folder.path)  # settles it: both notes are written anew
    edit(folder.path, f"DELETE FROM events WHERE seq = {last.seq}")

    assert last.body["type"] == "answer" and events(folder.path)[-1] == last
    assert JailFolder(folder.path).ledger.answer("ann", request) == b"seen"
