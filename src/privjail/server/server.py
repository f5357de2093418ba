"""The gRPC server: authenticates each call and passes it to the service."""

from __future__ import annotations

import datetime
import gc
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from privjail.errors import BudgetExceeded, DPError, EngineFailed, InternalError
from privjail.faults import LOOPBACK
from privjail.mechanisms.noise import Noise
from privjail.server import rotation
from privjail.server.alerts import Alerts
from privjail.server.authentication import Caller, SharedRefresh, authenticate, digest_of
from privjail.server.calls import Call, Calls
from privjail.server.catalogue import Catalogue
from privjail.server.connections import Connections, most_connections
from privjail.server.holdings import EngineOptions, Holdings
from privjail.server.ledger.anchor import NO_RUN, machine_run
from privjail.server.ledger.ledger import DurableLedger
from privjail.server.ledger.state import State
from privjail.server.ledger.store import open_store
from privjail.server.limits import Busy, LimitError, Limits
from privjail.server.metrics import gauges, serve_metrics
from privjail.server.rejection import RejectionLog, rejection
from privjail.server.security_log import SecurityLog
from privjail.server.service import Service, on_clock
from privjail.server.sessions import Certificates, SessionError, Sessions
from privjail.server.streams import Streams
from privjail.server.wire import privjail_pb2 as pb
from privjail.server.wire.decode import parse
from privjail.server.wire.rpc import grpc

log = logging.getLogger("privjail.jail")
IDLE_LEASES = 300.0  # seconds without a charge after which leases end
LONGEST = 1800  # characters of each part of an error: the whole error must fit into one header
STATUS = {Busy: grpc.StatusCode.UNAVAILABLE, InternalError: grpc.StatusCode.INTERNAL,
          EngineFailed: grpc.StatusCode.INTERNAL}  # fmt: skip
NOT_NOW = Busy("tokens cannot be checked now", do="try again later")
JUST_ADDED = Busy("this token has just been added", do="try again now")
TOO_MANY_CALLS = Busy("too many calls of yours are open", do="wait for one of them, or close a session")
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
    metrics_host: str = "127.0.0.1"
    ledger_url: str | None = None
    limits: Limits = Limits()
    engines: EngineOptions = EngineOptions()
    alerts: dict[str, Any] = field(default_factory=dict)  # in which ways: see alerts.py
    certify: Callable[[], Certificates] | None = None  # for each session, if certificates are kept
    alert_seconds: float = 5.0


def spelled(error: DPError) -> str:
    """An error as it is sent. It may quote what the client sent, cut to a limited length."""

    def short(text: str | None) -> str | None:
        if text is None or len(json.dumps(text)) <= LONGEST:
            return text
        return text[: LONGEST // 12] + "…"

    return json.dumps([type(error).__name__, short(error.what), short(error.plan), short(error.do)])


def _serialized(message: Any) -> bytes:
    body: bytes = message.SerializeToString()
    return body


class Handler(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Handles every call in the same way: authenticate, answer, and replace internal errors by ones without details.

    gRPC calls ``service`` with the headers of a call, in one thread for all calls, before the call gets its own thread.
    So this must be fast. A call without a valid token, or one too many, is refused by the two threads of ``_refusing``,
    and its message is not read. All calls are declared as streams, because gRPC reads the message of a unary call
    before it calls us; on the wire, a call with one message looks the same as a stream of one.
    """

    def __init__(self, service: Service, options: Options, security: SecurityLog | None = None) -> None:
        self._service, self._options = service, options
        self._refresh = SharedRefresh(service.ledger)
        self._refusing = futures.ThreadPoolExecutor(2)
        self.streams = Streams(options.limits)
        self.calls = Calls(options.limits)
        self.connections = Connections(options.limits)
        self._rejections = RejectionLog()
        self.security = security or SecurityLog(None, "jail")

    def service(self, details: Any) -> Any:
        _, package, method = details.method.split("/") if details.method.count("/") == 2 else ("", "", "")
        if package != "privjail.v1.Jail" or method not in (*CALLS, "Releases"):
            return None
        digest = digest_of(details.invocation_metadata)
        user = authenticate(self._service.ledger.state, digest)
        if user is None:
            return self._refusal(partial(self._refuse_stranger, time.monotonic()))
        call = self.calls.admit(user.name)
        if call is None:
            return self._refusal(self._refuse_one_more)
        if method == "Releases":
            stream = partial(self._stream, call)
            return grpc.stream_stream_rpc_method_handler(stream, response_serializer=_serialized)
        unary = partial(self._unary, call, *CALLS[method])
        return grpc.stream_unary_rpc_method_handler(unary, response_serializer=_serialized)

    def _refusal(self, refuse: Callable[[Caller], tuple[Any, DPError]]) -> Any:
        """A handler that ends the call with the error that ``refuse`` returns."""

        def behaviour(_: Iterator[bytes], context: Any) -> None:
            self._service.metrics.count("requests")
            self._service.metrics.count("refused")
            status, error = refuse(Caller(context))
            context.abort(status, spelled(error))

        behaviour.experimental_thread_pool = self._refusing  # type: ignore[attr-defined]
        return grpc.stream_unary_rpc_method_handler(behaviour)

    def _refuse_stranger(self, arrived: float, caller: Caller) -> tuple[Any, DPError]:
        if caller.digest is not None:
            try:
                self._refresh.since(arrived)
            except Exception as e:  # callers without a valid token are not told what is wrong with the ledger
                log.error("the ledger could not be read for an unknown token: %s", type(e).__name__)
                return grpc.StatusCode.UNAVAILABLE, NOT_NOW
            if authenticate(self._service.ledger.state, caller.digest) is not None:
                return grpc.StatusCode.UNAVAILABLE, JUST_ADDED
        return grpc.StatusCode.UNAUTHENTICATED, self._rejected(caller)

    def _refuse_one_more(self, caller: Caller) -> tuple[Any, DPError]:
        return grpc.StatusCode.UNAVAILABLE, TOO_MANY_CALLS

    def _unary(self, call: Call, message: Any, name: str, bodies: Iterator[bytes], context: Any) -> Any:
        try:
            caller = self._entered(call, context)
            for body in self.calls.messages(call, bodies, context):
                return on_clock(self._options.time_quantum, partial(self._call, name, message, body, caller))
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the call has no message")
        finally:
            self.calls.end(call)

    def _entered(self, call: Call, context: Any) -> Caller:
        """Check the caller's certificate and note the connection, before the first message is read."""
        caller = Caller(context)
        if not self._certified(caller, call.user):
            context.abort(grpc.StatusCode.UNAUTHENTICATED, spelled(self._rejected(caller)))
        self.connections.authenticated(context.peer(), call.user)
        return caller

    def _certified(self, caller: Caller, user: str) -> bool:
        return not self._options.mutual_tls or caller.certified == user

    def _call(self, name: str, message: Any, body: bytes, caller: Caller) -> Any:
        reply, refusal = self._attempt(name, message, body, caller)
        self._service.free_some()
        return reply if refusal is None else caller.context.abort(*refusal)

    def _stream(self, call: Call, bodies: Iterator[bytes], context: Any) -> Iterator[pb.Released]:
        """Releases, one after another. The token is checked again for each of them: it may have been revoked."""
        clock = self._options.time_quantum
        try:
            caller = self._entered(call, context)
            with self.streams.place(call.user, context) as place:
                for body in self.calls.messages(call, bodies, context):
                    place.busy = True
                    released = on_clock(clock, lambda body=body: self._next(body, caller))  # type: ignore[misc]
                    try:
                        yield released
                    finally:
                        self._service.free_some()
                    if released.refusal.status == grpc.StatusCode.UNAUTHENTICATED.name:
                        return  # a revoked user must not keep a thread
                    place.busy = False
        finally:
            self.calls.end(call)

    def _next(self, body: bytes, caller: Caller) -> pb.Released:
        reply, refusal = self._attempt("release", pb.ReleaseRequest, body, caller)
        if self._options.time_quantum > 0:
            self._service.free_some()  # after the answer, it would delay the next one's clock
        if refusal is None:
            return pb.Released(reply=reply)
        return pb.Released(refusal=pb.Refusal(status=refusal[0].name, details=refusal[1]))

    def _attempt(self, name: str, message: Any, body: bytes, caller: Caller) -> tuple[Any, tuple[Any, str] | None]:
        """A reply, or an error as status and text."""
        metrics, began = self._service.metrics, time.monotonic()
        metrics.count("requests")
        error: DPError
        user: str | None = None
        try:
            user = self._user(caller)
            if user is not None:
                reply = getattr(self._service, name)(parse(message, body), user)
                metrics.took(name, time.monotonic() - began)
                return reply, None
            metrics.count("refused")
            error, status = self._rejected(caller), grpc.StatusCode.UNAUTHENTICATED
        except DPError as e:
            metrics.count("failed" if isinstance(e, InternalError) else "refused")
            self._note(e, user, name)
            error, status = e, STATUS.get(type(e), grpc.StatusCode.FAILED_PRECONDITION)
        except BaseException as e:  # also an engine's panic, which is no Exception
            # No details are sent or logged: the text of an internal error may contain values.
            metrics.count("failed")
            log.error("internal error in %s: %s", name, type(e).__name__)
            error, status = InternalError("the jail failed on this request"), grpc.StatusCode.INTERNAL
        return None, (status, spelled(error))

    def _note(self, error: DPError, user: str | None, call: str) -> None:
        """A refusal, for the security log. Only limits say more than their kind: other errors may quote a program."""
        kind = type(error).__name__
        self._service.metrics.refused(kind)
        if not isinstance(error, (Busy, SessionError)):
            what = error.what if isinstance(error, (BudgetExceeded, LimitError)) else None
            limit = "limit hit" if what else "failed" if isinstance(error, InternalError) else "refused"
            self.security.write(limit, user=user, call=call, error=kind, what=what)

    def _rejected(self, caller: Caller) -> DPError:
        """The error for a caller whose token is not accepted. The log gets the details."""
        now = datetime.datetime.now(datetime.UTC)
        rejected = rejection(self._service.ledger.state, caller.digest, now)
        self._rejections.write(rejected, caller.context.peer())
        self._service.metrics.refused("token")
        kind = f"token {rejected.reason.name.lower()}"
        self.security.write(kind, user=rejected.user, source=caller.context.peer())
        return rejected.error

    def _user(self, caller: Caller) -> str | None:
        """The calling user, by the newest state of the ledger: a token can be revoked at any time."""
        self._service.ledger.refresh()
        user = authenticate(self._service.ledger.state, caller.digest)
        return user.name if user is not None and self._certified(caller, user.name) else None


class Periodic:
    """Repeats some work in its own thread, also while no calls come."""

    def __init__(self, seconds: float, work: Callable[[], None]) -> None:
        self._seconds, self._work = seconds, work
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.wait(self._seconds):
            try:
                self._work()
            except Exception as e:  # go on: it may succeed next time, and without it the jail would run out of memory
                log.error("periodic work failed: %s", type(e).__name__)

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()


class Sweeper:
    """Ends idle sessions and streams, and frees their memory."""

    def __init__(self, sessions: Sessions, streams: Streams) -> None:
        self._sessions, self._streams, self._ended = sessions, streams, 0

    def sweep(self) -> None:
        self._sessions.sweep()
        self._sessions.free_some()
        self._streams.sweep()
        ended = self._sessions.ended
        if ended != self._ended:
            gc.collect()  # plans contain reference cycles, which reference counting does not free
            gc.collect()  # what side tables held for those plans
        self._ended = ended


class IdleLeases:
    """Ends leases when nothing was charged between two looks: a loss of power then forfeits nothing."""

    def __init__(self, ledger: DurableLedger) -> None:
        self._ledger, self._seen = ledger, -1

    def look(self) -> None:
        now = self._ledger.state.releases
        if now == self._seen:
            self._ledger.end_leases()
        self._seen = now


@dataclass
class Running:
    """A served jail."""

    server: Any
    service: Service
    port: int
    handler: Handler
    periodic: list[Periodic]
    metrics: Any = None

    def wait(self) -> None:
        self.server.wait_for_termination()

    def stop(self, drain: float = 2) -> None:
        """End: no new calls are taken, and those that run have so many seconds to be answered."""
        self.service.metrics.ready = False
        stopped = self.server.stop(grace=drain)
        ended = False
        while not ended:  # a stream is idle again when its request is answered: idle ones must not delay the stop
            self.handler.streams.sweep(idle_seconds=0.0)
            self.handler.calls.sweep(seconds=0.0)
            ended = stopped.wait(0.05)
        for each in self.periodic:
            each.stop()
        if self.metrics is not None:
            self.metrics.shutdown()
            self.metrics.server_close()
        self.handler.security.write("stopped")
        try:
            self.service.ledger.end_leases()
        except DPError as e:  # a ledger that cannot be written: they stay open, as after a kill
            log.error("leases could not be ended: %s", e.what)
        self.service.ledger.close()


def start(folder: Path, options: Options, noise: Any = None) -> Running:
    """Verify the ledger and serve."""
    if options.insecure_loopback and options.host not in LOOPBACK:
        raise DPError("without TLS a jail is served on the loopback address only", do="leave out --insecure-loopback")
    # Reference counting frees most objects of a plan; frequent cycle collection wastes time.
    gc.set_threshold(100_000, 10, 10)
    Noise().laplace(1.0, 1)  # load the samplers now: a deadline could interrupt their import later
    if options.ledger_url is None and not machine_run():
        log.warning(NO_RUN)
    ledger = DurableLedger(open_store(folder, options.ledger_url))
    catalogue = Catalogue(ledger, folder, Holdings(options.engines))
    service = Service(ledger, catalogue, options.limits, noise, options.workers)
    service.sessions.certify = options.certify  # before the first session is opened: it keeps what it is given then
    security = SecurityLog(folder, "jail")
    limits, handler = options.limits, Handler(service, options, security)
    service.metrics.more, service.metrics.whole = partial(gauges, service), ledger.refresh
    server = grpc.server(
        futures.ThreadPoolExecutor(limits.calls),  # each open call holds a thread, which mostly sleeps
        options=[
            ("grpc.max_receive_message_length", limits.message_bytes),
            ("grpc.so_reuseport", 0),
            ("grpc.keepalive_time_ms", 60_000),  # ends the stream of a client that is gone without closing it
            ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
            ("grpc.max_allowed_incoming_connections", most_connections()),
        ],
    )
    server.add_generic_rpc_handlers((handler,))
    address = f"{options.host}:{options.port}"
    if options.insecure_loopback:
        port = server.add_insecure_port(address)
    else:
        port = server.add_secure_port(address, rotation.credentials(folder, options.mutual_tls))
    metrics = None
    if options.metrics_port is not None:
        metrics = serve_metrics(service.metrics, service.sessions, options.metrics_host, options.metrics_port)
    server.start()
    sweeper = Sweeper(service.sessions, handler.streams)

    def end_half_open() -> None:
        handler.calls.sweep()
        handler.connections.sweep(port)

    def newest() -> State:
        ledger.refresh()
        return ledger.state

    alerts = Alerts(folder, options.alerts, newest, security)
    periodic = [
        Periodic(min(30.0, limits.idle_seconds / 4), sweeper.sweep),
        Periodic(0.5, end_half_open),
        Periodic(options.alert_seconds, alerts.look),
        Periodic(IDLE_LEASES, IdleLeases(ledger).look),
    ]
    security.write("started", port=port)
    return Running(server, service, port, handler, periodic, metrics)
