"""Small tables, their neighbours, and the true distance between two tables.

A table is a tuple of rows, a row a tuple of values; None is a missing value and equals itself. A *world* is a
data set whose rows come from a short list (three rows, one or more of them with nulls), so that all of its
tables can be listed, and ties are everywhere: that is where rules break.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from hypothesis import strategies as st

from privjail.ops.rows.source import Column, Dataset, Source, Unit
from privjail.plan.domain import Domain

Row = tuple[Any, ...]
Table = tuple[Row, ...]


def edits(left: Sequence[Any], right: Sequence[Any]) -> int:
    """How many rows must be inserted and deleted: both lengths, less twice the longest common subsequence."""
    common = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, row in enumerate(left):
        for j, other in enumerate(right):
            if row == other:
                common[i + 1][j + 1] = common[i][j] + 1
            else:
                common[i + 1][j + 1] = max(common[i][j + 1], common[i + 1][j])
    return len(left) + len(right) - 2 * common[-1][-1]


@dataclass(frozen=True)
class World:
    """A data set with few possible rows: its columns, those rows, and what one person can add or take away."""

    columns: tuple[tuple[str, Domain], ...]
    rows: Table
    unit: Unit = Unit()

    @property
    def source(self) -> Source:
        return Source(Dataset("world", "world", self.columns, self.unit))

    def column(self, name: str) -> Column:
        return Column(self.source, name)

    @cached_property
    def _owner(self) -> int | None:
        names = [name for name, _ in self.columns]
        return None if self.unit.column is None else names.index(self.unit.column)

    def valid(self, table: Table) -> bool:
        """Whether no unit has more rows than the data set allows."""
        if self._owner is None or self.unit.most_rows is None:
            return True
        owners = [row[self._owner] for row in table]
        return all(owners.count(u) <= self.unit.most_rows for u in owners)

    def tables(self, most: int = 4) -> Iterator[Table]:
        """All tables of at most so many rows."""
        for n in range(most + 1):
            yield from filter(self.valid, product(self.rows, repeat=n))

    def without(self, table: Table) -> Iterator[Table]:
        """The table without one privacy unit, for each unit in it."""
        if self._owner is None:
            yield from dict.fromkeys(table[:i] + table[i + 1 :] for i in range(len(table)))
        else:
            for owner in dict.fromkeys(row[self._owner] for row in table):
                yield tuple(row for row in table if row[self._owner] != owner)

    def pairs(self, most: int = 4) -> Iterator[tuple[Table, Table]]:
        """All neighbours: the smaller table, then the larger one."""
        for table in self.tables(most):
            for smaller in self.without(table):
                yield smaller, table

    def tables_at_random(self, most: int = 7) -> st.SearchStrategy[Table]:
        return st.lists(st.sampled_from(self.rows), max_size=most).map(tuple).filter(self.valid)

    def neighbours(self, most: int = 7) -> st.SearchStrategy[tuple[Table, Table]]:
        """Two tables, the first one without one unit of the second."""
        some = self.tables_at_random(most).filter(bool)
        return some.flatmap(lambda t: st.sampled_from([(s, t) for s in self.without(t)]))
