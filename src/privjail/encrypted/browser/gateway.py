"""The gateway: takes records from browsers over HTTP and passes them to the compute server.

It belongs to the compute server: it sees what that server sees, encrypted records with their owners' names, and keeps
nothing. A record is answered only after the compute server has answered.
"""

from __future__ import annotations

import json
import ssl
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted.owner import submission
from privjail.encrypted.records import size_of
from privjail.encrypted.study import Study
from privjail.encrypted.wire import Caller
from privjail.errors import DPError, PlanError

HEAD = 4096  # bytes at most of what stands before a record


class Gateway:
    """An HTTP server with two addresses: the page, and ``submit``."""

    def __init__(
        self,
        study: Study,
        page: str,
        address: tuple[str, int] = ("127.0.0.1", 0),
        *,
        certificate: tuple[Path, Path] | None = None,
    ) -> None:
        self._caller = Caller("Compute", study.compute, patience=5.0)
        self._server = ThreadingHTTPServer(address, _handler(study, self._caller, page.encode()))
        self._server.daemon_threads, self._serving = True, False
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
        self._caller.close()


def passed_on(study: Study, caller: Caller, body: bytes) -> Any:
    """One record: four bytes that tell the length of a JSON head, the head, the record."""
    size = int.from_bytes(body[:4], "little")
    if not 0 < size <= HEAD or len(body) < 4 + size:
        raise PlanError("this is no submission", do="use the study's page")
    try:
        head = json.loads(body[4 : 4 + size])
        asked = tuple(str(head[name]) for name in ("study", "key", "owner", "ticket"))
        ticket = bytes.fromhex(asked[3])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise PlanError("this is no submission", do="use the study's page") from None
    if asked[:2] != (study.id.hex(), study.key.hex()):
        raise PlanError("this is for another study", do="use the newest page")
    request = submission(study, [(asked[2], ticket)], [body[4 + size :]])
    return caller.call("Submit", request, pb.SubmitReply).results[0]


def _handler(study: Study, caller: Caller, page: bytes) -> type[BaseHTTPRequestHandler]:
    most = 4 + HEAD + size_of(study.terms.bins)

    class Handler(BaseHTTPRequestHandler):
        timeout = 30
        server_version, sys_version = "privjail", ""

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """No log: it would hold addresses and times of people."""

        def do_GET(self) -> None:
            if self.path.partition("?")[0] == "/":
                self._answer(200, page, "text/html; charset=utf-8")
            else:
                self._say(404, "refused", "there is nothing here")

        def do_OPTIONS(self) -> None:  # the page may come from elsewhere, and is better for it
            self._answer(204, b"", "text/plain")

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if self.path != "/submit":
                return self._say(404, "refused", "there is nothing here")
            if not length.isdigit() or int(length) > most:
                return self._say(413, "refused", "a submission is one record")
            try:
                result = passed_on(study, caller, self.rfile.read(int(length)))
            except PlanError as e:
                return self._say(400, "refused", str(e))
            except DPError as e:
                return self._say(503, "refused", str(e))
            return self._say(200, result.status, result.why)

        def _say(self, status: int, told: str, why: str) -> None:
            self._answer(status, json.dumps({"status": told, "why": why}).encode(), "application/json")

        def _answer(self, status: int, body: bytes, kind: str) -> None:
            self.send_response_only(status)
            for name, value in (
                ("Content-Type", kind),
                ("Content-Length", str(len(body))),
                ("Cache-Control", "no-store"),
                ("X-Content-Type-Options", "nosniff"),
                ("Referrer-Policy", "no-referrer"),
                ("Access-Control-Allow-Origin", "*"),  # there are no cookies that a foreign page could misuse
                ("Access-Control-Allow-Headers", "Content-Type"),
            ):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    return Handler
