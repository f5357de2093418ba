"""where, mask and fillna."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.where import FillNull, NullWhere, Where
from privjail.plan.domain import BoolDomain, CategoryDomain, IntDomain, TextDomain
from privjail.plan.node import Lit

from ..tables import World
from .checking import check_row_wise, covers, given, growing, table
from .worlds import LETTERS, NUMBERS, SIGNED, columns

KINDS = ("number", "bool", "text", "time", "category")
mixed = st.sampled_from([*((k, k) for k in KINDS), ("category", "text"), ("text", "category")])
CONDITION = ("c", BoolDomain(True))
CHOICE = World(
    (CONDITION, ("x", IntDomain(True, -7, 5)), ("y", CategoryDomain(True, ("a", "b")))),
    ((None, -7, "a"), (True, None, "b"), (False, 5, None), (True, 5, "a")),
)


@covers("property", "where", "nullwhere", "fillnull")
@given(mixed.flatmap(lambda k: columns(*k, "bool")), examples=80)
def test_values_stay_in_the_joined_domain(drawn):
    """V-10, V-16, V-18: a column that takes values of another one has the domain of both."""
    world, pair = drawn
    x, y, c = (world.column(name) for name in "xyz")

    for expr in (Where(c, x, y), FillNull(x, y), NullWhere(c, x)):
        check_row_wise(expr, [pair])
    found = table(world.source, (Where(c, x, y), FillNull(x, y), NullWhere(c, x)), pair[1])
    expected = [(a if z else b, b if a is None else a, None if z else a) for a, b, z in pair[1]]
    assert [tuple(map(repr, row)) for row in found] == [
        tuple(repr(float(v) if isinstance(e, float) and v is not None else v) for v, e in zip(row, got, strict=True))
        for row, got in zip(expected, found, strict=True)
    ]


@covers("witness", "where", "fillnull", "nullwhere")
def test_the_bounds_are_reached():
    """V-18: a constant written into a column widens its range, and the range is reached."""
    c, x, y = (CHOICE.column(name) for name in "cxy")
    thousand = Constant(Lit.of(1000))
    where, fill = Where(c, thousand, x), FillNull(x, thousand)

    assert (where.domain.lower, where.domain.upper) == (-7, 1000)
    assert check_row_wise(where, growing(CHOICE.rows)) == {-7, 5, 1000}
    assert fill.domain == IntDomain(False, -7, 1000)
    assert check_row_wise(fill, growing(CHOICE.rows)) == {-7, 5, 1000}
    assert check_row_wise(NullWhere(c, x), growing(CHOICE.rows)) == {-7, 5, None}
    label = Where(c, Constant(Lit.of("new")), y)
    assert label.domain == CategoryDomain(True, ("new", "a", "b"))
    assert check_row_wise(label, growing(CHOICE.rows)) == {"new", "a", None}


@covers("small world", "where", "fillnull", "nullwhere")
def test_choices_in_the_small_world():
    c, x, y = (CHOICE.column(name) for name in "cxy")
    for expr in (
        Where(c, x, Constant(Lit.of(0.5))),
        Where(c, Constant(Lit.of("b")), y),
        FillNull(x, Constant(Lit.of(9))),
        FillNull(y, Constant(Lit.of("z"))),
        FillNull(Constant(Lit.of(1)), x),
        NullWhere(c, y),
        NullWhere(c, Constant(Lit.of(3))),
    ):
        check_row_wise(expr, CHOICE.pairs(3))
    check_row_wise(FillNull(SIGNED.column("x"), Constant(Lit.of(0))), SIGNED.pairs())


def test_a_null_condition_counts_as_false():
    world = World((CONDITION, ("x", IntDomain(True, 0, 9))), ())
    c, x = world.column("c"), world.column("x")
    data = ((None, 1), (True, 2), (False, 3))
    found = table(world.source, (Where(c, x, Constant(Lit.of(0))), NullWhere(c, x)), data)

    assert found == ((0, 1), (2, None), (0, 3))


def test_categories_and_texts_join_to_text():
    world = World((("x", CategoryDomain(False, (1, "b"))), ("y", TextDomain(True))), ())
    expr = FillNull(world.column("y"), world.column("x"))

    assert expr.domain == TextDomain(False)
    assert table(world.source, (expr,), ((1, None), ("b", "t"))) == (("1",), ("t",))


def test_what_does_not_fit_is_refused():
    with pytest.raises(PlanError):
        Where(NUMBERS.column("x"), NUMBERS.column("x"), NUMBERS.column("x"))
    with pytest.raises(PlanError):
        FillNull(LETTERS.column("x"), Constant(Lit.of(1)))
    with pytest.raises(PlanError):
        NullWhere(NUMBERS.column("x"), NUMBERS.column("x"))
