"""Leases: slices of a budget, reserved by a synced entry, from which charges are made without a sync of their own.

If the machine ends, charges under a lease may be lost. Then its rest is charged instead: what was used and lost cost
no more than that, because of two facts (decision 0242).

- What is left of the log is a beginning of it that has every synced entry, and a lease is synced before data is read
  for a charge under it. So a lost charge that was used stands under a lease that is open in what is left.
- Let R be charges, none of them in a block. For every tree T, cost(T ∪ R) ≤ cost(T) + cost(R), with cost(R) in a tree
  of its own that does not amplify: max(a + b) ≤ max a + max b in each partition, and log E exp(X + Y) ≤ log E exp(X) +
  max Y in a sample. So the rest, charged at the root, covers the loss, whatever else is charged before or after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from privjail.budget.blocks import limit_and_price
from privjail.budget.ledger import CostTree, plus
from privjail.budget.notions import Cost
from privjail.errors import BudgetExceeded
from privjail.server.ledger.entries import PerElement, Scope
from privjail.server.ledger.events import Event, LedgerError, amounts

#: Entries that leave leases open. All others end them: decisions, which may change what a lease rests on, and
#: checkpoints. That is safe at any time: if the entry survives a crash, so do all charges before it.
LEAVE_OPEN = frozenset({"charge", "answer", "repeat", "failed", "given_up", "lease"})


class Held(BudgetExceeded):
    """A charge is within every limit, but not together with what leases hold. They are ended, and it is made."""


class Lease(NamedTuple):
    """What is reserved of a data set's budget for one user, and how much of it is left."""

    number: int  # of its entry
    user: str
    dataset: str
    groups: tuple[str, ...]  # of the user: their limits are reserved from, too
    amount: Cost
    rest: Cost

    @property
    def scopes(self) -> list[Scope]:
        return scopes_of(self.user, self.dataset, self.groups)

    @property
    def zero(self) -> Cost:
        return tuple(Fraction(0) for _ in self.amount)

    def has(self, cost: Cost) -> bool:
        return all([x <= most for x, most in zip(cost, self.rest, strict=True)])


def scopes_of(user: str, dataset: str, groups: Iterable[str]) -> list[Scope]:
    """Everything whose limits a charge counts against."""
    return [("dataset", "", dataset), ("user", user, dataset), *(("group", g, dataset) for g in groups)]


def minus(a: Cost, b: Cost) -> Cost:
    return tuple([x - y for x, y in zip(a, b, strict=True)])


def leasable(charges: list[PerElement]) -> bool:
    """Whether charges can be made under a lease: on one data set, in no block. A block's costs have another notion."""
    return len({dataset for dataset, _, _ in charges}) == 1 and not any(
        [" " in partition and limit_and_price(partition) for _, address, _ in charges for partition, _ in address]
    )


def own_cost(charges: list[PerElement]) -> Cost:
    """The cost of charges in a tree of their own: they raise no total by more."""
    if len(charges) == 1:
        return charges[0][2]
    tree = CostTree(tuple(Fraction(0) for _ in charges[0][2]))
    for _, address, cost in charges:
        tree.add(address, cost)
    return tree.total


@dataclass
class Leases:
    """The open leases, by user and data set, and what they hold of each limit: the sum of their rests."""

    open: dict[tuple[str, str], Lease] = field(default_factory=dict)
    held: dict[Scope, Cost] = field(default_factory=dict, compare=False)

    def follow(self, event: Event) -> list[Lease]:
        """Take up an entry. Returns the leases that are forfeited by it; their rests are to be charged."""
        body = event.body
        kind = body.get("type")  # ledgers of `privjail.encrypted` have entries without, and no leases
        if kind == "charge":
            self._on_charge(body)
        elif kind == "lease":
            whole = amounts(body["amount"]) or ()
            self.take(Lease(event.seq, body["user"], body["dataset"], tuple(body["groups"]), whole, whole))
        elif self.open and kind not in LEAVE_OPEN:
            lost = [self._lost(*each) for each in body.get("leases", ())] if kind == "lost" else []
            self.end()
            return lost
        return []

    def _on_charge(self, body: dict[str, Any]) -> None:
        if "lease" in body:
            charges = [(d, tuple((p, k) for p, k in a), amounts(c) or ()) for d, a, c in body["charges"]]
            lease = self.open.get((body["user"], charges[0][0]))
            if lease is None or lease.number != body["lease"] or not leasable(charges):
                raise LedgerError("an entry of the ledger is charged under a lease that is not open")
            self.use(lease, own_cost(charges))
        if body.get("ends_leases"):
            self.end({dataset for dataset, _, _ in body["charges"]})

    def _lost(self, user: str, dataset: str, rest: list[str]) -> Lease:
        """An open lease that an entry forfeits, which says how much that is."""
        lease = self.open.get((user, dataset))
        if lease is None or lease.rest != amounts(rest):
            raise LedgerError("an entry of the ledger forfeits a lease that is not open, or has another rest")
        return lease

    def take(self, lease: Lease) -> None:
        """Open a lease, in place of one that its user had on the data set."""
        key = lease.user, lease.dataset
        if key in self.open:
            self._hold(self.open[key], tuple(-x for x in self.open[key].rest))
        self.open[key] = lease
        self._hold(lease, lease.rest)

    def use(self, lease: Lease, cost: Cost) -> Callable[[], None]:
        """Charge to a lease; returns how to take it back."""
        key = lease.user, lease.dataset
        if not lease.has(cost):
            raise LedgerError("an entry of the ledger is charged under a lease that has not enough left")
        self.open[key] = lease._replace(rest=minus(lease.rest, cost))
        self._hold(lease, tuple(-x for x in cost))

        def take_back() -> None:
            self.open[key] = lease
            self._hold(lease, cost)

        return take_back

    def end(self, datasets: Iterable[str] | None = None) -> Callable[[], None]:
        """End the leases on some data sets, or all; their rests are free again. Returns how to take it back."""
        before, held = dict(self.open), dict(self.held)

        def take_back() -> None:
            self.open, self.held = before, held

        ended = set(datasets) if datasets is not None else None
        self.open = {key: each for key, each in before.items() if ended is not None and each.dataset not in ended}
        self.held = {}
        for lease in self.open.values():
            self._hold(lease, lease.rest)
        return take_back

    def check(
        self, touched: Iterable[Scope], total: Callable[[Scope], Cost], limits: Mapping[Scope, Cost | None]
    ) -> None:
        """Refuse what would pass a limit together with all that leases hold: it may be forfeited at any moment."""
        for scope in touched:
            limit, held = limits.get(scope), self.held.get(scope)
            if limit is None or held is None:
                continue
            if any([t + h > most for t, h, most in zip(total(scope), held, limit, strict=True)]):
                raise Held("open leases hold what this would spend; nothing was charged")

    def _hold(self, lease: Lease, more: Cost) -> None:
        for scope in lease.scopes:
            self.held[scope] = plus(self.held[scope], more) if scope in self.held else more


def open_after(events: Iterable[Event]) -> list[Lease]:
    """The leases that are open after some entries, of which the first come from a time without any."""
    leases = Leases()
    for event in events:
        leases.follow(event)
    return list(leases.open.values())
