"""What a private column is: rows that nobody sees, and one expression over them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from privjail.errors import PlanError
from privjail.ops.tally import Tally
from privjail.pandas.rowwise import constant_like, same_rows
from privjail.pandas.show import facts_html
from privjail.plan.distance import Distance
from privjail.plan.domain import Domain
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows
from privjail.prisoner import Prisoner
from privjail.sensitive import number


class SeriesCore(Prisoner):
    """Rows, an expression, a name; and what is public about them."""

    _shown_class = "pandas.core.series.Series"
    _way_out = "count or sum it, and release the result: .sum().reveal(eps=…), .mean(eps=…)"
    _frame_class: ClassVar[Any]  # PrivDataFrame; set by frame.py, which stands above this module

    ndim = 1

    def __init__(self, rows: Rows, expr: Expr, name: str | None = None) -> None:
        self._rows, self._expr, self.name = rows, expr, name

    def _new(self, expr: Expr, rows: Rows | None = None) -> Self:
        return type(self)(self._rows if rows is None else rows, expr, self.name)

    def _table(self, columns: Mapping[Any, Expr]) -> Any:
        return self._frame_class(self._rows, columns)

    def _binary(self, other: Any, build: Any, flip: bool = False) -> Self:
        """A row-wise function of this column and another, or a public constant."""
        if isinstance(other, SeriesCore):
            rows, (a, b) = same_rows((self._rows, self._expr), (other._rows, other._expr))
        elif isinstance(other, Prisoner):
            raise PlanError("a column is not combined with a private number or table", do="release the number first")
        else:
            rows, a = self._rows, self._expr
            b = constant_like(other)
        return self._new(build(b, a) if flip else build(a, b), rows)

    @property
    def distance(self) -> Distance:
        return self._rows.distance

    @property
    def domain(self) -> Domain:
        """The values that the column may hold: public."""
        return self._expr.domain

    @property
    def dtype(self) -> str:
        return self._expr.domain.dtype

    dtypes = dtype

    @property
    def shape(self) -> tuple[Any]:
        return (number(Tally(self._rows, (), None)),)

    @property
    def size(self) -> Any:
        return self.shape[0]

    def _plan(self) -> str:
        return f"{self._rows} | {self._expr}"

    def __str__(self) -> str:
        cells = ", ".join(map(str, self._rows.cells[:3])) or "nowhere"
        return f"{Prisoner.__repr__(self)}\n  {self.name}: {self.domain}\n  cell: {cells}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return facts_html(Prisoner.__repr__(self), self._rows, {str(self.name): self._expr})
