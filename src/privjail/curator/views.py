"""What a curator is shown: data sets, users, groups, budgets and the log, as plain records.

These functions read the ledger's state and print nothing, so that the command line and a web page can share them.
Exact counts of rows and released answers are not among them.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from privjail.budget.notions import Cost, Notion
from privjail.curator.checks import the_dataset
from privjail.curator.folder import JailFolder
from privjail.engines.choice import choose
from privjail.errors import PlanError
from privjail.server.ledger.events import Event, amounts
from privjail.server.ledger.rules import Rule
from privjail.server.ledger.state import ANALYST, State


@dataclass(frozen=True)
class DataSet:
    """A data set, and what all users together have spent on it."""

    name: str
    kind: str  # of its origin: csv, parquet, folder, held, sqlite, duckdb or postgres
    engine: str  # that answers, unless `serve --engine` says otherwise
    unit: str  # what is protected
    notion: Notion
    spent: Cost
    limit: Cost | None
    removed: bool
    epoch: int = 1
    intake_of: str | None = None  # the account whose persons entered earlier; nobody is in both


@dataclass(frozen=True)
class User:
    """A user, and until when her token is valid."""

    name: str
    groups: tuple[str, ...]
    expires: str | None
    revoked: bool
    role: str = ANALYST
    files: tuple[str, ...] = ()  # further connection files


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
        kind, engine = each.origin["kind"], choose(each.engine, each.origin.get("bytes"))
        unit = str(each.unit)
        first = None if each.intake is None else each.intake.of
        found.append(DataSet(each.name, kind, engine, unit, each.notion, spent, limit, each.removed, each.epoch, first))
    return found


def users(state: State) -> list[User]:
    return [
        User(u.name, tuple(state.groups_of(u.name)), u.expires, u.revoked, u.role, tuple(u.files))
        for u in state.users.values()
    ]


def groups(state: State) -> list[Group]:
    return [Group(name, tuple(sorted(members))) for name, members in state.groups.items()]


def budgets(state: State, dataset: str | None = None) -> list[Budget]:
    """All limits and all that was spent, of all data sets or of one. Of a table: of its population, which pays."""
    if dataset is not None:
        dataset = the_dataset(state, dataset).population or dataset
    found = []
    for scope in sorted(set(state.limits) | set(state.trees)):
        kind, who, name = scope
        if state.datasets[name].population is None and dataset in (None, name):
            notion, spent, limit = state.datasets[name].notion, state.total(scope), state.limits.get(scope)
            found.append(Budget(name, kind, who, notion, spent, limit))
    return found


def forfeited(state: State, dataset: str | None = None) -> list[str]:
    """What was charged for leases when the machine ended, in words. It is part of what was spent."""
    found = {name: cost for name, cost in sorted(state.forfeited.items()) if dataset in (None, name)}
    return [
        f"{state.datasets[name].notion.spelled(cost)} of what {name} has cost is forfeited: the machine ended with "
        "open leases"
        for name, cost in found.items()
    ]


@dataclass(frozen=True)
class Entry:
    """An entry of the log with all that may be shown of it: the program in words, never an answer."""

    line: LogLine
    datasets: tuple[str, ...]
    reason: str | None
    program: tuple[tuple[str, str], ...]  # values and mechanisms
    charges: tuple[tuple[str, str], ...]  # data sets and costs
    certificate: str | None  # its SHA-256, if one was made


@dataclass(frozen=True)
class Filter:
    """Which entries are looked for. Empty: all of them. Dates are ISO dates, both included."""

    who: str = ""
    dataset: str = ""
    what: str = ""
    text: str = ""
    since: str = ""
    until: str = ""

    def __post_init__(self) -> None:
        for each in filter(None, (self.since, self.until)):
            check_day(each)

    def fits(self, entry: Entry) -> bool:
        line = entry.line
        day = (line.at or "")[:10]
        words = f"{line.details} {entry.reason or ''} {line.by or ''} {line.who or ''}".lower()
        return (
            (not self.who or self.who in (line.who, line.by))
            and (not self.dataset or self.dataset in entry.datasets)
            and (not self.what or self.what == line.what)
            and (not self.text or self.text.lower() in words)
            and (not self.since or day >= self.since)
            and (not self.until or day <= self.until)
        )


def check_day(text: str) -> None:
    """A day as entries have it: other spellings would compare as texts, and find nothing or everything."""
    try:
        right = datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        right = False
    if not right:
        raise PlanError(f"{text[:40]!r} is no day", do="write it as 2026-11-18")


PROGRAM_HIDDEN = "(programs are not shown to this role)"


def entry(event: Event, state: State, programs: bool = True) -> Entry:
    """One entry. Without ``programs``, what was asked is left out."""
    body = event.body
    known = [
        body.get("dataset") or (body.get("name") if body["type"] in ("dataset", "update", "remove", "freeze") else None)
    ]
    if body["type"] == "update":
        known += [*(each["name"] for each in body["tables"]), *body["links"]]
    charges = tuple((d, ", ".join(c)) for d, _, c in body.get("charges", ()))
    told = details(body, state)
    if body["type"] == "charge" and not programs:
        told = "; ".join(f"{d}: {c}" for d, c in charges) + f" {PROGRAM_HIDDEN}"
    who = body.get("user") or body.get("who") or body.get("name")
    return Entry(
        LogLine(event.seq, body.get("at"), body["type"], who, told, body.get("by")),
        tuple(sorted({d for d in (*known, *(d for d, _ in charges)) if d})),
        body.get("reason"),
        tuple((v, m) for v, m in body.get("program", ())) if programs else (),
        charges,
        body.get("certificate") if programs else None,
    )


def search(folder: JailFolder, wanted: Filter, before: int | None, most: int, programs: bool = True) -> list[Entry]:
    """The newest entries that fit, newest first; ``before``: only those with smaller numbers."""
    state = folder.state
    newest = folder.ledger.entries
    last = newest if before is None else min(before - 1, newest)
    found: list[Entry] = []
    while last > 0 and len(found) < most:
        first = max(1, last - WINDOW + 1)
        for event in reversed(folder.ledger.window(first, last)):
            if event.body["type"] not in HIDDEN:
                each = entry(event, state, programs)
                if wanted.fits(each):
                    found.append(each)
        last = first - 1
    return found[:most]


WINDOW = 500  # entries that a search reads at a time
HIDDEN = ("answer", "checkpoint")  # entries that the log does not show: they say nothing of what was done


def overlapping(body: dict[str, Any]) -> str:
    """Why people of another account got one more budget."""
    said = body.get("overlap")
    return f"; the same people as in {', '.join(said['with'])} because {said['reason']}" if said else ""


def changed(change: dict[str, Any]) -> str:
    """What an update did to one data set. The log is for curators: analysts never see a number of rows."""
    old, new = (None if n is None else f"{n:,}" for n in change["rows"])
    rows = f"{old} → {new} rows" if old else f"{new} rows"
    schema = ", another schema" if change["schema"] else ""
    return (
        f"{change['name']} epoch {change['epoch']}: {rows}, {change['hash'][0][:8]} → {change['hash'][1][:8]}{schema}"
    )


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
            because += f" (asked for in entry {body['wish']})" if body.get("wish") else ""
            given = amounts(body["limit"])
            limit = None if given is None else state.datasets[body["dataset"]].notion.spelled(given)
            return f"{who} may spend {limit} on {body['dataset']}{because}"
        case "dataset":
            given = body.get("intake")
            intake = f", an intake of {given['of']} ({given['column']} = {given['value']})" if given else ""
            return f"{body['origin']['kind']}, {body['notion']} {', '.join(body['limit'])}{intake}{overlapping(body)}"
        case "update":
            said = "; ".join(map(changed, body["changes"]))
            linked = f"; {', '.join(body['links'])} with it" if body["links"] else ""
            return f"{said}{linked}{overlapping(body)}{because}"
        case "user":
            return f"{body.get('role', ANALYST)}, until {body['expires']}{because}"
        case "example":
            paid = f" for {', '.join(body['price'])}" if body["price"] else ""
            return (f"{body['rows']} rows, {body['origin']}{paid}" if body["origin"] else "no made-up rows") + because
        case "token":
            return f"connection file {body['file']} " + ("made" if body["token"] else "ended") + because
        case "revoke":
            return (f"the grant on {body['dataset']}" if body["dataset"] else "shut out") + widened + because
        case "group":
            return ", ".join(body["members"]) + widened + because
        case "settings":
            return (
                f"alerts: {', '.join(body['alerts']) or 'off'}" if "alerts" in body else f"rotated: {body['rotated']}"
            )
        case "restored":
            return (
                f"from a backup that ends at {body['head']}"
                + ("" if body["newest"] else ", maybe not the newest")
                + because
            )
        case "upgrade":
            return f"from layout {body['from']} to {body['to']}"
        case "freeze":
            return ("answers nobody" if body["frozen"] else "answers again") + because
        case "rule":
            return f"{body['dataset']}: {Rule.read(body['rule'])}{because}"
        case "leasing" | "lease":
            if body["amount"] is None:
                return f"no leases on {body['dataset']}{because}"
            size = state.datasets[body["dataset"]].notion.spelled(amounts(body["amount"]) or ())
            return f"{'leases' if body['type'] == 'leasing' else 'a lease'} of {size} on {body['dataset']}{because}"
        case "lost":
            return "; ".join([f"the machine ended; {len(body['requests'])} requests stay without an answer",
                              *(f"forfeited of {user}'s lease on {dataset}: {', '.join(rest)}"
                                for user, dataset, rest in body.get("leases", ()))])  # fmt: skip
        case "wish":
            return f"asks for {body['budget']} on {body['dataset']}{because}"
        case "decline":
            return f"request {body['wish']} for {body['dataset']} declined{because}"
        case "given_up" | "failed" | "repeat":
            return f"request {body['request']}"
    return because.strip()
