"""A curator's query reads its database, and can write nothing: no table, no other file, no setting."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from privjail.catalogue.sql import query_rows
from privjail.errors import SchemaError

from ..server.postgresql import Server, start

SECRET = "secret-of-the-machine"
WITH = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n ORDER BY i"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


def refused(kind: str, place: str, query: str, folder: Path) -> None:
    before = contents(folder)
    with pytest.raises(SchemaError) as error:
        query_rows(kind, place, query)
    assert contents(folder) == before and SECRET not in str(error.value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "machine.txt").write_text(SECRET)
    return tmp_path


@pytest.fixture
def sqlite_file(folder: Path) -> str:
    path = folder / "data.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t (x INTEGER, y TEXT)")
        db.executemany("INSERT INTO t VALUES (?, ?)", [(1, "a"), (2, "b")])
    db.close()
    return str(path)


@pytest.mark.parametrize(
    "query",
    [
        "ATTACH '{here}/new.db' AS other", "ATTACH ':memory:' AS other", "VACUUM INTO '{here}/new.db'", "VACUUM",
        "PRAGMA journal_mode=WAL", "PRAGMA writable_schema=ON", "PRAGMA user_version=7", "PRAGMA temp_store_directory='/'",
        "SELECT * FROM pragma_database_list", "INSERT INTO t VALUES (3, 'c') RETURNING *", "DELETE FROM t RETURNING *",
        "UPDATE t SET x = 0 RETURNING *", "DROP TABLE t", "CREATE TABLE u (x)", "CREATE TEMP TABLE u (x)", "REINDEX",
        "SELECT load_extension('x')", "SELECT writefile('{here}/new', 'x')", "SELECT readfile('{here}/machine.txt')",
        "SELECT fts3_tokenizer('simple')", "CREATE VIRTUAL TABLE v USING fts5(x)", "BEGIN IMMEDIATE", "ANALYZE",
        "SELECT 1; ATTACH '{here}/new.db' AS other", "EXPLAIN ATTACH '{here}/new.db' AS other", "",
    ],
)  # fmt: skip
def test_sqlite_writes_nothing(query: str, folder: Path, sqlite_file: str) -> None:
    refused("sqlite", sqlite_file, query.format(here=folder), folder)


@pytest.mark.parametrize("query", ["SELECT x, upper(y) AS y FROM t ORDER BY x", WITH, "VALUES (1), (2)"])
def test_sqlite_reads(query: str, folder: Path, sqlite_file: str) -> None:
    before = contents(folder)
    assert query_rows("sqlite", sqlite_file, query).to_series(0).to_list()[:2] == ["1", "2"]
    assert contents(folder) == before


@pytest.fixture
def duckdb_file(folder: Path) -> str:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    with duckdb.connect(str(folder / "data.duckdb")) as db:
        db.execute("CREATE TABLE t AS SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(x, y)")
    return str(folder / "data.duckdb")


@pytest.mark.parametrize(
    "query",
    [
        "ATTACH '{here}/new.duckdb'", "ATTACH ':memory:' AS other", "COPY t TO '{here}/new.csv'",
        "COPY (SELECT 1) TO '{here}/new.parquet'", "EXPORT DATABASE '{here}/new'", "INSTALL httpfs", "LOAD httpfs",
        "SELECT * FROM read_text('{here}/machine.txt')", "SELECT * FROM '{here}/machine.txt'",
        "SELECT * FROM read_csv('{here}/machine.txt')", "SELECT * FROM glob('{here}/*')",
        "SELECT * FROM sniff_csv('{here}/machine.txt')", "SELECT * FROM read_blob('{here}/machine.txt')",
        "PRAGMA enable_profiling='json'", "PRAGMA profiling_output='{here}/new'", "SET log_query_path='{here}/new'",
        "SET enable_external_access=true", "SET lock_configuration=false", "SET temp_directory='{here}/new'",
        "CALL enable_logging(storage='file', storage_config={{'path': '{here}/new'}})",
        "SELECT * FROM enable_logging(storage='file', storage_config={{'path': '{here}/new'}})",
        "SELECT * FROM enable_profiling(save_location='{here}/new')",
        "INSERT INTO t VALUES (3, 'c')", "CREATE TABLE u (x INTEGER)", "CREATE TEMP TABLE u (x INTEGER)", "CHECKPOINT",
        "CREATE SECRET (TYPE s3)", "SELECT 1; COPY t TO '{here}/new.csv'", "SELECT * FROM query('COPY t TO ''{here}/n''')",
        "EXPLAIN ANALYZE COPY t TO '{here}/new.csv'", "",
    ],
)  # fmt: skip
def test_duckdb_writes_nothing(query: str, folder: Path, duckdb_file: str) -> None:
    refused("duckdb", duckdb_file, query.format(here=folder), folder)


@pytest.mark.parametrize("query", ["SELECT x, upper(y) AS y FROM t ORDER BY x", "FROM t ORDER BY x", WITH])
def test_duckdb_reads(query: str, folder: Path, duckdb_file: str) -> None:
    before = contents(folder)
    assert query_rows("duckdb", duckdb_file, query).to_series(0).to_list()[:2] == ["1", "2"]
    assert contents(folder) == before


@pytest.fixture(scope="module")
def database() -> Iterator[Any]:
    server = start()
    if not isinstance(server, Server):
        pytest.skip(server)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def url(database: Server) -> Any:
    import psycopg

    found = database.database()
    with psycopg.connect(found) as db:
        db.execute("CREATE TABLE t (x INTEGER, y TEXT)")
        db.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
        db.execute("CREATE SEQUENCE s")
        db.execute("CREATE FUNCTION grows() RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (9, NULL) RETURNING x'")
        db.execute("SELECT lo_from_bytea(4711, 'large object')")
    return found


def state_of(url: str) -> Any:
    import psycopg

    with psycopg.connect(url) as db:
        tables = db.execute("SELECT array_agg(relname::text ORDER BY relname) FROM pg_class WHERE relkind IN ('r', 'S') "
                            "AND relnamespace = 'public'::regnamespace").fetchone()  # fmt: skip
        return tables, db.execute("SELECT * FROM t ORDER BY x").fetchall(), db.execute("TABLE s").fetchone()


@pytest.mark.parametrize(
    "query",
    [
        "COPY t TO '{here}/new.csv'", "COPY t TO PROGRAM 'touch {here}/new'", "COPY t TO STDOUT",
        "COMMIT; CREATE TABLE u (x INT)", "SELECT 1; COMMIT; CREATE TABLE u (x INT); SELECT 1",
        "SET TRANSACTION READ WRITE", "SET TRANSACTION READ WRITE; INSERT INTO t VALUES (3, 'c') RETURNING *",
        "SELECT set_config('transaction_read_only', 'off', false)",
        "INSERT INTO t VALUES (3, 'c') RETURNING *", "WITH w AS (DELETE FROM t RETURNING *) SELECT * FROM w",
        "SELECT x INTO u FROM t", "CREATE TABLE u AS SELECT 1", "SELECT nextval('s')", "SELECT setval('s', 7)",
        "SELECT grows()", "SELECT lo_export(4711, '{here}/new')", "SELECT lo_import('{here}/machine.txt')",
        "SELECT pg_read_file('{here}/machine.txt')", "SELECT pg_ls_dir('{here}')", "DO $$ BEGIN END $$", "VACUUM",
        "CREATE EXTENSION dblink", "ALTER SYSTEM SET work_mem = '1GB'", "SELECT pg_reload_conf()", "LOAD 'dblink'", "",
    ],
)  # fmt: skip
def test_postgres_writes_nothing(query: str, url: str) -> None:
    with tempfile.TemporaryDirectory(prefix="privjail-sql-") as name:  # not below pytest's folder, which is closed
        here = Path(name)
        here.chmod(0o777)  # the server runs as another user
        (here / "machine.txt").write_text(SECRET)
        before = state_of(url)
        refused("postgres", url, query.format(here=here), here)
        assert state_of(url) == before


@pytest.mark.parametrize("query", ["SELECT x, upper(y) AS y FROM t ORDER BY x", "TABLE t ORDER BY x", WITH, "VALUES (1), (2)"])  # fmt: skip
def test_postgres_reads(query: str, url: str) -> None:
    assert query_rows("postgres", url, query).to_series(0).to_list()[:2] == ["1", "2"]
