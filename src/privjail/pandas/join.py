"""Joining with a public table: each private row looks up its key."""

from __future__ import annotations

from typing import Any

from privjail.errors import PlanError, RefusedError
from privjail.ops.filter import keep
from privjail.ops.isin import IsIn
from privjail.ops.recode import Recode
from privjail.pandas.rowwise import literal, typed
from privjail.prisoner import Prisoner


def join_public(left: Any, right: Any, on: Any, how: str) -> Any:
    """Left or inner join on a key that is unique in the public table: a row-wise look-up."""
    if isinstance(right, Prisoner):
        raise RefusedError(
            "two private tables are not joined: one person could meet any number of rows",
            do="join with a public table, or ask the curator for a joined data set",
        )
    if not isinstance(on, str) or on not in getattr(right, "columns", ()):
        raise PlanError("merge needs on= the name of a key column of both tables")
    if how not in ("left", "inner"):
        raise PlanError(f"how must be 'left' or 'inner', got {how!r}")
    if right[on].duplicated().any() or right[on].isna().any():
        raise PlanError(
            "the key must be unique and present in the public table: otherwise one private row becomes several",
            do="drop duplicate keys first",
        )
    keys = [literal(k) for k in right[on].tolist()]
    key = typed(left._expr(on), keys[0].value if keys else None) if keys else left._expr(on)
    clash = [c for c in right.columns if c != on and c in left._exprs]
    if clash:
        raise PlanError(f"both tables have columns {clash}", do="rename them first")
    rows = keep(left._rows, IsIn(key, tuple(keys))) if how == "inner" else left._rows
    columns = dict(left._exprs)
    for name in right.columns:
        if name != on:
            values = [literal(None if _missing(v) else v) for v in right[name].tolist()]
            columns[name] = Recode(key, tuple(zip(keys, values, strict=True)), 0)
    return left._new(columns, rows)


def _missing(value: Any) -> bool:
    return value is None or value != value or type(value).__name__ in ("NAType", "NaTType")
