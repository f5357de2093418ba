"""Loading: a frame in, a frame out that keeps exactly what its schema promises."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from privjail.catalogue.files import quietly, read_csv_text, read_parquet_frame
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
from privjail.plan.physical import dtype_of, finite, named

__all__ = ["enforce", "read_csv_text", "read_parquet_frame"]

TRUTHS = {"true": True, "1": True, "1.0": True, "yes": True, "false": False, "0": False, "0.0": False, "no": False}
MOMENTS = ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d")


def enforce(frame: pl.DataFrame, schema: Schema, unit: Unit) -> tuple[pl.DataFrame, dict[str, Domain]]:
    """Make every column keep its promise: bounds, categories, nulls, and the bound on rows per unit."""
    missing = [name for name in schema if name not in frame.columns]
    if missing:
        raise SchemaError(
            f"the schema names columns that the data lacks: {missing}", do=f"the data has {list(frame.columns)}"
        )
    if unit.column is not None and unit.column not in frame.columns:
        raise SchemaError(f"the unit's column {unit.column!r} is not in the data")
    columns, domains = [], {}
    for name in frame.columns:
        declared = schema.get(name) or _undeclared(frame.schema[name])
        if name == unit.column:
            declared = _owner(name, schema.get(name))
        held = quietly(lambda n=name, d=declared: _enforced(frame[n], d), f"column {name!r} does not fit its type")  # type: ignore[misc]
        columns.append(held.alias(name))
        domains[name] = declared.domain
    out = pl.DataFrame(columns) if columns else frame
    if unit.column is not None:
        owner = named(unit.column)
        out = out.filter(owner.is_not_null())
        if unit.most_rows is not None:
            out = out.filter(pl.int_range(pl.len()).over(owner) < unit.most_rows)
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


def _owner(name: str, declared: ColumnSchema | None) -> ColumnSchema:
    """The column that says whose row it is: loading must not make one owner of two.

    Owners that share a name would share the bound on rows: without one of them, rows of the other come in. So an
    owner outside the range is missing, not clipped, and numbers that nobody declared are not rounded to floats.
    """
    if declared is None:
        return UNDECLARED
    if declared.fill is not None:
        raise SchemaError(f"column {name!r} says whose row it is: a missing owner cannot be filled in")
    if isinstance(declared.domain, FloatDomain):
        raise SchemaError(f"column {name!r} says whose row it is: a float can stand for two owners", do="use Int64")
    return replace(declared, outside="null")


def _enforced(column: pl.Series, declared: ColumnSchema) -> pl.Series:
    if declared.missing:
        marked = _stripped(column).is_in(list(declared.missing)) | _text(column).is_in(list(declared.missing))
        column = pl.select(pl.when(~marked).then(column)).to_series()
    match declared.domain:
        case CategoryDomain() as domain:
            out = _categories(column, domain)
        case IntDomain() as domain:
            out = _whole_numbers(column, domain, declared.outside)
        case FloatDomain() as domain:
            out = _numbers(column, domain, declared.outside)
        case TimeDomain() as domain:
            out = _times(column, domain, declared.outside)
        case BoolDomain():
            out = _truths(column)
        case _:
            out = _text(column)
    out = out.cast(dtype_of(declared.domain), strict=False)
    return out if declared.fill is None else out.fill_null(_fill(declared))


def _fill(declared: ColumnSchema) -> Any:
    fill: Any
    match declared.domain:
        case CategoryDomain() as domain:
            fill = domain.code(declared.fill)
        case TimeDomain():
            fill = moment(declared.fill)
        case _:
            fill = declared.fill
    return pl.Series([fill], dtype=dtype_of(declared.domain))[0]


def _text(column: pl.Series) -> pl.Series:
    """Each value as a file would spell it."""
    if column.dtype.is_float():
        # A whole number in a float column is spelled like the whole number.
        whole = column.is_finite() & (column == column.floor()) & (column.abs() < 2.0**53)
        spelled = pl.when(whole).then(column.cast(pl.Int64(), strict=False).cast(pl.String()))
        return pl.select(spelled.otherwise(column.cast(pl.String(), strict=False))).to_series()
    return column.cast(pl.String(), strict=False)


def _stripped(column: pl.Series) -> pl.Series:
    return _text(column).str.strip_chars()


def _categories(column: pl.Series, domain: CategoryDomain) -> pl.Series:
    """Positions in the list of categories. Spaces around a value do not count, unless a category has them."""
    labels = [str(label) for label in domain.categories]
    text = _text(column)
    if column.dtype == pl.Boolean():
        text = text.replace({"true": "True", "false": "False"})
    if all(label == label.strip() for label in labels):
        text = text.str.strip_chars()
    return text.replace_strict(labels, list(range(len(labels))), default=None, return_dtype=pl.Int32())


def _parsed(column: pl.Series) -> pl.Series:
    return column if column.dtype.is_numeric() or column.dtype == pl.Boolean() else _stripped(column)


def _numbers(column: pl.Series, domain: FloatDomain, outside: str) -> pl.Series:
    x = _parsed(column).cast(pl.Float64(), strict=False).alias("x")
    number = pl.when(pl.col("x").is_not_nan()).then(pl.col("x"))
    return x.to_frame().select(finite(_inside(number, domain, outside))).to_series()


def _whole_numbers(column: pl.Series, domain: IntDomain, outside: str) -> pl.Series:
    """Whole numbers; fractions are missing values. Those beyond 64 bits lie outside of every range."""
    parsed = _parsed(column)
    frame = pl.DataFrame({"x": parsed.cast(pl.Int64(), strict=False), "f": parsed.cast(pl.Float64(), strict=False)})
    f = pl.when(pl.col("f").is_not_nan()).then(pl.col("f"))  # NaN is larger than every number in Polars
    small = (f >= -(2.0**63)) & (f < 2.0**63)
    rounded = pl.when(small & (f == f.floor())).then(f).cast(pl.Int64(), strict=False)
    number = _inside(pl.coalesce(pl.col("x"), rounded), domain, outside)
    if outside == "clip":
        above = pl.when(f >= 2.0**63).then(pl.lit(domain.upper, dtype=pl.Int64()))
        below = pl.when(f < -(2.0**63)).then(pl.lit(domain.lower, dtype=pl.Int64()))
        number = pl.coalesce(number, above, below)
    return frame.select(number).to_series()


def _inside(number: pl.Expr, domain: IntDomain | FloatDomain, outside: str) -> pl.Expr:
    if outside == "clip":
        return number.clip(domain.lower, domain.upper)
    fits = pl.lit(True)
    if domain.lower is not None:
        fits = fits & (number >= domain.lower)
    if domain.upper is not None:
        fits = fits & (number <= domain.upper)
    return pl.when(fits).then(number)


def _times(column: pl.Series, domain: TimeDomain, outside: str) -> pl.Series:
    if column.dtype == pl.String():
        text = pl.col("x")
        forms = [text.str.to_datetime(form, strict=False, time_unit="us") for form in MOMENTS]
        column = _stripped(column).alias("x").to_frame().select(pl.coalesce(forms)).to_series()
    if isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
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
    text = _stripped(column).str.to_lowercase()
    return text.replace_strict(list(TRUTHS), list(TRUTHS.values()), default=None, return_dtype=pl.Boolean())
