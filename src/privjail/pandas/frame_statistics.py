"""Private numbers and released statistics of a private table."""

from __future__ import annotations

from typing import Any

from privjail.budget.amounts import amount
from privjail.errors import PlanError
from privjail.ops.numbers import Stack
from privjail.ops.tally import Tally
from privjail.pandas.frame_core import FrameCore
from privjail.pandas.frame_values import is_number
from privjail.pandas.priced import priced
from privjail.pandas.rowwise import numeric
from privjail.pandas.statistics import means
from privjail.pandas.vectors import Axis, SensitiveSeries


@priced
class FrameStatistics(FrameCore):
    """Counts and sums as private vectors; means and their like released for one eps."""

    def count(self) -> SensitiveSeries:
        """How many values of each column are not missing."""
        return self._stacked({n: self._series(n).count()._value for n in self._exprs})

    def sum(self) -> SensitiveSeries:
        """The sum of each column; all must be bounded numbers."""
        return self._stacked({n: Tally(self._rows, (), numeric(e)) for n, e in self._exprs.items()})

    def nunique(self) -> SensitiveSeries:
        """How many of its possible values occur in each column."""
        return self._stacked({n: self._series(n).nunique()._value for n in self._exprs})

    def _stacked(self, values: dict[Any, Any]) -> SensitiveSeries:
        if not values:
            raise PlanError("the table has no columns")
        return SensitiveSeries(Stack(tuple(values.values()), tuple(values)), None, (Axis(),))

    def value_counts(self, subset: Any = None, *, sort: bool = True) -> SensitiveSeries:
        """How often each combination of values occurs."""
        names = list(self._exprs) if subset is None else self._names(subset)
        if sort:
            raise PlanError("value_counts() would show an order by frequency", do="use value_counts(sort=False)")
        keys = tuple(self._expr(n) for n in names)
        axes = tuple(Axis(n, e.domain) for n, e in zip(names, keys, strict=True))
        return SensitiveSeries(Tally(self._rows, keys, None), "count", axes)

    def mean(self, *, eps: Any) -> Any:
        """The mean of each column, for one eps in all."""
        import pandas

        return pandas.Series(means(self._rows, self._exprs, eps))

    def _per_column(self, method: str, eps: Any, **kwargs: Any) -> dict[Any, Any]:
        columns = [n for n, e in self._exprs.items() if is_number(e.domain)]
        if not columns:
            raise PlanError("the table has no column of numbers", do='convert with .astype("Float64"), or clip')
        share = amount(eps) / len(columns)
        return {n: getattr(self._series(n), method)(eps=share, **kwargs) for n in columns}

    def _released(self, method: str, eps: Any, **kwargs: Any) -> Any:
        import pandas

        return pandas.Series(self._per_column(method, eps, **kwargs))

    def var(self, *, eps: Any) -> Any:
        """The variance of each column of numbers, for one eps in all."""
        return self._released("var", eps)

    def std(self, *, eps: Any) -> Any:
        """The standard deviation of each column of numbers, for one eps in all."""
        return self._released("std", eps)

    def min(self, *, eps: Any) -> Any:
        """A value of each column that few rows lie below, for one eps in all."""
        return self._released("min", eps)

    def max(self, *, eps: Any) -> Any:
        """A value of each column that few rows lie above, for one eps in all."""
        return self._released("max", eps)

    def median(self, *, eps: Any) -> Any:
        """The median of each column of numbers, for one eps in all."""
        return self._released("median", eps)

    def quantile(self, q: Any = 0.5, *, eps: Any) -> Any:
        """A quantile (or several) of each column of numbers, for one eps in all."""
        import pandas

        if isinstance(q, (list, tuple)):
            return pandas.DataFrame(self._per_column("quantile", eps, q=q))
        return self._released("quantile", eps, q=q)

    def describe(self, *, eps: Any) -> Any:
        """count, mean, std, min, quartiles and max of each column of numbers, for one eps in all."""
        import pandas

        return pandas.DataFrame(self._per_column("describe", eps))

    def hist(self, column: str, *, eps: Any, bins: Any = 10) -> Any:
        """Noisy counts of a column in intervals."""
        return self._series(column).hist(eps=eps, bins=bins)
