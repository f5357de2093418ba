"""Checkpoints: a start reads the newest one and what came after it, and finds what the whole past adds up to."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from privjail.curator.folder import JailFolder
from privjail.curator.keeping import renew_anchor
from privjail.errors import BudgetExceeded, PlanError
from privjail.server.ledger import ledger as ledgers
from privjail.server.ledger.checkpoint import pack, sha256, unpack
from privjail.server.ledger.events import CHECKPOINT, LedgerError
from privjail.server.ledger.history import BATCH, Checked, check_history, events_of
from privjail.server.ledger.state import State

from .jails import make_jail
from .test_ledger import cells, spend
from .test_ledger_damage import edit

EVERY = 7


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A checkpoint after every few entries."""
    monkeypatch.setattr(ledgers, "EVERY", EVERY)
    yield


@pytest.fixture
def busy(tmp_path: Path, often: None) -> JailFolder:
    """A ledger with many kinds of entries and several checkpoints."""
    folder = make_jail(tmp_path, budget=50, users=("ann", "bob"), grant=20)
    rng = random.Random(4)
    folder.set_group("team", ["bob"])
    folder.grant("team", "census", [5], True, None)
    for i in range(40):
        request = spend(folder, rng.choice(["ann", "bob"]), (rng.choice(cells()), "1/10"))
        user = next(u for u, r in folder.state.requests if r == request)
        if i % 5:
            folder.ledger.keep_answer(user, request, b"answer %d" % i)
        if i % 11 == 3:
            folder.ledger.give_up(user, request) if not i % 5 else folder.ledger.failed(user, request)
    folder.grant("ann", "census", [21], False, "a second study")
    folder.pardon("ann", "looked into")
    folder.add_user("bob", 3)
    folder.revoke("bob", None)
    return folder


def answer_some(folder: JailFolder) -> None:
    """Enough entries for several checkpoints."""
    for _ in range(2 * EVERY):
        request = spend(folder, "ann", (cells()[0], "1/100"))
        folder.ledger.keep_answer("ann", request, b"x")


def added_up(folder: JailFolder) -> State:
    """What all entries say, read one after another."""
    state = State()
    for event in events_of(folder.ledger._store):
        state.apply(event)
    return state


def checkpoints(folder: JailFolder) -> list[int]:
    return [event.seq for event in folder.events() if event.body["type"] == CHECKPOINT]


def test_a_start_from_a_checkpoint_finds_what_the_whole_past_adds_up_to(busy: JailFolder) -> None:
    right = added_up(busy)
    again = JailFolder(busy.path)

    assert len(checkpoints(busy)) > 8
    assert again.ledger.state == right == busy.ledger.state
    assert pack(again.ledger.state) == pack(right)
    assert again.state.datasets["census"].notion == right.datasets["census"].notion


def test_a_start_reads_no_more_than_the_newest_checkpoint_and_what_came_after(
    busy: JailFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    before = State.apply
    monkeypatch.setattr(State, "apply", lambda self, event: read.append(event.seq) or before(self, event))
    JailFolder(busy.path)

    newest, ends = checkpoints(busy)[-1], busy.ledger._store.last.seq  # type: ignore[union-attr]
    assert read == list(range(newest + 1, ends + 1))


def test_limits_hold_across_a_checkpoint(tmp_path: Path, often: None) -> None:
    folder = make_jail(tmp_path, budget=10, grant=2)
    for _ in range(20):
        folder.ledger.keep_answer("ann", spend(folder, "ann", (cells()[0], "1/10")), b"x")
    assert checkpoints(folder)
    for jail in (folder, JailFolder(folder.path)):
        with pytest.raises(BudgetExceeded, match="granted to you"):
            spend(jail, "ann", (cells()[0], "1/1000"))
        with pytest.raises(BudgetExceeded, match="granted to you"):
            spend(jail, "ann", (cells()[1], "1/1000"))
    assert folder.state.total(("user", "ann", "census")) == (2,)


def test_a_request_from_before_a_checkpoint_is_known(tmp_path: Path, often: None) -> None:
    """Charged once, answered once, whatever was written since; and what was given up stays so."""
    folder = make_jail(tmp_path, budget=10, grant=10)
    answered = spend(folder, "ann", (cells()[0], "1/10"))
    folder.ledger.keep_answer("ann", answered, b"seen")
    slow = spend(folder, "ann", (cells()[0], "1/10"))
    folder.ledger.give_up("ann", slow)
    begun = spend(folder, "ann", (cells()[0], "1/10"))
    answer_some(folder)
    spent = folder.state.total(("user", "ann", "census"))
    for jail in (folder, JailFolder(folder.path)):
        assert ("ann", answered) not in jail.state.requests  # not in memory any more
        assert jail.ledger.earlier("ann", answered, "d") == b"seen"
        assert jail.ledger.keep_answer("ann", answered, b"another") == b"seen"
        spend(jail, "ann", (cells()[0], "1/10"), request=answered)
        with pytest.raises(PlanError, match="another request"):
            spend(jail, "ann", (cells()[0], "1/10"), request=answered, digest="e")
        with pytest.raises(LedgerError, match="longer than this jail allows"):
            spend(jail, "ann", (cells()[0], "1/10"), request=slow)
    spend(folder, "ann", (cells()[0], "1/10"), request=begun)
    assert folder.ledger.keep_answer("ann", begun, b"late") == b"late"
    assert folder.state.total(("user", "ann", "census")) == spent


def test_a_request_that_two_jails_give_up_is_given_up_once(tmp_path: Path, often: None) -> None:
    """The second of them finds it in the log only, after a checkpoint; an entry more would change nothing."""
    folder = make_jail(tmp_path, budget=10, grant=10)
    other = JailFolder(folder.path)
    slow = spend(folder, "ann", (cells()[0], "1/10"))
    other.ledger.refresh()
    folder.ledger.give_up("ann", slow)
    answer_some(folder)
    other.ledger.give_up("ann", slow)

    assert [e.body["type"] for e in folder.events()].count("given_up") == 1
    for jail in (folder, other, JailFolder(folder.path)):
        spend(jail, "ann", (cells()[0], "1/10"))


def test_a_request_of_another_user_with_the_same_id_is_another_one(tmp_path: Path, often: None) -> None:
    folder = make_jail(tmp_path, budget=10, users=("ann", "bob"), grant=10)
    request = spend(folder, "ann", (cells()[0], "1/10"))
    folder.ledger.keep_answer("ann", request, b"for ann")
    answer_some(folder)

    assert folder.ledger.earlier("bob", request, "d") is None
    spend(folder, "bob", (cells()[0], "1/10"), request=request)
    assert folder.state.total(("user", "bob", "census")) == (pytest.approx(0.1),)


def test_another_process_takes_in_a_checkpoint(tmp_path: Path, often: None) -> None:
    folder = make_jail(tmp_path, budget=10, users=("ann", "bob"), grant=10)
    other = JailFolder(folder.path)
    for i in range(30):
        jail = (folder, other)[i % 2]
        jail.ledger.keep_answer("ann", spend(jail, "ann", (cells()[i % 3], "1/10")), b"x")

    assert len(checkpoints(folder)) > 5
    assert other.state == folder.state == added_up(folder)


def test_verify_checks_all_and_can_go_on_where_it_stopped(busy: JailFolder) -> None:
    found: list[Checked] = []
    whole = check_history(busy.ledger._store, found.append)

    assert [each.seq for each in found] == checkpoints(busy)
    assert whole.seq == busy.ledger._store.last.seq  # type: ignore[union-attr]
    rest: list[Checked] = []
    assert check_history(busy.ledger._store, rest.append, resume=found[3]) == whole
    assert rest == found[4:]
    with pytest.raises(LedgerError, match="not the one that was checked"):
        check_history(busy.ledger._store, resume=Checked(found[3].seq, found[4].hash))


def test_batches_lose_no_entry(busy: JailFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    right = busy.events()
    assert len(right) < BATCH
    for size in (1, 2, len(right), len(right) + 1):
        monkeypatch.setattr("privjail.server.ledger.history.BATCH", size)
        assert list(events_of(busy.ledger._store)) == right


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET answer = substr(answer, 1, length(answer) - 1) WHERE subject = 'checkpoint'",
        "UPDATE events SET answer = x'789c030000000001' WHERE subject = 'checkpoint'",
        "UPDATE events SET body = replace(body, 'sha256', 'sha257') WHERE subject = 'checkpoint'",
        "UPDATE events SET hash = replace(hash, 'a', 'b') WHERE seq >= (SELECT max(seq) - 1 FROM events WHERE subject = 'checkpoint')",
        "DELETE FROM events WHERE seq > (SELECT max(seq) FROM events WHERE subject = 'checkpoint')",
        "DELETE FROM events WHERE seq >= (SELECT max(seq) FROM events WHERE subject = 'checkpoint')",
    ],
)
def test_a_changed_checkpoint_is_refused_at_the_start_v37(busy: JailFolder, statement: str) -> None:
    """V-37"""
    busy.ledger.close()
    edit(busy.path, statement)
    with pytest.raises(LedgerError):
        JailFolder(busy.path)


def test_a_checkpoint_that_says_less_than_was_spent_is_found_by_verify(busy: JailFolder) -> None:
    """Whoever can write the folder can write another chain; but not one whose checkpoints and past disagree."""
    store = busy.ledger._store
    forged = unpack(store.kept(checkpoints(busy)[-1]), busy.events()[checkpoints(busy)[-1] - 1].body)
    forged.trees.clear()
    packed = pack(forged)
    with store.writing() as writing:
        writing.append({"type": CHECKPOINT, "at": "2026-01-01", "sha256": sha256(packed)}, packed)

    assert JailFolder(busy.path).state.total(("dataset", "", "census")) == (0,)  # a start believes it
    with pytest.raises(LedgerError, match="checkpoint"):
        check_history(store)


def test_a_changed_past_is_found_by_verify(busy: JailFolder) -> None:
    busy.ledger.close()
    edit(
        busy.path,
        "UPDATE events SET answer = x'00' WHERE seq = (SELECT min(seq) FROM events WHERE answer IS NOT NULL AND subject LIKE '%/%')",
    )
    again = JailFolder(busy.path)  # the state does not depend on it
    with pytest.raises(LedgerError, match="lost or changed"):
        check_history(again.ledger._store)
    edit_again(
        busy.path,
        "UPDATE events SET body = replace(body, '1/10', '1/99') WHERE seq = (SELECT min(seq) FROM events WHERE body LIKE '%charges%')",
    )
    with pytest.raises(LedgerError, match="damaged or was changed at entry"):
        check_history(JailFolder(busy.path).ledger._store)


def edit_again(path: Path, statement: str) -> None:
    db = sqlite3.connect(path / "ledger.sqlite")
    db.execute(statement)
    db.commit()
    db.close()


def test_a_request_whose_entries_were_changed_is_refused(tmp_path: Path, often: None) -> None:
    folder = make_jail(tmp_path, budget=10, grant=10)
    request = spend(folder, "ann", (cells()[0], "1/10"))
    folder.ledger.keep_answer("ann", request, b"seen")
    answer_some(folder)
    folder.ledger.close()
    edit(
        folder.path,
        f'UPDATE events SET body = replace(body, \'"digest":"d"\', \'"digest":"e"\') WHERE body LIKE \'%{request}%\'',
    )
    again = JailFolder(folder.path)
    with pytest.raises(LedgerError, match="damaged or was changed"):
        spend(again, "ann", (cells()[0], "1/10"), request=request)


def test_a_checkpoint_that_a_crash_left_without_its_state_is_not_used(tmp_path: Path, often: None) -> None:
    """Its entry was noted and not written: the note has no state, so the entry is written again without one."""
    folder = make_jail(tmp_path, budget=10, grant=10)
    while not checkpoints(folder) or checkpoints(folder)[-1] != folder.ledger._store.last.seq:  # type: ignore[union-attr]
        request = spend(folder, "ann", (cells()[0], "1/100"))
        folder.ledger.keep_answer("ann", request, b"x")
    right, newest = folder.events(), checkpoints(folder)[-1]
    folder.ledger.close()
    edit(folder.path, f"DELETE FROM events WHERE seq = {newest}")
    again = JailFolder(folder.path)

    assert again.events()[: len(right)] == right
    assert again.ledger._store.kept(newest) is None
    assert again.state.total(("user", "ann", "census")) == added_up(again).total(("user", "ann", "census"))
    assert check_history(again.ledger._store).seq >= newest


def test_after_a_restart_of_the_machine_open_requests_from_before_a_checkpoint_are_lost(
    tmp_path: Path, often: None
) -> None:
    folder = make_jail(tmp_path, budget=10, grant=10)
    open_ = spend(folder, "ann", (cells()[0], "1/10"))
    for _ in range(2 * EVERY):
        done = spend(folder, "ann", (cells()[0], "1/100"))
        folder.ledger.keep_answer("ann", done, b"x")
    folder.ledger.close()
    renew_anchor(folder.path, "a new disk")  # nobody knows whether the machine was restarted: as after a restart
    for jail in (JailFolder(folder.path), JailFolder(folder.path)):
        with pytest.raises(LedgerError, match="restarted before the answer"):
            spend(jail, "ann", (cells()[0], "1/10"), request=open_)
        assert jail.ledger.answer("ann", done) == b"x"
    lost = [e.body["requests"] for e in folder_events(folder.path) if e.body["type"] == "lost"]
    assert lost == [[["ann", open_]]]


def folder_events(path: Path) -> list[Any]:
    return JailFolder(path).events()


def test_an_older_copy_with_checkpoints_is_refused_v37(tmp_path: Path, often: None) -> None:
    """V-37"""
    folder = make_jail(tmp_path, budget=10, grant=10)
    for i in range(3):
        answer_some(folder)
        if i == 1:
            folder.ledger._store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # type: ignore[attr-defined]
            shutil.copy(folder.path / "ledger.sqlite", tmp_path / "older")
    folder.ledger.close()
    for name in ("ledger.sqlite-wal", "ledger.sqlite-shm"):
        (folder.path / name).unlink(missing_ok=True)
    shutil.copy(tmp_path / "older", folder.path / "ledger.sqlite")
    with pytest.raises(LedgerError, match="rolled back"):
        JailFolder(folder.path)
