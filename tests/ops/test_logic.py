"""&, |, ^ and ~ with three values."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.logic import Logic, Not, joined, negation
from privjail.plan.domain import BoolDomain
from privjail.plan.node import Lit, children

from ..tables import World
from .checking import check_row_wise, covers, given, growing, table
from .worlds import NUMBERS, TRUTHS, columns

THREE = (None, False, True)
BOTH = World((("x", BoolDomain(True)), ("y", BoolDomain(True))), tuple(product(THREE, THREE)))


def known(op, x, y):
    """The answer that every replacement of the nulls would give, if there is one."""
    answers = set()
    for a, b in product((False, True) if x is None else (x,), (False, True) if y is None else (y,)):
        answers.add({"&": a and b, "|": a or b, "^": a != b}[op])
    return answers.pop() if len(answers) == 1 else None


@covers("property", "logic", "not")
@given(columns("bool", "bool"), st.sampled_from("&|^"))
def test_logic_is_row_wise_and_null_only_where_an_operand_is(drawn, op):
    world, pair = drawn
    check_row_wise(Logic(op, world.column("x"), world.column("y")), [pair])
    check_row_wise(Not(world.column("x")), [pair])


@covers("witness", "logic", "not")
def test_the_truth_tables_are_reached():
    x, y = BOTH.column("x"), BOTH.column("y")
    for op in "&|^":
        expr = Logic(op, x, y)
        assert check_row_wise(expr, growing(BOTH.rows)) == {True, False, None}
        found = table(BOTH.source, (expr,), BOTH.rows)
        assert [z for (z,) in found] == [known(op, a, b) for a, b in BOTH.rows]
    assert check_row_wise(Not(TRUTHS.column("x")), growing(TRUTHS.rows)) == {True, False, None}
    assert table(TRUTHS.source, (Not(TRUTHS.column("x")),), TRUTHS.rows) == ((None,), (True,), (False,))


@covers("small world", "logic", "not")
def test_logic_in_the_small_world():
    for op in "&|^":
        check_row_wise(Logic(op, BOTH.column("x"), BOTH.column("y")), BOTH.pairs(2))
        check_row_wise(Logic(op, TRUTHS.column("x"), Constant(Lit.of(True))), TRUTHS.pairs())
    check_row_wise(Not(TRUTHS.column("x")), TRUTHS.pairs())


def test_two_negations_are_none():
    x = TRUTHS.column("x")

    assert negation(negation(x)) is x


def test_only_truths():
    with pytest.raises(PlanError):
        Logic("&", NUMBERS.column("x"), NUMBERS.column("x"))
    with pytest.raises(PlanError):
        Not(NUMBERS.column("x"))
    with pytest.raises(PlanError):
        Logic("and", TRUTHS.column("x"), TRUTHS.column("x"))


def test_many_parts_are_joined_in_their_order_and_not_deep():
    parts = [Constant(Lit.of(bool(i % 2))) for i in range(2)] * 35
    level, depth = [joined("|", parts)], 0
    while any(isinstance(each, Logic) for each in level):
        assert {each.op for each in level if isinstance(each, Logic)} == {"|"}
        level = [below for each in level for below in (children(each) if isinstance(each, Logic) else [each])]
        depth += 1

    assert level == parts and depth == 7
    assert joined("&", parts[:1]) is parts[0]
