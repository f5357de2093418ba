"""Databases of several small tables about the same persons, and their neighbours.

A database is a tuple of tables, one for each table of the population. Its neighbours lack one person, with all her
rows in all tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

from hypothesis import strategies as st

from privjail.engines.engine import Answer, Engine, Sides
from privjail.engines.reference import ReferenceEngine
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.source import Column, Dataset, Link, Population, Source, Unit
from privjail.plan.distance import Distance
from privjail.plan.domain import CategoryDomain, Domain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows
from privjail.plan.value import Value

from ..tables import Table, edits
from . import checking
from .checking import about, apart_value, decoded

Database = tuple[Table, ...]
PEOPLE = Population("population:people", "people")


@dataclass(frozen=True)
class Part:
    """One table of a population: its columns, of which the first is the person, and the rows that it can have."""

    name: str
    columns: tuple[tuple[str, Domain], ...]
    rows: Table
    most: int | None = None
    keys: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()

    @property
    def source(self) -> Source:
        unit = Unit(self.columns[0][0], self.most)
        return Source(Dataset(self.name, self.name, self.columns, unit, PEOPLE, self.keys, self.links))

    def column(self, name: str) -> Column:
        return Column(self.source, name)

    def valid(self, table: Table) -> bool:
        """What loading enforces: the most rows of a person, and keys that differ between her rows."""
        owners = [row[0] for row in table]
        if self.most is not None and any(owners.count(u) > self.most for u in owners):
            return False
        names = [name for name, _ in self.columns]
        for key in map(names.index, self.keys):
            pairs = [(row[0], row[key]) for row in table]
            if len(set(pairs)) < len(pairs):
                return False
        return True

    def tables(self, most: int) -> list[Table]:
        return [t for n in range(most + 1) for t in product(self.rows, repeat=n) if self.valid(t)]


class Remembering(ReferenceEngine):
    """The reference engine, which computes everything again for each column; here once, while one base is asked about."""

    def __init__(self, cache_bytes: int = 0) -> None:
        super().__init__(cache_bytes)
        self._about: Rows | None = None
        self._known: dict[Any, Any] = {}

    def _once(self, key: Any, compute: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = compute()
        return self._known[key]

    def _rows(self, rows: Rows) -> list[int]:
        return self._once((rows, "rows"), lambda: super(Remembering, self)._rows(rows))

    def _size(self, base: Rows) -> int:
        return self._once((base, "size"), lambda: super(Remembering, self)._size(base))

    def _origins(self, base: Rows) -> list[int]:
        return self._once((base, "origins"), lambda: super(Remembering, self)._origins(base))

    def _persons(self, base: Any) -> list[list[int]]:
        return self._once((base, "persons"), lambda: super(Remembering, self)._persons(base))

    def _pairs(self, base: Any) -> list[tuple[int, int | None]]:
        return self._once((base, "pairs"), lambda: super(Remembering, self)._pairs(base))

    def _column(self, expression: Expr, size: int) -> list[Any]:
        return self._once((expression, size), lambda: super(Remembering, self)._column(expression, size))

    def table(self, rows: Rows, columns: Mapping[str, Expr]) -> dict[str, list[Any]]:
        self._begin(rows.base)
        return super().table(rows, columns)

    def tally(self, tally: Tally) -> Answer:
        self._begin(tally.rows.base)
        return super().tally(tally)

    def rank(self, scores: QuantileScores) -> Sides:
        self._begin(scores.rows.base)
        return super().rank(scores)

    def _begin(self, base: Rows) -> None:
        if base is not self._about:
            self._known, self._about = {}, base


@lru_cache(maxsize=4096)
def _engine(name: str, sources: tuple[Source, ...], database: Database) -> Engine:
    """One engine for all programs on a database. (While a rule is broken on purpose, sources are other nodes.)"""
    found = Remembering() if name == "reference" else checking.ENGINES[name](2**20)
    for source, table in zip(sources, database, strict=True):
        found.hold(source, _held(source, table))
    return found


@lru_cache(maxsize=4096)
def _held(source: Source, table: Table) -> Any:
    return checking.frame(source, table)


@dataclass(frozen=True)
class People:
    """A population of small tables."""

    parts: tuple[Part, ...]

    def databases(self, most: int) -> Iterator[Database]:
        """All databases with at most so many rows in all tables together."""
        for each in product(*(part.tables(most) for part in self.parts)):
            if sum(map(len, each)) <= most:
                yield each

    def without(self, database: Database) -> Iterator[Database]:
        """The database without one person, for each person in it."""
        for person in dict.fromkeys(row[0] for table in database for row in table):
            yield tuple(tuple(row for row in table if row[0] != person) for table in database)

    def pairs(self, most: int) -> Iterator[tuple[Database, Database]]:
        for database in self.databases(most):
            for smaller in self.without(database):
                yield smaller, database

    def neighbours(self, most: int = 5) -> st.SearchStrategy[tuple[Database, Database]]:
        tables = [
            st.lists(st.sampled_from(part.rows), max_size=most).map(tuple).filter(part.valid) for part in self.parts
        ]
        some = st.tuples(*tables).filter(any)
        return some.flatmap(lambda d: st.sampled_from([(s, d) for s in self.without(d)]))

    def engine(self, database: Database, name: str | None = None) -> Engine:
        name, sources = name or checking._chosen, tuple(part.source for part in self.parts)
        made = _engine.__wrapped__ if name in checking.SLOW else _engine  # databases are not kept: there is one for all
        return made(name, sources, database)

    def table(self, rows: Rows, columns: Iterable[Expr], database: Database, name: str | None = None) -> Table:
        columns = tuple(columns)
        found = self.engine(database, name).table(rows, {str(i): e for i, e in enumerate(columns)})
        return tuple(zip(*(decoded(found[str(i)], e.domain) for i, e in enumerate(columns)), strict=True))

    def check_rows(self, rows: Rows, columns: tuple[Expr, ...], pairs: Iterable[tuple[Database, Database]]) -> int:
        """The ordered rows, with all that these columns show, move no further than claimed; gives the furthest.

        If the base is owned, the rows of everybody else stay exactly as they are.
        """
        about(rows, *columns)
        claim = rows.distance.value
        in_claim, out_claim = (apart_value(rows, each) for each in rows.moved)
        owner = rows.base.owner()
        shown = columns if owner is None else (owner, *columns)
        run = self.memo(lambda d: self.table(rows, shown, d))
        worst = 0
        for left, right in pairs:
            before, after = run(left), run(right)
            moved = edits(before, after)
            assert claim is None or moved <= claim, f"{rows}: {left} and {right} are {moved} apart, claimed {claim}"
            came = (moved + len(after) - len(before)) // 2
            assert in_claim is None or came <= in_claim and moved - came <= out_claim, f"{rows}: {left}, {right}"
            if owner is not None:
                (gone,) = {row[0] for t in right for row in t} - {row[0] for t in left for row in t}
                others = tuple(row for row in after if row[0] != gone)
                assert others == before, f"{rows}: the rows of others change with {gone}: {left} and {right}"
            worst = max(worst, moved)
        return worst

    def check_forms(self, parts: list[tuple[Rows, tuple[Expr, ...]]], pairs: Iterable[Any], weights: Any) -> int:
        """Distances of several tables hold together: every weighted sum of them is at most what the forms allow.

        Gives the largest plain sum that was seen.
        """
        about(*(rows for rows, _ in parts))
        forms = []
        for each in weights:
            form = Distance()
            for w, (rows, _) in zip(each, parts, strict=True):
                form = form + rows.distance * w
            forms.append((each, form.value))
        runs = [self.memo(lambda d, r=rows, c=columns: self.table(r, c, d)) for rows, columns in parts]
        worst = 0
        for left, right in pairs:
            moved = [edits(run(left), run(right)) for run in runs]
            for each, most in forms:
                total = sum(w * m for w, m in zip(each, moved, strict=True))
                assert most is None or total <= most, f"{left} and {right}: {moved} weighed {each} is above {most}"
            worst = max(worst, sum(moved))
        return worst

    def check_value(self, value: Value, pairs: Iterable[tuple[Database, Database]]) -> Any:
        """A value moves no further than claimed in L1, and each element no further than its own claim."""
        about(value)
        elements, l1 = [value.joint.at(i).value for i in range(value.joint.size)], value.joint.l1
        run = self.memo(lambda d: self.numbers(value, d))
        worst = 0
        for left, right in pairs:
            moved = [abs(a - b) * value.grid for a, b in zip(run(left), run(right), strict=True)]
            assert all(most is None or x <= most for x, most in zip(moved, elements, strict=True)), (value, left, right)
            assert l1 is None or sum(moved) <= l1, (value, left, right)
            worst = max(worst, sum(moved))
        return worst

    def numbers(self, value: Value, database: Database) -> list[int]:
        found = self.engine(database).evaluate(value)
        return found if isinstance(found, list) else [found]

    @staticmethod
    def memo(f: Callable[[Database], Any]) -> Callable[[Database], Any]:
        known: dict[Database, Any] = {}

        def run(database: Database) -> Any:
            if database not in known:
                known[database] = f(database)
            return known[database]

        return run


WHO = IntDomain(False, 0, 2)
PATIENTS = Part(
    "patients",
    (("who", WHO), ("sex", CategoryDomain(True, ("F", "M"))), ("age", IntDomain(True, 0, 9))),
    ((0, "F", 1), (1, "M", None), (2, None, 9), (1, "F", 0)),
    most=1,
)
STAYS = Part(
    "stays",
    (("who", WHO), ("stay", IntDomain(True, 0, 5)), ("cost", IntDomain(True, -1, 3))),
    ((0, 0, 3), (0, 1, None), (1, 2, -1), (2, 4, 3), (1, None, 1)),
    keys=("stay",),
)
NOTES = Part(
    "notes",
    (("who", WHO), ("stay", IntDomain(True, 0, 5)), ("code", CategoryDomain(True, ("a", "b")))),
    ((0, 0, "a"), (0, 1, None), (1, 2, "b"), (2, 5, "a")),
    most=2,
    links=(Link("stay", "stays", "stay"),),
)
TWO = People((PATIENTS, STAYS))
MANY = People((NOTES, STAYS))
THREE = People((PATIENTS, STAYS, NOTES))
