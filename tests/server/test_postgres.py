"""The ledger in PostgreSQL: shared, checked, and as hard to roll back as the one on disk."""

from __future__ import annotations

import secrets
import shutil
import time
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from privjail.curator.folder import JailFolder
from privjail.curator.keeping import renew_anchor
from privjail.errors import BudgetExceeded, DPError
from privjail.server.ledger.events import VERSION, LedgerError, linked

from .jails import count, make_jail, serving
from .postgresql import Server
from .test_ledger import cells, spend


@pytest.fixture
def url(postgres: Server) -> str:
    return postgres.database()


@pytest.fixture
def folder(tmp_path: Path, url: str) -> JailFolder:
    return make_jail(tmp_path, budget=10, grant=5, ledger=url)


def edit(url: str, *statements: str) -> None:
    with psycopg.connect(url) as db:
        db.execute("ALTER TABLE privjail_events DISABLE TRIGGER ALL")
        for statement in statements:
            db.execute(statement)  # type: ignore[arg-type]


def join(folder: JailFolder, where: Path, url: str) -> JailFolder:
    where.mkdir()
    return make_jail(where, users=(), ledger=url)


def test_two_jails_see_each_others_charges_and_answers(folder: JailFolder, tmp_path: Path, url: str) -> None:
    other = join(folder, tmp_path / "b", url)
    request = spend(folder, "ann", (cells()[0], 3))
    folder.ledger.keep_answer("ann", request, b"first")
    assert other.ledger.answer("ann", request) == b"first"
    spend(other, "ann", (cells()[0], 3), request=request)
    with pytest.raises(BudgetExceeded):
        spend(other, "ann", (cells()[0], 3))
    assert folder.state == other.state == JailFolder(folder.path).state


def test_the_tables_are_append_only(folder: JailFolder, url: str) -> None:
    for statement in (
        "DELETE FROM privjail_events",
        "UPDATE privjail_events SET answer = ''",
        "TRUNCATE privjail_events",
    ):
        with psycopg.connect(url) as db, pytest.raises(psycopg.errors.RaiseException, match="append-only"):
            db.execute(statement)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM privjail_events WHERE seq = (SELECT max(seq) FROM privjail_events)",
        "DELETE FROM privjail_events WHERE seq = 2",
        "TRUNCATE privjail_events",
        "UPDATE privjail_events SET body = replace(body, '5', '9')",
        "UPDATE privjail_events SET hash = upper(hash) WHERE seq = 2",
        "INSERT INTO privjail_events SELECT max(seq) + 1, max(hash), max(body) FROM privjail_events",
        "INSERT INTO privjail_events VALUES (-1, '', '')",
        "DROP TABLE privjail_events",
    ],
)
def test_changed_and_rolled_back_ledgers_are_refused_v37(folder: JailFolder, url: str, statement: str) -> None:
    """V-37: at the start, and by a jail that is running."""
    spend(folder, "ann", (cells()[0], 1))
    edit(url, statement)
    with pytest.raises(LedgerError):
        JailFolder(folder.path)
    if "WHERE seq = 2" not in statement and "replace" not in statement and "-1" not in statement:
        with pytest.raises(LedgerError):
            folder.ledger.refresh()


def test_a_missing_anchor_is_refused_and_can_be_renewed(folder: JailFolder) -> None:
    for name in ("anchor.0", "anchor.1"):
        (folder.path / name).unlink(missing_ok=True)
    with pytest.raises(LedgerError, match="anchor is gone"):
        JailFolder(folder.path)
    renew_anchor(folder.path, "moved to a new machine")
    assert JailFolder(folder.path).events()[-1].body["reason"] == "moved to a new machine"


def test_a_torn_anchor_leaves_the_other_one(folder: JailFolder) -> None:
    """Whichever of the two a crash tore, the jail starts, and notices a rollback behind the other."""
    for _ in range(4):
        spend(folder, "ann", (cells()[0], "1/10"))
    for name in ("anchor.0", "anchor.1"):
        copy = Path(shutil.copytree(folder.path, folder.path.parent / f"torn-{name}"))
        (copy / name).write_bytes(b"")
        assert len(JailFolder(copy).events()) == len(folder.events())


def test_a_server_that_was_lost_is_found_again_and_nothing_is_charged_twice(
    folder: JailFolder, postgres: Server, tmp_path: Path
) -> None:
    """The database crashes under a running jail; the jail waits for it and goes on."""
    with serving(tmp_path) as served:
        connection = served.connect()
        number = secrets.token_bytes(16)
        first = connection.release([count(connection, 1)], number)
        postgres.restart()
        assert connection.release([count(connection, 1)], number) == first
        connection.release([count(connection, 1)])
    assert JailFolder(folder.path).state.total(("dataset", "", "census")) == (2,)


def test_a_crash_of_the_database_at_the_commit_charges_once(
    folder: JailFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entry is written, the confirmation is lost: the charge is tried again and finds itself."""
    store = folder.ledger._store
    conn = store._db()  # type: ignore[attr-defined]
    transaction = type(conn).transaction

    def lost(self: object, *args: object, **kwargs: object) -> object:
        monkeypatch.undo()
        inner = transaction(self, *args, **kwargs)

        class Lost:
            def __enter__(self) -> object:
                return inner.__enter__()

            def __exit__(self, *error: object) -> None:
                inner.__exit__(*error)
                conn.close()
                raise psycopg.OperationalError("lost")

        return Lost()

    monkeypatch.setattr(type(conn), "transaction", lost)
    spend(folder, "ann", (cells()[0], 1))
    assert folder.state.total(("dataset", "", "census")) == (1,)
    assert folder.state == JailFolder(folder.path).state


def test_a_server_that_may_forget_is_refused(postgres: Server, tmp_path: Path) -> None:
    url = postgres.database()
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("ALTER SYSTEM SET fsync = off")
        db.execute("SELECT pg_reload_conf()")
    _wait_for(url, "off")
    try:
        with pytest.raises(LedgerError, match="fsync"):
            make_jail(tmp_path, ledger=url)
    finally:
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("ALTER SYSTEM RESET fsync")
            db.execute("SELECT pg_reload_conf()")
        _wait_for(url, "on")


def _wait_for(url: str, fsync: str) -> None:
    """A new configuration is read after a while."""
    for _ in range(200):
        with psycopg.connect(url) as db:
            if db.execute("SHOW fsync").fetchone() == (fsync,):
                return
        time.sleep(0.05)


def test_a_server_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DPError, match="cannot be reached"):
        make_jail(tmp_path, ledger="postgresql://nobody@127.0.0.1:1/none")


def test_amounts_stay_exact(folder: JailFolder) -> None:
    for _ in range(3):
        spend(folder, "ann", (cells()[0], Fraction(1, 3)))
    assert JailFolder(folder.path).state.total(("user", "ann", "census")) == (1,)


def test_a_ledger_of_another_version_is_not_joined(tmp_path: Path, url: str) -> None:
    with psycopg.connect(url) as db:
        db.execute("CREATE TABLE privjail_events (seq BIGINT PRIMARY KEY, hash TEXT NOT NULL, body TEXT NOT NULL)")
    with pytest.raises(LedgerError, match="another version"):
        make_jail(tmp_path, ledger=url)


@pytest.mark.parametrize("version", [{}, {"version": VERSION - 1}], ids=["none", "older"])
def test_a_ledger_with_shorter_names_is_not_joined_and_left_as_it_is_v60(
    folder: JailFolder, tmp_path: Path, url: str, version: dict[str, int]
) -> None:
    """It has today's tables, but its first entry says another version, or none."""
    older = linked(None, {"type": "init", "id": "older", **version})
    edit(url, "DELETE FROM privjail_events")
    with psycopg.connect(url) as db:
        db.execute("INSERT INTO privjail_events VALUES (1, %s, %s)", (older.hash, older.text))
    with pytest.raises(LedgerError, match="the ledger was made by another version"):
        join(folder, tmp_path / "b", url)
    with psycopg.connect(url) as db:
        assert db.execute("SELECT seq, hash FROM privjail_events").fetchall() == [(1, older.hash)]
    assert not (tmp_path / "b" / "jail").exists()
