"""The gRPC server: who you are, then what you ask."""

from __future__ import annotations

import datetime
import gc
import json
import logging
import secrets
import threading
from collections.abc import Iterator
from concurrent import futures
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from privjail.errors import DPError, InternalError
from privjail.jail import privjail_pb2 as pb
from privjail.jail.catalogue import Catalogue
from privjail.jail.decode import parse
from privjail.jail.ledger import DurableLedger
from privjail.jail.limits import Busy, Limits
from privjail.jail.metrics import serve_metrics
from privjail.jail.rpc import grpc
from privjail.jail.service import Service, on_clock
from privjail.jail.sessions import Sessions
from privjail.jail.store import open_store
from privjail.jail.streams import Streams
from privjail.jail.tokens import token_hash
from privjail.mechanisms.noise import Noise

log = logging.getLogger("privjail.jail")
LONGEST = 1800  # characters of each part of an error: all of it must fit into one header
STATUS = {Busy: grpc.StatusCode.UNAVAILABLE, InternalError: grpc.StatusCode.INTERNAL}
NOBODY = DPError("who you are is not known here", do="check the token")
CALLS = {
    "Open": (pb.OpenRequest, "open"),
    "Close": (pb.CloseRequest, "close"),
    "Describe": (pb.DescribeRequest, "describe"),
    "Release": (pb.ReleaseRequest, "release"),
    "Budget": (pb.BudgetRequest, "budget"),
}


@dataclass(frozen=True)
class Options:
    """How a jail is served."""

    host: str = "127.0.0.1"
    port: int = 7443
    workers: int = 8
    insecure_loopback: bool = False
    mutual_tls: bool = False
    time_quantum: float = 0.0
    metrics_port: int | None = None
    ledger_url: str | None = None
    limits: Limits = Limits()


def spelled(error: DPError) -> str:
    """An error as the wire carries it. What the client wrote may be quoted in it, but not at any length."""

    def short(text: str | None) -> str | None:
        if text is None or len(json.dumps(text)) <= LONGEST:
            return text
        return text[: LONGEST // 12] + "…"

    return json.dumps([type(error).__name__, short(error.what), short(error.plan), short(error.do)])


def _serialized(message: Any) -> bytes:
    body: bytes = message.SerializeToString()
    return body


class Caller:
    """Who calls, by what came with the call: it stays the same for as long as the call is open."""

    def __init__(self, context: Any) -> None:
        self.context = context

    @cached_property
    def digest(self) -> str | None:
        """The hash of the token, if one came."""
        given = dict(self.context.invocation_metadata()).get("authorization", "")
        if not isinstance(given, str) or not given.startswith("Bearer ") or len(given) > 1000:
            return None
        return token_hash(given.removeprefix("Bearer "))

    @cached_property
    def certified(self) -> str | None:
        """The name in the certificate that the connection was made with."""
        names = self.context.auth_context().get("x509_common_name", [])
        return names[0].decode() if names else None


class Handler(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Every call goes the same way: authenticate, answer, and turn errors into quiet ones."""

    def __init__(self, service: Service, options: Options) -> None:
        self._service, self._options = service, options
        self._working = threading.BoundedSemaphore(options.workers)
        self.streams = Streams(options.limits)

    def service(self, details: Any) -> Any:
        _, package, method = details.method.split("/") if details.method.count("/") == 2 else ("", "", "")
        if (package, method) == ("privjail.v1.Jail", "Releases"):
            return grpc.stream_stream_rpc_method_handler(self._stream, response_serializer=_serialized)
        if package != "privjail.v1.Jail" or method not in CALLS:
            return None
        message, name = CALLS[method]

        def call(body: bytes, context: Any) -> Any:
            return on_clock(self._options.time_quantum, lambda: self._call(name, message, body, context))

        # The bytes are read only after it is known who sent them.
        return grpc.unary_unary_rpc_method_handler(call, response_serializer=_serialized)

    def _call(self, name: str, message: Any, body: bytes, context: Any) -> Any:
        reply, refusal = self._attempt(name, message, body, Caller(context))
        self._service.tidy()
        return reply if refusal is None else context.abort(*refusal)

    def _stream(self, bodies: Iterator[bytes], context: Any) -> Iterator[pb.Released]:
        """Releases one after another. Who asks is looked at again each time: a token can be taken back."""
        clock, caller = self._options.time_quantum, Caller(context)
        user = on_clock(clock, lambda: self._user(caller))
        if user is None:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, spelled(NOBODY))
        with self.streams.place(user, context) as place:
            for body in bodies:
                place.busy = True
                released = on_clock(clock, lambda body=body: self._next(body, caller))  # type: ignore[misc]
                try:
                    yield released
                finally:
                    self._service.tidy()
                if released.refusal.status == grpc.StatusCode.UNAUTHENTICATED.name:
                    return  # who may ask nothing more holds no thread
                place.busy = False

    def _next(self, body: bytes, caller: Caller) -> pb.Released:
        reply, refusal = self._attempt("release", pb.ReleaseRequest, body, caller)
        if self._options.time_quantum > 0:
            self._service.tidy()  # after the answer it would put off the clock of the next one
        if refusal is None:
            return pb.Released(reply=reply)
        return pb.Released(refusal=pb.Refusal(status=refusal[0].name, details=refusal[1]))

    def _attempt(self, name: str, message: Any, body: bytes, caller: Caller) -> tuple[Any, tuple[Any, str] | None]:
        """A reply, or a status and what is said with it."""
        metrics = self._service.metrics
        metrics.count("requests")
        error: DPError
        try:
            user = self._user(caller)
            if user is not None:
                with self._working:
                    return getattr(self._service, name)(parse(message, body), user), None
            metrics.count("refused")
            error, status = NOBODY, grpc.StatusCode.UNAUTHENTICATED
        except DPError as e:
            metrics.count("failed" if isinstance(e, InternalError) else "refused")
            error, status = e, STATUS.get(type(e), grpc.StatusCode.FAILED_PRECONDITION)
        except BaseException as e:  # also an engine's panic, which is no Exception
            # Whatever went wrong inside stays inside: its text may hold values.
            metrics.count("failed")
            log.error("internal error in %s: %s", name, type(e).__name__)
            error, status = InternalError("the jail failed on this request"), grpc.StatusCode.INTERNAL
        return None, (status, spelled(error))

    def _user(self, caller: Caller) -> str | None:
        """The user that a token belongs to, if it is valid now."""
        digest, ledger = caller.digest, self._service.ledger
        if digest is None:
            return None
        now = datetime.datetime.now(datetime.UTC)
        ledger.refresh()
        for user in list(ledger.state.users.values()):
            if secrets.compare_digest(user.token, digest) and user.active(now):
                if self._options.mutual_tls and caller.certified != user.name:
                    return None
                return user.name
        return None


class Sweeper:
    """Ends idle sessions, also while nobody calls, and gives back the memory of those that ended."""

    def __init__(self, sessions: Sessions, streams: Streams, idle_seconds: float) -> None:
        self._sessions, self._streams, self._every = sessions, streams, min(30.0, idle_seconds / 4)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        before = 0
        while not self._stopped.wait(self._every):
            self._sessions.sweep()
            self._sessions.tidy()
            self._streams.sweep()
            now = len(self._sessions)
            if now < before:
                gc.collect()  # plans refer to themselves, so that counting references does not free them
            before = now

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()


@dataclass
class Running:
    """A served jail."""

    server: Any
    service: Service
    port: int
    sweeper: Sweeper
    streams: Streams
    metrics: Any = None

    def wait(self) -> None:
        self.server.wait_for_termination()

    def stop(self) -> None:
        stopped = self.server.stop(grace=2)
        self.streams.sweep(idle_seconds=0.0)  # nobody waits for streams on which nothing happens
        stopped.wait()
        self.sweeper.stop()
        if self.metrics is not None:
            self.metrics.shutdown()
            self.metrics.server_close()
        self.service.ledger.close()


def start(folder: Path, options: Options, noise: Any = None) -> Running:
    """Verify the ledger and serve."""
    if options.insecure_loopback and options.host not in ("127.0.0.1", "::1", "localhost"):
        raise DPError("without TLS a jail is served on the loopback address only", do="leave out --insecure-loopback")
    gc.set_threshold(100_000, 10, 10)  # most objects of a plan go before anybody would look for cycles
    Noise().laplace(1.0, 1)  # the samplers are loaded now: what is loaded while a clock runs may be loaded by half
    ledger = DurableLedger(open_store(folder, options.ledger_url))
    service = Service(ledger, Catalogue(ledger, folder), options.limits, noise)
    limits, handler = options.limits, Handler(service, options)
    server = grpc.server(
        # An open stream holds a thread, which sleeps; no more than `workers` of them are at work.
        futures.ThreadPoolExecutor(options.workers + limits.sessions),
        options=[
            ("grpc.max_receive_message_length", limits.message_bytes),
            ("grpc.so_reuseport", 0),
            ("grpc.keepalive_time_ms", 60_000),  # a stream whose client is gone without a word ends
            ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        ],
        maximum_concurrent_rpcs=256 + limits.sessions,
    )
    server.add_generic_rpc_handlers((handler,))
    address = f"{options.host}:{options.port}"
    if options.insecure_loopback:
        port = server.add_insecure_port(address)
    else:
        port = server.add_secure_port(address, _credentials(folder, options.mutual_tls))
    server.start()
    metrics = None
    if options.metrics_port is not None:
        metrics = serve_metrics(service.metrics, service.sessions, options.host, options.metrics_port)
    sweeper = Sweeper(service.sessions, handler.streams, limits.idle_seconds)
    return Running(server, service, port, sweeper, handler.streams, metrics)


def _credentials(folder: Path, mutual: bool) -> Any:
    pair = ((folder / "jail.key").read_bytes(), (folder / "jail.crt").read_bytes())
    users = (folder / "users.crt").read_bytes() if mutual else None
    return grpc.ssl_server_credentials([pair], users, mutual)
