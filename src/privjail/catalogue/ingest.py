"""Ingest: rows of a file or a database, made to keep what their schema promises, and written in the held form.

Rows are read, checked and written a batch at a time, so the table is never held as a whole; of each privacy unit only
the number of its rows is remembered. A part is written under another name and renamed when it is complete, and noted;
an ingest that was broken off goes on after the last part that is noted, if the data is still the same.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from privjail.catalogue.load import enforce
from privjail.catalogue.origins import batches_of, fingerprint
from privjail.catalogue.schema import read_schema
from privjail.engines.files import MANIFEST, HeldFiles, Part, columns_as_held, file_hash
from privjail.errors import SchemaError
from privjail.ops.rows.source import Unit
from privjail.plan.domain import Domain

PART_ROWS = 1 << 22
BATCH_ROWS = 1 << 20  # of one group of rows in a file
UNFINISHED = "unfinished.json"
Progress = Callable[[int], None]  # called with the rows that are written


def ingest(
    origin: dict[str, Any], schema: dict[str, Any], unit: Unit, folder: Path, progress: Progress = lambda rows: None,
    part_rows: int = PART_ROWS,
) -> HeldFiles:  # fmt: skip
    """Write the rows of an origin into a folder, in the held form; goes on where an earlier call was broken off."""
    if (folder / MANIFEST).exists():
        raise SchemaError(f"{folder.name!r} holds ingested data already", do="name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    note = {"origin": fingerprint(origin), "schema": schema, "unit": [unit.column, unit.most_rows], "rows": part_rows}
    parts = _finished(folder, note)
    done = sum(part.rows for part in parts)
    written = done
    types: tuple[tuple[str, str], ...] = ()
    for rows, domains, types in _parts(origin, schema, unit, part_rows, done):  # noqa: B007
        parts.append(_write(folder, len(parts), rows, domains, written))
        written += rows.height
        _durably(folder / UNFINISHED, {**note, "types": types, "parts": [[p.name, p.rows, p.sha256] for p in parts]})
        progress(written)
    files = HeldFiles(folder, schema, (unit.column, unit.most_rows), tuple(types), tuple(parts))
    _durably(folder / MANIFEST, files.manifest())
    (folder / UNFINISHED).unlink(missing_ok=True)
    return files


def _finished(folder: Path, note: dict[str, Any]) -> list[Part]:
    """The parts that an earlier ingest of the same data completed."""
    try:
        found = json.loads((folder / UNFINISHED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        if any(folder.iterdir()):
            raise SchemaError(f"{folder.name!r} is not empty", do="name a folder that does not exist yet") from None
        return []
    if {key: found.get(key) for key in note} != json.loads(json.dumps(note)):
        raise SchemaError(
            f"{folder.name!r} holds an unfinished ingest of other data, or with another schema", do="remove the folder"
        )
    parts = [Part(*each) for each in found["parts"]]
    if any(file_hash(folder / part.name) != part.sha256 for part in parts):
        raise SchemaError(f"a file of {folder.name!r} is damaged", do="remove the folder")
    return parts


def _parts(
    origin: dict[str, Any], schema: dict[str, Any], unit: Unit, part_rows: int, skipped: int
) -> Iterator[tuple[pl.DataFrame, dict[str, Domain], tuple[tuple[str, str], ...]]]:
    """The rows in the order of the origin, in frames of one part each; at least one, which may be empty."""
    owners = _Owners(unit)
    waiting: list[pl.DataFrame] = []
    domains: dict[str, Domain] = {}
    types: tuple[tuple[str, str], ...] = ()
    height, first = 0, True
    for batch in batches_of(origin, BATCH_ROWS):
        types = tuple((name, _kind(dtype)) for name, dtype in batch.schema.items())
        rows, domains = enforce(batch, read_schema(schema), Unit(unit.column, None if unit.column else 1))
        rows = owners.bounded(rows)
        if skipped >= rows.height:
            skipped -= rows.height
            continue
        rows, skipped = rows.slice(skipped), 0
        waiting.append(rows)
        height += rows.height
        while height >= part_rows:
            whole = pl.concat(waiting)
            yield whole.head(part_rows), domains, types
            waiting, first = [whole.slice(part_rows)], False
            height -= part_rows
    if height or first:
        yield pl.concat(waiting) if waiting else rows.clear(), domains, types


#: What an undeclared column is, as far as its domain depends on it; and a type of that kind.
KINDS: dict[str, Any] = {
    "bool": pl.Boolean(), "time": pl.Datetime("us"), "number": pl.Float64(), "category": pl.Categorical(),
    "text": pl.String(),
}  # fmt: skip


def _kind(dtype: pl.DataType) -> str:
    if isinstance(dtype, pl.Boolean):
        return "bool"
    if isinstance(dtype, (pl.Datetime, pl.Date)):
        return "time"
    if dtype.is_numeric():
        return "number"
    return "category" if isinstance(dtype, (pl.Categorical, pl.Enum)) else "text"


def domains_of(files: HeldFiles) -> dict[str, Domain]:
    """The domains that ingested rows keep: those that their schema gives to columns of these types."""
    empty = pl.DataFrame(schema={name: KINDS[kind] for name, kind in files.types})
    return enforce(empty, read_schema(files.schema), Unit(*files.unit))[1]


class _Owners:
    """Keeps the first rows of each privacy unit, as many as one may have, across batches."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._seen: pl.DataFrame | None = None  # each owner with the number of rows so far

    def bounded(self, rows: pl.DataFrame) -> pl.DataFrame:
        owner, most = self._unit.column, self._unit.most_rows
        if owner is None or most is None:
            return rows
        owners = rows.select(pl.col(owner).alias("owner")).with_columns(rank=pl.int_range(pl.len()).over("owner"))
        if self._seen is None:
            self._seen = owners.clear().select("owner", before=pl.lit(0, pl.UInt32()))
        before = owners.join(self._seen, on="owner", how="left", maintain_order="left")["before"].fill_null(0)
        now = owners.group_by("owner").agg(before=pl.len().cast(pl.UInt32()))
        self._seen = pl.concat([self._seen, now]).group_by("owner").agg(pl.col("before").sum())
        return rows.filter(owners["rank"] + before.cast(pl.Int64()) < most)


def _write(folder: Path, number: int, rows: pl.DataFrame, domains: dict[str, Domain], start: int) -> Part:
    """One part, complete and on disk before it has its name."""
    name = f"part-{number:05d}.parquet"
    stored = [pl.int_range(start, start + rows.height, dtype=pl.Int64()).alias("position")]
    for as_stored, column, moment in columns_as_held(list(domains.items())):
        held = rows[column].cast(pl.Int64()) if moment else rows[column]
        stored.append(pl.lit(held).alias(as_stored))
    path, arriving = folder / name, folder / f"{name}.arriving"
    pl.select(stored).write_parquet(arriving, row_group_size=BATCH_ROWS, compression="zstd", compression_level=1)
    _sync(arriving)
    arriving.rename(path)
    _sync(folder)
    return Part(name, rows.height, file_hash(path))


def _durably(path: Path, body: dict[str, Any]) -> None:
    arriving = path.with_name(path.name + ".arriving")
    arriving.write_text(json.dumps(body, sort_keys=True), encoding="utf-8")
    _sync(arriving)
    arriving.rename(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
