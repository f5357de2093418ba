"""The cost of many releases in one tree of cells, kept up to date along one path at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from privjail.budget.notions import Cost
from privjail.plan.cells import Address

K = TypeVar("K")


def plus(a: Cost, b: Cost) -> Cost:
    return tuple(x + y for x, y in zip(a, b, strict=True))


@dataclass
class CostTree:
    """cost(p) = own(p) + Σ_g maxₖ cost(p/g=k), component by component. Costs only grow."""

    zero: Cost
    cost: dict[Address, Cost] = field(default_factory=dict)
    best: dict[tuple[Address, str], Cost] = field(default_factory=dict)

    @property
    def total(self) -> Cost:
        return self.cost.get((), self.zero)

    def add(self, address: Address, cost: Cost) -> Callable[[], None]:
        """Spend at a cell and carry what changes up to the whole; returns how to take it back."""
        old_cost: list[tuple[Address, Cost | None]] = []
        old_best: list[tuple[tuple[Address, str], Cost | None]] = []
        growth = cost
        for depth in range(len(address), -1, -1):
            cell = address[:depth]
            before = self.cost.get(cell)
            old_cost.append((cell, before))
            after = self.cost[cell] = growth if before is None else plus(before, growth)
            if not depth:
                break
            slot = (address[: depth - 1], address[depth - 1][0])
            known = self.best.get(slot)
            if known is None:  # the first of these siblings: all that it costs is new
                old_best.append((slot, None))
                self.best[slot] = growth = after
                continue
            better = tuple(map(max, known, after))
            if better == known:
                break
            old_best.append((slot, known))
            self.best[slot] = better
            growth = tuple(x - y for x, y in zip(better, known, strict=True))

        def undo() -> None:
            _restore(self.cost, old_cost)
            _restore(self.best, old_best)

        return undo


def _restore(table: dict[K, Cost], saved: list[tuple[K, Cost | None]]) -> None:
    for key, value in saved:
        if value is None:
            del table[key]
        else:
            table[key] = value
