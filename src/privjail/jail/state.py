"""What the events add up to: data sets, users, groups, grants, and what each has spent."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from privjail.budget.notions import ZCDP, ApproxDP, Cost, Notion, PureDP, RenyiDP
from privjail.budget.tree import Address, CostTree
from privjail.errors import BudgetExceeded, PlanError
from privjail.jail.events import amounts
from privjail.ops.source import Unit

Scope = tuple[str, str, str]  # ("dataset", "", name), ("group", group, name) or ("user", user, name)
NOTIONS: dict[str, Callable[..., Notion]] = {"pure": PureDP, "approx": ApproxDP, "zcdp": ZCDP, "renyi": RenyiDP}


@dataclass
class DatasetEntry:
    """A data set as the curator added it."""

    name: str
    origin: dict[str, Any]
    schema: dict[str, Any]
    unit: Unit
    notion: Notion
    fingerprint: str
    removed: bool = False


@dataclass
class UserEntry:
    """Someone who may connect: the hash of a token, never the token."""

    name: str
    role: str
    token: str
    expires: str | None
    revoked: bool = False

    def active(self, now: datetime.datetime) -> bool:
        return not self.revoked and (self.expires is None or now < datetime.datetime.fromisoformat(self.expires))


@dataclass
class State:
    """Built by applying events one after another; nothing else changes it."""

    datasets: dict[str, DatasetEntry] = field(default_factory=dict)
    users: dict[str, UserEntry] = field(default_factory=dict)
    groups: dict[str, set[str]] = field(default_factory=dict)
    limits: dict[Scope, Cost | None] = field(default_factory=dict)
    trees: dict[Scope, CostTree] = field(default_factory=dict)
    requests: dict[tuple[str, str], str] = field(default_factory=dict)  # (user, request id): digest of the request
    releases: int = 0

    # -- applying

    def apply(self, body: dict[str, Any]) -> None:
        getattr(self, f"_on_{body['type']}")(body)

    def _on_init(self, body: dict[str, Any]) -> None:
        """The first event: says what jail this is."""

    def _on_dataset(self, body: dict[str, Any]) -> None:
        limit = amounts(body["limit"])
        notion = NOTIONS[body["notion"]](*(limit or ())) if body["notion"] != "renyi" else RenyiDP(*(limit or ()))
        name = body["name"]
        self.datasets[name] = DatasetEntry(
            name, body["origin"], body["schema"], Unit(*body["unit"]), notion, body["fingerprint"]
        )
        self.limits["dataset", "", name] = notion.limit

    def _on_remove(self, body: dict[str, Any]) -> None:
        self.datasets[body["name"]].removed = True

    def _on_user(self, body: dict[str, Any]) -> None:
        self.users[body["name"]] = UserEntry(body["name"], body["role"], body["token"], body["expires"])

    def _on_revoke(self, body: dict[str, Any]) -> None:
        if body.get("dataset") is None:
            self.users[body["user"]].revoked = True
        else:
            self.limits.pop(("user", body["user"], body["dataset"]), None)

    def _on_group(self, body: dict[str, Any]) -> None:
        self.groups[body["name"]] = set(body["members"])

    def _on_limit(self, body: dict[str, Any]) -> None:
        limit = amounts(body["limit"])
        self.limits[body["scope"], body["who"], body["dataset"]] = limit

    def _on_charge(self, body: dict[str, Any]) -> None:
        self.requests[body["user"], body["request"]] = body["digest"]
        self.releases += 1
        for dataset, address, cost in body["charges"]:
            steps = tuple((p, k) for p, k in address)
            for scope in self.scopes(body["user"], dataset, body["groups"]):
                self.tree(scope).add(steps, amounts(cost) or ())

    # -- asking

    def groups_of(self, user: str) -> list[str]:
        return sorted(g for g, members in self.groups.items() if user in members)

    def scopes(self, user: str, dataset: str, groups: list[str]) -> list[Scope]:
        return [("dataset", "", dataset), ("user", user, dataset), *(("group", g, dataset) for g in groups)]

    def tree(self, scope: Scope) -> CostTree:
        if scope not in self.trees:
            self.trees[scope] = CostTree(self.datasets[scope[2]].notion.zero())
        return self.trees[scope]

    def total(self, scope: Scope) -> Cost:
        return self.tree(scope).total

    def allowed(self, user: str, dataset: str) -> bool:
        """Whether a user has a grant, of her own or through a group."""
        entry = self.datasets.get(dataset)
        if entry is None or entry.removed:
            return False
        own = ("user", user, dataset) in self.limits
        return own or any(("group", g, dataset) in self.limits for g in self.groups_of(user))

    def check(self, user: str, charges: list[tuple[str, Address, Cost]], caps: dict[str, Cost]) -> None:
        """Refuse a release that some limit does not allow. Changes nothing."""
        undo: list[Callable[[], None]] = []
        touched: dict[Scope, None] = {}
        try:
            for dataset, address, cost in charges:
                if not self.allowed(user, dataset):
                    raise PlanError(f"there is no data set {dataset!r} for you")
                for scope in self.scopes(user, dataset, self.groups_of(user)):
                    undo.append(self.tree(scope).add(address, cost))
                    touched[scope] = None
            for scope in touched:
                self._within(scope, caps)
        finally:
            for step in reversed(undo):
                step()

    def _within(self, scope: Scope, caps: dict[str, Cost]) -> None:
        total = self.total(scope)
        kind, who, dataset = scope
        for limit, whose in ((self.limits.get(scope), _whose(kind, who)), (caps.get(dataset), "of this block")):
            if limit is None or (whose == "of this block" and kind != "user"):
                continue
            if any(spent > most for spent, most in zip(total, limit, strict=False)):
                raise BudgetExceeded(
                    f"this would raise what {dataset!r} has cost over the limit {whose} "
                    f"({', '.join(f'{float(x):.12g}' for x in limit)}); nothing was charged",
                    do="use a smaller eps, or ask the curator for more",
                )


def _whose(kind: str, who: str) -> str:
    return {"dataset": "of the data set", "user": "granted to you", "group": f"of group {who!r}"}[kind]
