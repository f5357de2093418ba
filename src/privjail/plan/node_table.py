"""Side tables: facts about nodes that upper layers derive, kept outside the nodes."""

from __future__ import annotations

from typing import Generic, TypeVar
from weakref import ref

from privjail.plan.node import Node

V = TypeVar("V")
SWEPT_FROM = 1_000  # entries before the table is first searched for freed nodes


class NodeTable(Generic[V]):
    """One value for each node, kept about as long as the node lives.

    The table does not keep its nodes alive, and a value should not refer to nodes. Keys are weak references without a
    callback, which all tables share: Python makes only one for each node. The reference to a freed node equals no other
    reference, so a later node at the same address never finds its entry. Entries of freed nodes are dropped when the
    table has doubled since the last time.
    """

    __slots__ = ("_due", "_held")

    def __init__(self) -> None:
        self._held: dict[ref[Node], V] = {}
        self._due = SWEPT_FROM

    def get(self, node: Node) -> V | None:
        return self._held.get(ref(node))

    def __contains__(self, node: Node) -> bool:
        return ref(node) in self._held

    def __getitem__(self, node: Node) -> V:
        return self._held[ref(node)]

    def __setitem__(self, node: Node, value: V) -> None:
        held = self._held
        if len(held) >= self._due:
            self.sweep()
        held[ref(node)] = value

    def __len__(self) -> int:
        return len(self._held)

    def clear(self) -> None:
        """Drop all entries."""
        self._held.clear()
        self._due = SWEPT_FROM

    def sweep(self) -> None:
        """Drop the entries of freed nodes. In place, because another thread may add an entry meanwhile."""
        for each in list(self._held):
            if each() is None:
                self._held.pop(each, None)
        self._due = 2 * len(self._held) + SWEPT_FROM
