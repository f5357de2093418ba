"""Calls between the parties: gRPC with TLS, certificates pinned by the study file."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from privjail.client_errors import error_of
from privjail.encrypted.probe import NO_TLS, OTHER, RIGHT, who_answers
from privjail.encrypted.study import Server
from privjail.errors import DPError, InternalError, PlanError

log = logging.getLogger("privjail.encrypted")
LARGEST = 32 * 2**20  # bytes of one message: a batch of 512 records of 4096 bins has 29 million
# Bytes of it that are parsed, for empty parts of two bytes become objects of many. 512 owners' names are 0.4 MiB.
PARSED = 2**20
AT_ONCE = 16  # calls: more are told to try again, so that nobody fills the memory with messages
PACKAGE = "privjail.encrypted.v1"
PATIENCE = 20.0  # seconds to keep trying while a server restarts
OPTIONS = [
    ("grpc.max_receive_message_length", LARGEST),
    ("grpc.max_send_message_length", LARGEST),
    ("grpc.so_reuseport", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
]


class CheckLost(DPError):
    """A check was interrupted by a restart, and must begin again."""


class RecordsMoved(DPError):
    """Records were added since the sum was masked: it must be masked again."""


@dataclass(frozen=True)
class Call:
    """One method of a service: what it takes, what it does, whether it answers in parts, whether it is framed, and how
    many bytes of it are parsed at most."""

    request: Any
    answer: Callable[..., Any]
    parts: bool = False
    framed: bool = False
    most: int = PARSED


class Handler(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Errors that speak to the caller go out; whatever else went wrong stays inside."""

    def __init__(self, service: str, calls: dict[str, Call]) -> None:
        self._calls = {f"/{PACKAGE}.{service}/{name}": call for name, call in calls.items()}

    def service(self, details: Any) -> Any:
        call = self._calls.get(details.method)
        if call is None:
            return None
        make = grpc.unary_stream_rpc_method_handler if call.parts else grpc.unary_unary_rpc_method_handler
        run = self._parts(call) if call.parts else self._whole(call)
        return make(run, response_serializer=lambda m: m.SerializeToString())

    def _whole(self, call: Call) -> Callable[[bytes, Any], Any]:
        def run(body: bytes, context: Any) -> Any:
            try:
                if not call.framed:
                    return call.answer(parse(call, body))
                head, behind = unframed(body)
                return call.answer(parse(call, head), behind)
            except BaseException as e:
                return _refuse(context, e)

        return run

    def _parts(self, call: Call) -> Callable[[bytes, Any], Iterator[Any]]:
        def run(body: bytes, context: Any) -> Iterator[Any]:
            try:
                yield from call.answer(parse(call, body))
            except GeneratorExit:
                raise
            except BaseException as e:
                _refuse(context, e)

        return run


def _refuse(context: Any, e: BaseException) -> Any:
    from privjail.server.server import spelled

    if isinstance(e, DPError):
        return context.abort(grpc.StatusCode.FAILED_PRECONDITION, spelled(e))
    log.error("internal error: %s", type(e).__name__, exc_info=e if log.isEnabledFor(logging.DEBUG) else None)
    return context.abort(grpc.StatusCode.INTERNAL, spelled(InternalError("the server failed on this request")))


@dataclass
class Running:
    """A served service."""

    server: Any
    port: int
    close: Callable[[], None]

    def stop(self) -> None:
        self.server.stop(grace=2).wait()
        self.close()


def serve(
    name: str, calls: dict[str, Call], address: str, pair: tuple[bytes, bytes], peer: bytes | None,
    close: Callable[[], None], workers: int = 4,
) -> Running:  # fmt: skip
    """Serve a service. With `peer`, only the holder of that certificate may call."""
    server = grpc.server(futures.ThreadPoolExecutor(workers), options=OPTIONS, maximum_concurrent_rpcs=AT_ONCE)
    server.add_generic_rpc_handlers((Handler(name, calls),))
    credentials = grpc.ssl_server_credentials([pair], peer, peer is not None)
    try:
        port = server.add_secure_port(address, credentials)
    except RuntimeError:
        close()
        raise DPError(f"{address} cannot be served: another program uses it, or it is not this machine's") from None
    server.start()
    return Running(server, port, close)


def parse(call: Call, body: bytes | memoryview) -> Any:
    """A call's message from its bytes."""
    if len(body) > call.most:
        raise PlanError(f"a message of this kind has at most {call.most} bytes, this one {len(body)}")
    try:
        return call.request.FromString(bytes(body))
    except (DecodeError, RecursionError):
        raise PlanError("the message cannot be read") from None


def framed(message: Any, parts: list[Any]) -> bytes:
    """A message and long bytes behind it, which are copied once here, and not at all by who reads them."""
    head = message.SerializeToString()
    return b"".join([len(head).to_bytes(8, "little"), head, bytes(-len(head) % 8), *parts])


def unframed(body: bytes) -> tuple[memoryview, memoryview]:
    """The message's bytes, and those behind it."""
    size = int.from_bytes(body[:8], "little")
    behind = 8 + size + -size % 8
    if behind > len(body):
        raise PlanError("the message is cut off")
    return memoryview(body)[8 : 8 + size], memoryview(body)[behind:]


class Caller:
    """The other side: calls a server whose certificate is known, and waits for one that restarts."""

    def __init__(
        self, service: str, where: Server, pair: tuple[bytes, bytes] | None = None, patience: float = PATIENCE
    ) -> None:
        key, certificate = pair or (None, None)
        credentials = grpc.ssl_channel_credentials(where.certificate.encode(), key, certificate)
        self._channel = grpc.secure_channel(where.address, credentials, OPTIONS)
        self._service, self._where = service, where
        self._patience = patience
        self.sent = self.received = 0

    def call(self, method: str, request: Any, reply: Any, patience: float | None = None) -> Any:
        """One call. Every request may be sent twice: servers answer a repeated one as they did before."""
        call = self._channel.unary_unary(f"/{PACKAGE}.{self._service}/{method}")
        body = request if isinstance(request, bytes) else request.SerializeToString()
        deadline = time.monotonic() + (self._patience if patience is None else patience)
        while True:
            try:
                answer = call(body, timeout=600)
                self.sent, self.received = self.sent + len(body), self.received + len(answer)
                return reply.FromString(answer)
            except grpc.RpcError as e:
                error = self._final(e, deadline)
            if error is not None:
                raise error
            time.sleep(0.1)

    def parts(self, method: str, request: Any, reply: Any) -> Iterator[Any]:
        """A call that is answered in parts."""
        call = self._channel.unary_stream(f"/{PACKAGE}.{self._service}/{method}")
        error = None
        try:
            for body in call(request.SerializeToString(), timeout=3600, wait_for_ready=True):
                yield reply.FromString(body)
        except grpc.RpcError as e:
            error = self._final(e, 0.0)
        if error is not None:
            raise error

    def _final(self, e: Any, deadline: float) -> DPError | None:
        """The error to raise, or None to try again."""
        from privjail.server.channel import certificate_mismatch

        if e.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and "Concurrent RPC limit" in (e.details() or ""):
            if time.monotonic() < deadline:
                return None
            return DPError(f"{self._where.address} is busy", do="try again later")
        if e.code() is grpc.StatusCode.UNAVAILABLE:
            if certificate_mismatch(self._where.address, self._where.certificate.encode(), e) is not None:
                return self._unreachable(OTHER)
            if time.monotonic() < deadline:
                return None
            return self._unreachable(who_answers(self._where))
        for kind in (CheckLost, RecordsMoved):
            if f'"{kind.__name__}"' in (e.details() or ""):
                return kind("the other server asks to begin again")
        return self._said(e)

    def _unreachable(self, who: str) -> DPError:
        address, newest = self._where.address, "ask the study's operators for the newest study file"
        if who == OTHER:
            return DPError(f"another server answers at {address}: it does not show the study's certificate", do=newest)
        if who == NO_TLS:
            return DPError(
                f"what answers at {address} is not the study's server, or is just starting: it speaks no TLS",
                do=f"try again later, or {newest}",
            )
        if who == RIGHT:
            do = f"try again later; if it does not help, {newest}"
            return DPError(f"the study's server is at {address} and does not take our calls", do=do)
        return DPError(f"nobody answers at {address}", do="start the server, or try again later")

    def _said(self, e: Any) -> DPError:
        """The server's own words; or ours, if the call did not come to that."""
        try:
            json.loads(e.details())
        except (ValueError, TypeError):
            if e.code() is grpc.StatusCode.RESOURCE_EXHAUSTED:
                return DPError(f"the message is too large for {self._where.address}", do="submit smaller batches")
            return DPError(f"{self._where.address} did not answer ({e.code().name.lower()})", do="try again later")
        return error_of(e)

    def close(self) -> None:
        self._channel.close()
