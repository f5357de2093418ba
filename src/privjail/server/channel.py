"""The client's channel to a jail: how it is made, how a lost connection is waited for, who is at the other end."""

from __future__ import annotations

import contextlib
import socket
import ssl
from dataclasses import dataclass
from typing import Any

from privjail.errors import PlanError
from privjail.server.wire.rpc import grpc

LOOPBACK = ("127.0.0.1:", "localhost:", "[::1]:")
OPTIONS = [
    ("grpc.max_receive_message_length", 256 * 2**20),
    ("grpc.max_send_message_length", 256 * 2**20),
    ("grpc.initial_reconnect_backoff_ms", 100),  # a jail that restarts is found soon after its port is open
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.min_reconnect_backoff_ms", 5000),  # gRPC's name for the time limit of one attempt to connect
    ("grpc.keepalive_time_ms", 60_000),  # a jail that is gone without a word is noticed
]
SUSPICIOUS = ("certificate", "handshake", "verification", "ssl", "tls")  # gRPC's words for what fails inside TLS
PROBE_SECONDS = 2.0


@dataclass(frozen=True)
class Jail:
    """Where a jail is served, and the certificates of both sides; without a certificate there is no TLS."""

    address: str
    certificate: bytes | None
    key: bytes | None = None
    user_certificate: bytes | None = None

    def channel(self) -> Any:
        if self.certificate is None:
            if not self.address.startswith(LOOPBACK):
                raise PlanError("without TLS only a jail on this machine's loopback address is reached")
            return grpc.insecure_channel(self.address, OPTIONS)
        credentials = grpc.ssl_channel_credentials(self.certificate, self.key, self.user_certificate)
        return grpc.secure_channel(self.address, credentials, OPTIONS)

    def mismatch(self, failed: Any) -> str | None:
        return None if self.certificate is None else certificate_mismatch(self.address, self.certificate, failed)


def certificate_mismatch(address: str, certificate: bytes, failed: Any) -> str | None:
    """Why the certificate shown at an address is not the pinned one; None if it is, or if nobody shows one.

    gRPC uses the same words for a wrong certificate and for a connection that was closed during the handshake, as by
    a server that is stopping or by a proxy without a backend. So where its error speaks of TLS, a handshake of our own
    tells them apart: only a certificate that was shown and did not verify is a mismatch.
    """
    words = (failed.details() or "").lower()
    if not any(word in words for word in SUSPICIOUS):
        return None
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    context = ssl.create_default_context(cadata=certificate.decode())
    context.set_alpn_protocols(["h2"])
    try:
        with (
            socket.create_connection((host, int(port)), PROBE_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=host),
        ):
            return None
    except ssl.SSLCertVerificationError as e:
        return e.verify_message
    except (OSError, ValueError):  # closed, refused, no TLS at all; or an address that only gRPC understands
        return None


def wait_for_connection(channel: Any, metadata: Any, seconds: float) -> None:
    """Return once a jail answers, or after some seconds.

    Without its event engine (see rpc.py), gRPC connects only while some thread waits for a call. A call that fails at
    once because there is no connection does not wait, so to repeat such calls hardly ever connects: an attempt that
    nobody serves fails after its time limit, on an open port. ``wait_for_ready`` makes this call stay and connect.
    What is asked is refused, since it names no session; any answer shows that the jail is back.
    """
    knock = channel.unary_unary("/privjail.v1.Jail/Budget", request_serializer=bytes, response_deserializer=bytes)
    with contextlib.suppress(grpc.RpcError):
        knock(b"", metadata=metadata, timeout=seconds, wait_for_ready=True)
