"""gRPC, loaded with settings of ours that it reads once, when it is loaded.

It waits for the network as it did before version 1.80. Since then each message passes through threads of an event
engine, which takes a third of a small round trip's time. The price: nobody but a thread that waits for a call reads
from the network, so a lost connection comes back only while a call waits for it (see channel.py).

It writes errors to stderr, but not each handshake that failed: an analyst gets an exception that says so.

A program that has loaded gRPC before, or that has set these variables itself, keeps what it has.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

WITHOUT_ENGINE = {"GRPC_EXPERIMENTS": "-event_engine_client,-event_engine_listener"}
ERRORS_ONLY = {"GRPC_VERBOSITY": "ERROR"}
KNOWN = range(80, 86)  # minor versions of gRPC 1 that have these switches; to others they would be a warning


def _known() -> bool:
    try:
        major, minor = map(int, version("grpcio").split(".")[:2])
    except (PackageNotFoundError, ValueError):  # a program that was packed without its packages' descriptions
        return False
    return major == 1 and minor in KNOWN


@contextmanager
def _settings() -> Iterator[None]:
    wanted = ERRORS_ONLY | (WITHOUT_ENGINE if _known() else {})
    ours = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            del os.environ[name]  # other programs that are started from here choose for themselves


with _settings():
    import grpc

__all__ = ["grpc"]
