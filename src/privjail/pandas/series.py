"""PrivSeries: a private column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from privjail.errors import PlanError
from privjail.ops.distinct import Distinct
from privjail.ops.isin import IsNull
from privjail.ops.logic import negation
from privjail.ops.tally import Tally
from privjail.pandas.accessors import Categories, DateTimes, Strings
from privjail.pandas.refusals import refuse
from privjail.pandas.rowwise import numeric
from privjail.pandas.series_rows import SeriesRows
from privjail.pandas.series_values import SeriesValues
from privjail.pandas.statistics import Statistics
from privjail.pandas.vectors import Axis, SensitiveSeries
from privjail.plan.expr import Expr
from privjail.sensitive import number


class PrivSeries(Statistics, SeriesRows, SeriesValues):
    """A private column: rows that nobody sees, and one expression over them."""

    def __getattr__(self, name: str) -> Any:
        refuse(self, name)

    @property
    def str(self) -> Strings:  # noqa: A003
        return Strings(self)

    @property
    def dt(self) -> DateTimes:
        return DateTimes(self)

    @property
    def cat(self) -> Categories:
        return Categories(self)

    def copy(self, deep: bool = True) -> PrivSeries:
        """The same column: nothing ever changes it."""
        return self._new(self._expr)

    def rename(self, name: Any) -> PrivSeries:
        """The same column under another name."""
        return PrivSeries(self._rows, self._expr, name)

    def to_frame(self, name: Any = None) -> Any:
        """A table of this one column."""
        return self._table({self.name if name is None else name: self._expr})

    def pipe(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """f(self, …)."""
        return f(self, *args, **kwargs)

    def groupby(self, by: Any, **options: Any) -> Any:
        """Groups of this column by other columns of the same table."""
        name = "value" if self.name is None else self.name
        return self._table({name: self._expr}).groupby(by, **options)[name]

    # -- private numbers

    def count(self) -> Any:
        """How many values are not missing, as a private number."""
        return number(Tally(self._rows, (), self._present()))

    def sum(self) -> Any:  # noqa: A003
        """The sum, as a private number; the column must be bounded."""
        return number(Tally(self._rows, (), numeric(self._expr)))

    def nunique(self) -> Any:
        """How many of the possible values occur, as a private number."""
        return number(Distinct(self._rows, self._expr))

    def value_counts(self, *, sort: bool = True, normalize: bool = False, dropna: bool = True) -> SensitiveSeries:
        """How often each possible value occurs, in the order of the domain."""
        if sort:
            raise PlanError(
                "value_counts() would show which value is most frequent by its order", plan=self._plan(),
                do="use value_counts(sort=False); sort the released counts as you like",
            )  # fmt: skip
        if normalize or not dropna:
            raise PlanError("value_counts takes sort=False only", do="divide the released counts by their sum")
        return SensitiveSeries(Tally(self._rows, (self._expr,), None), "count", (Axis(self.name, self.domain),))

    def _present(self) -> Expr | None:
        return negation(IsNull(self._expr)) if self.domain.nullable else None
