"""What a jail answers to each call. Nothing here depends on data but what ``Jail.release`` returns."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from privjail.budget.notions import Cost
from privjail.errors import DPError
from privjail.jail import decode, facts
from privjail.jail import privjail_pb2 as pb
from privjail.jail.catalogue import Catalogue
from privjail.jail.events import texts
from privjail.jail.ledger import DurableLedger, RequestLedger
from privjail.jail.limits import Limits
from privjail.jail.metrics import Metrics
from privjail.jail.sessions import Session, Sessions
from privjail.jail.state import NOTIONS
from privjail.mechanisms.noise import Noise
from privjail.plan.value import Value
from privjail.release import Ask, Jail

log = logging.getLogger("privjail.jail")
VERSION = 1


class Service:
    """The calls of the wire, for a user whose identity is already established."""

    def __init__(self, ledger: DurableLedger, catalogue: Catalogue, limits: Limits, noise: Noise | None = None) -> None:
        self.ledger, self.catalogue, self.limits = ledger, catalogue, limits
        self.noise = noise or Noise()
        self.metrics = Metrics()
        self.sessions = Sessions(limits, self._engine)
        self._running: dict[tuple[str, bytes], threading.Lock] = {}
        self._lock = threading.Lock()

    def _engine(self) -> Any:
        # Slow to import: a jail opens its port first.
        from privjail.engines.polars import PolarsEngine

        return PolarsEngine(self.limits.cache_bytes_per_session, self.catalogue.frames)

    def open(self, request: pb.OpenRequest, user: str) -> pb.OpenReply:
        if request.version != VERSION:
            raise DPError(f"this jail speaks version {VERSION} of the wire", do="install the matching privjail")
        names = self.catalogue.names(user)
        return pb.OpenReply(session=self.sessions.open(user), user=user, datasets=names)

    def close(self, request: pb.CloseRequest, user: str) -> pb.CloseReply:
        self.sessions.close(request.session, user)
        return pb.CloseReply()

    def describe(self, request: pb.DescribeRequest, user: str) -> pb.Dataset:
        self.sessions.get(request.session, user)
        source = self.catalogue.source(request.name, user)
        return facts.to_wire(source.dataset, self._notion(request.name))

    def _notion(self, dataset: str) -> str:
        kind = type(self.ledger.state.datasets[dataset].notion)
        return next(name for name, cls in NOTIONS.items() if cls is kind)

    def budget(self, request: pb.BudgetRequest, user: str) -> pb.BudgetReply:
        self.sessions.get(request.session, user)
        reply = pb.BudgetReply()
        for name in self.catalogue.names(user):
            scope = ("user", user, name)
            reply.balances.add(
                dataset=name,
                notion=self._notion(name),
                spent=texts(self.ledger.state.total(scope)),
                limit=texts(self.ledger.state.limits.get(scope)) or [],
            )
        return reply

    def release(self, request: pb.ReleaseRequest, user: str) -> pb.ReleaseReply:
        session = self.sessions.get(request.session, user)
        if len(request.request) != 16:
            raise decode.Malformed("a request id has 16 bytes")
        self.limits.check("asks in one request", len(request.asks), self.limits.asks_per_request)
        with self._once(user, request.request), session.lock:
            session.take(request, self.limits, lambda name: self.catalogue.source(name, user))
            asks = [self._ask(session, ask) for ask in request.asks]
            size = sum(ask.value.joint.size for ask in asks)
            self.limits.check("elements in one request", size, self.limits.elements_per_request)
            reply = self._answered(session, user, request, asks)
            session.forget(request.forget)
            return reply

    def _answered(self, session: Session, user: str, request: pb.ReleaseRequest, asks: list[Ask]) -> pb.ReleaseReply:
        number = request.request.hex()
        program = [(str(ask.value), repr(ask.mechanism)) for ask in asks]
        caps: dict[str, Cost] = {}
        for cap in request.caps:  # of blocks inside each other, the narrowest holds
            most = (decode.fraction(cap.most),)
            caps[cap.dataset] = min(most, caps.get(cap.dataset, most))
        digest = _digest(asks, caps)
        if self.ledger.known(user, number) == digest:
            kept = self.ledger.answer(user, number)
            if kept is not None:
                return pb.ReleaseReply.FromString(kept)
        body = {"program": program}
        ledger = RequestLedger(self.ledger, user, number, digest, body, caps)
        jail = Jail(session.engine, ledger, self.noise)  # type: ignore[arg-type]
        started = time.monotonic()
        answers = jail.release(asks)
        if time.monotonic() - started > self.limits.seconds_per_release:
            raise DPError("the release took longer than this jail allows; it stays charged", do="ask for less at once")
        reply = pb.ReleaseReply(answers=[_answer(a) for a in answers])
        self.metrics.released(len(asks))
        return pb.ReleaseReply.FromString(self.ledger.keep_answer(user, number, reply.SerializeToString()))

    def _ask(self, session: Session, message: pb.Ask) -> Ask:
        value = session.nodes.get(message.value)
        if not isinstance(value, Value):
            raise decode.Malformed("only private numbers and vectors can be released")
        return Ask(value, decode.mechanism(message.mechanism))

    def _once(self, user: str, request: bytes) -> threading.Lock:
        """One lock for all copies of one request."""
        with self._lock:
            if len(self._running) > 10_000:
                self._running = {k: v for k, v in self._running.items() if v.locked()}
            return self._running.setdefault((user, request), threading.Lock())


def _digest(asks: list[Ask], caps: dict[str, Cost]) -> str:
    """What a request asks for, whatever numbers the client gave its nodes."""
    spelled = repr([(ask.value.name, ask.mechanism) for ask in asks]) + repr(sorted(caps.items()))
    return hashlib.sha256(spelled.encode()).hexdigest()


def _answer(answer: Any) -> pb.Answer:
    match answer:
        case None:
            return pb.Answer(nothing=True)
        case float():
            return pb.Answer(number=answer)
        case int():
            return pb.Answer(position=answer)
        case [float(), *_] | []:
            return pb.Answer(numbers=pb.Numbers(items=answer))
    return pb.Answer(positions=pb.Positions(items=answer))


def on_clock(quantum: float, work: Callable[[], Any]) -> Any:
    """Run, and answer only at a whole multiple of the quantum after the start."""
    if quantum <= 0:
        return work()
    start = time.monotonic()
    try:
        return work()
    finally:
        passed = time.monotonic() - start
        time.sleep(quantum - passed % quantum)
