"""V-34: messages that no client of ours sends. No crash, no hang, no leak, no charge, and the next request is answered."""

from __future__ import annotations

import contextlib
import gc
import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import grpc
import pytest
from .mutants import Mutator
from .programs import Program
from .wire_fixtures import Held, address, connected, make_jail, people, quick_folder, served

from privjail import errors, session
from privjail.server.wire import privjail_pb2 as pb
from privjail.server.wire.decode import KINDS
from privjail.server.limits import Limits

CANARY = "canary-7f3a91"
CLEAN = {n for n in dir(errors)} | {"LimitError", "Malformed", "SessionError", "Busy"}


class Target:
    """A served jail, a raw channel to it, and valid requests to start from."""

    def __init__(self, running: Any, files: dict[str, Any]) -> None:
        self.running, self.service = running, running.service
        self.channel = grpc.insecure_channel(address(running))
        self.token = files["ann"]["token"]
        self.corpus = self._corpus(files)
        bob = connected(running, files["bob"])
        self.foreign = bob._session
        self.bob = bob
        self.session = self.open()
        self.seen: Counter[str] = Counter()

    def _corpus(self, files: dict[str, Any]) -> list[pb.ReleaseRequest]:
        record: list[Any] = []
        for seed in range(60):
            session._connection = connected(self.running, files["ann"], record)
            Program(seed, "people").run()
            session.disconnect()
        requests = [pb.ReleaseRequest.FromString(body) for method, body, _ in record if method.endswith("Release")]
        # The first request of each session stands on its own.
        return [r for r in requests if any(n.kind == "source" for n in r.nodes)]

    def call(self, method: str, body: bytes, token: str | None = None) -> bytes | tuple[str, str]:
        try:
            call = self.channel.unary_unary(f"/privjail.v1.Jail/{method}")
            answer: bytes = call(body, metadata=(("authorization", f"Bearer {token or self.token}"),), timeout=60)
            return answer
        except grpc.RpcError as e:
            return e.code().name, e.details()

    def open(self) -> bytes:
        answer = self.call("Open", pb.OpenRequest(version=1).SerializeToString())
        assert isinstance(answer, bytes), answer
        return bytes(pb.OpenReply.FromString(answer).session)

    def spent(self) -> Any:
        return self.service.ledger.state.total(("user", "ann", "people"))

    def nodes(self) -> Any:
        held = self.service.sessions._open.get(self.session)
        return None if held is None else dict(held.nodes)

    def shoot(self, method: str, body: bytes) -> None:
        before, nodes = self.spent(), self.nodes()
        answer = self.call(method, body)
        if isinstance(answer, tuple):
            code, details = answer
            assert code in ("FAILED_PRECONDITION", "RESOURCE_EXHAUSTED"), (code, details, method, body[:3000])
            name, what, plan, do = json.loads(details)
            assert name in CLEAN, details
            assert what and CANARY not in details
            assert len(details) < 8_000
            # Only what was cut off by the clock may be charged: the data was touched (V-25), and the message says so.
            assert self.spent() == before or "took longer" in what, f"a refusal was charged: {details}"
            if nodes is not None and self.nodes() is not None:
                assert self.nodes() == nodes, "a refused request left nodes behind"
            self.seen[name] += 1
        else:
            self.seen["answered"] += 1
        if self.nodes() is None or len(self.nodes()) > 5_000:
            if self.nodes() is not None:
                self.call("Close", pb.CloseRequest(session=self.session).SerializeToString())
            self.session = self.open()

    def is_well(self) -> None:
        """A valid request is answered."""
        request = pb.ReleaseRequest()
        request.CopyFrom(next(r for r in self.corpus if r.asks))
        number = self.open()
        request.session, request.request = number, random.randbytes(16)
        answer = self.call("Release", request.SerializeToString())
        assert isinstance(answer, bytes), answer
        self.call("Close", pb.CloseRequest(session=number).SerializeToString())


@pytest.fixture(scope="module")
def target() -> Any:
    frame = people()
    frame.loc[3, "note"] = CANARY
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(quick_folder()) / "jail"
        # Bob may see another data set, which Ann may not.
        files = make_jail(folder, {"people": Held(frame)}, ("ann",))
        from privjail.curator.folder import JailFolder

        jail = JailFolder(folder)
        files["bob"] = jail.add_user("bob", 90)
        jail.add_dataset("secret", str(folder / "people.csv"), {}, [1], "pure", (None, 1), overlap_reason="a test")
        jail.grant("bob", "secret", [1], False, None)
        jail.ledger.close()
        running = stack.enter_context(
            served(folder, limits=Limits(seconds_per_release=10.0, sessions_per_user=50, failures_per_user=1))
        )
        yield Target(running, files)


def memory() -> float:
    """Megabytes that this process holds now."""
    gc.collect()
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def fuzz(target: Target, seed: int, rounds: int) -> None:
    mutator = Mutator(seed, target.corpus, target.foreign)
    for i in range(rounds):
        target.shoot(*mutator.mutated(target.session))
        if i % 500 == 499:
            target.is_well()
    target.is_well()
    assert target.service.ledger.state.failures == Counter(), "something failed after it was charged"


def test_mutated_messages(target: Target) -> None:
    """V-34."""
    fuzz(target, 1, 500)
    before = memory()

    fuzz(target, 2, 2_500)

    print(dict(target.seen), f"{memory() - before:.0f} MB more")
    assert memory() - before < 150
    # The corpus tests something: all kinds of refusals occur, and some mutants are programs.
    assert {"Malformed", "PlanError", "RowsError", "BudgetError", "SessionError", "answered"} <= set(target.seen)


@pytest.mark.slow
def test_a_hundred_thousand_mutated_messages(target: Target) -> None:
    """V-34, at length."""
    fuzz(target, 3, 10_000)
    before = memory()

    fuzz(target, 4, 90_000)

    assert memory() - before < 300
