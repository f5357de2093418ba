"""A restart of the jail is a pause for its analysts: no exception, no answer lost, nothing charged twice."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privjail.curator.folder import JailFolder

from .jails import ENV, Served, Zygote, count, free_port, gone, make_jail, wait_gone
from .proxies import Proxy
from .test_faults import charges

USERS = ("ann", "bob", "carl")
WITHIN = 2.0  # seconds from the open port to each client's answer, on a machine that has nothing else to do
KINDS = {"SIGTERM": (signal.SIGTERM,), "SIGKILL": (signal.SIGKILL,), "proxy": (signal.SIGTERM, signal.SIGKILL)}


class Analyst:
    """A process that asks without pause, and what it has written down."""

    def __init__(self, file: Path, seed: int) -> None:
        script = Path(__file__).with_name("restart_client.py")
        self.process = subprocess.Popen(
            [sys.executable, str(script), str(file), str(seed)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV,
        )  # fmt: skip
        self.lines: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(json.loads(line))

    def answer_after(self, when: float, seconds: float) -> dict[str, Any]:
        """The first line that was written after a moment: an answer, or the error that ended it."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for line in reversed(self.lines):
                if line["at"] < when:
                    break
                return next(each for each in self.lines if each["at"] >= when)
            time.sleep(0.01)
        raise AssertionError(f"no answer for {seconds} s")

    def finish(self) -> str:
        """Let it end after its last answer; what it wrote to stderr."""
        assert self.process.stdin is not None and self.process.stderr is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        said = self.process.stderr.read()
        self.process.wait(60)
        self._reader.join(60)
        return said


@dataclass
class Restarted:
    """A jail with clients at work, that is stopped and started again."""

    where: Path
    zygote: Zygote
    through_proxy: bool
    waits: list[float] = field(default_factory=list)  # from the open port to the answer, of each client

    def __post_init__(self) -> None:
        self.folder = make_jail(self.where, budget=10**6, users=USERS, grant=10**6)
        self.served = Served(self.where, tls=True)
        self.port = int(self.served.args[self.served.args.index("--port") + 1])
        self.pid = self._start()
        self._release()  # loads the data and the engine
        # More time where a release without a restart takes long, too.
        self.in_time = WITHIN + 10 * self._release()
        self.charged_before = charges(self.folder)

    def _release(self) -> float:
        """The seconds that a new connection and one release take while nobody else asks."""
        file = self.where / f"{USERS[0]}.privjail"
        told = json.loads(file.read_text()) | {"address": f"127.0.0.1:{self.port}", "insecure_loopback": False}
        file.write_text(json.dumps(told))
        start = time.monotonic()
        connection = self.served.connect(USERS[0])
        try:
            assert len(connection.release([count(connection, 1)])) == 1
        finally:
            connection.close()
        return time.monotonic() - start

    def _start(self) -> int:
        pid = self.zygote.spawn(self.served.args)
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return pid
            assert time.monotonic() < deadline, "the jail did not start"
            time.sleep(0.01)

    @contextlib.contextmanager
    def clients(self) -> Iterator[list[Analyst]]:
        with contextlib.ExitStack() as held:
            port = held.enter_context(Proxy(free_port(), self.port)).port if self.through_proxy else self.port
            analysts = []
            for seed, user in enumerate(USERS):
                file = self.where / f"{user}.privjail"
                given = json.loads(file.read_text()) | {"address": f"127.0.0.1:{port}", "insecure_loopback": False}
                file.write_text(json.dumps(given))
                analysts.append(Analyst(file, seed))
                held.callback(analysts[-1].process.kill)
            for analyst in analysts:
                analyst.answer_after(0.0, 60)
            yield analysts

    def restart(self, how: signal.Signals, down: float, analysts: list[Analyst]) -> None:
        os.kill(self.pid, how)
        wait_gone(self.pid)
        time.sleep(down)
        self.pid = self._start()
        opened = time.time()
        for analyst in analysts:
            line = analyst.answer_after(opened, 60)
            assert "error" not in line, line["error"]
            self.waits.append(line["at"] - opened)

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        if not gone(self.pid):
            wait_gone(self.pid)


def restarts(where: Path, zygote: Zygote, kind: str, times: int, down: tuple[float, float]) -> Restarted:
    """Restart a jail under load; check every answer and every charge. It says how long each client waited."""
    rng = random.Random(times)
    jail = Restarted(where, zygote, kind == "proxy")
    try:
        with jail.clients() as analysts:
            for i in range(times):
                time.sleep(rng.random() * 0.2)
                jail.restart(KINDS[kind][i % len(KINDS[kind])], rng.uniform(*down), analysts)
            said = [analyst.finish() for analyst in analysts]
    finally:
        jail.end()
    assert said == [""] * len(USERS)
    check(jail.folder, [line for analyst in analysts for line in analyst.lines], jail.charged_before)
    return jail


def check(folder: JailFolder, lines: list[dict[str, Any]], before: dict[str, Fraction]) -> None:
    """Every request was answered, by one answer, and charged once, at its price; and nothing else was charged."""
    assert not [line["error"] for line in lines if "error" in line]
    answers: dict[str, Any] = {}
    for line in lines:
        assert answers.setdefault(line["number"], line["answer"]) == line["answer"], "two answers for one request"
    assert len(lines) > len(answers) > 0, "no request was asked twice"
    asked = before | {line["number"]: Fraction(line["eps"]) for line in lines}
    folder.ledger.refresh()
    assert charges(folder) == asked
    assert folder.state.total(("dataset", "", "census")) == (sum(asked.values(), Fraction(0)),)
    assert not any(entry.lost for entry in folder.state.requests.values())


@pytest.mark.parametrize("kind", KINDS)
def test_a_restart_is_a_pause_for_every_client_v37(tmp_path: Path, zygote: Zygote, kind: str) -> None:
    """V-37: two restarts, also behind a proxy that accepts connections while there is no jail and closes them."""
    jail = restarts(tmp_path, zygote, kind, times=2, down=(1.0, 1.5))

    print(f"waited at most {max(jail.waits):.2f} s of {jail.in_time:.2f} s")
    assert max(jail.waits) < jail.in_time


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_twelve_restarts_of_a_kind_v37(tmp_path: Path, zygote: Zygote, kind: str) -> None:
    """V-37: three kinds, thirty-six restarts, of up to five seconds."""
    jail = restarts(tmp_path, zygote, kind, times=12, down=(0.5, 5.0))
    waits = jail.waits

    print(f"{kind}: 12 restarts, 3 clients; waited {statistics.median(waits):.2f} s, at most {max(waits):.2f} s")
    assert max(waits) < jail.in_time and statistics.median(waits) < 2.0
