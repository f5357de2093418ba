"""nunique."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError, RowsError
from privjail.ops.columns.carried import Constant
from privjail.ops.numbers.distinct import Distinct
from privjail.ops.rows.slice import Slice
from privjail.plan.node import Lit

from .checking import carried, check_value, covers, given, numbers
from .worlds import LETTERS, NUMBERS, SQUARE, TEXTS, TRUTHS, TWO_EACH


@covers("property", "distinct")
@given(SQUARE.neighbours(), st.sampled_from((None, 1, 2)))
def test_it_moves_no_further_than_the_rows(pair, n):
    rows = SQUARE.source if n is None else Slice(SQUARE.source, None, n)
    for name in ("x", "y"):
        value = Distinct(rows, carried(rows, SQUARE.column(name)))
        check_value(value, [pair], SQUARE.source)
        if n is None:
            i = 0 if name == "x" else 1
            assert numbers(value, pair[1], SQUARE.source) == [len({row[i] for row in pair[1]} - {None})]


@covers("witness", "distinct")
def test_the_claims_are_reached():
    value = Distinct(LETTERS.source, LETTERS.column("x"))
    assert check_value(value, [((), (("a",),))], LETTERS.source)["l1"] == value.distance.value == 1
    user = Distinct(TWO_EACH.source, TWO_EACH.column("x"))
    assert check_value(user, [((), (("bob", 0), ("bob", 1)))], TWO_EACH.source)["l1"] == user.distance.value == 2


@covers("small world", "distinct")
def test_distinct_values_in_the_small_world():
    for world in (LETTERS, NUMBERS, TRUTHS):
        check_value(Distinct(world.source, world.column("x")), world.pairs(), world.source)
    check_value(Distinct(TWO_EACH.source, TWO_EACH.column("x")), TWO_EACH.pairs(3), TWO_EACH.source)


def test_only_finite_columns_of_the_same_rows():
    with pytest.raises(PlanError):
        Distinct(TEXTS.source, TEXTS.column("x"))
    with pytest.raises(RowsError):
        Distinct(TEXTS.source, NUMBERS.column("x"))


def test_a_public_constant_has_one_value_if_there_is_a_row():
    value = Distinct(NUMBERS.source, Constant(Lit.of(True)))

    assert value.distance.value == 1
    assert [numbers(value, rows, NUMBERS.source) for rows in ((), ((0,), (None,)))] == [[0], [1]]
