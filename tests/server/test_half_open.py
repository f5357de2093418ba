"""Connections and calls that are begun and never finished do not keep honest analysts waiting (V-52)."""

from __future__ import annotations

import json
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pytest

from privjail import client
from privjail.curator.folder import JailFolder
from privjail.server.authentication import SharedRefresh, authenticate
from privjail.server.connections import Connections, network_of, peer_of
from privjail.server.ledger.events import Event
from privjail.server.limits import Limits
from privjail.server.server import Running
from privjail.server.ledger.state import State
from privjail.server.tokens import token_hash

from . import half_open, wire_fixtures
from .jails import ENV, PRIVJAIL, Served, count, make_jail, serving
from .wire_fixtures import Held, people, quick_folder

MANY = 1_000
WITHIN = 2.0  # seconds for an honest release, on a machine that has nothing else to do


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A jail over TLS, with two users: honest ann, and eve."""
    where = tmp_path_factory.mktemp("attacked")
    make_jail(where, users=("ann", "eve")).ledger.close()
    for user in ("ann", "eve"):
        file = where / f"{user}.privjail"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"insecure_loopback": False}))
    with serving(where, tls=True) as served:
        release(served)  # loads the data and the engine
        yield served


@pytest.fixture
def in_time(attacked: Served) -> float:
    """Seconds in which a release must be answered under attack: more where one without an attack takes long, too."""
    return WITHIN + 10 * release(attacked)


def release(served: Served) -> float:
    """The seconds that a new connection and one release of an honest analyst take."""
    start = time.monotonic()
    connection = served.connect("ann")
    try:
        assert len(connection.release([count(connection, 1)])) == 1
    finally:
        connection.close()
    return time.monotonic() - start


def port(served: Served) -> int:
    return int(served.args[served.args.index("--port") + 1])


def token(where: Path, user: str) -> str:
    return str(json.loads((where / f"{user}.privjail").read_text())["token"])


@pytest.mark.parametrize("begun", [half_open.tcp, half_open.hello, half_open.tls], ids=["tcp", "hello", "tls"])
def test_half_open_connections_do_not_delay_a_release(
    attacked: Served, in_time: float, begun: Callable[[int], Any]
) -> None:
    """V-52: from the same address as the honest analyst, who is new and who is connected already."""
    before = attacked.connect("ann")
    asked = count(before, 1)
    with half_open.held() as sockets:
        sockets += [begun(port(attacked)) for _ in range(MANY)]
        start = time.monotonic()
        assert len(before.release([asked])) == 1
        old, new = time.monotonic() - start, release(attacked)
        later = release(attacked)
    before.close()

    assert max(old, new, later) < in_time


@pytest.mark.parametrize("who", ["nobody", "made up", "eve"])
@pytest.mark.parametrize("method", ["Open", "Release", "Releases"])
def test_half_open_calls_do_not_delay_a_release(attacked: Served, in_time: float, who: str, method: str) -> None:
    """V-52: calls without a message, by a stranger or by a user whose token is valid."""
    given = {"nobody": None, "made up": "x" * 43, "eve": token(attacked.where, "eve")}[who]
    part = b"\x00\x00\x10\x00\x00abc" if method == "Release" else b""  # of a message of 1 MiB
    with half_open.held() as sockets:
        for _ in range(MANY // 50):
            sockets.append(half_open.tls(port(attacked)))
            half_open.calls(sockets[-1], 50, method, given, part)
        first = release(attacked)
        second = release(attacked)

    assert max(first, second) < in_time


def test_a_flood_of_connections_does_not_delay_a_release(attacked: Served, in_time: float) -> None:
    """V-52: one address opens connections again and again, as fast as one thread can."""
    over = threading.Event()
    opened = 0

    def flood() -> None:
        nonlocal opened
        while not over.is_set():
            with half_open.held() as sockets:
                for _ in range(MANY):
                    if not over.is_set():
                        sockets.append(half_open.tcp(port(attacked)))
                        opened += 1

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        took = []
        while opened < 2 * MANY or len(took) < 3:
            took.append(release(attacked))
    finally:
        over.set()
        thread.join()

    assert max(took) < in_time


def test_a_jail_with_few_files_takes_analysts_again_at_once(tmp_path: Path) -> None:
    """V-52: connections cannot use up the files that a process may open; strangers' ones are closed within seconds."""
    make_jail(tmp_path).ledger.close()
    few = ["prlimit", "--nofile=200:200"]
    with serving(tmp_path, prefix=few) as served:
        release(served)
        with half_open.held() as sockets:
            sockets += [half_open.tcp(port(served)) for _ in range(MANY)]
            release(served)  # a client tries again for 20 s
            assert served.process is not None
            assert half_open.descriptors(served.process.pid) < 200


# -- in one process with the jail, to count what is held


@pytest.fixture
def watched() -> Iterator[tuple[Running, dict[str, Any]]]:
    """A jail with short limits."""
    limits = Limits(authentication_seconds=1.0, first_message_seconds=1.0, calls_per_user=5, connections_per_user=3)
    with quick_folder() as folder:
        files = wire_fixtures.make_jail(folder / "jail", {"people": Held(people())}, ("ann", "eve"))
        with wire_fixtures.served(folder / "jail", limits=limits, insecure_loopback=False) as running:
            yield running, files


def eventually(true: Callable[[], bool], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return true()


def begin(running: Running, number: int, given: str | None) -> Any:
    connection = half_open.tls(running.port)
    half_open.calls(connection, number, "Release", given)
    return connection


def requests(running: Running) -> int:
    return running.service.metrics._counts["requests"]


def test_strangers_calls_hold_nothing(watched: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """V-52: they are refused from their headers, without a thread of the jail's calls or a read of the ledger."""
    running, _ = watched
    entered, reads = [], []
    ledger = running.service.ledger
    monkeypatch.setattr(running.handler.calls, "admit", entered.append)
    monkeypatch.setattr(ledger, "refresh", lambda: reads.append(time.monotonic()))
    with half_open.held() as sockets:
        sockets.append(begin(running, 90, None))
        assert eventually(lambda: requests(running) == 90)
        assert not reads
        start = time.monotonic()
        for _ in range(5):
            sockets.append(begin(running, 90, "x" * 43))
        assert eventually(lambda: requests(running) == 6 * 90)
        took = time.monotonic() - start

    assert not entered
    assert 1 <= len(reads) <= 1 + took / SharedRefresh.EVERY


def test_strangers_are_not_told_what_is_wrong_with_the_ledger(watched: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    running, files = watched

    def fails() -> None:
        raise RuntimeError("secret: the table is gone")

    monkeypatch.setattr(running.service.ledger, "refresh", fails)
    credentials = grpc.ssl_channel_credentials(files["ann"]["certificate"].encode())
    with grpc.secure_channel(f"localhost:{running.port}", credentials) as channel:
        with pytest.raises(grpc.RpcError) as refused:
            channel.unary_unary("/privjail.v1.Jail/Open")(b"", metadata=[("authorization", "Bearer made-up")])
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
        assert json.loads(refused.value.details())[:2] == ["Busy", "tokens cannot be checked now"]


def test_a_users_calls_without_a_message_are_limited_and_end(watched: Any) -> None:
    """V-52: with a valid token; others are not concerned, and she is served again after the deadline."""
    running, files = watched
    calls = running.handler.calls
    with half_open.held() as sockets:
        sockets.append(begin(running, 50, files["eve"]["token"]))
        assert eventually(lambda: requests(running) == 45)  # refused: five are waiting
        assert len(calls) == 5
        assert len(answered(running, files["ann"])) == 1
        assert eventually(lambda: len(calls) == 0)
        assert len(answered(running, files["eve"])) == 1


def answered(running: Running, file: dict[str, Any]) -> list[Any]:
    connection = secure(running, file)
    found = connection.release([count(connection, 1, "people")])
    connection.close()
    return found


def secure(running: Running, file: dict[str, Any]) -> client.Connection:
    return client.connect(f"localhost:{running.port}", token=file["token"], certificate=file["certificate"])


def no_call(port: int) -> Any:
    """HTTP/2 is agreed, and no call follows."""
    connection = half_open.tls(port)
    half_open.calls(connection, 0, "Open", None)
    return connection


def failed_call(port: int) -> Any:
    """A call has come, but with no valid token."""
    connection = half_open.tls(port)
    half_open.calls(connection, 1, "Open", "x" * 43)
    return connection


def test_a_call_that_ends_without_a_message_is_refused(watched: Any) -> None:
    running, files = watched
    credentials = grpc.ssl_channel_credentials(files["ann"]["certificate"].encode())
    with grpc.secure_channel(f"localhost:{running.port}", credentials) as channel:
        empty = channel.stream_unary("/privjail.v1.Jail/Open")
        with pytest.raises(grpc.RpcError) as refused:
            empty(iter([]), metadata=[("authorization", f"Bearer {files['ann']['token']}")])
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert not len(running.handler.calls)


@pytest.mark.parametrize("begun", [half_open.tcp, half_open.hello, half_open.tls, no_call, failed_call])
def test_connections_on_which_nobody_authenticates_are_closed(watched: Any, begun: Callable[[int], Any]) -> None:
    running, files = watched
    analyst = secure(running, files["ann"])
    (mine,) = running.handler.connections._users
    with half_open.held() as sockets:
        sockets.append(begun(running.port))
        assert half_open.closed(sockets[0], 20)
    assert len(analyst.release([count(analyst, 1, "people")])) == 1
    assert list(running.handler.connections._users) == [mine]  # the analyst's stays, and is the same one
    analyst.close()
    assert eventually(lambda: not running.handler.connections._users)


def test_an_address_has_few_connections_without_a_user() -> None:
    """V-52: the oldest of them are closed at the second look; others at the same address stay."""
    connections = Connections(Limits(unauthenticated_per_address=10))
    with half_open.held() as sockets:
        listening = socket.create_server(("127.0.0.1", 0))
        sockets.append(listening)
        there = listening.getsockname()[1]

        def arrive(number: int) -> list[socket.socket]:
            mine = []
            for _ in range(number):
                mine.append(half_open.tcp(there))
                sockets.extend([mine[-1], listening.accept()[0]])
            return mine

        user = arrive(1)[0]
        host, from_ = user.getsockname()
        connections.authenticated(f"ipv4:{host}:{from_}", "ann")
        old = arrive(15)
        assert connections.sweep(there) == 0  # each may be about to authenticate
        young = arrive(3)
        assert connections.sweep(there) == 8  # of 18, so that ten stay
        assert connections.sweep(there) in (0, 8)  # those that were closed may still be listed
        ended = [each for each in old if half_open.closed(each, 0.01)]
        assert len(ended) == 8
        assert not any(half_open.closed(each, 0.01) for each in [user, *young])


def test_a_user_has_few_connections(watched: Any) -> None:
    running, files = watched
    analysts = [secure(running, files["eve"]) for _ in range(5)]
    assert eventually(lambda: len(running.handler.connections._users) == 3)
    for each in analysts:
        each.close()


@pytest.mark.parametrize(
    ("name", "peer"),
    [
        ("ipv4:192.0.2.1:50000", ("192.0.2.1", 50000)),
        ("ipv6:%5B2001:db8::1%5D:50000", ("2001:db8::1", 50000)),
        ("ipv6:[::ffff:192.0.2.1]:50000", ("192.0.2.1", 50000)),
        ("unix:/run/jail.sock", None),
    ],
)
def test_peers_are_read_as_grpc_spells_them(name: str, peer: Any) -> None:
    assert peer_of(name) == peer


class Names(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Answers every call with gRPC's name of its peer."""

    def service(self, details: Any) -> Any:
        return grpc.unary_unary_rpc_method_handler(lambda _, context: context.peer().encode())


@pytest.mark.parametrize(("host", "to"), [("127.0.0.1", "127.0.0.1"), ("[::]", "127.0.0.1"), ("[::1]", "[::1]")])
def test_peers_are_found_among_the_sockets_of_the_process(host: str, to: str) -> None:
    server = grpc.server(futures.ThreadPoolExecutor(1), handlers=[Names()])
    try:
        there = server.add_insecure_port(f"{host}:0")
    except RuntimeError:
        pytest.skip("this machine has no IPv6")
    server.start()
    with grpc.insecure_channel(f"{to}:{there}") as channel:
        name = channel.unary_unary("/any/Call")(b"", timeout=20).decode()
        connections = Connections(Limits(unauthenticated_per_address=0))
        connections.authenticated(name, "ann")
        assert [connections.sweep(there) for _ in range(2)] == [0, 0]  # it is known as the connection of a user
        other = Connections(Limits(unauthenticated_per_address=0))
        assert [other.sweep(there) for _ in range(2)] == [0, 1]
    server.stop(None)


def test_networks_of_ipv6_count_as_one() -> None:
    assert network_of(("2001:db8:0:1::1", 1)) == network_of(("2001:db8:0:1:ffff::9", 2)) == "2001:db8:0:1::/64"
    assert network_of(("192.0.2.1", 1)) != network_of(("192.0.2.2", 1))


def test_a_token_is_looked_up_not_searched_for() -> None:
    """Authentication takes no longer with many users, and a token that was replaced is gone."""

    class PerElement(dict[str, Any]):
        def __iter__(self) -> Any:
            raise AssertionError("a loop over all users")

        values = items = keys = __iter__  # type: ignore[assignment]

    state = State()
    for seq, (name, given) in enumerate([("ann", "1"), ("eve", "2"), ("eve", "3"), ("bob", "4")]):
        body = {"type": "user", "name": name, "token": token_hash(given), "expires": None}
        state.apply(Event(seq, "", body, ""))
    state.apply(Event(9, "", {"type": "revoke", "scope": "user", "who": "bob", "dataset": None}, ""))
    state.users, state.tokens = PerElement(state.users), PerElement(state.tokens)
    found = {given: authenticate(state, token_hash(given)) for given in "12345"}

    assert {given: user.name for given, user in found.items() if user is not None} == {"1": "ann", "3": "eve"}
    assert authenticate(state, None) is None


WRITE_AND_END = """
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    db.execute("INSERT INTO t VALUES (2)")
db.close()
"""


def test_looking_for_connections_keeps_the_locks_of_the_ledger(tmp_path: Path) -> None:
    """A copy of a file's descriptor that is closed drops its locks; another process would then remove SQLite's log."""
    path = tmp_path / "ledger.sqlite"
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE t (x)")
    Connections(Limits()).sweep(1)
    subprocess.run([sys.executable, "-c", WRITE_AND_END, str(path)], check=True)
    assert Path(f"{path}-wal").is_file()
    db.execute("INSERT INTO t VALUES (3)")
    db.close()
    with sqlite3.connect(path) as again:
        assert again.execute("SELECT x FROM t").fetchall() == [(2,), (3,)]
    again.close()


def test_a_command_of_the_curator_leaves_a_serving_jail_its_ledger(tmp_path: Path) -> None:
    make_jail(tmp_path, users=("ann", "bob")).ledger.close()
    with serving(tmp_path) as served:
        analyst = served.connect()
        analyst.release([count(analyst, 1)])
        time.sleep(2.5)  # until the jail has looked for connections
        done = [*PRIVJAIL, "revoke", "bob", "--jail", str(tmp_path / "jail")]
        subprocess.run(done, env=ENV, check=True, capture_output=True)
        assert (tmp_path / "jail" / "ledger.sqlite-wal").is_file()
        analyst.release([count(analyst, 1)])
        analyst.close()
        served.stop()
    folder = JailFolder(tmp_path / "jail")
    assert folder.state.total(("user", "ann", "census")) == (2,)
    folder.ledger.close()
