"""A first schema, guessed from the data, for the curator to correct."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from privjail.catalogue.files import read_csv_text, read_parquet_frame
from privjail.catalogue.load import enforce
from privjail.catalogue.origins import NO_HEADER, fetch, headed, origin_of, remarks
from privjail.catalogue.schema import ColumnSchema
from privjail.engines.polars.disk import OnDisk
from privjail.errors import SchemaError
from privjail.ops.rows.source import Unit
from privjail.plan.domain import Domain, FloatDomain, IntDomain, TimeDomain

MARKS = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "-")
MOST_CATEGORIES = 60
Entry = dict[str, Any]

TOML_HEAD = """\
# A draft: types, ranges and categories below were read from the data.
# They are a leak themselves. Replace each by what is known without the data.

"""


def read_raw(path: Path) -> pl.DataFrame:
    """A file as it is: CSV (all text) or, by its ending, Parquet."""
    if path.suffix.lower() in (".parquet", ".pq"):
        return read_parquet_frame(path)
    return read_csv_text(path)


def need_header(path: Path) -> None:
    """Refuse a CSV file without names of columns: its first row would stand in the draft, as names."""
    if path.is_file() and path.stat().st_size and not headed(path):
        raise SchemaError(
            f"{NO_HEADER.format(path.name)}: a draft would show it",
            do="add a line with names of columns at the top; if these are names, give --header",
        )


def read_any(
    given: str, kind: str | None = None, query: str | None = None, header: bool = False
) -> tuple[pl.DataFrame, list[str]]:
    """The rows of a file, a folder or a database, as a data set would have them, and what looks wrong about them.

    ``header``: the first line of a CSV file is names, whatever it looks like.
    """
    origin = origin_of(given, kind, query)
    if origin["kind"] == "csv" and not header:
        need_header(Path(origin["place"]))
    if origin["kind"] == "held":
        raise SchemaError("ingested data has its schema with it", do="draft from what it was made of")
    rows = fetch(origin, Path())
    return rows.lazy().collect() if isinstance(rows, OnDisk) else rows, remarks(origin)


def draft(frame: pl.DataFrame) -> dict[str, Entry]:
    """An entry for each column."""
    return {name: _entry(frame[name]) for name in frame.columns}


def _entry(column: pl.Series) -> Entry:
    text = column.cast(pl.String(), strict=False)
    marks = [m for m in MARKS if m and (text == m).any()]
    present = column.filter(text.is_not_null() & ~text.str.strip_chars().is_in(list(MARKS)))
    entry = _guess(present)
    if marks:
        entry["na_value"] = marks[0] if len(marks) == 1 else marks
    return entry


def _guess(present: pl.Series) -> Entry:
    """The narrowest type that every value can be read as, by the rules that loading follows."""
    if present.is_empty():
        return {"type": "string"}
    if present.dtype == pl.Boolean() or _words(present) <= {"true", "false", "yes", "no"}:
        return {"type": "boolean"}
    for name, domain in {"Int64": IntDomain(), "Float64": FloatDomain(), "datetime": TimeDomain()}.items():
        if present.dtype.is_temporal() and name != "datetime" or present.dtype.is_float() and name == "Int64":
            continue
        read = _read(present, domain)
        if not read.null_count():
            low, high = read.min(), read.max()
            return {"type": name, "range": [_plain(low), _plain(high)]}
    values = sorted(present.cast(pl.String()).unique().to_list())
    if len(values) <= MOST_CATEGORIES and 2 * len(values) <= len(present):
        return {"type": "category", "categories": values}
    return {"type": "string"}


def _words(present: pl.Series) -> set[str]:
    return set(present.cast(pl.String(), strict=False).str.to_lowercase().unique().head(5).to_list())


def _read(column: pl.Series, domain: Domain) -> pl.Series:
    frame, _ = enforce(column.to_frame(), {column.name: ColumnSchema(domain)}, Unit())
    return frame[column.name]


def _plain(bound: Any) -> Any:
    return bound if isinstance(bound, (int, float)) else bound.isoformat()


def spell(schema: dict[str, Entry], form: str, head: bool = True) -> str:
    """A schema as the text of a file; ``head``: a warning that it is a draft, where comments can be written."""
    if form == "toml":
        return (TOML_HEAD if head else "") + "\n".join(_toml_table(name, entry) for name, entry in schema.items())
    lines = [f" {json.dumps(n, ensure_ascii=False)}: {json.dumps(e, ensure_ascii=False)}" for n, e in schema.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _toml_table(name: str, entry: Entry) -> str:
    # A JSON string is a TOML basic string, and a list of strings or numbers is written alike in both.
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    return "\n".join([f"[{json.dumps(name, ensure_ascii=False)}]", *lines]) + "\n"
