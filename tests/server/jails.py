"""Jails for tests: folders with generated data, and real processes that serve them."""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from privjail import client
from privjail.curator.folder import JailFolder
from privjail.mechanisms.laplace import Laplace
from privjail.ops.numbers.tally import Tally
from privjail.release import Query

SCHEMA = {"age": {"type": "Int64", "range": [0, 120]}, "sex": {"type": "category", "categories": ["F", "M"]}}
PRIVJAIL = [sys.executable, "-m", "privjail.curator"]
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "COLUMNS": "200"}
ROWS = 200


def make_jail(where: Path, budget: Any = 1000, users: tuple[str, ...] = ("ann",), grant: Any = 1000,
              ledger: str | None = None, rows: int = ROWS) -> JailFolder:  # fmt: skip
    """A jail with one data set, `census`, and users whose connection files lie beside it."""
    lines = "".join(f"{20 + i % 60},{'FM'[i % 3 == 0]}\n" for i in range(rows))
    (where / "census.csv").write_text("age,sex\n" + lines, encoding="utf-8")
    folder = JailFolder.init(where / "jail", ["localhost", "127.0.0.1"], f"127.0.0.1:{free_port()}", ledger)
    if "census" not in folder.state.datasets:
        folder.add_dataset("census", str(where / "census.csv"), SCHEMA, [budget], "pure", (None, 1))
    for user in users:
        file = folder.add_user(user, 30) | {"insecure_loopback": True}
        (where / f"{user}.privjail").write_text(json.dumps(file), encoding="utf-8")
        if grant is not None:
            folder.grant(user, "census", [grant], False, None)
    return folder


def free_port() -> int:
    """Below the ports that clients get, so that no client's own port takes it while a jail restarts."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port))
            return port


class Served:
    """`privjail serve`, as a process of its own."""

    def __init__(self, where: Path, *options: str, tls: bool = False, prefix: Sequence[str] = ()) -> None:
        self.where, self.prefix = where, prefix
        port = json.loads((where / "jail" / "jail.json").read_text())["address"].rpartition(":")[2]
        self.args = ["serve", "--jail", str(where / "jail"), "--port", port, *options]
        if not tls:
            self.args.append("--insecure-loopback")
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> Served:
        self.process = subprocess.Popen(
            [*self.prefix, *PRIVJAIL, *self.args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV
        )
        assert self.process.stdout is not None and self.process.stderr is not None
        line = self.process.stdout.readline()
        assert line.startswith("serving on"), self.process.stderr.read()
        return self

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.communicate()

    def stop(self) -> tuple[str, str]:
        assert self.process is not None
        self.process.terminate()
        return self.process.communicate(timeout=20)

    def connect(self, user: str = "ann") -> client.Connection:
        return client.connect(self.where / f"{user}.privjail")


@contextlib.contextmanager
def serving(where: Path, *options: str, tls: bool = False, prefix: Sequence[str] = ()) -> Iterator[Served]:
    """A served jail. The prefix is a command that starts another one, such as prlimit."""
    served = Served(where, *options, tls=tls, prefix=prefix).start()
    try:
        yield served
    finally:
        if served.process is not None and served.process.poll() is None:
            served.kill()


class Zygote:
    """A process that has imported everything and forks one that serves: a start without Python's imports.

    The forked process runs the same `privjail serve`, or a script that breaks it in one place first. A prefix is a
    command that runs another one, as `unshare` does; ``stderr`` is where the jails write what they say.
    """

    def __init__(self, prefix: tuple[str, ...] = (), stderr: Any = None) -> None:
        self._process = subprocess.Popen(
            [*prefix, sys.executable, str(Path(__file__).with_name("zygote.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True, env=ENV,
        )  # fmt: skip
        assert self._line() == "ready"

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def spawn(self, args: list[str], crash: dict[str, Any] | None = None) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"args": args, "crash": crash}) + "\n")
        self._process.stdin.flush()
        return int(self._line())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=20)


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def wait_gone(pid: int, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not gone(pid):
        assert time.monotonic() < deadline, "the process did not end"
        time.sleep(0.005)


def count(connection: client.Connection, eps: Any, name: str = "census") -> Query:
    """The number of rows of a data set, noised: charged at its whole."""
    return Query(Tally(connection.source(name), (), None), Laplace(eps))
