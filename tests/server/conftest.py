"""A jail's folder, a served jail, a connected client, and a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from privjail.client import Connection

from . import postgresql
from .jails import Served, Zygote, make_jail, serving
from .raw import Analyst, people_served, session_of


@pytest.fixture
def jail(tmp_path: Path) -> Path:
    """A folder that holds a jail (`server/`), its data, and the connection file of its user (`ann.privjail`)."""
    make_jail(tmp_path).ledger.close()
    return tmp_path


@pytest.fixture
def served(jail: Path) -> Iterator[Served]:
    """The jail, served by a process of its own on loopback."""
    with serving(jail) as process:
        yield process


@pytest.fixture
def connection(served: Served) -> Iterator[Connection]:
    """A client of the served jail."""
    connected = served.connect()
    yield connected
    connected.close()


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    parent = Zygote()
    yield parent
    parent.close()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[postgresql.Server]:
    """A PostgreSQL server of this test run, or a skip that says why there is none."""
    server = postgresql.start()
    if isinstance(server, str):
        pytest.skip(server)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def raw_jail() -> Iterator[tuple[Any, Any]]:
    """A jail in this process, to which requests are sent that no client of ours would send."""
    with people_served() as held:
        yield held


@pytest.fixture
def ann(raw_jail: tuple[Any, Any]) -> Iterator[Analyst]:
    """A raw session with it."""
    with session_of(raw_jail, "ann") as analyst:
        yield analyst
