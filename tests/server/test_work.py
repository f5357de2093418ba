"""What a request needs is found from public facts, and all sessions share one memory (V-53)."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
import time
import tracemalloc
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Any

import pytest
from .raw import LIMITS, Analyst, Plan, ref, text
from .test_wire import nodes_of_many_programs
from .wire_fixtures import SCHEMA, Held, make_jail, people, quick_folder, served

from privjail import pandas as pd
from privjail.engines.machine import of_machine
from privjail.engines.polars.engine import PolarsEngine
from privjail.errors import DPError
from privjail.server import memory, work
from privjail.server.limits import Busy, LimitError, Limits
from privjail.server.sessions import Held as Nodes
from privjail.server.sessions import Session, Sessions
from privjail.mechanisms.exponential import Exponential
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Carried
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.compare import Compare
from privjail.ops.rows.filter import Filter
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
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.window import Lag, Window
from privjail.plan.node import Lit
from privjail.plan.value import Value, evaluation
from privjail.release import Query
from privjail.session import jail

from .jails import ENV


def counts(keys: int) -> Value:
    """A table of 121**keys counts."""
    frame = pd.from_frame(people(), f"counted by {keys}", SCHEMA)
    age = frame["age"]._expr
    others = [Clip(age, Lit.of(0), Lit.of(120 - i)) for i in range(keys)]
    return Tally(frame._rows, tuple(others), None)


def long_numbers(table: Value) -> list[Value]:
    fine = Scale(table, Fraction(1, 3**400))
    finer = Add(fine, Scale(table, Fraction(1, 7**300)))
    far = Offset(table, Fraction(2**2000) + Fraction(1, 3))
    wide = ColumnStack((table, finer), ("a", "b"))
    both = Stack((Element(finer, 1), PublicNumber(Fraction(5, 11)), Total(far), Extreme("max", far)), (0, 1, 2, 3))
    return [fine, finer, far, wide, both, Absolute(far), Scale(far, Fraction(-2)), Offset(wide, Fraction(-1, 10**50))]


def test_no_number_is_longer_than_was_foreseen() -> None:
    programs = [n for n in nodes_of_many_programs() if isinstance(n, Value)]
    frames = dict(jail().engine._frames)
    tried = 0
    for value in (*programs, *long_numbers(counts(1))):
        bits: dict[Value, int] = {}
        for node, _ in evaluation(value):
            bits[node] = work._bits(node, bits)
        try:
            exact = jail().engine.evaluate(value)
        except KeyError:
            continue  # of a data set that is not open here
        longest = max(abs(x).bit_length() for x in (exact if isinstance(exact, list) else [exact]))
        assert longest <= bits[value], str(value)
        tried += 1
    assert tried >= 8 and frames


def peak(ask: Query) -> int:
    engine = PolarsEngine(frames=dict(jail().engine._frames))
    gc.collect()
    tracemalloc.start()
    exact = engine.evaluate_all([ask.value])
    ask.mechanism.sample(ask.value, exact[0], jail().noise)
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size


@pytest.mark.parametrize("make", [
    lambda table: table,
    lambda table: Element(table, 5),
    lambda table: Element(reduce(Offset, [Fraction(1000 + i) for i in range(30)], table), 5),
    lambda table: Total(Add(Offset(table, Fraction(1000)), Offset(table, Fraction(-2000)))),
    lambda table: Offset(Scale(table, Fraction(1, 3**200)), Fraction(1, 7)),
], ids=["counts", "one", "offsets", "sum", "long"])  # fmt: skip
def test_a_request_takes_no_more_memory_than_was_foreseen_v53(make: Any) -> None:
    ask = Query(make(counts(2)), Laplace(Fraction(1)))
    foreseen = work.bytes_of_values([ask])
    found = peak(ask)

    assert found < foreseen + 2_000_000 and foreseen < 8 * found + 1_000_000


@pytest.mark.parametrize("mechanism", [Exponential(Fraction(1)), NoisyMax(Fraction(1)), NoisyMax(Fraction(1), k=2)])
def test_the_memory_of_a_choice_is_foreseen_v53(mechanism: Any) -> None:
    ask = Query(counts(2), mechanism)
    foreseen = work.bytes_of_values([ask])

    assert peak(ask) < foreseen + 2_000_000
    assert foreseen >= work.bytes_of_values([Query(ask.value, Laplace(Fraction(1)))]) + 80 * ask.value.size


def test_values_that_are_dropped_are_not_counted() -> None:
    """Ten steps on a vector take as much as two; ten vectors that are all needed at the end take five times as much."""
    table = counts(1)

    def chain(steps: int) -> Value:
        moved: Value = table
        for i in range(steps):
            moved = Offset(moved, Fraction(i + 1))
        return Element(moved, 0)

    def beside(n: int) -> Value:
        return ColumnStack(tuple(Offset(table, Fraction(i + 1)) for i in range(n)), tuple(range(n)))

    needed = [
        work.bytes_of_values([Query(v, Laplace(Fraction(1)))]) for v in (chain(2), chain(10), beside(2), beside(10))
    ]
    assert needed[0] == needed[1] < needed[2] and 4 * needed[2] < needed[3] < 6 * needed[2]


def wide(frame: Any, n: int) -> Any:
    """A column for which n others are needed at once."""
    age = frame["age"]._expr
    parts = [Clip(age, Lit.of(0), Lit.of(1 + i)) for i in range(n)]
    total: Any = parts[0]
    for each in (*parts[1:], *parts):
        total = Clip(Arithmetic("+", total, each), Lit.of(0), Lit.of(9))
    return total


def test_columns_that_are_needed_at_once_are_counted_and_limited() -> None:
    frame = pd.from_frame(people(), "columns", SCHEMA)
    value = Tally(frame._rows, (), wide(frame, 40))
    widest = work.columns_held(value)
    ask = [Query(value, Laplace(Fraction(1)))]

    assert 40 <= widest <= 44 and work.columns_held(value) == widest
    assert work.steps_below(value) >= widest and work.steps_below(frame["age"].sum()._value) == 1
    work.check(ask, 10**6, Limits(columns_at_once=widest))
    with pytest.raises(LimitError, match="columns that a request needs at the same time"):
        work.check(ask, 10**6, Limits(columns_at_once=widest - 1))
    assert work.columns_held(frame["age"].shift(1).sum()._value) <= 3


def test_columns_below_a_slice_are_counted_too() -> None:
    frame = pd.from_frame(people(), "columns", SCHEMA)
    few = frame.head(5)._rows
    window = Window(frame._rows, 1, 0)

    assert work.columns_held(Tally(few, (), Carried(few, wide(frame, 40)))) >= 40
    assert work.columns_held(Tally(window, (), Lag(window, wide(frame, 40), 1))) >= 40
    assert work.columns_held(Tally(Filter(frame._rows, Compare("==", wide(frame, 40), Lit.of(1))), (), None)) >= 40


# -- one memory for all


def test_plans_of_all_sessions_share_one_memory() -> None:
    shared = memory.Memory(Limits(memory_bytes=8 * memory.CHUNK))  # four for plans
    first, second, third = Nodes("ann"), Nodes("bob"), Nodes("eve")
    first.bytes = second.bytes = memory.CHUNK
    assert shared.grow(first, memory.CHUNK // 2) and shared.grow(second, memory.CHUNK // 2)
    assert first.share == second.share == 2 * memory.CHUNK
    assert not shared.grow(third, 1)
    first.sweep()  # nothing of it is alive
    assert first.share == 0 and shared.grow(third, 1)
    first.share = 2 * memory.CHUNK
    assert not shared.grow(third, 2 * memory.CHUNK)
    del first
    gc.collect()
    assert shared.grow(third, 2 * memory.CHUNK) and not shared.grow(third, 2 * memory.CHUNK + 1)


def test_no_user_holds_more_than_half_of_the_memory_for_plans() -> None:
    shared = memory.Memory(Limits(memory_bytes=8 * memory.CHUNK))
    one, other = Nodes("ann"), Nodes("ann")
    assert shared.grow(one, memory.CHUNK) and shared.grow(other, memory.CHUNK)
    assert not shared.grow(other, memory.CHUNK + 1)
    assert shared.grow(Nodes("bob"), memory.CHUNK)


def test_plans_are_refused_when_other_sessions_hold_the_memory() -> None:
    source = pd.from_frame(people(), "shared", SCHEMA)._rows.source
    limits = Limits(memory_bytes=4 * memory.CHUNK)
    sessions = Sessions(limits, list)
    ann, bob, modest = (sessions._open[sessions.open(user)] for user in ("ann", "bob", "eve"))
    nodes = columns(5)
    for greedy in (ann, bob):
        greedy.take(nodes, lambda name: source)
    with pytest.raises(LimitError, match="the memory for plans is in use"):
        modest.take(nodes, lambda name: source)
    alone = Session("bob", list, limits)
    alone.take(nodes, lambda name: source)


def columns(n: int) -> Any:
    plan = Plan()
    for _ in range(n):
        plan.add("not", ref(plan.column("member")))
    return plan.request.nodes


def test_running_requests_share_one_memory_and_no_user_takes_it_all() -> None:
    shared = memory.Memory(Limits(memory_bytes=4_000))
    shared.reserve("ann", 300)
    shared.reserve("ann", 200)
    with pytest.raises(Busy, match="memory for running requests is in use"):
        shared.reserve("ann", 1)
    shared.reserve("bob", 500)
    with pytest.raises(Busy):
        shared.reserve("eve", 1)
    shared.give_back("ann", 300)
    shared.reserve("eve", 250)
    for user, bytes_ in (("ann", 200), ("bob", 500), ("eve", 250), ("eve", 0)):
        shared.give_back(user, bytes_)
    assert not shared._at_work


def test_what_idle_sessions_keep_makes_room_and_refuses_nobody() -> None:
    limits = Limits(memory_bytes=64_000, cache_bytes_per_session=4_000)  # 16,000 for all
    sessions = Sessions(limits, lambda: PolarsEngine(limits.cache_bytes))
    mine, *others = [sessions._open[sessions.open(f"user {i}")] for i in range(6)]
    for i, each in enumerate(others):
        each.used = i
        each.engine.cache.put(("x",), None, 3_000)
    engines = [each.engine for each in others]
    with others[0].lock:  # at work: it is counted as what it may keep, and left alone
        others[0].running = True
        sessions.make_room(mine)

    kept = [each.engine is engine for each, engine in zip(others, engines, strict=True)]
    assert kept == [True, False, True, True, True]
    assert mine.running and mine.engine.cache.limit == 1_000  # never nothing
    for each in others:
        each.forget_computed()
        each.running = False
    sessions.make_room(mine)
    assert mine.engine.cache.limit == 4_000


def test_requests_that_wait_do_not_drop_what_idle_sessions_keep() -> None:
    """Each of fifty analysts found her cache dropped: the others waited, and were counted as what they may keep."""
    limits = Limits(memory_bytes=64_000_000, cache_bytes_per_session=4_000_000)  # 16,000,000 for all
    sessions = Sessions(limits, lambda: PolarsEngine(limits.cache_bytes))
    mine, idle, *waiting = [sessions._open[sessions.open(f"user {i}")] for i in range(50)]
    engines = [each.engine for each in (idle, *waiting)]
    for each in (idle, *waiting):
        each.engine.cache.put(("x",), None, 10)
    for each in waiting:
        each.lock.acquire()
    for each in (*waiting[:7], mine):  # as many as there are workers
        sessions.make_room(each)
        assert 10**6 <= each.engine.cache.limit <= 4 * 10**6

    assert [each.engine for each in (idle, *waiting)] == engines
    assert sum(each.engine.cache.limit for each in (*waiting[:7], mine)) <= 16 * 10**6


def test_memory_is_given_back_whatever_becomes_of_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(self: Any, value: Any) -> Any:
        while True:
            time.sleep(0.001)

    def fails(self: Any, value: Any) -> Any:
        raise ValueError

    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(quick_folder()) / "jail"
        files = make_jail(folder, {"people": Held(people())})
        running = stack.enter_context(served(folder, limits=replace(LIMITS, seconds_per_release=0.3)))
        ann, shown = Analyst(running, files["ann"]["token"]), []
        for i, evaluate in enumerate((PolarsEngine.evaluate, slow, fails)):
            monkeypatch.setattr(PolarsEngine, "evaluate", evaluate)
            plan = Plan(1 + 10 * i)
            answer = ann.send(plan.ask(plan.count()))
            shown.append(answer[0] if isinstance(answer, tuple) else "answered")
            assert not running.service.sessions.memory._at_work
            assert not any(session.running for session in running.service.sessions._open.values())
        assert shown == ["answered", "FAILED_PRECONDITION", "INTERNAL"]


def test_a_request_waits_while_the_memory_is_in_use_and_is_not_charged() -> None:
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(quick_folder()) / "jail"
        files = make_jail(folder, {"people": Held(people())})
        running = stack.enter_context(served(folder, limits=LIMITS))
        ann, shared = Analyst(running, files["ann"]["token"]), running.service.sessions.memory
        shared.reserve("bob", LIMITS.all_work_bytes)
        plan = Plan()
        plan.ask(plan.count())
        code, details = ann.send(plan)
        assert code == "UNAVAILABLE" and "memory" in details and ann.spent() == (0,)
        shared.give_back("bob", LIMITS.all_work_bytes)
        assert len(ann.send(plan)) == 1


# -- how much there is


@pytest.mark.parametrize(
    ("given", "bytes_"),
    [("4G", 4 * 2**30), ("800M", 800 * 2**20), ("1.5GiB", 3 * 2**29), ("512 mb", 2**29), ("1000000000", 10**9)],
)
def test_a_curator_writes_bytes_with_a_unit(given: str, bytes_: int) -> None:
    assert memory.parsed(given) == bytes_


@pytest.mark.parametrize("given", ["", "much", "-1G", "4X", "G", "63M", "0"])
def test_what_is_no_amount_of_memory_is_refused(given: str) -> None:
    with pytest.raises(DPError):
        memory.parsed(given)


def test_the_limit_of_the_process_counts_as_its_machine() -> None:
    ask = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30));"
        "from privjail.engines.machine import of_machine; print(of_machine())"
    )
    found = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, env=ENV, check=True)
    assert int(found.stdout) == 2**30 < of_machine()
