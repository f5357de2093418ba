"""Columns taken along into a new base, and constants."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError, RowsError
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Carried, Constant
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.lookup import Lookup
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.sort import Sort
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.window import Window
from privjail.plan.node import Lit

from .checking import about, check_row_wise, check_value, covers, decoded, engine, given, table
from .people import PATIENTS, STAYS
from .test_lookup import Columns
from .worlds import INT_MAX, INT_MIN, LETTERS, NUMBERS, TIES, TWO_EACH

S, P = Columns(STAYS), Columns(PATIENTS)

CONSTANTS = (0, -1, INT_MIN, INT_MAX, 0.5, -0.0, 1e308, 5e-324, "", "a", True, False, datetime(1900, 1, 1))


@covers("property", "carried")
@given(TIES.neighbours(), st.integers(-3, 3), st.integers(-3, 3))
def test_a_carried_column_belongs_to_its_row(pair, start, stop):
    """V-17, V-21: the value that a row had before the step, wherever the row stands after it."""
    ordered = Sort(TIES.source, (TIES.column("x"),), (1,))
    for rows in (Slice(ordered, start, stop), Window(ordered, 1, 0), GroupHead(ordered, TIES.column("x"), 2)):
        for name in ("x", "y"):
            check_row_wise(Carried(rows, TIES.column(name)), [pair])


@covers("witness", "carried")
def test_a_carried_column_moves_as_far_as_its_rows():
    rows = Slice(NUMBERS.source, None, 1)
    x = Carried(rows, NUMBERS.column("x"))
    found = check_value(Tally(rows, (), x), [(((0,),), ((1,), (0,)))], NUMBERS.source)
    about(x)

    assert found["l1"] == 1
    assert Tally(rows, (), None).distance.value == Tally(rows, (x,), None).distance.value == 1  # one comes in, one goes
    assert Tally(rows, (x,), None).joint.l1 == 2
    counts = check_value(Tally(rows, (x,), None), [(((0,),), ((1,), (0,)))], NUMBERS.source)
    about(x)
    assert counts["l1"] == 2


@covers("small world", "carried")
def test_carried_columns_in_the_small_world():
    for world in (NUMBERS, LETTERS):
        for rows in (Slice(world.source, None, 2), Slice(Slice(world.source, 1, None), -2, None)):
            inner = world.column("x")
            if isinstance(rows.parent, Slice):
                inner = Carried(rows.parent, inner)
            check_row_wise(Carried(rows, inner), world.pairs())


@covers("property", "constant")
@given(TIES.neighbours(), st.sampled_from(CONSTANTS))
def test_a_constant_is_the_same_in_every_row(pair, value):
    """V-10, V-16."""
    constant = Constant(Lit.of(value))
    about(constant)
    for data in pair:
        found = engine(TIES.source, data).table(TIES.source, {"c": constant, "x": TIES.column("x")})
        assert decoded(found["c"], constant.domain) == [value] * len(data)


@covers("witness", "constant")
def test_the_sum_of_a_constant_moves_by_it():
    for value in (3, -7, 0.1, -0.1, 1 / 3, 2**40 + 1):
        constant = Constant(Lit.of(value))
        total = Tally(NUMBERS.source, (), constant)
        found = check_value(total, [(((0,),), ((0,), (1,)))], NUMBERS.source)
        about(constant)
        assert 0 <= total.distance.value - found["l1"] <= total.grid


@covers("small world", "constant")
def test_constants_in_the_small_world():
    one = Constant(Lit.of(1))
    for world in (NUMBERS, TWO_EACH):
        total = Tally(world.source, (), one)
        assert check_value(total, world.pairs(3), world.source)["l1"] == total.distance.value
        check_row_wise(Arithmetic("+", one, world.column("x")), world.pairs(2))
    about(one)


def test_nan_infinity_and_overlong_numbers_are_no_constants():
    """V-16: a NaN would hide inside any range, since min and max do not see it."""
    for value in (float("nan"), float("inf"), -float("inf"), 2**63, -(2**63) - 1, None):
        with pytest.raises(PlanError):
            Constant(Lit.of(value))


def test_columns_of_other_rows_are_not_taken_along():
    with pytest.raises(RowsError):
        Carried(Slice(NUMBERS.source, None, 1), LETTERS.column("x"))
    with pytest.raises(RowsError):
        Carried(Sort(NUMBERS.source, (NUMBERS.column("x"),), (0,)), NUMBERS.column("x"))
    rows = Slice(TIES.source, None, 1)
    assert table(rows, (Carried(rows, TIES.column("y")),), ((0, "q"), (1, "p"))) == (("q",),)


def test_a_column_of_a_person_stays_one_where_rows_keep_their_owner():
    sex = Lookup((S.who,), PATIENTS.source, (P.who,), P.sex)
    heads = GroupHead(STAYS.source, S.who, 2)
    assert Carried(heads, sex).of_person() == sex.of_person()
    assert sex.of_person() is not None
    rows = Slice(STAYS.source, None, 2)  # rows of other persons come in
    assert Carried(rows, sex).of_person() is None
