"""shift, diff and rolling."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError, RowsError
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.rows.filter import Filter
from privjail.ops.columns.isin import IsNull
from privjail.ops.columns.logic import Not
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.window import WIDEST, Lag, Window
from privjail.plan.domain import IntDomain

from ..tables import World, edits
from .checking import about, carried, check_row_wise, check_rows, covers, given, growing, table
from .worlds import ANY_EACH, NUMBERS, TWO_EACH

sizes = st.integers(0, 3)


@covers("property", "window")
@given(NUMBERS.neighbours(), sizes, sizes)
def test_a_window_moves_no_further_than_claimed(pair, before, after):
    check_rows(Window(NUMBERS.source, before, after), [pair])


@covers("property", "window")
@given(NUMBERS.neighbours(), sizes, sizes)
def test_a_window_of_a_head_or_of_filtered_rows_moves_no_further_than_claimed(pair, before, after):
    check_rows(Window(Slice(NUMBERS.source, None, 3), before, after), [pair])
    check_rows(Window(Filter(NUMBERS.source, Not(IsNull(NUMBERS.column("x")))), before, after), [pair])


@pytest.mark.parametrize("before, after", [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)])
@covers("witness", "window")
def test_the_claim_is_reached_by_a_row_unlike_all_others_in_the_middle(before, after):
    """V-11, V-23: one row that comes in, and two edits for each of the w - 1 other rows that see it."""
    rows = Window(NUMBERS.source, before, after)
    width = before + 1 + after

    assert rows.distance.value == 2 * width - 1
    right = ((1,),) * 4 + ((0,),) + ((1,),) * 4
    left = ((1,),) * 8
    assert check_rows(rows, [(left, right)]) == 2 * width - 1


@covers("small world", "window")
def test_windows_in_the_small_world():
    """V-23."""
    for before, after in ((1, 0), (0, 1), (1, 1), (2, 0)):
        check_rows(Window(NUMBERS.source, before, after), NUMBERS.pairs())
    check_rows(Window(Slice(NUMBERS.source, -3, 2), 1, 0), NUMBERS.pairs())
    check_rows(Window(TWO_EACH.source, 1, 0), TWO_EACH.pairs())


@covers("property", "lag")
@given(NUMBERS.neighbours(), st.integers(-2, 2))
def test_a_lagged_column_moves_with_its_window(pair, k):
    window = Window(NUMBERS.source, 2, 2)
    lag = Lag(window, NUMBERS.column("x"), k)

    check_row_wise(lag, [pair])


@covers("small world", "lag")
def test_lags_and_differences_in_the_small_world():
    """V-23: the value above, below, and the difference to it, beside everything that the row sees."""
    x = NUMBERS.column("x")
    window = Window(NUMBERS.source, 1, 1)
    for k in (-1, 0, 1):
        lag = Lag(window, x, k)
        check_row_wise(lag, NUMBERS.pairs(3))
        assert lag.domain.nullable
    difference = Arithmetic("-", Lag(window, x, 0), Lag(window, x, 1))
    check_row_wise(difference, NUMBERS.pairs(3))


@covers("witness", "lag")
def test_a_lag_alone_reaches_the_distance_of_its_window():
    """A row inserted between two others is seen by the row below it: the pair (x, shift(1)) makes three edits."""
    window = Window(NUMBERS.source, 1, 0)
    lag = Lag(window, NUMBERS.column("x"), 1)
    left, right = ((0,), (0,), (1,), (1,)), ((0,), (0,), (None,), (1,), (1,))

    about(lag)
    assert edits(table(window, (lag,), left), table(window, (lag,), right)) == 1
    both = (carried(window, NUMBERS.column("x")), lag)
    assert edits(table(window, both, left), table(window, both, right)) == window.distance.value == 3


def test_a_lag_is_the_value_above_and_null_where_there_is_none():
    window = Window(NUMBERS.source, 1, 1)
    x = NUMBERS.column("x")
    data = ((0,), (None,), (1,))

    assert table(window, (Lag(window, x, 1),), data) == ((None,), (0,), (None,))
    assert table(window, (Lag(window, x, -1),), data) == ((None,), (1,), (None,))
    assert table(window, (Lag(window, x, 0),), data) == data


def test_a_lag_outside_its_window_is_refused():
    with pytest.raises(PlanError):
        Lag(Window(NUMBERS.source, 1, 0), NUMBERS.column("x"), -1)
    for before, after in ((-1, 0), (1, -2), (2**31, -(2**31))):
        with pytest.raises(PlanError):
            Window(NUMBERS.source, before, after)


@pytest.mark.parametrize("k", [-2, -1, 1, 2])
def test_a_lag_of_a_column_without_nulls_has_nulls_at_one_end(k):
    """V-16: above the first row there is none, and below the last one neither."""
    world = World((("x", IntDomain(False, 0, 1)),), ((0,), (1,)))
    lag = Lag(Window(world.source, 2, 2), world.column("x"), k)

    assert lag.domain == IntDomain(True, 0, 1)
    assert check_row_wise(lag, growing(((1,), (0,), (1,), (0,)))) == {None, 0, 1}


def test_a_row_itself_is_always_there():
    world = World((("x", IntDomain(False, 0, 1)),), ((0,), (1,)))

    assert Lag(Window(world.source, 1, 1), world.column("x"), 0).domain == IntDomain(False, 0, 1)


@pytest.mark.parametrize(
    "before, after, inside", [(2, 1, (-1, 0, 1, 2)), (0, 0, (0,)), (0, 2, (-2, -1, 0)), (2, 0, (0, 1, 2))]
)
def test_a_lag_looks_no_further_than_its_window(before, after, inside):
    """V-11: a row that lies outside is not in the distance of the window."""
    window = Window(NUMBERS.source, before, after)
    for k in range(-4, 5):
        if k in inside:
            assert Lag(window, NUMBERS.column("x"), k).k == k
        else:
            with pytest.raises(PlanError, match="outside the window"):
                Lag(window, NUMBERS.column("x"), k)


def test_the_widest_window():
    assert (
        Window(NUMBERS.source, WIDEST - 1, 0).distance.value
        == Window(NUMBERS.source, 0, WIDEST - 1).distance.value
        == 511
    )
    for before, after in ((WIDEST, 0), (0, WIDEST), (WIDEST // 2, WIDEST // 2), (0, -1)):
        with pytest.raises(PlanError, match="between 1 and 256"):
            Window(NUMBERS.source, before, after)


def test_the_constant_distance_of_few_rows_is_twice_their_number():
    """V-11: what moves by a constant moves by (2w - 1) times that constant; but a window has no more rows than there are."""
    head = Slice(ANY_EACH.source, None, 1)

    assert head.cap == 2 and head.factor is None
    assert Window(head, 0, 0).distance.value == Window(head, 1, 1).distance.value == 2
    assert Window(head, 1, 1).cap == Window(head, 1, 1).edits == 2 and Window(head, 1, 1).moved == (1, 1)


@covers("witness", "window")
def test_the_bound_by_the_number_of_rows_is_reached():
    few = Window(Slice(ANY_EACH.source, None, 2), 1, 0)
    left, right = (("bob", 0), ("bob", 0)), (("ann", 1), ("ann", 1), ("bob", 0), ("bob", 0))

    assert check_rows(few, [(left, right)]) == few.distance.value == 4


@pytest.mark.parametrize("k", [-2, -1, 1, 2, 100])
@covers("small world", "window")
def test_a_column_that_is_only_shifted_moves_by_one_row(k):
    """A column cut at one end, and some rows without a value at the other: nothing goes out."""
    alone = Window(NUMBERS.source, k, -k)

    assert alone.distance.value == 1 and alone.moved == (1, 0)
    assert check_rows(alone, NUMBERS.pairs()) == 1
    assert check_rows(Window(TWO_EACH.source, k, -k), TWO_EACH.pairs(3)) <= 2


@covers("small world", "window")
def test_windows_that_do_not_see_their_own_row_in_the_small_world():
    worst = {}
    for before, after in ((2, -1), (-1, 2), (3, -1), (-2, 3)):
        rows = Window(NUMBERS.source, before, after)
        worst[before, after] = check_rows(rows, NUMBERS.pairs()), rows.distance.value
        check_rows(Window(Slice(NUMBERS.source, -3, 2), before, after), NUMBERS.pairs(3))
    assert all(seen == claim for seen, claim in worst.values() if claim == 3)


def test_a_row_that_does_not_see_itself_brings_no_column_along():
    with pytest.raises(RowsError, match="do not see themselves"):
        carried(Window(NUMBERS.source, 1, -1), NUMBERS.column("x"))
    with pytest.raises(PlanError, match="outside the window"):
        Lag(Window(NUMBERS.source, 1, -1), NUMBERS.column("x"), 0)
