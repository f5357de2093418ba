"""Loading: files and frames in, a frame out that keeps exactly what its schema promises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from privjail.catalogue.schema import UNDECLARED, ColumnSchema, Schema
from privjail.errors import SchemaError
from privjail.ops.source import Unit
from privjail.plan.domain import (
    BoolDomain,
    CategoryDomain,
    Domain,
    FloatDomain,
    IntDomain,
    TextDomain,
    TimeDomain,
)
from privjail.plan.node import moment
from privjail.plan.physical import dtype_of, finite


def read_csv_text(path: Path, **options: Any) -> pl.DataFrame:
    """All columns of a CSV file as text: no type is guessed from the data."""
    try:
        return pl.read_csv(path, infer_schema=False, **options)
    except FileNotFoundError:
        raise SchemaError(f"there is no file {path.name!r}") from None
    except (pl.exceptions.PolarsError, OSError):
        # The engine's own message may quote the line that it failed on.
        raise SchemaError(f"{path.name!r} cannot be read as CSV") from None


def read_parquet_frame(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except FileNotFoundError:
        raise SchemaError(f"there is no file {path.name!r}") from None
    except (pl.exceptions.PolarsError, OSError):
        raise SchemaError(f"{path.name!r} cannot be read as Parquet") from None


def enforce(frame: pl.DataFrame, schema: Schema, unit: Unit) -> tuple[pl.DataFrame, dict[str, Domain]]:
    """Make every column keep its promise: bounds, categories, nulls, and the bound on rows per unit."""
    missing = [name for name in schema if name not in frame.columns]
    if missing:
        raise SchemaError(f"the schema names columns that the data lacks: {missing}")
    if unit.column is not None and unit.column not in frame.columns:
        raise SchemaError(f"the unit's column {unit.column!r} is not in the data")
    columns, domains = [], {}
    for name in frame.columns:
        declared = schema.get(name) or _undeclared(frame.schema[name])
        columns.append(_enforced(frame[name], declared).alias(name))
        domains[name] = declared.domain
    out = pl.DataFrame(columns) if columns else frame
    if unit.column is not None:
        known = pl.col(unit.column).is_not_null()
        out = out.filter(known)
        if unit.most_rows is not None:
            out = out.filter(pl.int_range(pl.len()).over(unit.column) < unit.most_rows)
    return out, domains


def _undeclared(dtype: pl.DataType) -> ColumnSchema:
    """A column that no schema declares: the type of the container, never a range or a list of values.

    Whether a frame's numbers are whole may depend on the data (pandas turns them to floats where one is
    missing), so all of them are Float64.
    """
    match dtype:
        case pl.Boolean():
            return ColumnSchema(BoolDomain(True))
        case pl.Datetime() | pl.Date():
            return ColumnSchema(TimeDomain(True))
        case _ if dtype.is_numeric():
            return ColumnSchema(FloatDomain(True))
        case pl.Categorical() | pl.Enum():
            return ColumnSchema(TextDomain(True))
    return UNDECLARED


def _enforced(column: pl.Series, declared: ColumnSchema) -> pl.Series:
    if declared.missing:
        text = column.cast(pl.String(), strict=False)
        column = column.to_frame().select(pl.when(~text.is_in(list(declared.missing))).then(pl.col(column.name)))[
            column.name
        ]
    match declared.domain:
        case CategoryDomain() as domain:
            out = _categories(column, domain)
        case IntDomain() | FloatDomain() as domain:
            out = _numbers(column, domain, declared.outside)
        case TimeDomain() as domain:
            out = _times(column, domain, declared.outside)
        case BoolDomain():
            out = _truths(column)
        case _:
            out = column.cast(pl.String(), strict=False)
    if declared.fill is not None:
        domain_ = declared.domain
        fill = domain_.code(declared.fill) if isinstance(domain_, CategoryDomain) else declared.fill
        if isinstance(domain_, TimeDomain):
            fill = moment(declared.fill)
        out = out.fill_null(pl.Series([fill], dtype=dtype_of(domain_))[0])
    return out.cast(dtype_of(declared.domain), strict=False)


def _categories(column: pl.Series, domain: CategoryDomain) -> pl.Series:
    if column.dtype.is_float():
        # A whole number in a float column is spelled like the whole number.
        text = pl.select(
            pl.when(column == column.floor())
            .then(column.cast(pl.Int64(), strict=False).cast(pl.String()))
            .otherwise(column.cast(pl.String()))
        ).to_series()
    else:
        text = column.cast(pl.String(), strict=False)
    if column.dtype == pl.Boolean():
        text = text.replace({"true": "True", "false": "False"})
    labels = [str(label) for label in domain.categories]
    return text.replace_strict(labels, list(range(len(labels))), default=None, return_dtype=pl.Int32())


def _numbers(column: pl.Series, domain: IntDomain | FloatDomain, outside: str) -> pl.Series:
    frame = pl.DataFrame({"x": column})
    x = pl.col("x")
    if not column.dtype.is_numeric() and column.dtype != pl.Boolean():
        x = x.cast(pl.String(), strict=False).str.strip_chars()
    floats = x.cast(pl.Float64(), strict=False)
    if isinstance(domain, FloatDomain):
        number = pl.when(floats.is_nan()).then(None).otherwise(floats)
    else:
        inside = (floats >= -(2.0**63)) & (floats < 2.0**63)
        rounded = pl.when(inside & (floats == floats.floor())).then(floats).cast(pl.Int64(), strict=False)
        number = pl.coalesce(x.cast(pl.Int64(), strict=False), rounded)
    if domain.lower is not None or domain.upper is not None:
        low, high = domain.lower, domain.upper
        if outside == "clip":
            number = number.clip(low, high)
        else:
            fits = pl.lit(True)
            if low is not None:
                fits = fits & (number >= low)
            if high is not None:
                fits = fits & (number <= high)
            number = pl.when(fits).then(number)
    if isinstance(domain, FloatDomain):
        number = finite(number)
    return frame.select(number).to_series()


def _times(column: pl.Series, domain: TimeDomain, outside: str) -> pl.Series:
    if column.dtype == pl.String():
        texts = pl.DataFrame({"x": column}).select(
            pl.coalesce(
                pl.col("x").str.to_datetime(form, strict=False, time_unit="us")
                for form in ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d")
            )
        )
        column = texts.to_series()
    column = column.cast(pl.Datetime("us"), strict=False)
    low, high = (None if b is None else moment(b) for b in domain.range)
    if outside == "clip":
        return column.clip(low, high)
    keep = column.is_not_null()
    if low is not None:
        keep = keep & (column >= low)
    if high is not None:
        keep = keep & (column <= high)
    return pl.select(pl.when(keep).then(column)).to_series()


def _truths(column: pl.Series) -> pl.Series:
    if column.dtype == pl.Boolean():
        return column
    text = column.cast(pl.String(), strict=False).str.to_lowercase()
    table = {"true": True, "1": True, "1.0": True, "yes": True, "false": False, "0": False, "0.0": False, "no": False}
    return text.replace_strict(list(table), list(table.values()), default=None, return_dtype=pl.Boolean())
