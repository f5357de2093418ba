"""What a jail keeps for a request, and how often it runs one: limits that are not the budget (V-55)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from typer.testing import CliRunner

from privjail.curator.cli.root import app
from privjail.curator.folder import JailFolder
from privjail.engines.polars.engine import PolarsEngine
from privjail.server.ledger import ledger as ledgers
from privjail.server.wire import privjail_pb2 as pb
from privjail.server.limits import Limits

from . import jails
from .jails import Served, Zygote, wait_gone
from .raw import LIMITS, Analyst, Plan, listed, ref, text
from .wire_fixtures import Held, make_jail, people, quick_folder, served


def of_nobody(first: int = 1) -> Plan:
    """A count by age, of the rows whose age is one of no ages: it depends on no data, so it costs nothing."""
    plan = Plan(first)
    age = plan.column("age")
    nobody = plan.add("filter", ref(plan.source), ref(plan.add("isin", ref(age), listed())))
    return plan.ask(plan.count(nobody, age))


@contextlib.contextmanager
def analyst(folder: Path, files: Any, limits: Limits = LIMITS) -> Iterator[Analyst]:
    with served(folder, limits=limits) as running:
        yield Analyst(running, files["ann"]["token"])


@pytest.fixture
def made() -> Iterator[tuple[Path, Any]]:
    """A jail's folder with a budget of 2, and the files of its users."""
    with quick_folder() as folder:
        yield folder / "jail", make_jail(folder / "jail", {"people": Held(people(), budget=(2,))})


def test_what_costs_nothing_is_answered_and_not_kept_v55(made: tuple[Path, Any]) -> None:
    with analyst(*made) as ann:
        plan = Plan()
        assert len(ann.send(plan.ask(plan.count(), epsilon="2"))) == 1
        plan = Plan(10)
        assert "over the limit" in ann.send(plan.ask(plan.count()))[1]  # the budget is used up
        state = ann.running.service.ledger.state
        entries, known = len(ann.running.service.ledger.rows()), len(state.requests)
        for i in range(20):
            (answer,) = ann.send(of_nobody(100 * (1 + i)))
            assert len(answer.numbers.items) == 121

        assert len(ann.running.service.ledger.rows()) == entries
        assert len(state.requests) == known and ann.spent() == (2,)


def test_what_costs_nothing_may_be_asked_for_again(made: tuple[Path, Any]) -> None:
    """The exact value is the same for all data, so any number of draws is free; here there is no noise at all."""
    with analyst(*made) as ann:
        plan = of_nobody()

        assert ann.send(plan) == ann.send(plan)
        assert ann.spent() == (0,)


def test_what_is_kept_for_a_user_has_a_limit_that_is_not_the_budget_v55(made: tuple[Path, Any]) -> None:
    limits = replace(LIMITS, kept_bytes_per_user=20_000)
    with analyst(*made, limits=limits) as ann:
        asked = []
        for i in range(20):
            plan = Plan(1 + 10 * i)
            plan.ask(plan.count(None, plan.column("age")), epsilon="1/1000000")
            asked.append((plan, ann.send(plan)))
        kept = [answer for _, answer in asked if not isinstance(answer, tuple)]
        code, details = asked[-1][1]

        assert 2 < len(kept) < 7 and [a for _, a in asked[: len(kept)]] == kept
        assert code == "FAILED_PRECONDITION" and "bytes kept for you" in details and "nothing was charged" in details
        assert ann.spent() == (Fraction(len(kept), 10**6),)
        assert ann.send(asked[0][0]) == kept[0]  # what was kept stays the answer
        assert ann.running.service.ledger.state.kept["ann"] <= 20_000
        assert not isinstance(ann.send(of_nobody(1000)), tuple)
        before = ann.running.service.ledger.state.kept["ann"]
    assert JailFolder(made[0]).state.kept["ann"] == before  # counted from what the ledger says


def test_more_is_counted_than_the_entries_and_the_answer_take(made: tuple[Path, Any]) -> None:
    with analyst(*made) as ann:
        plan = Plan()
        named = plan.add(
            "compare", text("=="), ref(plan.column("note")), pb.Field(literal=pb.Literal(text="ü\x00" * 300))
        )
        plan.ask(plan.count(plan.add("filter", ref(plan.source), ref(named)), plan.column("age")))
        answer = ann.send(plan)
        assert not isinstance(answer, tuple), answer
        entries = [body for _, _, body in ann.running.service.ledger.rows() if '"request"' in body]
        state = ann.running.service.ledger.state
        (answered,) = [entry.answered for entry in state.requests.values()]
        answer = ann.running.service.ledger._store.kept(answered.seq)

        assert len(entries) == 2
        assert (
            sum(map(len, entries)) + len(answer) < state.kept["ann"] < 5_000 + sum(map(len, entries)) + 2 * len(answer)
        )


# -- requests that fail, or take too long


def fails(self: Any, value: Any) -> Any:
    raise ValueError("42 is a private value")


def test_failures_are_counted_across_a_restart_until_the_curator_pardons(
    made: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """V-24: three bits for a user, not three for each start of the jail."""
    codes = []
    with monkeypatch.context() as broken:
        broken.setattr(PolarsEngine, "evaluate", fails)
        for _ in range(2):
            with analyst(*made) as ann:
                for i in range(2):
                    plan = Plan(1 + 10 * i)
                    codes.append(ann.send(plan.ask(plan.count(), epsilon="1/10"))[0])
    assert codes == ["INTERNAL"] * 3 + ["FAILED_PRECONDITION"]
    with analyst(*made) as ann:
        assert "privjail user pardon" in ann.send(of_nobody())[1]
    refused = CliRunner().invoke(app, ["user", "pardon", "ann", "--jail", str(made[0])])
    assert refused.exit_code == 1 and "needs a reason" in refused.output + refused.stderr
    pardon = ["user", "pardon", "ann", "--reason", "a disk was lost", "--jail", str(made[0])]
    assert CliRunner().invoke(app, pardon).exit_code == 0
    with analyst(*made) as ann:
        plan = Plan()
        assert len(ann.send(plan.ask(plan.count(), epsilon="1/10"))) == 1


@pytest.mark.parametrize("make", [of_nobody, lambda: (p := Plan()).ask(p.count())], ids=["free", "charged"])
def test_one_request_fails_no_more_often_than_several(
    made: tuple[Path, Any], make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one request, for one charge or for none, would give as many bits as it is sent."""
    monkeypatch.setattr(PolarsEngine, "evaluate", fails)
    plan = make()
    with analyst(*made) as ann:
        codes = [ann.send(plan)[0] for _ in range(5)]

        assert codes == ["INTERNAL"] * 3 + ["FAILED_PRECONDITION"] * 2
        assert ann.running.service.ledger.state.failures["ann"] == 3


def test_a_charged_request_that_took_too_long_is_not_run_again(
    made: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """V-55: else one charge would pay for the time of any number of releases."""
    runs = []

    def slow(self: Any, value: Any) -> Any:
        runs.append(value)
        while True:
            time.sleep(0.001)

    monkeypatch.setattr(PolarsEngine, "evaluate", slow)
    plan = Plan()
    plan.ask(plan.count())
    shown = []
    for _ in range(2):
        with analyst(*made, limits=replace(LIMITS, seconds_per_release=0.3)) as ann:
            shown += [ann.send(plan), ann.send(plan)]
            assert ann.spent() == (1,)
            assert not ann.running.service.ledger.state.failures

    assert len(runs) == 1
    assert all(code == "FAILED_PRECONDITION" and "took longer" in details for code, details in shown)
    assert all("is not run again" in json.loads(details)[1] for _, details in shown[1:])


def test_a_request_is_run_again_after_a_crash_but_not_for_ever(tmp_path: Path, zygote: Zygote) -> None:
    """An honest client's request is answered after a crash; one that ends the jail each time is given up."""
    folder = jails.make_jail(tmp_path)
    process, honest, deadly = Served(tmp_path), Plan(), Plan()
    for plan in (honest, deadly):
        plan.ask(plan.count())
        plan.request.nodes[0].fields[0].dataset = "census"
    token = json.loads((tmp_path / "ann.privjail").read_text())["token"]

    def send(plan: Plan, crash: bool) -> Any:
        pid = zygote.spawn(process.args, {"point": "evaluated", "drawn": str(tmp_path / "drawn")} if crash else None)
        port = process.args[process.args.index("--port") + 1]
        channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        grpc.channel_ready_future(channel).result(60)
        answer = Analyst(SimpleNamespace(port=port), token).send(plan)
        if not crash:
            os.kill(pid, signal.SIGKILL)
        wait_gone(pid)
        return answer

    assert send(honest, crash=True)[0] == "UNAVAILABLE"
    assert send(honest, crash=False)[0].number
    for _ in range(1 + ledgers.REPEATS):
        assert send(deadly, crash=True)[0] == "UNAVAILABLE"
    code, details = send(deadly, crash=False)
    assert code == "FAILED_PRECONDITION" and "begun 5 times" in details and "it stays charged" in details
    assert folder.state.total(("dataset", "", "census")) == (2,)
