"""The entries of the ledger's state: data sets, users, what analysts wish for, and what became of requests."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from privjail.budget.notions import Cost, Notion
from privjail.ops.rows.source import Link, Unit
from privjail.plan.cells import Address

PerElement = tuple[str, Address, Cost]  # a data set, a cell of it, and what is spent there
Scope = tuple[str, str, str]  # ("dataset", "", name), ("group", group, name) or ("user", user, name)

ANALYST = "analyst"
ROLES = (ANALYST, "curator", "auditor", "operator")  # who spends, decides, reads the log, runs the machine


@dataclass(frozen=True)
class Intake:
    """When the persons of an account entered. Nobody is in two intakes of the same account."""

    of: str  # the first account
    column: str
    value: str


@dataclass
class DatasetEntry:
    """A data set as the curator added it."""

    name: str
    origin: dict[str, Any]
    schema: dict[str, Any]
    unit: Unit
    notion: Notion
    fingerprint: str
    columns: tuple[str, ...] = ()  # all columns of the data, including those that the schema does not declare
    removed: bool = False
    engine: str | None = None  # None: chosen by the size of the data
    population: str | None = None  # the entry whose account pays for this table
    keys: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    epoch: int = 1  # how often its rows were replaced by others about the same persons, and once for the first
    entered: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)  # the entry that says all this

    @property
    def is_population(self) -> bool:
        """Whether it stands for persons, whose tables are data sets of their own."""
        return bool(self.origin["kind"] == "population")

    @property
    def intake(self) -> Intake | None:
        given = self.entered.get("intake")
        return None if given is None else Intake(**given)


def linked_to(datasets: Mapping[str, DatasetEntry], names: Iterable[str]) -> set[str]:
    """The tables whose rows get their persons from one of these, directly or over other tables."""
    found = set(names)
    before = -1
    while len(found) > before:
        before = len(found)
        found |= {e.name for e in datasets.values() if any(Link.read(link).table in found for link in e.links)}
    return found - set(names)


def needed_tables(datasets: Mapping[str, DatasetEntry]) -> list[str]:
    """The data sets that can be opened, and removed tables that these link to; each after those that it links to."""
    found: dict[str, None] = {}

    def need(entry: DatasetEntry) -> None:
        for link in map(Link.read, entry.links):
            if link.table not in found:
                need(datasets[link.table])
        found[entry.name] = None

    for entry in datasets.values():
        closed = entry.removed or (entry.population is not None and datasets[entry.population].removed)
        if not entry.is_population and not closed and entry.name not in found:
            need(entry)
    return list(found)


@dataclass
class UserEntry:
    """A user who may connect, with the hash of the token; the token itself is not stored."""

    name: str
    token: str
    expires: str | None
    revoked: bool = False
    role: str = ANALYST
    files: dict[str, str] = field(default_factory=dict)  # further connection files: their names, and hashes of tokens

    def active(self, now: datetime.datetime) -> bool:
        return not self.revoked and (self.expires is None or now < datetime.datetime.fromisoformat(self.expires))


@dataclass(frozen=True)
class Wish:
    """An analyst asks for budget on a data set, which may be one that she has no access to, or that does not exist."""

    number: int  # of its entry
    user: str
    dataset: str
    budget: str  # as she wrote it
    reason: str
    at: str | None


@dataclass(frozen=True)
class Example:
    """Made-up rows of a data set that analysts may have: from the schema alone, or synthetic and paid for."""

    origin: str  # "schema" or "synthetic"
    rows: int
    price: Cost = ()
    sha256: str | None = None  # of the synthetic table, which is kept with its entry
    seq: int = 0


class Answered(NamedTuple):
    """The hash of an answer, and the entry that it is stored with."""

    sha256: str
    seq: int


RequestKey = tuple[str, str]  # a user, and the id that her client gave to a request


@dataclass
class RequestEntry:
    """What became of a request that was charged."""

    digest: str  # of what was asked for, whatever the epochs
    epochs: tuple[tuple[str, int], ...] = ()  # of the data sets that it was charged for, where not the first
    answered: Answered | None = None
    given_up: bool = False  # it took too long, and is not run again
    lost: bool = False  # it was answered, perhaps, and the answer was lost
    repeats: int = 0  # attempts after the first

    @property
    def open(self) -> bool:
        """Whether it may still be answered for the first time."""
        return self.answered is None and not self.given_up and not self.lost
