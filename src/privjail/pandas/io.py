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
from privjail.errors import PlanError
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
    """
    from privjail.catalogue.load import read_csv_text

    frame = read_csv_text(Path(path), separator=sep)
    return _open(_file_identity(path), str(path), frame, schema, budget, unit, max_rows_per_unit)


def read_parquet(
    path: Any, schema: Any = None, *, budget: Any = None, unit: str | None = None, max_rows_per_unit: int | None = None
) -> PrivDataFrame:
    """Open a Parquet file as a private table; see read_csv for the arguments."""
    from privjail.catalogue.load import read_parquet_frame

    frame = read_parquet_frame(Path(path))
    return _open(_file_identity(path), str(path), frame, schema, budget, unit, max_rows_per_unit)


def from_frame(
    frame: Any, name: str, schema: Any = None, *, budget: Any = None, unit: str | None = None,
    max_rows_per_unit: int | None = None,
) -> PrivDataFrame:  # fmt: skip
    """Take a pandas or Polars frame as a private data set of this name; see read_csv for the arguments."""
    import polars as pl

    if not isinstance(frame, pl.DataFrame):
        if type(frame).__name__ != "DataFrame":
            raise PlanError(f"a pandas or Polars frame is needed, not {type(frame).__name__}")
        columns = {str(c): pl.Series(_values(frame[c]), strict=False) for c in frame.columns}
        frame = pl.DataFrame(columns)
    return _open(f"frame:{next(_fresh)}", name, frame, schema, budget, unit, max_rows_per_unit)


def _values(column: Any) -> Any:
    """A pandas column as Polars takes it; objects and categories as text."""
    if getattr(column.dtype, "kind", "O") in "biuf" and not hasattr(column.dtype, "na_value"):
        return column.to_numpy()
    if getattr(column.dtype, "kind", "O") == "M":
        return column.astype("datetime64[us]").to_numpy()
    values = [None if v is None or v != v or type(v).__name__ == "NAType" else v for v in column.tolist()]
    if str(column.dtype).lower() in ("int64", "float64", "boolean", "int32", "float32"):
        return values
    return [None if v is None else str(v) for v in values]


def _file_identity(path: Any) -> str:
    """One file is one data set, by whatever path it is reached."""
    real = os.path.realpath(path)
    try:
        handle = os.open(real, os.O_RDONLY)
    except OSError:
        raise PlanError(f"there is no file {Path(path).name!r}") from None
    stat = os.fstat(handle)
    identity = "file:" + hashlib.blake2b(f"{stat.st_dev}:{stat.st_ino}".encode(), digest_size=12).hexdigest()
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


def _notion(budget: Any) -> Notion:
    return budget if isinstance(budget, Notion) else PureDP(budget)
