"""One node for one expression, under one name everywhere."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from privjail.ops.numbers.combine import Add, Element, Extreme, PublicNumber, Offset, Scale, Stack
from privjail.ops.rows.source import Dataset, Source, Unit
from privjail.plan import node
from privjail.plan.domain import IntDomain
from privjail.plan.node import Lit, Node, children
from privjail.plan.value import Value


def test_one_that_is_gone_but_not_forgotten_does_not_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its callback may have been cut short by the clock, or be waiting for the lock."""
    monkeypatch.setattr(node, "_forget", lambda gone: None)
    Lit.of("gone, but not forgotten")
    again = Lit.of("gone, but not forgotten")

    assert again.value == "gone, but not forgotten" and again is Lit.of("gone, but not forgotten")


def test_of_two_that_build_the_same_at_once_one_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    first: list[Lit] = []

    def meanwhile(self: Lit) -> None:
        if not first:
            first.append(self)
            first[0] = Lit.of("built twice")

    monkeypatch.setattr(Lit, "__post_init__", meanwhile)

    assert Lit.of("built twice") is first[0] is Lit.of("built twice")


def test_a_node_that_was_dropped_late_does_not_take_its_successor_along() -> None:
    first = Lit.of("has a successor")
    entry = node._alive[first._key]
    del first
    second = Lit.of("has a successor")
    node._forget(entry)

    assert second is Lit.of("has a successor")


THIRD = PublicNumber(Fraction(1, 3))
PAIR = Stack((THIRD, Offset(THIRD, Fraction(-2))), ("ü", 7))


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (Lit.of(1), "6ff394da8c649197d4015cd50365a13eccfd15625be6eef06cbf1df88cd63c26"),
        (Lit.of("\U0001f600 ü"), "0c6d3d02da11df26c806062a2b5609198beaa79f26c2333768378f60d6799a3c"),
        (Lit.of(None), "a1593714f814e44a8cf1daa1c15b94ec723481e8d2b6f4083df63582fcbaee8c"),
        (THIRD, "f89f4d9a75414f6eafb192663de083045f652d16038643820e5fe5bff11732d2"),
        (PAIR, "8701f117e30d8efed45cb0c91d90cfaab812cc50d19fd37c8478ed35e87df50b"),
        (Element(PAIR, 1), "8a23136de5666081a7601d0dd7822e7868dd5eb4f178a7451eabb32d6504547a"),
        (
            Add(Extreme("max", PAIR), Scale(THIRD, Fraction(5, 7))),
            "a0909ca65a1c50e577a39ccd84c43767d58c5c93fc6f7690157280dfbcbf7254",
        ),
    ],
)
def test_names_never_change(made: Node, name: str) -> None:
    """A ledger that is years old knows cells by them. They have 256 bits, or equal ones could be sought (V-60)."""
    assert made.name == name and len(made.digest()) * 8 == 256


def test_every_kind_of_field_is_spelled_as_ever() -> None:
    spelled = node._spell((None, "ü", 1, True, Fraction(1, 2), ("x", None), 0.5))

    assert spelled == b"n0:s2:\xc3\xbci1:1b4:Truef3:1/2t7:s1:xn0:x20:0x1.0000000000000p-1"


def test_deep_plans_have_names_and_children() -> None:
    total: Value = THIRD
    for _ in range(3_000):
        total = Add(total, THIRD)

    assert len(total.name) == 64 and len(children(total)) == 2


def test_a_node_that_many_use_is_spelled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lone = Offset(THIRD, Fraction(11, 13))
    many = Stack((lone,) * 50, tuple(range(50)))
    spelled: list[tuple[object, ...]] = []
    spell = node._spell
    monkeypatch.setattr(node, "_spell", lambda parts, *of: (spelled.append(parts), spell(parts, *of))[1])

    assert many.name and spelled.count(lone.fields()) == 1


def test_the_height_of_a_node_is_its_longest_path() -> None:
    one = PublicNumber(Fraction(1))
    low = Scale(one, Fraction(2))
    high = Scale(Scale(low, Fraction(3)), Fraction(5))
    both = Add(low, high)

    assert both.height() == both.height() == high.height() + 1 == low.height() + 3
    assert one.height() == 1 + max((child.height() for child in children(one)), default=0)


def test_the_height_of_a_node_without_children_is_one() -> None:
    assert PublicNumber(Fraction(17, 19)).height() == 1  # asked itself, not on the way to another one's height


def test_a_name_with_other_digests_below_is_made_like_every_name() -> None:
    """A jail knows an answer again after its data was replaced: the same plan, with its data sets named otherwise."""
    assert PAIR.digest_if(lambda each: each.digest()) == PAIR.digest()
    assert len({PAIR.digest_if(lambda each, i=i: bytes([i]) * 32) for i in range(3)} | {PAIR.digest()}) == 4  # type: ignore[misc]


def test_a_field_that_came_later_is_spelled_if_it_does_not_have_its_default() -> None:
    """Rows that replaced others are other data: an answer about the old ones is none about the new ones."""
    first = Dataset("people", "people", (("age", IntDomain(False, 0, 120)),), Unit())
    names = [Source(each).name for each in (first, replace(first, epoch=1), replace(first, epoch=2))]

    assert names[0] == names[1] != names[2]
