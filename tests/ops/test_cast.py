"""astype."""

from __future__ import annotations

import math

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError
from privjail.ops.columns.cast import MOMENT, TYPES, Cast, Categorise
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.function import Function
from privjail.plan.domain import CategoryDomain, FloatDomain, IntDomain, OrdinalDomain, TimeDomain, UntypedDomain, join
from privjail.plan.node import Lit, micros

from ..tables import World
from .checking import check_row_wise, covers, given, growing, table
from .test_isin import ALL, POOLS
from .worlds import FLOATS, LETTERS, MOMENTS, NEW, NUMBERS, OLD, SIGNED, TEXTS, TRUTHS, columns

FROM = ("number", "bool", "text", "category", "time")
UNITS = ("timedelta64[us]", "period[M]", "datetime64[W-SUN|end]")
TARGETS = sorted({*TYPES, MOMENT, *UNITS})
ALLOWED = {
    "IntDomain": set(TARGETS),
    "TimeDomain": {"Int64"},
    "FloatDomain": {"Int64", "Float64"},
    "BoolDomain": set(TYPES),
    "TextDomain": {"Int64", "Float64", "string"},
    "CategoryDomain": set(TYPES),
}


@covers("property", "cast")
@given(st.sampled_from(FROM).flatmap(columns), st.sampled_from(TARGETS), examples=160)
def test_values_stay_in_the_claimed_domain(drawn, to):
    """V-7, V-10, V-16: 2.0**63, "1e400" and "nan" have no counterpart: they are null, and the domain says so."""
    world, pair = drawn
    before = world.columns[0][1]
    if to in ALLOWED[type(before).__name__]:
        check_row_wise(Cast(world.column("x"), to), [pair])
    else:
        with pytest.raises(PlanError):
            Cast(world.column("x"), to)


@covers("witness", "cast")
def test_the_bounds_are_reached():
    for world, to, found in (
        (SIGNED, "Float64", {-7.0, 5.0, None}),
        (FLOATS, "Int64", {-1, 0, None}),
        (TRUTHS, "Int64", {0, 1, None}),
        (TRUTHS, "boolean", {False, True, None}),
        (SIGNED, "boolean", {True, None}),
        (LETTERS, "string", {"a", "b", None}),
        (SIGNED, "string", {"-7", "5", None}),
        (SIGNED, "period[M]", {-7, 5, None}),
        (MOMENTS, "Int64", {micros(OLD), micros(NEW), None}),
    ):
        expr = Cast(world.column("x"), to)
        assert check_row_wise(expr, growing(world.rows)) == found
        if isinstance(expr.domain, (IntDomain, FloatDomain)):
            assert {expr.domain.lower, expr.domain.upper} == found - {None}


@covers("small world", "cast")
def test_casts_in_the_small_world():
    for world in ALL:
        for to in TARGETS:
            if to in ALLOWED.get(type(world.columns[0][1]).__name__, ()):
                check_row_wise(Cast(world.column("x"), to), world.pairs(3))
    check_row_wise(Cast(FLOATS.column("x"), "Int64"), FLOATS.pairs())


def test_moments_are_whole_numbers_and_back():
    """V-16: the same microseconds, before 1970 too; a bound beyond Python's calendar is not claimed."""
    there = Cast(MOMENTS.column("x"), "Int64")
    back = Cast(there, MOMENT)
    assert back.domain == MOMENTS.columns[0][1]
    assert check_row_wise(back, growing(MOMENTS.rows)) == {OLD, NEW, None}
    wide = World((("x", IntDomain(False, -(2**63), 5)),), ())
    assert Cast(wide.column("x"), MOMENT).domain == TimeDomain(False, None, 5)
    assert Cast(there, "Int64") is not there and Cast(there, "Int64").domain == there.domain


def test_a_unit_is_kept_where_values_are_and_lost_where_they_are_computed():
    spans = Cast(SIGNED.column("x"), "timedelta64[us]")
    assert spans.domain == OrdinalDomain(True, -7, 5, "timedelta64[us]")
    assert Clip(spans, Lit.of(-1), Lit.of(1)).domain == OrdinalDomain(True, -1, 1, "timedelta64[us]")
    assert Function("abs", spans, 0).domain == OrdinalDomain(True, 0, 7, "timedelta64[us]")
    assert type(Arithmetic("+", spans, spans).domain) is IntDomain
    assert join(spans.domain, spans.domain.with_nulls(False)) == spans.domain
    for other in (SIGNED.columns[0][1], OrdinalDomain(True, 0, 1, "period[M]")):
        with pytest.raises(PlanError, match="timedelta64"):
            join(spans.domain, other)


def test_labels_become_what_they_spell():
    domain = CategoryDomain(False, ("1", "2.5", "nan", "x", "9223372036854775808"))
    world = World((("x", domain),), ())
    data = tuple((label,) for label in domain.categories)
    whole, real = (Cast(world.column("x"), to) for to in ("Int64", "Float64"))

    assert table(world.source, (whole,), data) == ((1,), (None,), (None,), (None,), (None,))
    assert table(world.source, (real,), data) == ((1.0,), (2.5,), (None,), (None,), (9223372036854775808.0,))
    assert whole.domain == IntDomain(True, 1, 1)


def test_an_untyped_column_is_text_until_it_is_read():
    """V-19: its type does not depend on what is in it."""
    world = World((("x", UntypedDomain(True)),), (("1",), ("x",), (None,)))
    expr = Cast(world.column("x"), "Float64")

    assert expr.domain == FloatDomain(True)
    assert check_row_wise(expr, world.pairs()) == {1.0, None}


def some(kind):
    finite = [label for label in POOLS[kind] if not (isinstance(label, float) and math.isinf(label))]  # no categories
    return st.tuples(columns(kind), st.lists(st.sampled_from(finite), max_size=4, unique=True))


@covers("property", "categorise")
@given(st.sampled_from(sorted(POOLS)).flatmap(some), examples=80)
def test_values_become_their_label_or_null(drawn):
    """V-17: positions come from the public list, not from the data."""
    (world, pair), labels = drawn
    expr = Categorise(world.column("x"), tuple(map(Lit.of, labels)), 0)

    check_row_wise(expr, [pair])
    found = table(world.source, (expr,), pair[1])
    assert [z for (z,) in found] == [v if v in labels else None for (v,) in pair[1]]


@covers("witness", "categorise")
def test_every_label_occurs():
    expr = Categorise(LETTERS.column("x"), (Lit.of("b"), Lit.of("a")), 1)

    assert check_row_wise(expr, growing(LETTERS.rows)) == {"a", "b", None}
    assert table(LETTERS.source, (expr,), LETTERS.rows) == LETTERS.rows
    assert expr.domain == CategoryDomain(True, ("b", "a"), True)


@covers("small world", "categorise")
def test_categories_in_the_small_world():
    for world in ALL:
        label = Lit.of(world.rows[2][0])
        check_row_wise(Categorise(world.column("x"), (label,), 0), world.pairs(3))
    check_row_wise(Categorise(LETTERS.column("x"), (Lit.of("z"), Lit.of("b")), 0), LETTERS.pairs())
    check_row_wise(Categorise(TEXTS.column("x"), (), 0), TEXTS.pairs(2))


def test_labels_that_no_value_can_have_are_no_trap():
    """V-24: 2 and 2.5 would be one label of a whole-number column, and the engine would fail on it."""
    expr = Categorise(SIGNED.column("x"), (Lit.of(5), Lit.of(5.5), Lit.of(1e300)), 0)
    assert table(SIGNED.source, (expr,), ((5,), (-7,), (None,))) == ((5,), (None,), (None,))
    two = Categorise(FLOATS.column("x"), (Lit.of(2**53), Lit.of(2**53 + 1), Lit.of(0.5)), 0)
    assert table(FLOATS.source, (two,), ((0.5,), (-1.5,))) == ((0.5,), (None,))


def test_what_cannot_be_converted_is_refused():
    for to in ("Float64", "boolean", "string", "period[M]"):
        with pytest.raises(PlanError):
            Cast(MOMENTS.column("x"), to)
    for to in ("period[]", "datetime64[ns", "timedelta64[ns]", "period[M]\n", "period[" + "M" * 41 + "]"):
        with pytest.raises(PlanError):
            Cast(SIGNED.column("x"), to)
    for world in (SIGNED, FLOATS, LETTERS, TEXTS):
        with pytest.raises(PlanError, match=r"astype\('int8'\) is not known"):
            Cast(world.column("x"), "int8")
    with pytest.raises(PlanError):
        Categorise(SIGNED.column("x"), (Lit.of("a"),), 0)
    with pytest.raises(PlanError):
        Categorise(LETTERS.column("x"), (Lit.of("a"), Lit.of("a")), 0)


@pytest.mark.parametrize("to", ["Int64", "Float64"])
def test_an_interval_is_no_number(to):
    from .test_cut import cut

    expr = Cast(cut(NUMBERS.column("x"), [0, 1, 2]), to)
    assert expr.domain.nullable
    check_row_wise(expr, [((), ((1,),))])
