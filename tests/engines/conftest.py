"""Databases that SQL engines are tested on. Those that cannot be started here are skipped, with the reason."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from privjail.engines.sql.duckdb import DuckDBEngine, DuckDBStore, open_database
from privjail.engines.sql.spark import SparkEngine, SparkStore
from tests.engines import spark_servers as servers


@pytest.fixture(scope="session")
def sail() -> Iterator[str]:
    reason = servers.no_sail()
    if reason is not None:
        pytest.skip(reason)
    servers.load_client()
    with contextlib.ExitStack() as stack:
        try:
            address = stack.enter_context(servers.sail())
        except RuntimeError as e:
            pytest.skip(f"Sail does not come up on this machine: {e}")
        yield address


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    reason = servers.no_spark()
    if reason is not None:
        pytest.skip(reason)
    servers.load_client()
    cluster = servers.Cluster(tmp_path_factory.mktemp("spark"))
    yield cluster.address
    cluster.close()


def made_engine(name: str, request: Any) -> Any:
    """A function that makes engines of one kind, all of them on one database."""
    if name == "duckdb":
        database = open_database(threads=1)
        return lambda cache_bytes=2**30: DuckDBEngine(cache_bytes, DuckDBStore(database))
    store = SparkStore(request.getfixturevalue(name), seconds=900)  # long statements take a minute on a busy machine
    return lambda cache_bytes=2**30: SparkEngine(store, cache_bytes)


@pytest.fixture(scope="session", params=["duckdb", "sail", pytest.param("spark", marks=pytest.mark.slow)])
def make_engine(request: Any) -> Any:
    """A function that makes an engine, on one database for all tests."""
    return made_engine(request.param, request)
