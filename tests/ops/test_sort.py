"""sort_values."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError, RowsError
from privjail.ops.columns.carried import Constant
from privjail.ops.rows.filter import Filter
from privjail.ops.columns.isin import IsNull
from privjail.ops.columns.logic import Not
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.sort import Sort
from privjail.plan.node import Lit

from .checking import check_rows, covers, given, seen, table
from .worlds import FLOATS, LETTERS, MOMENTS, SQUARE, TEXTS, TIES, TRUTHS, TWO_EACH

flags = st.integers(0, 1)


@covers("property", "sort")
@given(TIES.neighbours(), flags, flags)
def test_a_sort_keeps_the_distance(pair, down, also):
    """V-22: with ties and nulls, by one column and by two, in both directions."""
    x, y = TIES.column("x"), TIES.column("y")

    check_rows(Sort(TIES.source, (x,), (down,)), [pair])
    check_rows(Sort(TIES.source, (x, y), (down, also)), [pair])
    check_rows(Sort(Sort(TIES.source, (y,), (also,)), (x,), (down,)), [pair])


@covers("property", "sort")
@given(SQUARE.neighbours(6), flags, flags)
def test_the_head_of_a_sort_keeps_the_distance_of_a_head(pair, down, also):
    rows = Sort(SQUARE.source, (SQUARE.column("x"), SQUARE.column("y")), (down, also))

    check_rows(rows, [pair])
    check_rows(Slice(rows, None, 2), [pair])


@covers("witness", "sort")
def test_the_claim_is_reached_by_any_row():
    rows = Sort(TIES.source, (TIES.column("x"),), (0,))

    assert check_rows(rows, [((), ((0, "p"),))]) == rows.distance.value == 1


@covers("small world", "sort")
def test_sorts_in_the_small_world():
    """V-22: all tables of up to six rows where all keys tie, all tables of up to four rows with nulls."""
    x, y = TIES.column("x"), TIES.column("y")
    for down in (0, 1):
        check_rows(Sort(TIES.source, (x,), (down,)), TIES.pairs())
    check_rows(Sort(TIES.source, (x, y), (0, 1)), TIES.pairs())
    tied = type(TIES)(TIES.columns, ((0, "p"), (0, "q")))
    check_rows(Sort(tied.source, (tied.column("x"),), (0,)), tied.pairs(6))
    check_rows(Sort(TWO_EACH.source, (TWO_EACH.column("x"),), (1,)), TWO_EACH.pairs())


@pytest.mark.parametrize("world", [FLOATS, LETTERS, MOMENTS, TEXTS, TRUTHS], ids=lambda w: str(w.columns[0][1]))
@covers("small world", "sort")
def test_sorts_of_every_type_in_the_small_world(world):
    check_rows(Sort(world.source, (world.column("x"),), (1,)), world.pairs(3))


def test_nulls_come_last_and_ties_keep_their_order():
    x, y = TIES.column("x"), TIES.column("y")
    data = ((0, "q"), (None, "p"), (0, "p"), (0, "q"))
    rows = Sort(TIES.source, (x,), (0,))

    assert table(rows, seen(rows), data) == ((0, "q"), (0, "p"), (0, "q"), (None, "p"))
    back = Sort(TIES.source, (x, y), (1, 0))
    assert table(back, seen(back), data) == ((0, "p"), (0, "q"), (0, "q"), (None, "p"))
    same = Sort(TIES.source, (Constant(Lit.of(1)),), (1,))
    assert table(same, seen(same), data) == data


def test_a_negative_zero_sorts_like_a_zero():
    """V-16."""
    rows = Sort(FLOATS.source, (FLOATS.column("x"),), (0,))
    found = table(rows, seen(rows), ((0.0,), (-0.0,), (0.0,), (-1.0,)))

    assert str(found) == "((-1.0,), (0.0,), (-0.0,), (0.0,))"


def test_a_sort_after_a_filter_sorts_what_is_left():
    x = TIES.column("x")
    rows = Sort(Filter(TIES.source, Not(IsNull(x))), (TIES.column("y"),), (1,))

    assert table(rows, seen(rows), ((None, "q"), (0, "p"), (1, "q"))) == ((1, "q"), (0, "p"))


def test_a_sort_needs_a_column_and_a_direction_for_each():
    with pytest.raises(PlanError):
        Sort(TIES.source, (), ())
    with pytest.raises(PlanError):
        Sort(TIES.source, (TIES.column("x"),), (0, 1))


@pytest.mark.parametrize("place", [0, 1])
def test_a_sort_by_a_column_of_other_rows_is_refused(place):
    """Row i there is nobody's in particular here: the order would say what stands beside whom."""
    by = [TIES.column("x"), TIES.column("y")]
    by[place] = SQUARE.column("y")

    with pytest.raises(RowsError, match="sort key"):
        Sort(TIES.source, tuple(by), (0, 0))
