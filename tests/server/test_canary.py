"""Planted values are seen nowhere outside of the jail (V-29, V-31, V-34)."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from .wire_fixtures import SCHEMA, Held, make_jail, people, quick_folder

HERE = Path(__file__).parent
BLOCK = 2**18
EMPTY = bytes(BLOCK)
TEXT, WHOLE, REAL, LOOSE = "canary-Zq81mf-Lx", 8237451928374651, 73501.2468013579, 2.718281234567e-77
MOMENT, MICROS = "1987-03-14 15:09:26.535897", 542_732_966_535_897
CANARIES = {
    "text": TEXT.encode(), "upper": TEXT.upper().encode(), "lower": TEXT.lower().encode(), "utf-16": TEXT.encode("utf-16-le"),
    "whole": str(WHOLE).encode(), "whole bits": struct.pack("<q", WHOLE), "whole as float": struct.pack("<d", WHOLE),
    "real": repr(REAL).encode(), "real bits": struct.pack("<d", REAL), "real bits, big-endian": struct.pack(">d", REAL),
    "loose": repr(LOOSE).encode(), "loose bits": struct.pack("<d", LOOSE),
    "moment": MOMENT.encode(), "moment bits": struct.pack("<q", MICROS), "moment text": str(MICROS).encode(),
}  # fmt: skip


def found(body: bytes) -> list[str]:
    return [name for name, canary in CANARIES.items() if canary in body]


class Proxy:
    """Passes bytes on, and keeps all that the server sent."""

    def __init__(self, port: int) -> None:
        self.sent, self._target = bytearray(), port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
                threading.Thread(target=self._pass, args=(near, far), daemon=True).start()

    def _pass(self, near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError), near, far:
            while True:
                for each in select.select([near, far], [], [])[0]:
                    body = each.recv(65536)
                    if not body:
                        return
                    if each is far:
                        self.sent += body
                    (near if each is far else far).sendall(body)

    def close(self) -> None:
        self._listening.close()


def memory_of(pid: int) -> Iterator[bytes]:
    """All readable memory of a process: what a core dump would hold."""
    maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
        for line in maps:
            span, mode, *_ = line.split()
            if not mode.startswith("rw"):  # program text and libraries are files, not data
                continue
            start, end = (int(x, 16) for x in span.split("-"))
            rest = b""
            while start < end:
                try:
                    mem.seek(start)
                    body = mem.read(min(BLOCK, end - start))
                except (OSError, ValueError, OverflowError):
                    break
                if not body:
                    break
                if body != EMPTY[: len(body)]:  # most of it was never written to
                    yield rest + body
                rest, start = body[-64:], start + len(body)


def searched(pid: int, *wanted: bytes) -> set[str]:
    names: set[str] = set()
    for block in memory_of(pid):
        names.update(found(block))
        names.update(w.decode() for w in wanted if w in block)
    return names


@pytest.fixture(scope="module")
def session() -> Any:
    """A jail in a process of its own, a recording proxy, and an analyst in a third process who has tried everything."""
    frame = people(200)
    frame["salary"] = range(len(frame))
    for row in (0, 77, 199):
        frame.loc[row, ["note", "income", "free", "born"]] = [TEXT, REAL, LOOSE, MOMENT]
        frame.loc[row, "salary"] = WHOLE
    schema = {**SCHEMA, "salary": {"type": "Int64", "range": [0, 10**16]}}
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([*(p for p in sys.path if p), str(HERE)])}
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(quick_folder())
        files = make_jail(folder / "jail", {"people": Held(frame, schema)})
        with socket.create_server(("127.0.0.1", 0)) as free:
            metrics = free.getsockname()[1]
        server = subprocess.Popen(
            [sys.executable, "-m", "privjail.curator", "serve", "--jail", str(folder / "jail"), "--port", "0",
             "--insecure-loopback", "--metrics-port", str(metrics)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env,
        )  # fmt: skip
        stack.callback(server.wait)
        stack.callback(server.kill)
        line = server.stdout.readline().decode()
        proxy = Proxy(int(re.search(r":(\d+)", line)[1]))
        stack.callback(proxy.close)
        file = {"address": f"127.0.0.1:{proxy.port}", "token": files["ann"]["token"], "insecure_loopback": True}
        (folder / "ann.json").write_text(json.dumps(file))
        out = open(folder / "shown", "w+b")  # noqa: SIM115
        analyst = subprocess.Popen(
            [sys.executable, str(HERE / "canary_client.py"), str(folder / "ann.json"), "25"],
            stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT, env=env,
        )  # fmt: skip
        stack.callback(analyst.wait)
        stack.callback(analyst.kill)
        deadline = time.monotonic() + 150
        while b"READY" not in (shown := (folder / "shown").read_bytes()):
            assert analyst.poll() is None and time.monotonic() < deadline, shown[-3000:].decode()
            time.sleep(0.2)
        counted = urllib.request.urlopen(f"http://127.0.0.1:{metrics}/metrics", timeout=10).read()
        yield {"server": server, "analyst": analyst, "shown": shown, "proxy": proxy, "metrics": counted,
               "folder": folder, "line": line, "token": files["ann"]["token"]}  # fmt: skip


def test_the_search_finds_what_is_there(session: Any) -> None:
    """The jail's own memory holds the canaries, and the analyst's the names of columns: the search works."""
    assert {"text", "whole bits", "real bits", "loose bits", "moment bits"} <= searched(session["server"].pid)
    assert searched(session["analyst"].pid, b"salary", b"hours-in-no-table") == {"salary"}


def test_no_canary_in_the_memory_of_the_analyst(session: Any) -> None:
    """V-31: no private byte is in the client's process, dead or alive."""
    assert searched(session["analyst"].pid) == set()


def test_no_canary_in_what_the_analyst_was_shown(session: Any) -> None:
    """V-29: reprs, errors with causes and contexts, logs of the client, refusals of every attribute."""
    shown = session["shown"]

    assert found(shown) == []
    assert shown.count(b"PrisonerError") > 50
    assert shown.count(b"Traceback") > 100


def test_no_canary_in_what_the_server_sent(session: Any) -> None:
    """V-34: all bytes that came out of the jail, as they were on the line."""
    sent = bytes(session["proxy"].sent)

    assert found(sent) == []
    assert len(sent) > 5_000


def test_no_canary_in_metrics_logs_or_ledger(session: Any) -> None:
    """V-29: what the jail writes down holds programs, never values; and no token."""
    session["server"].terminate()
    logged = session["line"].encode() + session["server"].stdout.read()
    kept = {
        p.name: p.read_bytes()
        for p in (session["folder"] / "jail").rglob("*")
        if p.is_file() and p.name != "people.csv"
    }

    assert b"privjail_releases_total" in session["metrics"]
    assert found(session["metrics"]) == found(logged) == []
    assert {name: found(body) for name, body in kept.items() if found(body)} == {}
    assert session["token"].encode() not in logged + session["metrics"] + b"".join(kept.values())
    assert re.findall(rb"internal error|failed after", logged) == []
