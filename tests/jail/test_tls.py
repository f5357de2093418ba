"""Who is let in: certificates and tokens (V-34), and what shows of them."""

from __future__ import annotations

import contextlib
import json
import logging
from pathlib import Path
from typing import Any

import grpc
import pytest
from .wire_fixtures import Held, make_jail, people, served

import privjail as pj
from privjail import client
from privjail import pandas as pd
from privjail.curator.folder import JailFolder
from privjail.errors import DPError, PlanError
from privjail.jail.server import Options, start
from privjail.jail.tls import make_certificates


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
    with pytest.raises(DPError, match="who you are is not known here|cannot be reached"):
        pj.connect(files["ann"]["address"], token=token, certificate=files["ann"]["certificate"])


def _channel(file: dict[str, Any]) -> Any:
    return grpc.secure_channel(file["address"], grpc.ssl_channel_credentials(file["certificate"].encode()))


def test_no_token_is_refused(jail: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no anonymous mode; every call is refused alike, before its message is read."""
    from privjail.jail import privjail_pb2 as pb

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


def test_expired_and_revoked_tokens_are_refused(folder: Any, jail: Any, tmp_path: Path) -> None:
    path, _ = folder
    running, _ = jail
    curator = JailFolder(path)
    with contextlib.closing(curator.ledger):
        late = curator.add_user("late", "analyst", -1)
        eve = curator.add_user("eve", "analyst", 1)
        again = curator.add_user("eve", "analyst", 1)
        where = {"address": f"localhost:{running.port}"}

        with pytest.raises(DPError, match="who you are is not known here"):
            connected(late, tmp_path, **where)
        with pytest.raises(DPError, match="who you are is not known here"):
            connected(eve, tmp_path, **where)  # a new token replaced it
        connection = connected(again, tmp_path, **where)
        curator.revoke("eve", None)
        with pytest.raises(DPError, match="who you are is not known here"):
            connection.consumed()  # it holds from the next request on


def test_mutual_tls(folder: Any, tmp_path: Path) -> None:
    path, files = folder
    with served(path, insecure_loopback=False, mutual_tls=True) as running:
        where = {"address": f"localhost:{running.port}"}
        ann, bob = files["ann"], files["bob"]

        assert connected(ann, tmp_path, **where).user == "ann"
        with pytest.raises(DPError, match="certificates do not match|cannot be reached"):
            connected(ann, tmp_path, key=None, user_certificate=None, **where)
        with pytest.raises(DPError, match="who you are is not known here"):
            connected(ann, tmp_path, key=bob["key"], user_certificate=bob["user_certificate"], **where)
        # A certificate of the right name from another authority.
        from privjail.jail.tls import user_certificate

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
        ledger.record({"type": "user", "name": "carl", "role": ann.role, "token": ann.token, "expires": None})

        with pytest.raises(DPError, match="who you are is not known here"):
            df.shape[0].reveal(eps=1)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "jail.example.org", ""])
def test_without_tls_a_jail_is_served_on_loopback_only(folder: Any, host: str) -> None:
    with pytest.raises(DPError, match="loopback"):
        start(folder[0], Options(host=host, port=0, insecure_loopback=True))


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
    for kept in path.iterdir():
        assert files["ann"]["token"].encode() not in kept.read_bytes(), kept.name
