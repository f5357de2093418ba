"""Workers are shared among users: nobody waits for the end of another user's long work (V-55)."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from privjail.server.wire import privjail_pb2 as pb
from privjail.server import workers as module
from privjail.server.workers import Workers

from .jails import count, make_jail, serving
from .raw import Plan, listed, number, ref, text, whole

ROWS = 200_000


class Shift:
    """Requests that hold a place until they are told to end, each in a thread of its own."""

    def __init__(self, places: int) -> None:
        self.workers = Workers(places)
        self.running: list[str] = []  # in the order in which they were started
        self._ends: dict[int, tuple[threading.Event, threading.Thread]] = {}

    def ask(self, user: str) -> int:
        """A request of a user, which starts at once or waits."""
        end, known = threading.Event(), len(self.workers._waiting) + len(self.workers._running)

        def run() -> None:
            with self.workers.place(user):
                self.running.append(user)
                end.wait(60)

        thread = threading.Thread(target=run)
        thread.start()
        eventually(lambda: len(self.workers._waiting) + len(self.workers._running) > known)
        self._ends[len(self._ends)] = end, thread
        return len(self._ends) - 1

    def end(self, number: int) -> None:
        end, thread = self._ends[number]
        end.set()
        thread.join(60)

    def started(self, *users: str) -> None:
        """Check who was started so far, in this order."""
        eventually(lambda: len(self.running) >= len(users))
        time.sleep(0.05)  # whoever should not be started would be by now
        assert self.running == list(users)


def eventually(true: Any) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.002)


@contextmanager
def shift(places: int) -> Iterator[Shift]:
    made = Shift(places)
    try:
        yield made
    finally:
        for end, _ in made._ends.values():
            end.set()
        for _, thread in made._ends.values():
            thread.join(60)
        assert not made.workers._running and not made.workers._waiting and not made.workers._at_work


@pytest.fixture
def never_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONG", 1e6)


@pytest.mark.usefixtures("never_long")
def test_some_places_are_kept_for_users_with_nothing_at_work() -> None:
    with shift(4) as jail:
        for _ in range(4):
            jail.ask("greedy")
        jail.started(*["greedy"] * 3)
        jail.ask("modest")
        jail.started(*["greedy"] * 3, "modest")


@pytest.mark.usefixtures("never_long")
def test_the_user_with_the_least_at_work_goes_next() -> None:
    with shift(4) as jail:
        begun = ["ann", "ann", "bob", "eve"]
        for user in begun:
            jail.ask(user)
        jail.started(*begun)
        for user in ("ann", "bob", "cat", "dan"):  # all places are taken
            jail.ask(user)
        jail.started(*begun)
        jail.end(3)  # of eve: cat and dan have nothing at work, and cat came first
        jail.started(*begun, "cat")
        jail.end(2)  # of bob: now he has nothing at work either, and came before dan
        jail.started(*begun, "cat", "bob")
        jail.end(0)  # of ann, who came before dan but has one more at work
        jail.started(*begun, "cat", "bob", "dan")
        jail.end(1)
        jail.started(*begun, "cat", "bob", "dan", "ann")


def test_short_work_passes_long_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many users have long work: others are let in, each of them once."""
    monkeypatch.setattr(module, "LONG", 0.2)
    with shift(2) as jail:
        for user in ("ann", "bob", "cat", "dan"):
            jail.ask(user)
        jail.started("ann", "bob", "cat", "dan")
        jail.ask("ann")
        time.sleep(0.5)
        jail.started("ann", "bob", "cat", "dan")
        quick = jail.ask("eve")
        jail.started("ann", "bob", "cat", "dan", "eve")
        jail.end(quick)
        assert len(jail.workers._running) == 4


@pytest.mark.usefixtures("never_long")
def test_work_that_fails_gives_its_place_back() -> None:
    workers = Workers(1)
    for _ in range(3):
        with pytest.raises(ValueError, match="no"), workers.place("ann"):
            raise ValueError("no")
    with workers.place("bob"):
        pass


@pytest.mark.parametrize("long", [1e6, 0.002])
def test_many_requests_all_have_their_turn(monkeypatch: pytest.MonkeyPatch, long: float) -> None:
    """And never more of them run than there are workers, or workers and users where work is long."""
    monkeypatch.setattr(module, "LONG", long)
    places, users = 3, [f"user {i}" for i in range(6)]
    workers, done, most = Workers(places), [], [0]

    def requests(user: str) -> None:
        for i in range(30):
            with workers.place(user):
                most[0] = max(most[0], len(workers._running))
                time.sleep(0.001 * (i % 4))
            done.append(user)

    threads = [threading.Thread(target=requests, args=(user,)) for user in users for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(done) == sorted(users * 4 * 30)
    assert places - 1 <= most[0] <= (places if long > 1 else places + len(users))
    assert not workers._running and not workers._waiting and not workers._at_work


# -- a served jail


def long_plan() -> Plan:
    """Seconds of work, by public operations: a large table is sorted again and again."""
    plan = Plan()
    plan.request.nodes[0].fields[0].dataset = "census"
    age = plan.column("age")
    for i in range(300):
        key = plan.add("arithmetic", text("+"), ref(age), ref(plan.add("constant", whole(i))))
        rows = plan.add("sort", ref(plan.source), listed(ref(key)), listed(number(0)))
        plan.ask(plan.count(plan.add("slice", ref(rows), number(0), number(100 + i))), epsilon="1/1000")
    return plan


def begin_long(channel: Any, token: str) -> list[Any]:
    """Four long requests of one user at once, each in a session of its own."""
    metadata = (("authorization", f"Bearer {token}"),)
    begun = []
    for _ in range(4):
        opened = channel.unary_unary("/privjail.v1.Jail/Open")(
            pb.OpenRequest(version=1).SerializeToString(), metadata=metadata
        )
        plan = long_plan()
        plan.request.session = pb.OpenReply.FromString(opened).session
        release = channel.unary_unary("/privjail.v1.Jail/Release")
        begun.append(release.future(plan.request.SerializeToString(), metadata=metadata))
    return begun


def test_two_greedy_users_do_not_keep_a_third_one_waiting(tmp_path: Path) -> None:
    """V-55: her count comes while all the long work of the others still runs."""
    make_jail(tmp_path, users=("ann", "bob", "eve"), rows=ROWS).ledger.close()
    with ExitStack() as stack:
        served = stack.enter_context(serving(tmp_path))
        modest = served.connect("ann")
        asked = count(modest, 1)
        modest.release([asked])  # loads the data and the engine
        tokens = [json.loads((tmp_path / f"{user}.privjail").read_text())["token"] for user in ("bob", "eve")]
        port = served.args[served.args.index("--port") + 1]
        channels = [stack.enter_context(grpc.insecure_channel(f"127.0.0.1:{port}")) for _ in tokens]
        begun = [each for pair in zip(channels, tokens, strict=True) for each in begin_long(*pair)]
        time.sleep(1.5)
        start = time.monotonic()
        assert len(modest.release([asked])) == 1
        took = time.monotonic() - start
        assert len(begun) == 8 and not any(each.done() for each in begun)
        assert took < 20  # the others take longer than that together; alone it takes milliseconds
        modest.close()
