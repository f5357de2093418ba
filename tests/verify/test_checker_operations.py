"""What the row-wise operations of a plan mean to the checker, value by value."""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf, log, nan
from types import SimpleNamespace
from typing import Any

import pytest

from privjail.verify.checker.columns import row_wise_column
from privjail.verify.checker.mechanisms import Mechanism, Noise, enough_gaussian
from privjail.verify.checker.norms import added_as_it_is, dot_results
from privjail.verify.checker.operations import DATE_PARTS, NULL_IF_AN_INPUT_IS, SEES_NULLS, Labels, results_in_between
from privjail.verify.checker.verdict import Refuted

from .test_forged import column

N = None
LABELS = Labels(("low", "high"))
NAMED = Labels((), ("a", "b"))
# An operation, and results for its fields; the labels of its category first, where there is one.
MEANING: dict[str, list[tuple[list[Any], Any]]] = {
    "constant": [([5], 5), ([N], N)],
    "isnull": [([N], True), ([0], False)],
    "isin": [([1, [1.0, 2]], True), ([1, [True]], False), ([N, [1]], False), ([N, [N]], True)],
    "fillnull": [([N, 7], 7), ([0, 7], 0), ([N, N], N)],
    "where": [([True, 1, 2], 1), ([False, 1, 2], 2), ([N, 1, 2], 2)],
    "nullwhere": [([True, 1], N), ([False, 1], 1), ([N, 1], 1)],
    "logic": [
        (["&", True, True], True), (["&", True, False], False), (["&", N, False], False), (["&", N, True], N),
        (["&", N, N], N), (["|", False, False], False), (["|", True, False], True), (["|", N, True], True),
        (["|", N, False], N), (["|", N, N], N), (["^", True, False], True), (["^", False, True], True),
        (["^", True, True], False), (["^", False, False], False), (["^", N, True], N), (["^", False, N], N),
    ],
    "not": [([True], False), ([False], True)],
    "compare": [
        (["==", 1, 1.0], True), (["==", 1, True], False), (["==", 1, N], N), (["<", 1, 2], True), (["<", 2, 2], False),
        ([">", 2, 1], True), ([">", 2, 2], False), ([LABELS, "<", "low", "high"], True),
        ([LABELS, ">", "low", "high"], False), ([LABELS, "==", "low", "low"], True),
    ],
    "arithmetic": [
        (["+", 2, 3], 5), (["-", 2, 3], -1), (["*", 2, 3], 6), (["/", 3, 2], 1.5), (["//", 7, 2], 3), (["//", -7, 2], -4),
        (["%", 7, 4], 3), (["%", -7, 4], 1), (["%", -7.5, 2], 0.5), (["//", 7.0, 2], 3.0), (["+", 2**62, 2**62], 2**63), (["*", 0.5, 3], 1.5),
    ],
    "function": [
        (["abs", -3, 0], 3), (["floor", -1.5, 0], -2.0), (["ceil", -1.5, 0], -1.0), (["round", 1.26, 1], 1.3),
        (["sqrt", 4.0, 0], 2.0), (["exp", 1.0, 0], exp(1)), (["log", 2.0, 0], log(2)),
    ],
    "clip": [([5, 0, 3], 3), ([-5, 0, 3], 0), ([2, 0, 3], 2), ([5, 0, N], 5), ([-5, N, 3], -5), ([2.5, 0, 2], 2.0)],
    "cut": [
        ([NAMED, 0, [0, 1, 2], N, 1, 0], N), ([NAMED, 0, [0, 1, 2], N, 1, 1], "a"), ([NAMED, 1, [0, 1, 2], N, 1, 0], "a"),
        ([NAMED, 2, [0, 1, 2], N, 1, 0], "b"), ([NAMED, 3, [0, 1, 2], N, 1, 0], N), ([NAMED, 0, [0, 1, 2], N, 0, 0], "a"),
        ([NAMED, 1, [0, 1, 2], N, 0, 0], "b"), ([NAMED, 2, [0, 1, 2], N, 0, 1], N),
        ([NAMED, 1.5, [0, 1, 2], ["x", "y"], 1, 0], "y"),
    ],
    "recode": [
        ([1, [[1, 5]], 0], 5), ([2, [[1, 5]], 0], N), ([2, [[1, 5]], 1], 2), ([True, [[1, 5]], 0], N),
        ([1, [[1, 5], [1, 6]], 0], 5), ([LABELS, "low", [["low", 5], ["low", 6]], 0], 6),
    ],
    "categorise": [(["a", ["b", "a"], 0], "a"), (["c", ["b", "a"], 0], N)],
    "cast": [
        ([7, "string"], "7"), (["7", "Int64"], 7), ([-1.9, "Int64"], -1), ([3, "Float64"], 3.0), ([3, "boolean"], True),
        ([0, "boolean"], False), ([LABELS, "True", "boolean"], True), ([LABELS, "False", "boolean"], False),
        ([LABELS, "low", "boolean"], N),
        ([-5, "datetime64[us]"], -5), ([-5, "period[M]"], -5), ([-5, "timedelta64[us]"], -5),
    ],
    "text": [
        (["len", "abc", []], 3), (["contains", "abc", ["b"]], True), (["contains", "abc", ["x"]], False),
        (["slice", "abc", [1, 3]], "bc"), (["upper", "abc", []], "ABC"), (["lower", "ABC", []], "abc"),
        (["strip", " a ", [None]], "a"), (["startswith", "abc", ["ab"]], True), (["endswith", "abc", ["ab"]], False),
        (["lstrip", "xa", ["x"]], "a"), (["rstrip", "ax", ["x"]], "a"), (["zfill", "7", [3]], "007"),
        (["pad", "7", [3, "left", "_"]], "__7"), (["pad", "7", [3, "right", "_"]], "7__"), (["count", "a", ["a"]], 0),
        (["matches", "a", ["b"]], True), (["extract", "ab", ["(b)", 1]], "ab"), (["part", "a,b", [",", 0, 0]], "a,b"),
    ],
    "concat": [(["a", "b"], "ab")],
    "part": [(["year", 0], 1970), (["year", -1], 1969), (["year", 10**17], 5138)],
}  # fmt: skip


@pytest.mark.parametrize("kind", MEANING)
def test_an_operation_means_what_the_plan_says(kind: str) -> None:
    operation = (SEES_NULLS | NULL_IF_AN_INPUT_IS)[kind]
    for fields, expected in MEANING[kind]:
        labels, *rest = fields if isinstance(fields[0], Labels) else [Labels(), *fields]
        found = operation(labels, *rest)
        assert found == expected and type(found) is type(expected), (fields, found)


def test_every_operation_has_its_meaning_here() -> None:
    assert set(MEANING) == {*SEES_NULLS, *NULL_IF_AN_INPUT_IS}


def test_what_comes_out_between_critical_values() -> None:
    divisor = column("Int64", -3, 8).domain
    remainders = results_in_between("arithmetic", ["%"], [divisor, divisor])
    bounded, later = column("datetime64[us]", 0, 10**15).domain, column("datetime64[us]", 0).domain

    assert (min(remainders), max(remainders)) == (-2, 7)
    assert results_in_between("part", ["hour"], [bounded]) == [0, 23]
    assert results_in_between("part", ["year"], [bounded]) == []
    assert set(results_in_between("part", ["year"], [later])) == {300_000, None}
    assert set(results_in_between("part", ["year"], [column("datetime64[us]", hi=0).domain])) == {-300_000, None}
    assert results_in_between("arithmetic", ["+"], [divisor, divisor]) == []
    floats = results_in_between("arithmetic", ["%"], [divisor, column("Float64", -1.5, 2.5).domain])
    assert (min(floats), max(floats)) == (-1.5, 2.5)
    assert results_in_between("cast", ["Int64"], [later]) == [2**63 - 1]
    assert results_in_between("cast", ["Int64"], [column("datetime64[us]", hi=0).domain]) == [-(2**63)]
    assert results_in_between("text", ["matches"], []) == [False, True]
    assert results_in_between("text", ["extract"], []) == results_in_between("concat", [], []) == [None]


def test_the_ranges_of_parts_of_dates() -> None:
    assert DATE_PARTS == {
        "quarter": (1, 4), "month": (1, 12), "day": (1, 31), "hour": (0, 23), "minute": (0, 59), "second": (0, 59),
        "dayofweek": (0, 6), "dayofyear": (1, 366),
    }  # fmt: skip


def test_what_a_sum_adds_up_without_rounding() -> None:
    """Other columns are moved to a grid first, so that a bound on the norm of their rows is none of what is added."""
    for given, as_it_is in (
        (column("boolean"), True),
        (column("Int64", 0, 9), True),
        (column("Int64", -(2**40), 0), False),
        (column("Int64", 0), False),
        (column("Float64", 0.0, 1.0), False),
        (row_wise_column(1, "truncate", [column("Float64", 0.0, 1.0)], column("Float64", 0.0, 1.0).domain), True),
    ):
        assert added_as_it_is(given) is as_it_is


@pytest.mark.parametrize("size, epsilon", [(1, 1), (7, Fraction(1, 2))])
def test_what_discrete_noise_adds_to_a_delta_is_asked_for_however_small_that_is(size: int, epsilon: Any) -> None:
    """(1 + exp(ε))/12 steps² for each element: noise as wide as one likes does not make the δ smaller than that."""
    least = Fraction(size * (1 + exp(epsilon))) / (12 * 2**80)
    noise = Noise({"sigma": Fraction(10**6)}, SimpleNamespace(size=size), Fraction(1))  # type: ignore[arg-type]

    for share, enough in ((Fraction(101, 100), True), (Fraction(99, 100), False)):
        mechanism = Mechanism("gaussian", Fraction(epsilon), least * share, Fraction(0), 1)
        assert enough_gaussian(mechanism, noise) is enough


@pytest.mark.parametrize("weights", [[inf, 1.0], [1.0, -inf], [nan, 1.0], [1, 1.0], [1.0], [1.0, 1.0, 1.0]])
def test_a_weighted_sum_has_a_finite_weight_for_each_column(weights: list[Any]) -> None:
    columns = [column("Float64", 0.0, 1.0), column("Float64", -1.0, 1.0)]
    assert dot_results(columns, [1.0, 2.0])
    with pytest.raises(Refuted):
        dot_results(columns, weights)
