"""shift, diff and rolling: each row together with its neighbours."""

from __future__ import annotations

from typing import Any

from privjail.errors import PlanError, RowsError
from privjail.plan.expr import Expr
from privjail.plan.node import node
from privjail.plan.rows import Rows

WIDEST = 256


@node
class Window(Rows):
    """The same rows, each of which also sees ``before`` rows above it and ``after`` rows below it.

    Distance: (2w - 1)·d with w = before + 1 + after. Read a row as the tuple of the w rows that it sees.
    A row inserted at i is one new tuple, and changes the tuples of the w - 1 other rows that see it: one
    insertion, and w - 1 replacements of two edits each.
    """

    kind = "window"
    starts_base = True
    rows: Rows
    before: int
    after: int

    def __post_init__(self) -> None:
        if self.before < 0 or self.after < 0 or self.before + self.after >= WIDEST:
            raise PlanError(f"a window has between 1 and {WIDEST} rows")
        reach = 2 * (self.before + 1 + self.after) - 1
        self.start_base(
            self.rows,
            factor=None if self.rows.factor is None else self.rows.factor * reach,
            cap=None if self.rows.cap is None else self.rows.cap * reach,
        )

    def sql(self, sql: Any, table: Any, *columns: Any) -> Any:
        return table  # the same rows; what they see around them is the line of Lag

    def text(self) -> str:
        return f"window(-{self.before}, +{self.after})"


@node
class Lag(Expr):
    """The value ``k`` rows above (below if k < 0); null where there is no such row."""

    kind = "lag"
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
