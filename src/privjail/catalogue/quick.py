"""Columns of text, read the common way first.

The rule for a column (load.py) understands every spelling: " 39", "39.0", "1e3", dates with or without a time. It is an
expression that tries them all on every row. Most columns hold one spelling, so here that one is tried on all rows, and
the rule is applied to the rows that are left. What comes out is the same, row by row; only the time differs, and only
when data is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import polars as pl

from privjail.catalogue.schema import ColumnSchema
from privjail.plan.domain import Domain, FloatDomain, IntDomain, TimeDomain

SEEN = 1_000  # rows by which the spelling of dates is guessed
Rule = Callable[[pl.Expr, pl.DataType, ColumnSchema], pl.Expr]  # what a column becomes, whatever its spelling


def read_column(column: pl.Series, declared: ColumnSchema, rule: Rule, formats: tuple[str, ...]) -> pl.Series:
    """The column as its rule makes it; of text, the rows of the common spelling are read at once."""
    common = _common(column, declared.domain, formats)
    marks = pl.Series(list(declared.missing), dtype=pl.String())
    if common is None or common(marks).is_not_null().any():  # a value of the common spelling may mean "missing"
        return _ruled(column, declared, rule)
    read = common(column)
    held = _ruled(read, replace(declared, missing=()), rule)
    left = (read.is_null() & column.is_not_null()).arg_true()
    return held.scatter(left, _ruled(column.gather(left), declared, rule)) if len(left) else held


def _ruled(column: pl.Series, declared: ColumnSchema, rule: Rule) -> pl.Series:
    return column.to_frame("").select(rule(pl.col(""), column.dtype, declared)).to_series()


def _common(column: pl.Series, domain: Domain, formats: tuple[str, ...]) -> Callable[[pl.Series], pl.Series] | None:
    """How the common spelling of a column is read: a missing value where a text has another one."""
    if column.dtype != pl.String():
        return None
    if isinstance(domain, IntDomain):
        return lambda texts: texts.cast(pl.Int64(), strict=False)
    if isinstance(domain, FloatDomain):
        return lambda texts: texts.cast(pl.Float64(), strict=False)
    if isinstance(domain, TimeDomain):
        first = column.head(SEEN)
        form = min(formats, key=lambda each: _dates(first, each).null_count())
        return lambda texts: _dates(texts, form)
    return None


def _dates(texts: pl.Series, form: str) -> pl.Series:
    return texts.str.to_datetime(form, strict=False, time_unit="us")
