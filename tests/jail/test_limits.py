"""Requests that ask for too much are refused cleanly, cost nothing, and leave the jail as it was (V-34)."""

from __future__ import annotations

import contextlib
import gc
import json
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from .wire_fixtures import Held, address, connected, make_jail, people, quick_folder, served

from privjail.curator.folder import JailFolder
from privjail.jail import privjail_pb2 as pb
from privjail.jail.deadline import Deadline, TimeUp
from privjail.jail.limits import Limits
from privjail.jail.streams import Streams

LIMITS = Limits(seconds_per_release=6.0, sessions_per_user=20)


def number(x: int) -> pb.Field:
    return pb.Field(number=x)


def text(x: str) -> pb.Field:
    return pb.Field(text=x)


def ref(x: int) -> pb.Field:
    return pb.Field(node=x)


def real(x: float) -> pb.Field:
    return pb.Field(literal=pb.Literal(real=x))


def whole(x: int) -> pb.Field:
    return pb.Field(literal=pb.Literal(whole=str(x)))


def listed(*items: pb.Field) -> pb.Field:
    return pb.Field(list=pb.Fields(items=items))


NONE = pb.Field(none=True)


class Plan:
    """A request under construction, node by node."""

    def __init__(self, first: int = 1) -> None:
        self.request = pb.ReleaseRequest(request=secrets.token_bytes(16))
        self.next = first
        self.source = self.add("source", pb.Field(dataset="people"))

    def add(self, kind: str, *fields: pb.Field) -> int:
        self.request.nodes.append(pb.Node(id=self.next, kind=kind, fields=fields))
        self.next += 1
        return self.next - 1

    def column(self, name: str) -> int:
        return self.add("column", ref(self.source), text(name))

    def count(self, rows: int | None = None, *keys: int) -> int:
        return self.add("tally", ref(rows or self.source), listed(*map(ref, keys)), NONE)

    def ask(self, value: int, kind: str = "laplace", epsilon: str = "1", **more: Any) -> Plan:
        self.request.asks.add(value=value, mechanism=pb.Mechanism(kind=kind, epsilon=epsilon, **more))
        return self


class Analyst:
    """A session that sends whatever it likes."""

    def __init__(self, running: Any, token: str) -> None:
        self.running = running
        self.metadata = (("authorization", f"Bearer {token}"),)
        options = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
        self.channel = grpc.insecure_channel(address(running), options)
        self.session = pb.OpenReply.FromString(self.call("Open", pb.OpenRequest(version=1))).session

    def call(self, method: str, message: Any, timeout: float = 60) -> bytes:
        call = self.channel.unary_unary(f"/privjail.v1.Jail/{method}")
        answer: bytes = call(message.SerializeToString(), metadata=self.metadata, timeout=timeout)
        return answer

    def send(self, plan: Plan | pb.ReleaseRequest) -> Any:
        request = plan.request if isinstance(plan, Plan) else plan
        request.session = self.session
        try:
            return pb.ReleaseReply.FromString(self.call("Release", request)).answers
        except grpc.RpcError as e:
            return e.code().name, e.details()

    def spent(self) -> Any:
        return self.running.service.ledger.state.total(("user", "ann", "people"))

    def nodes(self) -> int:
        return len(self.running.service.sessions._open[self.session].nodes)


@pytest.fixture(scope="module")
def jail() -> Any:
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(quick_folder()) / "jail"
        files = make_jail(folder, {"people": Held(people(2_000))}, ("ann", "bob"))
        running = stack.enter_context(served(folder, limits=LIMITS))
        yield running, files


@pytest.fixture
def ann(jail: Any) -> Any:
    running, files = jail
    analyst = Analyst(running, files["ann"]["token"])
    yield analyst
    with contextlib.suppress(grpc.RpcError):
        analyst.call("Close", pb.CloseRequest(session=analyst.session))


def memory() -> float:
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


# -- bombs: each is a plan that would cost far more than it looks


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


def deep_maxima() -> Plan:
    """Maxima of maxima: distances are nested as deep, and shared, so that their tree has 2**400 leaves."""
    plan = Plan()
    a, b = plan.count(), plan.add("tally", ref(plan.source), listed(), ref(plan.column("member")))
    for _ in range(400):
        pair = plan.add("stack", listed(ref(a), ref(b)), listed(whole(0), whole(1)))
        a, b = plan.add("extreme", text("max"), ref(pair)), plan.add("extreme", text("min"), ref(pair))
    return plan.ask(plan.add("add", ref(a), ref(b)))


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
    return plan.ask(plan.add("beside", listed(ref(table), ref(table)), listed(text("a"), text("b"))))


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
    known = [plan.add("known", pb.Field(fraction=f"1/{7**700 + i}")) for i in range(3_000)]
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
    return plan.ask(plan.count(None, *[plan.column("age")] * 2), kind="noisy_max", k=10_000)


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


BOMBS = [
    many_nodes, deep_plan, deep_sum, deep_maxima, doublings, long_chain, many_keys, too_many_keys, large_table,
    large_tables_side_by_side, sums_of_many_cells, fine_grids, many_grids, long_lists, categories_by_categories, long_text,
    huge_number, huge_epsilon_text, many_asks, many_choices, nested_lists, deep_or,
]  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda f: f.__name__)
def test_a_bomb_is_refused_or_answered_in_time(ann: Analyst, bomb: Callable[[], Plan]) -> None:
    """V-34: within the time limit, in bounded memory; a refusal is clean and charges nothing."""
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


def test_a_message_that_is_too_large_is_refused(ann: Analyst) -> None:
    request = pb.ReleaseRequest(request=b"x" * (LIMITS.message_bytes + 1))

    code, _ = ann.send(request)

    assert code == "RESOURCE_EXHAUSTED"
    plan = Plan()
    assert len(ann.send(plan.ask(plan.count()))) == 1


def test_a_million_nodes_in_many_requests_are_refused(ann: Analyst) -> None:
    """V-34: nodes count while they are alive, also if their numbers were forgotten."""
    running = ann.running
    session = running.service.sessions._open[ann.session]
    session.limits = replace(LIMITS, nodes_per_session=5_000)
    plan = Plan()
    plan.ask(plan.count())
    assert len(ann.send(plan)) == 1
    plan = Plan()
    plan.request.nodes.add(id=9, kind="column", fields=[ref(1), text("member")])
    del plan.request.nodes[0]
    plan.request.asks.add(value=2, mechanism=pb.Mechanism(kind="laplace", epsilon="1"))
    assert len(ann.send(plan)) == 1
    top, number_, refused = 9, 10, None
    for _ in range(8):  # a chain of 1,000 more each time, of which only the last keeps its number
        request = pb.ReleaseRequest(request=secrets.token_bytes(16))
        for _ in range(1_000):
            request.nodes.add(id=number_, kind="not", fields=[ref(top)])
            top, number_ = number_, number_ + 1
        request.forget.extend(range(9, top))
        request.asks.add(value=2, mechanism=pb.Mechanism(kind="laplace", epsilon="1"))
        answer = ann.send(request)
        if isinstance(answer, tuple):
            refused = json.loads(answer[1])
            break

    assert ann.nodes() < 10
    assert refused is not None and refused[0] == "LimitError" and "nodes in the session" in refused[1]


def test_memory_of_ended_sessions_is_freed(jail: Any) -> None:
    running, files = jail

    def fill() -> None:
        analyst = Analyst(running, files["ann"]["token"])
        plan = Plan()
        income = plan.column("income")
        for i in range(20):
            plan.add("isin", ref(income), listed(*(real(i + j / 1001) for j in range(1_000))))
        assert len(analyst.send(plan.ask(plan.count()))) == 1
        analyst.call("Close", pb.CloseRequest(session=analyst.session))

    fill()
    before = memory()
    for _ in range(5):
        fill()

    assert memory() - before < 25  # each holds about 20 MB while it is open


def test_idle_sessions_end_and_free_their_memory() -> None:
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(quick_folder()) / "jail"
        files = make_jail(folder, {"people": Held(people())})
        running = stack.enter_context(served(folder, limits=replace(LIMITS, idle_seconds=0.4)))
        analyst = Analyst(running, files["ann"]["token"])
        plan = Plan()
        assert len(analyst.send(plan.ask(plan.count()))) == 1
        for _ in range(100):
            if not len(running.service.sessions):
                break
            time.sleep(0.1)

        assert len(running.service.sessions) == 0  # nobody called: the sweeper ended it
        plan = Plan()
        code, details = analyst.send(plan.ask(plan.count()))
        assert json.loads(details)[0] == "SessionError"


def test_sessions_of_one_user_are_limited(jail: Any) -> None:
    running, files = jail
    held = []
    with pytest.raises(grpc.RpcError) as refused:
        for _ in range(LIMITS.sessions_per_user + 1):
            held.append(Analyst(running, files["bob"]["token"]))

    assert json.loads(refused.value.details())[0] == "LimitError"
    assert Analyst(running, files["ann"]["token"]).nodes() == 0  # others still come in
    for analyst in held:
        analyst.call("Close", pb.CloseRequest(session=analyst.session))


def test_one_user_cannot_take_all_workers() -> None:
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(quick_folder()) / "jail"
        files = make_jail(folder, {"people": Held(people())}, ("ann", "bob"))
        running = stack.enter_context(served(folder, workers=8, limits=replace(LIMITS, seconds_per_release=4)))
        anns = [Analyst(running, files["ann"]["token"]) for _ in range(10)]
        bob = Analyst(running, files["bob"]["token"])
        threads = [threading.Thread(target=a.send, args=(deep_maxima(),)) for a in anns]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        plan = Plan()
        start = time.monotonic()
        answers = bob.send(plan.ask(plan.count()))
        took = time.monotonic() - start
        for thread in threads:
            thread.join()

        assert len(answers) == 1
        assert took < 4


# -- who may see what


def test_foreign_and_forged_handles_are_refused_alike(jail: Any, ann: Analyst) -> None:
    """V-34: a session of another user is no session, and a node number means something in its own session only."""
    running, files = jail
    bob = Analyst(running, files["bob"]["token"])
    plan = Plan()
    assert len(bob.send(plan.ask(plan.count()))) == 1
    mine = ann.session

    ann.session = bob.session
    foreign = ann.send(Plan())
    ann.session = secrets.token_bytes(16)
    forged = ann.send(Plan())
    ann.session = mine
    request = pb.ReleaseRequest(request=secrets.token_bytes(16))
    request.asks.add(value=2, mechanism=pb.Mechanism(kind="laplace", epsilon="1"))
    node_of_bob = ann.send(request)

    assert foreign == forged
    assert json.loads(foreign[1])[0] == "SessionError"
    assert json.loads(node_of_bob[1])[0] == "Malformed"


def test_forbidden_and_missing_data_sets_look_the_same(tmp_path: Path) -> None:
    """V-33: whether a data set exists is not told to who may not open it."""
    files = make_jail(tmp_path / "jail", {"people": Held(people())})
    folder = JailFolder(tmp_path / "jail")
    folder.add_dataset("secret", str(tmp_path / "jail" / "people.csv"), {}, [1], "pure", (None, 1))
    folder.ledger.close()
    with served(tmp_path / "jail") as running:
        ann = Analyst(running, files["ann"]["token"])
        shown = []
        for name in ("secret", "nosuch"):
            with pytest.raises(grpc.RpcError) as refused:
                ann.call("Describe", pb.DescribeRequest(session=ann.session, name=name))
            plan = Plan()
            plan.request.nodes[0].fields[0].dataset = name
            shown.append([refused.value.details().replace(name, "?"), str(ann.send(plan)).replace(name, "?")])

        assert shown[0] == shown[1]
        assert "there is no data set" in shown[0][0]


def test_the_same_request_twice_is_answered_the_same_and_charged_once(ann: Analyst) -> None:
    """V-34: replay, in the same session and with other numbers, gives what was given before."""
    plan = Plan()
    plan.ask(plan.count())
    first = ann.send(plan)
    spent = ann.spent()
    again = ann.send(plan)
    other = Plan(500)
    other.request.request = plan.request.request
    renumbered = ann.send(other.ask(other.count()))
    changed = Plan(900)
    changed.request.request = plan.request.request
    refused = ann.send(changed.ask(changed.count(), epsilon="2"))

    assert first == again == renumbered
    assert ann.spent() == spent
    assert json.loads(refused[1])[0] == "PlanError"


def test_fractions_without_end_do_not_fill_the_ledger(jail: Any) -> None:
    """Ever new denominators would make the ledger's sums longer and longer; they are rounded up after a while."""
    running, files = jail
    bob = Analyst(running, files["bob"]["token"])
    asked = 0
    for i in range(60):
        plan = Plan(1 + i * 10)
        denominator = 2**100 + 2 * i + 1
        answers = bob.send(plan.ask(plan.count(), epsilon=f"{denominator // 7}/{denominator}"))
        assert len(answers) == 1, answers
        asked += 1
    total = running.service.ledger.state.total(("user", "bob", "people"))[0]

    assert total.denominator.bit_length() < 2_000
    assert asked / 7 <= total + 1 and total < asked / 7 + 2
    assert bob.call("Budget", pb.BudgetRequest(session=bob.session))


def test_failures_after_a_charge_cannot_be_asked_for_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """V-24: if the engine fails on some data after all, that is one bit, and a user gets three of them."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(quick_folder()) / "jail"
        files = make_jail(folder, {"people": Held(people())})
        running = stack.enter_context(served(folder, limits=LIMITS))
        ann = Analyst(running, files["ann"]["token"])
        from privjail.engines.polars import PolarsEngine

        def fails(self: Any, value: Any) -> Any:
            raise ValueError("42 is a private value")

        monkeypatch.setattr(PolarsEngine, "evaluate", fails)
        shown = []
        for i in range(5):
            plan = Plan(1 + 10 * i)
            shown.append(ann.send(plan.ask(plan.count())))

        assert [code for code, _ in shown] == ["INTERNAL"] * 3 + ["FAILED_PRECONDITION"] * 2
        assert "42" not in str(shown)
        assert ann.spent() == (3,)  # V-25: no refund after data was touched


# -- the clock


def test_work_is_ended_when_its_time_is_up() -> None:
    def forever() -> None:
        while True:
            pass

    start = time.monotonic()
    with pytest.raises(TimeUp):
        Deadline(0.2).run(forever)

    assert time.monotonic() - start < 5


def test_a_shielded_part_is_not_cut_short() -> None:
    deadline = Deadline(0.1)
    done = []

    def work() -> None:
        with deadline.shield():
            time.sleep(0.3)
            for i in range(1000):
                done.append(i)
        done.append(-1)

    with pytest.raises(TimeUp):
        deadline.run(work)

    assert done == list(range(1000))


def test_a_clock_that_was_too_late_does_not_hit_the_next_work() -> None:
    for _ in range(200):
        try:
            Deadline(0.001).run(lambda: time.sleep(0.0008))
        except TimeUp:
            pass
        for _ in range(300):
            pass


def test_a_clock_that_fires_while_work_leaves_is_not_left_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is up while the work waits for the clock's lock: an exception there would keep it for ever."""
    from privjail.jail import deadline as module

    watch, ready, go = module.Clock(), threading.Event(), threading.Event()
    monkeypatch.setattr(module, "clock", lambda: watch)
    deadline = Deadline(60)

    def work() -> None:
        ready.set()
        go.wait()

    def run() -> None:
        with contextlib.suppress(TimeUp):
            deadline.run(work)

    thread = threading.Thread(target=run)
    thread.start()
    ready.wait()
    with watch._changed:
        go.set()
        time.sleep(0.05)
    deadline.fire()
    thread.join()
    assert watch._changed.acquire(timeout=5)
    watch._changed.release()


# -- streams


def test_an_answer_that_nobody_takes_does_not_hold_a_stream_for_ever() -> None:
    ended: list[str] = []

    class Context:
        def cancel(self) -> None:
            ended.append("cancelled")

    streams = Streams(Limits(idle_seconds=10, seconds_per_release=20))
    with streams.place("ann", Context()) as place:
        place.busy = True
        place.used -= 29
        streams.sweep()
        streams.sweep(idle_seconds=0.0)
        assert not ended  # at work, for all that is known
        place.used -= 2
        streams.sweep()
        assert ended
