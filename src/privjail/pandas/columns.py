"""Columns: functions of finitely many values, rounding to tens, shifted columns side by side, facts of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from privjail.errors import PlanError
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Carried, Constant
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.function import Function
from privjail.ops.rows.window import Lag, Window
from privjail.pandas.axes import shown_labels
from privjail.pandas.dates import shown_type
from privjail.plan.domain import CategoryDomain, Domain, IntDomain, Interval, Numeric, OrdinalDomain, TimeDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.rowwise import is_missing

MOST_CALLS = 100_000  # values that a function is asked about


def every_value(domain: Domain) -> list[tuple[Any, Any]] | None:
    """Each value that a column can hold, as a key of a recode and as a function sees it; None if there are too many."""
    labels = domain.labels
    if labels is None or len(labels) > MOST_CALLS:
        return None
    keys = [str(label) if isinstance(label, Interval) else label for label in labels]
    return list(zip(keys, shown_labels(tuple(labels), domain), strict=True))


def mapped(values: list[tuple[Any, Any]], f: Callable[[Any], Any]) -> dict[Any, Any]:
    """What a function makes of each of these values: a dictionary, made at the client."""
    return {key: _answer(f, value) for key, value in values}


def _answer(f: Callable[[Any], Any], value: Any) -> Any:
    """The function's answer. Its own exception may pass: the values are public."""
    found = f(value)
    return None if is_missing(found) else found


def rounded(expr: Expr, decimals: Any) -> Expr:
    """round(decimals): below zero to tens, hundreds, …"""
    if type(decimals) is not int or not -18 <= decimals <= 15:
        raise PlanError("round takes a whole number of decimals, from -18 to 15")
    if decimals >= 0:
        return Function("round", expr, decimals)
    step = 10**-decimals
    near = Function("round", Arithmetic("/", expr, Constant(Lit.of(step))), 0)
    if not isinstance(expr.domain, IntDomain):
        return Arithmetic("*", near, Constant(Lit.of(float(step))))
    return Arithmetic("*", Cast(near, "Int64"), Constant(Lit.of(step)))


def shifted(rows: Rows, expr: Expr, periods: int) -> tuple[Rows, Expr]:
    """A column some rows above. Of a table with shifted columns, the shift starts again from the rows before them:

    then all of its shifted columns see one window, and can stand side by side.
    """
    inner, k = expr, 0
    if isinstance(rows, Window):
        if isinstance(expr, Carried) and expr.into is rows:
            rows, inner = rows.rows, expr.inner
        elif isinstance(expr, Lag) and expr.window is rows and expr.k * periods >= 0:
            rows, inner, k = rows.rows, expr.inner, expr.k
    k += periods
    window = Window(rows, k, -k)  # a shifted column alone does not see its own row
    return window, Lag(window, inner, k)


def by_column(other: Any, names: list[Any]) -> dict[Any, Any] | None:
    """A public Series, dict or array as one constant for each column; None for anything else."""
    if type(other).__name__ == "Series" and type(other).__module__.startswith("pandas"):
        known = dict(other.items())
    elif isinstance(other, Mapping):
        known = dict(other)
    elif getattr(other, "ndim", 0) == 1 and hasattr(other, "tolist") or isinstance(other, (list, tuple)):
        listed = other.tolist() if hasattr(other, "tolist") else list(other)
        if len(listed) != len(names):
            raise PlanError(f"the table has {len(names)} columns, but {len(listed)} constants were given")
        return dict(zip(names, listed, strict=True))
    else:
        return None
    gone = [name for name in names if name not in known]
    if gone or len(known) != len(names):
        odd = gone or [name for name in known if name not in names]
        raise PlanError(
            f"a table and a public Series meet column by column, but {odd[0]!r} is in one of them only",
            do="choose the columns first: df[list(series.index)]",
        )
    return known


def info_text(columns: Mapping[Any, Expr]) -> str:
    """What df.info() prints: names, types, and what a column may hold."""
    lines = [(" #", "Column", "Dtype", "Values")]
    lines += [(f"{i:2}", str(n), shown_type(e.domain), _values(e.domain)) for i, (n, e) in enumerate(columns.items())]
    widths = [max(len(line[k]) for line in lines) for k in range(4)]
    lines.insert(1, ("--", "-" * widths[1], "-" * widths[2], "------"))
    table = ["  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines]
    head = [
        "<class 'privjail.pandas.PrivDataFrame'>",
        "rows: private; .shape[0].reveal(eps=…) counts them",
        f"Data columns (total {len(columns)} columns):",
    ]
    return "\n".join([*head, *table])


def _values(domain: Domain) -> str:
    if isinstance(domain, CategoryDomain):
        return f"{len(domain.categories)} categories"
    if isinstance(domain, (TimeDomain, OrdinalDomain)):
        return str(domain).split("] ", 1)[-1].removesuffix(", no nulls")
    if isinstance(domain, Numeric):
        low, high = ("…" if b is None else str(b) for b in domain.range)
        return f"{low} to {high}"
    return ""
