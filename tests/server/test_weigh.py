"""What a session weighs is never far below what its plans take."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from weakref import ref

import pytest
from .test_wire import nodes_of_many_programs
from .wire_fixtures import SCHEMA, people

from privjail import pandas as pd
from privjail.errors import DPError
from privjail.engines.polars.engine import PolarsEngine
from privjail.server.wire import decode, encode
from privjail.server import sessions, weigh
from privjail.server.wire import privjail_pb2 as pb
from privjail.server.deadline import TimeUp
from privjail.server.limits import LimitError, Limits
from privjail.server.sessions import Held, Session
from privjail.ops.columns.isin import IsIn
from privjail.ops.numbers.combine import Add, ColumnStack, Element, Extreme, Offset, Scale, Stack
from privjail.ops.rows.sort import Sort
from privjail.ops.rows.source import Column, Source
from privjail.ops.numbers.tally import Tally
from privjail.plan.domain import Numeric, TextDomain
from privjail.plan.distance import Distance
from privjail.plan.node import Lit, children, set_frozen
from privjail.plan.value import Value


def facts_bytes(value: Value) -> int | None:
    try:
        return weigh._joint(value.joint)
    except DPError:
        return None  # refused when it is asked for


def test_the_facts_of_a_value_are_no_larger_than_it_was_weighed() -> None:
    values = [n for n in nodes_of_many_programs() if isinstance(n, Value)]
    weighed = [(v, weigh.facts_bytes(v), facts_bytes(v)) for v in values]

    assert len({type(v) for v in values}) > 9
    assert sum(bytes_ is not None for *_, bytes_ in weighed) > 200
    for value, bulk, bytes_ in weighed:
        assert bytes_ is None or bytes_ <= bulk, str(value)


def test_constants_are_weighed_with_the_node_that_holds_them() -> None:
    columns = [n for n in nodes_of_many_programs() if isinstance(n, Column)]
    number, text = (next(n for n in columns if isinstance(n.domain, kind)) for kind in (Numeric, TextDomain))
    few, many = (IsIn(number, tuple(Lit.of(i) for i in range(n))) for n in (1, 1_001))
    short, long = (IsIn(text, (Lit.of("x" * n),)) for n in (1, 1_001))

    assert weigh.weight(many, Limits()) - weigh.weight(few, Limits()) >= 1_000 * weigh.NODE
    assert weigh.weight(long, Limits()) - weigh.weight(short, Limits()) >= 1_000


def test_all_constants_are_weighed_in_whatever_field_they_stand() -> None:
    """Fields that are passed over hold nothing that weighs."""
    nodes = nodes_of_many_programs()
    labelled = Stack((*(n for n in nodes if isinstance(n, Tally) and not n.keys),)[:2], ("a" * 500, "b" * 500))
    heavy = 0
    for node in (*nodes, labelled):
        everything = sum(weigh._constants(value) for value in node.fields())
        assert sum(weigh._constants(getattr(node, name)) for name in weigh._weighed(type(node))) == everything
        heavy += everything > 0
    assert heavy > 100 and weigh.weight(labelled, Limits()) > weigh.NODE + 1_000


@pytest.mark.parametrize("make", [
    lambda numbers: Stack(numbers, tuple(range(10))),
    lambda numbers: ColumnStack(tuple(Stack((each,), ("a",)) for each in numbers), tuple(range(10))),
], ids=["stack", "column_stack"])  # fmt: skip
def test_a_common_grid_that_would_be_too_fine_is_refused_before_it_is_looked_for(
    make: Callable[[Any], Value], monkeypatch: pytest.MonkeyPatch
) -> None:
    (count,) = counts(1)
    wide = make(tuple(Scale(count, Fraction(1, 2**bits - 1)) for bits in range(57, 67)))
    built: list[type] = []
    monkeypatch.setattr(decode, "make", lambda cls, values: (built.append(cls), cls(*values))[1])
    with pytest.raises(LimitError, match=r"bits of a grid: 6\d\d is over this jail's limit of 560"):
        take(wide, Limits(grid_bits=70))
    assert built and type(wide) not in built
    take(wide, Limits())
    assert type(wide) in built


def test_columns_of_one_step_are_limited() -> None:
    frame = pd.from_frame(people(), "many columns", SCHEMA)
    columns = tuple(Column(frame._rows.source, name) for name in SCHEMA)[:2]
    finite = tuple(c for c in (Column(frame._rows.source, name) for name in SCHEMA) if c.domain.labels is not None)[:2]
    for step in (Sort(frame._rows, columns, (0, 0)), Tally(frame._rows, finite, None)):
        take(step, Limits(columns_per_step=2))
        with pytest.raises(LimitError, match="columns in one step: 2 is over this jail's limit of 1"):
            take(step, Limits(columns_per_step=1))


def test_depth_is_limited() -> None:
    (count,) = counts(1)  # of a filter, on a comparison, on a column, on the source
    longer = Add(Add(count, count), count)
    take(longer, Limits(depth=7))
    with pytest.raises(LimitError, match="depth of the plan: 7 is over this jail's limit of 6"):
        take(longer, Limits(depth=6))


def test_bytes_of_plans_are_limited() -> None:
    (count,) = counts(1)
    with pytest.raises(LimitError, match="bytes of plans in the session: .* is over this jail's limit of 3000"):
        take(count, Limits(plan_bytes_per_session=3_000))
    take(count, Limits(plan_bytes_per_session=30_000))


def test_a_grid_that_is_too_fine_is_refused() -> None:
    (count,) = counts(1)
    fine = Scale(count, Fraction(1, 2**70))
    take(fine, Limits(grid_bits=71))
    with pytest.raises(LimitError, match="bits of a grid: 71 is over this jail's limit of 70"):
        take(fine, Limits(grid_bits=70))


def test_values_with_larger_facts_than_their_inputs_are_weighed_so() -> None:
    frame = pd.from_frame(people(), "larger facts", SCHEMA)
    cities = frame["city"].value_counts(sort=False)._value
    older = frame[frame["age"] > 40]["city"].value_counts(sort=False)._value
    sides = Add(cities, older)  # of other cells: one distance for each element
    one = Element(cities, 0)
    large = Scale(counts(1)[0], Fraction(2**2000))
    found = [weigh.facts_bytes(each) for each in (sides, one, large)]

    assert sides._facts is None
    assert found[0] > weigh.CELL * 4 and weigh._joint(sides.joint) <= found[0]
    assert found[1] >= weigh.FORM + 2 * weigh.CELL  # the cell of the element is a new one
    assert found[2] >= weigh._joint(large.joint) > weigh.FORM * 2 + 200


def take(node: Any, limits: Limits) -> None:
    """What a jail does with a node and all below it, as a client sends them."""
    numbers: dict[int, int] = {}
    source, messages = node, []
    while not isinstance(source, Source):
        source = children(source)[0]
    for group in encode.unsent([node], ()):
        first = len(numbers) + 1
        numbers.update((id(each), number) for number, each in enumerate(group, first))
        messages.append(encode.nodes(group, first, lambda each: numbers[id(each)]))
    Session("ann", PolarsEngine, limits).take(messages, lambda name: source)


def test_a_value_is_weighed_before_its_facts_are_derived() -> None:
    count = next(n for n in nodes_of_many_programs() if isinstance(n, Tally) and not n.keys)
    total: Value = Add(count, count)
    for each in (count, total):
        set_frozen(each, "_facts", None)
    weigh.weight(total, Limits())

    assert total._facts is None and total in weigh._FACTS_BYTES


def test_a_long_sum_of_the_same_is_weighed_by_its_facts() -> None:
    """By the rough rule each step would add to it, and ten thousand of them would weigh gigabytes."""
    count = next(n for n in nodes_of_many_programs() if isinstance(n, Tally) and not n.keys)
    total: Value = count
    weight = 0
    for _ in range(5_000):
        total = Add(total, count)
        weight += weigh.weight(total, Limits())

    assert weight < 5_000 * 4_000  # bytes a step


def taken(make: Callable[[], Any]) -> int:
    """The bytes that something takes while it is held."""
    gc.collect()
    tracemalloc.start()
    held = make()
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held is not None
    return size


def counts(n: int) -> list[Value]:
    frame = pd.from_frame(people(), f"weighed {n}", SCHEMA)
    return [frame[frame["age"] > i].shape[0]._value for i in range(n)]


def nested_maxima(levels: int) -> list[Value]:
    best, made = counts(1)[0], []
    for i in range(levels):
        best = Scale(Extreme("max", Stack((best, Offset(best, Fraction(i + 1))), ("a", "b"))), Fraction(3, 2))
        made.append(best)
    return made


def large_factors(steps: int) -> list[Value]:
    one, made = counts(1)[0], []
    total: Value = one
    for _ in range(steps):
        total = Add(Scale(total, Fraction(2**2000)), one)
        made.append(total)
    return made


def scaled_maximum_of_many(n: int) -> list[Value]:
    most = Extreme("max", Stack(tuple(counts(n)), tuple(range(n))))
    return [Scale(most, Fraction(k, 7)) for k in range(1, 21)]


@pytest.mark.parametrize(("make", "n"), [(nested_maxima, 9), (large_factors, 200), (scaled_maximum_of_many, 300)])
def test_facts_take_no_more_memory_than_was_weighed(make: Callable[[int], list[Value]], n: int) -> None:
    values = make(n)
    weighed = sum(weigh.weight(each, Limits()) for each in values)
    for each in values:
        set_frozen(each, "_facts", None)

    assert taken(lambda: [each.facts for each in values]) < 2 * weighed


def test_a_multiple_of_nested_maxima_is_not_written_out() -> None:
    """Forms that are shared stay shared: else it would double at each level."""
    assert taken(lambda: [each.facts for each in nested_maxima(60)]) < 5_000_000


def test_nodes_that_are_gone_no_longer_weigh() -> None:
    nodes = counts(3)
    held = Held()
    for bytes_, each in enumerate(nodes, 100):
        held.add(each, bytes_)
    del each, nodes[1]
    held.sweep()

    assert list(held.kept) == [ref(each) for each in nodes] and held.bytes == 100 + 102


def test_a_node_at_the_address_of_one_that_is_gone_is_weighed_anew() -> None:
    held, seen = Held(), set()
    for i in range(100):
        node = Lit.of(f"only here {i}")
        assert ref(node) not in held.kept
        held.add(node, 1)
        seen.add(id(node))
        del node

    assert len(seen) < 100 and held.bytes == 100


@pytest.mark.parametrize("limits", [Limits(nodes_per_session=2), Limits(plan_bytes_per_session=30)])
def test_there_is_room_up_to_the_limit_and_not_beyond(limits: Limits) -> None:
    nodes = counts(3)
    held = Held()
    held.share = 10**6
    for each in nodes[:2]:
        assert held.has_room(15, limits)
        held.add(each, 15)

    assert not held.has_room(1, limits)


def test_nodes_that_are_gone_make_room_before_anything_computed_is_dropped() -> None:
    source = pd.from_frame(people(), "full", SCHEMA)._rows.source
    session = Session("ann", PolarsEngine, Limits(nodes_per_session=4))
    computed = session.engine
    for spelled in "abcdef":
        session.forget(session.take(texts(spelled), lambda name: source))
    assert session.engine is computed

    new = session.take(texts("g", "h"), lambda name: source)
    alive = [session.nodes[number] for number in new]  # though not by their numbers
    session.forget(new)
    session.take(texts("i"), lambda name: source)
    assert session.engine is computed
    with pytest.raises(LimitError, match="nodes in the session: 5 is over this jail's limit of 4"):
        session.take(texts("i", "j"), lambda name: source)
    assert session.engine is not computed and alive


def test_what_only_the_engine_uses_makes_room() -> None:
    source = pd.from_frame(people(), "cached", SCHEMA)._rows.source
    session = Session("ann", list, Limits(nodes_per_session=4))
    new = session.take(texts("a", "b", "c")[:4], lambda name: source)
    session.engine.extend(session.nodes[number] for number in new)
    session.forget(new)

    session.take(texts("d", "e")[:4], lambda name: source)
    assert session.engine == [] and len(session.held.kept) == 3


def test_nodes_that_are_gone_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "SWEPT_FROM", 10)
    source = pd.from_frame(people(), "piled up", SCHEMA)._rows.source
    session = Session("ann", PolarsEngine, Limits())
    session.take(texts("kept", first=100), lambda name: source)
    for i in range(100):
        session.forget(session.take(texts(f"number {i}"), lambda name: source))
        assert len(session.held.kept) < 20


def texts(*values: str, first: int = 3) -> list[pb.Node]:
    """Comparisons of a column with each of some texts: one node each, besides the source and the column."""
    made = [
        pb.Node(id=1, kind="source", fields=[pb.Field(dataset="any")]),
        pb.Node(id=2, kind="column", fields=[pb.Field(node=1), pb.Field(text="city")]),
    ]
    for number, value in enumerate(values, first):
        literal = pb.Field(literal=pb.Literal(text=value))
        made.append(pb.Node(id=number, kind="compare", fields=[pb.Field(text="=="), pb.Field(node=2), literal]))
    return made


def test_large_coefficients_weigh_what_they_take() -> None:
    cell = next(n for n in nodes_of_many_programs() if isinstance(n, Column)).source.cells[0]
    plain, *large = [weigh._distance(Distance(0, {cell: c})) for c in (1, 2**63, Fraction(1, 2**64), 2**4_000)]

    assert [each - plain for each in large] == [8, 8, 8 * (4_001 // 64)]


def test_a_node_that_was_cut_short_weighs_too_much_rather_than_too_little() -> None:
    class Cut(dict[Any, int]):
        def __setitem__(self, key: Any, value: int) -> None:
            raise TimeUp

    held = Held()
    held.kept = Cut()
    with pytest.raises(TimeUp):
        held.add(Lit.of(1), 7)
    assert held.bytes == 7
