"""Counters for Prometheus. They count requests, never anything about data."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from privjail.faults import check_listen


class Metrics:
    """How many releases were answered and refused."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = {"requests": 0, "releases": 0, "refused": 0, "failed": 0}

    def count(self, what: str, by: int = 1) -> None:
        with self._lock:
            self._counts[what] += by

    def released(self, asks: int) -> None:
        self.count("releases", asks)

    def text(self, sessions: int) -> str:
        with self._lock:
            counts = dict(self._counts)
        lines = [f"# TYPE privjail_{name}_total counter\nprivjail_{name}_total {n}" for name, n in counts.items()]
        return "\n".join([*lines, "# TYPE privjail_sessions gauge", f"privjail_sessions {sessions}"]) + "\n"


def serve_metrics(metrics: Metrics, sessions: Any, host: str, port: int) -> ThreadingHTTPServer:
    """GET /metrics on a port of its own."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:  # noqa: N802
            body = metrics.text(len(sessions)).encode() if self.path == "/metrics" else b""
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Requests for metrics are not logged."""

    check_listen(host, port, "/metrics")
    server = ThreadingHTTPServer((host, port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
