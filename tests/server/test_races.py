"""Many clients race for one budget and spend it exactly (V-36), in SQLite and in a shared PostgreSQL."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from privjail.curator.folder import JailFolder
from privjail.errors import BudgetExceeded

from .jails import ENV, Served, count, make_jail, serving
from .postgresql import Server

CLIENTS = 64
STEP = Fraction(1, 4)
BUDGET = 12


def race(served: list[Served], users: tuple[str, ...], tries: int = 3) -> int:
    """Each client asks a few times; how many releases were answered."""
    answers, wrong = [], []
    start = threading.Barrier(len(users))

    def run(i: int) -> None:
        try:
            connection = served[i % len(served)].connect(users[i])
            asks = [count(connection, STEP)]
            start.wait(60)
            for _ in range(tries):
                try:
                    answers.append(connection.release(asks))
                except BudgetExceeded:
                    return
        except Exception as e:  # noqa: BLE001
            wrong.append(f"{type(e).__name__}: {e}")
            start.abort()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(users))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)
    assert not wrong
    return len(answers)


def spent(folder: JailFolder) -> tuple[Fraction, ...]:
    return JailFolder(folder.path).state.total(("dataset", "", "census"))


def test_sixty_four_clients_spend_one_budget_exactly_v36_v38(tmp_path: Path) -> None:
    """V-36, V-38: each is granted all of it; together they get it once."""
    users = tuple(f"user{i}" for i in range(CLIENTS))
    folder = make_jail(tmp_path, budget=BUDGET, users=users, grant=BUDGET)
    with serving(tmp_path) as served:
        assert race([served], users) == BUDGET / STEP
    assert spent(folder) == (BUDGET,)


def test_sixty_four_clients_of_two_jails_with_one_postgres_ledger_v36_v38(tmp_path: Path, postgres: Server) -> None:
    """V-36, V-38: two processes, one ledger."""
    users = tuple(f"user{i}" for i in range(CLIENTS))
    url = postgres.database()
    for name in "ab":
        (tmp_path / name).mkdir()
    first = make_jail(tmp_path / "a", BUDGET, users, BUDGET, url)
    second = make_jail(tmp_path / "b", BUDGET, (), None, url)
    for user in users:  # the same tokens, at the other address
        file = json.loads((tmp_path / "a" / f"{user}.privjail").read_text())
        (tmp_path / "b" / f"{user}.privjail").write_text(json.dumps(file | {"address": second.config["address"]}))
    with serving(tmp_path / "a") as a, serving(tmp_path / "b") as b:
        assert race([a, b], users) == BUDGET / STEP
    assert spent(first) == spent(second) == (BUDGET,)


WORKER = """
import sys, threading, secrets
from fractions import Fraction
from pathlib import Path
from privjail.curator.folder import JailFolder
from privjail.errors import BudgetExceeded
from privjail.ops.rows.source import Dataset, Source, Unit

cell = Source(Dataset("census", "census", (), Unit())).cells[0]
won = []

def run(ledger):
    for _ in range(5):
        try:
            ledger.charge("ann", secrets.token_hex(16), "d", {}, [(cell, (Fraction(1, 4),))], {})
            won.append(1)
        except BudgetExceeded:
            return

# Two threads share a ledger, as in one jail; each other pair has one of its own.
ledgers = [JailFolder(Path(sys.argv[1])).ledger for _ in range(int(sys.argv[2]))]
print("ready", flush=True)
sys.stdin.readline()
threads = [threading.Thread(target=run, args=(l,)) for l in ledgers for _ in range(2)]
[t.start() for t in threads]
[t.join() for t in threads]
print(len(won), flush=True)
"""


def race_processes(path: Path, processes: int, ledgers: int) -> int:
    """Processes that open the ledger at once and write to it at once."""
    command = [sys.executable, "-c", WORKER, str(path), str(ledgers)]
    workers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENV)
        for _ in range(processes)
    ]
    won = 0
    for worker in workers:
        assert worker.stdout is not None and worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        out, _ = worker.communicate(timeout=240)
        won += int(out)
    return won


def on_sqlite(tmp_path: Path, postgres: Callable[[], Server]) -> JailFolder:
    return make_jail(tmp_path, budget=BUDGET, grant=100)


def on_postgres(tmp_path: Path, postgres: Callable[[], Server]) -> JailFolder:
    return make_jail(tmp_path, budget=BUDGET, grant=100, ledger=postgres().database())


@pytest.mark.parametrize("make", [on_sqlite, on_postgres])
@pytest.mark.parametrize(
    ("processes", "ledgers"), [(4, 8), pytest.param(64, 1, marks=pytest.mark.slow)], ids=["4 processes", "64 processes"]
)
def test_racing_processes_spend_one_budget_exactly_v36(
    tmp_path: Path, make: Callable[..., JailFolder], processes: int, ledgers: int, request: pytest.FixtureRequest
) -> None:
    """V-36: 64 writers (or 128) in several processes on one ledger."""
    folder = make(tmp_path, lambda: request.getfixturevalue("postgres"))
    assert race_processes(folder.path, processes, ledgers) == BUDGET / STEP
    assert spent(folder) == (BUDGET,)
    assert len([e for e in JailFolder(folder.path).events() if e.body["type"] == "charge"]) == BUDGET / STEP
