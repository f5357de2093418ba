"""Requests that ask for too much are refused cleanly, cost nothing, and leave the jail as it was (V-34)."""

from __future__ import annotations

import contextlib
import gc
import json
import secrets
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from .raw import LIMITS, Analyst, Plan, deep_maxima, laplace, listed, memory, real, ref, text
from .wire_fixtures import Held, address, connected, make_jail, people, quick_folder, served

from privjail.curator.folder import JailFolder
from privjail.server.wire import privjail_pb2 as pb
from privjail.server.limits import Limits
from privjail.server.streams import Streams


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
    plan.request.asks.add(value=2, mechanism=laplace())
    assert len(ann.send(plan)) == 1
    top, number_, refused = 9, 10, None
    for _ in range(8):  # a chain of 1,000 more each time, of which only the last keeps its number
        request = pb.ReleaseRequest(request=secrets.token_bytes(16))
        for _ in range(1_000):
            request.nodes.add(id=number_, kind="not", fields=[ref(top)])
            top, number_ = number_, number_ + 1
        request.forget.extend(range(9, top))
        request.asks.add(value=2, mechanism=laplace())
        answer = ann.send(request)
        if isinstance(answer, tuple):
            refused = json.loads(answer[1])
            break

    assert ann.nodes() < 10
    assert refused is not None and refused[0] == "LimitError" and "nodes in the session" in refused[1]


def test_memory_of_ended_sessions_is_freed(raw_jail: Any) -> None:
    running, files = raw_jail

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


def test_sessions_of_one_user_are_limited(raw_jail: Any) -> None:
    running, files = raw_jail
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


def test_foreign_and_forged_handles_are_refused_alike(raw_jail: Any, ann: Analyst) -> None:
    """V-34: a session of another user is no session, and a node number means something in its own session only."""
    running, files = raw_jail
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
    request.asks.add(value=2, mechanism=laplace())
    node_of_bob = ann.send(request)

    assert foreign == forged
    assert json.loads(foreign[1])[0] == "SessionError"
    assert json.loads(node_of_bob[1])[0] == "Malformed"


def test_forbidden_and_missing_data_sets_look_the_same(tmp_path: Path) -> None:
    """V-33: whether a data set exists is not told to who may not open it."""
    files = make_jail(tmp_path / "jail", {"people": Held(people())})
    folder = JailFolder(tmp_path / "jail")
    folder.add_dataset(
        "secret", str(tmp_path / "jail" / "people.csv"), {}, [1], "pure", (None, 1), overlap_reason="a test"
    )
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


def test_fractions_without_end_do_not_fill_the_ledger(raw_jail: Any) -> None:
    """Ever new denominators would make the ledger's sums longer and longer; they are rounded up after a while."""
    running, files = raw_jail
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
        from privjail.engines.polars.engine import PolarsEngine

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


def test_a_clock_that_a_library_turned_into_another_error_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    from privjail.engines.polars.engine import PolarsEngine

    def converts(self: Any, value: Any) -> Any:
        try:
            while True:
                time.sleep(0.001)
        except BaseException:
            raise TypeError("not a sequence") from None

    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(quick_folder()) / "jail"
        files = make_jail(folder, {"people": Held(people())})
        running = stack.enter_context(served(folder, limits=replace(LIMITS, seconds_per_release=0.3)))
        ann = Analyst(running, files["ann"]["token"])
        monkeypatch.setattr(PolarsEngine, "evaluate", converts)
        plan = Plan()
        code, details = ann.send(plan.ask(plan.count()))

        assert code == "FAILED_PRECONDITION" and "took longer" in details
        assert not running.service.ledger.state.failures


# -- the clock


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
