"""Opening data: read_csv, read_parquet, and frames."""

from __future__ import annotations

from typing import Any

from privjail.errors import PlanError
from privjail.opening import columns_of, open_csv, open_frame, open_parquet
from privjail.ops.rows.source import Source
from privjail.pandas.frame import PrivDataFrame
from privjail.pandas.functions import to_datetime


def read_csv(
    path: Any, schema: Any = None, *, budget: Any = None, unit: str | None = None, max_rows_per_unit: int | None = None,
    sep: str = ",", parse_dates: Any = None,
) -> PrivDataFrame:  # fmt: skip
    """Open a CSV file as a private table.

    ``schema``: a JSON or TOML file, or a dict; it is enforced. ``budget``: ε, or a PureDP, ApproxDP, ZCDP or
    RenyiDP. ``unit``: the column that says whose row it is, if a person can have several rows.

    A column that the schema does not name is ``untyped``: its type is not guessed from the data. It is text, and
    becomes a number where it is computed with, compared with a number, or clipped. ``parse_dates``: columns to read as
    dates, written as 2024-01-31 (their range is then to be given by clip); those that the schema declares are dates.
    """
    return with_dates(_table(open_csv(path, sep, schema, budget, unit, max_rows_per_unit)), parse_dates)


def read_parquet(
    path: Any, schema: Any = None, *, budget: Any = None, unit: str | None = None, max_rows_per_unit: int | None = None
) -> PrivDataFrame:
    """Open a Parquet file as a private table; see read_csv for the arguments.

    A file that would fill more than 1 GiB stays on disk: it is read in batches whenever something is released.
    """
    return _table(open_parquet(path, schema, budget, unit, max_rows_per_unit))


def from_frame(
    frame: Any, name: str, schema: Any = None, *, budget: Any = None, unit: str | None = None,
    max_rows_per_unit: int | None = None,
) -> PrivDataFrame:  # fmt: skip
    """Take a pandas or Polars frame as a private data set of this name; see read_csv for the arguments."""
    return _table(open_frame(frame, name, schema, budget, unit, max_rows_per_unit))


def _table(source: Source) -> PrivDataFrame:
    return PrivDataFrame(source, columns_of(source))


def with_dates(table: PrivDataFrame, columns: Any) -> PrivDataFrame:
    """The table, with some columns read as dates."""
    if columns is None or columns is False:
        return table
    if not isinstance(columns, (list, tuple)):
        raise PlanError("parse_dates takes a list of columns", do='parse_dates=["date"]')
    for each in columns:
        name = list(table.columns)[each] if type(each) is int and 0 <= each < len(table.columns) else each
        table[name] = to_datetime(table[name])
    return table
