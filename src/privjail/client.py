"""The client: runs an analyst's program against a jail in another process."""

from __future__ import annotations

import json
import os
import queue
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from privjail.budget.amounts import amount
from privjail.budget.blocks import Block
from privjail.budget.ledger import plus
from privjail.budget.notions import Cost, Notion, unlimited
from privjail.client_errors import SessionLost, answer_in, error_of, refused
from privjail.errors import BudgetExceeded, DPError, PlanError
from privjail.ops.rows.source import Source
from privjail.plan.node import Node
from privjail.release import Query, where_charged

if TYPE_CHECKING:
    from privjail.server.channel import JailAddress

T = TypeVar("T")
PATIENCE = 20.0  # seconds to keep trying while a jail restarts
LOOK_AGAIN = 1.0  # seconds to wait for a connection before asking gRPC why there is none
PAUSE = 0.1  # seconds between two attempts


class Connection:
    """A session with a jail. Its channel is closed when the session ends, or cannot be opened."""

    def __init__(self, channel: Any, token: str, jail: JailAddress | None = None) -> None:
        from privjail.server.wire import privjail_pb2 as pb

        self._pb, self._channel, self._jail = pb, channel, jail
        self._metadata = (("authorization", f"Bearer {token}"),)
        self._stream: Stream | None = None
        self._lock = threading.RLock()
        self._caps: list[dict[str, Fraction]] = []
        self._opened: dict[str, Source] = {}
        self._described: set[str] = set()  # those of them whose facts are of this session: an update may change them
        self._forget = self._forgetting()
        self.notions: dict[str, Notion] = {}  # data set → the notion of privacy of its budget
        self._reset()
        try:
            self._open()
        except BaseException:
            self._channel.close()  # otherwise gRPC would keep trying to connect while the error is alive
            raise

    # -- calls

    def _call(self, method: str, request: Any, reply: Any, patience: float = PATIENCE) -> Any:
        from privjail.server.wire.rpc import grpc

        attempt = self._exchange if method == "Release" else self._unary(method, reply)
        deadline = time.monotonic() + patience
        while True:
            try:
                return attempt(request)
            except grpc.RpcError as e:
                failed: Any = e
            # Outside the except block: gRPC's error is of no use to an analyst.
            self._wait_or_raise(failed, deadline)

    def _wait_or_raise(self, failed: Any, deadline: float) -> None:
        """Wait until a failed request may be sent again. If it may not, raise the error for the analyst.

        Sending the same request again is safe: its id makes the jail answer and charge it once.
        """
        from privjail.server.channel import wait_for_connection

        if failed.code().name not in ("UNAVAILABLE", "CANCELLED"):
            raise error_of(failed)
        mismatch = None if self._jail is None else self._jail.mismatch(failed)
        if mismatch is not None:
            raise DPError(
                f"no secure connection to the jail: the certificates do not match ({mismatch})",
                do="ask the curator for a new connection file",
            )
        left = deadline - time.monotonic()
        if left < 0:
            raise error_of(failed)
        time.sleep(PAUSE)
        if answer_in(failed) is None:
            wait_for_connection(self._channel, self._metadata, min(LOOK_AGAIN, max(left, PAUSE)))

    def _unary(self, method: str, reply: Any) -> Callable[[Any], Any]:
        call = self._channel.unary_unary(
            f"/privjail.v1.Jail/{method}",
            request_serializer=lambda m: m.SerializeToString(),
            response_deserializer=reply.FromString,
        )
        return lambda request: call(request, metadata=self._metadata, timeout=600)

    def _exchange(self, request: Any) -> Any:
        """Release over the stream, which takes half the time of a call; by a call if the jail has no stream left."""
        from privjail.server.wire.rpc import grpc

        # The stream is not used again until the answer has arrived: whatever happens meanwhile, a late answer must not
        # be taken for the answer of the next request.
        stream, self._stream = self._stream, None
        try:
            if stream is None:
                stream = Stream(self._channel, self._metadata, self._pb)
            released = stream.ask(request)
            self._stream = stream
        except BaseException as e:
            if stream is not None:
                stream.end()
            if isinstance(e, grpc.RpcError) and e.code() is grpc.StatusCode.RESOURCE_EXHAUSTED:
                return self._unary("Release", self._pb.ReleaseReply)(request)
            raise
        if released.WhichOneof("outcome") == "refusal":
            raise refused(released.refusal.status, released.refusal.details)
        return released.reply

    def _reset(self) -> None:
        self._numbers: dict[int, Sent] = {}  # by the id() of the node
        self._gone: list[int] = []
        self._next = 1
        self._described.clear()

    def _open(self) -> None:
        reply = self._call("Open", self._pb.OpenRequest(version=1), self._pb.OpenReply)
        self._session, self.user, self.datasets = reply.session, reply.user, list(reply.datasets)

    def close(self) -> None:
        """End the session; the jail frees what it kept for it."""
        try:
            self._call("Close", self._pb.CloseRequest(session=self._session), self._pb.CloseReply, patience=1.0)
        except DPError:
            pass  # a jail that is gone, or no longer knows the session, has nothing to free
        finally:
            if self._stream is not None:
                self._stream.end()
            self._channel.close()

    def _in_session(self, work: Callable[[], T]) -> T:
        """Run some work in the session; in a new session if the jail no longer knows this one."""
        deadline = time.monotonic() + PATIENCE
        with self._lock:
            while True:
                try:
                    return work()
                except SessionLost:
                    if time.monotonic() > deadline:
                        raise
                self._reset()
                self._open()

    def __repr__(self) -> str:
        return f"connection of {self.user} to a jail with {len(self.datasets)} data sets"

    # -- what the face needs

    def source(self, name: str) -> Source:
        """Open a data set by the curator's name for it."""
        from privjail.server.wire import facts

        def described() -> Any:
            request = self._pb.DescribeRequest(session=self._session, name=name)
            return self._call("Describe", request, self._pb.Dataset)

        if name not in self._described:
            message = self._in_session(described)
            self.notions[message.name] = self.notions[message.population or message.name] = _notion(message)
            self._opened[name] = Source(facts.from_wire(message))
            self._described.add(name)
        return self._opened[name]

    def example(self, name: str) -> Any:
        """The made-up rows of a data set that its curator allows, as the jail sent them."""

        def described() -> Any:
            request = self._pb.DescribeRequest(session=self._session, name=name, example=True)
            return self._call("Describe", request, self._pb.Dataset)

        return self._in_session(described)

    def release(self, asks: list[Query], request: bytes | None = None, block: Block | None = None) -> list[Any]:
        """One round trip: the nodes that the jail does not know yet, and the request.

        If the request id (16 bytes) was used before, the answer is the same as then, and costs nothing more.
        """
        number = secrets.token_bytes(16) if request is None else request
        reply = self._in_session(lambda: self._send(number, asks, block))
        return [_public(answer) for answer in reply.answers]

    def _send(self, number: bytes, asks: list[Query], block: Block | None) -> Any:
        from privjail.server.wire import encode

        new = encode.unsent([ask.value for ask in asks], self._numbers)
        gone, self._gone = self._gone, []
        try:
            request = self._pb.ReleaseRequest(
                session=self._session,
                request=number,
                nodes=[encode.nodes(group, self._numbered(group), self._number) for group in new],
                forget=gone,
                asks=[
                    self._pb.Query(value=self._number(ask.value), mechanism=encode.mechanism(ask.mechanism))
                    for ask in asks
                ],
                caps=[self._pb.Cap(dataset=d, most=str(most)) for caps in self._caps for d, most in caps.items()],
                block=None if block is None else encode.block(block),
            )
            return self._call("Release", request, self._pb.ReleaseReply)
        except BaseException:
            # Whether the jail has the nodes is unknown: they are sent again with new numbers, and the old ones freed.
            lost = [self._numbers.pop(id(each), None) for group in new for each in group]
            self._gone += gone + [sent.number for sent in lost if sent is not None]
            raise

    def _numbered(self, group: list[Node]) -> int:
        """Number nodes that were not sent yet, consecutively. Returns the first number."""
        first = self._next
        for number, each in enumerate(group, first):
            sent = Sent(each, self._forget)
            sent.node, sent.number = id(each), number
            self._numbers[id(each)] = sent
        self._next += len(group)
        return first

    def _forgetting(self) -> Callable[[Any], None]:
        """The callback for when a sent node is freed."""
        me = weakref.ref(self)

        def forget(sent: Any) -> None:
            connection, key, number = me(), sent.node, sent.number
            if connection is not None and connection._numbers.get(key) is sent:
                del connection._numbers[key]
                connection._gone.append(number)

        return forget

    def _number(self, each: Node) -> int:
        return self._numbers[id(each)].number

    def _balances(self) -> Any:
        def asked() -> Any:
            request = self._pb.BudgetRequest(session=self._session)
            return self._call("Budget", request, self._pb.BudgetReply)

        return self._in_session(asked).balances

    def balances(self) -> list[dict[str, Any]]:
        """What this user has spent and may spend, exactly: fractions as texts, in the components of each notion."""
        return [
            {
                "dataset": each.dataset,
                "notion": each.notion,
                "parameters": list(each.notion_parameters),
                "spent": list(each.spent),
                "limit": list(each.limit) or None,
            }
            for each in self._balances()
        ]

    def reopen(self) -> None:
        """Ask again who this is and which data sets there are for her, in a new session."""
        with self._lock:
            self._opened.clear()
            ended = self._session
            self._reset()
            self._open()
            with suppress(DPError):  # it ends by itself, later
                self._call("Close", self._pb.CloseRequest(session=ended), self._pb.CloseReply, patience=1.0)

    def consumed(self) -> dict[str, Any]:
        out = {}
        accounts = {opened.dataset.account.name for opened in self._opened.values()}
        for balance in self._balances():
            if balance.dataset in accounts:
                spent = tuple(Fraction(x) for x in balance.spent)
                out[balance.dataset] = _notion(balance).report(spent)
        return out

    def left(self) -> dict[str, Any]:
        """What this user may still spend on each data set; None where she has no limit of her own."""
        out: dict[str, Any] = {}
        for balance in self._balances():
            rest = [
                float(max(Fraction(m) - Fraction(x), Fraction(0)))
                for m, x in zip(balance.limit, balance.spent, strict=False)
            ]
            out[balance.dataset] = None if not balance.limit else rest[0] if len(rest) == 1 else tuple(rest)
        return out

    def reserve(self, asks: list[Query]) -> None:
        """Refuse what is charged to a whole data set and is more than this user has left of it."""
        prices: dict[str, Cost] = {}
        for ask in asks:
            for cell, cost in where_charged(ask, lambda root: self.notions[str(root.key)]):
                if cell.depth == 0:
                    name = str(cell.root.key)
                    prices[name] = plus(prices[name], cost) if name in prices else cost
        for balance in self._balances() if prices else ():
            limit, spent = (tuple(map(Fraction, x)) for x in (balance.limit, balance.spent))
            price = prices.get(balance.dataset)
            if price and any(x > most - before for x, most, before in zip(price, limit, spent, strict=False)):
                notion = self.notions[balance.dataset]
                raise BudgetExceeded(
                    f"this would raise what {balance.dataset!r} has cost to {notion.spelled(plus(spent, price))}, over "
                    f"your limit of {notion.spelled(limit)}; nothing was charged",
                    do="use a smaller eps, or ask the curator for more",
                )

    @contextmanager
    def limited(self, eps: Any, source: str | None) -> Iterator[None]:
        most = amount(eps, "the budget")
        caps = {b.dataset: Fraction(b.spent[0]) + most for b in self._balances() if source in (None, b.dataset)}
        self._caps.append(caps)
        try:
            yield
        finally:
            self._caps.remove(caps)


class Sent(weakref.ref[Node]):
    """A weak reference to a node that was sent, with its number."""

    __slots__ = ("node", "number")
    node: int  # its id(), also after it is freed
    number: int


class Stream:
    """One call that stays open: a request goes in, its answer comes out."""

    def __init__(self, channel: Any, metadata: Any, pb: Any) -> None:
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        call = channel.stream_stream(
            "/privjail.v1.Jail/Releases",
            request_serializer=lambda m: m.SerializeToString(),
            response_deserializer=pb.Released.FromString,
        )
        self._answers = call(iter(self._requests.get, None), metadata=metadata)

    def ask(self, request: Any) -> Any:
        self._requests.put(request)
        try:
            return next(self._answers)
        except StopIteration:
            raise refused("UNAVAILABLE", "the jail has ended the stream") from None

    def end(self) -> None:
        self._requests.put(None)
        self._answers.cancel()


def _notion(message: Any) -> Notion:
    return unlimited(message.notion, [Fraction(x) for x in message.notion_parameters])


def _public(answer: Any) -> Any:
    which = answer.WhichOneof("value")
    if which == "nothing":
        return None
    value = getattr(answer, which)
    if which == "keys":
        from privjail.server.wire import decode

        return list(zip([decode.literal(each).value for each in value.items], value.counts, strict=True))
    return list(value.items) if which in ("numbers", "positions") else value


def connect(
    address: str | os.PathLike[str], *, token: str | None = None, certificate: Any = None, key: Any = None,
    user_certificate: Any = None, insecure_loopback: bool = False,
) -> Connection:  # fmt: skip
    """Connect to a jail: by the connection file that the curator gave, or by address, token and certificate."""
    from privjail.server.channel import JailAddress

    if token is None and Path(address).is_file():
        given = json.loads(Path(address).read_text(encoding="utf-8"))
        address, token, certificate = given["address"], given["token"], given.get("certificate")
        key, user_certificate = given.get("key"), given.get("user_certificate")
        insecure_loopback = given.get("insecure_loopback", False)
    token = token or os.environ.get("PRIVJAIL_TOKEN")
    if not token:
        raise PlanError("a token is needed to connect", do="use the connection file that the curator gave you")
    if insecure_loopback:
        jail = JailAddress(str(address), None)
    elif certificate is None:
        raise PlanError("the jail's certificate is needed", do="use the connection file that the curator gave you")
    else:
        jail = JailAddress(str(address), _bytes(certificate), _bytes(key), _bytes(user_certificate))
    return Connection(jail.channel(), token, jail)


def _bytes(given: Any) -> bytes | None:
    if given is None or isinstance(given, bytes):
        return given
    return given.encode() if str(given).startswith("-----BEGIN") else Path(given).read_bytes()
