"""Sends releases to the jail of this process, or to the connected one."""

from __future__ import annotations

import atexit
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from privjail import records
from privjail.budget.amounts import amount
from privjail.budget.blocks import Block
from privjail.budget.notions import Cost, Notion
from privjail.engines.engine import Engine
from privjail.engines.held import Held
from privjail.errors import BudgetError, DPError, InternalError, PlanError
from privjail.ops.rows.source import Dataset, Source
from privjail.plan.cells import Cell
from privjail.release import Query, ReleaseGate

if TYPE_CHECKING:
    from privjail.client import Connection


class StandIn(Protocol):
    """What answers in place of a jail in a rehearsal."""

    gate: ReleaseGate

    def notion_of(self, root: Cell) -> Notion: ...

    def open(self, dataset: Dataset, notion: Notion | None) -> Source: ...

    def release(self, asks: list[Query], block: Block | None = None) -> list[Any]: ...


_block: ContextVar[Block | None] = ContextVar("block", default=None)
_connection: Connection | None = None
_own_connection: ContextVar[Connection | None] = ContextVar("own_connection", default=None)
_stand_in: StandIn | None = None  # answers instead of any jail, while a program is rehearsed

#: What answers releases of this context instead: see together.py.
instead: ContextVar[Callable[[list[Query]], list[Any]] | None] = ContextVar("instead", default=None)

#: Each is called with the queries before a release, and returns a function that is called after the answer.
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
    """The connection to a jail, or None."""
    return _own_connection.get() or _connection


@contextmanager
def using(own: Connection) -> Iterator[None]:
    """Run a block of code with a connection of its own: what a program needs that asks for several people at once."""
    before = _own_connection.set(own)
    try:
        yield
    finally:
        _own_connection.reset(before)


def connect(address: str | os.PathLike[str], **options: Any) -> Connection:
    """Connect to a jail. From then on data sets are opened there, by name.

    ``address``: the connection file that the curator gave, or host:port with ``token=`` and ``certificate=``.
    """
    from privjail import client

    global _connection
    disconnect()
    atexit.unregister(disconnect)
    atexit.register(disconnect)  # gRPC complains if Python ends under an open call
    _connection = client.connect(address, **options)
    return _connection


def disconnect() -> None:
    """End the connection, if there is one."""
    global _connection
    if _connection is not None:
        ended, _connection = _connection, None
        ended.close()


def rehearsing() -> StandIn | None:
    """What answers instead of a jail, if this program is being rehearsed."""
    return _stand_in


def stand_in(with_: StandIn | None) -> None:
    """Put something in place of the jail, or the jail back in its place."""
    global _stand_in
    _stand_in = with_


def current_block() -> Block | None:
    """The block of accounting that this code runs in."""
    return _block.get()


def notion_of(root: Cell) -> Notion | None:
    """The notion of privacy in which releases on a data set are counted now; None if it is not known here."""
    if (block := _block.get()) is not None:
        return block.notion
    if _stand_in is None and (connected := connection()) is not None:
        return connected.notions.get(str(root.key))
    if _stand_in is not None:
        return _stand_in.notion_of(root)
    return next((each.notion for each in jail().ledger.accounts() if each.root is root), None)


def open_frame(dataset: Dataset, held: Held, notion: Notion | None) -> Source:
    return jail().open(dataset, held, notion)


def release(asks: list[Query]) -> list[Any]:
    """Answer several queries at once, or fail with an error that is made from public facts only."""
    other = instead.get()
    if other is not None:
        return other(asks)
    answers = answered(asks)
    records.record(asks, answers)
    return answers


def answered(asks: list[Query]) -> list[Any]:
    """The same, not entered in the history."""
    prepared = [witness(asks) for witness in witnesses] if _stand_in is None else []
    answers = _released(asks)
    for done in prepared:
        done()
    return answers


def reserve(asks: list[Query]) -> None:
    """Refuse a program of several releases whose price is over the budget, before its first release.

    ``asks`` say what it costs in all. In process this is exact. A jail is not asked: refused is what is charged to a
    whole data set, where nothing can be shared with other groups, and is more than the analyst has left.
    """
    if _stand_in is None and (connected := connection()) is not None:
        if _block.get() is None:  # in a block only the jail knows what is left
            connected.reserve(asks)
        return
    gate = jail()
    if _stand_in is not None:
        gate = _stand_in.gate
        for ask in asks:
            for cell in ask.value.cells:
                _stand_in.notion_of(cell.root)  # opens it in the rehearsal, too
    gate.ledger.check([charge for ask in asks for charge in gate.charges(ask, _block.get())])


def _released(asks: list[Query]) -> list[Any]:
    if _stand_in is not None:
        return _stand_in.release(asks, _block.get())
    if (connected := connection()) is not None:
        return connected.release(asks, block=_block.get())
    try:
        return jail().release(asks, _block.get())
    except (DPError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001  (a panic of the engine is no Exception)
        pass
    _need_open(asks)
    # Outside the except block: the inner error must not be attached, its message may contain data (V-24, V-29).
    raise InternalError(
        "the release failed inside the jail; what it cost stays charged", plan="; ".join(str(a.value) for a in asks[:3])
    )


def _need_open(asks: list[Query]) -> None:
    """Refuse what belongs to no data set of this process; such a release fails before its charge."""
    known = {account.root for account in jail().ledger.accounts()}
    if any(cell.root not in known for ask in asks for cell in ask.value.cells):
        raise PlanError(
            "this data set is not open here: it was opened through a connection, or in a rehearsal, that has ended; "
            "nothing was charged",
            do="connect again with pj.connect(…), and open it again",
        )


def consumed_privacy_budget() -> dict[str, Any]:
    """What each data set has cost so far.

    ε for a pure budget, (ε, δ) for an approximate or a Rényi one, ρ for zCDP; in process and over a connection alike.
    """
    if _stand_in is not None:
        return _reported(_stand_in.gate)
    if (connected := connection()) is not None:
        return connected.consumed()
    return _reported(jail())


def _reported(gate: ReleaseGate) -> dict[str, Any]:
    return {a.name: a.notion.report(a.total()) for a in gate.ledger.accounts()}


class Budgets(dict[str, Any]):
    """What is left of each budget, by data set; None where there is no limit."""

    def _repr_html_(self) -> str:
        from html import escape

        shown = {name: "no limit" if rest is None else str(rest) for name, rest in self.items()}
        rows = "".join(f"<tr><th>{escape(name)}</th><td>{rest}</td></tr>" for name, rest in shown.items())
        return f"<table><thead><tr><th>data set</th><th>left</th></tr></thead><tbody>{rows}</tbody></table>"


def budget_left() -> dict[str, Any]:
    """What may still be spent on each data set: ε, (ε, δ), ρ, or None where there is no limit.

    Through a jail: of the analyst's own share. Others may spend, too, where a limit is shared.

    >>> left = pj.budget_left()
    """
    if _stand_in is None and (connected := connection()) is not None:
        return Budgets(connected.left())
    if _stand_in is None and not jail.cache_info().currsize:
        return Budgets()  # nothing was opened yet
    gate = jail() if _stand_in is None else _stand_in.gate
    return Budgets({a.name: left(a.notion.limit, a.total()) for a in gate.ledger.accounts()})


def left(limit: Cost | None, spent: Cost) -> Any:
    """A limit less what was spent, in the components of the notion: one number, or several."""
    if limit is None:
        return None
    rest = tuple(float(max(most - x, Fraction(0))) for most, x in zip(limit, spent, strict=True))
    return rest[0] if len(rest) == 1 else rest


@contextmanager
def accounting(kind: str, *, eps: Any = None, delta: Any = None, rho: Any = None) -> Iterator[Block]:
    """Count what a block of code releases in another notion of privacy, and pay for all of it at once.

    Under an (ε, δ) budget the ε of many releases add up; in a block of ``"zcdp"`` their ρ do, and under ``"renyi"``
    their divergence at one order: loops of many Gaussian releases cost far less. The block's price (``eps`` and
    ``delta``, or ``rho``) is paid with its first release, whatever is released after it; what goes beyond it is
    refused. Nothing is paid back, also if the program ends in the middle.

    >>> with pj.accounting("zcdp", eps=1, delta=1e-6):
    ...     counts = [approx_df[approx_df["age"] > a].shape[0].reveal(rho=0.0005) for a in (20, 40, 60)]
    """
    if _block.get() is not None:
        raise BudgetError("a block of accounting cannot be opened inside another one")
    block = Block.of(kind, eps, delta, rho, secrets.token_hex(16))
    before = _block.set(block)
    try:
        yield block
    finally:
        _block.reset(before)


@contextmanager
def budget(eps: Any, source: str | None = None) -> Iterator[None]:
    """Let a block of code add at most this much to what each data set (or one of them) has cost."""
    if _stand_in is None and (connected := connection()) is not None:
        with connected.limited(eps, source):
            yield
    else:
        with (jail() if _stand_in is None else _stand_in.gate).ledger.limited(amount(eps, "the budget"), source):
            yield
