"""What a user may spend on a data set, by her own grant, her groups' grants and the cap; now and after a decision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from privjail.budget.ledger import Branch, plus
from privjail.budget.notions import Cost
from privjail.server.ledger.events import Event
from privjail.server.ledger.rules import Rule
from privjail.server.ledger.state import Scope, State


@dataclass(frozen=True)
class Bound:
    """One limit on a user's releases, and how much of it is already spent."""

    scope: Scope
    limit: Cost
    spent: Cost

    def __str__(self) -> str:
        kind, who, dataset = self.scope
        name = {"dataset": f"data set {dataset!r}", "group": f"group {who!r}", "user": f"user {who!r}"}[kind]
        return f"the limit {amount(self.limit)} of {name} ({amount(self.spent)} spent)"


@dataclass(frozen=True)
class Ruled:
    """Limits beside the budget that apply to a user."""

    scope: Scope
    rule: Rule

    def __str__(self) -> str:
        return f"the rule of {self.scope[0]} {self.scope[1]!r} ({self.rule})"


@dataclass(frozen=True)
class Rights:
    """All limits that apply to a user on a data set. Without access she may spend nothing, whatever the limits are."""

    user: str
    dataset: str
    access: bool
    bounds: tuple[Bound, ...]
    rules: tuple[Ruled, ...] = ()

    @property
    def limit(self) -> Cost | None:
        """The smallest limit of each component: ε, and δ where there is one. None: no access, or no limit at all."""
        return _smallest([bound.limit for bound in self.bounds]) if self.access else None

    @property
    def left(self) -> Cost | None:
        """What a release on the whole data set may still cost."""
        rest = [tuple(m - s for m, s in zip(b.limit, b.spent, strict=True)) for b in self.bounds]
        return _smallest(rest) if self.access else None


@dataclass(frozen=True)
class Gain:
    """A user who could spend more on a data set after a decision than before it."""

    before: Rights
    after: Rights
    lifted: tuple[Bound | Ruled, ...]  # earlier limits that would no longer hold

    @property
    def user(self) -> str:
        return self.after.user

    def __str__(self) -> str:
        to = "without limit" if self.after.limit is None else f"up to {amount(self.after.limit)}"
        if not self.before.access:
            return f"{self.user} may spend {to} on {self.after.dataset!r} (before: nothing)"
        lost = ", ".join(map(str, self.lifted))
        return f"{self.user} may spend {to} on {self.after.dataset!r}: {lost} no longer holds"


def amount(cost: Cost) -> str:
    return ", ".join(f"{float(x):.12g}" for x in cost)


def _smallest(costs: list[Cost]) -> Cost | None:
    return tuple(min(column) for column in zip(*costs, strict=True)) if costs else None


def rights(state: State, user: str, dataset: str) -> Rights:
    """The effective rights of a user: whether she has access, and all limits that a release must keep.

    An expired or revoked token makes no difference here: a new token brings the same rights back, and then a limit that
    was lifted in the meantime would be missing.
    """
    access = user in state.users and state.allowed(user, dataset)
    bounds = []
    scopes = state.scopes(user, dataset, state.groups_of(user))
    for scope in scopes:
        limit = state.limits.get(scope)
        if limit is not None:
            bounds.append(Bound(scope, limit, state.total(scope)))
    rules = tuple(Ruled(scope, state.rules[scope]) for scope in scopes if scope in state.rules)
    return Rights(user, dataset, access, tuple(bounds), rules)


def preview(state: State, body: dict[str, Any]) -> State:
    """The state after a decision that is not made yet. It shares the spent amounts, which must not be changed."""
    copy = State(
        datasets={name: replace(entry) for name, entry in state.datasets.items()},
        users={name: replace(entry, files=dict(entry.files)) for name, entry in state.users.items()},
        tokens=dict(state.tokens),
        groups=dict(state.groups),
        limits=dict(state.limits),
        former=dict(state.former),
        trees=state.trees,
        frozen=dict(state.frozen),
        rules=dict(state.rules),
        used=dict(state.used),
        wishes=dict(state.wishes),
        examples=dict(state.examples),
        latest=state.latest,
    )
    copy.apply(Event(0, "", body))
    return copy


def gains(state: State, body: dict[str, Any]) -> list[Gain]:
    """Everybody who could spend more after a decision, by data set and user.

    Claim: a user who is not listed for a data set can be charged nothing there that was refused before.
    Why: a release must satisfy every limit. Each earlier limit still holds, component by component, or is implied by a
    limit that is not larger and on which at least as much is spent in every cell. Rules beside the budget count what
    their group used, so only the same rule of the same group stands for one.
    """
    after = preview(state, body)
    found = []
    for user, dataset in concerned(state, after):
        old, new = rights(state, user, dataset), rights(after, user, dataset)
        if new.access and old.access:
            lifted: tuple[Bound | Ruled, ...] = tuple(b for b in old.bounds if not _follows(state, b, new))
            if body["type"] != "rule":  # which says itself what it lifts, and asks for a reason
                still = {ruled.scope for ruled in new.rules}
                lifted += tuple(ruled for ruled in old.rules if ruled.scope not in still)
            if lifted:
                found.append(Gain(old, new, lifted))
        elif new.access:
            found.append(Gain(old, new, ()))
    return found


def concerned(state: State, after: State) -> Iterator[tuple[str, str]]:
    """Users and data sets between which a limit, a membership or a revocation differs."""
    missing = object()
    scopes = state.limits.keys() | after.limits.keys()
    limits = {s for s in scopes if state.limits.get(s, missing) != after.limits.get(s, missing)}
    nobody: frozenset[str] = frozenset()
    groups = state.groups.keys() | after.groups.keys()
    moved = {user for g in groups for user in state.groups.get(g, nobody) ^ after.groups.get(g, nobody)}
    changed = {name for name, entry in after.users.items() if state.users.get(name) != entry}
    for dataset in sorted(after.datasets):
        if changed_limits := {scope[:2] for scope in limits if scope[2] == dataset}:
            whole = ("dataset", "") in changed_limits
            users = {u for u in after.users if whole or ("user", u) in changed_limits}
            users |= {u for kind, g in changed_limits if kind == "group" for u in after.groups.get(g, ())}
        else:
            users = set()
        yield from ((user, dataset) for user in sorted((users | moved | changed) & after.users.keys()))


def _follows(state: State, bound: Bound, new: Rights) -> bool:
    """Whether every release within the new limits is also within this old one."""
    tighter = [b for b in new.bounds if _counts_at_least(state, b.scope, bound.scope)]
    return all(any(b.limit[i] <= most for b in tighter) for i, most in enumerate(bound.limit))


def _counts_at_least(state: State, a: Scope, b: Scope) -> bool:
    """Whether in every cell at least as much is spent on the limit of `a` as on that of `b`."""
    if a == b or a[0] == "dataset" or b not in state.trees:
        return True  # every charge counts against the cap of its data set
    return a in state.trees and _covers(state.trees[a].whole, state.trees[b].whole, state.trees[b].zero)


def _covers(a: Branch, b: Branch, zero: Cost) -> bool:
    """Cell by cell: at least as much was spent in `a` as in `b`. Then any further charges cost at least as much."""
    if any(x < y for x, y in zip(_own(a, zero), _own(b, zero), strict=True)):
        return False
    return all(step in a.below and _covers(a.below[step], cell, zero) for step, cell in b.below.items())


def _own(cell: Branch, zero: Cost) -> Cost:
    """What was spent at a cell itself, without what lies below it."""
    below = zero
    for best in cell.best.values():
        below = plus(below, best)
    return tuple(x - y for x, y in zip(cell.cost or zero, below, strict=True))
