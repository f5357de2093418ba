"""Rolling windows over a private column.

Each result is built from the shifted columns themselves. A running sum, as engines use it for floats, would
carry rounding errors from one window into all later ones, and with them a trace of rows long gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privjail.errors import PlanError
from privjail.ops.columns.isin import IsNull
from privjail.ops.columns.logic import Logic
from privjail.ops.columns.where import NullWhere, Where
from privjail.pandas.refusals import RefusedAttribute
from privjail.plan.expr import Expr
from privjail.rowwise import compared, same_rows

if TYPE_CHECKING:
    from privjail.pandas.series import PrivSeries


class Rolling:
    """The last w rows, at each row; missing while there are fewer than w."""

    def __init__(self, series: PrivSeries, window: int) -> None:
        if type(window) is not int or window < 1:
            raise PlanError("rolling takes a whole number of rows, at least 1")
        self._series, self._window = series, window

    def _shifted(self) -> list[PrivSeries]:
        return [self._series.shift(k) for k in range(self._window)]

    def sum(self) -> PrivSeries:
        """The sum of each window.

        >>> x = df["cost"].rolling(3).sum()
        """
        first, *rest = self._shifted()
        for each in rest:
            first = first + each
        return first

    def mean(self) -> PrivSeries:
        """The mean of each window.

        >>> x = df["cost"].rolling(3).mean()
        """
        return self.sum() / self._window

    def _extreme(self, op: str) -> PrivSeries:
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
            raise RefusedAttribute(f"rolling(…).{name} is not offered", do="use sum, mean, min or max")


def _either(a: Expr, b: Expr) -> Expr:
    """Where two values are equal: that value. Where one is missing: missing."""
    return NullWhere(Logic("|", IsNull(a), IsNull(b)), a)
