"""A data set, and its columns."""

from __future__ import annotations

import pytest

from privjail.errors import PlanError, SchemaError
from privjail.ops.rows.source import Column, Dataset, Link, Population, Unit
from privjail.plan.domain import IntDomain

from .checking import check_row_wise, check_rows, covers, given
from .worlds import ANY_EACH, FLOATS, LETTERS, MOMENTS, NUMBERS, SQUARE, TEXTS, TRUTHS, TWO_EACH


@covers("property", "source", "column")
@given(SQUARE.neighbours())
def test_a_row_is_one_edit(pair):
    check_rows(SQUARE.source, [pair])
    for name in ("x", "y"):
        check_row_wise(SQUARE.column(name), [pair])


@covers("property", "source")
@given(TWO_EACH.neighbours())
def test_a_user_is_as_many_edits_as_the_user_may_have_rows(pair):
    check_rows(TWO_EACH.source, [pair])


@covers("witness", "source", "column")
def test_the_claims_are_reached():
    assert check_rows(NUMBERS.source, [((), ((None,),))]) == NUMBERS.source.distance.value == 1
    pair = ((("bob", 1),), (("ann", 1), ("bob", 1), ("ann", None)))
    assert check_rows(TWO_EACH.source, [pair]) == TWO_EACH.source.distance.value == 2
    assert check_row_wise(TWO_EACH.column("x"), [pair]) == {1, None}
    assert ANY_EACH.source.distance.value is None


@covers("small world", "source", "column")
def test_sources_and_columns_in_the_small_world():
    for world in (NUMBERS, FLOATS, LETTERS, MOMENTS, TEXTS, TRUTHS):
        check_rows(world.source, world.pairs(3))
        assert check_row_wise(world.column("x"), world.pairs(3)) == {row[0] for row in world.rows}
    assert check_rows(TWO_EACH.source, TWO_EACH.pairs()) == 2


def test_a_data_set_without_sense_is_refused():
    x = ("x", IntDomain(True))
    with pytest.raises(PlanError):
        Dataset("d", "d", (x, x), Unit())
    with pytest.raises(PlanError):
        Dataset("d", "d", (x,), Unit("u", 1))
    with pytest.raises(PlanError):
        Column(NUMBERS.source, "y")


@pytest.mark.parametrize("given", ["", "stay", "stay=", "=stays.stay", "stay=stays", "stay=.stay", "stay=stays."])
def test_a_link_names_a_column_a_table_and_its_key(given):
    assert Link.read("stay=stays.stay") == Link("stay", "stays", "stay")
    with pytest.raises(SchemaError):
        Link.read(given)


@pytest.mark.parametrize(
    "more",
    [{"population": Population("population:p", "p")}, {"keys": ("x",)}, {"links": (Link("x", "other", "x"),)}],
    ids=lambda more: next(iter(more)),
)
def test_a_table_of_a_population_says_whose_rows_it_has(more):
    columns = (("u", IntDomain(False, 0, 9)), ("x", IntDomain(False, 0, 9)))
    Dataset("d", "d", columns, Unit("u", None), **more)
    with pytest.raises(PlanError):
        Dataset("d", "d", columns, Unit(), **more)
