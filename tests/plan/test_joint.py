"""The short cuts for vectors (Shared, Together) against the plain list of their elements' distances."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from privjail.ops.rows.filter import Filter
from privjail.ops.columns.isin import IsIn
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
    _added,
)
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.source import Column, Unit
from privjail.ops.numbers.tally import Tally
from privjail.plan.distance import Distance
from privjail.plan.node import Lit
from privjail.plan.value import PerElement, OneMoves, AllMove, Sensitivity, Value, common_grid

from .trees import new_source


def _plain(value: Value) -> PerElement:
    return PerElement(tuple(value.joint.at(i) for i in range(value.joint.size)))


def _vectors() -> list[Value]:
    source = new_source()
    a, b, c = (Column(source, f"c{i}") for i in range(3))
    some = Filter(source, IsIn(a, (Lit.of(0), Lit.of(1))))
    head = Slice(source, None, 50)
    few = Slice(source, None, 1)
    from privjail.ops.columns.carried import Carried

    tables = [(source, a, b, c), (some, a, b, c)]
    tables += [(rows, *(Carried(rows, x) for x in (a, b, c))) for rows in (head, few)]
    user = new_source(unit=Unit("c0", 4))
    tables.append((user, *(Column(user, f"c{i}") for i in range(3))))
    found: list[Value] = []
    for rows, x, y, z in tables:
        found += [Tally(rows, (x,), None), Tally(rows, (x, y), None), Tally(rows, (y,), z)]
        points = tuple(Lit.of(p) for p in range(4))
        found.append(QuantileScores(rows, z, points, Fraction(1), Fraction(1), Fraction(0)))
        counts = Tally(rows, (y,), None)
        found += [Scale(counts, Fraction(-3, 2)), Offset(counts, Fraction(1, 3)), Absolute(counts)]
        found.append(Add(counts, Tally(rows, (y,), z)))
        found.append(Add(counts, Tally(rows, (z,), None)))  # other groups, with the same labels
    return found


@pytest.mark.parametrize("value", _vectors(), ids=str)
def test_short_cuts_agree_with_the_list_of_elements(value: Value) -> None:
    assert isinstance(value.joint, (OneMoves, AllMove, PerElement))
    plain = _plain(value)
    if value.kind == "absolute" and "head" in str(value):
        # One group may fall while another rises, and both absolute values fall: nothing better than L1 is known.
        assert value.joint.sum().value == value.joint.linf == value.joint.l1 >= plain.linf
        return
    if isinstance(value.joint, OneMoves) and value.joint.whole.const:
        # A capped table: the list cannot know that all elements share one bound; it is n times as large.
        assert value.joint.linf == plain.linf and plain.l1 == value.joint.linf * value.joint.size
        return
    if value.kind == "add" and value.b.kind == "tally" and value.b.value is None:
        # Two different groupings added up: one row moves two elements by 1 each, which the list knows.
        assert value.joint.l1 == plain.l1 and value.joint.l2 >= plain.l2
        return
    assert value.joint.l1 == plain.l1
    assert value.joint.l2 == pytest.approx(float(plain.l2), rel=1e-15)
    # After a head one row comes and one goes: each of two elements moves by one, and the sum by one at most.
    one_way = 2 if "head" in str(value) and isinstance(value.joint, OneMoves) else 1
    assert value.joint.linf * one_way == plain.linf
    assert value.joint.sum().value * one_way == plain.sum().value
    assert value.joint.peak().value * one_way == plain.peak().value


def test_a_sum_of_groups_moves_no_further_than_the_table() -> None:
    source = new_source()
    counts = Tally(source, (Column(source, "c0"),), None)
    assert Total(counts).joint.at(0).value == 1
    by_hand: Value = Element(counts, 0)
    for i in range(1, 10):
        by_hand = Add(by_hand, Element(counts, i))
    assert by_hand.joint.at(0).value == 1
    # D1 ∪ D2, D2 ∪ D3, D3 ∪ D1: each moves by 1, all three together by 2.
    pairs = [Add(Element(counts, i), Element(counts, (i + 1) % 3)) for i in range(3)]
    together = Stack(tuple(pairs), (0, 1, 2))
    assert together.joint.l1 == 2 and together.joint.linf == 1
    assert Fraction(together.joint.l2) ** 2 == pytest.approx(2)


def test_a_maximum_of_groups_moves_no_further_than_one() -> None:
    source = new_source()
    counts = Tally(source, (Column(source, "c0"),), None)
    parts = Stack(tuple(Element(counts, i) for i in range(10)), tuple(range(10)))
    assert Extreme("max", parts).joint.at(0).value == Extreme("min", counts).joint.at(0).value == 1
    doubled = Add(Extreme("max", parts), Extreme("min", parts))
    assert doubled.joint.at(0).value == 2


def test_public_numbers_among_private_ones_do_not_move() -> None:
    source = new_source()
    count = Tally(source, (), None)
    mixed = Stack((count, PublicNumber(Fraction(1, 10)), PublicNumber(Fraction(0))), (0, 1, 2))
    assert mixed.joint.l1 == mixed.joint.linf == mixed.joint.l2 == 1
    assert mixed.grid == Fraction(1, 10) and mixed.cells == count.cells
    assert not mixed.monotone


def test_values_of_two_data_sets_add_their_distances() -> None:
    left, right = Tally(new_source(), (), None), Tally(new_source(), (), None)
    assert Add(left, right).joint.at(0).value == 2
    both = Stack((left, right), (0, 1))
    assert both.joint.l1 == 2 and len({c.root for c in both.cells}) == 2


def test_one_direction_is_claimed_only_where_all_elements_share_it() -> None:
    source = new_source()
    a, b = Column(source, "c0"), Column(source, "c1")
    counts = Tally(source, (a,), None)
    assert counts.monotone and Scale(counts, Fraction(-2)).monotone and Offset(counts, Fraction(7)).monotone
    against = Stack((Element(counts, 0), Scale(Element(counts, 1), Fraction(-1))), (0, 1))
    assert not against.monotone
    assert not Add(counts, Scale(Tally(source, (b,), None), Fraction(-1))).monotone
    assert not ColumnStack((counts, Scale(counts, Fraction(-1))), ("x", "y")).monotone
    assert Absolute(counts).monotone  # one row moves one element only
    user = new_source(unit=Unit("c0", 3))
    of_user = Tally(user, (Column(user, "c1"),), None)
    assert of_user.monotone and not Absolute(of_user).monotone  # three rows move up to three elements
    from privjail.ops.columns.carried import Carried

    head = Slice(source, None, 5)  # one row comes, another goes
    assert not Tally(head, (Carried(head, a),), None).monotone


def test_common_grids_hold_all_grids_and_no_finer_one_is_needed() -> None:
    rng = random.Random(4)
    for _ in range(300):
        grids = [Fraction(rng.randrange(1, 60), rng.randrange(1, 60)) for _ in range(rng.randrange(1, 5))]
        grid = common_grid(grids)
        steps = [g / grid for g in grids]
        assert all(s.denominator == 1 for s in steps)
        from math import gcd

        assert gcd(*(int(s) for s in steps)) == 1


def test_what_has_a_constant_in_its_distance_is_capped_and_so_is_all_that_uses_it() -> None:
    source = new_source(unit=Unit("c0", 4))
    few, many = Tally(Slice(source, None, 1), (), None), Tally(source, (), None)

    assert few.has_constant_bound and not many.has_constant_bound
    assert (
        Add(few, many).has_constant_bound
        and Add(many, few).has_constant_bound
        and not Add(many, many).has_constant_bound
    )


KINDS_OF_TWO: dict[str, Sensitivity] = {
    "per element": PerElement((Distance(1), Distance(2))),
    "one moves": OneMoves(2, Distance(3), lambda i: Distance(3), Distance(3)),
    "all move": AllMove(2, Distance(5)),
}


@pytest.mark.parametrize("a", KINDS_OF_TWO)
@pytest.mark.parametrize("b", KINDS_OF_TWO)
def test_elements_of_sums_move_by_what_both_move(a: str, b: str) -> None:
    one, other = KINDS_OF_TWO[a], KINDS_OF_TWO[b]
    found = _added(one, other)
    assert found.size == 2
    for i in range(2):
        both = one.at(i).value, other.at(i).value
        assert None not in both and found.at(i).value == sum(x for x in both if x is not None)
