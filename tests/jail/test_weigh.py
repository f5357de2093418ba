"""What a session weighs is never far below what its plans take."""

from __future__ import annotations

from .test_wire import nodes_of_many_programs

from privjail.errors import DPError
from privjail.jail import weigh
from privjail.jail.limits import Limits
from privjail.ops.numbers import Add
from privjail.ops.tally import Tally
from privjail.plan.node import put
from privjail.plan.value import Value


def facts_bytes(value: Value) -> int | None:
    try:
        return weigh._joint(value.joint)
    except DPError:
        return None  # refused when it is asked for


def test_the_facts_of_a_value_are_no_larger_than_it_was_weighed() -> None:
    values = [n for n in nodes_of_many_programs() if isinstance(n, Value)]
    weighed = [(v, weigh.bulk(v), facts_bytes(v)) for v in values]

    assert len({type(v) for v in values}) > 9
    assert sum(bytes_ is not None for *_, bytes_ in weighed) > 200
    for value, bulk, bytes_ in weighed:
        assert bytes_ is None or bytes_ <= bulk, str(value)


def test_a_value_is_weighed_before_its_facts_are_derived() -> None:
    count = next(n for n in nodes_of_many_programs() if isinstance(n, Tally) and not n.keys)
    total: Value = Add(count, count)
    for each in (count, total):
        put(each, "_facts", None)
    weigh.weight(total, Limits())

    assert total._facts is None and total._bulk is not None


def test_a_long_sum_of_the_same_is_weighed_by_its_facts() -> None:
    """By the rough rule each step would add to it, and ten thousand of them would weigh gigabytes."""
    count = next(n for n in nodes_of_many_programs() if isinstance(n, Tally) and not n.keys)
    total: Value = count
    weight = 0
    for _ in range(5_000):
        total = Add(total, count)
        weight += weigh.weight(total, Limits())

    assert weight < Limits().plan_bytes_per_session / 4
