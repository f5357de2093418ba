"""Opening data: read_csv, read_parquet, and frames."""

from __future__ import annotations

from typing import Any

from privjail.errors import PlanError
from privjail.opening import columns_of, of_population, open_csv, open_frame, open_parquet
from privjail.ops.rows.source import Source
from privjail.pandas.frame import PrivDataFrame
from privjail.pandas.functions import to_datetime
from privjail.pandas.priced import function


@function
def read_csv(
    path: Any, schema: Any = None, *, budget: Any = None, unit: str | None = None, max_rows_per_unit: int | None = None,
    sep: str = ",", usecols: Any = None, parse_dates: Any = None, population: Any = None, name: str | None = None,
    key: Any = None, link: Any = None,
) -> PrivDataFrame:  # fmt: skip
    """Open a CSV file as a private table.

    ``schema``: a JSON or TOML file, or a dict; it is enforced. ``budget``: ε, or a PureDP, ApproxDP, ZCDP or
    RenyiDP. ``unit``: the column that says whose row it is, if a person can have several rows.

    A column that the schema does not name is ``untyped``: its type is not guessed from the data. It is text, and
    becomes a number where it is computed with, compared with a number, or clipped. ``parse_dates``: columns to read as
    dates, written as 2024-01-31 (their range is then to be given by clip); those that the schema declares are dates.

    ``population``: what ``pj.population`` gave; the table belongs to it under a ``name``. ``unit`` is then the person;
    a table that does not name persons has a ``link``, as in "stay=stays.stay", to the ``key`` of another table.
    """
    tables = of_population(path, unit, max_rows_per_unit, (population, name, key, link))
    table = with_dates(_table(open_csv(path, sep, schema, budget, unit, max_rows_per_unit, tables)), parse_dates)
    return table if usecols is None else table[list(usecols)]


@function
def read_parquet(
    path: Any, schema: Any = None, *, budget: Any = None, unit: str | None = None, max_rows_per_unit: int | None = None,
    population: Any = None, name: str | None = None, key: Any = None, link: Any = None,
) -> PrivDataFrame:  # fmt: skip
    """Open a Parquet file as a private table; see read_csv for the arguments.

    A file that would fill more than 1 GiB stays on disk: it is read in batches whenever something is released.
    """
    tables = of_population(path, unit, max_rows_per_unit, (population, name, key, link))
    return _table(open_parquet(path, schema, budget, unit, max_rows_per_unit, tables))


def from_frame(
    frame: Any, name: str, schema: Any = None, *, budget: Any = None, unit: str | None = None,
    max_rows_per_unit: int | None = None, population: Any = None, key: Any = None, link: Any = None,
) -> PrivDataFrame:  # fmt: skip
    """Take a pandas or Polars frame as a private data set of this name; see read_csv for the arguments."""
    named = None if population is None else name
    tables = of_population(name, unit, max_rows_per_unit, (population, named, key, link))
    return _table(open_frame(frame, name, schema, budget, unit, max_rows_per_unit, tables))


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
