"""How many rows joins and appended tables make of one row of the data, anywhere below a question. A public fact."""

from __future__ import annotations

from typing import NamedTuple

from privjail.plan.node import Node, children, inputs_first
from privjail.plan.node_table import NodeTable
from privjail.plan.rows import Rows


class Growth(NamedTuple):
    """``most``: rows that are made of one row of the data, in any table that is needed.

    ``owned``: whether all tables are owned (``Rows.owner``). Then the question can be answered for some persons at a
    time. An owned table T satisfies T(D - p) = T(D) without the rows of p. Taking away one person after another,
    T(persons in S) = T(all) without the rows of everybody outside of S. So if persons are divided into S1, S2, …,
    each row of T(all) is in just one of T(S1), T(S2), …, with the same values; and whatever adds up over rows, or
    over persons, adds up over these.
    """

    most: int
    owned: bool


SMALL = Growth(1, True)
_GROWTH: NodeTable[Growth] = NodeTable()


def growth(node: Node) -> Growth:
    """The growth of all tables below a node. Found once for each node, inputs first."""
    known = _GROWTH.get(node)
    if known is None:
        for each in inputs_first((node,), children, _GROWTH.__contains__):
            _GROWTH[each] = _growth(each)
        known = _GROWTH[node]
    return known


def _growth(node: Node) -> Growth:
    below = [_GROWTH[child] for child in children(node)]
    most, owned = max([each.most for each in below], default=1), all([each.owned for each in below])
    if isinstance(node, Rows):
        most = max(most, node.lineage.grown)
        if node.starts_base:  # selections are owned as their base is
            owned = owned and node.owner() is not None
    return SMALL if (most, owned) == SMALL else Growth(most, owned)
