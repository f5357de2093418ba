"""map and replace."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError
from privjail.ops.columns.recode import Recode
from privjail.plan.domain import CategoryDomain, IntDomain
from privjail.plan.node import Lit

from ..tables import World
from .checking import check_row_wise, covers, given, growing, table
from .test_isin import ALL, POOLS
from .worlds import FLOATS, LETTERS, NUMBERS, SIGNED, columns

IMAGES = {
    "number": st.sampled_from((None, -3, 0, 2**53 + 1, 0.5, -0.0, 1e300)),
    "text": st.sampled_from((None, "", "q", "a")),
    "bool": st.sampled_from((None, True, False)),
    "time": st.sampled_from(POOLS["time"]) | st.none(),
    "category": st.sampled_from((None, "a", "b", "new")),
}


def coded(expr, table, keep):
    return Recode(expr, tuple((Lit.of(k), Lit.of(v)) for k, v in table.items()), keep)


@st.composite
def dictionaries(draw):
    kind = draw(st.sampled_from(sorted(POOLS)))
    keep = draw(st.integers(0, 1))
    image = IMAGES[kind if keep or draw(st.booleans()) else draw(st.sampled_from(sorted(IMAGES)))]
    return draw(columns(kind)), draw(st.dictionaries(st.sampled_from(POOLS[kind]), image, max_size=4)), keep


@covers("property", "recode")
@given(dictionaries(), examples=120)
def test_values_stay_in_the_claimed_domain(drawn):
    """V-7, V-10, V-16, V-17: positions of categories are those of the public lists."""
    (world, pair), pairs, keep = drawn
    expr = coded(world.column("x"), pairs, keep)

    check_row_wise(expr, [pair])
    found = table(world.source, (expr,), pair[1])
    for (v,), (z,) in zip(pair[1], found, strict=True):
        expected = pairs.get(v, v if keep else None) if v is not None else None
        assert z == (float(expected) if isinstance(z, float) and expected is not None else expected)


@covers("witness", "recode")
def test_the_bounds_are_reached():
    mapped = coded(LETTERS.column("x"), {"a": -5, "b": 1000, "c": 10**6}, 0)
    assert mapped.domain == IntDomain(True, -5, 1000)
    assert check_row_wise(mapped, growing(LETTERS.rows)) == {-5, 1000, None}

    replaced = coded(SIGNED.column("x"), {-7: 99}, 1)
    assert replaced.domain == IntDomain(True, -7, 99)
    assert check_row_wise(replaced, growing(SIGNED.rows)) == {99, 5, None}


@covers("small world", "recode")
def test_dictionaries_in_the_small_world():
    for world in ALL:
        one, two = world.rows[1][0], world.rows[2][0]
        for keep in (0, 1):
            check_row_wise(coded(world.column("x"), {one: two}, keep), world.pairs(3))
            check_row_wise(coded(world.column("x"), {one: None}, keep), world.pairs(2))
            check_row_wise(coded(world.column("x"), {}, keep), world.pairs(2))
    check_row_wise(coded(LETTERS.column("x"), {"a": "b", "b": "a"}, 1), LETTERS.pairs())


def test_labels_that_merge_or_vanish_keep_their_positions():
    world = World((("x", CategoryDomain(False, ("a", "b", "c"))),), ())
    merged = coded(world.column("x"), {"a": "c"}, 1)

    assert merged.domain == CategoryDomain(False, ("c", "b"))
    assert table(world.source, (merged,), (("a",), ("b",), ("c",))) == (("c",), ("b",), ("c",))
    lost = coded(world.column("x"), {"a": "q"}, 0)
    assert lost.domain == CategoryDomain(True, ("q",))


def test_keys_that_no_value_can_have_are_no_trap():
    """V-24: they must not fail in the engine, nor turn into the missing value."""
    for keep in (0, 1):
        whole = coded(SIGNED.column("x"), {1e300: 7, 5: 6, 5.5: 8, float("inf"): 9}, keep)
        assert table(SIGNED.source, (whole,), ((None,), (5,))) == ((None,), (6,))
        real = coded(FLOATS.column("x"), {2**53: 1.0, 2**53 + 1: 2.0, 0.5: 3.0}, keep)
        assert table(FLOATS.source, (real,), ((None,), (0.5,))) == ((None,), (3.0,))


def test_nan_is_no_value():
    """V-16."""
    with pytest.raises(PlanError):
        coded(NUMBERS.column("x"), {1: float("nan")}, 0)
    with pytest.raises(PlanError):
        coded(NUMBERS.column("x"), {1: float("inf")}, 1)
    with pytest.raises(PlanError):
        coded(NUMBERS.column("x"), {1: "a", 0: 5}, 0)


@pytest.mark.parametrize("keep", (0, 1))
def test_where_nothing_has_an_image_everything_may_be_missing(keep):
    world = World((("x", IntDomain(False, 0, 3)),), ())

    assert coded(world.column("x"), {1: None}, keep).domain.nullable
