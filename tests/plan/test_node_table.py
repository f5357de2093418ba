"""Facts beside nodes: found for the node that they are of, and for no other."""

from __future__ import annotations

import gc
from weakref import ref

from privjail.plan.node import Lit
from privjail.plan.node_table import SWEPT_FROM, NodeTable


def test_a_value_is_found_by_its_node() -> None:
    table: NodeTable[int] = NodeTable()
    one, other = Lit.of("in a table"), Lit.of("in no table")
    table[one] = 1

    assert table[one] == table.get(one) == 1 and one in table
    assert table.get(other) is None and other not in table
    table[one] = 2
    assert table[one] == 2 and len(table) == 1


def test_a_table_does_not_keep_nodes_alive() -> None:
    table: NodeTable[int] = NodeTable()
    made = Lit.of("only in a table")
    gone = ref(made)
    table[made] = 1
    del made
    gc.collect()

    assert gone() is None


def test_a_node_at_the_address_of_another_does_not_get_its_value() -> None:
    """Python uses addresses again at once; a table by id() would give one group's facts for another's."""
    table: NodeTable[str] = NodeTable()
    addresses, reused = set(), 0
    for i in range(500):
        made = Lit.of(f"number {i}")
        reused += id(made) in addresses
        addresses.add(id(made))
        assert table.get(made) is None
        table[made] = f"number {i}"
        assert table[made] == made.spelling

    assert reused > 0


def test_entries_of_nodes_that_are_gone_are_dropped() -> None:
    table: NodeTable[int] = NodeTable()
    kept = [Lit.of(f"kept {i}") for i in range(10)]
    for each in kept:
        table[each] = 1
    for i in range(10 * SWEPT_FROM):
        table[Lit.of(f"dropped {i}")] = 0

    assert len(table) <= SWEPT_FROM + 2 * len(kept)
    assert all(table[each] == 1 for each in kept)


def test_a_table_can_be_left_with_no_entry() -> None:
    table: NodeTable[int] = NodeTable()
    for i in range(3 * SWEPT_FROM):
        table[Lit.of(f"dropped {i}")] = 0
    gc.collect()
    table.sweep()

    assert len(table) == 0
