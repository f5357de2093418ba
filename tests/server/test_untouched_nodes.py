"""Nodes belong to plan/ and ops/: engines, the server and certificates keep what they derive beside them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from privjail import session
from privjail.engines.polars.engine import PolarsEngine
from privjail.errors import DPError
from privjail.mechanisms.laplace import Laplace
from privjail.ops.rows.source import Source
from privjail.plan.node import Lit, Node, children
from privjail.plan.value import Value
from privjail.plan.node import inputs_first
from privjail.release import Query
from privjail.server import work
from privjail.server.limits import Limits
from privjail.server.sessions import Session
from privjail.server.wire import encode
from privjail.verify import certificate

from .test_wire import nodes_of_many_programs

#: What plan/ derives about a node when it is first asked for. Everything else is there once the node is built.
DERIVED_LATER = {"_digest", "_name", "_shown", "_children", "_height", "_facts", "_address", "_value"}


def weigh(value: Value) -> None:
    """What a server does with a plan that is sent to it, and before it runs the plan."""
    source = next(each for each in inputs_first([value], children) if isinstance(each, Source))  # type: ignore[list-item]
    numbers: dict[int, int] = {}
    messages = []
    for group in encode.unsent([value], ()):
        first = len(numbers) + 1
        numbers.update((id(each), number) for number, each in enumerate(group, first))
        messages.append(encode.nodes(group, first, lambda each: numbers[id(each)]))
    Session("ann", PolarsEngine, Limits()).take(messages, lambda name: source)
    work.check([Query(value, Laplace(Fraction(1)))], 10**6, Limits())
    work.steps_below(value)
    work.columns_held(value)


def attributes(node: Node) -> dict[str, Any]:
    return {name: value for name, value in vars(node).items() if name not in DERIVED_LATER}


def test_engine_server_and_certificate_leave_nodes_as_they_were() -> None:
    values = [n for n in nodes_of_many_programs() if isinstance(n, Value)][::7]
    nodes = [n for n in inputs_first(values, children) if not isinstance(n, Lit)]  # type: ignore[arg-type]
    before = [attributes(n) for n in nodes]
    engine, done = session.jail().engine, 0
    for value in values:
        try:
            engine.evaluate(value)
            weigh(value)
            certificate.of(Query(value, Laplace(Fraction(1))))
            done += 1
        except DPError:
            continue  # refused: too deep, or without a bound

    assert done > 50 and len({type(n) for n in nodes}) > 20
    for node, held in zip(nodes, before, strict=True):
        after = attributes(node)
        assert after.keys() == held.keys(), f"{type(node).__name__} was given {sorted(after.keys() - held.keys())}"
        assert all(after[name] is held[name] for name in held), f"{type(node).__name__} was changed"
