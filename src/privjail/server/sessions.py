"""Sessions: the nodes that one connection of an analyst has sent, and what was computed for them."""

from __future__ import annotations

import gc
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol
from weakref import ref

from privjail.budget.notions import Notion
from privjail.engines.engine import Engine
from privjail.errors import DPError, PlanError
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.sort import Sort
from privjail.ops.rows.source import Source
from privjail.plan.node import Node
from privjail.release import Query
from privjail.server import weigh
from privjail.server.limits import LimitError, Limits
from privjail.server.memory import CHUNK, Memory
from privjail.server.wire import decode
from privjail.server.wire import privjail_pb2 as pb

SWEPT_FROM = 1_000  # nodes of a session before it is first searched for freed ones
PIECE = 100  # nodes that are freed at a time: takes about as long as the pause until the next request


class Certificates(Protocol):
    """What writes the certificates of one session."""

    def packed(
        self, asks: list[Query], notion: Callable[[str], Notion], block: Notion | None = None
    ) -> bytes | None: ...

    def settle(self, entry: int | None) -> None: ...


class SessionError(DPError):
    """No such session: it was never opened, has ended, or belongs to someone else."""


class Session:
    """Nodes by the client's numbers. They end with the session, and so does what was computed for them."""

    def __init__(self, user: str, engine: Callable[[], Engine], limits: Limits, memory: Memory | None = None) -> None:
        self.user, self.limits, self.memory = user, limits, memory or Memory(limits)
        self._engine = engine
        self.engine = engine()
        self.nodes: dict[int, Node] = {}
        self.sources: set[Source] = set()  # the data sets that its nodes rest on
        self.pending_free: list[Node] = []  # nodes whose numbers were freed
        self.held = Held(user)
        self.used = time.monotonic()
        self.lock = threading.Lock()  # held also while a request of this session waits for a worker
        self.certificates: Certificates | None = None  # what writes them, if they are kept
        self.running = False  # whether a request of this session has a worker

    def take(self, messages: Iterable[pb.Node], source: Callable[[str], Node]) -> list[int]:
        """Build the nodes of a request: all of them, or none. Returns the numbers that are new.

        A repeated request brings nodes whose numbers are in use. They must be the same nodes, or it is refused.
        """
        new: list[int] = []
        limits, nodes = self.limits, self.nodes
        self.held.sweep_if_due()
        try:
            for message in messages:
                for number, built in enumerate(self._built(message, source), message.id):
                    before = nodes.get(number)
                    if before is None:
                        new.append(number)
                        nodes[number] = built
                    elif before is not built:
                        raise decode.Malformed("a node's number was used before, for another node")
                limits.check("numbers in the session", len(nodes), limits.nodes_per_session)
        except BaseException:
            self.forget(new)
            raise
        return new

    def _built(self, message: pb.Node, source: Callable[[str], Node]) -> Iterator[Node]:
        """The nodes of a message, each of which may refer to those before it."""
        limits, held = self.limits, self.held
        if message.kind == "source":
            yield self._source(message, source)
            return
        cls, several = decode.nodes(message, self.nodes.get)
        by_columns, on_grids = cls in (Tally, Sort), cls in weigh.ON_ONE_GRID
        for values in several:
            if by_columns:
                limits.check("columns in one step", len(values[1]), limits.columns_per_step)
            if on_grids:
                weigh.grids(values[0], limits)
            built = decode.make(cls, values)
            if ref(built) not in held.kept:
                limits.check("depth of the plan", built.height(), limits.depth)
                bytes_ = weigh.weight(built, limits)
                if not self._has_room(bytes_):
                    self._make_room(bytes_)
                held.add(built, bytes_)
            yield built

    def _source(self, message: pb.Node, source: Callable[[str], Node]) -> Node:
        """A data set by its name. With the name of its facts, as its client knows them, these must still be true."""
        parts = [field.WhichOneof("value") for field in message.fields]
        if parts not in (["dataset"], ["dataset", "text"]) or message.count > 1:
            raise decode.Malformed("a source is a data set's name")
        found = source(message.fields[0].dataset)
        assert isinstance(found, Source)
        if len(parts) == 2 and message.fields[1].text != found.timeless().hex():
            raise PlanError(
                f"the schema of {found.dataset.name!r} has changed since you opened it", do="open it again, and go on"
            )
        self.sources.add(found)
        return found

    def _has_room(self, bytes_: int) -> bool:
        """Whether one more node is within the limits. The session's share of the memory grows as needed."""
        held, limits = self.held, self.limits
        if held.has_room(bytes_, limits):
            return True
        return self.memory.grow(held, bytes_) and held.has_room(bytes_, limits)

    def _make_room(self, bytes_: int) -> None:
        """Refuse a node that does not fit even after unused nodes have been freed."""
        held, limits = self.held, self.limits
        self.pending_free.clear()
        held.sweep()
        if not self._has_room(bytes_):
            self.forget_computed()
            gc.collect()
            held.sweep()
        limits.check("nodes in the session", len(held.kept) + 1, limits.nodes_per_session)
        limits.check("bytes of plans in the session", held.bytes + bytes_, limits.plan_bytes_per_session)
        if not self._has_room(bytes_):
            raise LimitError(
                "the memory for plans is in use", do="wait until other sessions end, or close some of yours"
            )

    def forget(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.nodes.pop(number, None)

    def leave(self, numbers: Iterable[int]) -> None:
        """Free numbers that will not be used again. Their nodes are freed later (free_some)."""
        if len(self.pending_free) > self.limits.nodes_per_session:
            self.pending_free.clear()  # free_some was not called in between; one node may have had many numbers
        self.pending_free += [self.nodes.pop(number) for number in numbers if number in self.nodes]

    def free_some(self) -> None:
        """Free some nodes without a number. Freeing all of a large plan would take longer than a release."""
        del self.pending_free[-max(PIECE, len(self.pending_free) // 10) :]

    def forget_computed(self) -> None:
        """Drop computed columns and selections. They are computed again when they are needed."""
        self.engine = self._engine()


class Held:
    """The alive nodes of a session, including inputs of other nodes, and their size.

    Freed nodes are removed from time to time, not one by one; until then they count as alive.
    """

    def __init__(self, user: str = "") -> None:
        self.user = user
        self._due = SWEPT_FROM
        self.kept: dict[weakref.ref[Node], int] = {}
        self.bytes = self.share = 0  # their size, and its limit

    def has_room(self, bytes_: int, limits: Limits) -> bool:
        """Whether one more node is within the limits."""
        bytes_ += self.bytes
        return (
            len(self.kept) < limits.nodes_per_session
            and bytes_ <= self.share
            and bytes_ <= limits.plan_bytes_per_session
        )

    def add(self, node: Node, bytes_: int) -> None:
        self.bytes += bytes_  # first: if the deadline interrupts here, the size is too large until the next sweep
        self.kept[ref(node)] = bytes_

    def sweep(self) -> None:
        """Remove the nodes that were freed."""
        self.kept = {each: bytes_ for each, bytes_ in self.kept.items() if each() is not None}
        self.bytes = sum(self.kept.values())
        self.share = min(self.share, -(-self.bytes // CHUNK) * CHUNK)
        self._due = 2 * len(self.kept) + SWEPT_FROM

    def sweep_if_due(self) -> None:
        """Keeps freed nodes from outnumbering alive ones by much, at a small cost for each node."""
        if len(self.kept) >= self._due:
            self.sweep()


class Sessions:
    """All open sessions."""

    def __init__(self, limits: Limits, engine: Callable[[], Engine]) -> None:
        self._limits, self._engine = limits, engine
        self.memory = Memory(limits)
        self.certify: Callable[[], Certificates] | None = None  # for each session, if certificates are kept
        self._open: dict[bytes, Session] = {}
        self.ended = 0  # how many have ended so far
        self._lock = threading.Lock()

    def open(self, user: str) -> bytes:
        self.sweep()
        with self._lock:
            mine = sum(1 for s in self._open.values() if s.user == user)
            if mine >= self._limits.sessions_per_user or len(self._open) >= self._limits.sessions:
                raise LimitError("too many open sessions", do="close one, or wait until an idle one ends")
            number = secrets.token_bytes(16)
            self._open[number] = opened = Session(user, self._engine, self._limits, self.memory)
            opened.certificates = None if self.certify is None else self.certify()
            return number

    def get(self, number: bytes, user: str) -> Session:
        with self._lock:
            session = self._open.get(number)
            if session is None or session.user != user:
                raise SessionError("there is no such session", do="connect again")
            session.used = time.monotonic()
            return session

    def make_room(self, session: Session) -> None:
        """Give a session, whose request is about to run, room in the cache."""
        session.running = True  # first: another one that starts now must count this one
        with self._lock:
            others = [each for each in self._open.values() if each is not session]
        self.memory.make_room(session, others)

    def close(self, number: bytes, user: str) -> None:
        self.get(number, user)
        with self._lock:
            self._remove([number])

    def _remove(self, numbers: Iterable[bytes]) -> None:
        self.ended += sum(self._open.pop(number, None) is not None for number in numbers)

    def end(self, mine: Session, ended: Callable[[Session], bool]) -> None:
        """End this session, and others that no request uses now. Clients open new ones and send their plans again."""
        with self._lock:
            self._remove(
                number
                for number, session in list(self._open.items())
                if session is mine or not session.lock.locked() and ended(session)
            )

    def sweep(self) -> int:
        """End the sessions that were idle for too long. Returns how many."""
        old = time.monotonic() - self._limits.idle_seconds
        with self._lock:
            ended = [n for n, s in self._open.items() if s.used < old and not s.lock.locked()]
            self._remove(ended)
        return len(ended)

    def free_some(self) -> None:
        """Free all nodes without a number, in case no further request comes to do it."""
        with self._lock:
            sessions = list(self._open.values())
        for session in sessions:
            if session.pending_free and session.lock.acquire(blocking=False):
                try:
                    session.pending_free.clear()
                finally:
                    session.lock.release()

    def freeze_imports(self) -> None:
        """Spare the collector what was imported, if no session was opened yet: frozen rows would never be freed."""
        with self._lock:
            if not self._open and not self.ended:
                gc.collect()
                gc.freeze()

    def __len__(self) -> int:
        with self._lock:
            return len(self._open)
