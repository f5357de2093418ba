"""Dummy tables of a population, and their neighbours: one person with all her rows in all tables comes or goes.

Tables are made one after another, those that others link to first. Some persons have many rows and some have none, in
each table others; most links point to a row of the same person, a few to nowhere or to somebody else's row.
"""

from __future__ import annotations

import datetime
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from privjail.catalogue.people import Membership
from privjail.catalogue.schema import UNDECLARED, Schema
from privjail.ops.rows.source import Link
from privjail.plan.domain import BoolDomain, CategoryDomain, Domain, IntDomain, TimeDomain
from privjail.plan.node import moment
from privjail.verify.audit.data import BASES, Row, Table, odd_row, ordinary, place_of

HEAVY = 6  # rows of a newcomer in a table where no bound is declared
SPARE = 8  # keys that are kept free for a newcomer
DAY = 86_400 * 10**6  # in microseconds


@dataclass(frozen=True)
class Belongs:
    """How a data set belongs to a population: as JSON carries it to the process of a run."""

    population: str  # which one
    called: str  # its name
    table: str  # what links call this table
    keys: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    @staticmethod
    def read(given: Mapping[str, Any] | None) -> Belongs | None:
        if given is None:
            return None
        lists = {name: tuple(given[name]) for name in ("keys", "links")}
        return Belongs(given["population"], given["called"], given["table"], **lists)

    def membership(self, person: str | None, most: int | None) -> Membership:
        return Membership(person, most, self.keys, tuple(map(Link.read, self.links)))


@dataclass
class People:
    """The persons of one population, and their tables, in one world."""

    edit: str
    rows: int  # of each table
    domains: Sequence[Domain]  # of the persons' columns, in all tables that are known
    _persons: list[str] = field(default_factory=list)
    _newcomer: str | None = None
    _subject: str | None = None  # who goes, or stays alone
    _column: dict[str, str] = field(default_factory=dict)  # of the person, in each table
    _owner: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)  # whose row a key names, as it is
    _new: dict[tuple[str, str], list[str]] = field(default_factory=dict)  # keys of the newcomer's rows

    def made(self, table: str, schema: Schema, member: Membership) -> Table:
        """A table of this world, made up."""
        if not self._persons:
            found = names_of(self.domains, max(2, self.rows // 3) + 1)
            self._persons, self._newcomer = (found[:-1], found[-1]) if len(found) > 1 else (found, None)
        schema = self._declared(schema, member)
        pick = random.Random(f"table {table}")
        names = list(schema)
        free = {key: names_of([schema[key].domain], self.rows + SPARE) for key in member.keys}
        numbers = {key: iter(each[: -min(SPARE, len(each) // 2)]) for key, each in free.items()}
        body = [self._row(names, schema, member, owner, numbers, pick) for owner in self._order(member, pick)]
        return self._edited(table, (names, body), schema, member)

    def brought(self, table: str, schema: Schema, member: Membership, given: Table) -> Table:
        """A table of this world, from rows that the program brings."""
        return self._edited(table, given, {**dict.fromkeys(given[0], UNDECLARED), **schema}, member)

    def kept(
        self, table: str, schema: Schema, member: Membership, columns: Mapping[str, list[str]], n: int
    ) -> list[int]:  # fmt: skip
        """The numbers of the rows of a frame that are in this world. Nobody new comes into a frame."""
        names = list(columns)
        rows = [[columns[name][i] for name in names] for i in range(n)]
        owners = self._noted(table, (names, rows), {**dict.fromkeys(names, UNDECLARED), **schema}, member)
        return [i for i in range(n) if self._stays(owners[i])]

    # -- rows as they are

    def _declared(self, schema: Schema, member: Membership) -> Schema:
        """All columns of the file. That of the person is not among them where a link says whose rows they are."""
        named = [] if member.person is None else [member.person]
        needed = [*named, *member.keys, *(link.column for link in member.links)]
        found = {**{name: UNDECLARED for name in needed if name not in schema}, **schema}
        if member.person is None:
            found.pop(self._person(member), None)
        return found

    def _person(self, member: Membership) -> str:
        if member.person is not None:
            return member.person
        return self._column.get(member.links[0].table, "") if member.links else ""

    def _order(self, member: Membership, pick: random.Random) -> list[str]:
        """Whose rows they are, one after another. The first person has the most rows, the last ones few or none."""
        some = list(self._persons)
        if member.most_rows == 1:
            rest = [name for i, name in enumerate(some[1:], 1) if i % 7]
            pick.shuffle(rest)
            return [*some[:1], *rest, *some[:1]]  # her second row is one too many
        return [some[int(len(some) * pick.random() ** 2)] for _ in range(self.rows)] if some else []

    def _row(
        self, names: list[str], schema: Schema, member: Membership, owner: str, numbers: Mapping[str, Iterator[str]],
        pick: random.Random,
    ) -> Row:  # fmt: skip
        links = {link.column: link for link in member.links}
        out = []
        for name in names:
            if name == member.person:
                out.append(owner if pick.random() > 0.03 else "")
            elif name in links:
                out.append(self._pointing(links[name], owner, pick))
            elif name in numbers:
                out.append(next(numbers[name], ""))
            else:
                out.append(ordinary(schema[name].domain, pick))
        return out

    def _pointing(self, link: Link, owner: str, pick: random.Random) -> str:
        known = self._owner.get((link.table, link.key), {})
        mine = [key for key, whose in known.items() if whose == owner]
        luck = pick.random()
        if luck < 0.04 or not known:
            return ""
        return pick.choice(mine if mine and luck > 0.1 else list(known))

    # -- neighbours

    def _edited(self, table: str, given: Table, schema: Schema, member: Membership) -> Table:
        names, rows = given
        owners = self._noted(table, given, schema, member)
        if self.edit in BASES or self.edit in ("a single row", "no row") or self.edit.startswith("without"):
            return names, [row for row, owner in zip(rows, owners, strict=True) if self._stays(owner)]
        if self._newcomer is None:
            taken = {owner for owner in owners if owner is not None}
            free = (name for name in names_of(self.domains, len(taken) + 1) if name not in taken)
            self._newcomer = next(free, None)
        return names, rows if self._newcomer is None else self._with_newcomer(table, given, schema, member)

    def _noted(self, table: str, given: Table, schema: Schema, member: Membership) -> list[str | None]:
        """Whose each row is. Notes whose rows the keys name, and in the first table who goes."""
        names, rows = given
        self._column[table] = self._person(member)
        owners = [self._whose(dict(zip(names, row, strict=False)), schema, member) for row in rows]
        for key in set(member.keys) & set(names):
            at, whole = names.index(key), isinstance(schema[key].domain, IntDomain)
            known = self._owner.setdefault((table, key), {})
            for row, owner in zip(rows, owners, strict=True):
                if owner is not None and row[at]:
                    known.setdefault(one_spelling(row[at], whole), owner)
        seen = [owner for owner in owners if owner is not None]
        if seen and not self._persons:
            self._persons = list(dict.fromkeys(seen))
        if seen and self._subject is None:
            self._subject = seen[place_of(self.edit, len(seen))]
        return owners

    def _whose(self, row: Mapping[str, str], schema: Schema, member: Membership) -> str | None:
        if member.person is not None:
            domain = schema[member.person].domain if member.person in schema else None
            return one_spelling(row.get(member.person, ""), isinstance(domain, IntDomain)) or None
        if not member.links:
            return None
        link = member.links[0]
        domain = schema[link.column].domain if link.column in schema else None
        key = one_spelling(row.get(link.column, ""), isinstance(domain, IntDomain))
        return self._owner.get((link.table, link.key), {}).get(key)

    def _stays(self, owner: str | None) -> bool:
        if self.edit == "no row":
            return False
        if self.edit == "a single row":
            return owner is not None and owner == self._subject
        return not self.edit.startswith("without") or owner is None or owner != self._subject

    def _with_newcomer(self, table: str, given: Table, schema: Schema, member: Membership) -> list[Row]:
        """All rows of somebody who was not there, scattered: more than the bound allows, or only one."""
        names, rows = given
        count = 1 if "lower" in self.edit else HEAVY if member.most_rows is None else member.most_rows + 1
        values = dict(zip(names, odd_row(names, schema, self.edit), strict=True))
        assert self._newcomer is not None
        out = list(rows)
        keys = {key: self._free(table, key, names, rows, schema) for key in set(member.keys) & set(names)}
        for k in range(count):
            loose = "missing" in self.edit and k % 2 == 1  # of her rows some name nothing, and point nowhere
            new = dict(values)
            for key, free in keys.items():
                new[key] = "" if loose else next(free, "")
            for link in member.links:
                hers = self._new.get((link.table, link.key), [])
                new[link.column] = "" if loose or not hers else hers[k % len(hers)]
            if member.person is not None:
                new[member.person] = self._newcomer
            for key in keys:
                if new[key]:
                    self._new.setdefault((table, key), []).append(new[key])
            out.insert(len(out) * k // count, [new[name] for name in names])
        return out

    def _free(self, table: str, key: str, names: list[str], rows: list[Row], schema: Schema) -> Iterator[str]:
        """Keys that nobody has."""
        taken = {row[names.index(key)] for row in rows} | self._owner.get((table, key), {}).keys()
        return iter([name for name in names_of([schema[key].domain], len(taken) + SPARE) if name not in taken])


def names_of(domains: Sequence[Domain], n: int) -> list[str]:
    """Up to n different values that fit all of these domains: names of persons, or keys."""
    labels = [domain.categories for domain in domains if isinstance(domain, CategoryDomain)]
    if labels:
        return [str(label) for label in labels[0] if all(label in each for each in labels)][:n]
    for kind, step in ((IntDomain, 1), (TimeDomain, DAY)):
        ranges: list[Any] = [domain for domain in domains if isinstance(domain, kind)]
        if ranges:
            high = min((each.upper for each in ranges if each.upper is not None), default=None)
            open_low = 0 if high is None else min(0, high - step * n)
            low = max((each.lower for each in ranges if each.lower is not None), default=open_low)
            found = [low + step * i for i in range(n) if high is None or low + step * i <= high]
            return [str(x) if kind is IntDomain else datetime.datetime.isoformat(moment(x), sep=" ") for x in found]
    if any(isinstance(domain, BoolDomain) for domain in domains):
        return ["false", "true"][:n]
    return [f"u{i:03d}" for i in range(n)]


def one_spelling(text: str, whole: bool) -> str:
    """A name in one spelling: loading reads 7, 07 and 7.0 as the same whole number."""
    text = text.strip()
    return str(int(text.partition(".")[0])) if whole and re.fullmatch(r"[+-]?[0-9]{1,20}(\.0*)?", text) else text
