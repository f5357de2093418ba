"""Alerts and the security log: told once, in every way, and never more than they should."""

from __future__ import annotations

import json
import socketserver
import sys
import threading
from contextlib import contextmanager
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from privjail.server import security_log
from privjail.server.alerts import Alert, Alerts, send
from privjail.server.security_log import SecurityLog

from .jails import make_jail

ALERT = Alert("census", "user", "ann", 80, "1")


@contextmanager
def hook(status=200):
    got = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", got
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def mail():
    """A mail server that takes one letter at a time."""
    letters = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            self.wfile.write(b"220 here\r\n")
            body = None
            for line in self.rfile:
                if body is not None:
                    if line == b".\r\n":
                        letters.append(body.decode())
                        body = None
                        self.wfile.write(b"250 ok\r\n")
                    else:
                        body += line
                elif line.upper().startswith(b"DATA"):
                    body = b""
                    self.wfile.write(b"354 go\r\n")
                elif line.upper().startswith(b"QUIT"):
                    self.wfile.write(b"221 bye\r\n")
                    return
                else:
                    self.wfile.write(b"250 ok\r\n")

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1], letters
    finally:
        server.shutdown()
        server.server_close()


def test_an_alert_goes_to_a_command_a_web_address_and_a_mail_server(tmp_path):
    out = tmp_path / "told.json"
    command = [sys.executable, "-c", f"import sys; open({str(out)!r}, 'w').write(sys.stdin.read())"]
    with hook() as (url, got), mail() as (port, letters):
        email = {"from": "jail@house.example", "to": "dpo@house.example", "server": f"127.0.0.1:{port}"}
        assert send({"command": command, "webhook": url, "email": email}, ALERT) == dict.fromkeys(
            ("command", "webhook", "email")
        )
    assert json.loads(out.read_text()) == got[0] == ALERT.record()
    assert "80 % of the budget of user ann on census (1) is spent" in letters[0].replace("=\r\n", "")


def test_what_cannot_be_sent_is_said(tmp_path):
    with hook(500) as (url, _):
        outcome = send(
            {"command": ["false"], "webhook": url, "email": {"from": "a", "to": "b", "server": "127.0.0.1:1"}}, ALERT
        )
    assert all(outcome.values()) and set(outcome) == {"command", "webhook", "email"}
    assert send({"webhook": "http://elsewhere.example/"}, ALERT)["webhook"] == "ValueError"  # not without TLS


def test_80_and_100_percent_are_told_once_and_again_after_a_raise(tmp_path):
    folder = make_jail(tmp_path, budget=10, grant=1)
    security = SecurityLog(tmp_path / "jail", "jail")
    spent = folder.state.spend
    with hook() as (url, got):
        alerts = Alerts(tmp_path / "jail", {"webhook": url}, lambda: folder.state, security)

        def told(cost=None):
            if cost:
                spent("ann", [("census", (), (Fraction(cost),))], {}, "2026-01-01T00:00:00+00:00")
            got.clear()
            alerts.look()
            return [(a["who"], a["percent"]) for a in got]

        assert told("0.79") == []
        assert told("0.01") == [("ann", 80)]
        assert told() == []
        alerts = Alerts(tmp_path / "jail", {"webhook": url}, lambda: folder.state, security)  # a restart
        assert told("0.1") == []
        assert told("0.1") == [("ann", 100)]
        folder.grant("ann", "census", [Fraction(11, 10)], False, "more")
        assert told() == [("ann", 80)]  # of the new limit
    kinds = [x["kind"] for x in security_log.read(tmp_path / "jail")]
    assert kinds == ["alert"] * 3


def test_the_security_log_is_rotated_limited_and_kept_for_a_time(tmp_path, monkeypatch):
    log = SecurityLog(tmp_path, "jail", keep_days=10, largest=2_000)
    for i in range(100):
        log.write("refused", user=f"u{i}", what="x" * 500)
    files = sorted((tmp_path / "security").iterdir())
    assert len(files) > 5 and all(f.stat().st_size <= 2_000 and f.stat().st_mode & 0o077 == 0 for f in files)
    assert [x["user"] for x in security_log.read(tmp_path)] == [f"u{i}" for i in range(100)]
    assert all(len(x["what"]) == 300 for x in security_log.read(tmp_path))
    import os

    os.utime(files[0], (0, 0))
    for i in range(10):
        log.write("refused", user=f"v{i}", what="x" * 500)
    assert not files[0].exists() and files[1].exists()
    for _ in range(500):
        log.write("login failed", source="1.2.3.4")
    assert sum(x["kind"] == "login failed" for x in security_log.read(tmp_path)) == security_log.MOST
    clock = security_log.time.monotonic() + 61
    monkeypatch.setattr(security_log.time, "monotonic", lambda: clock)
    log.write("login failed", source="1.2.3.4")
    assert [x for x in security_log.read(tmp_path) if x["kind"] == "login failed"][-1]["left_out"] == 480


def test_a_full_disk_does_not_stop_the_jail(tmp_path):
    (tmp_path / "security").write_text("a file where the folder should be")
    log = SecurityLog(tmp_path, "jail")
    log.write("refused", user="ann")
    assert log.failed is not None


@pytest.mark.parametrize("text", ["", "{", '{"at": 1'])
def test_a_torn_line_is_left_out(tmp_path, text):
    log = SecurityLog(tmp_path, "jail")
    log.write("refused", user="ann")
    with open(log.path, "a") as file:
        file.write(text)
    assert [x["user"] for x in security_log.read(tmp_path)] == ["ann"]
