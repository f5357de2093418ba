"""abs, round, floor, ceil, sqrt, exp, log."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError
from privjail.ops.columns.function import Function
from privjail.plan.domain import INT_MAX, INT_MIN, FloatDomain, IntDomain

from ..tables import World
from .checking import check_row_wise, covers, given, growing, table
from .worlds import FLOATS, LETTERS, SIGNED, columns

NAMES = ("abs", "round", "floor", "ceil", "sqrt", "exp", "log")


@covers("property", "function")
@given(columns("number"), st.sampled_from(NAMES), st.integers(0, 15), examples=120)
def test_values_stay_in_the_claimed_range(drawn, f, digits):
    """V-7, V-16: |-2**63|, √-1, log 0 and e**1000 are null where the domain says so."""
    world, pair = drawn
    check_row_wise(Function(f, world.column("x"), digits), [pair])


@given(st.sampled_from(NAMES[1:3]), st.floats(-1e17, 1e17), st.floats(-1e17, 1e17), st.integers(0, 15), examples=100)
def test_rounding_stays_in_the_claimed_range(f, x, y, digits):
    """V-8: rounding to decimals is itself rounded, by more than half a decimal where numbers are large."""
    world = World((("x", FloatDomain(False, min(x, y), max(x, y))),), ())
    check_row_wise(Function(f, world.column("x"), digits), growing([(x,), (y,), ((x + y) / 2,)]))


@pytest.mark.parametrize(
    "f, values, low, high",
    [
        ("abs", (-3.0, 2.0, 0.0), 0.0, 3.0),
        ("abs", (-3, 2, 0), 0, 3),
        ("abs", (-3, -2), 2, 3),
        ("round", (-3.0, 2.0), -3.0, 2.0),
        ("floor", (-3.5, 2.5), -4.0, 2.0),
        ("ceil", (-3.5, 2.5), -3.0, 3.0),
        ("sqrt", (4, 9), 2.0, 3.0),
        ("exp", (0.0, 1.0), 1.0, 2.718281828459045),
        ("log", (1.0, 2.718281828459045), 0.0, 1.0),
    ],
)
@covers("witness", "function")
def test_the_bounds_are_reached(f, values, low, high):
    kind = IntDomain if isinstance(values[0], int) else FloatDomain
    world = World((("x", kind(False, min(values), max(values))),), ())
    expr = Function(f, world.column("x"), 0)
    found = check_row_wise(expr, growing((v,) for v in values))

    slack = 1e-11 if f in ("exp", "log") else 0  # libraries differ in the last bits of these two
    assert not expr.domain.nullable
    assert low - slack <= expr.domain.lower <= low == min(found)
    assert high == max(found) <= expr.domain.upper <= high + slack


@covers("small world", "function")
def test_functions_in_the_small_world():
    for world in (SIGNED, FLOATS):
        for f in NAMES:
            check_row_wise(Function(f, world.column("x"), 1), world.pairs(3))
    check_row_wise(Function("abs", SIGNED.column("x"), 0), SIGNED.pairs())


def test_rounding_to_decimals_claims_half_a_decimal_at_most():
    world = World((("x", FloatDomain(False, 0.0, 1.04)),), ())

    assert Function("round", world.column("x"), 1).domain.lower == 0.0
    assert 1.0 <= Function("round", world.column("x"), 1).domain.upper < 1.0901


def test_what_is_not_defined_is_null():
    data = ((-1.5,), (0.0,), (0.5,), (None,))
    assert table(FLOATS.source, (Function("sqrt", FLOATS.column("x"), 0),), data)[0] == (None,)
    assert table(FLOATS.source, (Function("log", FLOATS.column("x"), 0),), data)[:2] == ((None,), (None,))


def test_only_numbers_and_known_functions():
    with pytest.raises(PlanError):
        Function("abs", LETTERS.column("x"), 0)
    with pytest.raises(PlanError):
        Function("sin", SIGNED.column("x"), 0)
    with pytest.raises(PlanError):
        Function("round", FLOATS.column("x"), -1)


@pytest.mark.parametrize(
    "low, high, domain",
    [
        (INT_MIN, -1, IntDomain(True, 1, None)),
        (INT_MIN, INT_MAX, IntDomain(True, 0, None)),
        (INT_MIN, INT_MIN, IntDomain(True, None, None)),
        (None, 5, IntDomain(True, 0, None)),
        (5, None, IntDomain(False, 0, None)),
        (INT_MIN + 1, 5, IntDomain(False, 0, INT_MAX)),
        (-7, -2, IntDomain(False, 2, 7)),
    ],
)
def test_the_smallest_whole_number_has_no_absolute_value(low, high, domain):
    """V-7: |-2**63| does not fit into 64 bits. It is null, and the domain says so."""
    world = World((("x", IntDomain(False, low, high)),), ())
    found = Function("abs", world.column("x"), 0)
    values = [v for v in (INT_MIN, INT_MIN + 1, -7, -2, 0, 5, INT_MAX) if (low or v) <= v <= (high or v)]

    assert found.domain.nullable is domain.nullable and found.domain.upper == domain.upper
    assert found.domain.lower is None or domain.lower is None or found.domain.lower <= domain.lower
    assert table(world.source, (found,), tuple((v,) for v in values)) == tuple(
        (None if v == INT_MIN else abs(v),) for v in values
    )


def test_the_logarithm_of_small_numbers_is_known_and_of_none_is_missing():
    small = World((("x", FloatDomain(False, 0.5, 1.0)),), ())
    domain = Function("log", small.column("x"), 0).domain

    assert not domain.nullable and domain.lower < -0.69 and 0 <= domain.upper < 1e-9
    zero = World((("x", FloatDomain(False, 0.0, 1.0)),), ())
    assert Function("log", zero.column("x"), 0).domain.nullable


@pytest.mark.parametrize("f", NAMES)
@pytest.mark.parametrize("low, high", [(None, None), (None, 1.0), (710.0, None), (-1.0, None), (710.0, 720.0)])
def test_ranges_that_are_open_or_overflow(f, low, high):
    world = World((("x", FloatDomain(False, low, high)),), ())
    inside = [(x,) for x in (-2.0, 0.0, 1.0, 715.0) if (low is None or x >= low) and (high is None or x <= high)]
    check_row_wise(Function(f, world.column("x"), 0), growing(inside))
