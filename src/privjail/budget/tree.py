"""The cost of many releases in one tree of cells, kept up to date along one path at a time."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

K = TypeVar("K")
Cost = tuple[Fraction, ...]
Step = tuple[str, str]  # a partition and a key in it, by their stable names
Address = tuple[Step, ...]  # from the whole data set (no steps) down to a cell


def plus(a: Cost, b: Cost) -> Cost:
    return tuple(x + y for x, y in zip(a, b, strict=True))


class CostTree:
    """cost(p) = own(p) + Σ_g maxₖ cost(p/g=k), component by component. Costs only grow."""

    def __init__(self, zero: Cost) -> None:
        self.zero = zero
        self._cost: dict[Address, Cost] = {}
        self._best: dict[tuple[Address, str], Cost] = {}

    @property
    def total(self) -> Cost:
        return self._cost.get((), self.zero)

    def add(self, address: Address, cost: Cost) -> Callable[[], None]:
        """Spend at a cell and carry what changes up to the whole; returns how to take it back."""
        old_cost: list[tuple[Address, Cost | None]] = []
        old_best: list[tuple[tuple[Address, str], Cost | None]] = []
        growth = cost
        for depth in range(len(address), -1, -1):
            cell = address[:depth]
            before = self._cost.get(cell)
            old_cost.append((cell, before))
            after = self._cost[cell] = plus(before or self.zero, growth)
            if not depth:
                break
            slot = (address[: depth - 1], address[depth - 1][0])
            known = self._best.get(slot)
            better = tuple(map(max, known or self.zero, after))
            if better == known:
                break
            old_best.append((slot, known))
            self._best[slot] = better
            growth = tuple(x - y for x, y in zip(better, known or self.zero, strict=True))

        def undo() -> None:
            _restore(self._cost, old_cost)
            _restore(self._best, old_best)

        return undo


def _restore(table: dict[K, Cost], saved: list[tuple[K, Cost | None]]) -> None:
    for key, value in saved:
        if value is None:
            del table[key]
        else:
            table[key] = value
