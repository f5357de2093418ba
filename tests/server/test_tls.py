"""Who is let in: certificates and tokens (V-34), and what shows of them."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import grpc
import pytest
from .jails import free_port
from .proxies import Unready
from .wire_fixtures import Held, make_jail, people, served

import privjail as pj
from privjail import client
from privjail import pandas as pd
from privjail.curator.folder import JailFolder
from privjail.errors import DPError, PlanError
from privjail.server.server import Options, start
from privjail.server.tokens import token_hash
from privjail.server.tls import make_certificates


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("tls") / "jail"
    files = make_jail(path, {"people": Held(people())}, ("ann", "bob"))
    return path, files


@pytest.fixture(scope="module")
def jail(folder: Any) -> Any:
    path, files = folder
    with served(path, insecure_loopback=False) as running:
        yield running, {user: {**file, "address": f"localhost:{running.port}"} for user, file in files.items()}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(client.Connection._call, "__defaults__", (2.0,))
    yield
    pj.disconnect()


def connected(file: dict[str, Any], tmp_path: Path, **changes: Any) -> Any:
    given = {k: v for k, v in {**file, **changes}.items() if v is not None}
    path = tmp_path / "ann.privjail"
    path.write_text(json.dumps(given))
    return pj.connect(path)


def test_the_connection_file_lets_its_user_in(jail: Any, tmp_path: Path) -> None:
    _, files = jail
    connection = connected(files["ann"], tmp_path)

    assert (connection.user, connection.datasets) == ("ann", ["people"])
    assert isinstance(pd.read_csv("people").shape[0].reveal(eps=1), float)


def test_another_certificate_is_not_taken(jail: Any, tmp_path: Path) -> None:
    """The jail's certificate is pinned: one of the same name with another key is refused."""
    _, files = jail
    make_certificates(tmp_path, ["localhost", "127.0.0.1"])

    with pytest.raises(DPError, match="certificates do not match"):
        connected(files["ann"], tmp_path, certificate=(tmp_path / "jail.crt").read_text())


def closed(peer: socket.socket) -> None:
    """A proxy without a backend, or a jail without file descriptors."""


def reset(peer: socket.socket) -> None:
    """A jail that dies inside the handshake: closed with bytes unread."""
    peer.recv(10)


def plain(peer: socket.socket) -> None:
    """A proxy that says in plain text that it has no backend."""
    peer.recv(65536)
    peer.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize("turn_away", [closed, reset, plain])
def test_a_handshake_that_is_cut_off_is_tried_again(jail: Any, tmp_path: Path, turn_away: Any) -> None:
    running, files = jail
    with Unready(free_port(), running.port, 4, turn_away) as proxy:
        connection = connected(files["ann"], tmp_path, address=f"localhost:{proxy.port}")

        assert connection.user == "ann" and proxy.accepted > 4


@pytest.mark.parametrize("turn_away", [closed, reset, plain])
def test_a_peer_that_shows_no_certificate_is_not_called_a_wrong_one(jail: Any, tmp_path: Path, turn_away: Any) -> None:
    running, files = jail
    with (
        Unready(free_port(), running.port, 10**6, turn_away) as proxy,
        pytest.raises(DPError, match="cannot be reached"),
    ):
        connected(files["ann"], tmp_path, address=f"localhost:{proxy.port}")


@pytest.mark.parametrize(
    ("hosts", "days", "why"),
    [(["jail.example.org"], 10, "not valid for 'localhost'"), (["localhost"], 0, "expired")],
    ids=["another name", "expired"],
)
def test_a_pinned_certificate_that_is_not_valid_is_not_taken(
    tmp_path: Path, hosts: list[str], days: int, why: str
) -> None:
    path = tmp_path / "jail"
    files = make_jail(path, {"people": Held(people())})
    make_certificates(path, hosts, days)
    with served(path, insecure_loopback=False) as running:
        pinned = {"address": f"localhost:{running.port}", "certificate": (path / "jail.crt").read_text()}
        with pytest.raises(DPError, match=f"certificates do not match.*{why}"):
            connected(files["ann"], tmp_path, **pinned)


FAILS = """
import os, sys, threading, time, {first}
from privjail import client
client.Connection._call.__defaults__ = (1.0,)
sys.stdin.readline()
before = threading.active_count()
try:
    client.connect(sys.argv[1])
except client.DPError as e:
    held = e  # as an interactive session does: it keeps alive whatever the error refers to
    print(held.what, flush=True)
os.write(2, b"failed\\n")
time.sleep(4)
os.write(2, b"%d threads" % (threading.active_count() - before))
"""


@pytest.mark.parametrize("first", ["grpc", "json"], ids=["gRPC as it is", "gRPC as we load it"])
@pytest.mark.parametrize(
    ("turn_away", "what"),
    [(None, "certificates do not match"), (closed, "cannot be reached"), (plain, "cannot be reached")],
    ids=["wrong certificate", "closed", "plain"],
)
def test_a_failed_connect_leaves_nothing_behind(
    jail: Any, tmp_path: Path, turn_away: Any, what: str, first: str
) -> None:
    """No connection is tried after it, no thread is left, and nothing is written, also if the error is kept."""
    running, files = jail
    make_certificates(tmp_path, ["localhost"])
    certificate = (tmp_path / "jail.crt").read_text() if turn_away is None else files["ann"]["certificate"]
    with Unready(free_port(), running.port, 0 if turn_away is None else 10**6, turn_away) as proxy:
        file = tmp_path / "ann.privjail"
        file.write_text(json.dumps({**files["ann"], "address": f"localhost:{proxy.port}", "certificate": certificate}))
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        command = [sys.executable, "-c", FAILS.format(first=first), str(file)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=env) as analyst:
            assert analyst.stdin is not None and analyst.stdout is not None and analyst.stderr is not None
            analyst.stdin.write("go\n")
            analyst.stdin.flush()
            assert what in analyst.stdout.readline()
            time.sleep(0.5)  # a connection made before the failure may still wait to be accepted
            at_failure = proxy.accepted
            _, said = analyst.communicate(timeout=60)

    during, after = said.split("failed\n")
    assert after == "0 threads"
    assert proxy.accepted == at_failure > 0
    if first != "grpc":
        assert during == ""


def test_no_tls_is_not_taken(jail: Any, tmp_path: Path) -> None:
    running, files = jail

    with pytest.raises(DPError, match="cannot be reached"):
        connected(files["ann"], tmp_path, address=f"127.0.0.1:{running.port}", insecure_loopback=True)
    with pytest.raises(PlanError, match="certificate is needed"):
        connected(files["ann"], tmp_path, certificate=None)
    with pytest.raises(PlanError, match="loopback"):
        connected(files["ann"], tmp_path, address="jail.example.org:7443", insecure_loopback=True)


@pytest.mark.parametrize("token", ["x", "", "Bearer ", "A" * 43, "é", "x" * 5_000])
def test_a_wrong_token_is_refused(jail: Any, token: str) -> None:
    _, files = jail
    if token in ("", "é"):
        channel = _channel(files["ann"])
        with pytest.raises((DPError, grpc.RpcError, UnicodeError)):
            client.Connection(channel, token)
        return
    with pytest.raises(DPError, match="authentication failed|cannot be reached"):
        pj.connect(files["ann"]["address"], token=token, certificate=files["ann"]["certificate"])


def _channel(file: dict[str, Any]) -> Any:
    return grpc.secure_channel(file["address"], grpc.ssl_channel_credentials(file["certificate"].encode()))


def test_no_token_is_refused(jail: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no anonymous mode; every call is refused alike, before its message is read."""
    from privjail.server.wire import privjail_pb2 as pb

    _, files = jail
    monkeypatch.delenv("PRIVJAIL_TOKEN", raising=False)
    with pytest.raises(PlanError, match="a token is needed"):
        pj.connect(files["ann"]["address"], certificate=files["ann"]["certificate"])
    seen = set()
    for method in ("Open", "Describe", "Release", "Budget", "Close"):
        for body in (b"", b"\xff\xff", pb.OpenRequest(version=1).SerializeToString()):
            for metadata in ((), (("authorization", "Basic x"),), (("authorization", "Bearer"),)):
                with pytest.raises(grpc.RpcError) as refused:
                    _channel(files["ann"]).unary_unary(f"/privjail.v1.Jail/{method}")(body, metadata=metadata)
                seen.add((refused.value.code(), refused.value.details()))

    assert [code for code, _ in seen] == [grpc.StatusCode.UNAUTHENTICATED]


def test_unknown_methods_are_refused(jail: Any) -> None:
    _, files = jail
    for method in ("/privjail.v1.Jail/Eval", "/privjail.v1.Jail/__init__", "/x/Open", "/privjail.v1.Jail/open", "/"):
        with pytest.raises(grpc.RpcError) as refused:
            _channel(files["ann"]).unary_unary(method)(b"")
        assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_expired_and_revoked_tokens_are_refused(
    folder: Any, jail: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The caller is told whether the token expired; the log tells all apart, without a token in it."""
    path, _ = folder
    running, _ = jail
    curator = JailFolder(path)
    with contextlib.closing(curator.ledger):
        late = curator.add_user("late", -1)
        eve = curator.add_user("eve", 1)
        again = curator.add_user("eve", 1)
        where = {"address": f"localhost:{running.port}"}

        with pytest.raises(DPError, match="authentication failed: the token has expired"):
            connected(late, tmp_path, **where)
        with pytest.raises(DPError, match="authentication failed: the token is not accepted"):
            connected(eve, tmp_path, **where)  # a new token replaced it
        connection = connected(again, tmp_path, **where)
        curator.revoke("eve", None)
        with pytest.raises(DPError, match="authentication failed: the token is not accepted"):
            connection.consumed()  # it holds from the next request on
    lines = [record.getMessage().rpartition(" (from ")[0] for record in caplog.records]
    assert lines == [
        "authentication failed: the token of user 'late' has expired",
        "authentication failed: the token is unknown: never issued here, or replaced by a newer one",
        "authentication failed: user 'eve' was revoked",
    ]
    for file in (late, eve, again):
        assert file["token"] not in caplog.text and token_hash(file["token"]) not in caplog.text


def test_mutual_tls(folder: Any, tmp_path: Path) -> None:
    path, files = folder
    with served(path, insecure_loopback=False, mutual_tls=True) as running:
        where = {"address": f"localhost:{running.port}"}
        ann, bob = files["ann"], files["bob"]

        assert connected(ann, tmp_path, **where).user == "ann"
        with pytest.raises(DPError, match="certificates do not match|cannot be reached"):
            connected(ann, tmp_path, key=None, user_certificate=None, **where)
        with pytest.raises(DPError, match="authentication failed"):
            connected(ann, tmp_path, key=bob["key"], user_certificate=bob["user_certificate"], **where)
        # A certificate of the right name from another authority.
        from privjail.server.tls import user_certificate

        make_certificates(tmp_path, ["localhost"])
        key, certificate = user_certificate(tmp_path, "ann")
        with pytest.raises(DPError, match="certificates do not match|cannot be reached"):
            connected(ann, tmp_path, key=key.decode(), user_certificate=certificate.decode(), **where)


def test_a_certificate_is_compared_at_every_request_of_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "jail"
    files = make_jail(path, {"people": Held(people())}, ("ann",))
    with served(path, insecure_loopback=False, mutual_tls=True) as running:
        connected(files["ann"], tmp_path, address=f"localhost:{running.port}")
        df = pd.read_csv("people")
        df.shape[0].reveal(eps=1)
        ledger = running.service.ledger
        ann = ledger.state.users["ann"]
        ledger.record({"type": "revoke", "scope": "user", "who": "ann", "dataset": None})
        # Her token is another's now, but not her certificate.
        ledger.record({"type": "user", "name": "carl", "token": ann.token, "expires": None})

        with pytest.raises(DPError, match="authentication failed"):
            df.shape[0].reveal(eps=1)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "jail.example.org", ""])
def test_without_tls_a_jail_is_served_on_loopback_only(folder: Any, host: str) -> None:
    with pytest.raises(DPError, match="loopback"):
        start(folder[0], Options(host=host, port=0, insecure_loopback=True))


@pytest.mark.parametrize(
    "host", ["", "a b", "h\n", "127.0.0.1:7443", "https://x", "[::1]", "a,b", "-x", "m\u00fcnchen.example", "x" * 300]
)
def test_a_certificate_is_for_a_name_that_can_be_one(tmp_path: Path, host: str) -> None:
    """Red before: a jail was made whose connection files lead nowhere."""
    with pytest.raises(DPError, match="is no host name"):
        JailFolder.init(tmp_path / "jail", [host], "127.0.0.1:1", None)
    assert not (tmp_path / "jail").exists()


def test_tokens_are_in_no_log(jail: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """V-29: neither a good nor a bad token is written down, on either side."""
    _, files = jail
    with caplog.at_level(logging.DEBUG):
        connection = connected(files["ann"], tmp_path)
        with pytest.raises(DPError) as refused:
            pj.connect(files["ann"]["address"], token="bad-token-1234", certificate=files["ann"]["certificate"])

    shown = caplog.text + str(refused.value) + repr(connection) + str(refused.value.__context__)
    assert files["ann"]["token"] not in shown and "bad-token-1234" not in shown


def test_tokens_are_kept_as_hashes(folder: Any) -> None:
    path, files = folder
    for kept in (each for each in path.rglob("*") if each.is_file()):
        assert files["ann"]["token"].encode() not in kept.read_bytes(), kept.name
