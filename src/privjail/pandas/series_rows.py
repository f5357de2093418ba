"""Choosing, ordering and shifting the rows of a private column."""

from __future__ import annotations

from typing import Any, Self

from privjail.errors import PlanError, RowsError
from privjail.ops.filter import keep
from privjail.ops.isin import IsNull
from privjail.ops.logic import negation
from privjail.ops.slice import Slice
from privjail.ops.sort import Sort
from privjail.ops.window import Lag, Window
from privjail.pandas.refusals import refuse_row_numbers
from privjail.pandas.rolling import Rolling
from privjail.pandas.series_core import SeriesCore
from privjail.pandas.slicing import Iloc, bounded, carried, nulls_last


class SeriesRows(SeriesCore):
    """Filters, slices, sorts, and each row's neighbours."""

    def __getitem__(self, key: Any) -> Self:
        if callable(key) and not isinstance(key, SeriesCore):
            key = key(self)
        if isinstance(key, SeriesCore):
            if key._rows is not self._rows:
                raise RowsError("the condition does not belong to the rows of this column")
            return self._new(self._expr, keep(self._rows, key._expr))
        if isinstance(key, slice):
            window: Self = self.iloc[key]
            return window
        raise PlanError("rows have no public labels", do="filter by a condition: s[s > 1]")

    @property
    def loc(self) -> Self:
        return self

    @property
    def iloc(self) -> Iloc:
        return Iloc(self._window)

    def _window(self, start: int | None, stop: int | None) -> Self:
        rows = Slice(self._rows, start, stop)
        return self._new(carried(rows, self._expr), rows)

    def head(self, n: int = 5) -> Self:
        """The first rows."""
        return self._window(*bounded("head", n))

    def tail(self, n: int = 5) -> Self:
        """The last rows."""
        return self._window(*bounded("tail", n))

    def sort_values(
        self, *, ascending: bool = True, kind: str = "stable", na_position: str = "last", ignore_index: bool = True
    ) -> Self:
        """Sorted, ties in their order, missing values last."""
        nulls_last(na_position)
        return self._new(self._expr, Sort(self._rows, (self._expr,), (int(not ascending),)))

    def reset_index(self, *, drop: bool = False) -> Self:
        """The same rows: they have no labels that could be dropped."""
        return self._new(self._expr) if drop else refuse_row_numbers(self)

    def dropna(self) -> Self:
        """Without missing values."""
        if not self.domain.nullable:
            return self
        return self._new(self._expr, keep(self._rows, negation(IsNull(self._expr))))

    def shift(self, periods: int = 1) -> Self:
        """The value some rows above (below, if negative)."""
        if type(periods) is not int:
            raise PlanError("shift takes a whole number of rows")
        window = Window(self._rows, max(periods, 0), max(-periods, 0))
        return self._new(Lag(window, self._expr, periods), window)

    def diff(self, periods: int = 1) -> Self:
        """The difference to the value some rows above."""
        difference: Self = self - self.shift(periods)  # type: ignore[operator]
        return difference

    def rolling(self, window: int) -> Rolling:
        """Sums, means, minima and maxima over each row and those just above it."""
        return Rolling(self, window)
