"""Closes connections on which nobody authenticates. gRPC has no limit for them per address.

gRPC accepts a connection before any code of ours runs and does not hand out its socket. But the sockets are open files
of this process, so they can be listed and shut down from here; gRPC then finds them closed by the other side.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import resource
import socket
import stat
import threading
import time
from collections import defaultdict
from functools import lru_cache
from urllib.parse import unquote

from privjail.server.limits import Limits

Peer = tuple[str, int]  # address and port of the other side
RESERVED = 512  # file descriptors kept free for the ledger, data sets, and the list of connections


@lru_cache(maxsize=4096)  # asked for at every call
def peer_of(name: str) -> Peer | None:
    """The peer that gRPC names, such as ``ipv4:192.0.2.1:50000`` or ``ipv6:%5B2001:db8::1%5D:50000``."""
    kind, _, rest = unquote(name).partition(":")
    host, _, port = rest.rpartition(":")
    if kind not in ("ipv4", "ipv6") or not port.isdigit():
        return None
    return _plain(host.strip("[]")), int(port)


def _plain(host: str) -> str:
    address = ipaddress.ip_address(host.partition("%")[0])
    return str(getattr(address, "ipv4_mapped", None) or address)


def network_of(peer: Peer) -> str:
    """The key under which connections are counted: an IPv4 address, or an IPv6 network (assigned to one customer)."""
    address = ipaddress.ip_address(peer[0])
    return peer[0] if address.version == 4 else str(ipaddress.ip_network((address, 64), strict=False))


class Connections:
    """The connections to the jail's port, and who has authenticated on them."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._users: dict[Peer, str] = {}  # who authenticated last on a connection
        self._seen: dict[Peer, float] = {}  # when a connection was first seen
        self._lock = threading.Lock()

    def authenticated(self, name: str, user: str) -> None:
        """Note that this user has made a call over the connection that gRPC calls ``peer``."""
        peer = peer_of(name)
        if peer is not None:
            with self._lock:
                self._users[peer] = user

    def sweep(self, port: int) -> int:
        """Close connections to this port that are too old or too many. Returns how many were closed.

        The oldest are closed first: an honest client authenticates at once, so its connection is among the youngest.
        A connection that is seen for the first time stays until the next sweep.
        """
        with self._lock:
            known = dict(self._users)  # taken before the list of sockets: a connection that is missing there has ended
        open_now = _connections(port)
        with self._lock:
            for peer in known.keys() - open_now.keys():
                self._users.pop(peer, None)
            users = {peer: self._users[peer] for peer in open_now if peer in self._users}
        now = time.monotonic()
        self._seen = {peer: self._seen.get(peer, now) for peer in open_now}
        ending = self._too_many(users, now)
        for peer in ending:
            with contextlib.suppress(OSError), _duplicate(open_now[peer]) as connection:
                if _ends(connection) == (
                    port,
                    peer,
                ):  # else it has ended, and the number is now another file's
                    connection.shutdown(socket.SHUT_RDWR)
        return len(ending)

    def _too_many(self, users: dict[Peer, str], now: float) -> list[Peer]:
        limits = self._limits
        groups: dict[tuple[str, str], list[Peer]] = defaultdict(list)
        for peer in sorted(self._seen, key=self._seen.__getitem__):
            user = users.get(peer)
            groups["address" if user is None else "user", network_of(peer) if user is None else user].append(peer)
        ending = []
        for (kind, _), peers in groups.items():
            strange = kind == "address"
            most = limits.unauthenticated_per_address if strange else limits.connections_per_user
            over = set(peers[: max(0, len(peers) - most)])
            for peer in peers:
                age = now - self._seen[peer]
                if age > 0 and (peer in over or (strange and age > limits.authentication_seconds)):
                    ending.append(peer)
        return ending


def _connections(port: int) -> dict[Peer, int]:
    """The connections of this process to one of its ports, with the numbers of their descriptors."""
    found = {}
    for name in os.listdir("/dev/fd"):
        with contextlib.suppress(OSError), _duplicate(int(name)) as each:  # no socket, not connected, or gone
            ours, peer = _ends(each)
            if ours == port:
                found[peer] = int(name)
    return found


def _duplicate(number: int) -> socket.socket:
    """A duplicate of the socket: it stays this connection even if gRPC closes its descriptor and reuses the number.

    Only sockets are duplicated. To close any descriptor of a file drops all locks that the process has on it: after
    that SQLite takes the ledger for unused, and another process that ends would remove its log.
    """
    if not _is_socket(number):
        raise OSError("not a socket")
    mine = os.dup(number)
    if not _is_socket(mine):  # a file has taken the number meanwhile: its copy stays open, for the sake of its locks
        raise OSError("not a socket any more")
    try:
        return socket.socket(fileno=mine)
    except BaseException:
        os.close(mine)
        raise


def _is_socket(number: int) -> bool:
    return stat.S_ISSOCK(os.fstat(number).st_mode)


def _ends(connection: socket.socket) -> tuple[int, Peer]:
    """The port on our side, and the other side."""
    if connection.family not in (socket.AF_INET, socket.AF_INET6):
        raise OSError("not a connection of the internet protocol")
    host, port = connection.getpeername()[:2]
    return connection.getsockname()[1], (_plain(host), port)


def most_connections() -> int:
    """How many connections gRPC may hold: the limit on open files, minus those that the jail itself needs.

    The soft limit on open files, often 1,024, is raised to the hard one.
    """
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        soft = most
    files = 2**20 if soft == resource.RLIM_INFINITY else soft
    return max(files // 2, files - RESERVED)
