"""Connections and calls that are begun and never finished, spoken by hand: no client library would do this."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS, HEADERS, DATA = 4, 1, 0
END_HEADERS = 4


def frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    return struct.pack(">I", len(body))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + body


def text(value: str) -> bytes:
    """A string of a header, as HPACK writes it without compression."""
    body = value.encode()
    if len(body) < 127:
        return bytes([len(body)]) + body
    more, rest = b"", len(body) - 127
    while rest >= 128:
        more += bytes([rest % 128 + 128])
        rest //= 128
    return b"\x7f" + more + bytes([rest]) + body


def headers(method: str, token: str | None) -> bytes:
    fields = {
        ":method": "POST", ":scheme": "https", ":path": f"/privjail.v1.Jail/{method}", ":authority": "localhost",
        "te": "trailers", "content-type": "application/grpc",
    }  # fmt: skip
    if token is not None:
        fields["authorization"] = f"Bearer {token}"
    return b"".join(b"\x00" + text(name) + text(value) for name, value in fields.items())


def tcp(port: int) -> socket.socket:
    """Connected, and nothing said."""
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def hello(port: int) -> socket.socket:
    """The first message of a TLS handshake is sent; its answer is never read."""
    raw = tcp(port)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    said = _context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        said.do_handshake()
    raw.sendall(outgoing.read())
    return raw


def tls(port: int) -> socket.socket:
    """TLS is agreed, and no HTTP/2 follows."""
    return _context().wrap_socket(tcp(port), server_hostname="localhost")


def calls(connection: socket.socket, number: int, method: str, token: str | None, part: bytes = b"") -> None:
    """Begin calls on a new connection: headers, and at most the beginning of a message."""
    said = PREFACE + frame(SETTINGS, 0, 0, b"")
    for stream in range(1, 2 * number, 2):
        said += frame(HEADERS, END_HEADERS, stream, headers(method, token))
        said += frame(DATA, 0, stream, part) if part else b""
    with contextlib.suppress(OSError):  # a jail may close the connection while we speak
        connection.sendall(said)


@contextlib.contextmanager
def held() -> Iterator[list[socket.socket]]:
    """Sockets that are closed in the end."""
    sockets: list[socket.socket] = []
    try:
        yield sockets
    finally:
        for each in sockets:
            each.close()


def closed(connection: socket.socket, seconds: float) -> bool:
    """Whether the other side closes the connection in this time, whatever it says before."""
    connection.settimeout(seconds)
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def descriptors(pid: int) -> int:
    """How many files and sockets a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


@cache
def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    return context
