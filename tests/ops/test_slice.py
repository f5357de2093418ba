"""head, tail and iloc[a:b]."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError
from privjail.ops.rows.filter import Filter
from privjail.ops.columns.isin import IsNull
from privjail.ops.rows.slice import Slice, ends_of_chain, flatten, goes_out
from privjail.ops.rows.sort import Sort

from ..tables import edits
from .checking import about, check_rows, covers, given, seen, table
from .worlds import ANY_EACH, NUMBERS, TIES, TWO_EACH

BOUNDS = (None, 0, 1, 2, 3, -1, -2, -3)
FEW = (None, 1, 2, -1, -2)
ends = st.none() | st.integers(-5, 5)


@covers("property", "slice")
@given(NUMBERS.neighbours(), ends, ends)
def test_a_slice_moves_no_further_than_claimed(pair, start, stop):
    check_rows(Slice(NUMBERS.source, start, stop), [pair])


@covers("property", "slice")
@given(NUMBERS.neighbours(9), st.lists(st.tuples(ends, ends), min_size=1, max_size=4))
def test_a_chain_of_slices_moves_no_further_than_one_slice(pair, chain):
    rows = NUMBERS.source
    for start, stop in chain:
        rows = Slice(rows, start, stop)

    check_rows(rows, [pair])
    assert rows.distance.value <= 3


def sliced(n, chain):
    rows = range(n)
    for start, stop in chain:
        rows = rows[start:stop]
    return rows


def check_ends(chain, most=14):
    """Wherever a row is inserted, no more rows go out than claimed, and at most one comes in. Gives the most."""
    worst = 0
    for n in range(most):
        old, new = sliced(n, chain), sliced(n + 1, chain)
        for place in range(n + 1):
            before = {i + (i >= place) for i in old}  # the old rows by their new places
            worst = max(worst, len(before - set(new)))
            assert len(set(new) - before) <= 1
    assert worst <= goes_out(ends_of_chain(chain)), f"{chain}: {worst} rows go out"
    return worst


@given(st.lists(st.tuples(ends, ends), min_size=1, max_size=4))
def test_the_ends_of_a_chain_move_as_claimed(chain):
    check_ends(chain)


def test_the_ends_of_all_short_chains_of_two_slices():
    """V-23: and where a window can have two rows or more, most claims are reached."""
    chains = list(product(product((None, 0, 2, 4, -2, -4), repeat=2), repeat=2))
    loose = {chain for chain in chains if check_ends(chain, 12) < goes_out(ends_of_chain(chain))}
    wide = {chain for chain in chains if any(len(sliced(n, chain)) > 1 for n in range(12))}
    assert len(loose & wide) <= len(wide) // 10


@covers("witness", "slice")
def test_the_last_rows_of_the_first_ones_move_by_two():
    """head(6).tail(3): both ends move, or both stay."""
    rows = Slice(Slice(NUMBERS.source, None, 6), -3, None)
    left, right = (tuple((v,) for v in values) for values in ((0, 1, 0), (0, 0, 1, 0)))

    assert flatten(rows) == (NUMBERS.source, [(None, 6), (-3, None)])
    assert rows.distance.value == 2 and rows.moved == (1, 1)
    assert check_rows(rows, [(left, right), ((), ((1,),))]) <= 2
    assert check_ends([(None, 6), (-3, None)]) == 1


@pytest.mark.parametrize(
    "start, stop, left, right, claim",
    [
        # head: the inserted row comes in, the last one goes out
        (None, 2, (0, 0), (1, 0, 0), 2),
        (1, 3, (0, 0, 0), (0, 1, 0, 0), 2),
        # tail: likewise
        (-2, None, (0, 0), (0, 0, 1), 2),
        (-3, -1, (0, 0, 0, 0), (0, 0, 1, 0), 2),
        # one end is cut: the table only grows
        (1, None, (0,), (0, 1), 1),
        (None, -1, (0,), (1, 0), 1),
        (1, -1, (0, 0), (0, 1, 0), 1),
        (None, None, (), (1,), 1),
        # the start moves and the end stays: a row at each end goes out
        (-4, 5, (0, 0, 1, 0, 1), (0, 0, None, 1, 0, 1), 3),
    ],
)
@covers("witness", "slice")
def test_the_claim_is_reached(start, stop, left, right, claim):
    """V-11, V-23: the constants 1, 2 and 3 are each reached, so none of them can be lowered."""
    rows = Slice(NUMBERS.source, start, stop)

    assert rows.distance.value == claim
    pair = tuple((v,) for v in left), tuple((v,) for v in right)
    assert check_rows(rows, [pair]) == claim


@covers("witness", "slice")
def test_two_windows_of_no_rows_are_equal_and_of_one_row_two_edits_apart():
    assert Slice(NUMBERS.source, 0, 0).distance.value == 0
    assert Slice(NUMBERS.source, 2, 1).distance.value == 0
    assert Slice(ANY_EACH.source, None, 1).distance.value == 2
    pair = ((("bob", 0),), (("ann", 1), ("ann", 1), ("bob", 0)))
    assert check_rows(Slice(ANY_EACH.source, None, 1), [pair]) == 2


@covers("small world", "slice")
def test_slices_in_the_small_world():
    """V-23."""
    for start, stop in product(FEW, FEW):
        check_rows(Slice(NUMBERS.source, start, stop), NUMBERS.pairs())


@pytest.mark.slow
@covers("small world", "slice")
def test_all_slices_in_the_small_world():
    """V-23."""
    for start, stop in product(BOUNDS, BOUNDS):
        check_rows(Slice(NUMBERS.source, start, stop), NUMBERS.pairs(5))


@covers("small world", "slice")
def test_slices_of_slices_sorts_and_filters_in_the_small_world():
    """V-22, V-23."""
    x = TIES.column("x")
    ordered = Sort(TIES.source, (x,), (1,))
    windows = ((None, 2), (-3, None), (-3, 2))
    for outer, inner in product(windows, repeat=2):
        check_rows(Slice(Slice(ordered, *inner), *outer), TIES.pairs(3))
    for window in windows:
        check_rows(Slice(ordered, *window), TIES.pairs())
        check_rows(Slice(Filter(TIES.source, IsNull(x)), *window), TIES.pairs())


@covers("small world", "slice")
def test_slices_by_users_in_the_small_world():
    """V-11: a user of two rows can change a window by four rows."""
    worst = 0
    for start, stop in ((None, 2), (1, None), (-3, 2)):
        rows = Slice(TWO_EACH.source, start, stop)
        worst = max(worst, check_rows(rows, TWO_EACH.pairs()))
        check_rows(Slice(ANY_EACH.source, start, stop), ANY_EACH.pairs(3))
    assert worst == 4


def test_a_slice_is_what_python_makes_of_it():
    data = tuple((v,) for v in (0, 1, None, 1, 0))
    for start, stop in product(BOUNDS, BOUNDS):
        rows = Slice(NUMBERS.source, start, stop)
        about(rows)
        assert edits(table(rows, seen(rows), data), data[start:stop]) == 0


def test_windows_are_whole_numbers():
    for bound in (1.5, "1", 2**70):
        with pytest.raises(PlanError):
            Slice(NUMBERS.source, bound, None)


NOTHING = ((None, None), (0, None))  # slices that keep every row


@pytest.mark.parametrize("chain", [*(((-4, 5), each) for each in NOTHING), *((each, (-4, 5)) for each in NOTHING),
                                   ((None, None), (-4, 5), (0, None)), ((-4, 5), (None, 4)), ((-5, 5), (-4, None)),
                                   ((None, 5), (-4, 5))])  # fmt: skip
def test_a_chain_that_is_no_slice_of_one_kind_claims_three(chain):
    """V-11, V-23: its start can move while its end stays, as in iloc[-4:5]."""
    rows = NUMBERS.source
    for start, stop in chain:
        rows = Slice(rows, start, stop)

    assert goes_out(ends_of_chain(chain)) == 2 and rows.distance.value == 3


@pytest.mark.parametrize("chain", [*(((-4, 5), each) for each in NOTHING), *((each, (-4, 5)) for each in NOTHING)])
@covers("witness", "slice")
def test_the_three_of_a_chain_is_reached(chain):
    """V-11, V-23: the row that comes in takes one out at each end."""
    rows = NUMBERS.source
    for start, stop in chain:
        rows = Slice(rows, start, stop)
    left, right = (tuple((v,) for v in values) for values in ((0, 0, 1, 0, 1), (0, 0, None, 1, 0, 1)))

    assert check_rows(rows, [(left, right)]) == rows.distance.value == 3


@pytest.mark.parametrize(
    "inner, outer, claim",
    [
        ((1, 9), (2, 5), 2),
        ((1, 4), (2, 5), 2),
        ((1, None), (2, None), 1),
        ((1, 3), (5, None), 2),  # it is empty, but that is not looked at
        ((None, -1), (None, -2), 1),
        ((-5, None), (-3, None), 2),
        ((-3, None), (-5, None), 2),
        ((2, None), (None, 3), 2),
        ((1, None), (None, -1), 1),
        ((None, -1), (1, None), 1),
        ((-3, None), (1, None), 2),
        ((None, 3), (None, -1), 2),
        ((None, -1), (-2, None), 2),
        ((None, 6), (-3, None), 2),
        ((-3, None), (None, 6), 2),
        ((None, -1), (-4, 5), 3),
    ],
)
def test_what_two_slices_claim(inner, outer, claim):
    assert Slice(Slice(NUMBERS.source, *inner), *outer).distance.value == claim
