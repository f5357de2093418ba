"""The cost of many releases in one tree of cells, kept up to date along one path at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from privjail.budget.notions import Cost
from privjail.plan.cells import Address, Step


def plus(a: Cost, b: Cost) -> Cost:
    return tuple([x + y for x, y in zip(a, b, strict=True)])


@dataclass(slots=True)
class Branch:
    """A cell: what it costs with all below it, and what the costliest group of each partition of it costs."""

    cost: Cost | None = None  # None: nothing was spent here yet
    best: dict[str, Cost] = field(default_factory=dict)
    below: dict[Step, Branch] = field(default_factory=dict)


@dataclass
class CostTree:
    """cost(p) = own(p) + Σ_g maxₖ cost(p/g=k), component by component. Costs only grow."""

    zero: Cost
    whole: Branch = field(default_factory=Branch)

    @property
    def total(self) -> Cost:
        return self.zero if self.whole.cost is None else self.whole.cost

    @property
    def empty(self) -> bool:
        return self.whole.cost is None

    def add(self, address: Address, cost: Cost) -> Callable[[], None]:
        """Spend at a cell and carry what changes up to the whole; returns how to take it back."""
        path = [self.whole]
        for step in address:
            below = path[-1].below
            branch = below.get(step)
            if branch is None:
                branch = below[step] = Branch()
            path.append(branch)
        costs: list[tuple[Branch, Cost | None]] = []
        bests: list[tuple[Branch, str, Cost | None]] = []
        growth = cost
        for depth in range(len(address), -1, -1):
            cell = path[depth]
            costs.append((cell, cell.cost))
            after = cell.cost = growth if cell.cost is None else plus(cell.cost, growth)
            if not depth:
                break
            above, partition = path[depth - 1], address[depth - 1][0]
            known = above.best.get(partition)
            if known is None:  # the first of these siblings: all that it costs is new
                better = growth = after
            else:
                better = tuple(map(max, known, after))
                if better == known:
                    break
                growth = tuple([x - y for x, y in zip(better, known, strict=True)])
            bests.append((above, partition, known))
            above.best[partition] = better

        def undo() -> None:
            for cell, before in costs:
                cell.cost = before
            for above, partition, known in bests:
                if known is None:
                    del above.best[partition]
                else:
                    above.best[partition] = known
            for above, step in zip(path, address, strict=False):
                if above.below[step].cost is None:  # it was not there before, nor anything below it
                    del above.below[step]
                    break

        return undo
