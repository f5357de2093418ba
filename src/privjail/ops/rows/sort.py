"""sort_values, stable."""

from __future__ import annotations

from typing import Any

from privjail.errors import PlanError, RowsError
from privjail.plan.expr import Expr
from privjail.plan.node import node
from privjail.plan.rows import Rows


@node
class Sort(Rows):
    """Rows in the order of some columns; ties keep their order, nulls come last.

    Distance: kept. The order of two rows depends on these two rows only, so an inserted row finds its
    place among the others and moves none of them. (An unstable sort could permute every tie.)
    """

    kind = "sort"
    rows: Rows
    by: tuple[Expr, ...]
    descending: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.by or len(self.by) != len(self.descending):
            raise PlanError("sort_values needs at least one column, and one direction for each")
        if any(each.base is not None and each.base is not self.rows.base for each in self.by):
            raise RowsError("the sort key does not belong to the rows of this table")
        self.select(self.rows, self.rows.cells)

    @property
    def inputs(self) -> tuple[Any, ...]:
        return self.by

    def polars(self, frame: Any, *columns: Any) -> Any:
        return frame.sort(
            list(columns), descending=[bool(d) for d in self.descending], nulls_last=True, maintain_order=True
        )

    def python(self, rows: list[int], *columns: list[Any]) -> list[int]:
        order = list(range(len(rows)))
        for column, descending in reversed(list(zip(columns, self.descending, strict=True))):
            known = [i for i in order if column[i] is not None]
            known.sort(key=column.__getitem__, reverse=bool(descending))  # stable, also when reversed
            order = known + [i for i in order if column[i] is None]
        return [rows[i] for i in order]

    def sql(self, sql: Any, table: Any, *columns: Any) -> Any:
        keys = [sql.sortable(column, by.domain) for column, by in zip(columns, self.by, strict=True)]
        return table.sort([(key, bool(down)) for key, down in zip(keys, self.descending, strict=True)])

    def text(self) -> str:
        return f"sort_values({', '.join(map(str, self.by))})"
