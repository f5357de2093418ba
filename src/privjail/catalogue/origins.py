"""Where a data set's rows come from: files, folders, and SQL. Only curators name these."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import polars as pl

from privjail.catalogue.load import read_csv_text, read_parquet_frame
from privjail.errors import SchemaError

KINDS = ("csv", "parquet", "folder", "sqlite", "duckdb", "postgres")


def origin_of(given: str, kind: str | None, query: str | None) -> dict[str, Any]:
    """A curator's FILE argument as a record of where the rows are."""
    if kind is None:
        kind = _guess(given)
    if kind not in KINDS:
        raise SchemaError(f"unknown kind of data {kind!r}", do=f"use one of {', '.join(KINDS)}")
    if kind in ("sqlite", "duckdb", "postgres"):
        if not query:
            raise SchemaError("a database needs a table or a query", do="give --table NAME or --query 'SELECT …'")
        place = given if kind == "postgres" else str(Path(given).resolve())
        return {"kind": kind, "place": place, "query": query}
    return {"kind": kind, "place": str(Path(given).resolve())}


def _guess(given: str) -> str:
    if given.startswith(("postgres://", "postgresql://")):
        return "postgres"
    path = Path(given)
    if path.is_dir():
        return "folder"
    endings = {".parquet": "parquet", ".pq": "parquet", ".sqlite": "sqlite", ".db": "sqlite", ".duckdb": "duckdb"}
    return endings.get(path.suffix, "csv")


def fetch(origin: dict[str, Any], folder: Path) -> pl.DataFrame:
    """All rows, in the order of the origin."""
    place = origin["place"]
    match origin["kind"]:
        case "csv":
            return read_csv_text(Path(place))
        case "parquet":
            return read_parquet_frame(Path(place))
        case "folder":
            parts = [read_parquet_frame(path) for path in _files(place)]
            try:
                return pl.concat(parts, how="vertical")
            except pl.exceptions.PolarsError:
                raise SchemaError("the files of the folder do not have the same columns") from None
    return _sql(origin["kind"], place, origin["query"])


def _files(place: str) -> list[Path]:
    files = sorted(Path(place).glob("*.parquet"))
    if not files:
        raise SchemaError("the folder holds no Parquet files")
    return files


def _sql(kind: str, place: str, query: str) -> pl.DataFrame:
    try:
        cursor = _cursor(kind, place, query)
        names = [column[0] for column in cursor.description]
        rows = cursor.fetchall()
    except SchemaError:
        raise
    except Exception as e:  # each driver has its own errors, whose texts may quote data
        raise SchemaError(f"the {kind} query failed ({type(e).__name__})", do="run it by hand to see why") from None
    if len(set(names)) != len(names):
        raise SchemaError("the query gives two columns of the same name")
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return pl.DataFrame({n: pl.Series(n, list(c), strict=False) for n, c in zip(names, columns, strict=True)})


def _cursor(kind: str, place: str, query: str) -> Any:
    if kind == "sqlite":
        import sqlite3

        if not Path(place).exists():
            raise SchemaError(f"there is no file {Path(place).name!r}")
        return sqlite3.connect(f"file:{place}?mode=ro", uri=True).execute(query)
    try:
        if kind == "duckdb":
            import duckdb

            return duckdb.connect(place, read_only=True).execute(query)
        import psycopg

        return psycopg.connect(place, autocommit=False).execute(query)
    except ImportError:
        raise SchemaError(f"{kind} needs another package", do=f"pip install 'privjail[{kind}]'") from None


def fingerprint(origin: dict[str, Any], folder: Path) -> str:
    """A hash of the files, so that changed data is noticed; for SQL, of the query alone."""
    digest = hashlib.blake2b(digest_size=16)
    if origin["kind"] in ("sqlite", "duckdb", "postgres"):
        digest.update(f"{origin['place']}\n{origin['query']}".encode())
        return digest.hexdigest()
    files = _files(origin["place"]) if origin["kind"] == "folder" else [Path(origin["place"])]
    for path in files:
        try:
            with path.open("rb") as f:
                while block := f.read(2**20):
                    digest.update(block)
        except OSError:
            raise SchemaError(f"{path.name!r} cannot be read") from None
    return digest.hexdigest()
