"""A small HTTP server for one page and a few addresses that its users send to. It keeps no log of people.

Requests are short and few: put a proxy that limits rates in front of it. Whatever goes wrong with one request is said
to its sender, and the server goes on.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

#: What an address does with the bytes sent to it: a status, and what is told.
Take = Callable[[bytes], tuple[int, dict[str, str]]]
NOTHING = {"said": "there is nothing here"}
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}
FROM_ANYWHERE = {"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "Content-Type"}


class PageServer:
    """Serves until stopped. ``anywhere``: pages from other places may send here (there are no cookies to misuse)."""

    def __init__(
        self,
        page: str,
        takes: Mapping[str, Take],
        address: tuple[str, int],
        *,
        largest: int,
        certificate: tuple[Path, Path] | None = None,
        anywhere: bool = False,
    ) -> None:
        self._server = ThreadingHTTPServer(address, Handler)
        self._server.daemon_threads, self._serving = True, False
        more = HEADERS | (FROM_ANYWHERE if anywhere else {})
        self._server.told = _Told(page.encode(), dict(takes), largest, more)  # type: ignore[attr-defined]
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def serve_forever(self) -> None:
        self._serving = True
        self._server.serve_forever()

    def stop(self) -> None:
        if self._serving:  # shutdown() waits for a loop that ends: without one it would wait for ever
            self._server.shutdown()
        self._server.server_close()


class _Told:
    def __init__(self, page: bytes, takes: dict[str, Take], largest: int, headers: dict[str, str]) -> None:
        self.page, self.takes, self.largest, self.headers = page, takes, largest, headers


class Handler(BaseHTTPRequestHandler):
    """GET of the page, POST to the addresses."""

    timeout = 30
    server_version, sys_version = "privjail", ""

    @property
    def _told(self) -> _Told:
        told: _Told = self.server.told  # type: ignore[attr-defined]
        return told

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """No log: it would hold addresses and times of people."""

    def do_GET(self) -> None:
        if self.path.partition("?")[0] == "/":
            self._answer(200, self._told.page, "text/html; charset=utf-8")
        else:
            self._say(404, NOTHING)

    def do_OPTIONS(self) -> None:
        self._answer(204, b"", "text/plain")

    def do_POST(self) -> None:
        take, length = self._told.takes.get(self.path), self.headers.get("Content-Length", "")
        if take is None:
            self._say(404, NOTHING)
        elif not length.isdigit() or int(length) > self._told.largest:
            self._say(413, {"status": "refused", "said": f"at most {self._told.largest} bytes, and their number first"})
        else:
            self._say(*take(self.rfile.read(int(length))))

    def _say(self, status: int, told: dict[str, str]) -> None:
        self._answer(status, json.dumps(told).encode(), "application/json")

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response_only(status)
        more = {"Content-Type": kind, "Content-Length": str(len(body))}
        for name, value in (more | self._told.headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
