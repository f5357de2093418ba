"""What a jail answers to each call. Nothing here depends on data, except what ``ReleaseGate.release`` returns."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

from privjail.budget.blocks import Block
from privjail.budget.notions import Cost, Notion, name_of
from privjail.engines.engine import Engine
from privjail.errors import DPError, EngineFailed, InternalError, PlanError
from privjail.mechanisms.noise import Noise
from privjail.ops.rows.source import Source
from privjail.plan.node import Lit, Node, children, inputs_first
from privjail.plan.node_table import NodeTable
from privjail.plan.value import Value
from privjail.release import Query, ReleaseGate
from privjail.server import work
from privjail.server.catalogue import Catalogue
from privjail.server.deadline import Deadline, TimeUp
from privjail.server.examples import example
from privjail.server.ledger.charging import Charging, Denominators, Progress
from privjail.server.ledger.events import texts
from privjail.server.ledger.ledger import DurableLedger, Outdated, dataset_of
from privjail.server.ledger.room import Room
from privjail.server.limits import Busy, LimitError, Limits
from privjail.server.metrics import Metrics
from privjail.server.noise_floor import check_noise
from privjail.server.sessions import Session, SessionError, Sessions
from privjail.server.wire import decode, encode, facts
from privjail.server.wire import privjail_pb2 as pb
from privjail.server.workers import Workers

log = logging.getLogger("privjail.jail")
VERSION = 1


class Service:
    """The calls of the wire, for a user whose identity is already established."""

    def __init__(self, ledger: DurableLedger, catalogue: Catalogue, limits: Limits, noise: Noise | None = None,
                 workers: int = 8) -> None:  # fmt: skip
        self.ledger, self.catalogue, self.limits = ledger, catalogue, limits
        self.workers = Workers(workers)
        self.noise = noise or Noise()
        self.metrics = Metrics()
        self.sessions = Sessions(limits, self._engine)
        self.denominators = Denominators()
        self._running: dict[tuple[str, bytes], threading.Lock] = {}
        self._to_free: deque[Session] = deque()
        self._at_work: Counter[str] = Counter()
        self._lock = threading.Lock()

    def _engine(self) -> Engine:
        return self.catalogue.holdings.engine(self.limits.cache_bytes)

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
        self.ledger.refresh()  # what is opened is the newest epoch
        with self.workers.place(user):  # it may have to be loaded
            source = self.catalogue.source(decode.text(request.name), user)
        reply = facts.to_wire(source.dataset, self._notion(request.name))
        if request.example:
            reply.MergeFrom(example(self.ledger, source.dataset))
        return reply

    def _notion(self, dataset: str) -> Notion:
        return self.ledger.state.datasets[dataset].notion

    def budget(self, request: pb.BudgetRequest, user: str) -> pb.BudgetReply:
        self.sessions.get(request.session, user)
        reply = pb.BudgetReply()
        for name in self.catalogue.accounts(user):
            scope, notion = ("user", user, name), self._notion(name)
            reply.balances.add(
                dataset=name,
                notion=name_of(notion),
                notion_parameters=texts(notion.parameters()),
                spent=texts(self.ledger.state.total(scope)),
                limit=texts(self.ledger.state.limits.get(scope)) or [],
            )
        return reply

    # -- the only exit

    def release(self, request: pb.ReleaseRequest, user: str) -> pb.ReleaseReply:
        session = self.sessions.get(request.session, user)
        if len(request.request) != 16:
            raise decode.Malformed("a request id has 16 bytes")
        limits = self.limits
        several = sum([node.count or 1 for node in request.nodes])
        limits.check("nodes in one request", several, limits.nodes_per_request)
        limits.check("asks in one request", len(request.asks), limits.asks_per_request)
        limits.check("caps in one request", len(request.caps), limits.caps_per_request)
        deadline = Deadline(limits.seconds_per_release)
        progress = Progress(deadline)
        # The worker comes last: a request that waits for another one of its session must not hold a worker.
        with self._slot(user), self._once(user, request.request), session.lock, self.workers.place(user):
            try:
                self.sessions.make_room(session)
                return deadline.run(lambda: self._released(session, user, request, progress))
            except TimeUp:
                session.forget_computed()  # the computation may have been interrupted anywhere
                if progress.charged:  # not run again: it would take as long each time
                    self.ledger.give_up(user, request.request.hex())
                raise LimitError(
                    "the request took longer than this jail allows; if it was charged, it stays charged",
                    do="ask for less at once",
                ) from None
            except RecursionError:
                raise LimitError("the plan is nested too deeply for its distance to be derived") from None
            finally:
                session.running = False
                self.sessions.memory.give_back(user, progress.reserved)

    def _released(self, session: Session, user: str, request: pb.ReleaseRequest, progress: Progress) -> pb.ReleaseReply:
        def source(name: str) -> Node:
            with progress.deadline.shield():
                return self.catalogue.source(decode.text(name), user)

        if not all(map(self.catalogue.newest, session.sources)):
            raise self._outdated(session)
        new = session.take(request.nodes, source)
        try:
            asks = [self._ask(session, ask) for ask in request.asks]
            self._check_sizes(asks)
            self._check_tables(asks, user)
            needed = work.check(asks, len(session.held.kept), self.limits)
            with progress.deadline.shield():
                self.sessions.memory.reserve(user, needed)
                progress.reserved = needed
            reply = self._answered(session, user, request, asks, progress)
        except BaseException:
            session.forget(new)
            raise
        if request.forget:
            session.leave(request.forget)
        if session.pending_free:
            self._to_free.append(session)
        return reply

    def _outdated(self, session: Session) -> SessionError:
        """End a session whose plans rest on rows that were replaced: its client sends them again, for the new ones.

        Other sessions of that kind are ended, too, so that the old rows can be freed.
        """
        self.sessions.end(session, lambda each: not all(map(self.catalogue.newest, list(each.sources))))
        return SessionError("the data was updated", do="connect again")

    def free_some(self) -> None:
        """Work that can wait until an answer has been sent."""
        try:
            session = self._to_free.popleft()
        except IndexError:
            return
        if session.lock.acquire(blocking=False):  # otherwise the holder of the lock calls this afterwards
            try:
                session.free_some()
            finally:
                session.lock.release()

    def _ask(self, session: Session, message: pb.Query) -> Query:
        value = session.nodes.get(message.value)
        if not isinstance(value, Value):
            raise decode.Malformed("only private numbers and vectors can be released")
        return Query(value, decode.mechanism(message.mechanism))

    def _check_sizes(self, asks: list[Query]) -> None:
        limits = self.limits
        size = sum(ask.value.joint.size for ask in asks)
        limits.check("elements in one request", size, limits.elements_per_request)
        choices = sum(ask.mechanism.choices(ask.value) for ask in asks)
        limits.check("choices in one request", choices, limits.choices_per_request)

    def _check_tables(self, asks: list[Query], user: str) -> None:
        """Refuse tables of a population that were closed since they were opened: their account is still open."""
        state = self.ledger.state
        roots = {dataset_of(cell) for ask in asks for cell in ask.value.cells}
        if any(state.datasets[root].is_population for root in roots if root in state.datasets):
            for each in inputs_first([ask.value for ask in asks], children):  # type: ignore[arg-type]
                if isinstance(each, Source) and not state.allowed(user, each.dataset.name):
                    raise PlanError(f"there is no data set {each.dataset.name!r} for you", do="ask the curator")

    def _answered(
        self, session: Session, user: str, request: pb.ReleaseRequest, asks: list[Query], progress: Progress
    ) -> pb.ReleaseReply:
        number, deadline = request.request.hex(), progress.deadline
        caps, block = _caps(request), decode.block(request)
        epochs = _epochs(session, asks)
        digest = _digest(asks, caps, block, timeless=any(epoch > 1 for _, epoch in epochs))
        with deadline.shield():
            kept = self.ledger.earlier(user, number, digest)
        if kept is not None:
            return pb.ReleaseReply.FromString(kept)
        if self.ledger.state.failures[user] >= self.limits.failures_per_user:
            raise LimitError(
                "too many of your requests have failed inside this jail",
                do="ask the curator to allow your requests again: privjail user pardon",
            )
        check_noise(self.ledger.state, user, asks)
        writer = session.certificates
        counted = None if block is None else block.notion
        certificate = None if writer is None else writer.packed(asks, self._notion, counted)
        room = Room(_most_bytes(asks), self.limits.kept_bytes_per_user, certificate)
        words = {"program": [(str(ask.value), repr(ask.mechanism)) for ask in asks]}
        ledger = Charging(
            self.ledger, user, number, digest, words, caps, room, epochs, self.limits, self.denominators, progress
        )
        try:
            answers = ReleaseGate(session.engine, ledger, self.noise, None).release(asks, block)  # type: ignore[arg-type]
        except TimeUp:
            raise
        except Outdated:  # between the building of the plan and its charge, which was not made
            raise self._outdated(session) from None
        except BaseException as e:  # an engine's panic is no Exception
            if deadline.fired and not isinstance(e, DPError):
                raise TimeUp from None  # a library on the way may have turned TimeUp into another error
            if progress.touched:  # the error may depend on data: no details are sent, and failures are limited
                log.error("a release failed after its charge: %s", type(e).__name__)
                with deadline.shield():
                    self.ledger.failed(user, number)
                if isinstance(e, EngineFailed):  # a lost cluster, a full disk; which of them is not told
                    raise EngineFailed("the engine failed on this request; it stays charged") from None
                raise InternalError("the jail failed on this request; it stays charged") from None
            raise
        finally:
            if writer is not None and certificate is not None:
                writer.settle(progress.entry)
        reply = pb.ReleaseReply(answers=[_answer(a) for a in answers])
        if not progress.charged:
            self.metrics.released(len(asks))
            return reply
        body = reply.SerializeToString()
        with deadline.shield():
            sent = self.ledger.keep_answer(user, number, body)
        self.metrics.released(len(asks))
        return reply if sent == body else pb.ReleaseReply.FromString(sent)

    @contextmanager
    def _slot(self, user: str) -> Iterator[None]:
        """One of the few requests that a user may run at a time, so that nobody can keep others out."""
        with self._lock:
            if self._at_work[user] >= self.limits.requests_at_once_per_user:
                raise Busy("too many of your requests are running", do="wait until one of them ends")
            self._at_work[user] += 1
        try:
            yield
        finally:
            with self._lock:
                self._at_work[user] -= 1
                if not self._at_work[user]:
                    del self._at_work[user]

    def _once(self, user: str, request: bytes) -> threading.Lock:
        """One lock for all copies of one request."""
        with self._lock:
            if len(self._running) > 10_000:
                self._running = {k: v for k, v in self._running.items() if v.locked()}
            return self._running.setdefault((user, request), threading.Lock())


def _caps(request: pb.ReleaseRequest) -> dict[str, Cost]:
    """The analyst's own limits. If a data set has several, the smallest counts."""
    caps: dict[str, Cost] = {}
    for cap in request.caps:
        most = (decode.fraction(cap.most),)
        caps[cap.dataset] = min(caps.get(cap.dataset, most), most)
    return caps


_TIMELESS: NodeTable[bytes] = NodeTable()


def _timeless_name(node: Node) -> str:
    """The name that a node would have if all data sets were in their first epochs."""
    for each in inputs_first((node,), children, _TIMELESS.__contains__):
        _TIMELESS[each] = each.timeless() if isinstance(each, Source) else each.digest_if(_TIMELESS.__getitem__)
    return _TIMELESS[node].hex()


def _epochs(session: Session, asks: list[Query]) -> list[tuple[str, int]]:
    """The data sets that a request reads, with their epochs. Where all are first ones: those that its session knows."""
    if all(source.dataset.epoch == 1 for source in session.sources):
        return [(source.dataset.name, 1) for source in session.sources]
    values: list[Node] = [ask.value for ask in asks]
    return [(s.dataset.name, s.dataset.epoch) for s in inputs_first(values, children) if isinstance(s, Source)]


def _digest(asks: list[Query], caps: dict[str, Cost], block: Block | None, timeless: bool = False) -> str:
    """A hash of what a request asks for. It does not depend on the numbers that the client gave its nodes.

    Nor does it depend on epochs: a request that comes again after an update gets the answer that was kept for it.
    """
    name = _timeless_name if timeless else attrgetter("name")
    spelled = repr([(name(ask.value), ask.mechanism) for ask in asks]) + repr(sorted(caps.items()))
    spelled += "" if block is None else repr(block)
    return hashlib.sha256(spelled.encode()).hexdigest()


def _most_bytes(asks: list[Query]) -> int:
    """The most bytes of the answers on the wire: some for each element, and some around them."""
    return sum(32 + ask.value.answer_bytes * ask.value.joint.size for ask in asks)


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
        case [(_, float()), *_]:
            keys, counts = zip(*answer, strict=True)
            return pb.Answer(keys=pb.Keys(items=[encode.literal(Lit.of(key)) for key in keys], counts=counts))
    return pb.Answer(positions=pb.Positions(items=answer))


def on_clock(quantum: float, work: Callable[[], Any]) -> Any:
    """Run some work, and return at a whole multiple of the quantum after the start."""
    if quantum <= 0:
        return work()
    start = time.monotonic()
    try:
        return work()
    finally:
        passed = time.monotonic() - start
        time.sleep(quantum - passed % quantum)
