"""One world of an audit: the rows of every data set, as they are or with one privacy unit more or less.

What comes or goes is a unit of one *account*: of a data set by itself, or of a population with all its tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from privjail.catalogue.schema import Schema, read_schema
from privjail.plan.domain import Domain
from privjail.verify.audit.data import Table, dummy, edited, kept
from privjail.verify.audit.people import Belongs, People

Account = tuple[str, str]  # "data set" or "population", and which one


def account_of(name: str, facts: Mapping[str, Any]) -> Account:
    """Who pays for a data set: it alone, or its population."""
    people = facts.get("people")
    return ("data set", name) if people is None else ("population", people["population"])


def shown_accounts(known: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The accounts of data sets, in the order in which these were opened, with the tables of each population."""
    found: dict[Account, list[str]] = {}
    for name, facts in known.items():
        found.setdefault(account_of(name, facts), []).append(name)
    return [names[0] if kind == "data set" else _called(known[names[0]], names) for (kind, _), names in found.items()]


def _called(facts: Mapping[str, Any], tables: list[str]) -> str:
    return f"{facts['people']['called']} ({', '.join(tables)})"


class World:
    """Gives the rows of data sets, each once, those that others link to first."""

    def __init__(self, edit: str, which: int, rows: int, known: Mapping[str, Mapping[str, Any]]) -> None:
        self._edit, self._which, self._rows = edit, which, rows
        self._accounts: list[Account] = []
        self._people: dict[Account, People] = {}
        self._domains: dict[Account, list[Domain]] = {}  # of the persons
        for name, facts in known.items():
            if facts.get("people") and facts["unit"]:
                self._person(account_of(name, facts), read_schema(facts["schema"]), facts["unit"])

    def _person(self, account: Account, schema: Schema, column: str) -> None:
        found = self._domains.setdefault(account, [])
        if column in schema and schema[column].domain not in found:
            found.append(schema[column].domain)

    def _here(self, account: Account) -> str:
        if account not in self._accounts:
            self._accounts.append(account)
        return self._edit if self._accounts.index(account) == self._which else "as it is"

    def _persons(self, account: Account, schema: Schema, person: str | None) -> People:
        edit = self._here(account)
        if person is not None:
            self._person(account, schema, person)
        if account not in self._people:
            self._people[account] = People(edit, self._rows, self._domains.setdefault(account, []))
        return self._people[account]

    def table(
        self, name: str, schema: Schema, unit: str | None, most: int | None, belongs: Belongs | None,
        given: Table | None,
    ) -> Table:  # fmt: skip
        """The rows of a data set in this world: made up, or those that the program brings."""
        if given is not None:
            given = given[0], given[1][: self._rows]
        if belongs is None:
            edit = self._here(("data set", name))
            return edited(given or dummy(schema, unit, self._rows), schema, unit, most, edit)
        people = self._persons(("population", belongs.population), schema, unit)
        member = belongs.membership(unit, most)
        if given is None:
            return people.made(belongs.table, schema, member)
        return people.brought(belongs.table, schema, member, given)

    def frame(
        self, name: str, schema: Schema, unit: str | None, belongs: Belongs | None,
        columns: Mapping[str, Iterable[Any]], rows: int,
    ) -> list[int]:  # fmt: skip
        """The numbers of the rows of a frame, in the program's memory, that are in this world."""
        spelled = {column: [_spelled(x) for x in values] for column, values in columns.items()}
        if belongs is None:
            return kept(self._here(("data set", name)), rows, spelled.get(unit or ""))
        people = self._persons(("population", belongs.population), schema, unit)
        return people.kept(belongs.table, schema, belongs.membership(unit, None), spelled, rows)


def _spelled(x: Any) -> str:
    """A name of a person, or a key, in a frame: pandas makes floats of whole numbers where one is missing."""
    if x is None or x != x:
        return ""
    return str(int(x)) if isinstance(x, float) and x.is_integer() else str(x)
