"""Populations of this process: persons, the tables about them, and one budget for all of them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from privjail.budget.notions import Notion, PureDP
from privjail.errors import PlanError
from privjail.ops.rows.source import Link, Unit
from privjail.ops.rows.source import Population as Persons

if TYPE_CHECKING:
    from privjail.catalogue.people import Keys, Membership
    from privjail.plan.domain import Domain

_numbers = itertools.count(1)


class Population:
    """Persons and everything that is held about them. One person comes or goes with all her rows in all tables.

    All tables of a population have one budget: whatever table is asked, the same people pay.
    """

    def __init__(self, name: str, budget: Any = None) -> None:
        self.name = str(name)
        self.notion: Notion | None = budget if budget is None or isinstance(budget, Notion) else PureDP(budget)
        self.persons = Persons(f"population:{next(_numbers)}", self.name)
        self._keys: dict[str, Keys] = {}
        self._files: dict[str, str] = {}  # which data each name of a table stands for
        self._rehearsed: dict[str, Keys] = {}  # of tables that were opened in a rehearsal: no rows, only domains

    def __repr__(self) -> str:
        return f"Population({self.name!r}: {', '.join(self._keys) or 'no tables yet'})"

    def membership(self, person: str | None, most: int | None, key: Any, link: Any) -> Membership:
        """What was said about a table, in the arguments of read_csv."""
        from privjail.catalogue.people import Membership

        if most is not None and (type(most) is not int or most < 1):
            raise PlanError("max_rows_per_unit needs a whole number ≥ 1")
        links = [each if isinstance(each, Link) else Link.read(each) for each in _listed(link)]
        return Membership(person, most, tuple(_listed(key)), tuple(links))

    def enforce(
        self, identity: str, name: str, frame: Any, schema: Any, membership: Membership, rehearsed: bool = False
    ) -> tuple[Any, dict[str, Domain], Unit]:
        """The rows of a table that have a person, and what its keys name, for links of later tables.

        A name stands for the same data always: with another table under it, the rows of a table that links to it would
        change their owners, after these have paid. What is opened in a rehearsal has no rows, and is kept apart:
        tables that are opened after it link to the real ones.
        """
        from privjail.catalogue.people import enforce_membership

        if self._files.get(name, identity) != identity:
            raise PlanError(f"{self.name!r} has another table that is called {name!r}", do="give it another name=")
        known = {**self._keys, **self._rehearsed} if rehearsed else self._keys
        held, domains, unit, keys = enforce_membership(frame, schema, membership, known)
        if rehearsed:
            self._rehearsed[name] = keys
        else:
            self._keys[name], self._files[name] = keys, identity
        return held, domains, unit


def population(name: str, budget: Any = None) -> Population:
    """A population: persons, and one budget for all tables about them.

    Name it when you open a table: ``pd.read_csv("stays.csv", schema, population=hospital, unit="patient")``.

    >>> hospital = pj.population("hospital", budget=5)
    """
    return Population(name, budget)


def _listed(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, (list, tuple)) else [given]
