"""The held form: the physical layout in which every engine is given the rows of a data set.

The schema is enforced once, when data is loaded (catalogue/load.py). What an engine is given then holds these rules, so
that no engine reads files of its own or converts values:

| domain | Arrow type | values |
| --- | --- | --- |
| IntDomain | int64 | inside the bounds |
| FloatDomain | float64 | finite, inside the bounds |
| BoolDomain | bool | |
| CategoryDomain | int32 | positions in the domain's list of categories, from 0 |
| TextDomain | utf8, any width of offsets | |
| TimeDomain | timestamp, microseconds, no time zone | inside the bounds |

- The columns are those of the data set, in its order, and no others.
- Missing values are Arrow nulls, and occur only in nullable domains. NaN and infinity do not occur.
- The order of the rows is part of the data: the n-th row of the stream is the row at position n. An engine that keeps
  rows without an order (partitioned files, a database) stores that number with each row when it takes them in, and
  never derives it from anything else later.
- One privacy unit has at most as many rows as the data set's unit says.

The rows travel as an Arrow stream (``__arrow_c_stream__``), which Polars, DuckDB, pyarrow and Spark read without a
loader of ours. Data that stays on disk is read again with each stream.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

from privjail.errors import SchemaError
from privjail.ops.rows.source import Dataset
from privjail.plan.domain import (
    BoolDomain,
    CategoryDomain,
    Domain,
    FloatDomain,
    IntDomain,
    Numeric,
    TextDomain,
    TimeDomain,
)


class Held(Protocol):
    """Rows of a data set in the held form; a Polars frame is one."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


ARROW_TYPES: dict[type[Domain], tuple[str, ...]] = {
    IntDomain: ("int64",),
    FloatDomain: ("double",),
    BoolDomain: ("bool",),
    CategoryDomain: ("int32",),
    TextDomain: ("string", "large_string", "string_view"),
    TimeDomain: ("timestamp[us]",),
}


def arrow_types(domain: Domain) -> tuple[str, ...]:
    """The Arrow types (by pyarrow's names) that a column of this domain may have."""
    for kind in type(domain).__mro__:
        if kind in ARROW_TYPES:
            return ARROW_TYPES[kind]
    raise TypeError(f"no column type for {type(domain).__name__}")


def columns_of(held: Held) -> dict[str, list[Any]]:
    """All rows as Python values, column by column: moments as microseconds, missing values as None."""
    table = _arrow(held)
    columns: dict[str, list[Any]] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        columns[name] = (column.cast("int64") if str(column.type) == "timestamp[us]" else column).to_pylist()
    return columns


def check_held(dataset: Dataset, held: Held) -> None:
    """Refuse rows that are not in the held form of their data set. It looks at every value: for small data."""
    types = {field.name: str(field.type) for field in _arrow(held).schema}
    if list(types) != [name for name, _ in dataset.columns]:
        raise SchemaError(f"the held columns of {dataset.name!r} are not those of the data set, in its order")
    columns = columns_of(held)
    for name, domain in dataset.columns:
        if types[name] not in arrow_types(domain):
            raise SchemaError(f"column {name!r} is held as {types[name]}, not as {arrow_types(domain)[0]}")
        if not all(holds(domain, value) for value in columns[name]):
            raise SchemaError(f"column {name!r} holds a value outside of its domain")
    _check_unit(dataset, columns)


def holds(domain: Domain, value: Any) -> bool:
    """Whether a held value lies in the domain."""
    if value is None:
        return domain.nullable
    if isinstance(domain, CategoryDomain):
        return bool(0 <= value < len(domain.categories))
    if isinstance(domain, FloatDomain) and not math.isfinite(value):
        return False
    if isinstance(domain, Numeric):
        return (domain.lower is None or domain.lower <= value) and (domain.upper is None or value <= domain.upper)
    return True


def _check_unit(dataset: Dataset, columns: Mapping[str, list[Any]]) -> None:
    owner, most = dataset.unit.column, dataset.unit.most_rows
    if owner is None:
        return
    rows: dict[Any, int] = {}
    for value in columns[owner]:
        rows[value] = rows.get(value, 0) + 1
    if None in rows or most is not None and any(n > most for n in rows.values()):
        raise SchemaError(f"{dataset.name!r} has rows without an owner, or an owner with too many rows")


def _arrow(held: Held) -> Any:
    import pyarrow

    return pyarrow.table(held)
