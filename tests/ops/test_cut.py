"""cut."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import strategies as st

from privjail.errors import PlanError
from privjail.ops.columns.cut import Cut, below
from privjail.plan.domain import CategoryDomain, IntDomain, Interval
from privjail.plan.node import Lit

from ..tables import World
from .checking import check_row_wise, covers, given, growing, table
from .worlds import FLOATS, LETTERS, REAL, SIGNED, WHOLE, columns

flags = st.integers(0, 1)
edges = st.lists(st.sampled_from((*WHOLE, *(x for x in REAL if abs(x) < 1e308))), min_size=2, max_size=4)


def cut(expr, points, labels=None, right=1, lowest=0):
    named = None if labels is None else tuple(map(Lit.of, labels))
    return Cut(expr, tuple(map(Lit.of, points)), named, right, lowest)


@covers("property", "cut")
@given(columns("number"), edges, flags, flags, examples=120)
def test_values_fall_into_their_interval_or_are_null(drawn, points, right, lowest):
    """V-16, V-17: also at an edge, and where a whole number has no exact float."""
    world, pair = drawn
    points = [
        p for p, q in zip(sorted(points), sorted(points)[1:] + [float("inf")], strict=True) if float(p) < float(q)
    ]
    if len(points) < 2:
        return
    expr = cut(world.column("x"), points, None, right, lowest)

    check_row_wise(expr, [pair])
    found = table(world.source, (expr,), pair[1])
    for (v,), (z,) in zip(pair[1], found, strict=True):
        hits = [] if v is None else [i for i in expr.domain.categories if inside(float(v), i)]
        assert ([] if z is None else [z]) == hits


def inside(x, interval):
    low, high = float(interval.left), float(interval.right)
    left = x >= low if interval.closed in ("left", "both") else x > low
    return left and (x <= high if interval.closed in ("right", "both") else x < high)


@given(columns("number"), flags, flags, examples=60)
def test_infinite_edges_leave_nothing_outside(drawn, right, lowest):
    """V-16: floats are finite, so every number lies between -inf and inf."""
    world, pair = drawn
    x = world.column("x")
    expr = cut(x, (-math.inf, 0, math.inf), None, right, lowest)
    assert expr.domain.nullable is x.domain.nullable
    check_row_wise(expr, [pair])
    found = table(world.source, (expr,), pair[1])
    above = (lambda v: v > 0) if right else (lambda v: v >= 0)
    assert [z for (z,) in found] == [None if v is None else expr.domain.categories[above(v)] for (v,) in pair[1]]
    half = cut(x, (-math.inf, 0), None, right, lowest)
    assert half.domain.nullable or x.domain.upper is not None
    check_row_wise(half, [pair])


@covers("witness", "cut")
def test_every_interval_occurs_and_only_where_it_can_a_null():
    expr = cut(SIGNED.column("x"), (-8, 0, 5))
    assert check_row_wise(expr, growing(SIGNED.rows)) == {None, Interval(-8, 0, "right"), Interval(0, 5, "right")}
    assert table(SIGNED.source, (cut(SIGNED.column("x"), (-7, 0, 5)),), ((-7,), (0,)))[0] == (None,)
    assert table(SIGNED.source, (cut(SIGNED.column("x"), (-7, 5), None, 0),), ((-7,), (5,)))[1] == (None,)
    whole = World((("x", IntDomain(False, -7, 5)),), ())
    assert not cut(whole.column("x"), (-8, 0, 5)).domain.nullable
    assert cut(whole.column("x"), (-7, 0, 5)).domain.nullable
    assert not cut(whole.column("x"), (-7, 0, 5), None, 1, 1).domain.nullable
    assert cut(whole.column("x"), (-7, 0, 5), None, 0).domain.nullable


@covers("small world", "cut")
def test_cuts_in_the_small_world():
    for world in (SIGNED, FLOATS):
        for right in (0, 1):
            for lowest in (0, 1):
                check_row_wise(cut(world.column("x"), (-7, -1.5, 0.5, 5), None, right, lowest), world.pairs(3))
    check_row_wise(cut(SIGNED.column("x"), (-7, 5), ("in",)), SIGNED.pairs())


def test_a_whole_number_beside_an_edge_is_where_its_float_is():
    """V-16: float(2**53 + 1) is 2**53, on the open edge: null, and the domain must say so."""
    big = 2**53
    world = World((("x", IntDomain(False, big + 1, big + 4)),), ((big + 1,), (big + 4,)))

    check_row_wise(cut(world.column("x"), (big, big + 8)), world.pairs(2))


def test_labels_and_edges_are_checked():
    x = SIGNED.column("x")
    for points in (
        (1,),
        (1, 1),
        (2, 1),
        (0, float("inf"), 2),
        (float("inf"), 1),
        (0, float("-inf")),
        (float("nan"), 1),
        (2**60, 2**60 + 1),
    ):
        with pytest.raises(PlanError):
            cut(x, points)
    for labels in (("a",), ("a", "a"), ("a", None)):
        with pytest.raises(PlanError):
            cut(x, (0, 1, 2), labels)
    with pytest.raises(PlanError):
        cut(LETTERS.column("x"), (0, 1))
    assert cut(x, (0, 1, 2), ("lo", "hi")).domain == CategoryDomain(True, ("lo", "hi"), True)


def test_every_number_finds_its_edges():
    """Even and very uneven edges, numbers on, beside and far from them: as a search one by one says."""
    rng = np.random.default_rng(5)
    for edges in ([0.0, 1.0], [i / 7 for i in range(90)], [-1e307, -1.0, 0.0, 1e-300, 3.0, 1e307], [5e-324, 1e-323, 1.0],
                  sorted({float(x) for x in rng.lognormal(0, 9, 300)}), [-1e308, 0.0, 1e308]):  # fmt: skip
        near = np.array([*edges, 0.0, -0.0, 1e308, -1e308])
        x = np.concatenate([near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf), rng.normal(0, 3, 500)])
        x = x[np.isfinite(x)]
        for or_equal in (False, True):
            found = below(x, edges, or_equal)
            assert found.dtype == np.int32
            assert found.tolist() == [sum(e <= v if or_equal else e < v for e in edges) for v in x.tolist()]
