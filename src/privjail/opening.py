"""Opening data sets: in this process from a file or a frame, or by name from a jail."""

from __future__ import annotations

import hashlib
import itertools
import os
from pathlib import Path
from typing import Any

from privjail import session
from privjail.budget.notions import Notion, PureDP
from privjail.catalogue.schema import read_schema
from privjail.errors import PlanError, SchemaError
from privjail.ops.rows.source import Column, Dataset, Source, Unit

_frame_numbers = itertools.count(1)
_held_files: dict[str, int] = {}  # open handles: no other file can get the inode of one that was deleted meanwhile


def open_csv(path: Any, sep: str, schema: Any, budget: Any, unit: str | None, most: int | None) -> Source:
    """A CSV file, or with a connection the data set of that name."""
    remote = _remote(path, schema, budget, unit, most)
    if remote is not None:
        return remote
    from privjail.catalogue.files import read_csv_text

    frame = read_csv_text(Path(path), sep)
    return open_here(_file_identity(path), str(path), frame, schema, budget, unit, most)


def open_parquet(path: Any, schema: Any, budget: Any, unit: str | None, most: int | None) -> Source:
    """A Parquet file, or with a connection the data set of that name."""
    remote = _remote(path, schema, budget, unit, most)
    if remote is not None:
        return remote
    from privjail.catalogue import files

    frame = files.open_parquet(Path(path))
    return open_here(_file_identity(path), str(path), frame, schema, budget, unit, most)


def open_frame(frame: Any, name: str, schema: Any, budget: Any, unit: str | None, most: int | None) -> Source:
    """A pandas or Polars frame; each is a data set of its own."""
    if session.connection() is not None:
        raise PlanError("a jail opens only data sets that its curator added", do="pd.read_csv(name)")
    from privjail.catalogue.files import frame_of

    return open_here(f"frame:{next(_frame_numbers)}", str(name), frame_of(frame), schema, budget, unit, most)


def columns_of(source: Source) -> dict[str, Column]:
    """The columns of a data set, by name."""
    return {name: Column(source, name) for name, _ in source.dataset.columns}


def open_here(
    identity: str, name: str, frame: Any, schema: Any, budget: Any, unit: str | None, most: int | None
) -> Source:
    """Enforce the schema and hand the data set to the jail of this process."""
    from privjail.catalogue.load import enforce

    if most is not None and (unit is None or type(most) is not int or most < 1):
        raise PlanError("max_rows_per_unit needs unit= a column, and a whole number ≥ 1")
    whose = Unit() if unit is None else Unit(unit, most)
    held, domains = enforce(frame, read_schema(schema), whose)
    dataset = Dataset(identity, name, tuple(domains.items()), whose)
    return session.open_frame(dataset, held, _notion(budget))


def _remote(path: Any, *given: Any) -> Source | None:
    """With a connection: the data set of that name. Paths, schemas and budgets are the curator's."""
    connection = session.connection()
    if connection is None:
        return None
    if any(each is not None for each in given):
        raise PlanError(
            "schema, budget and unit are set by the curator of the jail", do="pd.read_csv(name) and nothing more"
        )
    return connection.source(str(path))


def _file_identity(path: Any) -> str:
    """One file is one data set, by whatever path it is reached."""
    real = os.path.realpath(path)
    try:
        handle = os.open(real, os.O_RDONLY)
    except OSError:
        raise SchemaError(f"there is no file {Path(path).name!r}") from None
    stat = os.fstat(handle)
    identity = "file:" + hashlib.sha256(f"{stat.st_dev}:{stat.st_ino}".encode()).hexdigest()
    if _held_files.setdefault(identity, handle) != handle:
        os.close(handle)
    return identity


def _notion(budget: Any) -> Notion | None:
    return budget if budget is None or isinstance(budget, Notion) else PureDP(budget)
