"""Groups of one partition: what is counted for one of them is counted for all."""

from __future__ import annotations

from math import prod

from privjail.engines.labels import code_of, shape_of
from privjail.ops.columns.compare import Compare
from privjail.ops.rows.filter import Filter
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.node_table import NodeTable
from privjail.plan.rows import Rows

TABLE_LIMIT = 1 << 14  # elements of a contingency table that is worth sharing between sibling groups
NO_GROUP = (-1, 0)
_CODES: NodeTable[tuple[int, int]] = NodeTable()  # the group that a comparison picks, and how many groups there are


Fields = tuple[Rows, tuple[Expr, ...], Expr | None]  # of a Tally, which takes longer to build than to look up


def enclosing_tables(table: Fields) -> list[tuple[Fields, tuple[int, ...]]]:
    """This table, then each wider table that it can be read from, with our index in it."""
    rows, keys, value = table
    index: tuple[int, ...] = ()
    found: list[tuple[Fields, tuple[int, ...]]] = [(table, index)]
    size = prod(shape_of(keys))
    while isinstance(rows, Filter) and len(keys) < 8:
        group = picked(rows)
        if group is None:
            break
        by, code, groups = group
        size *= groups
        if size > TABLE_LIMIT:
            break
        rows, keys, index = rows.rows, (by, *keys), (code, *index)
        found.append(((rows, keys, value), index))
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
