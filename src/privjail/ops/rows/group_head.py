"""groupby(key).head(k): at most k rows of each group, and so of each user."""

from __future__ import annotations

from collections import Counter
from typing import Any

from privjail.errors import PlanError, RowsError
from privjail.ops.columns.carried import Carried
from privjail.plan.expr import Expr
from privjail.plan.node import node
from privjail.plan.rows import Rows


@node
class GroupHead(Rows):
    """The first k rows of each value of a key, in their order; rows without a key are dropped.

    Distance. By the column that says whose row it is, on rows of an owned base that were only filtered and
    sorted: k, whatever the user's number of rows, since the rows of other users stay as they are. It is
    a property of the whole user, who can have k rows in each of several groups, so it holds above all
    partitions of rows and not for a group of one. Where no user has more than k rows, nothing is dropped and
    the distance is kept.
    By any other key: 2d. A row inserted into a group pushes at most one other row out of it.
    By the owner no row of others goes out, so adding a user deletes nothing.
    """

    kind = "group_head"
    starts_base = True
    rows: Rows
    key: Expr
    k: int

    def __post_init__(self) -> None:
        if type(self.k) is not int or self.k < 1:
            raise PlanError("groupby(…).head(k) needs k ≥ 1")
        if self.key.base is not self.rows.base:
            raise RowsError("the key does not belong to the rows of this table")
        if self._by_owner():
            self.start_owned_base(self.rows, self.k)
        else:
            self.start_moved_base(self.rows, 1, 1)

    def _by_owner(self) -> bool:
        return self.key is self.rows.base.owner()

    def owner(self) -> Expr | None:
        return Carried(self, self.key) if self._by_owner() else None

    def unique(self) -> tuple[Expr, ...]:
        return tuple(Carried(self, each) for each in self.rows.base.unique()) if self._by_owner() else ()

    @property
    def inputs(self) -> tuple[Any, ...]:
        return (self.key,)

    def polars(self, frame: Any, *columns: Any) -> Any:
        import polars as pl

        key = columns[0]
        return frame.filter(key.is_not_null() & (pl.int_range(pl.len()).over(key) < self.k))

    def python(self, rows: list[int], *columns: list[Any]) -> list[int]:
        seen: Counter[Any] = Counter()
        kept = []
        for row, key in zip(rows, columns[0], strict=True):
            seen[key] += 1
            if key is not None and seen[key] <= self.k:
                kept.append(row)
        return kept

    def sql(self, sql: Any, table: Any, *columns: Any) -> Any:
        return table.first(self.k, sql.sortable(columns[0], self.key.domain))

    def text(self) -> str:
        return f"groupby({self.key}).head({self.k})"
