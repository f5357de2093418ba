"""Which certificate a server shows, and what is said of a server that shows none."""

from __future__ import annotations

from pathlib import Path

import pytest

from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted.study import Server
from privjail.encrypted.wire import Caller, serve
from privjail.errors import DPError
from privjail.server.tls import make_certificates
from tests.server.jails import free_port
from tests.server.proxies import Unready


def test_only_a_certificate_that_differs_is_called_so(tmp_path: Path) -> None:
    for folder in ("ours", "another"):
        (tmp_path / folder).mkdir()
        make_certificates(tmp_path / folder, ["localhost"])
    pair = ((tmp_path / "ours" / "jail.key").read_bytes(), (tmp_path / "ours" / "jail.crt").read_bytes())
    another = (tmp_path / "another" / "jail.crt").read_text()
    running = serve("Decrypt", {}, "localhost:0", pair, None, close=lambda: None)
    try:
        with Unready(free_port(), running.port, 10**6, lambda peer: None) as closing:
            for port, pinned, said in (
                (running.port, another, "does not show the study's certificate"),
                (closing.port, pair[1].decode(), "nobody answers|is just starting"),
            ):
                caller = Caller("Decrypt", Server(f"localhost:{port}", pinned))
                with pytest.raises(DPError, match=said):
                    caller.call("Check", pb.CheckRequest(), pb.CheckReply, patience=0.5)
                caller.close()
    finally:
        running.stop()
