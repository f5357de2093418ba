"""Who answers releases: a jail in this process, or one that was connected to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from privjail.budget.amounts import amount
from privjail.budget.notions import Notion
from privjail.engines.engine import Engine
from privjail.engines.held import Held
from privjail.errors import DPError, InternalError
from privjail.ops.rows.source import Dataset, Source
from privjail.release import Query, ReleaseGate

if TYPE_CHECKING:
    from privjail.client import Connection

_connection: Connection | None = None

#: called with the asks before each release; what they return is called once it has been answered
witnesses: list[Callable[[list[Query]], Callable[[], None]]] = []


@cache
def jail() -> ReleaseGate:
    """The jail of this process."""
    from privjail.engines.polars.engine import PolarsEngine

    return ReleaseGate(PolarsEngine())


def set_engine(engine: Engine) -> None:
    """Answer with another engine in this process. Data sets that are open already must be opened again."""
    jail().engine = engine


def connection() -> Connection | None:
    """The jail that this program is connected to, if it is."""
    return _connection


def connect(address: str | os.PathLike[str], **options: Any) -> Connection:
    """Connect to a jail; from here on data sets are opened there, by name.

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
    # Outside the except block: what failed inside, and its message, may speak of data (V-24, V-29).
    raise InternalError(
        "the release failed inside the jail; what it cost stays charged", plan="; ".join(str(a.value) for a in asks[:3])
    )


def consumed_privacy_budget() -> dict[str, Any]:
    """What each data set has cost so far.

    ε for a pure budget, (ε, δ) for an approximate or a Rényi one, or ρ: in process and through a jail alike.
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
