"""Counts and sums."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product

import pytest
from hypothesis import strategies as st

from privjail.errors import DPError, PlanError, RowsError
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.compare import Compare
from privjail.ops.numbers.combine import Add, Scale, Stack
from privjail.ops.numbers.distinct import Distinct
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.slice import Slice
from privjail.ops.numbers.tally import Tally, grid_bounds, sum_grid
from privjail.ops.rows.window import Window
from privjail.plan.domain import CategoryDomain, FloatDomain, IntDomain
from privjail.plan.node import Lit

from ..tables import World
from .checking import carried, check_value, covers, engine, given, growing, numbers
from .worlds import INT_MAX, INT_MIN, LETTERS, NUMBERS, REAL, SQUARE, TEXTS, TRUTHS, TWO_EACH, columns, within


def equals(expr, value):
    return Compare("==", expr, Lit.of(value))


def tallies(rows, world, key, value):
    """Counts and sums of some rows, in all and by a key."""
    k, v = carried(rows, world.column(key)), carried(rows, world.column(value))
    return [Tally(rows, keys, each) for keys in ((), (k,)) for each in (None, v)]


@covers("property", "tally")
@given(SQUARE.neighbours(6), st.sampled_from((None, 2, 3)), st.booleans())
def test_counts_and_sums_move_no_further_than_claimed(pair, n, window):
    """V-11, V-20: rows whose key is missing are in no group."""
    rows = SQUARE.source if n is None else Slice(SQUARE.source, None, n)
    rows = Window(rows, 1, 0) if window else rows
    for value in tallies(rows, SQUARE, "x", "y"):
        check_value(value, [pair], SQUARE.source)
    both = (carried(rows, SQUARE.column("x")), carried(rows, SQUARE.column("y")))
    check_value(Tally(rows, both, None), [pair], SQUARE.source)


@covers("property", "tally")
@given(TWO_EACH.neighbours(), st.integers(1, 3))
def test_counts_and_sums_of_users_rows_move_no_further_than_claimed(pair, k):
    head = GroupHead(TWO_EACH.source, TWO_EACH.column("u"), k)
    for rows in (TWO_EACH.source, head, Slice(head, None, 3)):
        for value in tallies(rows, TWO_EACH, "x", "x"):
            check_value(value, [pair], TWO_EACH.source)


@covers("property", "tally")
@given(columns("number", "category"), examples=80)
def test_sums_of_any_bounded_column_are_exact_and_within_the_claim(drawn):
    """V-7, V-8, V-9: no overflow, no rounding beyond the grid, no order."""
    world, (left, right) = drawn
    x, y = world.column("x"), world.column("y")
    if not x.domain.bounded:
        with pytest.raises(DPError, match="unbounded"):
            Tally(world.source, (), x)
        return
    for keys in ((), (y,)):
        total = Tally(world.source, keys, x)
        check_value(total, [(left, right)], world.source)
        assert numbers(total, right, world.source) == numbers(total, right[::-1], world.source)


@covers("witness", "tally")
def test_the_claims_are_reached():
    x, y = SQUARE.column("x"), SQUARE.column("y")
    for value, most in (
        (Tally(SQUARE.source, (), None), 1),
        (Tally(SQUARE.source, (x,), None), 1),
        (Tally(SQUARE.source, (x, y), None), 1),
        (Tally(SQUARE.source, (x,), y), 1),
    ):
        found = check_value(value, [((), (("a", -1),))], SQUARE.source)
        assert found["l1"] == found["l2"] == found["linf"] == value.joint.l1 == value.joint.linf == most

    head = Slice(LETTERS.source, None, 1)
    counts = Tally(head, (carried(head, LETTERS.column("x")),), None)
    assert check_value(counts, [((("a",),), (("b",), ("a",)))], LETTERS.source)["l1"] == counts.joint.l1 == 2


@pytest.mark.parametrize("low, high", [(-7, 5), (0, 10), (-3.5, 0.25), (0.0, 1.0), (-(2**40), 2**40), (0, 2**29 + 1)])
@covers("witness", "tally")
def test_a_sum_reaches_the_larger_bound(low, high):
    kind = IntDomain if isinstance(low, int) else FloatDomain
    world = World((("x", kind(True, low, high)),), ())
    total = Tally(world.source, (), world.column("x"))
    far = max(low, high, key=abs)

    assert check_value(total, [((), ((far,),))], world.source)["l1"] == total.distance.value == abs(Fraction(far))


@covers("small world", "tally")
def test_tallies_in_the_small_world():
    for world in (NUMBERS, LETTERS):
        for rows in (world.source, Slice(world.source, None, 2)):
            x = carried(rows, world.column("x"))
            for value in (Tally(rows, (), None), Tally(rows, (x,), None)):
                check_value(value, world.pairs(), world.source)
    total = Tally(NUMBERS.source, (NUMBERS.column("x"),), NUMBERS.column("x"))
    assert check_value(total, NUMBERS.pairs(), NUMBERS.source)["elements"] == [0, 1]
    for value in tallies(SQUARE.source, SQUARE, "x", "y"):
        check_value(value, SQUARE.pairs(2), SQUARE.source)
    for value in tallies(TWO_EACH.source, TWO_EACH, "x", "x"):
        check_value(value, TWO_EACH.pairs(3), TWO_EACH.source)


def test_a_sum_does_not_depend_on_the_order_of_rows():
    """V-8: 2**53, 1 and -2**53 in every order; a float sum would give 0, 1 or 2."""
    big = 2.0**53
    world = World((("x", FloatDomain(True, -big, big)),), ())
    total = Tally(world.source, (), world.column("x"))
    found = {
        tuple(numbers(total, tuple((v,) for v in order), world.source))
        for order in permutations((big, 1.0, 1.0, -big, None))
    }

    assert found == {(0,)}  # a 1 is below the grid of 2**23


def test_a_million_large_values_do_not_overflow():
    """V-7."""
    world = World((("x", IntDomain(True, INT_MIN, INT_MAX)), ("g", CategoryDomain(False, ("a",)))), ())
    n = 1 << 16
    data = ((INT_MAX, "a"),) * n
    for keys in ((), (world.column("g"),)):
        total = Tally(world.source, keys, world.column("x"))
        [found] = numbers(total, data, world.source)
        assert abs(found - n * Fraction(INT_MAX)) <= n * total.grid


def test_sums_of_the_largest_amounts_are_exact():
    """V-8: amounts are kept in floats, which hold 53 bits: none may be lost."""
    top, n = 2**40 - 1, 2**16 + 1
    world = World((("x", IntDomain(False, 0, top)), ("g", CategoryDomain(False, ("a",)))), ())
    for keys in ((), (world.column("g"),)):
        total = Tally(world.source, keys, world.column("x"))
        [found] = numbers(total, ((top, "a"),) * n, world.source)
        assert found == n * (top // total.grid) * total.grid


BEYOND_FLOATS = [
    sign * (2**62 + k * 2**33 + d) for sign in (1, -1) for k in (0, 1, 2, 3) for d in (-(2**9), -1, 0, 1, 2**9)
]


@pytest.mark.parametrize("x", [*BEYOND_FLOATS, INT_MIN, INT_MIN + 1, INT_MAX])
def test_a_long_whole_number_is_rounded_once(x):
    """V-8: between two points of the grid 2**34, also where the nearest float is the middle, or has another side."""
    world = World((("x", IntDomain(True, INT_MIN, INT_MAX)), ("g", CategoryDomain(False, ("a", "b")))), ())
    for keys in ((), (world.column("g"),)):
        total = Tally(world.source, keys, world.column("x"))
        low, high = grid_bounds(total.value.domain)
        found = numbers(total, ((x, "a"), (None, "a")), world.source)[0]
        assert found == min(max(round(x / total.grid), low), high) * total.grid  # Python's round: of two the even one


@given(st.sampled_from(REAL), st.sampled_from(REAL), st.sampled_from(REAL), examples=100)
def test_amounts_on_the_grid_are_near_and_inside(a, b, x):
    """V-8, V-9: rounding moves a value by at most one grid step, and never beyond the claimed magnitude."""
    domain = FloatDomain(False, min(a, b), max(a, b))
    low, high = grid_bounds(domain)
    grid = sum_grid(domain)

    assert low <= high and max(abs(low), abs(high)) * grid <= domain.magnitude
    assert max(abs(low), abs(high)) <= 2**30
    assert Fraction(float(grid)) == grid
    if within(domain, x):
        world = World((("x", domain),), ())
        [found] = numbers(Tally(world.source, (), world.column("x")), ((x,),), world.source)
        assert abs(found - Fraction(x)) <= grid


def test_the_last_row_of_a_group_leaves_the_shape_as_it_is():
    """V-20: same keys in the same order, also for an empty table."""
    counts = Tally(LETTERS.source, (LETTERS.column("x"),), None)

    assert numbers(counts, (("a",), ("b",)), LETTERS.source) == [1, 1]
    assert numbers(counts, (("a",),), LETTERS.source) == [1, 0]
    assert numbers(counts, ((None,),), LETTERS.source) == numbers(counts, (), LETTERS.source) == [0, 0]
    assert counts.index == (("a", "b"),)


@covers("property", "tally")
@given(SQUARE.neighbours(4))
def test_a_constant_key_counts_the_rows_of_a_filter(pair):
    """V-24: inside a group the key is a constant; grouping by it again must not fail, whatever the data."""
    one = Constant(Lit.of("a"))
    group = Filter(SQUARE.source, equals(SQUARE.column("x"), "a"))
    again = Filter(group, equals(one, "a"))
    loose = Filter(SQUARE.source, Compare(">", SQUARE.column("y"), Lit.of(0)))
    for rows in (group, again, SQUARE.source, Slice(SQUARE.source, None, 2), loose, Filter(loose, equals(one, "a"))):
        for keys in ((one,), (one, one)):
            check_value(Tally(rows, keys, None), [pair], SQUARE.source)
        check_value(Tally(rows, (one,), Constant(Lit.of(2))), [pair], SQUARE.source)
    check_value(Tally(Filter(SQUARE.source, equals(one, "b")), (one,), None), [pair], SQUARE.source)
    expected = sum(row[0] == "a" for row in pair[1])
    assert numbers(Tally(again, (one,), None), pair[1], SQUARE.source) == [expected]


def test_a_tally_by_users_is_not_called_monotone():
    """One user may add to one group; two edits after a head may take from another one."""
    assert Tally(NUMBERS.source, (NUMBERS.column("x"),), None).monotone
    head = Slice(NUMBERS.source, None, 1)
    assert not Tally(head, (carried(head, NUMBERS.column("x")),), None).monotone


def test_keys_are_finite_and_of_the_same_rows():
    with pytest.raises(PlanError):
        Tally(TEXTS.source, (TEXTS.column("x"),), None)
    with pytest.raises(PlanError):
        Tally(TEXTS.source, (), TEXTS.column("x"))
    with pytest.raises(RowsError):
        Tally(TEXTS.source, (), NUMBERS.column("x"))
    wide = World((("x", IntDomain(False, 0, 99_999)), ("y", IntDomain(False, 0, 99_999))), ())
    with pytest.raises(PlanError):
        Tally(wide.source, (wide.column("x"), wide.column("y")), None)
    assert growing(()) == [] and engine(NUMBERS.source, ()) is not None


@pytest.mark.parametrize("filtered", [False, True])
def test_each_element_moves_with_the_cells_of_its_own_keys_in_their_order(filtered):
    """V-11: with the keys of another element, two that exclude each other would be one, and two that do not would not."""
    world = World(
        (("x", CategoryDomain(True, ("a", "b"))), ("y", IntDomain(True, -1, 1)), ("z", IntDomain(False, 0, 1))), ()
    )
    x, y, z = (world.column(name) for name in "xyz")
    rows = Filter(world.source, equals(z, 1)) if filtered else world.source
    for keys in ((x, y), (y, x), (x, y, z)):
        counts = Tally(rows, keys, None)
        labels = list(product(*counts.index))
        assert counts.joint.size == len(labels)
        for i, found in enumerate(labels):
            ((cell, coefficient),) = counts.joint.at(i).terms.items()
            steps = cell.path()[1 + filtered :]
            assert [step.partition.by for step in steps] == list(keys) and coefficient == 1
            assert tuple(step.key.value for step in steps) == found


def test_an_element_of_a_tally_and_the_filter_of_its_keys_are_one_cell():
    """V-11: the count of a group and a filter by the same keys, in the same order, are charged at the same place."""
    x, y = SQUARE.column("x"), SQUARE.column("y")
    counts = Tally(SQUARE.source, (x, y), None)
    group = Filter(Filter(SQUARE.source, equals(x, "b")), equals(y, -1))
    at = list(product(*counts.index)).index(("b", -1))

    assert tuple(counts.joint.at(at).terms) == group.cells
    data = (("b", -1),) * 3 + (("a", -1), ("b", 1))
    assert numbers(counts, data, SQUARE.source)[at] == 3


@covers("small world", "tally")
def test_sums_of_heads_in_the_small_world():
    """V-23: a count moves by the larger of insertions and deletions, a sum by what comes in less what goes out."""
    world = World((("x", IntDomain(False, -1, 3)),), ((-1,), (0,), (3,)))
    head, last = Slice(world.source, None, 2), Slice(world.source, -2, 2)
    reached = {}
    for name, rows in (("head", head), ("both ends", last), ("window", Window(world.source, 1, 0))):
        x = carried(rows, world.column("x"))
        for what, value in (("count", Tally(rows, (), None)), ("sum", Tally(rows, (), x))):
            worst = check_value(value, world.pairs(3), world.source)
            reached[name, what] = worst["linf"], value.joint.linf
        check_value(Tally(rows, (x,), x), world.pairs(3), world.source)
        check_value(Distinct(rows, x), world.pairs(3), world.source)
    assert reached["head", "count"] == (1, 1) and reached["head", "sum"] == (4, 4)  # 3 comes, -1 goes
    assert reached["both ends", "count"][1] == 2 and reached["window", "count"][1] == 2


@covers("small world", "tally")
def test_after_a_head_one_group_can_gain_what_another_loses():
    """V-18: the difference of two groups moves by 2, though each moves by 1."""
    head = Slice(NUMBERS.source, None, 2)
    x = carried(head, NUMBERS.column("x"))
    zero, one = (Tally(Filter(head, Compare("==", x, Lit.of(v))), (), None) for v in (0, 1))
    difference = Add(zero, Scale(one, Fraction(-1)))

    assert check_value(difference, NUMBERS.pairs(3), NUMBERS.source)["linf"] == difference.joint.linf == 2
    check_value(Stack((zero, one), (0, 1)), NUMBERS.pairs(3), NUMBERS.source)
    assert check_value(zero, NUMBERS.pairs(3), NUMBERS.source)["linf"] == 1


@covers("small world", "tally")
def test_the_counts_of_one_user_move_in_one_direction():
    u, x = TWO_EACH.column("u"), TWO_EACH.column("x")
    counts = Tally(TWO_EACH.source, (x,), None)

    assert counts.monotone and Tally(GroupHead(TWO_EACH.source, u, 1), (), None).monotone
    check_value(counts, TWO_EACH.pairs(3), TWO_EACH.source)


def test_truths_are_counted_as_one_each():
    value = Tally(TRUTHS.source, (), TRUTHS.column("x"))
    assert value.distance.value == check_value(value, [((), ((True,),))], TRUTHS.source)["l1"] == 1


@pytest.mark.parametrize(
    "low, high, one_way", [(0, 5, True), (-5, 0, True), (-5, 1, False), (-1, 5, False), (1, 5, True), (-5, -1, True)]
)
def test_a_sum_of_users_rows_moves_in_one_direction_if_all_are_of_one_sign(low, high, one_way):
    """Else one row may raise one group while another row lowers another, and half the noise is not enough."""
    world = World((TWO_EACH.columns[0], ("x", IntDomain(False, low, high))), (), TWO_EACH.unit)
    x = world.column("x")

    assert Tally(world.source, (Compare(">", x, Lit.of(0)),), x).monotone is one_way
