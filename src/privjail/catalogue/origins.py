"""Where a data set's rows come from: files, folders, and SQL. Only curators name these."""

from __future__ import annotations

import codecs
import csv
import hashlib
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from privjail.catalogue.files import open_parquet, read_csv_text, scan_csv_text
from privjail.catalogue.sql import query_rows
from privjail.engines.files import HeldFiles, holds_files
from privjail.engines.polars.disk import OnDisk
from privjail.errors import SchemaError
from privjail.faults import FILES

KINDS = ("csv", "parquet", "folder", "held", "sqlite", "duckdb", "postgres")


def origin_of(given: str, kind: str | None, query: str | None) -> dict[str, Any]:
    """A curator's FILE argument as a record of where the rows are."""
    if any(c == "\0" or "\ud800" <= c <= "\udfff" for c in given):  # engines open names in UTF-8 only
        raise SchemaError(f"the name {given!r} is no text in UTF-8", do="rename the file")
    if kind is None:
        kind = _guess(given)
    if kind not in KINDS:
        raise SchemaError(f"unknown kind of data {kind!r}", do=f"use one of {', '.join(KINDS)}")
    if kind not in ("sqlite", "duckdb", "postgres"):
        if query:
            raise SchemaError(f"a {kind} has no tables to query", do="leave out --table and --query, or give --kind")
    else:
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
        return "held" if holds_files(path) else "folder"
    endings = {".parquet": "parquet", ".pq": "parquet", ".sqlite": "sqlite", ".db": "sqlite", ".duckdb": "duckdb"}
    return endings.get(path.suffix, "csv")


class ChangedRows(SchemaError):
    """A query gives other rows than when the data set was added or updated, or gives them in another order."""


def fetch(origin: dict[str, Any], folder: Path, expected: str | None = None) -> pl.DataFrame | OnDisk:
    """All rows, in the order of the origin; or where they are, if they are too many to hold.

    ``expected``: the fingerprint that the rows of a query must have. It is taken of the rows that are returned: a
    database may change between two queries, and rows of two states must not be taken for those of one.
    """
    place = origin["place"]
    match origin["kind"]:
        case "csv":
            return read_csv_text(Path(place))
        case "parquet":
            return open_parquet(Path(place))
        case "folder":
            return open_parquet(*_files(place))
    rows = query_rows(origin["kind"], place, origin["query"])
    if expected is not None and _digest_of_rows(rows) != expected:
        raise ChangedRows(
            "the query gives other rows than before, or gives them in another order",
            do="say so: privjail dataset update; and give the query an ORDER BY",
        )
    return rows


def batches_of(origin: dict[str, Any], rows: int) -> Iterator[pl.DataFrame]:
    """All rows, in the order of the origin, a batch at a time; at least one batch, which may be empty.

    What a database gives is held as a whole first.
    """
    match origin["kind"]:
        case "csv":
            yield from scan_csv_text(Path(origin["place"]), rows)
        case "parquet" | "folder":
            paths = [Path(origin["place"])] if origin["kind"] == "parquet" else _files(origin["place"])
            disk = OnDisk.of(paths)
            yield disk.lazy().head(0).collect()
            for read in disk.batches((), rows):
                yield read()
        case _:
            yield query_rows(origin["kind"], origin["place"], origin["query"])


def _files(place: str) -> list[Path]:
    files = sorted(Path(place).glob("*.parquet"))
    if not files:
        raise SchemaError("the folder holds no Parquet files", do="name a folder with files that end in .parquet")
    return files


def remarks(origin: dict[str, Any]) -> list[str]:
    """What a curator should know about an origin."""
    if "query" in origin and not re.search(r"\border\s+by\b", origin["query"], re.IGNORECASE):
        return ["the query has no ORDER BY: the rows come in whatever order the database gives them"]
    return csv_remarks(Path(origin["place"])) if origin["kind"] == "csv" else []


NO_HEADER = "the first line of {!r} looks like a row of data, not like names of columns"
VALUE = re.compile(r"\s*[-+]?(\d[\d.,;|:/ \tT-]*|\d*\.\d+([eE][-+]?\d+)?|nan|true|false)?\s*", re.IGNORECASE)


def headed(path: Path) -> bool:
    """Whether the first line of a CSV file can be names: none of them is empty, a number, a date, or a value below it.

    A first line of words that occur nowhere else cannot be told from names.
    """
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        try:
            first, *rows = itertools.islice(csv.reader(file), 1_000)
        except (csv.Error, ValueError):  # an empty file, or none of text: others say so
            return True
    if any(VALUE.fullmatch(name) for name in first):
        return False
    return not any(name == value for row in rows for name, value in zip(first, row, strict=False))


def csv_remarks(path: Path) -> list[str]:
    """What looks wrong about a CSV file: another separator, another encoding. The header is public."""
    with path.open("rb") as file:
        start = file.read(2**20)
    header = start.partition(b"\n")[0].decode("utf-8", "replace")
    found = [] if headed(path) else [f"{NO_HEADER.format(path.name)}: names of columns are public, values are not"]
    for mark, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if "," not in header and mark in header:
            found.append(f"the header of {path.name!r} has {name} and no commas: columns are separated by commas here")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)  # which may end inside a letter
    except UnicodeDecodeError:
        found.append(
            f"{path.name!r} is not UTF-8, so letters such as é are lost; if it is Latin-1: iconv -f latin1 -t utf8"
        )
    return found


def fingerprint(origin: dict[str, Any]) -> str:
    """A hash of the files, or of the rows that a query gives, so that changed data is noticed."""
    if "query" in origin:
        return _digest_of_rows(query_rows(origin["kind"], origin["place"], origin["query"]))
    digest = hashlib.blake2b(digest_size=32)
    if origin["kind"] == "held":
        return HeldFiles.read(Path(origin["place"])).digest
    files = _files(origin["place"]) if origin["kind"] == "folder" else [Path(origin["place"])]
    for path in files:
        try:
            with path.open("rb") as f:
                while block := f.read(2**20):
                    digest.update(block)
        except OSError as e:
            wrong, do = FILES.get(e.errno or 0, (f"cannot be read: {e.strerror}", None))
            raise SchemaError(f"{path.name!r} {wrong}", do=do) from None
    return digest.hexdigest()


def _digest_of_rows(rows: pl.DataFrame) -> str:
    """A hash of columns of text, with their names and the order of the rows. Lengths say where each value ends."""
    digest = hashlib.blake2b(f"{rows.width} {rows.height}\n".encode(), digest_size=32)
    for name in rows.columns:
        for text in (pl.Series([name]), rows[name]):
            digest.update(text.str.len_bytes().cast(pl.Int64()).fill_null(-1).to_numpy().astype("<i8").tobytes())
            digest.update("".join(text.drop_nulls().to_list()).encode())
    return digest.hexdigest()
