"""Filters, and the cells that they and their complements fall into."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError, RowsError
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.compare import Compare
from privjail.ops.rows.deciding import single_key
from privjail.ops.rows.filter import Filter, keep
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.columns.isin import IsIn, IsNull
from privjail.ops.columns.logic import Logic, Not
from privjail.ops.columns.where import FillNull
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.sort import Sort
from privjail.ops.rows.window import Window
from privjail.plan.distance import Distance
from privjail.plan.domain import CategoryDomain, IntDomain
from privjail.plan.node import Lit

from ..tables import World
from .checking import all_weights, carried, check_forms, check_rows, covers, given, seen, table
from .test_cut import cut
from .worlds import LETTERS, NUMBERS, SQUARE, TRUTHS, TWO_EACH


def equals(expr, value):
    return Compare("==", expr, Lit.of(value))


def among(expr, *values):
    return IsIn(expr, tuple(map(Lit.of, values)))


def conditions(x, y):
    """Conditions of every kind on a category column x and a number column y."""
    a, b = equals(x, "a"), equals(x, "b")
    return [
        a,
        b,
        Not(a),
        among(x, "a", "zzz"),
        Not(among(x, "a", "b")),
        Logic("|", a, b),
        Not(Logic("|", among(x, "a"), among(x, "b"))),
        Not(Logic("|", among(x, "a"), b)),
        Logic("|", Not(among(x, "a")), b),
        equals(y, 1),
        Compare(">", y, Lit.of(0)),
        Not(Compare(">", y, Lit.of(0))),
        Logic("&", a, Compare("<", y, Lit.of(0))),
        Logic("^", a, equals(y, 1)),
        IsNull(x),
        Not(IsNull(y)),
    ]


def on(rows, world=SQUARE):
    return conditions(carried(rows, world.column("x")), carried(rows, world.column("y")))


def some_condition(leaves):
    """Random nested conditions."""
    return st.recursive(
        st.sampled_from(leaves),
        lambda inner: st.builds(Not, inner) | st.builds(Logic, st.sampled_from("&|^"), inner, inner),
        max_leaves=5,
    )


@covers("property", "filter")
@given(SQUARE.neighbours(5), st.data())
def test_a_filter_keeps_the_distance(pair, data):
    condition = data.draw(some_condition(on(SQUARE.source)))

    check_rows(Filter(SQUARE.source, condition), [pair])
    check_rows(keep(SQUARE.source, condition), [pair])


@covers("property", "filter")
@given(SQUARE.neighbours(5), st.data())
def test_one_choice_of_the_cells_explains_all_filters(pair, data):
    """V-41: whatever is claimed to be exclusive is exclusive, also where columns are missing."""
    drawn = st.lists(some_condition(on(SQUARE.source)), min_size=2, max_size=4)
    parts = [keep(SQUARE.source, c) for c in data.draw(drawn)]

    check_forms(parts, [pair], all_weights(len(parts)))


@covers("property", "filter")
@given(SQUARE.neighbours(5), st.data())
def test_nested_filters_after_a_head_share_two_edits(pair, data):
    """V-11, V-41: after head a unit can change two groups, but no more than two rows in all."""
    head = Slice(SQUARE.source, None, data.draw(st.integers(2, 4)))
    leaves = on(head)
    parts = [keep(head, data.draw(some_condition(leaves))) for _ in range(3)]
    parts.append(Filter(parts[0], leaves[1]))

    check_forms(parts, [pair], all_weights(len(parts)))


@covers("property", "filter")
@given(TWO_EACH.neighbours(), st.integers(1, 2), examples=20)
def test_filters_of_a_users_rows_share_the_rows_of_the_user(pair, k):
    source = TWO_EACH.source
    mine = GroupHead(source, TWO_EACH.column("u"), k)
    parts = []
    for rows in (source, mine, Slice(mine, None, 3), Window(source, 1, 0)):
        x = carried(rows, TWO_EACH.column("x"))
        parts += [Filter(rows, equals(x, 0)), Filter(rows, equals(x, 1)), Filter(rows, Not(equals(x, 0)))]

    check_forms(parts, [pair], all_weights(len(parts)))


@covers("witness", "filter")
def test_the_claim_is_reached_by_a_row_that_meets_the_condition():
    rows = Filter(NUMBERS.source, equals(NUMBERS.column("x"), 1))

    assert check_rows(rows, [((), ((1,),))]) == rows.distance.value == 1


@covers("witness", "filter")
def test_groups_after_a_head_reach_two():
    """V-11: one row into the head, another one out of it, in two groups."""
    head = Slice(LETTERS.source, None, 2)
    x = carried(head, LETTERS.column("x"))
    a, b = Filter(head, equals(x, "a")), Filter(head, equals(x, "b"))
    left, right = (("a",), ("a",)), (("b",), ("a",), ("a",))

    assert check_rows(a, [(left, right)]) == 1
    assert check_rows(b, [(left, right)]) == 1
    assert (a.distance + b.distance).value == 2


@covers("small world", "filter")
def test_filters_in_the_small_world():
    x = LETTERS.column("x")
    a, b = equals(x, "a"), equals(x, "b")
    parts = [
        Filter(LETTERS.source, c)
        for c in (a, b, Not(a), among(x, "a", "b"), Not(among(x, "a")), IsNull(x), Logic("|", a, b))
    ]
    parts.append(Filter(LETTERS.source, Not(Logic("|", among(x, "a"), among(x, "b")))))
    for rows in parts:
        check_rows(rows, LETTERS.pairs())
    check_forms(parts, LETTERS.pairs(), all_weights(len(parts)))


@covers("small world", "filter")
def test_two_columns_in_the_small_world():
    parts = [keep(SQUARE.source, c) for c in on(SQUARE.source)]

    check_forms(parts, SQUARE.pairs(2), all_weights(len(parts)))


@covers("small world", "filter")
def test_filters_of_slices_sorts_and_windows_in_the_small_world():
    source = LETTERS.source
    for rows in (
        Slice(source, None, 2),
        Slice(source, -2, 3),
        Slice(Sort(source, (LETTERS.column("x"),), (1,)), None, 2),
        Window(source, 1, 0),
        Filter(source, Not(equals(LETTERS.column("x"), "a"))),
    ):
        x = carried(rows, LETTERS.column("x"))
        parts = [Filter(rows, c) for c in (equals(x, "a"), equals(x, "b"), Not(equals(x, "a")), IsNull(x))]
        check_forms(parts, LETTERS.pairs(3), all_weights(len(parts)))


def test_a_filter_and_its_complement_exclude_each_other():
    x, y = SQUARE.column("x"), SQUARE.column("y")
    for condition in (equals(x, "a"), among(x, "a"), Compare(">", y, Lit.of(0)), IsNull(x)):
        yes, no = Filter(SQUARE.source, condition), Filter(SQUARE.source, Not(condition))
        assert (yes.distance + no.distance).value == 1


def test_rows_that_are_missing_every_label_are_still_counted():
    """V-16, V-41: ~(isin(a) | isin(b)) is true for missing values, which lie in no label's cell."""
    x = LETTERS.column("x")
    none = Filter(LETTERS.source, Not(Logic("|", among(x, "a"), among(x, "b"))))

    assert check_rows(none, [((), ((None,),))]) == none.distance.value == 1


@pytest.mark.parametrize("size", [3, 66, 100, 130, 5000])
def test_complements_in_wide_columns_keep_their_rows_in_their_cells(size):
    """V-41: a list of labels that was cut short is not the list of labels."""
    world = World((("x", IntDomain(False, 0, size - 1)),), ((0,), (1,), (size - 1,)))
    x = world.column("x")
    one = equals(x, 1)
    parts = [
        Filter(world.source, c)
        for c in (one, Not(one), Not(Logic("|", Not(one), equals(x, 2))), among(x, *range(2, min(size, 70))))
    ]

    check_forms(parts, world.pairs(2), all_weights(len(parts)))


def test_a_filter_is_shown_with_its_condition():
    """Whatever that is: a column, or one that says of columns that none is missing."""
    assert str(Filter(TRUTHS.source, TRUTHS.column("x"))).endswith("| filter(x)")
    x, y = SQUARE.column("x"), SQUARE.column("y")
    both = Logic("|", IsNull(x), IsNull(y))
    assert str(Filter(SQUARE.source, Not(both))).endswith("| dropna(x, y)")
    assert str(Filter(SQUARE.source, both)).endswith(f"| filter({both})")


def test_null_counts_as_false():
    x = TRUTHS.column("x")
    rows = Filter(TRUTHS.source, x)

    assert table(rows, seen(rows), ((None,), (True,), (False,))) == ((True,),)
    other = Filter(TRUTHS.source, Not(x))
    assert table(other, seen(other), ((None,), (True,), (False,))) == ((False,),)


def test_the_key_of_a_condition_is_its_column_and_labels():
    x = SQUARE.column("x")

    assert single_key(Not(equals(x, "a"))) == (x, (Lit.of("b"),))
    assert single_key(among(x, "a", "q")) == (x, (Lit.of("a"),))
    assert single_key(Not(among(x, "a"))) == (x, (Lit.of("b"), Lit.of(None)))
    assert single_key(equals(x, "q")) == (x, ())
    assert Filter(SQUARE.source, equals(x, "q")).distance.value == 0


def test_a_constant_condition_keeps_the_cells():
    rows = Filter(NUMBERS.source, Constant(Lit.of(True)))

    assert rows.distance.value == 1
    assert table(rows, seen(rows), ((0,), (1,))) == ((0,), (1,))


def test_a_filter_divides_into_at_most_64_cells():
    world = World((("x", IntDomain(False, 0, 99)),), ())
    for size, cells in ((1, 1), (64, 64), (65, 1), (90, 1)):
        rows = Filter(world.source, among(world.column("x"), *range(size)))
        assert len(rows.cells) == cells and rows.distance.value == 1


def test_many_filters_stay_sound_and_small():
    world = World((("x", CategoryDomain(True, tuple("abcdefghij"))),), (("a",), ("b",), (None,)))
    rows = world.source
    for letter in "jihgfedcba" * 8:
        rows = Filter(rows, Not(equals(carried(rows, world.column("x")), letter)))

    assert len(rows.cells) <= 64
    assert isinstance(rows.distance, Distance) and rows.distance.value is not None


def test_a_condition_of_other_rows_is_refused():
    with pytest.raises(RowsError):
        Filter(NUMBERS.source, equals(LETTERS.column("x"), "a"))
    with pytest.raises(PlanError):
        Filter(NUMBERS.source, NUMBERS.column("x"))


def test_a_missing_answer_counts_as_what_it_is_filled_with():
    """Filled with false it is dropped anyway; filled with true its rows stay, and in another cell."""
    condition = equals(SQUARE.column("y"), 1)
    kept, dropped = (keep(SQUARE.source, FillNull(condition, Constant(Lit.of(value)))) for value in (True, False))
    data = (("a", 1), ("a", -1), ("b", None))

    assert table(kept, seen(kept), data) == (("a", 1), ("b", None))
    assert table(dropped, seen(dropped), data) == (("a", 1),) and dropped is keep(SQUARE.source, condition)


def test_only_equality_names_a_label():
    """x < "b" among ordered categories is true for labels that are not "b"."""
    world = World((("x", CategoryDomain(False, ("a", "b", "c"), True)),), ())
    x = world.column("x")

    assert Filter(world.source, Compare("==", x, Lit.of("b"))).cells != world.source.cells
    less = Filter(world.source, Compare("<", x, Lit.of("b")))
    assert all(cell.key.value != "b" for cell in less.cells if cell.parent is not None)


def test_intervals_are_cells_by_their_text():
    code = cut(NUMBERS.column("x"), [0, 1, 2])
    rest = Filter(NUMBERS.source, Not(Compare("==", code, Lit.of("(0, 1]"))))

    assert [cell.key for cell in rest.cells] == [Lit.of("(1, 2]")]
    assert Filter(NUMBERS.source, Compare("==", code, Lit.of("(1, 2]"))).cells == rest.cells
