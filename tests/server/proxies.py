"""A TCP proxy for tests: it accepts every connection, and closes those for which it has no backend."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any


class Proxy:
    """Forwards a port of this machine to another one, in threads of this process."""

    def __init__(self, port: int, backend: int) -> None:
        self.port, self.backend = port, backend
        self.accepted = 0
        self._listener = socket.create_server(("127.0.0.1", port))
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                inner, _ = self._listener.accept()
            except OSError:
                return  # closed
            self.accepted += 1
            self.serve(inner)

    def serve(self, inner: socket.socket) -> None:
        try:
            outer = socket.create_connection(("127.0.0.1", self.backend), 5)
        except OSError:
            inner.close()
            return
        self._open |= {inner, outer}
        for source, sink in ((inner, outer), (outer, inner)):
            threading.Thread(target=self._forward, args=(source, sink), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            source.settimeout(None)
            while body := source.recv(65536):
                sink.sendall(body)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._open -= {source, sink}

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: Any) -> None:
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


class Unready(Proxy):
    """Has no backend for the first connections: what happens to them is up to ``turn_away``."""

    def __init__(self, port: int, backend: int, unready: int, turn_away: Callable[[socket.socket], None]) -> None:
        self._unready, self._turn_away = unready, turn_away
        super().__init__(port, backend)

    def serve(self, inner: socket.socket) -> None:
        if self.accepted > self._unready:
            super().serve(inner)
            return
        with contextlib.suppress(OSError):
            self._turn_away(inner)
        inner.close()
