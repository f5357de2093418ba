"""==, < and >."""

from __future__ import annotations

import operator

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError
from privjail.ops.columns.compare import Compare
from privjail.ops.rows.filter import Filter
from privjail.ops.columns.logic import Logic
from privjail.plan.domain import CategoryDomain, IntDomain
from privjail.plan.node import Lit

from ..tables import World
from .checking import check_row_wise, check_rows, covers, given, growing, table
from .worlds import (
    DAYS,
    FLOATS,
    LABELS,
    LETTERS,
    MOMENTS,
    NUMBERS,
    PAIRS,
    REAL,
    SQUARE,
    TEXTS,
    TRUTHS,
    WHOLE,
    WORDS,
    columns,
)

KINDS = {"number": (*WHOLE, *REAL, float("inf"), -float("inf")), "text": WORDS, "time": DAYS, "bool": (True, False)}
PYTHON = {"==": operator.eq, "<": operator.lt, ">": operator.gt}


@covers("property", "compare")
@given(st.sampled_from(sorted(KINDS)).flatmap(lambda k: st.tuples(columns(k), st.sampled_from(KINDS[k]))),
       st.sampled_from(("==", "<", ">")), examples=100)  # fmt: skip
def test_a_column_and_a_constant_compare_exactly(drawn, op):
    """V-8, V-16: also where a whole number has no exact float."""
    (world, pair), constant = drawn
    expr = Compare(op, world.column("x"), Lit.of(constant))

    check_row_wise(expr, [pair])
    found = table(world.source, (expr,), pair[1])
    assert [z for (z,) in found] == [None if x is None else PYTHON[op](x, constant) for (x,) in pair[1]]


@covers("property", "compare")
@given(columns("category", "category"), st.sampled_from((*LABELS, "other")))
def test_categories_compare_by_label(drawn, label):
    """Also where two columns have different lists of categories, or the same in another order."""
    world, pair = drawn
    x, y = world.column("x"), world.column("y")

    check_row_wise(Compare("==", x, Lit.of(label)), [pair])
    expr = Compare("==", x, y)
    check_row_wise(expr, [pair])
    found = table(world.source, (expr,), pair[1])
    assert [z for (z,) in found] == [None if a is None or b is None else a == b for a, b in pair[1]]


@covers("property", "compare")
@given(st.sampled_from(("number", "time")).flatmap(lambda k: columns(k, k)), st.sampled_from(("==", "<", ">")))
def test_two_columns_compare(drawn, op):
    world, pair = drawn
    check_row_wise(Compare(op, world.column("x"), world.column("y")), [pair])


@covers("witness", "compare")
def test_all_three_answers_occur():
    for op in ("==", "<", ">"):
        constant = {"==": 1, "<": 1, ">": 0}[op]
        expr = Compare(op, NUMBERS.column("x"), Lit.of(constant))
        assert check_row_wise(expr, growing(NUMBERS.rows)) == {True, False, None}
        rows = Filter(NUMBERS.source, expr)
        hit = next(row for row in NUMBERS.rows if row[0] is not None and PYTHON[op](row[0], constant))
        assert check_rows(rows, [((), (hit,))]) == rows.distance.value == 1


@covers("small world", "compare")
def test_comparisons_in_the_small_world():
    for world, constant in (
        (NUMBERS, 0),
        (FLOATS, 0.5),
        (TRUTHS, True),
        (LETTERS, "b"),
        (TEXTS, ""),
        (MOMENTS, DAYS[0]),
    ):
        check_row_wise(Compare("==", world.column("x"), Lit.of(constant)), world.pairs())
    for op in ("==", "<", ">"):
        check_row_wise(Compare(op, PAIRS.column("x"), PAIRS.column("y")), PAIRS.pairs(2))


def test_a_large_whole_number_equals_itself_only():
    """V-8, V-41: 2**53 + 1 is no 2.0**53, neither for the engine nor for the cell that a filter claims."""
    big = 2**53
    world = World((("x", IntDomain(False, big, big + 5)),), ((big,), (big + 1,)))
    x = world.column("x")
    either = Logic("|", Compare("==", x, Lit.of(float(big))), Compare("==", x, Lit.of(big + 4)))
    rows = Filter(world.source, either)

    assert table(rows, (x,), ((big,), (big + 1,))) == ((big,),)


def test_ordered_categories_compare_by_position():
    world = World((("x", CategoryDomain(True, ("low", "mid", "high"), True)),), ())
    expr = Compare(">", world.column("x"), Lit.of("low"))

    assert table(world.source, (expr,), (("low",), ("high",), (None,))) == ((False,), (True,), (None,))


def test_what_cannot_be_compared_is_refused():
    for world, value in ((NUMBERS, "a"), (NUMBERS, None), (FLOATS, float("nan")), (NUMBERS, 2**64), (TRUTHS, 1)):
        with pytest.raises(PlanError):
            Compare("==", world.column("x"), Lit.of(value))
    with pytest.raises(PlanError):
        Compare("<", LETTERS.column("x"), Lit.of("a"))
    with pytest.raises(PlanError):
        Compare("==", SQUARE.column("x"), SQUARE.column("y"))
    with pytest.raises(PlanError):
        Compare("!=", NUMBERS.column("x"), Lit.of(1))


def test_constants_fill_64_bits():
    for value in (2**63 - 1, -(2**63)):
        assert Compare("==", NUMBERS.column("x"), Lit.of(value)).b == Lit.of(value)
    for value in (2**63, -(2**63) - 1, 2**64 - 1, -(2**64)):
        with pytest.raises(PlanError, match="64 bits"):
            Compare("==", NUMBERS.column("x"), Lit.of(value))
