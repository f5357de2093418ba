"""Every test of an operation runs on every engine; with --slow engines too, whose answers take milliseconds each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .checking import ENGINES, SLOW, choose
from .gaps import mark_gaps


@pytest.fixture(
    scope="module",
    autouse=True,
    params=[pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in ENGINES],
)
def each_engine(request: Any) -> Iterator[str]:
    before = choose(request.param)
    yield request.param
    choose(before)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_gaps(items)
