"""Plans that would cost far more than they look are refused cleanly, or answered in time (V-34)."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from typing import Any

import pytest
from .raw import (
    NONE,
    Analyst,
    Plan,
    deep_maxima,
    listed,
    memory,
    noisy_max,
    number,
    real,
    reals,
    ref,
    text,
    whole,
    wholes,
)

from privjail.engines.polars import columns
from privjail.server.wire import privjail_pb2 as pb


def many_nodes() -> Plan:
    plan = Plan()
    age = plan.column("age")
    for _ in range(100_001):
        age = plan.add("not", ref(age))
    return plan.ask(plan.count())


def deep_plan() -> Plan:
    plan = Plan()
    member = plan.column("member")
    for _ in range(20_000):
        member = plan.add("not", ref(member))
    return plan.ask(plan.add("tally", ref(plan.source), listed(), ref(member)))


def deep_sum() -> Plan:
    plan = Plan()
    total = plan.count()
    for _ in range(9_000):
        total = plan.add("add", ref(total), ref(total))
    return plan.ask(total)


def doublings() -> Plan:
    """x + x + …: 2**60 leaves if it is spelled out."""
    plan = Plan()
    x = plan.add("clip", ref(plan.add("cast", ref(plan.column("age")), text("Float64"))), real(0), real(1))
    for _ in range(60):
        x = plan.add("arithmetic", text("+"), ref(x), ref(x))
    return plan.ask(plan.add("tally", ref(plan.source), listed(), ref(x)))


def long_chain() -> Plan:
    plan = Plan()
    x = plan.add("clip", ref(plan.column("age")), whole(0), whole(1))
    for i in range(3_000):
        x = plan.add("clip", ref(x), whole(0), whole(1 + i % 2))
    return plan.ask(plan.add("tally", ref(plan.source), listed(), ref(x)))


def many_keys() -> Plan:
    """30 keys of one label each: 2**30 cells if a place is kept for the missing ones."""
    plan = Plan()
    age = plan.column("age")
    keys = [plan.add("clip", ref(age), whole(i), whole(i)) for i in range(60)]
    return plan.ask(plan.count(None, *keys))


def too_many_keys() -> Plan:
    plan = Plan()
    return plan.ask(plan.count(None, *[plan.column("city")] * 1000))


def large_table() -> Plan:
    plan = Plan()
    keys = [plan.column(c) for c in ("age", "age", "age")]
    return plan.ask(plan.count(None, *keys))


def large_tables_side_by_side() -> Plan:
    """Two million elements, each with a distance of its own."""
    plan = Plan()
    table = plan.count(None, plan.column("age"), plan.column("age"), plan.column("age"))
    return plan.ask(plan.add("column_stack", listed(ref(table), ref(table)), listed(text("a"), text("b"))))


def sums_of_many_cells() -> Plan:
    """Each of 5,000 sums lists all cells of the one before it."""
    plan = Plan()
    income = plan.column("income")
    total = plan.count()
    for i in range(5_000):
        over = plan.add("compare", text(">"), ref(income), real(i / 10))
        part = plan.count(plan.add("filter", ref(plan.source), ref(over)))
        total = plan.add("add", ref(total), ref(part))
    return plan.ask(total)


def fine_grids() -> Plan:
    plan = Plan()
    total = plan.count()
    for i in range(200):
        total = plan.add("scale", ref(total), pb.Field(fraction=f"1/{3**1200 + 2 * i}"))
    return plan.ask(total)


def many_grids() -> Plan:
    plan = Plan()
    known = [plan.add("public_number", pb.Field(fraction=f"1/{7**700 + i}")) for i in range(3_000)]
    labels = listed(*(whole(i) for i in range(len(known))))
    return plan.ask(plan.add("stack", listed(*map(ref, known)), labels))


def long_lists() -> Plan:
    """100,000 constants in each of five nodes."""
    plan = Plan()
    age = plan.column("income")
    values = listed(*(real(i / 7) for i in range(100_000)))
    for _ in range(5):
        plan.add("isin", ref(age), values)
    return plan.ask(plan.count())


def long_lists_in_one_piece() -> Plan:
    """A million constants in eight megabytes, in five pieces that are as long as they may be."""
    plan = Plan()
    income = plan.column("income")
    for k in range(5):
        plan.add("isin", ref(income), reals(*(k + i / 7 for i in range(200_000))))
    return plan.ask(plan.count())


def one_piece_that_is_too_long() -> Plan:
    plan = Plan()
    plan.add("isin", ref(plan.column("age")), wholes(*range(1_000_000)))
    return plan.ask(plan.count())


def one_piece_for_many_nodes() -> Plan:
    plan = Plan()
    ages = pb.Field(nodes=pb.Numbered(ids=[plan.column("age")] * 60_000))
    plan.request.nodes.append(pb.Node(id=10, kind="isin", fields=[ages, wholes(*range(2_000))], count=60_000))
    return plan.ask(plan.count())


def categories_by_categories() -> Plan:
    """30,000 categories recoded by 30,000 pairs."""
    plan = Plan()
    edges = listed(*(real(i) for i in range(30_001)))
    cut = plan.add("cut", ref(plan.column("income")), edges, NONE, number(1), number(0))
    pairs = listed(*(listed(pb.Field(literal=pb.Literal(text=f"({i}, {i + 1}]")), whole(i)) for i in range(30_000)))
    other = plan.add("recode", ref(cut), pairs, number(0))
    return plan.ask(plan.add("tally", ref(plan.source), listed(), ref(other)))


def long_text() -> Plan:
    plan = Plan()
    large = pb.Field(literal=pb.Literal(text="x" * 2_000_000))
    plan.add("compare", text("=="), ref(plan.column("note")), large)
    return plan.ask(plan.count())


def huge_number() -> Plan:
    plan = Plan()
    plan.add("compare", text("=="), ref(plan.column("age")), pb.Field(literal=pb.Literal(whole="9" * 100_000)))
    return plan.ask(plan.count())


def huge_epsilon_text() -> Plan:
    plan = Plan()
    return plan.ask(plan.count(), epsilon="1/" + "3" * 600)


def many_asks() -> Plan:
    plan = Plan()
    count = plan.count()
    for _ in range(1_001):
        plan.ask(count)
    return plan


def many_choices() -> Plan:
    plan = Plan()
    return plan.ask(plan.count(None, *[plan.column("age")] * 2), noisy_max(k=10_000))


def nested_lists() -> Plan:
    plan = Plan()
    inner = listed()
    for _ in range(40):
        inner = listed(inner)
    plan.add("tally", ref(plan.source), inner, NONE)
    return plan.ask(plan.count())


def deep_or() -> Plan:
    """A filter looks for the one column that decides a condition, in a tree of 2**50 conditions."""
    plan = Plan()
    x = plan.add("compare", text("=="), ref(plan.column("grade")), whole(1))
    for _ in range(50):
        x = plan.add("logic", text("|"), ref(x), ref(x))
    return plan.ask(plan.count(plan.add("filter", ref(plan.source), ref(x))))


def many_filters() -> Plan:
    plan = Plan()
    rows, age = plan.source, plan.column("age")
    for i in range(2_000):
        rows = plan.add("filter", ref(rows), ref(plan.add("compare", text(">"), ref(age), whole(-i - 1))))
    return plan.ask(plan.count(rows))


def lines_that_double() -> Plan:
    """Each step has its input in its line more than once."""
    plan = Plan()
    age = plan.column("age")
    for _ in range(60):
        age = plan.add("function", text("abs"), ref(age), number(0))
    return plan.ask(plan.add("tally", ref(plan.source), listed(), ref(age)))


def scaled_maxima() -> Plan:
    plan = Plan()
    best = plan.count()
    for i in range(40):
        pair = plan.add("stack", listed(ref(best), ref(plan.add("offset", ref(best), pb.Field(fraction=str(i + 1))))),
                        listed(text_label("a"), text_label("b")))  # fmt: skip
        best = plan.add("extreme", text("max"), ref(pair))
        best = plan.add("scale", ref(best), pb.Field(fraction="3/2"))
    return plan.ask(best)


def text_label(x: str) -> pb.Field:
    return pb.Field(literal=pb.Literal(text=x))


def one_list_for_many_nodes() -> Plan:
    plan = Plan()
    items = listed(*(real(i / 7) for i in range(2_000)))
    several = pb.Node(id=10, kind="isin", fields=[pb.Field(nodes=pb.Numbered(ids=[plan.column("income")] * 60_000)), items],
                      count=60_000)  # fmt: skip
    plan.request.nodes.append(several)
    return plan.ask(plan.count())


BOMBS = [
    many_nodes, deep_plan, deep_sum, deep_maxima, doublings, long_chain, many_keys, too_many_keys, large_table,
    large_tables_side_by_side, sums_of_many_cells, fine_grids, many_grids, long_lists, categories_by_categories, long_text,
    huge_number, huge_epsilon_text, many_asks, many_choices, nested_lists, deep_or, many_filters, lines_that_double,
    scaled_maxima, one_list_for_many_nodes, long_lists_in_one_piece, one_piece_that_is_too_long, one_piece_for_many_nodes,
]  # fmt: skip


@pytest.mark.parametrize("long", [columns.LONG, 1_000], ids=["short", "long"])
@pytest.mark.parametrize("bomb", BOMBS, ids=lambda f: f.__name__)
def test_a_bomb_is_refused_or_answered_in_time(
    ann: Analyst, bomb: Callable[[], Plan], long: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """V-34: within the time limit, in bounded memory; a refusal is clean and charges nothing. In long tables, too."""
    monkeypatch.setattr(columns, "LONG", long)
    plan = bomb()
    before, spent = memory(), ann.spent()
    start = time.monotonic()

    answer = ann.send(plan)

    assert time.monotonic() - start < 60  # the limit is 6 s of work; the machine may be busy
    assert memory() - before < 500
    if isinstance(answer, tuple):
        code, details = answer
        assert code == "FAILED_PRECONDITION", (code, details[:300])
        name, what, _, _ = json.loads(details)
        assert name in ("LimitError", "Malformed", "PlanError", "DPError"), details[:300]
        if "took longer" not in what:
            assert ann.spent() == spent
        assert ann.nodes() == 0
    well = Plan(10**6)
    assert len(ann.send(well.ask(well.count()))) == 1
