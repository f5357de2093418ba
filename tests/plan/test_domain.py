"""What columns may hold: every value that can come out has a label, and lies between the bounds."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction
from typing import Any

import pytest

from privjail.errors import PlanError
from privjail.plan.domain import (
    FINITE_INTS,
    INT_MAX,
    INT_MIN,
    BoolDomain,
    CategoryDomain,
    Domain,
    FloatDomain,
    IntDomain,
    Interval,
    TextDomain,
    TimeDomain,
    domain_of,
    float_above,
    float_below,
    join,
)


@pytest.mark.parametrize("low, high", [(0, 0), (-2, 1), (5, 7), (INT_MAX - 2, INT_MAX), (INT_MIN, INT_MIN + 1)])
def test_whole_numbers_of_a_small_range_are_labels_with_both_ends(low: int, high: int) -> None:
    """V-20: a value without a label would be in no group, and be missed by all that claim to cover the table."""
    assert list(IntDomain(True, low, high).labels or ()) == list(range(low, high + 1))


def test_as_many_whole_numbers_as_are_said_are_finite() -> None:
    assert FINITE_INTS == 100_000
    assert len(IntDomain(False, 1, FINITE_INTS).labels or ()) == FINITE_INTS
    for unknown in (IntDomain(False, 0, FINITE_INTS), IntDomain(False, 0), IntDomain(False, None, 0), IntDomain()):
        assert unknown.labels is None
    for domain in (FloatDomain(False, 0.0, 1.0), TimeDomain(False, 0, 1), TextDomain()):
        assert domain.labels is None
    assert tuple(BoolDomain().labels) == (False, True)


@pytest.mark.parametrize(
    "low, high, magnitude",
    [(-7, 5, 7), (-5, 7, 7), (0, 0, 0), (-3, -2, 3), (2, 3, 3), (None, 5, None), (5, None, None), (None, None, None),
     (INT_MIN, INT_MAX, 2**63)],
)  # fmt: skip
def test_the_magnitude_is_that_of_the_larger_end(low: Any, high: Any, magnitude: Any) -> None:
    """V-11: it is what one row can add to a sum."""
    assert IntDomain(False, low, high).magnitude == magnitude
    assert IntDomain(False, low, high).bounded is (magnitude is not None)


@pytest.mark.parametrize("low, high", [(1, 0), (math.inf, None), (None, -math.inf), (math.nan, 1.0), (0.0, math.nan)])
def test_ranges_that_are_none(low: Any, high: Any) -> None:
    with pytest.raises(PlanError, match="range"):
        FloatDomain(True, low, high)


@pytest.mark.parametrize("categories", [("a", "a"), (1, 1.0), (Interval(0, 1, "left"), "[0, 1)"), (math.nan,), (None,),
                                        ("a", math.inf), (Interval(0, 1, "left"), Interval(0.0, 1.0, "left"))], ids=str)  # fmt: skip
def test_two_categories_that_cannot_be_told_apart_are_refused(categories: tuple[Any, ...]) -> None:
    """V-20: else one row could be in two groups."""
    with pytest.raises(PlanError):
        CategoryDomain(True, categories)


def test_labels_that_differ_have_codes_that_differ() -> None:
    mixed = CategoryDomain(True, (True, 1, "1", Interval(0, 1, "left"), Interval(0, 1, "right")))

    assert [mixed.code(c) for c in mixed.categories] == [0, 1, 2, 3, 4]
    assert mixed.code("[0, 1)") == 3 and mixed.code("(0, 1]") == 4
    assert mixed.code(False) is mixed.code("2") is mixed.code(None) is None


def holds(domain: Domain, value: Any) -> bool:
    if value is None:
        return domain.nullable
    match domain:
        case CategoryDomain():
            return domain.code(value) is not None
        case IntDomain() | FloatDomain():
            return (domain.lower is None or domain.lower <= value) and (domain.upper is None or value <= domain.upper)
    return True


BIG = 2**53 + 1
JOINED: list[tuple[Domain, Domain, list[Any]]] = [
    (IntDomain(False, 0, 5), IntDomain(False, -3, 2), [-3, 5]),
    (IntDomain(True, 0, 5), IntDomain(False, 7, 9), [None, 0, 9]),
    (IntDomain(False, 0, 5), IntDomain(True, 7, 9), [None, 0, 9]),
    (IntDomain(False, None, 5), IntDomain(False, 0, 9), [-(10**9), 9]),
    (IntDomain(False, 0, 5), IntDomain(False, 0, None), [0, 10**9]),
    (IntDomain(False, -BIG, BIG), FloatDomain(False, 0.0, 1.0), [-float(BIG + 1), float(BIG + 1), 0.5]),
    (FloatDomain(False, -1.5, 0.5), IntDomain(False, 0, 3), [-1.5, 3.0]),
    (CategoryDomain(False, ("a", "b")), CategoryDomain(True, ("c", "b")), ["a", "b", "c", None]),
    (CategoryDomain(False, (1,)), CategoryDomain(False, (True,)), [1, True]),
]


@pytest.mark.parametrize("left, right, values", JOINED, ids=str)
def test_a_column_that_takes_values_from_two_holds_all_of_both(left: Domain, right: Domain, values: list[Any]) -> None:
    """V-16: in whichever order they are given."""
    for joined in (join(left, right), join(right, left)):
        assert all(holds(joined, v) for v in values) and joined.nullable is (None in values)


def test_categories_in_an_order_lose_it_when_others_come_in() -> None:
    grades = CategoryDomain(False, ("low", "high"), True)

    assert join(grades, CategoryDomain(False, ("high",), True)) == grades
    assert join(grades, CategoryDomain(False, ("none",), True)).ordered is False
    assert join(CategoryDomain(False, ("low", "high")), grades).ordered is False
    assert join(grades, TextDomain(True)) == join(TextDomain(False), grades.with_nulls(True)) == TextDomain(True)


def test_kinds_that_have_nothing_in_common() -> None:
    for left, right in ((IntDomain(), TextDomain()), (BoolDomain(), IntDomain()), (TimeDomain(), IntDomain())):
        with pytest.raises(PlanError, match="cannot hold both"):
            join(left, right)


@pytest.mark.parametrize("x", [0, 1, -1, BIG, -BIG, Fraction(1, 3), Fraction(-1, 3), 2**63 - 1, Fraction(1, 10)])
def test_exact_bounds_become_floats_that_lie_outside_and_next_to_them(x: Any) -> None:
    below, above = float_below(x), float_above(x)

    assert below is not None and above is not None and Fraction(below) <= x <= Fraction(above)
    assert Fraction(math.nextafter(below, math.inf)) > x > Fraction(math.nextafter(above, -math.inf))
    assert (below == above) is (Fraction(float(x)) == x)


def test_bounds_beyond_floats_are_unknown() -> None:
    assert float_below(10**400) is float_above(10**400) is float_below(-(10**400)) is float_above(-(10**400)) is None
    assert float_below(int(1.7976931348623157e308)) == 1.7976931348623157e308


@pytest.mark.parametrize("value, domain", [(True, BoolDomain(False)), (3, IntDomain(False, 3, 3)), (-0.5, FloatDomain(False, -0.5, -0.5)),
                                           ("a", CategoryDomain(False, ("a",))), (INT_MAX, IntDomain(False, INT_MAX, INT_MAX)),
                                           (INT_MIN, IntDomain(False, INT_MIN, INT_MIN)),
                                           (datetime.date(1970, 1, 2), TimeDomain(False, 86_400_000_000, 86_400_000_000))])  # fmt: skip
def test_a_constant_has_the_domain_of_itself(value: Any, domain: Domain) -> None:
    assert domain_of(value) == domain


@pytest.mark.parametrize("value", [INT_MAX + 1, INT_MIN - 1, math.inf, -math.inf, math.nan, None, b"a"])
def test_what_a_column_cannot_hold(value: Any) -> None:
    with pytest.raises(PlanError, match="cannot hold"):
        domain_of(value)
