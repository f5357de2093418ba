"""The parties of a study, for tests: folders, servers in this process or as processes of their own."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from privjail.encrypted import compute, decrypt, keys
from privjail.encrypted.owner import Record
from privjail.encrypted.study import Study, Terms

PRIVJAIL = [sys.executable, "-m", "privjail.curator", "encrypted"]
ENV = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    "COLUMNS": "200",
    "OPENBLAS_NUM_THREADS": "1",
}


def free_port() -> int:
    """Below the ports that clients get, so that no client's own port takes it while a server restarts."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port))
            return port


class Parties:
    """A study in a folder: `ds` and `cs` hold the servers'."""

    def __init__(self, where: Path, bins: int = 16, neighbours: str = "add-remove", budget: Any = 10) -> None:
        self.where = where
        terms = Terms(bins, neighbours, Fraction(budget))
        offer = keys.make_decrypt(where / "ds", terms, f"127.0.0.1:{free_port()}")
        self.study: Study = keys.make_compute(where / "cs", offer, f"127.0.0.1:{free_port()}")
        self.tickets = keys.Tickets(where / "cs")
        self.processes: dict[str, subprocess.Popen[str]] = {}

    def record(self, owner: str, bin: int | None) -> Record:
        return Record(owner, self.tickets.owner(owner), bin)

    def records(self, bins: Any) -> list[Record]:
        return [self.record(f"owner {i}", None if b is None else int(b)) for i, b in enumerate(bins)]

    @contextlib.contextmanager
    def in_threads(self, draw_d: Any = None, draw_c: Any = None) -> Iterator[Parties]:
        """Both servers in this process, with real sockets and TLS; noise may be given."""
        d = decrypt.start(self.where / "ds", self.study, draw=draw_d)
        c = compute.start(self.where / "cs", draw=draw_c)
        try:
            yield self
        finally:
            c.stop()
            d.stop()

    def start(self, which: str) -> None:
        """`privjail encrypted compute` or `decrypt`, as a process."""
        args = ["compute", str(self.where / "cs")]
        if which == "decrypt":
            args = ["decrypt", str(self.where / "ds"), "--study", str(self.where / "cs" / "study.json")]
        process = subprocess.Popen(
            [*PRIVJAIL, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV
        )
        assert process.stdout is not None and process.stderr is not None
        assert "serving" in process.stdout.readline(), process.stderr.read()
        self.processes[which] = process

    def kill(self, which: str) -> None:
        """kill -9."""
        process = self.processes.pop(which)
        process.kill()
        process.communicate()

    @contextlib.contextmanager
    def as_processes(self) -> Iterator[Parties]:
        try:
            self.start("decrypt")
            self.start("compute")
            yield self
        finally:
            for which in list(self.processes):
                self.kill(which)


def privjail(*args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PRIVJAIL, *args], capture_output=True, text=True, env=ENV, cwd=cwd, timeout=300)
