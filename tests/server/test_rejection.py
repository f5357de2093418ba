"""What the log says about calls that are not let in, and where metrics listen."""

from __future__ import annotations

import datetime
import json
import socket
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from privjail import client
from privjail.errors import DPError
from privjail.server import rejection as rejections
from privjail.server.ledger.events import Event
from privjail.server.rejection import MOST, Reason, Rejection, RejectionLog, rejection
from privjail.server.ledger.state import State

from .jails import free_port, make_jail, serving

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def test_each_reason_is_told_apart() -> None:
    state = State()
    for name, expires in (("ann", None), ("late", "2025-12-31T00:00:00+00:00"), ("gone", "2025-12-31T00:00:00+00:00")):
        body = {"type": "user", "name": name, "token": name * 16, "expires": expires}
        state.apply(Event(0, "", body))
    state.apply(Event(0, "", {"type": "revoke", "scope": "user", "who": "gone", "dataset": None}))

    found = {d: rejection(state, d, NOW) for d in (None, "0" * 64, "late" * 16, "gone" * 16, "ann" * 16)}

    assert [r.reason for r in found.values()] == [
        Reason.MISSING, Reason.UNKNOWN, Reason.EXPIRED, Reason.REVOKED, Reason.CERTIFICATE,
    ]  # fmt: skip
    assert len({str(r) for r in found.values()}) == 5
    told = {r.reason: r.error.what for r in found.values()}
    assert told.pop(Reason.EXPIRED) == "authentication failed: the token has expired"
    assert set(told.values()) == {"authentication failed: the token is not accepted"}


def test_strangers_cannot_fill_the_log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(rejections.time, "monotonic", lambda: clock[0])
    written = RejectionLog()
    for _ in range(1000):
        written.write(Rejection(Reason.UNKNOWN), "ipv4:192.0.2.1:5")
    written.write(Rejection(Reason.REVOKED, "ann"), "ipv4:192.0.2.1:5")
    assert len(caplog.records) == MOST + 1 and "'ann' was revoked" in caplog.records[-1].getMessage()
    clock[0] += rejections.EVERY
    written.write(Rejection(Reason.UNKNOWN), "ipv4:192.0.2.1:5")
    assert f"({1000 - MOST} times more, not logged)" in caplog.records[-2].getMessage()


def test_a_served_jail_logs_a_refused_token_and_keeps_metrics_on_loopback(tmp_path: Path) -> None:
    make_jail(tmp_path).ledger.close()
    metrics = free_port()
    file = json.loads((tmp_path / "ann.privjail").read_text())
    (tmp_path / "eve.privjail").write_text(json.dumps(file | {"token": "nobody's"}))
    with serving(tmp_path, "--host", "0.0.0.0", "--metrics-port", str(metrics), tls=True) as served:
        with urllib.request.urlopen(f"http://127.0.0.1:{metrics}/metrics", timeout=20) as page:
            assert b"privjail_requests_total" in page.read()
        with socket.socket() as other, pytest.raises(OSError):
            other.settimeout(5)
            other.connect((_own_address(), metrics))
        (tmp_path / "eve.privjail").write_text(
            json.dumps({k: v for k, v in (file | {"token": "nobody's"}).items() if k != "insecure_loopback"})
        )
        with pytest.raises(DPError, match="authentication failed: the token is not accepted"):
            client.connect(tmp_path / "eve.privjail")
        _, err = served.stop()
    assert "authentication failed: the token is unknown" in err and "nobody's" not in err


def _own_address() -> Any:
    """An address of this machine that is not loopback (or one at which nobody is)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has the loopback address only")
        address = probe.getsockname()[0]
    with socket.socket() as free:
        free.bind((address, 0))  # it is ours
    return address
