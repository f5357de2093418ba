"""Opening data: read_csv, read_parquet, and frames."""

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
from privjail.ops.source import Column, Dataset, Unit
from privjail.pandas.frame import PrivDataFrame

_fresh = itertools.count(1)
_held: dict[str, int] = {}  # open handles: no other file can get the number of one that was deleted meanwhile


def read_csv(
    path: Any, schema: Any = None, *, budget: Any = None, unit: str | None = None, max_rows_per_unit: int | None = None,
    sep: str = ",",
) -> PrivDataFrame:  # fmt: skip
    """Open a CSV file as a private table.

    ``schema``: a JSON or TOML file, or a dict; it is enforced. ``budget``: ε, or a PureDP, ApproxDP, ZCDP or
    RenyiDP. ``unit``: the column that says whose row it is, if a person can have several rows.

    A column that the schema does not name is ``untyped``: its type is not guessed from the data. It is text, and
    becomes a number where it is computed with, compared with a number, or clipped.
    """
    remote = _remote(path, schema, budget, unit, max_rows_per_unit)
    if remote is not None:
        return remote
    from privjail.catalogue.files import read_csv_text

    frame = read_csv_text(Path(path), sep)
    return _open(_file_identity(path), str(path), frame, schema, budget, unit, max_rows_per_unit)


def read_parquet(
    path: Any, schema: Any = None, *, budget: Any = None, unit: str | None = None, max_rows_per_unit: int | None = None
) -> PrivDataFrame:
    """Open a Parquet file as a private table; see read_csv for the arguments.

    A file that would fill more than 1 GiB stays on disk: it is read in batches whenever something is released.
    """
    remote = _remote(path, schema, budget, unit, max_rows_per_unit)
    if remote is not None:
        return remote
    from privjail.catalogue.files import open_parquet

    frame = open_parquet(Path(path))
    return _open(_file_identity(path), str(path), frame, schema, budget, unit, max_rows_per_unit)


def from_frame(
    frame: Any, name: str, schema: Any = None, *, budget: Any = None, unit: str | None = None,
    max_rows_per_unit: int | None = None,
) -> PrivDataFrame:  # fmt: skip
    """Take a pandas or Polars frame as a private data set of this name; see read_csv for the arguments."""
    if session.connection() is not None:
        raise PlanError("a jail opens only data sets that its curator added", do="pd.read_csv(name)")
    from privjail.catalogue.files import frame_of

    held = frame_of(frame)
    return _open(f"frame:{next(_fresh)}", str(name), held, schema, budget, unit, max_rows_per_unit)


def _remote(path: Any, *given: Any) -> PrivDataFrame | None:
    """Against a jail: the data set of that name. Paths, schemas and budgets are the curator's."""
    connection = session.connection()
    if connection is None:
        return None
    if any(each is not None for each in given):
        raise PlanError(
            "schema, budget and unit are set by the curator of the jail", do="pd.read_csv(name) and nothing more"
        )
    source = connection.source(str(path))
    return PrivDataFrame(source, {name: Column(source, name) for name, _ in source.dataset.columns})


def _file_identity(path: Any) -> str:
    """One file is one data set, by whatever path it is reached."""
    real = os.path.realpath(path)
    try:
        handle = os.open(real, os.O_RDONLY)
    except OSError:
        raise SchemaError(f"there is no file {Path(path).name!r}") from None
    stat = os.fstat(handle)
    identity = "file:" + hashlib.sha256(f"{stat.st_dev}:{stat.st_ino}".encode()).hexdigest()
    if _held.setdefault(identity, handle) != handle:
        os.close(handle)
    return identity


def _open(
    identity: str, name: str, frame: Any, schema: Any, budget: Any, unit: str | None, most: int | None
) -> PrivDataFrame:
    from privjail.catalogue.load import enforce

    if most is not None and (unit is None or type(most) is not int or most < 1):
        raise PlanError("max_rows_per_unit needs unit= a column, and a whole number ≥ 1")
    whose = Unit() if unit is None else Unit(unit, most)
    held, domains = enforce(frame, read_schema(schema), whose)
    dataset = Dataset(identity, name, tuple(domains.items()), whose)
    source = session.open_frame(dataset, held, _notion(budget))
    return PrivDataFrame(source, {column: Column(source, column) for column in domains})


def _notion(budget: Any) -> Notion | None:
    return budget if budget is None or isinstance(budget, Notion) else PureDP(budget)
