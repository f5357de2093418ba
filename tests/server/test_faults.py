"""Kills, crashes and restarts: what was answered was charged, once, and stays the answer."""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privjail.client import Connection
from privjail.curator.folder import JailFolder
from privjail.curator.leases import set_lease
from privjail.errors import DPError
from privjail.server.wire import privjail_pb2 as pb

from .crashes import POINTS
from .jails import Served, Zygote, count, gone, make_jail, serving, wait_gone


def charges(folder: JailFolder) -> dict[str, Fraction]:
    """What each request id was charged, over the whole log; fails if one was charged twice."""
    found = [e.body for e in folder.events() if e.body["type"] == "charge"]
    per_request = Counter(body["request"] for body in found)
    assert not [r for r, n in per_request.items() if n > 1], "a request was charged twice"
    return {b["request"]: sum((Fraction(c) for _, _, (c,) in b["charges"]), Fraction(0)) for b in found}


@pytest.mark.parametrize("point", POINTS)
def test_a_crash_between_any_two_steps_charges_once_and_keeps_the_answer_v37(
    tmp_path: Path, zygote: Zygote, point: str
) -> None:
    """V-37, V-25: after a crash anywhere the same request gives one answer, for one charge."""
    folder = make_jail(tmp_path)
    served = Served(tmp_path)
    drawn = tmp_path / "drawn"
    crashing = zygote.spawn(served.args, {"point": point, "drawn": str(drawn)})
    number = secrets.token_bytes(16)
    got: list[list[Any]] = []
    connection = served.connect()
    asks = [count(connection, Fraction(1, 4))]
    asking = threading.Thread(target=lambda: got.append(connection.release(asks, number)))
    asking.start()
    wait_gone(crashing)
    before = charges(JailFolder(tmp_path / "jail"))  # verifies the chain and writes what is owed
    again = zygote.spawn(served.args)
    try:
        asking.join(60)
        assert not asking.is_alive() and got
        assert connection.release(asks, number) == got[0]
        other = served.connect()
        assert other.release([count(other, Fraction(1, 4))], number) == got[0]
        assert charges(folder) == {number.hex(): Fraction(1, 4)}
        assert folder.state.total(("dataset", "", "census")) == (Fraction(1, 4),)
        reached = POINTS.index(point)
        assert bool(before) == (reached >= POINTS.index("charge: after the note"))
        if reached >= POINTS.index("answer: after the note"):
            first = pb.ReleaseReply.FromString(drawn.read_bytes())
            assert got[0] == [first.answers[0].number], "an answer that may have been seen was drawn anew"
    finally:
        os.kill(again, signal.SIGKILL)
        wait_gone(again)


@dataclass
class Journal:
    """What clients sent and saw, kept where no crash of the jail reaches."""

    sent: dict[bytes, Fraction] = field(default_factory=dict)
    seen: dict[bytes, Any] = field(default_factory=dict)
    repeated: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    wrong: list[str] = field(default_factory=list)


def load(served: Served, user: str, journal: Journal, stop: threading.Event, seed: int) -> None:
    """Ask, and sometimes ask again by an id that was used before, until told to stop."""
    rng = random.Random(seed)
    connection: Connection | None = None
    mine: list[bytes] = []
    while not stop.is_set():
        try:
            connection = connection or served.connect(user)
            again = bool(mine) and rng.random() < 0.3
            number = rng.choice(mine) if again else secrets.token_bytes(16)
            with journal.lock:
                eps = journal.sent.setdefault(number, Fraction(rng.randrange(1, 50), 1000))
            if not again:
                mine.append(number)
            answer = connection.release([count(connection, eps)], number)
            with journal.lock:
                journal.repeated += number in journal.seen
                if journal.seen.setdefault(number, answer) != answer:
                    journal.wrong.append("two answers for one request id")
        except DPError as e:
            # A client that met nothing but kills for as long as its patience lasts does not know what came of it.
            if "cannot be reached" not in str(e) and "no such session" not in str(e):
                journal.wrong.append(str(e))


def kill_again_and_again(where: Path, zygote: Zygote, kills: int, users: int = 4, lease: str | None = None) -> Journal:
    names = tuple(f"user{i}" for i in range(users))
    folder = make_jail(where, budget=10**6, users=names, grant=10**6)
    if lease is not None:
        set_lease(folder, "census", lease, None)
    served, journal, stop = Served(where), Journal(), threading.Event()
    rng = random.Random(kills)
    pid = zygote.spawn(served.args)
    threads = [
        threading.Thread(target=load, args=(served, name, journal, stop, i), daemon=True)
        for i, name in enumerate(names)
    ]
    for thread in threads:
        thread.start()
    try:
        for _ in range(kills):
            _wait_for_work(journal, rng)
            assert not gone(pid), "the jail ended by itself"
            os.kill(pid, signal.SIGKILL)
            wait_gone(pid)
            with journal.lock:
                seen = dict(journal.seen)
            check(JailFolder(where / "jail"), journal, seen)
            pid = zygote.spawn(served.args)
        stop.set()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        finish(served, names, journal)
        check(folder, journal, journal.seen)
    finally:
        stop.set()
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        wait_gone(pid)
    return journal


def _wait_for_work(journal: Journal, rng: random.Random) -> None:
    """Let the jail start, or work for a while: one kill in six falls into the start."""
    if rng.random() < 1 / 6:
        time.sleep(rng.random() * 0.15)
        return
    before, deadline = len(journal.seen), time.monotonic() + 30
    while len(journal.seen) == before:
        assert time.monotonic() < deadline, "no answers any more"
        time.sleep(0.002)
    time.sleep(rng.random() * 0.1)


def check(folder: JailFolder, journal: Journal, seen: dict[bytes, Any]) -> None:
    """The ledger is whole (or the folder would not have opened); what was seen was charged, once, at its price."""
    charged = charges(folder)
    assert not journal.wrong
    for number in seen:
        assert charged[number.hex()] == journal.sent[number], "an answer without its charge"
    for number, cost in charged.items():
        assert journal.sent[bytes.fromhex(number)] == cost
    assert folder.state.total(("dataset", "", "census")) == (sum(charged.values(), Fraction(0)),)
    folder.ledger.close()


def finish(served: Served, names: tuple[str, ...], journal: Journal) -> None:
    """Ask all that was ever sent once more: what was seen is seen again, what was charged is charged no more."""
    owners = [served.connect(name) for name in names]
    for owner in owners:
        mine = {key[1] for key in JailFolder(served.where / "jail").state.requests if key[0] == owner.user}
        for number in (bytes.fromhex(n) for n in mine):
            answer = owner.release([count(owner, journal.sent[number])], number)
            assert journal.seen.setdefault(number, answer) == answer


def test_kill_nine_under_load_loses_no_charge_and_charges_nothing_twice_v37(tmp_path: Path, zygote: Zygote) -> None:
    """V-37: fifteen kills at random moments."""
    journal = kill_again_and_again(tmp_path, zygote, kills=15)
    assert len(journal.seen) > 30 and journal.repeated > 5


@pytest.mark.slow
def test_five_hundred_kills_v37(tmp_path: Path, zygote: Zygote) -> None:
    """V-37: five hundred kills at random moments."""
    journal = kill_again_and_again(tmp_path, zygote, kills=500)
    assert len(journal.seen) > 1000 and journal.repeated > 100
    print(f"500 kills; {len(journal.sent)} requests, {len(journal.seen)} answers, {journal.repeated} repeats")


def test_a_real_process_killed_and_started_again_goes_on(tmp_path: Path) -> None:
    """The same without a fork: the command itself, over TLS."""
    make_jail(tmp_path).ledger.close()
    number = secrets.token_bytes(16)
    file = tmp_path / "ann.privjail"
    file.write_text(file.read_text().replace('"insecure_loopback": true', '"insecure_loopback": false'))
    with serving(tmp_path, tls=True) as served:
        connection = served.connect()
        first = connection.release([count(connection, 1)], number)
        served.kill()
        served.start()
        assert connection.release([count(connection, 1)], number) == first
        connection.release([count(connection, 1)])
    assert JailFolder(tmp_path / "jail").state.total(("user", "ann", "census")) == (2,)
