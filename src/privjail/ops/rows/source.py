"""A data set, opened by name."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from privjail.errors import PlanError, SchemaError
from privjail.ops.polars_types import named
from privjail.plan.cells import Cell
from privjail.plan.domain import Domain
from privjail.plan.expr import Expr
from privjail.plan.node import LATER, node
from privjail.plan.rows import Lineage, Rows


@dataclass(frozen=True)
class Unit:
    """What one person can add or take away: a row, or all rows with the same value of one column."""

    column: str | None = None
    most_rows: int | None = 1  # None: no bound until groupby(column).head(k)

    def __str__(self) -> str:
        if self.column is None:
            return "a row"
        bound = "any number of" if self.most_rows is None else f"at most {self.most_rows}"
        return f"all rows of one {self.column!r} ({bound})"


@dataclass(frozen=True)
class Population:
    """The persons that several tables are about. ``identity`` is what the ledger knows it by."""

    identity: str
    name: str


@dataclass(frozen=True)
class Link:
    """A column whose value is the key of one row, of the same person, in another table of the population."""

    column: str
    table: str
    key: str

    def __str__(self) -> str:
        return f"{self.column}={self.table}.{self.key}"

    @staticmethod
    def read(given: str) -> Link:
        """A link as curators write it: ``stay=stays.stay``."""
        column, equals, target = given.partition("=")
        table, dot, key = target.rpartition(".")
        if not (column and equals and table and dot and key):
            raise SchemaError(f"{given!r} is no link", do="write COLUMN=TABLE.KEY, e.g. stay=stays.stay")
        return Link(column, table, key)


@dataclass(frozen=True)
class Dataset:
    """The public facts of a data set. ``identity`` is what the ledger knows it by, unless it has a population.

    ``keys``: columns that have another value in each row of one person. Loading has made that true, and of ``links``,
    that each row has the owner of the row that it points to.

    ``epoch``: the version of its rows. It is part of the names of everything computed from them, so groups of two
    epochs are groups of two partitions, whose costs add up: a person may be in another group after an update. The
    account, and its root cell, are those of all epochs. See docs/decisions/0209-epochs.md.
    """

    identity: str
    name: str
    columns: tuple[tuple[str, Domain], ...]
    unit: Unit
    population: Population | None = None
    keys: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    epoch: int = field(default=1, metadata={LATER: True})

    def __post_init__(self) -> None:
        names = [name for name, _ in self.columns]
        if len(set(names)) != len(names):
            raise PlanError(f"data set {self.name!r} has two columns of the same name")
        if self.unit.column is not None and self.unit.column not in names:
            raise PlanError(f"the unit's column {self.unit.column!r} is not in data set {self.name!r}")
        if self.unit.column is None and (self.population is not None or self.keys or self.links):
            raise PlanError(f"data set {self.name!r} belongs to a population, but no column says whose rows they are")
        unknown = [name for name in (*self.keys, *(link.column for link in self.links)) if name not in names]
        if unknown:
            raise PlanError(f"the keys or links {unknown} are not in data set {self.name!r}")

    @property
    def account(self) -> Population:
        """Whose account pays: that of the population, or of the data set alone."""
        return self.population or Population(self.identity, self.name)


@node
class Source(Rows):
    """All rows of a data set, in the order of the file.

    Distance: one privacy unit adds or removes one row, or up to ``most_rows`` rows of one user. Adding it deletes none.
    """

    kind = "source"
    starts_base = True
    dataset: Dataset

    def __post_init__(self) -> None:
        unit = self.dataset.unit
        lineage = Lineage(
            source=self, base=self, factor=unit.most_rows, cap=None, edits=unit.most_rows,
            inserted=unit.most_rows, deleted=0, most=None, bases=0,
        )  # fmt: skip
        pays = self.dataset.account
        self.fact(parent=None, cells=(Cell(None, pays.identity, pays.name),), lineage=lineage)

    def owner(self) -> Expr | None:
        column = self.dataset.unit.column
        return None if column is None else Column(self, column)

    def unique(self) -> tuple[Expr, ...]:
        return tuple(Column(self, name) for name in self.dataset.keys)

    def text(self) -> str:
        return self.dataset.name

    def timeless(self) -> bytes:
        """The digest of the same data set in its first epoch: two epochs with the same public facts have the same."""
        return self.digest() if self.dataset.epoch == 1 else Source(replace(self.dataset, epoch=1)).digest()


@node
class Column(Expr):
    """A column as it was loaded."""

    kind = "column"
    source: Source
    column: str

    def __post_init__(self) -> None:
        for name, domain in self.source.dataset.columns:
            if name == self.column:
                self.fact(base=self.source, domain=domain, inputs=())
                return
        raise PlanError(f"data set {self.source.dataset.name!r} has no column {self.column!r}")

    def polars(self, *inputs: Any) -> Any:
        return named(self.column)

    def sql(self, sql: Any, *inputs: Any) -> Any:
        # Columns are stored under their numbers: no name that somebody chose is part of any SQL.
        return sql.stored([name for name, _ in self.source.dataset.columns].index(self.column))

    def text(self, *inputs: str) -> str:
        return self.column
