"""The curator's commands on a jail, each as a process of its own."""

from __future__ import annotations

import json
import sqlite3
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from privjail.curator.folder import JailFolder
from privjail.server.ledger.events import VERSION
from privjail.errors import DPError
from privjail.server.catalogue import Catalogue

from ..server.jails import ENV, PRIVJAIL, Served, count, free_port, serving
from ..server.postgresql import Server, start

ROWS = [(20 + i % 50, "FM"[i % 2], i % 10) for i in range(60)]
SCHEMA = {
    "age": {"type": "Int64", "range": [0, 120]},
    "sex": {"type": "category", "categories": ["F", "M"]},
    "person": {"type": "Int64", "range": [0, 1000]},
}
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def call(*args: str, ok: bool = True, **env: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*PRIVJAIL, *args], cwd=tmp_path, capture_output=True, text=True, timeout=120, env={**ENV, **env}
        )
        assert "Traceback" not in done.stdout + done.stderr
        assert (done.returncode == 0) == ok, done.stdout + done.stderr
        return done

    return call


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The same rows in every form that a data set may come in."""
    frame = pl.DataFrame(ROWS, schema=["age", "sex", "person"], orient="row")
    frame.write_csv(tmp_path / "people.csv")
    frame.write_parquet(tmp_path / "people.parquet")
    (tmp_path / "parts").mkdir()
    for i in range(3):
        frame[i * 20 : (i + 1) * 20].write_parquet(tmp_path / "parts" / f"{i}.parquet")
    odd = tmp_path / "odd #1?.db"  # characters that mean something in a URI
    with sqlite3.connect(odd) as db:
        db.execute("CREATE TABLE people (age INTEGER, sex TEXT, person INTEGER)")
        db.executemany("INSERT INTO people VALUES (?, ?, ?)", ROWS)
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    return tmp_path


@pytest.fixture
def made(files: Path) -> JailFolder:
    """A jail with a data set and a user, made without the command line."""
    folder = JailFolder.init(files / "jail", ["localhost"], f"127.0.0.1:{free_port()}", None)
    folder.add_dataset("people", str(files / "people.csv"), SCHEMA, [10], "pure", (None, 1))
    file = folder.add_user("ann", 30) | {"insecure_loopback": True}
    (files / "ann.privjail").write_text(json.dumps(file), encoding="utf-8")
    return folder


def add(run: Run, name: str, file: str, *more: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
    return run("dataset", "add", name, file, "--schema", "schema.json", "--budget", "5", "--unit", "row", *more, ok=ok)


def test_from_nothing_to_a_served_jail(run: Run, files: Path) -> None:
    """The way that a curator goes, with every list in JSON too."""
    port = free_port()
    assert "made jail" in run("init", "jail", "--host", "127.0.0.1", "--port", str(port)).stdout
    assert stat.S_IMODE((files / "jail").stat().st_mode) == 0o700
    for name in ("jail.json", "ledger.sqlite", "jail.key", "users.key", "anchor.1"):
        assert stat.S_IMODE((files / "jail" / name).stat().st_mode) == 0o600, name
    add(run, "people", "people.csv")
    run("user", "add", "ann", "--output", "ann.privjail")
    run("user", "add", "bob", "--days", "1")
    run("group", "add", "team", "ann", "bob")
    run("grant", "team", "people", "--group", "--budget", "2")
    run("grant", "ann", "people", "--budget", "0.5")
    with serving(files, tls=True) as served:
        connection = served.connect("ann")
        connection.release([count(connection, 0.25, "people")])
    table = run("budget").stdout
    assert "█████" in table and "50%" in table and "ann" in table
    budgets = {(b["scope"], b["who"]): (b["spent"], b["limit"]) for b in json.loads(run("budget", "--json").stdout)}
    assert budgets == {
        ("dataset", ""): ({"epsilon": "1/4"}, {"epsilon": "5"}),
        ("group", "team"): ({"epsilon": "1/4"}, {"epsilon": "2"}),
        ("user", "ann"): ({"epsilon": "1/4"}, {"epsilon": "1/2"}),
    }
    log = json.loads(run("log", "--json").stdout)
    assert [e["what"] for e in log] == [
        "init", "dataset", "user", "user", "group", "limit", "limit", "charge",
    ]  # fmt: skip
    assert log[-1]["details"].startswith("people: 1/4 for ")
    assert [u["name"] for u in json.loads(run("user", "list", "--json").stdout)] == ["ann", "bob"]
    assert json.loads(run("group", "list", "--json").stdout) == [{"name": "team", "members": ["ann", "bob"]}]
    assert json.loads(run("dataset", "list", "--json").stdout)[0]["unit"] == "a row"
    whole = json.loads(run("verify", "--json").stdout)
    run("verify", "--expect", whole["head"])


def test_the_token_is_in_the_connection_file_and_nowhere_else(run: Run, made: JailFolder, files: Path) -> None:
    old = files / "carl.privjail"
    old.write_text("x" * 10_000)
    old.chmod(0o644)
    shown = run("user", "add", "carl")
    token = json.loads(old.read_text())["token"]
    assert stat.S_IMODE(old.stat().st_mode) == 0o600
    assert token not in shown.stdout + shown.stderr + run("log", "--json").stdout + run("user", "list", "--json").stdout
    for file in (f for f in (files / "jail").rglob("*") if f.is_file()):
        assert token.encode() not in file.read_bytes(), file.name
    entry = made.state.users["carl"]
    assert entry.expires is not None and entry.token != token


def test_a_token_that_cannot_be_handed_over_replaces_nothing(run: Run, made: JailFolder, files: Path) -> None:
    before = made.state.users["ann"].token
    assert "no such file" in run("user", "add", "ann", "-o", "nowhere/ann.privjail", ok=False).stderr
    (files / "link").symlink_to(files / "elsewhere")
    run("user", "add", "ann", "-o", "link", ok=False)
    run("user", "add", "not good", "-o", "new", ok=False)
    assert made.state.users["ann"].token == before and not (files / "new").exists()


@pytest.mark.parametrize(
    ("file", "options"),
    [
        ("people.csv", []), ("people.parquet", []), ("parts", []),
        ("odd #1?.db", ["--table", "people"]),
        ("odd #1?.db", ["--query", "SELECT * FROM people WHERE age > 30 ORDER BY age", "--kind", "sqlite"]),
        ("people.duckdb", ["--table", "people"]),
    ],
)  # fmt: skip
def test_every_kind_of_data_can_be_added_and_opened(
    run: Run, made: JailFolder, files: Path, file: str, options: list[str]
) -> None:
    if file.endswith(".duckdb"):
        duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
        with duckdb.connect(str(files / file)) as db:
            db.execute(f"CREATE TABLE people AS SELECT * FROM read_csv('{files / 'people.csv'}')")
    shown = add(run, "other", file, *options, "--overlap-reason", "a copy in another form").stdout
    assert ("no ORDER BY" in shown) == ("--table" in options)
    _holds_the_rows(made, "other", sum(1 for age, _, _ in ROWS if age > 30 or "--query" not in options))


def _holds_the_rows(folder: JailFolder, name: str, rows: int) -> None:
    """Loaded as a jail loads it: same columns, same types, whatever it came from."""
    if ("user", "ann", name) not in folder.state.limits:
        folder.grant("ann", name, [1], False, None)
    catalogue = Catalogue(folder.ledger, folder.path)
    source = catalogue.source(name, "ann")
    frame = catalogue.frames[source]
    assert frame.height == rows and frame.null_count().sum_horizontal().item() == 0
    assert [domain.dtype for _, domain in source.dataset.columns] == ["Int64", "category", "Int64"]


@pytest.fixture(scope="module")
def database() -> Any:
    server = start()
    if not isinstance(server, Server):
        pytest.skip(server)
    yield server
    server.stop()


def test_postgres_tables_and_queries(run: Run, made: JailFolder, database: Server) -> None:
    import psycopg

    url = database.database()
    with psycopg.connect(url) as db:
        db.execute("CREATE TABLE people (age INTEGER, sex TEXT, person NUMERIC)")
        db.cursor().executemany("INSERT INTO people VALUES (%s, %s, %s)", ROWS)
    add(run, "table", url, "--table", "people")
    add(run, "query", url, "--query", "SELECT * FROM people ORDER BY age", "--overlap-reason", "the same table")
    for name in ("table", "query"):
        _holds_the_rows(made, name, len(ROWS))
    failed = add(run, "bad", url, "--query", "SELECT 1 / (age - 20) FROM people", ok=False)
    assert "the postgres query failed (DivisionByZero)" in failed.stderr
    add(run, "evil", url, "--query", "DELETE FROM people RETURNING *", ok=False)
    with psycopg.connect(url) as db:
        assert db.execute("SELECT count(*) FROM people").fetchone() == (len(ROWS),)


def test_what_a_column_is_does_not_depend_on_rows_v19(made: JailFolder, files: Path) -> None:
    """V-19: an undeclared SQL column has the same domain whatever one person's row holds."""
    domains = []
    for i, value in enumerate([7, 7.5, "seven", None, b"\xff"]):
        with sqlite3.connect(files / f"{i}.db") as db:
            db.execute("CREATE TABLE t (x)")
            db.execute("INSERT INTO t VALUES (?)", (value,))
        place, why = str(files / f"{i}.db"), {"overlap_reason": "some of these are the same row"}
        made.add_dataset(f"d{i}", place, {}, [1], "pure", (None, 1), None, "SELECT x FROM t", **why)
        made.grant("ann", f"d{i}", [1], False, None)
        domains.append(Catalogue(made.ledger, made.path).source(f"d{i}", "ann").dataset.columns)
    assert len(set(domains)) == 1


def test_the_unit_of_protection_must_be_said(run: Run, made: JailFolder) -> None:
    base = ("dataset", "add", "d", "people.csv", "--schema", "schema.json", "--budget", "1")
    assert "--unit" in run(*base, ok=False).stderr
    assert "--rows-per-unit" in run(*base, "--unit", "person", ok=False).stderr
    assert "a unit that is a column" in run(*base, "--unit", "row", "--rows-per-unit", "2", ok=False).stderr
    assert "'nobody' is not in the data" in run(*base, "--unit", "nobody", "--rows-per-unit", "2", ok=False).stderr
    run(*base, "--unit", "person", "--rows-per-unit", "2", "--overlap-reason", "a test")
    assert str(made.state.datasets["d"].unit) == "all rows of one 'person' (at most 2)"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("budget", "--jail", "nowhere"), "is not a jail"),
        (("init", "jail"), "is a jail already"),
        (("init", "parts"), "not empty"),
        (("init", "new", "--host", "ex ämple"), "host name"),
        (("grant", "ann", "nothing", "--budget", "1"), "no data set 'nothing'"),
        (("grant", "nobody", "people", "--budget", "1"), "no user 'nobody'"),
        (("grant", "team", "people", "--group", "--budget", "1"), "no group 'team'"),
        (("grant", "ann", "people", "--budget", "much"), "'much' is no budget"),
        (("grant", "ann", "people", "--budget", "-1"), "greater than 0"),
        (("grant", "ann", "people", "--budget", "1,1e-6"), "one number, got 2 numbers"),
        (("budget", "people", "--raise", "20"), "needs a reason"),
        (("budget", "--raise", "20", "--reason", "x"), "whose budget"),
        (("budget", "people", "--raise", "5", "--reason", "x"), "--raise does not lower"),
        (("budget", "people", "--lower", "20", "--reason", "x"), "--lower does not raise"),
        (("budget", "people", "--lower", "5"), "lowering a budget needs a reason"),
        (("budget", "people", "--lower", "5", "--raise", "20"), "exclude each other"),
        (("user", "add", ".."), "cannot be used as a name"),
        (("user", "add", "../eve"), "cannot be used as a name"),
        (("group", "add", "."), "cannot be used as a name"),
        (("budget", "nothing"), "no data set 'nothing'"),
        (("revoke", "nobody"), "no user 'nobody'"),
        (("revoke", "ann", "--dataset", "people"), "has no grant"),
        (("revoke", "ann", "--group"), "a whole group cannot be revoked"),
        (("revoke", "ann", "--group", "--dataset", "people"), "no group"),
        (("group", "add", "g", "nobody"), "no user 'nobody'"),
        (("user", "add", "eve", "--days", "0"), "--days"),
        (("dataset", "remove", "nothing"), "no data set"),
        (("verify", "--expect", "1:00"), "does not contain the entry 1"),
        (("verify", "--renew-anchor"), "needs a reason"),
        (("serve", "--host", "0.0.0.0", "--insecure-loopback"), "loopback address only"),
        (("dataset", "add", "x", "no.csv", "--budget", "1", "--unit", "row"), "'no.csv'"),
        (("dataset", "add", "x", "people.csv", "--budget", "1", "--unit", "row", "--notion", "big"), "unknown notion"),
        (("dataset", "add", "x", "people.csv", "--budget", "1", "--unit", "row", "--notion", "approx"), "eps,delta"),
        (("dataset", "add", "x", "people.csv", "--budget", "1", "--unit", "row", "--table", "t"), "no tables"),
        (("dataset", "add", "x", "odd #1?.db", "--budget", "1", "--unit", "row"), "--table NAME"),
        (("dataset", "add", "x", "odd #1?.db", "--budget", "1", "--unit", "row", "--table", "a;b"), "no table name"),
        (("dataset", "add", "a/b", "people.csv", "--budget", "1", "--unit", "row"), "cannot be used as a name"),
    ],
)  # fmt: skip
def test_mistakes_end_in_a_message(
    args: tuple[str, ...], says: str, made: JailFolder, files: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """In this process, since there are many; that no traceback comes out of a real one is seen above."""
    from privjail.curator.cli.root import app

    monkeypatch.chdir(files)
    before = len(made.events())
    with pytest.raises(SystemExit) as end:
        app([*args], prog_name="privjail")
    said = capfd.readouterr()
    assert end.value.code in (1, 2) and says in said.err and "Traceback" not in said.err
    assert len(made.events()) == before and not (files / "eve.privjail").exists()
    assert not (files / "new").exists() and not list(files.parent.glob("*.privjail"))


def test_a_damaged_jail_says_so(run: Run, made: JailFolder, files: Path) -> None:
    made.ledger.close()
    anchors = [files / "jail" / f"anchor.{i}" for i in (0, 1)]
    for path in anchors:
        path.write_bytes(b"?")
    assert "privjail: error: the ledger's anchor is damaged" in run("budget", ok=False).stderr
    assert "privjail: error: the ledger" in run("serve", "--port", str(free_port()), ok=False).stderr
    run("verify", "--renew-anchor", "--reason", "a disk fault")
    assert "a disk fault" in run("log").stdout
    (files / "jail" / "jail.json").write_text("{")
    assert "is damaged" in run("log", ok=False).stderr


def test_raising_is_logged_with_its_reason_and_by_whom(run: Run, made: JailFolder) -> None:
    run("budget", "people", "--raise", "20", "--reason", "second study")
    last = json.loads(run("log", "--json", "-n", "1").stdout)[0]
    assert last["details"] == "dataset may spend 20 on people because second study" and last["by"]
    assert run("log", PRIVJAIL_HOME=str(made.path)).stdout.count("second study") == 1


def test_revocations_hold_at_once_on_a_running_jail(run: Run, made: JailFolder, files: Path) -> None:
    run("grant", "ann", "people", "--budget", "5")
    with serving(files) as served:
        connection = served.connect("ann")
        asks = [count(connection, 1, "people")]
        connection.release(asks)
        made.revoke("ann", "people")
        with pytest.raises(DPError, match="no data set 'people' for you"):
            connection.release(asks)
        made.grant("ann", "people", [5], False, None)
        connection.release(asks)
        made.set_group("team", ["ann"])
        made.grant("team", "people", [5], True, None)
        # Two of her own five are spent, none of the team's: without her own limit she may spend more.
        refused = run("revoke", "ann", "--dataset", "people", ok=False).stderr
        assert "ann may spend up to 5 on 'people'" in refused and "add --widen" in refused
        said = run("revoke", "ann", "--dataset", "people", "--widen").stdout
        assert "may still use people as a member of team" in said
        connection.release(asks)
        run("revoke", "team", "--group", "--dataset", "people")
        with pytest.raises(DPError, match="no data set 'people' for you"):
            connection.release(asks)
        run("revoke", "ann")
        with pytest.raises(DPError, match="authentication failed: the token is not accepted"):
            connection.release(asks)
        made.add_user("ann", 30)  # a new token ends the revocation; the old token stays dead
        with pytest.raises(DPError, match="authentication failed: the token is not accepted"):
            connection.release(asks)
        made.remove_dataset("people")
    assert made.state.total(("dataset", "", "people")) == (3,)


def test_an_expired_token_is_no_token(made: JailFolder, files: Path) -> None:
    made.grant("ann", "people", [5], False, None)
    made.ledger.record(
        {"type": "user", "name": "ann", "token": made.state.users["ann"].token,
         "expires": "2020-01-01T00:00:00+00:00"}
    )  # fmt: skip
    with serving(files) as served, pytest.raises(DPError, match="the token has expired"):
        served.connect("ann")


def test_a_user_without_a_grant_sees_nothing_over_the_wire(made: JailFolder, files: Path) -> None:
    """There are no roles: what a user may do are her grants, and curators decide in the jail's folder."""
    file = made.add_user("cora", 30) | {"insecure_loopback": True}
    (files / "cora.privjail").write_text(json.dumps(file))
    with serving(files) as served:
        connection = served.connect("cora")
        assert connection.datasets == []
        with pytest.raises(DPError, match="no data set 'people' for you"):
            connection.source("people")


def test_completion_knows_commands_and_names(run: Run, made: JailFolder) -> None:
    def complete(line: str) -> list[str]:
        shown = run(_PRIVJAIL_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(line.count(" "))).stdout
        return shown.split()

    assert {"init", "grant", "serve", "verify"} <= set(complete("privjail "))
    assert complete("privjail dataset re") == ["remove"]
    assert complete("privjail grant ann pe") == ["people"]
    assert complete("privjail revoke a") == ["ann"]


def test_help_says_what_each_command_does(run: Run) -> None:
    shown = run("--help").stdout
    for word in ("Make a jail", "Let a user or a group spend", "audit log", "Check the whole ledger"):
        assert word in shown


def test_serve_ends_cleanly_when_it_is_told_to(made: JailFolder, files: Path) -> None:
    served = Served(files).start()
    out, err = served.stop()
    assert served.process is not None and served.process.returncode == 0 and err == ""


def test_a_jail_of_another_version_is_refused_and_left_as_it_is(run: Run, made: JailFolder, files: Path) -> None:
    made.ledger.close()
    config = files / "jail" / "jail.json"
    config.write_text(config.read_text().replace(f'"version": {VERSION}', f'"version": {VERSION - 1}'))
    before = {file: file.read_bytes() for file in (files / "jail").rglob("*") if file.is_file()}
    for command in (("verify",), ("user", "add", "zed"), ("serve", "--port", str(free_port()))):
        assert "another version" in run(*command, ok=False).stderr

    assert {file: file.read_bytes() for file in (files / "jail").rglob("*") if file.is_file()} == before


def test_a_jail_is_served_on_the_port_that_it_was_made_with(run: Run, files: Path) -> None:
    port = free_port()
    run("init", "jail", "--host", "127.0.0.1", "--port", str(port))
    command = [*PRIVJAIL, "serve", "--jail", str(files / "jail")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENV)
    try:
        assert process.stdout is not None and process.stdout.readline() == f"serving on 127.0.0.1:{port}\n"
    finally:
        process.terminate()
        process.wait(20)
