"""gRPC, set to wait for the network as it did before version 1.80.

Since then each message passes through threads of an event engine, which takes a third of a small round trip's time.
The way before it is still there, behind switches that are read once, when gRPC is loaded. A program that has loaded
gRPC before, or that has set the variable itself, keeps what it has.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

SWITCHES = "GRPC_EXPERIMENTS"
WITHOUT_ENGINE = "-event_engine_client,-event_engine_listener"
KNOWN = range(80, 86)  # minor versions of gRPC 1 that have these switches; to others they would be a warning


def _known() -> bool:
    try:
        major, minor = map(int, version("grpcio").split(".")[:2])
    except (PackageNotFoundError, ValueError):  # a program that was packed without its packages' descriptions
        return False
    return major == 1 and minor in KNOWN


@contextmanager
def _without_engine() -> Iterator[None]:
    ours = _known() and SWITCHES not in os.environ
    if ours:
        os.environ[SWITCHES] = WITHOUT_ENGINE
    try:
        yield
    finally:
        if ours:
            del os.environ[SWITCHES]  # other programs that are started from here choose for themselves


with _without_engine():
    import grpc

__all__ = ["grpc"]
