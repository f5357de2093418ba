"""The client's gRPC channel to a jail: connecting, waiting for a lost connection, and checking the certificate."""

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
    ("grpc.keepalive_time_ms", 60_000),  # notices a jail that is gone without closing the connection
]
SUSPICIOUS = ("certificate", "handshake", "verification", "ssl", "tls")  # words in gRPC's error messages when TLS fails
PROBE_SECONDS = 2.0


@dataclass(frozen=True)
class JailAddress:
    """The address of a jail, and the certificates of both sides. Without a certificate, TLS is not used."""

    address: str
    certificate: bytes | None
    key: bytes | None = None
    user_certificate: bytes | None = None

    def channel(self) -> Any:
        if self.certificate is None:
            if not all(each.startswith(LOOPBACK) for each in self.address.split(",")):
                raise PlanError("a connection without TLS is allowed only to a jail on this machine's loopback address")
            return grpc.insecure_channel(_target(self.address), OPTIONS)
        credentials = grpc.ssl_channel_credentials(self.certificate, self.key, self.user_certificate)
        options: list[tuple[str, Any]] = list(OPTIONS)
        if "," in self.address:  # several jails with one certificate: it is made for the first one's name
            name = self.address.split(",")[0].rpartition(":")[0].strip("[]")
            options.append(("grpc.ssl_target_name_override", name))
        return grpc.secure_channel(_target(self.address), credentials, options)

    def mismatch(self, failed: Any) -> str | None:
        return None if self.certificate is None else certificate_mismatch(self.address, self.certificate, failed)


def _target(address: str) -> str:
    """What gRPC connects to. Of several addresses it takes the first that answers, and another when that is gone."""
    if "," not in address:
        return address
    found = []
    for each in address.split(","):
        host, _, port = each.strip().rpartition(":")
        try:
            places = socket.getaddrinfo(host.strip("[]"), int(port), socket.AF_INET, socket.SOCK_STREAM)
        except (OSError, ValueError):
            continue  # a name that is not known now; the others may be
        found += [":".join(map(str, place[4][:2])) for place in places]
    return "ipv4:" + ",".join(dict.fromkeys(found)) if found else address.split(",")[0]


def certificate_mismatch(address: str, certificate: bytes, failed: Any) -> str | None:
    """Why the certificate shown at an address is not the pinned one; None if it is, or if nobody shows one.

    gRPC reports a wrong certificate and a connection closed during the handshake (by a server that is stopping, or a
    proxy without a backend) in the same words. So if its error mentions TLS, we do a handshake of our own: only a
    certificate that was shown and did not verify is a mismatch.
    """
    words = (failed.details() or "").lower()
    if not any(word in words for word in SUSPICIOUS):
        return None
    host, _, port = address.split(",")[0].rpartition(":")
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
    once because there is no connection does not wait, so repeating such calls hardly ever connects: the attempt that
    they start runs into its time limit even if the port is open. ``wait_for_ready`` makes this call wait for the
    connection. The jail refuses the call, since it names no session; but any answer shows that the jail is back.
    """
    knock = channel.unary_unary("/privjail.v1.Jail/Budget", request_serializer=bytes, response_deserializer=bytes)
    with contextlib.suppress(grpc.RpcError):
        knock(b"", metadata=metadata, timeout=seconds, wait_for_ready=True)
