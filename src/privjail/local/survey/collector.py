"""The collector's server: shows the page and stores what people send, durably, and nothing else about them.

Claim: a submission that was answered with "stored" survives a crash of the machine; sent twice it is stored once.
What is stored is a random identifier and the randomised reports: no address, no time, no order of arrival (rows lie
in the order of their random identifiers). Choices for an anonymous mix lie in a table of their own, under identifiers
of their own.
"""

from __future__ import annotations

import json
import re
import sqlite3
import ssl
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any

from privjail.errors import DPError, SchemaError
from privjail.local.survey.questionnaire import Questionnaire

LARGEST = 64 * 1024  # bytes of one submission
_NAME = re.compile(r"[0-9a-f]{32}")
Submission = dict[str, Any]


class Store:
    """Submissions in one SQLite file."""

    def __init__(self, path: str | Path, asked: Questionnaire) -> None:
        self._asked, self._lock = asked, Lock()
        try:
            self._file = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._file.execute(
                "PRAGMA journal_mode = DELETE"
            )  # no write-ahead log, which would keep the order of arrival
            self._file.execute("PRAGMA synchronous = EXTRA")
            self._file.execute("PRAGMA secure_delete = ON")
            for table in ("reports", "choices", "survey"):
                self._file.execute(
                    f"CREATE TABLE IF NOT EXISTS {table} (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID"
                )
            self._belongs(asked)
        except sqlite3.Error:
            raise SchemaError(f"{path} is no store of reports, or cannot be written", do="name another file") from None

    def _belongs(self, asked: Questionnaire) -> None:
        text = asked.to_json()
        self._file.execute("INSERT OR IGNORE INTO survey VALUES ('survey', ?)", (text,))
        if self._file.execute("SELECT body FROM survey").fetchone()[0] != text:
            raise SchemaError("this store holds reports of another survey", do="start a new store")

    def close(self) -> None:
        self._file.close()

    def add(self, submission: Submission) -> None:
        """Checks and keeps one submission; returns only when it is on disk. The first under its identifier counts."""
        name, rows = submission.get("id"), submission.get("reports")
        if not isinstance(name, str) or not _NAME.fullmatch(name) or not isinstance(rows, list):
            raise SchemaError("a submission needs an identifier and its reports", do="use this survey's page")
        if len(rows) != len(self._asked.questions):
            raise SchemaError("a submission has one report for each question", do="use this survey's page")
        kept = [self._checked(i, row) for i, row in enumerate(rows)]
        self._keep("reports", name, json.dumps(kept, ensure_ascii=False))

    def add_choice(self, submission: Submission) -> None:
        """One choice of a parameter, without any link to a report (the paper's figure 1)."""
        name, theta = submission.get("id"), submission.get("theta")
        known = isinstance(theta, str) and theta in self._asked.questions[0].menu
        if not isinstance(name, str) or not _NAME.fullmatch(name) or not known:
            raise SchemaError("a choice needs an identifier and a parameter of the menu", do="use this survey's page")
        self._keep("choices", name, str(theta))

    def _checked(self, index: int, row: Any) -> dict[str, str]:
        survey = self._asked.questions[index]
        if not isinstance(row, dict) or not isinstance(row.get("report"), str):
            raise SchemaError("a report is missing", do="use this survey's page")
        kept = {"report": row["report"]}
        channel = next(iter(survey.menu.values()))
        if not survey.hidden:
            kept["theta"] = str(row.get("theta"))
            channel = survey.channel(kept["theta"])
        channel.read([kept["report"]])  # refuses what no respondent could have sent
        if survey.ballot is not None:
            kept["ballot"] = str(row.get("ballot"))
            survey.ballot.read([kept["ballot"]])
        return kept

    def _keep(self, table: str, name: str, body: str) -> None:
        with self._lock:
            self._file.execute(f"INSERT OR IGNORE INTO {table} VALUES (?, ?)", (name, body))

    def rows(self, question: int = 0) -> Iterator[dict[str, str]]:
        """What was sent about one question: report, and ballot or theta if the survey asks for them."""
        with self._lock:
            found = self._file.execute("SELECT body FROM reports ORDER BY id").fetchall()
        for (body,) in found:
            yield json.loads(body)[question]

    def choices(self) -> list[str]:
        with self._lock:
            return [body for (body,) in self._file.execute("SELECT body FROM choices ORDER BY id")]


def export(path: str | Path, asked: Questionnaire) -> list[dict[str, str]]:
    """Everything in a store: one dictionary for each person, columns numbered by question if there are several."""
    if not Path(path).exists():
        raise SchemaError("there is no store of this name", do="check its name")
    with closing(Store(path, asked)) as store:
        many = len(asked.questions) > 1
        columns = [list(store.rows(i)) for i in range(len(asked.questions))]
    return [
        {f"{name}_{i + 1}" if many else name: text for i, row in enumerate(person) for name, text in row.items()}
        for person in zip(*columns, strict=True)
    ]


class Collector:
    """An HTTP server with three addresses: the page, ``reports`` and ``choices``."""

    def __init__(
        self,
        store: Store,
        page: str,
        address: tuple[str, int] = ("127.0.0.1", 0),
        *,
        certificate: tuple[Path, Path] | None = None,
    ) -> None:
        self._server = ThreadingHTTPServer(address, _handler(store, page.encode()))
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


def _handler(store: Store, page: bytes) -> type[BaseHTTPRequestHandler]:
    takes: dict[str, Callable[[Submission], None]] = {"/reports": store.add, "/choices": store.add_choice}

    class Handler(BaseHTTPRequestHandler):
        timeout = 30
        server_version, sys_version = "privjail", ""

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """No log: it would hold addresses and times of people."""

        def do_GET(self) -> None:
            if self.path.partition("?")[0] == "/":
                self._answer(200, page, "text/html; charset=utf-8")
            else:
                self._say(404, "there is nothing here")

        def do_POST(self) -> None:
            take, length = takes.get(self.path), self.headers.get("Content-Length", "")
            if take is None:
                return self._say(404, "there is nothing here")
            if not length.isdigit() or int(length) > LARGEST:
                return self._say(413, "a submission has a length of at most 64 kB")
            try:
                sent = json.loads(self.rfile.read(int(length)))
                take(sent if isinstance(sent, dict) else {})
            except DPError as refused:
                return self._say(400, str(refused))
            except (ValueError, RecursionError):
                return self._say(400, "a submission must be JSON")
            except (sqlite3.Error, OSError):
                return self._say(503, "it could not be stored; please send it again later")
            return self._say(200, "stored")

        def _say(self, status: int, text: str) -> None:
            self._answer(status, json.dumps({"said": text}).encode(), "application/json")

        def _answer(self, status: int, body: bytes, kind: str) -> None:
            self.send_response_only(status)
            for name, value in (
                ("Content-Type", kind),
                ("Content-Length", str(len(body))),
                ("Cache-Control", "no-store"),
                ("X-Content-Type-Options", "nosniff"),
                ("Referrer-Policy", "no-referrer"),
                ("X-Frame-Options", "DENY"),
            ):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    return Handler
