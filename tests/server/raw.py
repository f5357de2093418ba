"""Requests as no client of ours would send them: built node by node, sent over a channel of their own."""

from __future__ import annotations

import contextlib
import gc
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
from .wire_fixtures import Held, address, make_jail, people, quick_folder, served

from privjail.server.wire import privjail_pb2 as pb
from privjail.server.limits import Limits

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


def reals(*items: float) -> pb.Field:
    return pb.Field(reals=pb.Reals(items=items))


def wholes(*items: int) -> pb.Field:
    return pb.Field(wholes=pb.Wholes(items=items))


def listed(*items: pb.Field) -> pb.Field:
    return pb.Field(list=pb.Fields(items=items))


def fraction(x: str) -> pb.Field:
    return pb.Field(fraction=x)


def laplace(epsilon: str = "1") -> pb.Mechanism:
    return pb.Mechanism(kind="laplace", fields=[fraction(epsilon)])


def noisy_max(epsilon: str = "1", smallest: int = 0, k: int = 1) -> pb.Mechanism:
    return pb.Mechanism(kind="noisy_max", fields=[fraction(epsilon), number(smallest), number(k)])


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

    def ask(self, value: int, mechanism: pb.Mechanism | None = None, *, epsilon: str = "1") -> Plan:
        self.request.asks.add(value=value, mechanism=mechanism or laplace(epsilon))
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


@contextlib.contextmanager
def people_served() -> Iterator[tuple[Any, Any]]:
    """A jail with 2,000 people, and the files of its users."""
    with quick_folder() as folder:
        files = make_jail(folder / "jail", {"people": Held(people(2_000))}, ("ann", "bob"))
        with served(folder / "jail", limits=LIMITS) as running:
            yield running, files


@contextlib.contextmanager
def session_of(jail: tuple[Any, Any], user: str) -> Iterator[Analyst]:
    running, files = jail
    analyst = Analyst(running, files[user]["token"])
    yield analyst
    with contextlib.suppress(grpc.RpcError):
        analyst.call("Close", pb.CloseRequest(session=analyst.session))


def memory() -> float:
    """Of this process, in MiB."""
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def deep_maxima() -> Plan:
    """Maxima of maxima: distances are nested as deep, and shared, so that their tree has 2**400 leaves."""
    plan = Plan()
    a, b = plan.count(), plan.add("tally", ref(plan.source), listed(), ref(plan.column("member")))
    for _ in range(400):
        pair = plan.add("stack", listed(ref(a), ref(b)), listed(whole(0), whole(1)))
        a, b = plan.add("extreme", text("max"), ref(pair)), plan.add("extreme", text("min"), ref(pair))
    return plan.ask(plan.add("add", ref(a), ref(b)))
