"""The same program against a jail: same answers, same budget, also when the line breaks."""

from __future__ import annotations

import contextlib
import datetime
import os
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import grpc
import pytest
from .wire_fixtures import Answers, Fixed, Held, Recording, address, connected, make_jail, people, quick_folder, served

import privjail as pj
from privjail import client, session
from privjail import pandas as pd
from privjail.errors import BudgetExceeded, DPError, PlanError
from privjail.server.wire import privjail_pb2 as pb
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.release import Query

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
import census  # noqa: E402
import diffpid3  # noqa: E402
import session as example  # noqa: E402

ROWS = 4_000


@pytest.fixture(autouse=True)
def alone() -> Any:
    yield
    pj.disconnect()


@pytest.fixture
def jail(tmp_path: Path) -> Any:
    files = make_jail(tmp_path / "jail", {"people": Held(people()), "more": Held(people(30))})
    with served(tmp_path / "jail", Fixed()) as running:
        yield running, files["ann"]


@contextlib.contextmanager
def census_jail(noise: Fixed) -> Any:
    with quick_folder() as folder:
        frame = census.generate(ROWS)
        held = {"filename.csv": Held(frame, {}), "train.csv": Held(frame, census.SCHEMA)}
        files = make_jail(folder / "jail", held)
        with served(folder / "jail", noise, insecure_loopback=False) as running:
            yield {**files["ann"], "address": f"localhost:{running.port}"}


def connect(file: dict[str, Any]) -> None:
    pj.connect(file["address"], token=file["token"], certificate=file["certificate"])


def paper_session() -> list[str]:
    """Section 3.2, typed line by line."""
    import doctest
    import io

    typist = example.Typist({})
    shown = []
    for step in doctest.DocTestParser().get_examples(example.SESSION):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            typist.runsource(step.source)
        shown.append(out.getvalue())
    return shown


def figure_2() -> tuple[Any, float]:
    schema = census.SCHEMA
    df = diffpid3.discretise(pd.read_csv("train.csv").dropna(), schema)
    tree = diffpid3.DiffPID3(df, set(schema) - {diffpid3.TARGET}, diffpid3.TARGET, 3, 4.0)
    return spelled(tree), pj.consumed_privacy_budget()["train.csv"]


def spelled(node: Any) -> Any:
    if isinstance(node, diffpid3.LeafNode):
        return node.label
    return {node.attr: {str(k): spelled(child) for k, child in node.children.items()}}


def in_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noise: Fixed, schema: Any) -> None:
    """Files of the same names, a jail of this process with the same noise."""
    monkeypatch.chdir(tmp_path)
    for name in ("filename.csv", "train.csv"):
        census.generate(ROWS).to_csv(name, index=False)
    session.jail.cache_clear()
    monkeypatch.setattr(session.jail(), "noise", noise)


def test_the_papers_session_costs_and_shows_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_this_process(tmp_path, monkeypatch, Fixed(), None)
    here = paper_session()
    with census_jail(Fixed()) as file:
        connect(file)
        there = paper_session()

    assert here == there
    assert "{'filename.csv': 0.2}" in there[7]


def test_figure_2_grows_the_same_tree_for_the_same_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_this_process(tmp_path, monkeypatch, Fixed(), None)
    with monkeypatch.context() as patch:
        patch.setattr(pd, "read_csv", lambda name: READ(name, schema=census.SCHEMA))
        here = figure_2()
    with census_jail(Fixed()) as file:
        connect(file)
        there = figure_2()

    assert here == there
    assert here[1] == 4.0


READ = pd.read_csv


def test_schemas_and_budgets_never_come_from_a_client(jail: Any) -> None:
    """V-33."""
    session._connection = connected(*jail)
    for given in ({"schema": {}}, {"budget": 1e9}, {"unit": "age"}):
        with pytest.raises(PlanError, match="set by the curator"):
            pd.read_csv("people", **given)
    for path in ("./people", "people.csv", "../people", "/etc/passwd", "people/../people", "PEOPLE", "people\0", ""):
        with pytest.raises(PlanError, match="there is no data set"):
            pd.read_csv(path)


class Breaking:
    """A channel on which some answers get lost after the jail has sent them."""

    def __init__(self, channel: Any, lost: list[bool]) -> None:
        self._channel, self._lost = channel, lost

    def unary_unary(self, method: str, request_serializer: Any, response_deserializer: Any) -> Any:
        return self._channel.unary_unary(method, request_serializer, response_deserializer)

    def stream_stream(self, method: str, request_serializer: Any, response_deserializer: Any) -> Any:
        raw = self._channel.stream_stream(method, request_serializer, response_deserializer)
        return lambda messages, **kwargs: Answers(raw(messages, **kwargs), self._look)

    def _look(self, answer: Any) -> Any:
        if self._lost and self._lost.pop():
            raise Lost
        return answer

    def close(self) -> None:
        self._channel.close()


class Lost(grpc.RpcError):
    def code(self) -> Any:
        return grpc.StatusCode.UNAVAILABLE

    def details(self) -> str:
        return "Socket closed"


def test_an_answer_that_was_lost_is_given_again_and_charged_once(jail: Any) -> None:
    running, file = jail
    channel = Breaking(grpc.insecure_channel(address(running)), [False, True, True, True, False])
    session._connection = client.Connection(channel, file["token"])
    df = pd.read_csv("people")

    found = [df[df["age"] > i].shape[0].reveal(eps=1) for i in range(3)]

    assert len(set(found)) > 1
    assert pj.consumed_privacy_budget() == {"people": 3.0}


def test_an_interrupted_release_leaves_no_answer_for_the_next(jail: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if what follows an interrupt is interrupted, as by a second Ctrl-C."""
    session._connection = connected(*jail)
    df = pd.read_csv("people")
    df.shape[0].reveal(eps=1)

    class Impatient(Exception):
        pass

    def ask(stream: Any, request: Any) -> Any:
        stream._requests.put(request)
        raise Impatient

    def end(stream: Any) -> None:
        raise Impatient

    with monkeypatch.context() as patch:
        patch.setattr(client.Stream, "ask", ask)
        patch.setattr(client.Stream, "end", end)
        with pytest.raises(Impatient):
            df.groupby("city").size().reveal(eps=1)

    assert session._connection._stream is None
    assert isinstance(df.shape[0].reveal(eps=1), float)


def revoked(user: Any) -> dict[str, Any]:
    return {"type": "revoke", "scope": "user", "who": user.name, "dataset": None}


def replaced(user: Any) -> dict[str, Any]:
    return {"type": "user", "name": user.name, "token": "0" * 64, "expires": None}


def expiring(user: Any) -> dict[str, Any]:
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=0.4)
    return {"type": "user", "name": user.name, "token": user.token, "expires": soon.isoformat()}


@pytest.mark.parametrize("end", [revoked, replaced, expiring])
def test_a_stream_ends_with_the_token_that_it_was_opened_with(jail: Any, end: Any) -> None:
    running, file = jail
    connection = session._connection = connected(running, file)
    df = pd.read_csv("people")
    df.shape[0].reveal(eps=1)
    assert len(running.handler.streams) == 1
    ledger = running.service.ledger
    ledger.record(end(ledger.state.users[connection.user]))
    if end is expiring:
        df.shape[0].reveal(eps=1)
        time.sleep(0.5)
    with pytest.raises(DPError, match="authentication failed"):
        df.shape[0].reveal(eps=1)
    for _ in range(100):
        if not len(running.handler.streams):
            break
        time.sleep(0.05)
    assert not len(running.handler.streams)
    with pytest.raises(DPError, match="authentication failed"):
        df.shape[0].reveal(eps=1)


def test_a_session_that_the_jail_forgot_is_opened_again(jail: Any) -> None:
    running, file = jail
    session._connection = connected(running, file)
    df = pd.read_csv("people")
    df.shape[0].reveal(eps=1)
    for lose in (lambda: running.service.sessions._open.clear(),) * 3:
        lose()
        df[df["age"] > 3].shape[0].reveal(eps=1)
        lose()
        assert "people" in pj.consumed_privacy_budget()
        lose()
        pd.read_csv("more")

    assert pj.consumed_privacy_budget()["people"] == 4.0


LOOP = """
import contextlib, gc, sys
import privjail as pj
from privjail import pandas as pd
pj.connect(sys.argv[1], token=sys.argv[2], insecure_loopback=True)
df = pd.read_csv("people")
for i in range(60):
    df[df["age"] > i].shape[0].reveal(eps=1)
    with contextlib.suppress(pj.DPError):
        df[df["income"] > i].shape[0].reveal(eps=10**6)
gc.collect()
df.shape[0].reveal(eps=1)
print("done", flush=True)
sys.stdin.readline()
"""


def test_nodes_that_the_program_forgot_are_forgotten_by_the_jail(jail: Any) -> None:
    """In another process: within one, client and jail would share nodes and keep each other's alive."""
    running, file = jail
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", LOOP, address(running), file["token"]]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as analyst:
        assert analyst.stdout.readline() == b"done\n"
        [held] = running.service.sessions._open.values()
        left = len(held.nodes)
        analyst.communicate(b"\n", timeout=60)

    assert left < 60  # of 420 that were sent


def test_only_new_nodes_are_sent(jail: Any) -> None:
    running, file = jail
    record: list[Any] = []
    session._connection = connected(running, file, record)
    df = pd.read_csv("people")
    adults = df[df["age"] > 17]
    adults.shape[0].reveal(eps=1)
    adults["income"].sum().reveal(eps=1)
    sent = [pb.ReleaseRequest.FromString(b) for m, b, _ in record if m.endswith("Release")]

    assert [n.kind for n in sent[1].nodes] == ["column", "tally"]


def test_a_request_that_cannot_be_written_leaves_nothing_behind(jail: Any) -> None:
    session._connection = connected(*jail)
    ages = pd.read_csv("people")["age"].value_counts(sort=False)
    with pytest.raises(PlanError, match="more than a jail takes"):
        session._connection.release([Query(ages._value, NoisyMax(Fraction(1), False, 2**63))])
    assert not session._connection._numbers

    assert len(ages.reveal(eps=1)) == len(ages.index)


def test_a_block_with_a_budget_of_its_own(jail: Any) -> None:
    session._connection = connected(*jail)
    df = pd.read_csv("people")
    df.shape[0].reveal(eps=3)
    with pj.budget(0.5):
        with pj.budget(10):
            df.shape[0].reveal(eps=0.25)
            with pytest.raises(BudgetExceeded, match="of this block"):
                df.shape[0].reveal(eps=0.5)  # the outer block allows 0.25 more
        df.shape[0].reveal(eps=0.25)
        with pytest.raises(BudgetExceeded):
            df.shape[0].reveal(eps=Fraction(1, 10**8))
    df.shape[0].reveal(eps=0.5)

    assert pj.consumed_privacy_budget() == {"people": 4.0}


def test_errors_come_as_if_they_were_raised_here(jail: Any) -> None:
    """Quiet: nothing of gRPC's own error hangs on them (V-29)."""
    session._connection = connected(*jail)
    df = pd.read_csv("people")
    with pytest.raises(BudgetExceeded) as refused:
        for _ in range(2):
            df.shape[0].reveal(eps=10**6)

    assert refused.value.do is not None
    assert refused.value.__cause__ is None and refused.value.__context__ is None


def test_labels_of_every_kind_travel(jail: Any) -> None:
    session._connection = connected(*jail)
    df = pd.read_csv("people")
    bins = pd.cut(df["age"], [0, 20, 64, 121], include_lowest=True)

    assert len(bins.value_counts(sort=False).iloc[[0, 2]].reveal(eps=1)) == 2
    assert len((bins.value_counts(sort=False) + bins.value_counts(sort=False).iloc[[0, 1, 2]]).reveal(eps=1)) == 3
    assert len(df.groupby(["city", "member"]).size().iloc[1:4].reveal(eps=1)) == 3
    assert len(df.groupby(["city", bins.rename("bin")]).size().iloc[1:4].reveal(eps=1)) == 3
    assert len(df["member"].value_counts(sort=False).iloc[:1].reveal(eps=1)) == 1
    assert len(df[["age", "city"]].count().reveal(eps=1)) == 2
    assert pd.crosstab(df["grade"], df["member"]).sum(axis=1).reveal(eps=1).shape == (3,)


def test_after_the_end_there_is_no_jail(jail: Any) -> None:
    running, file = jail
    record: list[Any] = []
    connection = client.Connection(Recording(grpc.insecure_channel(address(running)), record), file["token"])
    session._connection = connection
    assert "ann" in repr(connection) and file["token"] not in repr(connection)
    pj.disconnect()

    assert record[-1][0].endswith("Close")
    assert len(running.service.sessions) == 0
    with pytest.raises(DPError, match="no file"):
        pd.read_csv("people")
