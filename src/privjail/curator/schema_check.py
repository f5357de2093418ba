"""What a schema does to the data: exact numbers, for the owner of the data only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from privjail.catalogue.load import enforce
from privjail.catalogue.schema import ColumnSchema, Schema, read_schema
from privjail.errors import SchemaError
from privjail.ops.rows.source import Unit
from privjail.plan.domain import CategoryDomain, Numeric, TextDomain


@dataclass(frozen=True)
class ColumnReport:
    """One column: how many values were missing, clipped, made missing, and filled."""

    name: str
    shown: str
    unbounded: bool
    missing: int
    clipped: int
    nulled: int
    filled: int


@dataclass(frozen=True)
class Report:
    """A whole table."""

    columns: list[ColumnReport]
    rows: int
    dropped: int


def check(
    frame: pl.DataFrame, path: Path | dict[str, Any], unit: str | None = None, most_rows: int | None = None
) -> Report:
    """Enforce a schema step by step, and count what each step changes."""
    if most_rows is not None and (unit is None or most_rows < 1):
        raise SchemaError("--max-rows-per-unit needs --unit, and a number of at least 1")
    schema = read_schema(path)
    whose = Unit() if unit is None else Unit(unit, most_rows)
    held, domains = enforce(frame, schema, whose)
    marked = _step(frame, schema, lambda c: ColumnSchema(TextDomain(True), c.missing))
    loose = _step(frame, schema, _without_bounds)
    strict = _step(frame, schema, lambda c: replace(c, domain=c.domain.with_nulls(True), fill=None))
    columns = []
    for name, domain in domains.items():
        missing, value, free = marked[name].is_null(), strict[name], loose[name]
        filled = name in schema and schema[name].fill is not None
        columns.append(
            ColumnReport(
                name,
                _shown(domain, name in schema),
                unbounded=name not in schema or (isinstance(domain, Numeric) and not domain.bounded),
                missing=int(missing.sum()),
                clipped=int((value.is_not_null() & (free.is_null() | (free != value).fill_null(True))).sum()),
                nulled=int((value.is_null() & ~missing).sum()),
                filled=value.null_count() if filled else 0,
            )
        )
    return Report(columns, frame.height, frame.height - held.height)


def _step(frame: pl.DataFrame, schema: Schema, change: Any) -> pl.DataFrame:
    return enforce(frame, {name: change(column) for name, column in schema.items()}, Unit())[0]


def _without_bounds(column: ColumnSchema) -> ColumnSchema:
    domain = column.domain.with_nulls(True)
    if isinstance(domain, Numeric):
        domain = replace(domain, lower=None, upper=None)
    return replace(column, domain=domain, fill=None)


def _shown(domain: Any, declared: bool) -> str:
    if isinstance(domain, CategoryDomain):
        return f"category, {len(domain.categories)} labels"
    return str(domain) if declared else f"{domain} (not in the schema)"
