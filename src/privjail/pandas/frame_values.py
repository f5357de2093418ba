"""Row-wise operations on every column of a private table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

from privjail.errors import PlanError
from privjail.pandas.frame_core import FrameCore
from privjail.pandas.operators import Operators
from privjail.pandas.rowwise import literal
from privjail.pandas.series import PrivSeries
from privjail.plan.domain import BoolDomain, Domain, FloatDomain, IntDomain, Numeric, TimeDomain
from privjail.prisoner import Prisoner


class FrameValues(Operators, FrameCore):
    """The methods of a column, applied to all columns at once."""

    def _all(self, series: Mapping[Any, PrivSeries]) -> Self:
        """The table of these columns, which all have the same rows."""
        if not series:
            return self._new({})
        return self._new({n: s._expr for n, s in series.items()}, next(iter(series.values()))._rows)

    def _each(self, f: Callable[[PrivSeries], PrivSeries], only: Callable[[Domain], bool] = lambda _: True) -> Self:
        mine = {n: self._series(n) for n in self._exprs}
        return self._all({n: f(s) if only(s.domain) else s for n, s in mine.items()})

    def _operate(self, op: str, other: Any, flip: bool = False) -> Any:
        if isinstance(other, FrameCore):
            if set(other._exprs) != set(self._exprs):
                raise PlanError("two tables are combined only if they have the same columns")
            return self._all({n: self._series(n)._operate(op, other._series(n), flip) for n in self._exprs})
        if isinstance(other, Prisoner):
            raise PlanError(
                "a table is combined with a constant or a table of the same columns", do="combine column by column"
            )
        if isinstance(other, Mapping):
            raise PlanError("a table is combined with one constant", do="combine column by column")
        return self._each(lambda s: s._operate(op, other, flip))

    def __invert__(self) -> Self:
        return self._each(lambda s: ~s)

    def __abs__(self) -> Self:
        return self.abs()

    def __round__(self, digits: Any = None) -> Self:
        return self.round(digits or 0)

    def fillna(self, value: Any) -> Self:
        """Missing values replaced: by one constant, or by a dict of one for each column."""
        if isinstance(value, Mapping):
            return self._by_column("fillna", value)
        return self._each(lambda s: s.fillna(value))

    def _by_column(self, method: str, arguments: Mapping[Any, Any]) -> Self:
        for name in arguments:
            self._expr(name)
        mine = {n: self._series(n) for n in self._exprs}
        return self._all({n: getattr(s, method)(arguments[n]) if n in arguments else s for n, s in mine.items()})

    def replace(self, to_replace: Any, value: Any = None) -> Self:
        """Values replaced in every column that can hold them; or a dict of dicts, by column."""
        if isinstance(to_replace, Mapping) and all(isinstance(v, Mapping) for v in to_replace.values()) and to_replace:
            return self._by_column("replace", to_replace)
        if isinstance(to_replace, Mapping):
            pairs = dict(to_replace)
        else:
            pairs = dict.fromkeys(to_replace if isinstance(to_replace, (list, tuple)) else [to_replace], value)

        def replaced(s: PrivSeries) -> PrivSeries:
            fit = {k: v for k, v in pairs.items() if s.domain.accepts(literal(k).value)}
            return s.replace(fit) if fit else s

        return self._each(replaced)

    def astype(self, dtype: Any) -> Self:
        """Other types, for all columns or by a dict."""
        if isinstance(dtype, Mapping):
            return self._by_column("astype", dtype)
        return self._each(lambda s: s.astype(dtype))

    def clip(self, lower: Any = None, upper: Any = None) -> Self:
        """All columns bounded."""
        return self._each(lambda s: s.clip(lower, upper))

    def round(self, decimals: Any = 0) -> Self:
        """All columns of numbers rounded."""
        if isinstance(decimals, Mapping):
            return self._by_column("round", decimals)
        return self._each(lambda s: s.round(decimals), lambda d: isinstance(d, (IntDomain, FloatDomain)))

    def abs(self) -> Self:
        """Absolute values."""
        return self._each(lambda s: s.abs())

    def isna(self) -> Self:
        """Where values are missing."""
        return self._each(lambda s: s.isna())

    isnull = isna

    def notna(self) -> Self:
        """Where values are there."""
        return self._each(lambda s: s.notna())

    notnull = notna

    def isin(self, values: Any) -> Self:
        """Where values are in a public list."""
        if isinstance(values, Mapping):
            raise PlanError("isin takes a list for all columns", do="test column by column")
        return self._each(lambda s: s.isin([v for v in values if v is None or s.domain.accepts(literal(v).value)]))

    def where(self, cond: Any, other: Any = None) -> Self:
        """Values kept where a condition (a column, or a table of conditions) holds."""
        return self._chosen("where", cond, other)

    def mask(self, cond: Any, other: Any = None) -> Self:
        """Values replaced where a condition (a column, or a table of conditions) holds."""
        return self._chosen("mask", cond, other)

    def _chosen(self, method: str, cond: Any, other: Any) -> Self:
        if callable(cond) and not isinstance(cond, Prisoner):
            cond = cond(self)
        out = {}
        for name in self._exprs:
            condition = cond._series(name) if isinstance(cond, FrameCore) else cond
            new = other._series(name) if isinstance(other, FrameCore) else other
            out[name] = getattr(self._series(name), method)(condition, new)
        return self._all(out)

    def shift(self, periods: int = 1) -> Self:
        """Every column shifted."""
        return self._each(lambda s: s.shift(periods))

    def diff(self, periods: int = 1) -> Self:
        """Differences to the row above, in every column."""
        return self._each(lambda s: s.diff(periods))


def is_number(domain: Domain) -> bool:
    return isinstance(domain, (Numeric, BoolDomain)) and not isinstance(domain, TimeDomain)
