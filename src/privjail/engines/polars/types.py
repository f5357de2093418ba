"""The held form in Polars: the type of each domain's columns (engines/held.py says what the values are)."""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from privjail.plan.domain import (
    BoolDomain,
    CategoryDomain,
    Domain,
    FloatDomain,
    IntDomain,
    TextDomain,
    TimeDomain,
)


def dtype_of(domain: Domain) -> pl.DataType:
    """The Polars type of a column of this domain. Categories are held as positions in the domain."""
    match domain:
        case IntDomain():
            return pl.Int64()
        case FloatDomain():
            return pl.Float64()
        case BoolDomain():
            return pl.Boolean()
        case CategoryDomain():
            return pl.Int32()
        case TextDomain():
            return pl.String()
        case TimeDomain():
            return pl.Datetime("us")
    raise TypeError(f"no column type for {type(domain).__name__}")


def named(name: str) -> pl.Expr:
    """The column of just this name: Polars takes ``*`` and ``^…$`` for patterns, which name other columns."""
    pattern = name == "*" or (name.startswith("^") and name.endswith("$"))
    return pl.col(f"^{re.escape(name)}$" if pattern else name)


def finite(column: Any) -> Any:
    """NaN and ±inf become null: floats inside the jail are finite or absent."""
    return pl.when(column.is_finite()).then(column)
