"""The only exit: derive, charge, run, add noise.

Every answer passes ``ReleaseGate.release``. The order is fixed: queries are checked, and refused, from public facts;
then the ledger is charged; only then is data read and noise drawn. A release that fails after the charge stays charged,
because the data was read.
"""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from privjail.budget.blocks import Block
from privjail.budget.ledger import Charge, Ledger
from privjail.budget.notions import Notion
from privjail.engines.engine import Engine
from privjail.engines.held import Held
from privjail.errors import BudgetError, PlanError
from privjail.mechanisms.mechanism import Mechanism
from privjail.mechanisms.noise import Noise
from privjail.ops.rows.source import Dataset, Source
from privjail.plan.cells import Cell, charged
from privjail.plan.value import Value


@dataclass(frozen=True)
class Query:
    """One value to release, and the mechanism to release it through."""

    value: Value
    mechanism: Mechanism


@dataclass(frozen=True, repr=False)
class Entry:
    """A line of the audit log: what was asked and charged, never the answer.

    It holds the text of the plan, not the plan itself: the plans of a long session would fill the memory.
    """

    at: datetime.datetime
    program: str
    used: Mechanism
    charges: list[Charge]

    @property
    def mechanism(self) -> str:
        return repr(self.used)

    @property
    def cost(self) -> tuple[tuple[str, tuple[float, ...]], ...]:
        return tuple((str(cell), tuple(float(x) for x in cost)) for cell, cost in self.charges)

    def __repr__(self) -> str:
        return f"Entry(at={self.at}, program={self.program!r}, mechanism={self.mechanism}, cost={self.cost})"


@dataclass
class ReleaseGate:
    """Holds the data, the ledger and the noise."""

    engine: Engine
    ledger: Ledger = field(default_factory=Ledger)
    noise: Noise = field(default_factory=Noise)
    audit: list[Entry] | None = field(default_factory=list)  # None: the log is kept by the ledger
    _known: dict[str, Dataset] = field(default_factory=dict, repr=False)
    _opening: Any = field(default_factory=threading.Lock, repr=False)
    _running: Any = field(default_factory=threading.Lock, repr=False)  # the engine's cache is not thread-safe

    def open(self, dataset: Dataset, held: Held, notion: Notion | None) -> Source:
        """Hold a data set whose schema has already been enforced on its rows.

        Each identity has one account, with the name, budget and unit of protection that it was first opened with.
        So under another name (a link, another spelling of the path) the same budget is used.
        """
        with self._opening:
            first = self._known.setdefault(dataset.identity, dataset)
            if first.unit != dataset.unit:
                raise BudgetError(
                    f"{first.name!r} is already open with another unit of protection ({first.unit})",
                    do="what is protected is set once, when the data set is first opened",
                )
            if first.population != dataset.population:
                raise BudgetError(
                    f"{first.name!r} is already open, and its account is that of {first.account.name!r}",
                    do="one file has one account: open it in that population, or start again",
                )
            source = Source(replace(dataset, name=first.name))
            self.ledger.open(source.cells[0], source.dataset.account.name, notion)
            with self._running:
                self.engine.hold(source, held)
            self.noise.prepare()
        return source

    def release(self, asks: Sequence[Query], block: Block | None = None) -> list[Any]:
        """Answer several queries at once: all are charged, or none. ``block``: what they are charged to."""
        if not asks:
            raise PlanError("there is nothing to release")
        for ask in asks:
            if ask.value.keyed != ask.mechanism.for_keys:
                raise PlanError(f"{ask.mechanism.kind} does not release this", plan=str(ask.value))
            ask.mechanism.check(ask.value)
        self.engine.check(ask.value for ask in asks)
        charges = [self.charges(ask, block) for ask in asks]
        self.ledger.charge([charge for each in charges for charge in each])
        if self.audit is not None:
            now = datetime.datetime.now(datetime.UTC)
            for ask, each in zip(asks, charges, strict=True):
                self.audit.append(Entry(now, str(ask.value), ask.mechanism, each))
        with self._running:
            found = self.engine.evaluate_all([ask.value for ask in asks])
        return [ask.mechanism.sample(ask.value, x, self.noise) for ask, x in zip(asks, found, strict=True)]

    def charges(self, ask: Query, block: Block | None = None) -> list[Charge]:
        if block is None:
            return where_charged(ask, lambda root: self.ledger.account(root).notion)
        found = where_charged(ask, lambda root: block.notion)
        return [(block.below(cell, self.ledger.account(cell.root).notion), cost) for cell, cost in found]


def where_charged(ask: Query, notion_of: Callable[[Cell], Notion]) -> list[Charge]:
    """Where a query is charged, and how much. This depends on the program and the schema only.

    A loss that is not proportional to the distance is charged above the first partition in which one
    privacy unit may have rows in several groups.
    """
    out: list[Charge] = []
    touched = ask.value.cells
    for root in dict.fromkeys([cell.root for cell in touched]):
        notion = notion_of(root)
        cells = [cell for cell in touched if cell.root is root]
        if ask.value.has_constant_bound or not ask.mechanism.proportional(notion, ask.value):
            cells = [cell.unsplit() for cell in cells]
        cost = notion.cost(ask.mechanism.loss)
        out += [(cell, cost) for cell in charged(cells)]
    return out
