"""The rows of a curator's SQL query. The query may read the database that it was given, and write nothing.

A read-only database is not enough: ATTACH, COPY TO and their like write other files, settings name files to log
into, and a transaction can be ended and another one begun. So each engine is told to take a single SELECT and to
refuse all else (tests/catalogue/test_sql.py tries).
"""

from __future__ import annotations

import contextlib
import datetime
import sqlite3
from pathlib import Path
from typing import Any

import polars as pl

from privjail.errors import SchemaError

Rows = tuple[list[str], list[Any]]  # names of columns, and rows

#: What a SELECT needs of SQLite. Not ATTACH, which writes files; not PRAGMA, nor anything that changes a table.
SQLITE_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
SQLITE_REFUSED = {"load_extension", "fts3_tokenizer", "writefile", "readfile", "edit"}
#: No file but the database itself, no extension, and no setting that could change this.
DUCKDB_CLOSED: dict[str, Any] = {
    "enable_external_access": "false", "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
    "lock_configuration": "true",
}  # fmt: skip


def query_rows(kind: str, place: str, query: str) -> pl.DataFrame:
    """The rows of a query, all as text like a CSV file's: what a column is, the schema says and not the data."""
    if kind != "postgres" and not Path(place).is_file():
        raise SchemaError(f"there is no file {Path(place).name!r}", do="give the path of the database")
    try:
        names, rows = {"sqlite": _sqlite, "duckdb": _duckdb, "postgres": _postgres}[kind](place, query)
    except SchemaError:
        raise
    except ImportError:
        failed = None
    except Exception as e:  # each driver has its own errors, whose texts may quote data
        failed = type(e).__name__
    else:
        if len(set(names)) != len(names):
            raise SchemaError("the query gives two columns of the same name")
        columns = ([_text(row[i]) for row in rows] for i in range(len(names)))
        return pl.DataFrame([pl.Series(n, c, dtype=pl.String()) for n, c in zip(names, columns, strict=True)])
    # Outside the except block, so that the error has no __context__ to look into.
    if failed is None:
        raise SchemaError(f"{kind} needs another package", do=f"pip install 'privjail-dp[{kind}]'")
    raise SchemaError(
        f"the {kind} query failed ({failed})", do="run it by hand to see why; it must be one SELECT that writes nothing"
    )


def _sqlite(place: str, query: str) -> Rows:
    def allowed(action: int, first: str | None, second: str | None, *_: Any) -> int:
        reads = action in SQLITE_READS and not (action == sqlite3.SQLITE_FUNCTION and second in SQLITE_REFUSED)
        return sqlite3.SQLITE_OK if reads else sqlite3.SQLITE_DENY

    with contextlib.closing(sqlite3.connect(f"{Path(place).as_uri()}?mode=ro", uri=True)) as connection:
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        connection.set_authorizer(allowed)
        cursor = connection.execute(query)
        return [column[0] for column in _described(cursor)], cursor.fetchall()


def _duckdb(place: str, query: str) -> Rows:
    import duckdb

    statements = duckdb.extract_statements(query)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise SchemaError("the query must be one SELECT")
    with contextlib.closing(duckdb.connect(place, read_only=True, config=DUCKDB_CLOSED)) as connection:
        cursor = connection.execute(query)
        return [column[0] for column in _described(cursor)], cursor.fetchall()


def _postgres(place: str, query: str) -> Rows:
    import psycopg

    with contextlib.closing(psycopg.connect(place, connect_timeout=10)) as connection:
        connection.read_only = True
        superuser = connection.execute(
            "SELECT rolsuper AND EXISTS (SELECT FROM pg_roles WHERE rolname = 'pg_read_all_data') "
            "FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        if superuser and superuser[0]:
            # A superuser's functions can write files of the server, also in a read-only transaction.
            connection.execute("SET LOCAL ROLE pg_read_all_data")
        # A cursor takes a SELECT that changes nothing. Prepared, it is one statement: none can follow that ends
        # the transaction, which is what keeps the query from writing.
        connection.execute(f"DECLARE privjail_rows NO SCROLL CURSOR FOR {query}", prepare=True)
        cursor = connection.execute("FETCH ALL FROM privjail_rows")
        return [column[0] for column in _described(cursor)], cursor.fetchall()


def _described(cursor: Any) -> Any:
    if cursor.description is None:
        raise SchemaError("the query gives no rows", do="it must be one SELECT")
    return cursor.description


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, (bytes, memoryview)):
        return None
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.UTC).replace(tzinfo=None)
        return str(value.isoformat(sep=" "))
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))  # as a file would spell it
    return str(value)
