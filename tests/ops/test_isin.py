"""isin and isna."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError
from privjail.ops.columns.isin import IsIn, IsNull
from privjail.plan.domain import CategoryDomain, IntDomain
from privjail.plan.node import Lit

from ..tables import World
from .checking import check_row_wise, covers, given, growing, table
from .test_compare import KINDS
from .worlds import FLOATS, INT_MIN, LABELS, LETTERS, MOMENTS, NUMBERS, TEXTS, TRUTHS, columns

POOLS = {**KINDS, "category": (*LABELS, "other")}
ALL = (NUMBERS, FLOATS, TRUTHS, LETTERS, TEXTS, MOMENTS)


def some(kind):
    return st.tuples(columns(kind), st.lists(st.sampled_from(POOLS[kind]), max_size=4))


@covers("property", "isin", "isnull")
@given(st.sampled_from(sorted(POOLS)).flatmap(some), examples=80)
def test_membership_is_exact_and_never_null(drawn):
    """V-8, V-16."""
    (world, pair), wanted = drawn
    x = world.column("x")
    expr = IsIn(x, tuple(map(Lit.of, wanted)))

    assert not expr.domain.nullable
    check_row_wise(expr, [pair])
    check_row_wise(IsNull(x), [pair])
    found = table(world.source, (expr, IsNull(x)), pair[1])
    assert list(found) == [(v is not None and v in wanted, v is None) for (v,) in pair[1]]


@covers("witness", "isin", "isnull")
def test_both_answers_occur():
    for world in ALL:
        x = world.column("x")
        for expr in (IsIn(x, (Lit.of(world.rows[1][0]),)), IsNull(x)):
            assert check_row_wise(expr, growing(world.rows)) == {True, False}


@covers("small world", "isin", "isnull")
def test_membership_in_the_small_world():
    for world in ALL:
        x = world.column("x")
        check_row_wise(IsIn(x, (Lit.of(world.rows[1][0]),)), world.pairs(3))
        check_row_wise(IsNull(x), world.pairs(3))
    check_row_wise(IsIn(NUMBERS.column("x"), ()), NUMBERS.pairs())
    check_row_wise(IsNull(LETTERS.column("x")), LETTERS.pairs())


def test_the_smallest_whole_number_is_in_its_list():
    """V-7."""
    wide = World((("x", IntDomain(True)),), ())
    expr = IsIn(wide.column("x"), (Lit.of(INT_MIN), Lit.of(2.5), Lit.of(float(2**62))))

    assert table(wide.source, (expr,), ((INT_MIN,), (2,), (2**62,))) == ((True,), (False,), (True,))


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(PlanError):
        IsIn(NUMBERS.column("x"), (Lit.of("a"),))
    with pytest.raises(PlanError):
        IsIn(NUMBERS.column("x"), (Lit.of(None),))


def test_a_list_may_be_long_but_not_longer(monkeypatch):
    monkeypatch.setattr("privjail.ops.columns.isin.MOST_VALUES", 3)
    x = NUMBERS.column("x")

    IsIn(x, tuple(map(Lit.of, range(3))))
    with pytest.raises(PlanError, match="at most 3"):
        IsIn(x, tuple(map(Lit.of, range(4))))


def test_a_short_list_is_spelled_out_for_the_curator():
    world = World((("g", CategoryDomain(False, tuple("abcde"))),), ())
    g = world.column("g")
    assert IsIn(g, (Lit.of("b"),)).shown().endswith("isin(['b'])")
    assert IsIn(g, tuple(map(Lit.of, "abcde"))).shown().endswith("isin([5 values])")
