"""Counts of persons by keys that are private themselves."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError, RefusedError, RowsError
from privjail.mechanisms.laplace import Laplace
from privjail.ops.numbers.combine import Scale, Total
from privjail.ops.numbers.key_counts import LONGEST, KeyCounts
from privjail.ops.rows.filter import Filter
from privjail.ops.columns.compare import Compare
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.source import Column, Dataset, Source, Unit
from privjail.plan.domain import IntDomain, TextDomain
from privjail.plan.node import Lit
from privjail.release import Query, ReleaseGate

from . import checking
from .checking import about, covers, given
from .people import STAYS, TWO

OPEN = Source(Dataset("open", "open", (("who", IntDomain(False, 0, 2)), ("x", TextDomain(True))), Unit("who", None)))
ROWS = Source(Dataset("rows", "rows", (("x", TextDomain(True)), ("n", IntDomain(True))), Unit()))
LONG = "y" * (LONGEST + 1)
CELLS = [(who, x) for who in (0, 1) for x in ("a", "b", None)]


def by_key(k: int = 1, rows=OPEN, most: int = 9) -> KeyCounts:
    return KeyCounts(rows, Column(OPEN, "x"), OPEN.owner(), k, most)


def check_keys(value: KeyCounts, pairs, source) -> tuple[int, int]:
    """No more keys move than claimed, and none by more than 1; gives the most of both that were seen."""
    about(value)
    most, each = value.joint.l1, value.joint.linf
    keys_moved = furthest = 0
    for left, right in pairs:
        before, after = (dict(checking.engine(source, t).evaluate(value)) for t in (left, right))
        moved = [abs(before.get(key, 0) - after.get(key, 0)) for key in before.keys() | after.keys()]
        assert sum(moved) <= most and max(moved, default=0) <= each, (left, right)
        assert all(n > 0 for n in after.values()), "a key that does not occur is not there"
        keys_moved, furthest = max(keys_moved, sum(moved)), max(furthest, max(moved, default=0))
    return keys_moved, furthest


def without(table):
    """Neighbours: the table without one person."""
    for person in dict.fromkeys(row[0] for row in table):
        yield tuple(row for row in table if row[0] != person), table


@covers("property", "key_counts")
@given(st.lists(st.sampled_from(CELLS), max_size=6).map(tuple), st.integers(1, 3))
def test_one_person_moves_few_keys_by_one_each(table, k):
    check_keys(by_key(k), without(table), OPEN)


@covers("witness", "key_counts")
def test_the_claims_are_reached():
    hers = ((0, "a"), (0, "b"), (0, "a"), (0, None), (0, LONG))
    for k in (1, 2):
        assert check_keys(by_key(k), [(((1, "a"),), ((1, "a"), *hers))], OPEN) == (k, 1)
    rows = KeyCounts(ROWS, Column(ROWS, "n"), None, 1, 9)
    assert check_keys(rows, [(((("a", 7),)), (("a", 7), ("b", 7)))], ROWS) == (1, 1)


@covers("small world", "key_counts")
def test_all_small_tables():
    tables = [t for n in range(4) for t in product(CELLS, repeat=n)]
    for k in (1, 2):
        check_keys(by_key(k), [pair for t in tables for pair in without(t)], OPEN)


def test_of_each_person_the_first_keys_count_once():
    table = ((0, "b"), (0, "b"), (0, "a"), (1, LONG), (1, None), (1, "a"), (0, "c"))
    found = checking.engine(OPEN, table).evaluate(by_key(2))

    assert dict(found) == {"b": 1, "a": 2}


def test_the_same_on_tables_of_a_population():
    value = KeyCounts(STAYS.source, STAYS.column("cost"), STAYS.column("who"), 2, 9)
    for left, right in TWO.pairs(3):
        before, after = (dict(TWO.engine(d).evaluate(value)) for d in (left, right))
        moved = [abs(before.get(key, 0) - after.get(key, 0)) for key in before.keys() | after.keys()]
        assert sum(moved) <= 2 and max(moved, default=0) <= 1


def test_a_bound_on_a_person_is_charged_above_groups_of_her_rows():
    kept = Filter(OPEN, Compare("==", Column(OPEN, "who"), Lit.of(1)))

    assert [c.parent for c in kept.cells] == list(OPEN.cells)
    assert by_key(rows=kept).cells == OPEN.cells


def test_what_is_refused():
    x, n = Column(ROWS, "x"), Column(ROWS, "n")
    with pytest.raises(RowsError):
        KeyCounts(OPEN, x, OPEN.owner(), 1, 9)
    for per_person, most in ((0, 9), (10, 9), (1, 10**6)):
        with pytest.raises(PlanError, match="at least 1"):
            KeyCounts(ROWS, x, None, per_person, most)
    with pytest.raises(RefusedError, match="whose rows"):
        KeyCounts(OPEN, Column(OPEN, "x"), None, 1, 9)
    with pytest.raises(RefusedError, match="whose rows"):
        KeyCounts(ROWS, x, n, 1, 9)
    with pytest.raises(RefusedError, match="filtered and sorted"):
        KeyCounts(ROWS, x, None, 2, 9)
    sliced = Slice(ROWS, None, 3)
    with pytest.raises(RefusedError, match="filtered and sorted"):
        KeyCounts(sliced, checking.carried(sliced, x), None, 1, 9)
    with pytest.raises(PlanError, match="texts or whole numbers"):
        KeyCounts(ROWS, Compare("==", n, Lit.of(1)), None, 1, 9)


def test_nothing_is_computed_from_private_keys_and_nothing_else_releases_them():
    value = KeyCounts(ROWS, Column(ROWS, "x"), None, 1, 9)
    for made in (lambda: Scale(value, 0), lambda: Total(value)):
        with pytest.raises(PlanError, match="private keys"):
            made().joint  # noqa: B018
    gate = ReleaseGate(checking.engine(ROWS, (("a", 1),)))
    with pytest.raises(PlanError, match="laplace does not release this"):
        gate.release([Query(value, Laplace(1))])


@pytest.mark.parametrize("odd", [1.5, 1.0, True])
def test_keys_of_a_person_are_a_whole_number(odd) -> None:
    """With 1.5 both engines would count two keys, and the noise would be for one."""
    with pytest.raises(PlanError, match="whole numbers"):
        by_key(odd, most=8)  # no node of whole numbers with 8: equal fields would give that one
    with pytest.raises(PlanError, match="whole numbers"):
        by_key(1, most=float(8))  # type: ignore[arg-type]


def test_each_key_moves_by_one_however_many_a_person_has():
    assert (by_key(3).joint.linf, by_key(3).joint.l1) == (1, 3)
