""".str"""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError
from privjail.ops.columns.text import FUNCTIONS, Concat, Text
from privjail.plan.domain import TextDomain
from privjail.plan.node import Lit

from ..tables import World
from .checking import check_row_wise, covers, given, growing, table
from .gaps import lacks_text
from .worlds import NUMBERS, TEXTS, WORDS, columns

CASES = ("lower", "upper")  # never on some engines: tests/ops/gaps.py


def applied(f, expr, *arguments):
    return Text(f, expr, tuple(map(Lit.of, arguments)))


PATTERNS = ("a", "(?i)AB", r"^\s*(\w)", "[0-9]+", r"(.)\.?(\d*)$", "[^a]b|(ß)", r"\W(x?)")
SPECIAL = {
    "slice": st.tuples(st.none() | st.integers(0, 3), st.none() | st.integers(0, 3)),
    "strip": st.tuples(st.sampled_from((None, "a", " 1", "ß漢"))),
    "replace": st.tuples(st.sampled_from(("a", "b ", "ß", "1.")), st.sampled_from(("", "x$1", "\\1"))),
    "pad": st.tuples(st.integers(0, 5), st.sampled_from(("left", "right")), st.sampled_from(("0", "ß"))),
    "zfill": st.tuples(st.integers(0, 5)),
    "part": st.tuples(st.sampled_from(("a", " ", ".", "e4")), st.integers(-3, 3), st.integers(0, 2)),
    "matches": st.tuples(st.sampled_from(PATTERNS)),
    "extract": st.tuples(st.sampled_from([p for p in PATTERNS if "(" in p[1:] and "(?" not in p]), st.just(1)),
    "substitute": st.tuples(
        st.sampled_from(("a", "[0-9]+", r"(\w)(\W)", "ß|e")), st.sampled_from(("", "$0", r"<\g<0>>"))
    ),
    "count": st.tuples(st.sampled_from(("a", "[0-9]", r"\w+", "ß|e"))),
}


def arguments(f):
    """Arguments of a function; lstrip and rstrip are like strip."""
    found = SPECIAL.get(f.lstrip("lr") if f.endswith("strip") else f)
    return found if found is not None else st.tuples(*[st.sampled_from(WORDS)] * len(FUNCTIONS[f].arguments))


def calls():
    return st.sampled_from(sorted(set(FUNCTIONS) - set(CASES))).flatmap(lambda f: st.tuples(st.just(f), arguments(f)))


@covers("property", "text")
@given(columns("text"), calls(), examples=300)
def test_values_are_those_of_python(drawn, call):
    """V-10, V-16."""
    check_against_python(*drawn, *call)


def check_against_python(world, pair, f, given_):
    expr = applied(f, world.column("x"), *given_)
    check_row_wise(expr, [pair])
    found = table(world.source, (expr,), pair[1])
    assert [z for (z,) in found] == [None if v is None else FUNCTIONS[f].python(v, *given_) for (v,) in pair[1]]


@given(columns("text"), st.sampled_from(CASES))
def test_cases_are_those_of_python(drawn, f):
    check_against_python(*drawn, f, ())
    assert check_row_wise(applied("lower", TEXTS.column("x")), growing(TEXTS.rows)) == {None, "", "ab "}


def test_a_group_that_may_be_left_out_and_may_be_empty():
    found = applied("extract", TEXTS.column("x"), "(A*)b|a", 1)
    assert check_row_wise(found, growing(TEXTS.rows)) == {None, "A"}


def test_a_group_that_holds_nothing_is_not_one_that_is_left_out():
    """One is the empty text, the other null."""
    x, data = TEXTS.column("x"), (("ab",), ("b",), ("",), (None,))
    for pattern, found in (("(a*)b", {"a", "", None}), ("(a)?b", {"a", None}), ("(a)|b", {"a", None})):
        assert check_row_wise(applied("extract", x, pattern, 1), growing(data)) == found


@covers("witness", "text")
def test_every_answer_occurs():
    x = TEXTS.column("x")
    assert check_row_wise(applied("len", x), growing(TEXTS.rows)) == {None, 0, 3}
    assert applied("len", x).domain.lower == 0
    assert check_row_wise(applied("contains", x, "b"), growing(TEXTS.rows)) == {None, False, True}
    assert check_row_wise(applied("count", x, "[Ab]"), growing(TEXTS.rows)) == {None, 0, 2}


CALLS = {
    "slice": (1, 2), "pad": (4, "left", "x"), "zfill": (4,), "part": ("b", 1, 0), "extract": ("(A)", 1),
}  # fmt: skip


@covers("small world", "text")
def test_text_functions_in_the_small_world(each_engine):
    x = TEXTS.column("x")
    for f, function in FUNCTIONS.items():
        if lacks_text(each_engine, f):
            continue
        given_ = CALLS.get(f, ("A",) * len(function.arguments))
        check_row_wise(applied(f, x, *given_), TEXTS.pairs(3))
    check_row_wise(applied("len", x), TEXTS.pairs())


def test_a_text_that_is_looked_for_is_no_pattern():
    x, data = TEXTS.column("x"), (("a.c",), ("abc",), ("(",))
    for f, given_, found in (
        ("contains", (".",), (True, False, False)),
        ("contains", ("(",), (False, False, True)),
        ("startswith", ("a.",), (True, False, False)),
        ("endswith", (".c",), (True, False, False)),
        ("replace", (".", "$0"), ("a$0c", "abc", "(")),
        ("part", (".", 0, 0), ("a", "abc", "(")),
    ):
        assert table(TEXTS.source, (applied(f, x, *given_),), data) == tuple((each,) for each in found), (f, given_)


def test_a_part_or_match_that_is_not_there_is_null():
    x = TEXTS.column("x")
    for f, given_, found in (
        ("part", ("b", 1, 0), {None, " "}),
        ("part", ("b", -2, 1), {None, "A"}),
        ("part", ("b", 2, 1), {None}),
        ("extract", ("(b)", 1), {None, "b"}),
        ("extract", ("A(x)?", 1), {None}),
    ):
        assert check_row_wise(applied(f, x, *given_), growing(TEXTS.rows)) == found


def test_texts_do_not_grow_without_limit():
    """V-53: twenty doublings would be a million times the text."""
    world = World((("x", TextDomain(False)),), ())
    x = world.column("x")
    data = (("a" * 500,), ("a" * 501,), ("a" * 32,), ("a" * 31,))
    assert check_row_wise(Concat(x, x), growing(data)) == {"a" * 1000, None, "a" * 64, "a" * 62}
    for expr in (applied("replace", x, "a", "b" * 32), applied("substitute", x, "a", "b" * 32)):
        assert check_row_wise(expr, growing(data)) == {None, "b" * 992}
    long = (("ab" * 600,),)  # what becomes no longer than it is stays, however long that is
    assert check_row_wise(applied("replace", x, "a", "c"), growing(long)) == {"cb" * 600}
    assert check_row_wise(applied("substitute", x, "a+", ""), growing(long)) == {"b" * 600}
    assert check_row_wise(applied("substitute", x, "(a)", r"\1\1"), growing(long)) == {None}


@covers("property", "concat")
@given(columns("text", "text"), examples=60)
def test_joined_texts_are_those_of_python(drawn):
    world, pair = drawn
    expr = Concat(world.column("x"), world.column("y"))
    check_row_wise(expr, [pair])
    found = table(world.source, (expr,), pair[1])
    assert [z for (z,) in found] == [None if None in row else row[0] + row[1] for row in pair[1]]


@covers("witness", "concat")
def test_joined_texts_can_be_null():
    assert check_row_wise(Concat(TEXTS.column("x"), TEXTS.column("x")), growing(TEXTS.rows)) == {None, "", "Ab Ab "}


@covers("small world", "concat")
def test_joined_texts_in_the_small_world():
    check_row_wise(Concat(TEXTS.column("x"), TEXTS.column("x")), TEXTS.pairs())
    with pytest.raises(PlanError):
        Concat(TEXTS.column("x"), NUMBERS.column("x"))


def test_what_is_not_known_is_refused():
    for f, expr, given_ in (
        ("replace", TEXTS.column("x"), ("", "a")),
        ("replace", TEXTS.column("x"), ("a", "b" * 33)),
        ("part", TEXTS.column("x"), ("", 0, 0)),
        ("pad", TEXTS.column("x"), (3, "both", " ")),
        ("pad", TEXTS.column("x"), (1001, "left", " ")),
        ("extract", TEXTS.column("x"), ("a", 1)),
        ("extract", TEXTS.column("x"), ("(a)", 2)),
        ("extract", TEXTS.column("x"), ("(a$)", 1)),
        ("count", TEXTS.column("x"), ("a*",)),
        ("substitute", TEXTS.column("x"), ("a", r"\1")),
        ("matches", TEXTS.column("x"), (r"(a)\1",)),
        ("title", TEXTS.column("x"), ()),
        ("len", NUMBERS.column("x"), ()),
        ("contains", TEXTS.column("x"), (1,)),
        ("slice", TEXTS.column("x"), (-1, 2)),
        ("slice", TEXTS.column("x"), (0, 2**70)),
        ("slice", TEXTS.column("x"), (0,)),
    ):
        with pytest.raises(PlanError):
            applied(f, expr, *given_)
