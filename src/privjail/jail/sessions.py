"""Sessions: what one connection of one analyst has sent, and what was computed for it."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from privjail.errors import DPError
from privjail.jail import decode
from privjail.jail import privjail_pb2 as pb
from privjail.jail.encode import inputs
from privjail.jail.limits import LimitError, Limits
from privjail.plan.node import Node


class SessionError(DPError):
    """No such session: it was never opened, has ended, or belongs to someone else."""


@dataclass
class Session:
    """Nodes by the client's numbers. They go with the session, and what was computed for them too."""

    user: str
    engine: Any
    nodes: dict[int, Node] = field(default_factory=dict)
    depths: dict[Node, int] = field(default_factory=dict)
    used: float = field(default_factory=time.monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, request: pb.ReleaseRequest, limits: Limits, source: Callable[[str], Node]) -> None:
        """Build the nodes of a request. Either all of them are taken, or none."""
        limits.check("nodes in one request", len(request.nodes), limits.nodes_per_request)
        limits.check("nodes in the session", len(self.nodes) + len(request.nodes), limits.nodes_per_session)
        known = _Layered(self.nodes)
        for message in request.nodes:
            if message.id in known:
                raise decode.Malformed("a node's number was used before")
            size = message.ByteSize()
            limits.check(
                "bytes in one node", size, limits.literal_bytes + 64 * len(message.fields) + limits.message_bytes // 4
            )
            built = decode.build(message, known, source)  # type: ignore[arg-type]
            depth = 1 + max((self.depths.get(child, 1) for child in inputs(built)), default=0)
            limits.check("depth of the plan", depth, limits.depth)
            self.depths[built] = max(depth, self.depths.get(built, 0))
            known.add(message.id, built)
        self.nodes.update(known.new)

    def forget(self, numbers: Any) -> None:
        for number in numbers:
            node = self.nodes.pop(number, None)
            if node is not None:
                self.depths.pop(node, None)


class _Layered:
    """The session's nodes and, above them, those of the request being read."""

    def __init__(self, below: dict[int, Node]) -> None:
        self._below = below
        self.new: dict[int, Node] = {}

    def __contains__(self, number: int) -> bool:
        return number in self.new or number in self._below

    def get(self, number: int) -> Node | None:
        return self.new.get(number) or self._below.get(number)

    def add(self, number: int, node: Node) -> None:
        self.new[number] = node


class Sessions:
    """All open sessions."""

    def __init__(self, limits: Limits, engine: Callable[[], Any]) -> None:
        self._limits, self._engine = limits, engine
        self._open: dict[bytes, Session] = {}
        self._lock = threading.Lock()

    def open(self, user: str) -> bytes:
        with self._lock:
            self._sweep()
            mine = sum(1 for s in self._open.values() if s.user == user)
            if mine >= self._limits.sessions_per_user or len(self._open) >= self._limits.sessions:
                raise LimitError("too many open sessions", do="close one, or wait until an idle one ends")
            number = secrets.token_bytes(16)
            self._open[number] = Session(user, self._engine())
            return number

    def get(self, number: bytes, user: str) -> Session:
        with self._lock:
            session = self._open.get(number)
            if session is None or session.user != user:
                raise SessionError("there is no such session", do="connect again")
            session.used = time.monotonic()
            return session

    def close(self, number: bytes, user: str) -> None:
        self.get(number, user)
        with self._lock:
            self._open.pop(number, None)

    def _sweep(self) -> None:
        old = time.monotonic() - self._limits.idle_seconds
        for number in [n for n, s in self._open.items() if s.used < old]:
            del self._open[number]

    def __len__(self) -> int:
        with self._lock:
            self._sweep()
            return len(self._open)
