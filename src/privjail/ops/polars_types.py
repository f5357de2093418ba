"""What the Polars lines of operations share: the type of each domain's column, columns by name, finite floats.

Polars is imported when a line is built: an analyst who is connected to a jail has the operations, but no engine.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from privjail.plan.domain import (
    BoolDomain,
    CategoryDomain,
    Domain,
    FloatDomain,
    IntDomain,
    TextDomain,
    TimeDomain,
)

if TYPE_CHECKING:
    import polars as pl


def dtype_of(domain: Domain) -> pl.DataType:
    """The Polars type of a column of this domain. Categories are held as positions in the domain."""
    import polars as pl

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
    import polars as pl

    pattern = name == "*" or (name.startswith("^") and name.endswith("$"))
    return pl.col(f"^{re.escape(name)}$" if pattern else name)


def finite(column: Any) -> Any:
    """NaN and ±inf become null: floats inside the jail are finite or absent."""
    import polars as pl

    return pl.when(column.is_finite()).then(column)


def plain_zero(column: Any) -> Any:
    """0.0 for -0.0. Adding 0.0 would not do: Polars leaves that out, unless there is just one row."""
    import polars as pl

    return pl.when(column == 0.0).then(0.0).otherwise(column)
