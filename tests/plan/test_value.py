"""How far vectors move as a whole: what is not bounded in one element is not bounded at all."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privjail.ops.columns.carried import Carried
from privjail.ops.numbers.distinct import Distinct
from privjail.ops.numbers.combine import (
    Absolute,
    Add,
    ColumnStack,
    Element,
    Extreme,
    PublicNumber,
    Offset,
    Scale,
    Stack,
    Total,
)
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.source import Column, Unit
from privjail.ops.numbers.tally import Tally
from privjail.plan.distance import UNBOUNDED, Distance
from privjail.plan.domain import CategoryDomain, IntDomain
from privjail.plan.node import Lit
from privjail.plan.value import Sensitivity, PerElement, OneMoves, AllMove, Value, common_grid

from ..ops.worlds import TWO_EACH
from ..tables import World


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("others", [Distance(), Distance(1), Distance(Fraction(7, 2))])
def test_one_element_without_a_bound_leaves_the_vector_without_one(at: int, others: Distance) -> None:
    """V-11: the largest of the known ones is no bound for the unknown one."""
    joint = PerElement(tuple(UNBOUNDED if i == at else others for i in range(3)))

    assert joint.linf is joint.l1 is joint.l2 is None
    assert joint.sum().value is joint.peak().value is None
    assert [joint.at(i).value for i in range(3)] == [None if i == at else others.value for i in range(3)]


def test_a_single_element_without_a_bound() -> None:
    for joint in (
        PerElement((UNBOUNDED,)),
        AllMove(2, UNBOUNDED),
        OneMoves(2, UNBOUNDED, lambda i: UNBOUNDED, UNBOUNDED),
    ):
        assert joint.linf is joint.l1 is joint.l2 is None
        assert joint.sum().value is joint.peak().value is joint.at(0).value is None


@pytest.mark.parametrize(
    "joint, l1, l2, linf",
    [
        (PerElement(()), 0, 0, 0),
        (PerElement((Distance(3), Distance(4))), 7, 5, 4),
        (PerElement((Distance(4), Distance(3))), 7, 5, 4),
        (PerElement((Distance(), Distance(2))), 2, 2, 2),
        (AllMove(4, Distance(3)), 12, 6, 3),
        (AllMove(0, Distance(3)), 0, 0, 3),
        (OneMoves(4, Distance(3), lambda i: Distance(1), Distance(3)), 3, 3, 3),
    ],
)
def test_norms(joint: Sensitivity, l1: int, l2: int, linf: int) -> None:
    assert (joint.l1, joint.linf) == (l1, linf)
    assert joint.l2 is not None and l2 <= joint.l2 <= l2 * (1 + 2**-20)
    assert (joint.sum().value, joint.peak().value) == (l1, linf)


@pytest.mark.parametrize(
    "grids, common",
    [
        ([Fraction(1), Fraction(1)], Fraction(1)),
        ([Fraction(1, 2), Fraction(1, 3)], Fraction(1, 6)),
        ([Fraction(3, 2), Fraction(1)], Fraction(1, 2)),
        ([Fraction(4), Fraction(6)], Fraction(2)),
        ([Fraction(2, 3), Fraction(2, 3), Fraction(4, 3)], Fraction(2, 3)),
    ],
)
def test_every_grid_lies_on_the_common_one_and_no_coarser_one_has_all(grids: list[Fraction], common: Fraction) -> None:
    assert common_grid(grids) == common
    assert all((g / common).denominator == 1 for g in grids)


ANY = World(
    (("u", IntDomain(True, 0, 9)), ("x", CategoryDomain(True, ("a", "b"))), ("y", IntDomain(True, 0, 3))),
    (),
    Unit("u", 5),
)
HEAD = Slice(ANY.source, None, 1)  # a user can change it by ten rows, but there is only one: two, whatever she does


def capped_values() -> dict[str, Value]:
    """Values of which some part moves by a constant."""
    x, y = (Carried(HEAD, ANY.column(name)) for name in "xy")
    counts, count = Tally(HEAD, (x,), None), Tally(HEAD, (), None)
    free, others = Tally(ANY.source, (), None), Tally(ANY.source, (ANY.column("x"),), None)
    labels = tuple(map(Lit.of, (0, 1)))
    return {
        "tally": counts, "sum": Tally(HEAD, (), y), "distinct": Distinct(HEAD, x),
        "quantile_scores": QuantileScores(HEAD, y, labels, Fraction(1, 2), Fraction(1, 2), Fraction(0)),
        "element": Element(counts, 1), "total": Total(counts), "extreme": Extreme("max", counts),
        "scale": Scale(count, Fraction(2)), "offset": Offset(count, Fraction(2)), "absolute": Absolute(count),
        "add first": Add(count, free), "add last": Add(free, count),
        "stack first": Stack((count, free), ("a", "b")), "stack last": Stack((free, count), ("a", "b")),
        "stack between": Stack((free, count, free), ("a", "b", "c")),
        "column_stack": ColumnStack((others, counts), ("a", "b")), "element of a stack": Element(Stack((free, count), ("a", "b")), 0),
    }  # fmt: skip


@pytest.mark.parametrize("name", capped_values())
def test_a_constant_distance_anywhere_makes_the_whole_value_capped(name: str) -> None:
    """V-11: it is not shared out among groups, so the value is charged where all of its rows are, not in one group."""
    value = capped_values()[name]

    assert HEAD.cap == 2 and value.has_constant_bound and value.cells == ANY.source.cells


def test_a_value_without_such_a_part_is_not_capped() -> None:
    counts = Tally(ANY.source, (ANY.column("x"),), None)
    one, other = Element(counts, 0), Element(counts, 1)

    assert not any(v.has_constant_bound for v in (counts, one, Add(one, other), Stack((one, other), ("a", "b"))))
    assert one.cells != other.cells and Add(one, other).cells == (*one.cells, *other.cells)
    assert not Add(one, other).monotone and not Stack((one, other), ("a", "b")).monotone


def test_only_what_moves_in_one_direction_is_called_monotone() -> None:
    """V-13: a noisy maximum of such a vector needs half of the noise."""
    world = World(
        (("x", CategoryDomain(True, ("a", "b"))), ("y", IntDomain(True, -1, 1)), ("z", IntDomain(True, -3, 0))), ()
    )
    x, y, z = (world.column(name) for name in "xyz")
    one_way = [Tally(world.source, (x,), None), Tally(world.source, (x,), z), PublicNumber(Fraction(3))]
    counts = one_way[0]
    one_way += [Total(counts), Extreme("min", counts), Element(counts, 0), Offset(counts, Fraction(1))]
    one_way += [Tally(world.source, (x,), y), Absolute(counts)]  # one row moves one element only
    user, v = TWO_EACH.source, TWO_EACH.column("x")
    one_way += [Tally(user, (v,), None), Tally(user, (v,), v)]  # rows only come in, and add nothing negative
    head = Slice(world.source, None, 3)
    labels = tuple(map(Lit.of, (0, 1)))
    both = [Tally(head, (Carried(head, x),), None), Tally(head, (Carried(head, x),), Carried(head, z)),
            Absolute(Tally(user, (v,), None)),
            QuantileScores(world.source, y, labels, Fraction(1), Fraction(0), Fraction(0)), Add(counts, counts)]  # fmt: skip

    assert all(v.monotone for v in one_way) and not any(v.monotone for v in both)


def test_the_distance_of_a_vector_is_that_of_its_largest_element() -> None:
    source = World((("y", IntDomain(True, 0, 5)),), ()).source
    count, total = Tally(source, (), None), Tally(source, (), Column(source, "y"))

    assert (count.distance.value, total.distance.value) == (1, 5)
    for elements in ((count, total), (total, count), (count, total, count)):
        assert Stack(elements, tuple(range(len(elements)))).distance.value == 5
