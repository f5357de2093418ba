"""+ - * / // %."""

from __future__ import annotations

import operator
from fractions import Fraction
from itertools import product
from math import floor

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError
from privjail.ops.columns.arithmetic import Arithmetic, exact_bounds, result_domain
from privjail.ops.columns.carried import Constant
from privjail.plan.domain import INT_MAX, INT_MIN, FloatDomain, IntDomain
from privjail.plan.node import Lit

from ..tables import World
from .checking import check_row_wise, covers, given, growing, table
from .worlds import LETTERS, PAIRS, TRUTHS, columns

OPS = ("+", "-", "*", "/", "//", "%")


def apply(op, world):
    return Arithmetic(op, world.column("x"), world.column("y"))


@covers("property", "arithmetic")
@given(columns("int", "int"), st.sampled_from(OPS), examples=80)
def test_whole_numbers_stay_in_the_claimed_range(drawn, op):
    """V-7, V-10, V-16: overflow, x // 0, 0 % 0 and -2**63 // -1 are null, and only where the domain says so."""
    world, pair = drawn
    check_row_wise(apply(op, world), [pair])


@covers("property", "arithmetic")
@given(columns("number", "float"), st.sampled_from(OPS), st.booleans(), examples=100)
def test_floats_stay_in_the_claimed_range(drawn, op, turned):
    """V-7, V-8, V-16: results that overflow, 0 / 0 and x / 0 are null, never NaN or infinite."""
    world, pair = drawn
    x, y = world.column("x"), world.column("y")
    check_row_wise(Arithmetic(op, y, x) if turned else Arithmetic(op, x, y), [pair])


@given(columns("int", "int"), st.sampled_from(OPS), examples=100)
def test_whole_numbers_are_exact_or_null(drawn, op):
    """V-7, V-8."""
    world, (_, data) = drawn
    found = table(world.source, (apply(op, world),), data)
    for (x, y), (z,) in zip(data, found, strict=True):
        if x is None or y is None or (op in ("/", "//", "%") and y == 0):
            assert z is None
        elif op == "/":
            assert z == float(x) / float(y)
        else:
            true = {"+": x + y, "-": x - y, "*": x * y, "//": x // (y or 1), "%": x % (y or 1)}[op]
            assert z == (true if INT_MIN <= true <= INT_MAX else None)


@pytest.mark.parametrize(
    "op, x, y, low, high",
    [
        ("+", (-2, 3), (-5, 7), -7, 10),
        ("-", (-2, 3), (-5, 7), -9, 8),
        ("*", (-2, 3), (-5, 7), -15, 21),
        ("//", (-7, 7), (2, 3), -4, 3),
        ("//", (-7, 7), (-2, 3), -7, 7),
        ("%", (-7, 7), (-2, 3), -1, 2),
        ("/", (-7, 7), (2, 4), -3.5, 3.5),
    ],
)
@covers("witness", "arithmetic")
def test_the_bounds_are_reached(op, x, y, low, high):
    """Both bounds of the claimed range come out of values inside the ranges of the inputs."""
    world = World((("x", IntDomain(False, *x)), ("y", IntDomain(False, *y))), ())
    expr = apply(op, world)
    data = tuple((a, b) for a in range(x[0], x[1] + 1) for b in range(y[0], y[1] + 1))

    assert (expr.domain.lower, expr.domain.upper) == (low, high)
    found = check_row_wise(expr, growing(data))
    assert {low, high} <= found


@covers("small world", "arithmetic")
def test_arithmetic_in_the_small_world():
    for op in OPS:
        check_row_wise(apply(op, PAIRS), PAIRS.pairs(2))
        check_row_wise(Arithmetic(op, PAIRS.column("x"), Constant(Lit.of(-2))), PAIRS.pairs(2))
        check_row_wise(Arithmetic(op, Constant(Lit.of(5)), PAIRS.column("y")), PAIRS.pairs(2))


def test_a_range_without_zero_gives_no_nulls():
    world = World((("x", IntDomain(False, -7, 7)), ("y", IntDomain(False, 1, 3))), ())

    assert not any(apply(op, world).domain.nullable for op in OPS)
    assert apply("/", PAIRS).domain == FloatDomain(True)


def test_division_rounds_down():
    world = World((("x", FloatDomain(False, -8.0, 8.0)), ("y", FloatDomain(False, 0.5, 3.0))), ())
    data = ((-7.5, 2.0), (7.5, 2.0), (-1.0, 3.0))
    found = table(world.source, (apply("//", world),), data)

    assert [z for (z,) in found] == [float(floor(Fraction(x) / Fraction(y))) for x, y in data]


@given(columns("number", "float"), st.booleans(), examples=80)
def test_remainders_of_floats_are_those_of_python(drawn, turned):
    """V-7, V-16: the sign of the divisor, null for a divisor of 0, and never beyond the divisor by a rounding."""
    world, (_, data) = drawn
    x, y = world.column("x"), world.column("y")
    found = table(world.source, (Arithmetic("%", *((y, x) if turned else (x, y))),), data)
    for row, (z,) in zip(data, found, strict=True):
        a, b = row[::-1] if turned else row
        assert z == (None if a is None or b is None or b == 0 else float(a) % float(b))


def test_the_remainder_of_a_tiny_negative_number_is_the_divisor_itself():
    world = World((("x", FloatDomain(False, -1.0, 1.0)), ("y", FloatDomain(False, 0.1, 3.0))), ())
    expr = apply("%", world)
    assert expr.domain == FloatDomain(False, 0.0, 3.0)
    assert {0.0, 3.0} <= check_row_wise(expr, growing(((-1e-20, 3.0), (0.0, 0.1), (1.0, 0.1))))


def test_only_numbers():
    for world in (LETTERS, TRUTHS):
        with pytest.raises(PlanError):
            Arithmetic("+", world.column("x"), Constant(Lit.of(1)))
    with pytest.raises(PlanError):
        Arithmetic("**", Constant(Lit.of(1)), Constant(Lit.of(1)))


DIVISORS = [((-2, 0), True), ((0, 2), True), ((0, 0), True), ((-1, 1), True), ((None, 0), True), ((0, None), True),
            ((None, -1), False), ((1, None), False), ((-2, -1), False), ((1, 2), False)]  # fmt: skip


@pytest.mark.parametrize("ends, zero", DIVISORS)
@pytest.mark.parametrize("op", ["/", "//", "%"])
def test_a_divisor_that_can_be_zero_makes_nulls_at_either_end_of_its_range(op, ends, zero):
    """V-7, V-16: zero may be the lower end, the upper end, both, or lie between them."""
    world = World((("x", IntDomain(False, -9, 9)), ("y", IntDomain(False, *ends))), ())
    found = apply(op, world)
    low, high = (-5 if ends[0] is None else ends[0]), (5 if ends[1] is None else ends[1])
    data = tuple((x, y) for x in (-9, 0, 9) for y in range(low, high + 1))

    unbounded = None in ends and op == "/"  # of floats without bounds nothing is known
    assert found.domain.nullable is (zero or unbounded)
    if zero and op == "/":
        assert found.domain == FloatDomain(True)
    check_row_wise(found, growing(data))
    assert [z is None for (z,) in table(world.source, (found,), data)] == [y == 0 for _, y in data]


@pytest.mark.parametrize("ends, zero", [((-2.0, 0.0), True), ((0.0, 2.0), True), ((-0.0, -0.0), True), ((0.5, 2.0), False),
                                        ((-2.0, -0.5), False)])  # fmt: skip
@pytest.mark.parametrize("op", ["/", "//"])
def test_a_float_divisor_that_can_be_zero_leaves_no_bounds(op, ends, zero):
    """V-7: beside zero quotients are as large as one likes."""
    world = World((("x", FloatDomain(False, -9.0, 9.0)), ("y", FloatDomain(False, *ends))), ())
    found = apply(op, world)

    assert (found.domain == FloatDomain(True)) is zero and found.domain.nullable is zero
    check_row_wise(found, growing(tuple((x, y) for x in (-9.0, 0.0, 9.0) for y in (*ends, ends[1] or ends[0]))))


SMALL = [(low, high) for low in range(-3, 4) for high in range(low, 4)]
PYTHON = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod}


@pytest.mark.parametrize("op", PYTHON)
def test_bounds_of_whole_numbers_hold_for_all_small_ranges(op):
    """V-7: every pair of ranges between -3 and 3, and every pair of values in them."""
    for left, right in product(SMALL, SMALL):
        pairs = [(x, y) for x in range(left[0], left[1] + 1) for y in range(right[0], right[1] + 1)]
        results = [PYTHON[op](x, y) for x, y in pairs if y or op not in ("//", "%")]
        low, high = exact_bounds(op, IntDomain(False, *left), IntDomain(False, *right))
        assert all(low <= z <= high for z in results), (left, right)
        if results and op != "%":
            assert (low, high) == (min(results), max(results)), (left, right)
        if op == "%":
            assert (low, high) == (min(0, right[0] + 1), max(0, right[1] - 1))
        found = result_domain(op, IntDomain(False, *left), IntDomain(False, *right))
        assert found == IntDomain(len(results) < len(pairs), low, high)


@pytest.mark.parametrize(
    "op, left, right, domain",
    [
        ("+", (0, INT_MAX), (0, 0), IntDomain(False, 0, INT_MAX)),
        ("+", (0, INT_MAX), (0, 1), IntDomain(True, 0, None)),
        ("-", (INT_MIN, 0), (0, 1), IntDomain(True, None, 0)),
        ("-", (INT_MIN, 0), (0, 0), IntDomain(False, INT_MIN, 0)),
        ("*", (INT_MIN, 0), (-1, -1), IntDomain(True, 0, None)),
        ("*", (0, 2**32), (0, 2**31), IntDomain(True, 0, None)),
        ("*", (0, 2**32), (-(2**31), 0), IntDomain(False, INT_MIN, 0)),
        ("//", (INT_MIN, 0), (-1, -1), IntDomain(True, 0, None)),
        ("+", (None, 5), (0, 1), IntDomain(False, INT_MIN, 6)),
        ("+", (0, None), (0, 1), IntDomain(True, 0, None)),
        ("*", (None, None), (0, 1), IntDomain(False, INT_MIN, INT_MAX)),
    ],
)
def test_where_64_bits_end_values_are_missing_and_bounds_unknown(op, left, right, domain):
    """V-7: at the last number that fits nothing is missing, at the first that does not something is."""
    assert result_domain(op, IntDomain(False, *left), IntDomain(False, *right)) == domain


@pytest.mark.parametrize("low, high, sums", [(0, 2**62, (0, None)), (-(2**62) - 1, 0, (None, 0))])
def test_a_sum_that_overflows_at_one_end_only_is_missing_v7(low, high, sums):
    """V-7: 64 bits are left at the upper end, or at the lower one."""
    world = World((("x", IntDomain(False, low, high)),), ())
    expr = Arithmetic("+", world.column("x"), world.column("x"))

    assert expr.domain.nullable
    assert table(world.source, (expr,), ((low,), (high,))) == tuple((each,) for each in sums)


@pytest.mark.parametrize("zero", [0.0, 0])
@pytest.mark.parametrize("turned", [False, True])
def test_a_row_shows_the_same_zero_whatever_other_rows_there_are_v17(zero, turned):
    world = World((("x", FloatDomain(False, -1.0, 1.0)),), ())
    operands = (world.column("x"), Constant(Lit.of(zero)))
    added = Arithmetic("+", *(operands[::-1] if turned else operands))

    shown = [repr(table(world.source, (added,), ((-0.0,), *others))[0]) for others in ((), ((0.5,),))]
    assert shown == ["(0.0,)", "(0.0,)"]
