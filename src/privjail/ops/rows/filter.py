"""Rows where a condition is true."""

from __future__ import annotations

from typing import Any

from privjail.errors import PlanError, RowsError
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.isin import IsNull
from privjail.ops.columns.logic import Logic, Not
from privjail.ops.columns.where import FillNull
from privjail.ops.rows.deciding import single_key
from privjail.ops.rows.lookup import Lookup
from privjail.plan.cells import Cell, Partition
from privjail.plan.domain import BoolDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, node
from privjail.plan.rows import DEEPEST, MOST_CELLS, Rows, refine

SHOWN = 4  # columns, in the text of a filter that looks at many


@node
class Filter(Rows):
    """Keep the rows where a condition is true; null counts as false.

    Distance: kept. A row that comes or goes does so in the output or not at all, and no other row moves.
    The output lies in the cells where the condition holds: of the partition by a column, if the
    condition is about one column with finitely many values, else of the partition by the condition itself.
    """

    kind = "filter"
    rows: Rows
    condition: Expr

    def __post_init__(self) -> None:
        rows, condition = self.rows, self.condition
        if condition.base is not None and condition.base is not rows.lineage.base:
            raise RowsError("the condition does not belong to the rows of this table")
        if not isinstance(condition.domain, BoolDomain):
            raise PlanError(f"a filter needs a true/false column, not {condition.domain.dtype}")
        self.select(rows, _where(rows, condition))

    @property
    def inputs(self) -> tuple[Any, ...]:
        return (self.condition,)

    @staticmethod
    def kept(condition: Any) -> Any:
        """The Polars line: where a condition's column is true; null counts as false."""
        return condition.fill_null(False) if condition.null_count() else condition

    def python(self, rows: list[int], *columns: list[Any]) -> list[int]:
        return [row for row, kept in zip(rows, columns[0], strict=True) if kept is True]

    def sql(self, sql: Any, table: Any, *columns: Any) -> Any:
        return table.where(columns[0])

    def text(self) -> str:
        columns = _complete(self.condition)
        return f"filter({self.condition})" if columns is None else f"dropna({listed(columns)})"


def keep(rows: Rows, condition: Expr) -> Rows:
    """Filter by each part of a conjunction in turn: a & b is true where both are."""
    if isinstance(condition, FillNull) and isinstance(condition.b, Constant) and condition.b.lit.value is False:
        return keep(rows, condition.a)  # null counts as false anyway
    if isinstance(condition, Logic) and condition.op == "&":
        return keep(keep(rows, condition.a), condition.b)
    return Filter(rows, condition)


def _complete(condition: Expr) -> list[Expr] | None:
    """The columns of which a condition says that none is missing, if it says just that of several."""
    if not isinstance(condition, Not) or not isinstance(condition.a, Logic):
        return None
    columns: list[Expr] = []
    waiting: list[Expr] = [condition.a]
    seen: set[Expr] = set()  # a part may occur often: 40 times itself | itself are 2**40 columns
    while waiting:
        part = waiting.pop()
        if part in seen:
            continue
        seen.add(part)
        match part:
            case Logic("|", a, b):
                waiting += [b, a]
            case IsNull(a):
                columns.append(a)
            case _:
                return None
    return columns


def listed(columns: list[Expr]) -> str:
    """Some columns by their texts, and how many there are beside them."""
    more = len(columns) - SHOWN
    return ", ".join(map(str, columns[:SHOWN])) + (f", … {more} more" if more > 0 else "")


def _where(rows: Rows, condition: Expr) -> tuple[Cell, ...]:
    """The cells of the rows where a condition is true."""
    if condition.base is None:
        return rows.cells
    if isinstance(condition, Lookup) and condition.inner.base is None:
        return _of_persons_in(rows, condition)
    found = single_key(condition)
    if found is not None:
        return refine(rows, *found)
    if isinstance(condition, Not):
        return refine(rows, condition.a, (Lit.of(False),))
    return refine(rows, condition, (Lit.of(True),))


def _of_persons_in(rows: Rows, found: Lookup) -> tuple[Cell, ...]:
    """The cells of rows whose person has a row in another table: of these, in the cells of the rows found there.

    A person with at most one row there is in one cell of it as a whole, or in none.
    """
    cells, others = rows.cells, found.other.cells
    paths = [[step for step in cell.path() if isinstance(step.partition, Partition)] for cell in others]
    split = any(step.partition.splits for path in paths for step in path)  # type: ignore[union-attr]
    deep = max((cell.depth for cell in cells), default=0) + max(map(len, paths), default=0) > DEEPEST
    if split or deep or len(cells) * len(others) > MOST_CELLS:
        return cells
    made = []
    for cell in cells:
        for path in paths:
            below = cell
            for step in path:
                below = Cell(below, step.partition, step.key)
            made.append(below)
    return tuple(dict.fromkeys(made))
