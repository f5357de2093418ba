"""pd.concat([a, b]): the rows of one table, then those of another table of the same population."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from privjail.errors import PlanError, RefusedError, RowsError
from privjail.ops.columns.where import as_held, converted
from privjail.ops.rows.lookup import comparable, drawn
from privjail.plan.domain import join
from privjail.plan.expr import Expr
from privjail.plan.node import Node, node
from privjail.plan.rows import Rows


@node
class Append(Rows):
    """All rows of one table, then all rows of another one.

    Distance: edits of both add up, since a shortest edit script of each, one after the other, is one of the whole. Both
    tables are about the same persons, so their distances are forms over the cells of one tree, and so is the sum.
    Insertions and deletions add up apart. If both tables are owned, so is the whole: without p, each of them is
    the same rows without hers.

    The tables need not differ: a row that is in both is there twice, and its person moves both.
    """

    kind = "append"
    starts_base = True
    rows: Rows
    other: Rows

    def __post_init__(self) -> None:
        if self.rows.source.cells[0] is not self.other.source.cells[0]:
            raise RefusedError(
                "tables of different populations are not put below each other: nothing says which persons are the same",
                plan=str(self.other),
                do="ask the curator to add both tables to one population; or add what you release of each: "
                "`a.shape[0] + b.shape[0]`",
            )
        if drawn(self.rows) or drawn(self.other):
            raise RefusedError("a random sample is not put below other rows", do="take the whole tables")
        self.start_appended_base(self.rows, self.other)

    def owner(self) -> Expr | None:
        mine: Any = self.rows.base.owner()
        theirs: Any = self.other.base.owner()
        if mine is None or theirs is None or not comparable(mine.domain, theirs.domain):
            return None
        return Appended(self, mine, theirs)

    @property
    def sees_itself(self) -> bool:
        return False

    def quotes(self) -> Iterator[Node]:
        yield from super().quotes()
        yield self.other

    def polars(self, frame: Any, *columns: Any) -> Any:
        """Given a column in the rows of the first table, and in those of the second: the column in all of them."""
        import polars as pl

        return pl.concat([frame, columns[0]], rechunk=True)

    def python(self, rows: list[Any], *columns: list[Any]) -> list[Any]:
        """Given a column in the rows of the first table, and in those of the second: the column in all of them."""
        return [*rows, *columns[0]]

    def sql(self, sql: Any, table: Any, *columns: Any) -> Any:
        """Given both tables as queries with the same columns: one that gives the rows of both."""
        return f"{table} UNION ALL {columns[0]}"

    def text(self) -> str:
        return f"append({self.other})"


@node
class Appended(Expr):
    """A column of the first table in its rows, and one of the second table in the others; missing where there is none.

    Domain: both domains joined.
    """

    kind = "appended"
    from_elsewhere = shared = True
    append: Append
    first: Expr | None
    second: Expr | None

    def __post_init__(self) -> None:
        domain = None
        for part, rows in ((self.first, self.append.rows), (self.second, self.append.other)):
            if part is not None:
                if part.base is not None and part.base is not rows.base:
                    raise RowsError("this column does not belong to the rows that are put below each other")
                domain = part.domain if domain is None else join(domain, part.domain)
        if domain is None:
            raise PlanError("a column of neither table")
        missing = self.first is None or self.second is None
        self.fact(base=self.append, domain=domain.with_nulls(domain.nullable or missing), inputs=())

    @property
    def parts(self) -> tuple[tuple[Expr | None, Rows], ...]:
        return (self.first, self.append.rows), (self.second, self.append.other)

    def polars(self, *inputs: Any) -> Any:
        """One part of the column, given as an expression, in the form of the whole column."""
        column, part = inputs
        return as_held(column, part.domain, self.domain)

    def python(self, *inputs: Any) -> Any:
        """One value of a part of the column, in the form of the whole column."""
        value, part = inputs
        return converted(value, part.domain, self.domain)

    def sql(self, sql: Any, *inputs: Any) -> Any:
        """One part of the column, in the form of the whole column."""
        column, part = inputs
        return sql.converted(column, part.domain, self.domain)

    def text(self, *inputs: str) -> str:
        return str(self.second if self.first is None else self.first)
