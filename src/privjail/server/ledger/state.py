"""The state that follows from the events: data sets, users, groups, grants, and what each has spent."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from privjail.budget.ledger import CostTree, plus
from privjail.budget.notions import NOTIONS, Cost
from privjail.errors import BudgetExceeded, PlanError
from privjail.ops.rows.source import Unit
from privjail.server.ledger.entries import (
    ANALYST,
    ROLES,
    Answered,
    DatasetEntry,
    Example,
    PerElement,
    RequestEntry,
    RequestKey,
    Scope,
    UserEntry,
    Wish,
    linked_to,
)
from privjail.server.ledger.events import VERSION, Event, LedgerError, amounts, other_version
from privjail.server.ledger.leases import Lease, Leases, own_cost, scopes_of
from privjail.server.ledger.refusals import under, whose_limit
from privjail.server.ledger.rules import Rule, Used, check

__all__ = ["ANALYST", "ROLES", "DatasetEntry", "RequestEntry", "Scope", "State", "UserEntry", "Wish"]


@dataclass
class State:
    """Changed only by applying events, one after another."""

    datasets: dict[str, DatasetEntry] = field(default_factory=dict)
    users: dict[str, UserEntry] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)  # hash of the newest token of each user: her name
    groups: dict[str, frozenset[str]] = field(default_factory=dict)
    limits: dict[Scope, Cost | None] = field(default_factory=dict)
    former: dict[Scope, Cost] = field(default_factory=dict)  # the last limit that was set, even if it was revoked
    trees: dict[Scope, CostTree] = field(default_factory=dict)
    requests: dict[RequestKey, RequestEntry] = field(default_factory=dict)  # without those that a checkpoint left out
    failures: Counter[str] = field(default_factory=Counter)  # of each user, inside the engine
    kept: Counter[str] = field(default_factory=Counter)  # bytes that the ledger keeps for each user
    releases: int = 0
    frozen: dict[str, str] = field(default_factory=dict)  # data sets that answer nobody now, and why
    rules: dict[Scope, Rule] = field(default_factory=dict)  # limits beside the budget
    used: dict[Scope, Used] = field(default_factory=dict)  # of the rules, in the newest day
    wishes: dict[int, Wish] = field(default_factory=dict)  # that are not decided yet
    dropped: int = 0  # answers and certificates of entries before this one are no longer kept
    examples: dict[str, Example] = field(default_factory=dict)  # made-up rows that the curator allows
    leasing: dict[str, Cost] = field(default_factory=dict)  # how large leases are, where the curator allows them
    leases: Leases = field(default_factory=Leases)  # that are open; a checkpoint ends all
    forfeited: dict[str, Cost] = field(default_factory=dict)  # of leases, when the machine ended; part of the totals
    latest: str = field(default="", compare=False)  # the latest time of all entries (ISO, UTC)
    _seq: int = field(default=0, compare=False, repr=False)  # of the event that is being applied
    _lock: Any = field(default_factory=threading.RLock, compare=False, repr=False)

    # -- applying

    def apply(self, event: Event) -> None:
        body = event.body
        act = getattr(self, f"_on_{body.get('type')}", None)
        if act is None:
            raise LedgerError("an entry of the ledger is not understood here", do="install the newest privjail")
        with self._lock:
            self._seq = event.seq
            self.latest = self.time(body.get("at"))
            act(body)
            for lease in self.leases.follow(event):
                self._forfeit(lease)

    def _forfeit(self, lease: Lease) -> None:
        """Charge what is left of a lease: so much may have been spent under it and lost."""
        for scope in lease.scopes:
            self._tree(scope).add((), lease.rest)
        self.forfeited[lease.dataset] = plus(self.forfeited.get(lease.dataset, lease.zero), lease.rest)

    def time(self, at: str | None) -> str:
        """The ledger's time: that of the clock, but never before the latest entry, whoever's clock wrote it."""
        return max(self.latest, at or "")

    def follow(self, event: Event) -> None:
        """Apply what an event says about one request, and nothing else that it says."""
        self._seq = event.seq
        if event.body["type"] == "charge":
            self.requests[_key(event.body)] = _request(event.body)
        elif event.body["type"] in ("answer", "repeat", "given_up"):
            getattr(self, f"_on_{event.body['type']}")(event.body)

    def _about(self, body: dict[str, Any]) -> RequestEntry:
        """The request that an entry is about. One that a checkpoint left out is known again, without its digest."""
        return self.requests.setdefault(_key(body), RequestEntry(""))

    def _on_init(self, body: dict[str, Any]) -> None:
        """The first event identifies the jail. Entries of another version may mean something else."""
        if body.get("version") != VERSION:
            raise other_version("the ledger")

    def _on_anchor(self, body: dict[str, Any]) -> None:
        """The curator renewed the anchor. It is logged, since it may hide a rollback."""

    def _on_dataset(self, body: dict[str, Any]) -> None:
        entry = self.add_dataset(body)
        self._set(("dataset", "", entry.name), entry.notion.limit if entry.population is None else None)

    def add_dataset(self, body: dict[str, Any]) -> DatasetEntry:
        """A data set from the entry that added it; its limit may have been changed since."""
        name = body["name"]
        people = self.datasets.get(body.get("population") or "")
        notion = people.notion if people is not None else NOTIONS[body["notion"]](*(amounts(body["limit"]) or ()))
        unit = Unit(*body["unit"])
        columns = tuple(body.get("columns", ()))
        entry = DatasetEntry(name, body["origin"], body["schema"], unit, notion, body["fingerprint"], columns)
        entry.engine = body.get("engine")
        entry.population = body.get("population")
        entry.keys, entry.links = tuple(body.get("keys", ())), tuple(body.get("links", ()))
        entry.epoch = body.get("epoch", 1)
        entry.entered = body
        self.datasets[name] = entry
        return entry

    def _on_update(self, body: dict[str, Any]) -> None:
        """New rows under old names. What was spent, users, grants and accounts stay as they are.

        A table that links to one of these may have other persons in its rows now, so it begins a new epoch, too.
        Entries are replaced, not changed: who loads a data set reads one epoch of it.
        """
        told = {each["name"]: each for each in body["tables"]}
        for name in (*told, *sorted(linked_to(self.datasets, told) - told.keys())):
            old = self.datasets[name]
            entered = {**old.entered, **told.get(name, {}), "epoch": old.epoch + 1}
            entered["former"] = [*old.entered.get("former", ()), old.fingerprint]
            mine = body.get("overlap", {}).get("of", {}).get(old.population or name)
            if mine:  # a reason holds for the account that it was given for, not for others in the same update
                both = {*entered.get("overlap", {}).get("with", ()), *mine}
                entered["overlap"] = {"reason": body["overlap"]["reason"], "with": sorted(both)}
            self.add_dataset(entered).removed = old.removed

    def _on_remove(self, body: dict[str, Any]) -> None:
        self.datasets[body["name"]].removed = True

    def _on_user(self, body: dict[str, Any]) -> None:
        """A user, or a new token for one: all her earlier tokens end."""
        before = self.users.get(body["name"])
        for token in () if before is None else (before.token, *before.files.values()):
            self.tokens.pop(token, None)
        self.tokens[body["token"]] = body["name"]
        role = body.get("role", ANALYST)
        self.users[body["name"]] = UserEntry(body["name"], body["token"], body["expires"], role=role)

    def _on_token(self, body: dict[str, Any]) -> None:
        """One more connection file for a user, beside her first; or the end of one. It ends when her first does."""
        files = self.users[body["name"]].files
        self.tokens.pop(files.pop(body["file"], ""), None)
        if body["token"] is not None:
            files[body["file"]] = body["token"]
            self.tokens[body["token"]] = body["name"]

    def _on_revoke(self, body: dict[str, Any]) -> None:
        if body["dataset"] is None:
            self.users[body["who"]].revoked = True
        else:
            self.limits.pop((body["scope"], body["who"], body["dataset"]), None)

    def _on_group(self, body: dict[str, Any]) -> None:
        self.groups[body["name"]] = frozenset(body["members"])

    def _on_limit(self, body: dict[str, Any]) -> None:
        self._set((body["scope"], body["who"], body["dataset"]), amounts(body["limit"]))
        self.wishes.pop(body.get("wish", 0), None)

    def _on_upgrade(self, body: dict[str, Any]) -> None:
        """The folder has a newer layout from here on. Older versions stop at this entry: they do not know it."""

    def _on_restored(self, body: dict[str, Any]) -> None:
        """The ledger was put back from a backup, which the curator takes for the newest there is."""

    def _on_settings(self, body: dict[str, Any]) -> None:
        """A setting outside the ledger was changed: who is told of alerts, or a certificate."""

    def _on_freeze(self, body: dict[str, Any]) -> None:
        if body["frozen"]:
            self.frozen[body["name"]] = body["reason"]
        else:
            self.frozen.pop(body["name"], None)

    def _on_rule(self, body: dict[str, Any]) -> None:
        scope = (body["scope"], body["who"], body["dataset"])
        if body["rule"]:
            self.rules[scope] = Rule.read(body["rule"])
            self.used.setdefault(scope, Used())
        else:
            self.rules.pop(scope, None)
            self.used.pop(scope, None)

    def _on_leasing(self, body: dict[str, Any]) -> None:
        self.leasing.pop(body["dataset"], None)
        if body["amount"] is not None:
            self.leasing[body["dataset"]] = amounts(body["amount"]) or ()

    def _on_lease(self, body: dict[str, Any]) -> None:
        """A part of a budget is reserved for a user, or free again: leases.py follows this and every other entry."""

    _on_leases_ended = _on_lease

    def _on_example(self, body: dict[str, Any]) -> None:
        if body["origin"] is None:
            self.examples.pop(body["dataset"], None)
        else:
            self.examples[body["dataset"]] = Example(
                body["origin"], body["rows"], amounts(body["price"]) or (), body["sha256"], self._seq
            )

    def _on_wish(self, body: dict[str, Any]) -> None:
        self.wishes[self._seq] = Wish(
            self._seq, body["user"], body["dataset"], body["budget"], body["reason"], body.get("at")
        )

    def _on_decline(self, body: dict[str, Any]) -> None:
        self.wishes.pop(body["wish"], None)

    def _set(self, scope: Scope, limit: Cost | None) -> None:
        self.limits[scope] = limit
        if limit is not None:
            self.former[scope] = limit

    def charged(self, body: dict[str, Any]) -> None:
        """Note a request whose cost is counted."""
        with self._lock:
            self.latest = self.time(body.get("at"))
            self.requests[_key(body)] = _request(body)
            self.kept[body["user"]] += body["kept"]
            self.releases += 1
            if self.rules:
                charges = [(d, tuple((p, k) for p, k in a), amounts(c) or ()) for d, a, c in body["charges"]]
                for scope, cost in self._ruled(body["user"], charges, body["groups"]):
                    self.used[scope].count(self.latest, cost)

    def _ruled(self, user: str, charges: list[PerElement], groups: list[str]) -> list[tuple[Scope, Fraction]]:
        """The scopes with a rule that a request falls under, and what it costs there: ε, or ρ."""
        found = []
        for dataset in sorted({d for d, _, _ in charges}):
            scopes = [scope for scope in self.scopes(user, dataset, groups) if scope in self.rules]
            if scopes:
                tree = CostTree(self.datasets[dataset].notion.zero())
                for name, address, cost in charges:
                    if name == dataset:
                        tree.add(address, cost)
                found += [(scope, tree.total[0]) for scope in scopes]
        return found

    def _on_charge(self, body: dict[str, Any]) -> None:
        self.charged(body)
        for dataset, address, cost in body["charges"]:
            steps = tuple((p, k) for p, k in address)
            for scope in self.scopes(body["user"], dataset, body["groups"]):
                self._tree(scope).add(steps, amounts(cost) or ())

    def _on_answer(self, body: dict[str, Any]) -> None:
        self._about(body).answered = Answered(body["sha256"], self._seq)

    def _on_repeat(self, body: dict[str, Any]) -> None:
        """A request that was charged, and was not answered, is run once more."""
        self._about(body).repeats += 1

    def _on_given_up(self, body: dict[str, Any]) -> None:
        """A request took too long. It is not run again, so it will never be answered."""
        self._about(body).given_up = True

    def _on_failed(self, body: dict[str, Any]) -> None:
        """A request failed after data was read: the failure itself may depend on the data."""
        self.failures[body["user"]] += 1

    def _on_pardon(self, body: dict[str, Any]) -> None:
        """The curator has looked into a user's failures, and allows her requests again."""
        del self.failures[body["name"]]

    def _on_dropped(self, body: dict[str, Any]) -> None:
        """Old answers and certificates are no longer kept; what they took is free again for their users."""
        self.dropped = body["before"]
        for user, freed in body["freed"].items():
            self.kept[user] = max(0, self.kept[user] - freed)

    def _on_lost(self, body: dict[str, Any]) -> None:
        """The machine ended before these answers were on disk; they may have been seen, so there is no other."""
        for user, request in body["requests"]:
            self._about({"user": user, "request": request}).lost = True

    def _on_checkpoint(self, body: dict[str, Any]) -> None:
        """All of this was written down. Requests that are answered for good can be found in the log when asked for."""
        self.latest = self.time(body.get("latest"))
        self.requests = {key: entry for key, entry in self.requests.items() if entry.open or entry.lost}

    # -- asking

    def groups_of(self, user: str) -> list[str]:
        with self._lock:
            return sorted(g for g, members in self.groups.items() if user in members)

    scopes = staticmethod(scopes_of)

    def _tree(self, scope: Scope) -> CostTree:
        if scope not in self.trees:
            notion = self.datasets[scope[2]].notion
            self.trees[scope] = CostTree(notion.zero(), amplifies=notion.amplifies)
        return self.trees[scope]

    def total(self, scope: Scope) -> Cost:
        with self._lock:
            tree = self.trees.get(scope)
            return self.datasets[scope[2]].notion.zero() if tree is None else tree.total

    def allowed(self, user: str, dataset: str) -> bool:
        """Whether a user has a grant, of her own or through a group."""
        entry = self.datasets.get(dataset)
        if entry is None or entry.removed:
            return False
        if entry.population is not None:  # a grant on a population is one on all its tables
            return self.allowed(user, entry.population)
        own = ("user", user, dataset) in self.limits
        return own or any(("group", g, dataset) in self.limits for g in self.groups_of(user))

    def spend(
        self, user: str, charges: list[PerElement], caps: dict[str, Cost], at: str = "", lease: Lease | None = None,
        ends_leases: bool = False,
    ) -> Callable[[], None]:  # fmt: skip
        """Charge a release and return a function that undoes it; or raise and change nothing, if a limit forbids it.

        ``lease``: what it is charged under. ``ends_leases``: those of its data sets end with it.
        """
        undo: list[Callable[[], None]] = []
        touched: dict[Scope, None] = {}
        groups = self.groups_of(user)

        def take_back() -> None:
            with self._lock:
                for step in reversed(undo):
                    step()
                for scope in touched:
                    if self.trees[scope].empty:
                        del self.trees[scope]

        with self._lock:
            try:
                if ends_leases:
                    undo.append(self.leases.end({dataset for dataset, _, _ in charges}))
                if lease is not None:
                    undo.append(self.leases.use(lease, own_cost(charges)))
                for dataset, address, cost in charges:
                    if not self.allowed(user, dataset):
                        raise PlanError(f"there is no data set {dataset!r} for you")
                    for scope in self.scopes(user, dataset, groups):
                        undo.append(self._tree(scope).add(address, cost))
                        touched[scope] = None
                    if dataset in self.frozen:
                        raise PlanError(
                            f"the data set {dataset!r} is frozen; nothing was charged", do="ask the curator, or wait"
                        )
                for scope in touched:
                    self._within(scope, caps)
                for scope, spent in self._ruled(user, charges, groups) if self.rules else ():
                    check(self.rules[scope], under(scope, user), spent, self.used[scope], self.time(at))
                if self.leases.held:
                    self.leases.check(touched, self.total, self.limits)
            except BaseException:
                take_back()
                raise
        return take_back

    def _within(self, scope: Scope, caps: dict[str, Cost]) -> None:
        kind, who, dataset = scope
        limits = [(kind, self.limits.get(scope))]
        if kind == "user":
            limits.append(("block", caps.get(dataset)))
        for whose, limit in limits:
            # The analyst's cap on a block limits only the first component, ε or ρ. Other limits have all components.
            strict = whose != "block"
            if limit is not None and any([s > most for s, most in zip(self.total(scope), limit, strict=strict)]):
                most = f"{float(limit[0]):.10g}" if whose == "block" else self.datasets[dataset].notion.spelled(limit)
                raise BudgetExceeded(
                    f"this would raise what {dataset!r} has cost over the limit {whose_limit(whose, who)} "
                    f"({most}); nothing was charged",
                    do="use a smaller eps, or ask the curator for more",
                )


def _request(body: dict[str, Any]) -> RequestEntry:
    return RequestEntry(body["digest"], tuple((name, epoch) for name, epoch in body.get("epochs", ())))


def _key(body: dict[str, Any]) -> RequestKey:
    return body["user"], body["request"]
