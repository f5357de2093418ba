"""Loads gRPC with our settings, which it reads once, on import.

The event engine, which gRPC uses since version 1.80, is switched off: passing each message through its threads takes a
third of the time of a small round trip. The price: only threads that wait for a call read from the network, so a lost
connection is restored only while a call waits for it (see channel.py).

gRPC's log level is set to errors, without failed handshakes: for those the analyst gets an exception.

If the program has already loaded gRPC, or has set these variables itself, nothing is changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

WITHOUT_ENGINE = {"GRPC_EXPERIMENTS": "-event_engine_client,-event_engine_listener"}
ERRORS_ONLY = {"GRPC_VERBOSITY": "ERROR"}
KNOWN = range(80, 86)  # minor versions of gRPC 1 that have these switches; others would print a warning


def _known() -> bool:
    try:
        major, minor = map(int, version("grpcio").split(".")[:2])
    except (PackageNotFoundError, ValueError):  # the program was packed without package metadata
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
            del os.environ[name]  # child processes must not inherit these settings


with _settings():
    import grpc

__all__ = ["grpc"]
