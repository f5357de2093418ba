"""What a curator is shown: data sets, users, groups, budgets and the log, as plain records.

These functions read the ledger's state and print nothing, so that the command line and a web page can share them.
Exact counts of rows and released answers are not among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from privjail.budget.notions import Cost, Notion
from privjail.curator.checks import the_dataset
from privjail.curator.folder import JailFolder
from privjail.server.ledger.events import amounts
from privjail.server.ledger.state import State


@dataclass(frozen=True)
class DataSet:
    """A data set, and what all users together have spent on it."""

    name: str
    kind: str  # of its origin: csv, parquet, folder, sqlite, duckdb or postgres
    unit: str  # what is protected
    notion: Notion
    spent: Cost
    limit: Cost | None
    removed: bool


@dataclass(frozen=True)
class User:
    """A user, and until when her token is valid."""

    name: str
    groups: tuple[str, ...]
    expires: str | None
    revoked: bool


@dataclass(frozen=True)
class Group:
    """A group, whose members share its grants."""

    name: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class Budget:
    """What a data set has cost (scope "dataset"), or what one group or one user has spent on it."""

    dataset: str
    scope: str  # "dataset", "group" or "user"
    who: str  # the group or the user; empty for the data set itself
    notion: Notion
    spent: Cost
    limit: Cost | None  # None: no limit of its own

    @property
    def share(self) -> float | None:
        """How much of the limit is spent, from 0 to 1, in the component that is nearest to its limit."""
        if not self.limit or not self.limit[0]:
            return None
        return max(float(spent / most) for spent, most in zip(self.spent, self.limit, strict=False) if most)


@dataclass(frozen=True)
class LogLine:
    """An entry of the audit log: a decision, a charge or a failure; never an answer."""

    entry: int
    at: str | None
    what: str
    who: str | None
    details: str
    by: str | None  # the curator who decided it


def data_sets(state: State) -> list[DataSet]:
    found = []
    for each in state.datasets.values():
        scope = ("dataset", "", each.name)
        spent, limit = state.total(scope), state.limits.get(scope)
        found.append(DataSet(each.name, each.origin["kind"], str(each.unit), each.notion, spent, limit, each.removed))
    return found


def users(state: State) -> list[User]:
    return [User(u.name, tuple(state.groups_of(u.name)), u.expires, u.revoked) for u in state.users.values()]


def groups(state: State) -> list[Group]:
    return [Group(name, tuple(sorted(members))) for name, members in state.groups.items()]


def budgets(state: State, dataset: str | None = None) -> list[Budget]:
    """All limits and all that was spent, of all data sets or of one."""
    if dataset is not None:
        the_dataset(state, dataset)
    found = []
    for scope in sorted(set(state.limits) | set(state.trees)):
        kind, who, name = scope
        if dataset is None or name == dataset:
            notion, spent, limit = state.datasets[name].notion, state.total(scope), state.limits.get(scope)
            found.append(Budget(name, kind, who, notion, spent, limit))
    return found


HIDDEN = ("answer", "checkpoint")  # entries that the log does not show: they say nothing of what was done


def log(folder: JailFolder, last: int) -> list[LogLine]:
    """The newest lines of the log. Answers that are kept in the ledger are left out."""
    state = folder.state
    return [
        LogLine(
            event.seq,
            event.body.get("at"),
            event.body["type"],
            event.body.get("user") or event.body.get("who") or event.body.get("name"),
            details(event.body, state),
            event.body.get("by"),
        )
        for event in folder.newest(last, HIDDEN)
    ]


def details(body: dict[str, Any], state: State) -> str:
    """One entry of the ledger in words."""
    because = f" because {body['reason']}" if body.get("reason") else ""
    widened = f"; lets {', '.join(body['widens'])} spend more" if body.get("widens") else ""
    match body["type"]:
        case "charge":
            cost = "; ".join(f"{d}: {', '.join(c)}" for d, _, c in body["charges"])
            asked = "; ".join(f"{value} | {mechanism}" for value, mechanism in body.get("program", []))
            return f"{cost} for {asked}"
        case "limit":
            who = " ".join(part for part in (body["scope"], body["who"]) if part)
            given = amounts(body["limit"])
            limit = None if given is None else state.datasets[body["dataset"]].notion.spelled(given)
            return f"{who} may spend {limit} on {body['dataset']}{because}"
        case "dataset":
            return f"{body['origin']['kind']}, {body['notion']} {', '.join(body['limit'])}"
        case "user":
            return f"until {body['expires']}"
        case "revoke":
            return (f"the grant on {body['dataset']}" if body["dataset"] else "shut out") + widened
        case "group":
            return ", ".join(body["members"]) + widened
        case "given_up" | "failed" | "repeat":
            return f"request {body['request']}"
    return because.strip()
