"""Groups of one partition: what is counted for one of them is counted for all."""

from __future__ import annotations

from math import prod

from privjail.engines.polars.columns import code_of
from privjail.engines.polars.selections import Table
from privjail.ops.columns.compare import Compare
from privjail.ops.rows.filter import Filter
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.node_table import NodeTable

TABLE_LIMIT = 1 << 14  # elements of a contingency table that is worth sharing between sibling groups
NO_GROUP = (-1, 0)
_CODES: NodeTable[tuple[int, int]] = NodeTable()  # the group that a comparison picks, and how many groups there are


def shape_of(keys: tuple[Expr, ...]) -> tuple[int, ...]:
    return tuple(len(key.domain.labels or ()) for key in keys)


def enclosing_tables(table: Table) -> list[tuple[Table, tuple[int, ...]]]:
    """The table itself, and those of all groups that it is one of; each with the place of ours in it."""
    rows, keys, value = table
    place: tuple[int, ...] = ()
    found = [(table, place)]
    size = prod(shape_of(keys))
    while isinstance(rows, Filter) and len(keys) < 8:
        group = picked(rows)
        if group is None:
            break
        by, code, groups = group
        size *= groups
        if size > TABLE_LIMIT:
            break
        rows, keys, place = rows.rows, (by, *keys), (code, *place)
        found.append(((rows, keys, value), place))
    return found


def picked(rows: Filter) -> tuple[Expr, int, int] | None:
    """For a filter that picks one group of a partition: its key, the group's number, and how many groups there are."""
    condition = rows.condition
    if not isinstance(condition, Compare):
        return None
    known = _CODES.get(condition)
    if known is None:
        known = NO_GROUP
        match condition:
            case Compare("==", by, Lit() as key) if by.domain.labels is not None:
                code = code_of(by, key.value)
                known = NO_GROUP if code is None else (code, len(by.domain.labels))
        _CODES[condition] = known
    return None if known is NO_GROUP else (condition.a, *known)
