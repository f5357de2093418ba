"""What a program sends through sockets and pipes, as messages of its run: bytes that differ on a neighbour are a leak.

A jail is reached through gRPC, which sends on its own; what is tapped here goes elsewhere. Python's own ways to send
are tapped: sockets (TLS too, before it is encrypted), pipes, the input of other programs, multiprocessing.
"""

from __future__ import annotations

import os
import socket
import ssl
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from privjail.verify.audit.trace import Trace

SOCKETS = ("send", "sendall", "sendto", "sendmsg", "sendfile", "write")


class Taps:
    """Replaces what sends by what tells and sends: one message for each call of the program."""

    def __init__(self, trace: Trace) -> None:
        self._trace, self._inside = trace, threading.local()

    def install(self) -> None:
        for cls in (socket.socket, ssl.SSLSocket):
            for name in SOCKETS:
                if name in vars(cls) or (cls is socket.socket and hasattr(cls, name)):
                    setattr(cls, name, self._tapped(getattr(cls, name), "network", lambda args: args[1]))
        bio = ssl.SSLObject
        bio.write = self._tapped(bio.write, "network", lambda args: args[1])  # type: ignore[method-assign]
        for name in ("write", "writev"):
            setattr(os, name, self._tapped(getattr(os, name), "process", _through_a_pipe))
        made, talk = subprocess.Popen.__init__, subprocess.Popen.communicate

        def opened(child: Any, *args: Any, **options: Any) -> None:
            made(child, *args, **options)
            if child.stdin is not None:
                child.stdin = _Input(child.stdin, self)

        subprocess.Popen.__init__ = opened  # type: ignore[method-assign, assignment]

        def talked(child: Any, input: Any = None, timeout: Any = None) -> Any:
            self.tell("process", input, sys._getframe(1))
            with self.silent():
                return talk(child, input, timeout)

        subprocess.Popen.communicate = talked  # type: ignore[method-assign, assignment]
        self._multiprocessing()

    def _multiprocessing(self) -> None:
        from multiprocessing import connection

        kept = connection.Connection
        kept._send_bytes = self._tapped(kept._send_bytes, "process", lambda args: args[1])  # type: ignore[attr-defined]

    def _tapped(
        self, real: Callable[..., Any], kind: str, payload: Callable[[tuple[Any, ...]], Any]
    ) -> Callable[..., Any]:
        def tapped(*args: Any, **options: Any) -> Any:
            self.tell(kind, payload(args), sys._getframe(1))
            with self.silent():
                return real(*args, **options)

        return tapped

    @contextmanager
    def silent(self) -> Iterator[None]:
        """What one call does inside is told once."""
        before, self._inside.told = getattr(self._inside, "told", False), True
        try:
            yield
        finally:
            self._inside.told = before

    def tell(self, kind: str, sent: Any, frame: Any) -> None:
        if sent is None or self._trace.busy or getattr(self._inside, "told", False):
            return
        if self._trace.by_program(frame):
            self._trace.say(kind, f"sent: {_text(sent)}")


class _Input:
    """The input of another program: tells what is written to it."""

    def __init__(self, real: Any, taps: Taps) -> None:
        self._real, self._taps = real, taps
        self.write = taps._tapped(real.write, "process", lambda args: args[0])
        self.writelines = taps._tapped(real.writelines, "process", lambda args: args[0])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __enter__(self) -> _Input:
        return self

    def __exit__(self, *_: Any) -> None:
        self._real.close()


def _through_a_pipe(args: tuple[Any, ...]) -> Any:
    """What is written to a pipe or a socket by number; files are compared as a whole."""
    try:
        mode = os.fstat(args[0]).st_mode
    except OSError:
        return None
    return args[1] if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) else None


def _text(sent: Any) -> str:
    if isinstance(sent, str):
        return sent
    if isinstance(sent, (list, tuple)):
        return "".join(map(_text, sent))
    if hasattr(sent, "read") and hasattr(sent, "seek"):  # a file, from where it is
        here, body = sent.tell(), sent.read()
        sent.seek(here)
        return _text(body)
    try:
        return bytes(sent).decode("utf-8", "backslashreplace")
    except (TypeError, ValueError):
        return f"something that is a {type(sent).__name__}"
