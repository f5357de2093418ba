"""Lists of numbers in one piece: they mean what a message for each number means, and nothing more gets through."""

from __future__ import annotations

import math
from typing import Any

import pytest
from .raw import NONE, Analyst, Plan, listed, number, real, reals, ref, whole, wholes

from privjail.server.wire import decode, encode
from privjail.server.wire import privjail_pb2 as pb
from privjail.plan.node import Lit

ODD = [0.0, -0.0, 0.1, -5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan]
PIECE = encode.IN_ONE_PIECE


def sent(*lists: tuple[Any, ...]) -> tuple[pb.Field, list[Any]]:
    """One field of several nodes, whatever they are, and what comes out at the other end."""
    field = encode._column(tuple(tuple(map(Lit.of, each)) for each in lists), lambda _: 1)
    reader = decode.Reader("any", tuple[Lit, ...])
    return field, list(reader.column(pb.Field.FromString(field.SerializeToString()), len(lists), {}.get))


@pytest.mark.parametrize(
    ("items", "form"),
    [
        (ODD, "reals"),
        ([1.0], "reals"),
        ([0, -1, 2**63 - 1, -(2**63)], "wholes"),
        ([0, 2**63], "list"),
        ([0, -(2**63) - 1], "list"),
        ([1, 1.0], "list"),
        ([True, False], "list"),
        ([1, True], "list"),
        ([1.0, None], "list"),
        (["1", "2"], "list"),
        ([], "list"),
        (range(PIECE), "wholes"),
        (range(PIECE + 1), "list"),
    ],
    ids=lambda x: str(x)[:40],
)
def test_a_list_comes_back_with_every_type_and_bit(items: Any, form: str) -> None:
    field, [back] = sent(tuple(items))

    assert field.WhichOneof("value") == form
    assert back == tuple(map(Lit.of, items))  # nodes are compared by identity
    assert [str(lit.value) for lit in back] == list(map(str, items))


def test_several_nodes_each_have_a_list_of_their_own() -> None:
    field, back = sent((1.5, 2.5), (1, 2, 3), (1, 2.5), ("a",))

    assert [item.WhichOneof("value") for item in field.each.items] == ["reals", "wholes", "list", "list"]
    assert [[repr(lit) for lit in each] for each in back] == [["1.5", "2.5"], ["1", "2", "3"], ["1", "2.5"], ["'a'"]]


@pytest.mark.parametrize(
    ("piece", "single"),
    [
        (reals(0.0, 18.5, 120.0), [real(0.0), real(18.5), real(120.0)]),
        (wholes(0, 18, 120), [whole(0), whole(18), whole(120)]),
    ],
)
def test_a_jail_finds_the_same_node_in_either_form(ann: Analyst, piece: pb.Field, single: list[pb.Field]) -> None:
    """A number cannot be used for another node: so these are one."""
    plan = Plan()
    rest = (NONE, number(1), number(0))
    age = plan.column("age")
    cut = plan.add("cut", ref(age), piece, *rest)
    plan.request.nodes.append(pb.Node(id=cut, kind="cut", fields=[ref(age), listed(*single), *rest]))
    answers = ann.send(plan.ask(plan.count(None, cut), epsilon="100"))

    assert len(answers[0].numbers.items) == 2 and sum(answers[0].numbers.items) > 1_000


@pytest.mark.parametrize(
    ("kind", "fields", "says"),
    [
        ("cut", [reals(0.0, math.nan), NONE, number(1), number(0)], "finite but for"),
        ("cut", [reals(0.0, math.inf, math.inf), NONE, number(1), number(0)], "finite but for"),
        ("cut", [reals(math.inf, 0.0), NONE, number(1), number(0)], "finite but for"),
        ("cut", [reals(0.0, 2.0, 1.0), NONE, number(1), number(0)], "must rise"),
        ("cut", [reals(0.0, -0.0), NONE, number(1), number(0)], "must rise"),
        ("cut", [wholes(2**53, 2**53 + 1), NONE, number(1), number(0)], "must rise"),
        ("cut", [reals(), NONE, number(1), number(0)], "finite but for"),
        ("cut", [reals(0.0, 1.0), reals(1.0, 2.0), number(1), number(0)], "one label per interval"),
        ("cut", [reals(0.0, 1.0), NONE, wholes(1), number(0)], "wrong type"),
        ("cut", [listed(reals(0.0, 1.0)), NONE, number(1), number(0)], "without a value"),
        ("cut", [listed(wholes(0, 1)), NONE, number(1), number(0)], "without a value"),
        ("cut", [wholes(*range(PIECE + 1)), NONE, number(1), number(0)], "in one piece"),
        ("cut", [reals(*map(float, range(PIECE + 1))), NONE, number(1), number(0)], "in one piece"),
        ("clip", [reals(0.0), real(1.0)], "wrong type"),
        ("clip", [wholes(0), whole(1)], "wrong type"),
        ("recode", [listed(listed(real(1.0), real(2.0)), reals(1.0, 2.0)), number(0)], "without a value"),
        ("recode", [reals(1.0, 2.0), number(0)], "wrong type"),
    ],
)  # fmt: skip
def test_a_piece_is_checked_like_any_list(ann: Analyst, kind: str, fields: list[pb.Field], says: str) -> None:
    plan, before = Plan(), ann.spent()
    plan.add(kind, ref(plan.column("age")), *fields)
    code, details = ann.send(plan.ask(plan.count()))

    assert code == "FAILED_PRECONDITION" and says in details
    assert ann.nodes() == 0 and ann.spent() == before


@pytest.mark.parametrize("piece", [reals(1.0, 2.0), wholes(1, 2)])
def test_a_piece_is_no_list_of_nodes_and_no_list_of_labels(ann: Analyst, piece: pb.Field) -> None:
    plan = Plan()
    _, details = ann.send(plan.ask(plan.add("tally", ref(plan.source), piece, NONE)))
    assert "wrong type" in details
    plan = Plan()
    count = plan.count()
    _, details = ann.send(plan.ask(plan.add("stack", listed(ref(count), ref(count)), piece)))

    assert "a label is" in details


@pytest.mark.parametrize("type_, why", [(encode.LABELS, "a label is"), (tuple, "without a value")])
@pytest.mark.parametrize("levels", [decode.NESTED, decode.NESTED + 1])
def test_lists_are_nested_three_deep_at_most(type_: Any, why: str, levels: int) -> None:
    """Labels too: a node that quotes them is as deep."""
    field, value = whole(1), Lit.of(1) if type_ != encode.LABELS else 1
    for _ in range(levels):
        field, value = listed(field), (value,)
    reader = decode.Reader("any", type_)
    if levels == decode.NESTED:
        assert reader.read(field, {}.get) == value
    else:
        with pytest.raises(decode.Malformed, match=why):
            reader.read(field, {}.get)


@pytest.mark.parametrize(
    ("value", "fits"),
    [((1, "a"), True), ((1, 1), False), (("a", "a"), False), ((True, "a"), False), ((1,), False), ((), False)],
)
def test_every_part_of_a_tuple_has_the_type_that_is_declared_for_it(value: Any, fits: bool) -> None:
    assert decode._fitting(tuple[int, str])(value) is fits
    assert decode._fitting(tuple[tuple[int, str], ...])(((2, "b"), value)) is fits
