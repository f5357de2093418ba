"""What stands in place of the jail: the same gate, with a ledger of its own, made-up rows and noise of no worth."""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from privjail import session
from privjail.budget.blocks import Block
from privjail.budget.ledger import Account
from privjail.budget.notions import Cost, Notion
from privjail.engines.reference import ReferenceEngine
from privjail.errors import DPError, PlanError
from privjail.mechanisms.noise import Noise
from privjail.ops.rows.source import Dataset, Source
from privjail.plan.cells import Cell
from privjail.plan.domain import CategoryDomain, Domain, TimeDomain
from privjail.plan.node import children, inputs_first
from privjail.plan.value import Value
from privjail.rehearsals.rows import made_up
from privjail.release import Query, ReleaseGate

Columns = dict[str, list[Any]]


class Stage:
    """Answers in place of a jail, for the length of a rehearsal."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._polars = all(importlib.util.find_spec(name) for name in ("polars", "pyarrow"))
        self.gate = ReleaseGate(self._engine(), noise=RoughNoise(), audit=None)
        self.spent_before: dict[Cell, Cost] = {}
        self.left: dict[str, Any] = {}  # what a jail says is left of its data sets

    def _engine(self) -> Any:
        if not self._polars:
            return PlainEngine()
        from privjail.engines.polars.engine import PolarsEngine

        return PolarsEngine()

    def open(self, dataset: Dataset, notion: Notion | None) -> Source:
        """A data set that the program opens: its columns are known, its rows are made up."""
        before = _account(Source(dataset).cells[0])
        return self._hold(dataset, notion if before is None else before.notion, before)

    def _hold(self, dataset: Dataset, notion: Notion | None, before: Account | None) -> Source:
        columns = made_up(dataset, self.rows)
        held: Any = _frame(dataset, columns) if self._polars else columns
        source = self.gate.open(dataset, held, notion)
        root = source.cells[0]
        if root not in self.spent_before:
            account = self.gate.ledger.account(root)
            self.spent_before[root] = account.notion.zero() if before is None else before.total()
            if before is not None and any(before.total()):
                # All of it counts as spent on the whole: what follows can only cost as much for real, or less.
                self.gate.ledger.charge([(root, before.total())])
        return source

    def notion_of(self, root: Cell) -> Notion:
        """The notion of a budget. A data set that was opened before the rehearsal is opened here first."""
        if root not in self.spent_before:
            known = [source for source in _opened_before() if source.cells[0] is root]
            if not known:
                raise _opened_elsewhere()
            self._hold_known(known[:1])
        return self.gate.ledger.account(root).notion

    def release(self, asks: list[Query], block: Block | None = None) -> list[Any]:
        self._hold_known(sources_of(ask.value for ask in asks))
        return self.gate.release(asks, block)

    def _hold_known(self, sources: Iterable[Source]) -> None:
        """Hold made-up rows of data sets that were opened before the rehearsal."""
        for source in sources:
            if source.dataset.identity not in self.gate._known:
                self._hold(*_known(source))
                connection = session.connection()
                if connection is not None:  # asked now: the program may end the connection
                    with suppress(DPError):
                        self.left.update(connection.left())

    def totals(self) -> dict[str, Any]:
        """What the program has cost so far, by data set."""
        out = {}
        for account in self.gate.ledger.accounts():
            before = self.spent_before[account.root]
            spent = tuple(x - y for x, y in zip(account.total(), before, strict=True))
            out[account.name] = account.notion.report(spent)
        return out


def sources_of(values: Iterable[Value]) -> list[Source]:
    """The data sets that values are computed from."""
    return [each for each in inputs_first(list(values), children) if isinstance(each, Source)]  # type: ignore[arg-type]


def _opened_before() -> list[Source]:
    """The data sets that are open at the connected jail, or in this process."""
    connection = session.connection()
    opened = [] if connection is None else list(connection._opened.values())
    here = session.jail()._known.values() if session.jail.cache_info().currsize else ()
    return [*opened, *map(Source, here)]


def _known(source: Source) -> tuple[Dataset, Notion, Account | None]:
    """A data set that was opened before the rehearsal: its public facts, and what was spent on it."""
    connection = session.connection()
    if connection is not None:
        for name, opened in connection._opened.items():
            if opened is source:
                return source.dataset, connection.notions.get(name, connection.notions[source.dataset.name]), None
    account = _account(source.cells[0])
    if account is not None and source.dataset in session.jail()._known.values():
        return source.dataset, account.notion, account
    raise _opened_elsewhere()


def _opened_elsewhere() -> PlanError:
    return PlanError("this data set was opened in another rehearsal", do="open it in this one, or before it")


def _account(root: Cell) -> Account | None:
    """The account of a data set that is open in the jail of this process."""
    if not session.jail.cache_info().currsize:
        return None
    return next((account for account in session.jail().ledger.accounts() if account.root is root), None)


class PlainEngine(ReferenceEngine):
    """The reference engine where no Arrow library is installed: it takes columns as they are."""

    def hold(self, source: Source, data: Any) -> None:
        self._held[source] = data


class RoughNoise(Noise):
    """Noise without the exact samplers, which a thin install lacks: nothing private is behind it."""

    def prepare(self) -> None:
        pass

    def laplace(self, scale: float, n: int) -> list[int]:
        return [round(scale * (_exponential() - _exponential())) for _ in range(n)]

    def gaussian(self, scale: float, n: int) -> list[int]:
        return [round(scale * math.sqrt(2 * _exponential()) * math.cos(math.tau * _uniform())) for _ in range(n)]


def _uniform() -> float:
    """In (0, 1)."""
    return (int.from_bytes(os.urandom(6), "big") + 0.5) / 2**48


def _exponential() -> float:
    return -math.log(_uniform())


def _frame(dataset: Dataset, columns: Columns) -> Any:
    """Columns as the frame that engines hold."""
    import polars as pl

    from privjail.ops.polars_types import dtype_of

    def column(domain: Domain, values: list[Any]) -> Any:
        if isinstance(domain, TimeDomain):
            return pl.Series(values, dtype=pl.Int64()).cast(pl.Datetime("us"))
        return pl.Series(values, dtype=pl.Int32() if isinstance(domain, CategoryDomain) else dtype_of(domain))

    return pl.DataFrame({name: column(domain, columns[name]) for name, domain in dataset.columns})
