"""Joining with a public table: each private row looks up its key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privjail.errors import PlanError, RefusedError
from privjail.ops.columns.isin import IsIn
from privjail.ops.columns.recode import Recode
from privjail.ops.rows.filter import keep
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows
from privjail.prisoner import Prisoner
from privjail.rowwise import is_missing, literal, typed


def join_public(rows: Rows, columns: Mapping[Any, Expr], right: Any, on: Any, how: str) -> tuple[Rows, dict[Any, Expr]]:
    """Left or inner join on a key that is unique in the public table: a row-wise look-up."""
    if isinstance(right, Prisoner):
        raise RefusedError(
            "two private tables are joined as tables: df.merge(other, on=person)",
            do="join with a public table, or with a private table of the same population",
        )
    if not isinstance(on, str) or on not in getattr(right, "columns", ()) or on not in columns:
        raise PlanError("merge needs on= the name of a key column of both tables")
    if how not in ("left", "inner"):
        raise PlanError(f"how must be 'left' or 'inner', got {how!r}")
    if right[on].duplicated().any() or right[on].isna().any():
        raise PlanError(
            "the key must be unique and present in the public table: otherwise one private row becomes several",
            do="drop duplicate keys first",
        )
    clash = [c for c in right.columns if c != on and c in columns]
    if clash:
        raise PlanError(f"both tables have columns {clash}", do="rename them first")
    keys = [literal(k) for k in right[on].tolist()]
    key = typed(columns[on], keys[0].value) if keys else columns[on]
    joined = dict(columns)
    for name in right.columns:
        if name != on:
            values = [literal(None if is_missing(v) else v) for v in right[name].tolist()]
            joined[name] = Recode(key, tuple(zip(keys, values, strict=True)), 0)
    return (keep(rows, IsIn(key, tuple(keys))) if how == "inner" else rows), joined
