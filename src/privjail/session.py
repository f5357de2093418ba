"""Sends releases to the jail of this process, or to the connected one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from privjail.budget.amounts import amount
from privjail.budget.notions import Notion
from privjail.engines.held import Held
from privjail.errors import DPError, InternalError
from privjail.ops.rows.source import Dataset, Source
from privjail.release import Query, ReleaseGate

if TYPE_CHECKING:
    from privjail.client import Connection

_connection: Connection | None = None

#: Each is called with the queries before a release, and returns a function that is called after the answer.
witnesses: list[Callable[[list[Query]], Callable[[], None]]] = []


@cache
def jail() -> ReleaseGate:
    """The jail of this process."""
    from privjail.engines.polars.engine import PolarsEngine

    return ReleaseGate(PolarsEngine())


def connection() -> Connection | None:
    """The connection to a jail, or None."""
    return _connection


def connect(address: str | os.PathLike[str], **options: Any) -> Connection:
    """Connect to a jail. From then on data sets are opened there, by name.

    ``address``: the connection file that the curator gave, or host:port with ``token=`` and ``certificate=``.
    """
    from privjail import client

    global _connection
    disconnect()
    _connection = client.connect(address, **options)
    return _connection


def disconnect() -> None:
    """End the connection, if there is one."""
    global _connection
    if _connection is not None:
        ended, _connection = _connection, None
        ended.close()


def open_frame(dataset: Dataset, held: Held, notion: Notion | None) -> Source:
    return jail().open(dataset, held, notion)


def release(asks: list[Query]) -> list[Any]:
    """Answer several asks at once, or fail with an error made from public facts only."""
    prepared = [witness(asks) for witness in witnesses]
    answers = _released(asks)
    for answered in prepared:
        answered()
    return answers


def _released(asks: list[Query]) -> list[Any]:
    if _connection is not None:
        return _connection.release(asks)
    try:
        return jail().release(asks)
    except (DPError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001  (a panic of the engine is no Exception)
        pass
    # Outside the except block: the inner error must not be attached, its message may contain data (V-24, V-29).
    raise InternalError(
        "the release failed inside the jail; what it cost stays charged", plan="; ".join(str(a.value) for a in asks[:3])
    )


def consumed_privacy_budget() -> dict[str, Any]:
    """What each data set has cost so far.

    ε for a pure budget, (ε, δ) for an approximate or a Rényi one, ρ for zCDP; in process and over a connection alike.
    """
    if _connection is not None:
        return _connection.consumed()
    return {a.name: a.notion.report(a.total()) for a in jail().ledger.accounts()}


@contextmanager
def budget(eps: Any, source: str | None = None) -> Iterator[None]:
    """Let a block of code add at most this much to what each data set (or one of them) has cost."""
    if _connection is not None:
        with _connection.limited(eps, source):
            yield
    else:
        with jail().ledger.limited(amount(eps, "the budget"), source):
            yield
