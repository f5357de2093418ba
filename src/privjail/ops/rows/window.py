"""shift, diff and rolling: each row together with its neighbours."""

from __future__ import annotations

from typing import Any

from privjail.errors import PlanError, RowsError
from privjail.plan.expr import Expr
from privjail.plan.node import node
from privjail.plan.rows import Rows

WIDEST = 256
FURTHEST = 2**31


@node
class Window(Rows):
    """The same rows, each of which sees the rows from ``before`` above it to ``after`` below it.

    Distance: (2w - 1)·d with w = before + 1 + after: w insertions and w - 1 deletions for an inserted row. Read a row
    as the tuple of the w rows that it sees. An inserted row is seen in w tuples, and parts the w - 1 tuples that saw
    the rows on both sides of it.

    One of the two may be negative: a row then does not see itself. A column that is only shifted, by k rows, is such a
    window with w = 1 (before = k, after = -k): some rows without a value, and the column without its last k values.
    That is a column that is cut at one end: it moves by one row.
    """

    kind = "window"
    starts_base = True
    rows: Rows
    before: int
    after: int

    def __post_init__(self) -> None:
        if not 0 <= self.before + self.after < WIDEST or max(abs(self.before), abs(self.after)) >= FURTHEST:
            raise PlanError(f"a window has between 1 and {WIDEST} rows, less than {FURTHEST} rows away")
        width = self.before + 1 + self.after
        self.start_moved_base(self.rows, width, width - 1)

    @property
    def sees_itself(self) -> bool:
        return self.before >= 0 and self.after >= 0

    def sql(self, sql: Any, table: Any, *columns: Any) -> Any:
        return table  # the same rows; what they see around them is the line of Lag

    def text(self) -> str:
        return f"window(-{self.before}, +{self.after})"


@node
class Lag(Expr):
    """The value ``k`` rows above (below if k < 0); null where there is no such row."""

    kind = "lag"
    from_elsewhere = True
    window: Window
    inner: Expr
    k: int

    def __post_init__(self) -> None:
        if self.inner.base is not self.window.rows.base:
            raise RowsError("this column does not belong to the rows of the window")
        if not -self.window.after <= self.k <= self.window.before:
            raise PlanError("the row lies outside the window")
        nullable = self.inner.domain.nullable or self.k != 0
        self.fact(base=self.window, domain=self.inner.domain.with_nulls(nullable), inputs=())

    def polars(self, *inputs: Any) -> Any:
        import polars as pl

        return pl.col(self.inner.name).shift(self.k)

    def python(self, *inputs: Any) -> Any:
        """Given all values of the inner expression in the rows of the window, in order; and the number of this row."""
        column, i = inputs
        return column[i - self.k] if 0 <= i - self.k < len(column) else None

    def sql(self, sql: Any, *inputs: Any) -> Any:
        """Given the rows of the window as a table, and the term of the inner expression in them."""
        table, column = inputs
        return table.lagged(column, self.k)

    def text(self, *inputs: str) -> str:
        return f"{self.inner}.shift({self.k})"
