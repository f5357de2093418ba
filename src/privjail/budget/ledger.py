"""The ledger: what was spent in each cell of each data set, and what that costs in all.

cost(p) = own(p) + Σ_g maxₖ cost(p/g=k), component by component. For pure ε: let a release at cell p with
loss ε cost at most ε·η(p). Then all losses together are at most Σ own(p)·η(p), a linear form over the
cells, whose largest value is the formula above (see plan/distance.py). A loss is at most ε·η(p) if
the mechanism's loss is proportional to the distance, or if η(p) is 0 or 1; see release.py.

A random sample s of a cell p, drawn at rate q, adds log(1 + q·(exp(cost(p/s)) - 1)) under pure ε, and cost(p/s) under
other notions; see sampling.py. A block of a program has costs of its own notion below it, and adds its price; see
blocks.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction

from privjail.budget.blocks import limit_and_price
from privjail.budget.notions import Cost, Notion, PureDP
from privjail.budget.sampling import amplified, rate_of
from privjail.errors import BudgetError, BudgetExceeded
from privjail.plan.cells import Address, Cell, Step

Charge = tuple[Cell, Cost]


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
    """cost(p) = own(p) + Σ_g maxₖ cost(p/g=k), component by component. Costs only grow.

    ``amplifies``: whether a random sample costs its table less than it costs itself.
    """

    zero: Cost
    whole: Branch = field(default_factory=Branch)
    amplifies: bool = False

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

        for depth in range(len(address), -1, -1):
            cell = path[depth]
            costs.append((cell, cell.cost))
            after = cell.cost = growth if cell.cost is None else plus(cell.cost, growth)
            if not depth:
                break
            above, partition = path[depth - 1], address[depth - 1][0]
            passed = self._passed(partition, after)
            if passed is None:
                undo()
                raise BudgetExceeded(
                    "this would spend more than the block of this program has; nothing was charged",
                    do="use less noise only where it matters, or open a block with a larger eps or rho",
                )
            known = above.best.get(partition)
            if known is None:  # the first of these siblings: all that it costs is new
                better = growth = passed
            else:
                better = tuple(map(max, known, passed))
                if better == known:
                    break
                growth = tuple([x - y for x, y in zip(better, known, strict=True)])
            bests.append((above, partition, known))
            above.best[partition] = better
        return undo

    def _passed(self, partition: str, cost: Cost) -> Cost | None:
        """What a cell above counts for one below it; None if the one below is a block that is over its limit."""
        if " " not in partition:  # the hash of an expression: no sample, and no block
            return cost
        block = limit_and_price(partition)
        if block is not None:
            limit, price = block
            return None if any([x > most for x, most in zip(cost, limit, strict=True)]) else price
        rate = rate_of(partition) if self.amplifies else None
        return cost if rate is None else (amplified(cost[0], rate),)


@dataclass
class Account:
    """The tree of one data set, and the notion that its costs are counted in."""

    name: str
    root: Cell
    notion: Notion
    tree: CostTree = field(init=False)

    def __post_init__(self) -> None:
        self.tree = CostTree(self.notion.zero(), amplifies=self.notion.amplifies)

    def total(self) -> Cost:
        return self.tree.total


@dataclass
class SubLimit:
    """A limit on what a part of a program may add to the total of each data set."""

    most: Fraction
    name: str | None
    start: dict[Cell, Cost]


class Ledger:
    """All accounts. One lock: a charge is checked and written, or refused, as a whole."""

    def __init__(self) -> None:
        self._accounts: dict[Cell, Account] = {}
        self._limits: list[SubLimit] = []
        self._lock = threading.RLock()

    def open(self, root: Cell, name: str, notion: Notion | None) -> Account:
        """The account of a data set; the first to open it sets the notion and the limit (None: no wish)."""
        with self._lock:
            account = self._accounts.get(root)
            if account is None:
                account = self._accounts[root] = Account(name, root, notion or PureDP())
            elif notion is not None and account.notion != notion:
                raise BudgetError(
                    f"{name!r} is already open with another budget ({account.notion})",
                    do="a budget is set once, when the data set is first opened",
                )
            return account

    def account(self, root: Cell) -> Account:
        return self._accounts[root]

    def charge(self, charges: list[Charge]) -> None:
        """Spend all of this, or nothing and raise BudgetExceeded."""
        with self._lock:
            self._spend(charges)

    def check(self, charges: list[Charge]) -> None:
        """Raise what ``charge`` would raise, and spend nothing."""
        with self._lock:
            self._spend(charges)()

    def _spend(self, charges: list[Charge]) -> Callable[[], None]:
        """Spend all of this, or nothing and raise BudgetExceeded; returns how to take it back."""
        undo: list[Callable[[], None]] = []

        def take_back() -> None:
            for step in reversed(undo):
                step()

        try:
            for cell, cost in charges:
                undo.append(self._accounts[cell.root].tree.add(cell.address, cost))
        except BudgetExceeded:  # of a block
            take_back()
            raise
        for root in {cell.root: None for cell, _ in charges}:
            problem = self._problem(self._accounts[root])
            if problem is not None:
                take_back()
                raise problem
        return take_back

    def _problem(self, account: Account) -> BudgetExceeded | None:
        total, notion = account.total(), account.notion
        if notion.exceeds(total):
            assert notion.limit is not None
            return BudgetExceeded(
                f"this would raise what {account.name!r} has cost to {notion.spelled(total)}, over its limit of "
                f"{notion.spelled(notion.limit)}; nothing was charged",
                do="use a smaller eps, or ask the curator for more",
            )
        for limit in self._limits:
            before = limit.start.get(account.root, account.notion.zero())
            if limit.name in (None, account.name) and total[0] - before[0] > limit.most:
                return BudgetExceeded(
                    f"this block may spend {float(limit.most):g} on {account.name!r}, and this release would "
                    f"take it to {float(total[0] - before[0]):g}; nothing was charged"
                )
        return None

    @contextmanager
    def limited(self, most: Fraction, name: str | None) -> Iterator[None]:
        """Refuse what would add more than this to a data set's total (in its own notion) until the block ends.

        What other threads spend meanwhile counts too, and is limited too.
        """
        with self._lock:
            if name is not None and all(name != a.name for a in self._accounts.values()):
                raise BudgetError(
                    f"no data set is open under the name {name!r}", do="a limit on it would limit nothing"
                )
            limit = SubLimit(most, name, {root: a.total() for root, a in self._accounts.items()})
            self._limits.append(limit)
        try:
            yield
        finally:
            with self._lock:
                self._limits.remove(limit)

    def accounts(self) -> list[Account]:
        with self._lock:
            return list(self._accounts.values())
