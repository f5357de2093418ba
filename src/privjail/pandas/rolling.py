"""Rolling windows over a private column.

Each result is built from the shifted columns themselves. A running sum, as engines use it for floats, would
carry rounding errors from one window into all later ones, and with them a trace of rows long gone.
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from privjail.errors import PlanError
from privjail.ops.columns.isin import IsNull
from privjail.ops.columns.logic import Logic
from privjail.ops.columns.where import NullWhere, Where
from privjail.pandas.priced import priced
from privjail.pandas.refusals import RefusedAttribute
from privjail.plan.expr import Expr
from privjail.rowwise import compared, same_rows

if TYPE_CHECKING:
    from privjail.pandas.series import PrivSeries


STATISTICS = ("sum", "mean", "min", "max", "count", "var", "std")


@priced
class Rolling:
    """The last w rows, at each row; missing while fewer than w (or min_periods) of them have a value."""

    def __init__(self, series: PrivSeries, window: int, min_periods: int | None = None) -> None:
        if type(window) is not int or window < 1:
            raise PlanError("rolling takes a whole number of rows, at least 1", do='`df["a"].rolling(7).mean()`')
        if min_periods is not None and (type(min_periods) is not int or not 0 <= min_periods <= window):
            raise PlanError(f"min_periods is a whole number from 0 to {window}")
        self._series, self._window = series, window
        self._least = None if min_periods == window else min_periods

    def _shifted(self) -> list[PrivSeries]:
        return [self._series.shift(k) for k in range(self._window)]

    def count(self) -> PrivSeries:
        """How many rows of each window have a value.

        >>> x = df["cost"].rolling(3).count()
        """
        return reduce(add, [each.notna().astype("Int64") for each in self._shifted()])

    def sum(self) -> PrivSeries:
        """The sum of each window.

        >>> x = df["cost"].rolling(3).sum()
        """
        if self._least is None:
            return reduce(add, self._shifted())
        filled = reduce(add, [each.fillna(0) for each in self._shifted()])
        return filled.where(self.count() >= self._least)

    def mean(self) -> PrivSeries:
        """The mean of each window.

        >>> x = df["cost"].rolling(3).mean()
        """
        return self.sum() / (self._window if self._least is None else self.count())

    def var(self, ddof: int = 1) -> PrivSeries:
        """The variance of each window.

        >>> x = df["cost"].rolling(3).var()
        """
        self._need_all("var")
        if self._window <= ddof:
            raise PlanError(f"a variance needs more than {ddof} rows", do='`df["a"].rolling(7).var()`')
        mean = self.sum() / self._window
        squares = reduce(add, [(each - mean) * (each - mean) for each in self._shifted()])
        return squares / (self._window - ddof)

    def std(self, ddof: int = 1) -> PrivSeries:
        """The standard deviation of each window.

        >>> x = df["cost"].rolling(3).std()
        """
        return self.var(ddof).sqrt()

    def agg(self, func: str) -> PrivSeries:
        """One of the statistics by its name.

        >>> x = df["cost"].rolling(3).agg("mean")
        """
        if func not in STATISTICS:
            raise PlanError(f"rolling has no statistic {func!r}", do=f"use one of {', '.join(STATISTICS)}")
        found: PrivSeries = getattr(self, func)()
        return found

    aggregate = agg

    def _need_all(self, name: str) -> None:
        if self._least is not None:
            raise PlanError(
                f"{name} of a window needs all its rows", do=f'leave out min_periods: `df["a"].rolling(7).{name}()`'
            )

    def _extreme(self, op: str) -> PrivSeries:
        self._need_all("max" if op == ">" else "min")
        best, *rest = self._shifted()
        for each in rest:
            rows, (a, b) = same_rows((best._rows, best._expr), (each._rows, each._expr))
            # A missing value makes the window's result missing: a where the test is true, b where it is
            # false, and b + (a - a) keeps the null where it is neither.
            chosen = Where(compared(op, a, b), a, Where(compared(op, b, a), b, _either(a, b)))
            best = best._new(chosen, rows)
        return best

    def max(self) -> PrivSeries:
        """The largest value of each window.

        >>> x = df["cost"].rolling(3).max()
        """
        return self._extreme(">")

    def min(self) -> PrivSeries:
        """The smallest value of each window.

        >>> x = df["cost"].rolling(3).min()
        """
        return self._extreme("<")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            raise RefusedAttribute(
                f"rolling(…).{name} is not offered: a window has the statistics {', '.join(STATISTICS)}",
                do='take one of them: `df["a"].rolling(7).mean()`',
            )


def _either(a: Expr, b: Expr) -> Expr:
    """Where two values are equal: that value. Where one is missing: missing."""
    return NullWhere(Logic("|", IsNull(a), IsNull(b)), a)
