"""Old answers and certificates can be removed: what was spent stays, and no answer is ever drawn anew."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from privjail.curator.folder import JailFolder
from privjail.curator.keeping import drop_answers
from privjail.server.ledger import ledger as ledgers
from privjail.server.ledger.events import LedgerError
from privjail.server.ledger.room import Room

from . import postgresql
from .jails import ENV, PRIVJAIL, make_jail
from .test_ledger import cells, spend

OLD, NEW = "2020-01-01T00:00:00+00:00", "2026-11-01T00:00:00+00:00"


@pytest.fixture(params=["sqlite", "postgres"])
def folder(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JailFolder:
    """A ledger with ten old answers and five new ones, and a checkpoint after every few entries."""
    monkeypatch.setattr(ledgers, "EVERY", 7)
    url = None
    if request.param == "postgres":
        server: postgresql.Server = request.getfixturevalue("postgres")
        url = server.database()
    made = make_jail(tmp_path, budget=50, users=("ann", "bob"), grant=20, ledger=url)
    requests = []
    for i in range(15):
        monkeypatch.setattr(ledgers, "_now", lambda i=i: OLD if i < 10 else NEW)
        user = ("ann", "bob")[i % 2]
        requests.append((user, spend(made, user, (cells()[0], "1/10"))))
        made.ledger.keep_answer(*requests[-1], b"answer %d" % i)
    monkeypatch.undo()
    made.asked = requests  # type: ignore[attr-defined]
    return made


def test_old_answers_go_and_everything_else_stays(folder: JailFolder) -> None:
    asked: Any = folder.asked  # type: ignore[attr-defined]
    spent = folder.state.total(("dataset", "", "census"))
    kept = folder.state.kept["ann"]
    freed = drop_answers(folder, 1000, "kept for three years")
    assert freed == {"ann": 5 * len(b"answer 0"), "bob": 5 * len(b"answer 0")}
    for ledger in (folder.ledger, JailFolder(folder.path).ledger):
        assert ledger.state.total(("dataset", "", "census")) == spent
        assert ledger.state.kept["ann"] == kept - freed["ann"]
        for i, (user, request) in enumerate(asked):
            if i >= 10:
                assert ledger.answer(user, request) == b"answer %d" % i
                continue
            with pytest.raises(LedgerError, match="no longer kept"):
                ledger.answer(user, request)
            with pytest.raises(LedgerError, match="no longer kept"):
                ledger.keep_answer(user, request, b"another draw")
    folder.ledger.check(lambda _: None, None)


def test_nothing_is_kept_in_the_file_and_it_is_still_append_only(folder: JailFolder) -> None:
    if folder.config.get("ledger_url"):
        pytest.skip("looks into SQLite's file")
    drop_answers(folder, 1000, "kept for three years")
    folder.ledger.close()
    assert b"answer 3" not in b"".join(f.read_bytes() for f in folder.path.glob("ledger.sqlite*"))
    with sqlite3.connect(folder.path / "ledger.sqlite") as database, pytest.raises(sqlite3.Error, match="append-only"):
        database.execute("UPDATE events SET answer = NULL")


def test_an_answer_that_was_not_dropped_may_not_be_missing(folder: JailFolder) -> None:
    """Whoever removes another answer is noticed as before, although some are gone with a reason."""
    if folder.config.get("ledger_url"):
        pytest.skip("edits SQLite's file")
    drop_answers(folder, 1000, "kept for three years")
    seq = folder.ledger.state.dropped
    folder.ledger.close()
    with sqlite3.connect(folder.path / "ledger.sqlite") as database:
        database.execute("DROP TRIGGER events_UPDATE")
        database.execute("UPDATE events SET answer = NULL WHERE seq > ? AND subject != 'checkpoint'", (seq,))
    again = JailFolder(folder.path)
    with pytest.raises(LedgerError, match="lost or changed"):
        again.ledger.check(lambda _: None, None)


def test_dropping_twice_frees_once(folder: JailFolder) -> None:
    drop_answers(folder, 1000, "kept for three years")
    before = dict(folder.state.kept)
    assert drop_answers(folder, 1000, "again") == {}
    assert dict(folder.state.kept) == before


def test_a_crash_before_the_answers_are_removed_costs_nothing(
    folder: JailFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: Any = folder.asked  # type: ignore[attr-defined]
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):

        def crash(before: int) -> None:
            raise KeyboardInterrupt

        patched.setattr(folder.ledger._store, "drop_kept", crash)
        drop_answers(folder, 1000, "kept for three years")
    again = JailFolder(folder.path)
    with pytest.raises(LedgerError, match="no longer kept"):
        again.ledger.answer(*asked[0])
    again.ledger.check(lambda _: None, None)
    drop_answers(again, 1000, "once more")
    assert again.ledger._store.sizes(0, again.ledger.state.dropped) == {}


def test_room_is_free_again(folder: JailFolder) -> None:
    drop_answers(folder, 1000, "kept for three years")
    Room(most=folder.state.kept["ann"]).check(folder.state.kept["ann"])


def test_the_command(tmp_path: Path) -> None:
    folder = make_jail(tmp_path, budget=50, grant=20)
    folder.ledger.close()
    command = [*PRIVJAIL, "compact", "--older-than", "30", "--jail", str(folder.path)]
    refused = subprocess.run(command, capture_output=True, text=True, env=ENV, check=False)
    assert refused.returncode != 0
    told = subprocess.run([*command, "--reason", "tidy", "--json"], capture_output=True, text=True, env=ENV, check=True)
    assert json.loads(told.stdout) == {"done": "removed", "bytes": {}, "notes": []}
