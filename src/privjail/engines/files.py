"""The held form on disk: Parquet files that every engine reads, with a manifest that says what they hold.

A folder with ``held.json`` and part-00000.parquet, part-00001.parquet, … Each part holds the rows of consecutive
positions, as the columns ``position``, c0, c1, … (types of engines/held.py; moments as whole microseconds). Columns go
by their numbers: names are in the manifest only, so no name that somebody chose is part of a query. The digest is a
hash of the manifest, which holds a hash of every part: whoever knows the digest knows whether these are the rows.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privjail.errors import SchemaError
from privjail.ops.rows.source import Dataset
from privjail.plan.domain import Domain, TimeDomain

MANIFEST = "held.json"
VERSION = 1
BLOCK = 1 << 20
Stamp = tuple[int, int, int, int]  # device, number, size and time of change of a file


@dataclass(frozen=True)
class Part:
    """One file: its name, its rows, a hash of its bytes."""

    name: str
    rows: int
    sha256: str


@dataclass(frozen=True)
class HeldFiles:
    """Rows in the held form, in the files of a folder."""

    folder: Path
    schema: dict[str, Any]  # as the curator gave it; it was enforced when the files were written
    unit: tuple[str | None, int | None]
    types: tuple[tuple[str, str], ...]  # of the columns as they came, which undeclared columns go by
    parts: tuple[Part, ...]

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts)

    @property
    def paths(self) -> list[Path]:
        return [self.folder / part.name for part in self.parts]

    def manifest(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "schema": self.schema,
            "unit": list(self.unit),
            "types": [list(each) for each in self.types],
            "parts": [[part.name, part.rows, part.sha256] for part in self.parts],
        }

    @property
    def digest(self) -> str:
        return hashlib.sha256(_canonical(self.manifest())).hexdigest()

    @staticmethod
    def read(folder: Path) -> HeldFiles:
        """What a manifest says. The parts are not looked at: see ``verify``."""
        try:
            found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            if found["version"] != VERSION:
                raise SchemaError(f"{folder.name!r} was written by another version", do="ingest the data again")
            parts = tuple(Part(str(name), int(rows), str(hashed)) for name, rows, hashed in found["parts"])
            types = tuple((str(name), str(kind)) for name, kind in found["types"])
            owner, most = found["unit"]
            if any(Path(part.name).name != part.name for part in parts):
                raise ValueError
            return HeldFiles(folder, dict(found["schema"]), (owner, most), types, parts)
        except (OSError, ValueError, TypeError, KeyError):
            pass
        raise SchemaError(f"{folder.name!r} holds no data that was ingested", do="make it with: privjail ingest")

    def verify(self, digest: str) -> None:
        """Refuse files that are not those of a digest. It reads all of them."""
        if self.digest != digest or any(file_hash(self.folder / p.name) != p.sha256 for p in self.parts):
            raise SchemaError(
                f"the files of {self.folder.name!r} are not those that were added: their digest is another one",
                do="put them back from a copy, or ingest the data under a new name, with a budget of its own",
            )


def holds_files(folder: Path) -> bool:
    return (folder / MANIFEST).is_file()


def file_hash(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
    except OSError:
        return ""
    return digest.hexdigest()


def stamp(path: Path) -> Stamp:
    """What tells a file from the one that was there when it was opened, without reading it."""
    try:
        found = os.stat(path)
    except OSError:
        raise SchemaError(f"there is no file {path.name!r}") from None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def columns_as_held(dataset_columns: Sequence[tuple[str, Domain]]) -> list[tuple[str, str, bool]]:
    """(name in the files, name in the data set, whether it is a moment) of each column."""
    return [(f"c{i:d}", name, isinstance(domain, TimeDomain)) for i, (name, domain) in enumerate(dataset_columns)]


def in_polars(files: HeldFiles, dataset: Dataset) -> Any:
    """The same for Polars: frames whose columns have their names, read from disk in batches."""
    import polars as pl

    from privjail.engines.polars.disk import OnDisk

    columns = [
        (pl.col(stored).cast(pl.Datetime("us")) if moment else pl.col(stored)).alias(name)
        for stored, name, moment in columns_as_held(dataset.columns)
    ]
    return OnDisk.of(files.paths).reshaped(lambda rows: rows.select(columns))


def _canonical(manifest: dict[str, Any]) -> bytes:
    return json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode()
