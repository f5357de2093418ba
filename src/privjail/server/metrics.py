"""Counters for Prometheus. They count requests, never anything about data."""

from __future__ import annotations

import bisect
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from privjail.errors import DPError
from privjail.faults import check_listen
from privjail.server.memory import resident

BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 120.0)  # seconds


class Metrics:
    """How many releases were answered and refused, how long requests took, and what was spent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = {"requests": 0, "releases": 0, "refused": 0, "failed": 0}
        self._refusals: Counter[str] = Counter()  # by kind
        self._seconds: dict[str, list[int]] = {}  # by call: how many took at most so long
        self._total: dict[str, float] = {}
        self.more: Callable[[], list[str]] = list  # further lines: budgets, queue
        self.ready = True  # whether new requests are taken
        self.whole: Callable[[], None] = lambda: None  # raises if the ledger cannot be read

    def count(self, what: str, by: int = 1) -> None:
        with self._lock:
            self._counts[what] += by

    def refused(self, kind: str) -> None:
        with self._lock:
            self._refusals[kind] += 1

    def took(self, call: str, seconds: float) -> None:
        with self._lock:
            buckets = self._seconds.setdefault(call, [0] * (len(BUCKETS) + 1))
            buckets[bisect.bisect_left(BUCKETS, seconds)] += 1
            self._total[call] = self._total.get(call, 0.0) + seconds

    def _histogram(self) -> Iterator[str]:
        with self._lock:
            seconds = {call: list(buckets) for call, buckets in self._seconds.items()}
            total = dict(self._total)
        if seconds:
            yield "# TYPE privjail_request_seconds histogram"
        for call, buckets in seconds.items():
            below = 0
            for most, n in zip((*map(str, BUCKETS), "+Inf"), buckets, strict=True):
                below += n
                yield f'privjail_request_seconds_bucket{{call="{call}",le="{most}"}} {below}'
            yield f'privjail_request_seconds_sum{{call="{call}"}} {total[call]:.6f}'
            yield f'privjail_request_seconds_count{{call="{call}"}} {below}'

    def released(self, asks: int) -> None:
        self.count("releases", asks)

    def text(self, sessions: int) -> str:
        with self._lock:
            counts, refusals = dict(self._counts), dict(self._refusals)
        lines = [f"# TYPE privjail_{name}_total counter\nprivjail_{name}_total {n}" for name, n in counts.items()]
        lines += ["# TYPE privjail_sessions gauge", f"privjail_sessions {sessions}"]
        if refusals:
            lines.append("# TYPE privjail_refusals_total counter")
            lines += [f'privjail_refusals_total{{kind="{kind}"}} {n}' for kind, n in sorted(refusals.items())]
        lines += ["# TYPE privjail_memory_bytes gauge", f"privjail_memory_bytes {resident()}"]
        return "\n".join([*lines, *self._histogram(), *self.more()]) + "\n"


def label(text: str) -> str:
    """A text as the value of a label."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def gauges(service: Any) -> list[str]:
    """What was spent of each data set, how many requests wait and run, how many data sets are in memory."""
    state = service.ledger.state
    waiting, running = service.workers.busy()
    lines = ["# TYPE privjail_waiting gauge", f"privjail_waiting {waiting}"]
    lines += ["# TYPE privjail_running gauge", f"privjail_running {running}"]
    lines += ["# TYPE privjail_ledger_entries gauge", f"privjail_ledger_entries {service.ledger.entries}"]
    lines += ["# TYPE privjail_held_datasets gauge", f"privjail_held_datasets {len(service.catalogue.frames)}"]
    lines += ["# TYPE privjail_spent gauge", "# TYPE privjail_budget gauge"]
    for name, entry in list(state.datasets.items()):
        scope = ("dataset", "", name)
        limit = state.limits.get(scope)
        if not entry.removed and limit:
            lines.append(f'privjail_spent{{dataset="{label(name)}"}} {float(state.total(scope)[0]):.12g}')
            lines.append(f'privjail_budget{{dataset="{label(name)}"}} {float(limit[0]):.12g}')
    return lines


def _ready(metrics: Metrics) -> tuple[int, bytes]:
    """Whether requests should be sent here: not while the jail ends, nor without its ledger."""
    if not metrics.ready:
        return 503, b"ending\n"
    try:
        metrics.whole()
    except DPError:
        return 503, b"the ledger cannot be read\n"
    return 200, b"ok\n"


def serve_metrics(metrics: Metrics, sessions: Any, host: str, port: int) -> ThreadingHTTPServer:
    """GET /metrics, /health and /ready on a port of their own."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:  # noqa: N802
            status, body = self._found()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _found(self) -> tuple[int, bytes]:
            match self.path:
                case "/metrics":
                    return 200, metrics.text(len(sessions)).encode()
                case "/health":  # the process answers
                    return 200, b"ok\n"
                case "/ready":
                    return _ready(metrics)
            return 404, b""

        def log_message(self, format: str, *args: Any) -> None:
            """Requests for metrics are not logged."""

    check_listen(host, port, "/metrics")
    server = ThreadingHTTPServer((host, port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
