""".str"""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError
from privjail.ops.columns.text import FUNCTIONS, Text
from privjail.plan.node import Lit

from .checking import check_row_wise, covers, given, growing, table
from .worlds import NUMBERS, TEXTS, WORDS, columns


def applied(f, expr, *arguments):
    return Text(f, expr, tuple(map(Lit.of, arguments)))


def arguments(f):
    if f == "slice":
        return st.tuples(st.none() | st.integers(0, 3), st.none() | st.integers(0, 3))
    return st.tuples(*[st.sampled_from(WORDS)] * FUNCTIONS[f][0])


def calls():
    return st.sampled_from(sorted(FUNCTIONS)).flatmap(lambda f: st.tuples(st.just(f), arguments(f)))


@covers("property", "text")
@given(columns("text"), calls(), examples=120)
def test_values_are_those_of_python(drawn, call):
    """V-10, V-16."""
    world, pair = drawn
    f, given_ = call
    expr = applied(f, world.column("x"), *given_)

    check_row_wise(expr, [pair])
    found = table(world.source, (expr,), pair[1])
    assert [z for (z,) in found] == [None if v is None else FUNCTIONS[f][1](v, *given_) for (v,) in pair[1]]


@covers("witness", "text")
def test_every_answer_occurs():
    x = TEXTS.column("x")
    assert check_row_wise(applied("len", x), growing(TEXTS.rows)) == {None, 0, 3}
    assert applied("len", x).domain.lower == 0
    assert check_row_wise(applied("contains", x, "b"), growing(TEXTS.rows)) == {None, False, True}
    assert check_row_wise(applied("lower", x), growing(TEXTS.rows)) == {None, "", "ab "}


@covers("small world", "text")
def test_text_functions_in_the_small_world():
    x = TEXTS.column("x")
    for f, (n, _) in FUNCTIONS.items():
        given_ = (1, 2) if f == "slice" else ("A",) * n
        check_row_wise(applied(f, x, *given_), TEXTS.pairs(3))
    check_row_wise(applied("len", x), TEXTS.pairs())


def test_what_is_not_known_is_refused():
    for f, expr, given_ in (
        ("title", TEXTS.column("x"), ()),
        ("len", NUMBERS.column("x"), ()),
        ("contains", TEXTS.column("x"), (1,)),
        ("slice", TEXTS.column("x"), (-1, 2)),
        ("slice", TEXTS.column("x"), (0, 2**70)),
        ("slice", TEXTS.column("x"), (0,)),
    ):
        with pytest.raises(PlanError):
            applied(f, expr, *given_)
