"""Loading: a frame in, a frame out that keeps exactly what its schema promises."""

from __future__ import annotations

import datetime
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar, overload

import polars as pl

from privjail.catalogue.files import quietly, read_csv_text, read_parquet_frame
from privjail.catalogue.quick import read_column
from privjail.catalogue.schema import UNDECLARED, ColumnSchema, Schema
from privjail.engines.polars.disk import OnDisk
from privjail.errors import SchemaError
from privjail.ops.polars_types import dtype_of, finite, named
from privjail.ops.rows.source import Unit
from privjail.plan.domain import (
    INT_MAX,
    INT_MIN,
    BoolDomain,
    CategoryDomain,
    Domain,
    FloatDomain,
    IntDomain,
    TextDomain,
    TimeDomain,
)
from privjail.plan.node import moment

__all__ = ["enforce", "owned", "read_csv_text", "read_parquet_frame"]

R = TypeVar("R", pl.DataFrame, pl.LazyFrame)
TRUTHS = {"true": True, "1": True, "1.0": True, "yes": True, "false": False, "0": False, "0.0": False, "no": False}
TICKS = {"ms": 10**3, "us": 10**6, "ns": 10**9}  # of a second
MOMENTS = ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d")


@overload
def enforce(frame: pl.DataFrame, schema: Schema, unit: Unit) -> tuple[pl.DataFrame, dict[str, Domain]]: ...
@overload
def enforce(
    frame: pl.DataFrame | OnDisk, schema: Schema, unit: Unit
) -> tuple[pl.DataFrame | OnDisk, dict[str, Domain]]: ...
def enforce(
    frame: pl.DataFrame | OnDisk, schema: Schema, unit: Unit
) -> tuple[pl.DataFrame | OnDisk, dict[str, Domain]]:
    """Make every column keep its promise: bounds, categories, nulls, and the bound on rows per unit.

    What is on disk stays there: its rows are made to keep the promises whenever they are read. Only where rows per
    unit are bounded all rows must be seen at once.
    """
    types = frame.lazy().collect_schema()
    missing = [name for name in schema if name not in types]
    if missing:
        raise SchemaError(f"the schema names columns that the data lacks: {missing}", do=f"the data has {list(types)}")
    if unit.column is not None and unit.column not in types:
        raise SchemaError(f"the unit's column {unit.column!r} is not in the data")
    declared = {name: schema.get(name) or _undeclared(dtype) for name, dtype in types.items()}
    if unit.column is not None:
        declared[unit.column] = _owner(unit.column, schema.get(unit.column))
    domains = {name: each.domain for name, each in declared.items()}
    _check_types(types)
    if not isinstance(frame, OnDisk):
        return owned(_read(frame, declared), unit), domains
    kept = [_enforced(named(name), dtype, declared[name]).alias(name) for name, dtype in types.items()]
    if unit.most_rows is not None and unit.column is not None:
        disk = frame.reshaped(lambda rows: rows.select(kept))
        held = quietly(lambda: disk.select([pl.all()]), "a column does not fit its type")
        return owned(held, unit), domains
    return frame.reshaped(lambda rows: owned(rows.select(kept), unit)), domains


def owned(rows: R, unit: Unit) -> R:
    """The rows that have an owner, and at most as many of each as one unit may have."""
    if unit.column is None:
        return rows
    owner = named(unit.column)
    rows = rows.filter(owner.is_not_null())
    if unit.most_rows is None:
        return rows
    return rows.filter(pl.int_range(pl.len()).over(owner) < unit.most_rows)


def _check_types(types: pl.Schema) -> None:
    """Refuse what cannot be read, by its type alone: what rows on disk hold must not decide it when they are read."""
    for name, dtype in types.items():
        if dtype.is_nested() or isinstance(dtype, (pl.Binary, pl.Duration, pl.Object)):
            raise SchemaError(f"column {name!r} holds {dtype}, which cannot be read here", do="leave it out")


def _read(frame: pl.DataFrame, declared: dict[str, ColumnSchema]) -> pl.DataFrame:
    """The columns as they are declared, several at a time: Polars does not need Python's lock meanwhile."""

    def read(column: pl.Series) -> pl.Series:
        wrong = f"column {column.name!r} does not fit its type"
        return quietly(lambda: read_column(column, declared[column.name], _enforced, MOMENTS).alias(column.name), wrong)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        held = list(pool.map(read, frame.get_columns()))
    return pl.DataFrame(held) if held else frame


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


def _enforced(column: pl.Expr, dtype: pl.DataType, declared: ColumnSchema) -> pl.Expr:
    if declared.missing:
        text = _text(column, dtype)
        marked = text.str.strip_chars().is_in(list(declared.missing)) | text.is_in(list(declared.missing))
        column = pl.when(~marked).then(column)
    match declared.domain:
        case CategoryDomain() as domain:
            out = _categories(column, dtype, domain)
        case IntDomain() as domain:
            out = _whole_numbers(column, dtype, domain, declared.outside)
        case FloatDomain() as domain:
            out = _numbers(column, dtype, domain, declared.outside)
        case TimeDomain() as domain:
            out = _times(column, dtype, domain, declared.outside)
        case BoolDomain():
            out = _truths(column, dtype)
        case _:
            out = _text(column, dtype)
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
    return pl.lit(fill, dtype=dtype_of(declared.domain))


def _text(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Each value as a file would spell it."""
    if isinstance(dtype, (pl.Datetime, pl.Date)):
        column = _in_calendar(column, dtype)
    if dtype.is_float():
        # A whole number in a float column is spelled like the whole number.
        whole = column.is_finite() & (column == column.floor()) & (column.abs() < 2.0**53)
        spelled = pl.when(whole).then(column.cast(pl.Int64(), strict=False).cast(pl.String()))
        return spelled.otherwise(column.cast(pl.String(), strict=False))
    return column.cast(pl.String(), strict=False)


def _in_calendar(column: pl.Expr, dtype: pl.Datetime | pl.Date) -> pl.Expr:
    """Moments of the years 1 to 9999. There are no words for others, and the engine panics where it looks for them."""
    day = 86_400 * TICKS[dtype.time_unit] if isinstance(dtype, pl.Datetime) else 1
    low, high = (day * (d - datetime.date(1970, 1, 1)).days for d in (datetime.date.min, datetime.date.max))
    return pl.when(column.cast(pl.Int64()).is_between(max(low, INT_MIN), min(high + day - 1, INT_MAX))).then(column)


def _stripped(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    return _text(column, dtype).str.strip_chars()


def _categories(column: pl.Expr, dtype: pl.DataType, domain: CategoryDomain) -> pl.Expr:
    """Positions in the list of categories. Spaces around a value do not count, unless a category has them."""
    labels = [str(label) for label in domain.categories]
    text = _text(column, dtype)
    if dtype == pl.Boolean():
        text = text.replace({"true": "True", "false": "False"})
    if all(label == label.strip() for label in labels):
        text = text.str.strip_chars()
    return text.replace_strict(labels, list(range(len(labels))), default=None, return_dtype=pl.Int32())


def _parsed(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    return column if dtype.is_numeric() or dtype == pl.Boolean() else _stripped(column, dtype)


def _numbers(column: pl.Expr, dtype: pl.DataType, domain: FloatDomain, outside: str) -> pl.Expr:
    x = _parsed(column, dtype).cast(pl.Float64(), strict=False)
    number = pl.when(x.is_not_nan()).then(x)
    return finite(_inside(number, domain, outside))  # type: ignore[no-any-return]


def _whole_numbers(column: pl.Expr, dtype: pl.DataType, domain: IntDomain, outside: str) -> pl.Expr:
    """Whole numbers; fractions are missing values. Those beyond 64 bits lie outside of every range."""
    if dtype.is_signed_integer() and dtype != pl.Int128():
        return _inside(column.cast(pl.Int64()), domain, outside)
    parsed = _parsed(column, dtype)
    as_float = parsed.cast(pl.Float64(), strict=False)
    f = pl.when(as_float.is_not_nan()).then(as_float)  # NaN is larger than every number in Polars
    small = (f >= -(2.0**63)) & (f < 2.0**63)
    rounded = pl.when(small & (f == f.floor())).then(f).cast(pl.Int64(), strict=False)
    number = _inside(pl.coalesce(parsed.cast(pl.Int64(), strict=False), rounded), domain, outside)
    if outside == "clip":
        above = pl.when(f >= 2.0**63).then(pl.lit(domain.upper, dtype=pl.Int64()))
        below = pl.when(f < -(2.0**63)).then(pl.lit(domain.lower, dtype=pl.Int64()))
        number = pl.coalesce(number, above, below)
    return number


def _inside(number: pl.Expr, domain: IntDomain | FloatDomain, outside: str) -> pl.Expr:
    if outside == "clip":
        return number.clip(domain.lower, domain.upper)
    fits = pl.lit(True)
    if domain.lower is not None:
        fits = fits & (number >= domain.lower)
    if domain.upper is not None:
        fits = fits & (number <= domain.upper)
    return pl.when(fits).then(number)


def _times(column: pl.Expr, dtype: pl.DataType, domain: TimeDomain, outside: str) -> pl.Expr:
    if not (isinstance(dtype, (pl.Datetime, pl.Date)) or dtype.is_integer() or dtype.is_float()):
        text = _stripped(column, dtype)
        column = pl.coalesce([text.str.to_datetime(form, strict=False, time_unit="us") for form in MOMENTS])
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
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
    return pl.when(keep).then(column)


def _truths(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if dtype == pl.Boolean():
        return column
    text = _stripped(column, dtype).str.to_lowercase()
    return text.replace_strict(list(TRUTHS), list(TRUTHS.values()), default=None, return_dtype=pl.Boolean())
