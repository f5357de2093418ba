"""groupby(key).head(k)."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError
from privjail.ops.columns.compare import Compare
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.sort import Sort
from privjail.ops.rows.source import Unit
from privjail.plan.domain import IntDomain
from privjail.plan.node import Lit

from ..tables import World
from .checking import carried, check_rows, covers, given, seen, table
from .worlds import ANY_EACH, TIES, TWO_EACH

most = st.integers(1, 3)


@covers("property", "group_head")
@given(TIES.neighbours(), most)
def test_by_any_key_one_edit_becomes_at_most_two(pair, k):
    check_rows(GroupHead(TIES.source, TIES.column("x"), k), [pair])
    check_rows(GroupHead(Sort(TIES.source, (TIES.column("y"),), (1,)), TIES.column("x"), k), [pair])


@covers("property", "group_head")
@given(ANY_EACH.neighbours(), most)
def test_by_user_a_user_keeps_at_most_k_rows(pair, k):
    u, x = ANY_EACH.column("u"), ANY_EACH.column("x")

    for rows in (ANY_EACH.source, Filter(ANY_EACH.source, Compare("==", x, Lit.of(1)))):
        head = GroupHead(rows, u, k)
        assert head.distance.value == k
        check_rows(head, [pair])
    check_rows(GroupHead(Sort(ANY_EACH.source, (x,), (1,)), u, k), [pair])


@covers("property", "group_head")
@given(TWO_EACH.neighbours(), most)
def test_by_user_no_further_than_the_user_has_rows(pair, k):
    head = GroupHead(TWO_EACH.source, TWO_EACH.column("u"), k)

    assert head.distance.value == min(k, 2)
    check_rows(head, [pair])


@covers("witness", "group_head")
def test_the_claims_are_reached():
    """V-11: by any key 2, since the row that comes in pushes another one out; by user k."""
    head = GroupHead(TIES.source, TIES.column("x"), 1)
    left = ((0, "p"),)
    assert check_rows(head, [(left, ((0, "q"), (0, "p")))]) == head.distance.value == 2

    for k in (1, 2, 3):
        mine = GroupHead(ANY_EACH.source, ANY_EACH.column("u"), k)
        assert check_rows(mine, [((), (("ann", 1),) * 4)]) == mine.distance.value == k

    few = GroupHead(TWO_EACH.source, TWO_EACH.column("u"), 3)
    assert check_rows(few, [((), (("ann", 1),) * 2)]) == few.distance.value == 2


@covers("small world", "group_head")
def test_group_heads_in_the_small_world():
    for k in (1, 2):
        check_rows(GroupHead(TIES.source, TIES.column("x"), k), TIES.pairs())
        check_rows(GroupHead(ANY_EACH.source, ANY_EACH.column("u"), k), ANY_EACH.pairs(3))
        check_rows(GroupHead(TWO_EACH.source, TWO_EACH.column("x"), k), TWO_EACH.pairs())
    first = GroupHead(ANY_EACH.source, ANY_EACH.column("u"), 2)
    again = GroupHead(first, carried(first, ANY_EACH.column("u")), 1)
    check_rows(again, ANY_EACH.pairs(3))
    check_rows(Slice(first, None, 2), ANY_EACH.pairs(3))


def test_by_any_other_key_users_without_a_bound_stay_without_one():
    assert GroupHead(ANY_EACH.source, ANY_EACH.column("x"), 1).distance.value is None


def test_after_a_slice_the_user_column_is_a_key_like_any_other():
    """V-18: a slice mixes the rows of users, so its bound is no longer one of a user."""
    rows = Slice(TWO_EACH.source, None, 9)
    head = GroupHead(rows, carried(rows, TWO_EACH.column("u")), 1)

    assert head.distance.value == 2 * rows.distance.value


def test_rows_without_a_key_are_dropped_and_the_order_is_kept():
    rows = GroupHead(TIES.source, TIES.column("x"), 1)
    data = ((1, "q"), (None, "p"), (0, "p"), (1, "p"), (0, "q"))

    assert table(rows, seen(rows), data) == ((1, "q"), (0, "p"))


def test_at_least_one_row():
    for k in (0, -1, 1.5):
        with pytest.raises(PlanError):
            GroupHead(TIES.source, TIES.column("x"), k)


def test_the_bound_of_a_user_holds_for_the_whole_data_set_and_not_for_a_part():
    """V-18: a user with rows in two parts keeps up to k rows in each, so the head of a part is charged as the whole."""
    u, x = ANY_EACH.column("u"), ANY_EACH.column("x")
    parts = [Filter(ANY_EACH.source, Compare("==", x, Lit.of(v))) for v in (0, 1)]
    heads = [GroupHead(part, u, 2) for part in parts]

    assert all(part.cells != ANY_EACH.source.cells for part in parts)
    for head in heads:
        assert head.cells == ANY_EACH.source.cells and head.edits == head.factor == 2 and head.cap is None
    both = heads[0].distance + heads[1].distance
    assert both.value == 4
    everything = (("ann", 0),) * 3 + (("ann", 1),) * 3
    assert sum(check_rows(head, [((), everything)]) for head in heads) == 4


def test_where_nothing_is_dropped_a_part_stays_a_part():
    """No user has more than two rows: the head of two is the table, and its parts still exclude each other."""
    u, x = TWO_EACH.column("u"), TWO_EACH.column("x")
    part = Filter(TWO_EACH.source, Compare("==", x, Lit.of(1)))

    for k in (2, 3):
        assert GroupHead(part, u, k).cells == part.cells and GroupHead(part, u, k).factor == 2
    assert GroupHead(part, u, 1).cells == TWO_EACH.source.cells
    assert GroupHead(part, x, 1).cells == part.cells  # by another key: twice the part's own distance


def test_the_constant_distance_of_few_rows_doubles():
    """V-11: by any key, twice what the rows move; but never more than twice the rows that there can be."""
    head = Slice(ANY_EACH.source, None, 1)
    few = GroupHead(head, carried(head, ANY_EACH.column("x")), 1)

    assert head.cap == few.cap == few.edits == few.distance.value == 2


@pytest.mark.parametrize("k", [1, 2])
def test_by_user_nothing_goes_out_when_a_user_comes_in(k):
    """So counts move in one direction, also of users without a limit on their rows."""
    for most in (None, 2):
        world = World((TWO_EACH.columns[0], ("x", IntDomain(True, 0, 2))), (), Unit("u", most))
        mine = GroupHead(world.source, world.column("u"), k)
        assert mine.moved == (k, 0) and Tally(mine, (carried(mine, world.column("x")),), None).monotone
    anybody = GroupHead(TWO_EACH.source, TWO_EACH.column("x"), k)
    assert not Tally(anybody, (), None).monotone
