"""s.str, s.dt and s.cat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privjail.errors import PlanError
from privjail.ops.columns.recode import Recode
from privjail.ops.columns.text import FUNCTIONS, Text
from privjail.pandas.axes import Axis, index_of
from privjail.pandas.datetimes import DateTimes
from privjail.pandas.refusals import RefusedAttribute
from privjail.plan.domain import CategoryDomain
from privjail.plan.node import Lit
from privjail.rowwise import literal

if TYPE_CHECKING:
    import pandas
    from privjail.pandas.series import PrivSeries

__all__ = ["Categories", "DateTimes", "Strings"]


class Strings:
    """Text functions, on free text or on the labels of categories."""

    def __init__(self, series: PrivSeries) -> None:
        self._series = series

    def _apply(self, f: str, *arguments: Any) -> PrivSeries:
        series = self._series
        if not isinstance(series.domain, CategoryDomain):
            return series._new(Text(f, series._expr, tuple(literal(a) for a in arguments)))
        labels = series.domain.categories
        if not all(isinstance(label, str) for label in labels):
            raise PlanError(".str needs text, but the categories are numbers")
        done = [FUNCTIONS[f].python(label, *arguments) for label in labels]
        pairs = tuple((Lit.of(a), Lit.of(b)) for a, b in zip(labels, done, strict=True))
        return series._new(Recode(series._expr, pairs, 0))

    def lower(self) -> PrivSeries:
        """Lower case.

        >>> x = df["ward"].str.lower()
        """
        return self._apply("lower")

    def upper(self) -> PrivSeries:
        """Upper case.

        >>> x = df["ward"].str.upper()
        """
        return self._apply("upper")

    def strip(self) -> PrivSeries:
        """Without white space at both ends.

        >>> x = df["patient"].str.strip()
        """
        return self._apply("strip", None)

    def len(self) -> PrivSeries:
        """The number of characters.

        >>> x = df["patient"].str.len()
        """
        return self._apply("len")

    def startswith(self, prefix: str, na: bool | None = None) -> PrivSeries:
        """Whether the text begins with a public text.

        >>> x = df["ward"].str.startswith("s")
        """
        return _filled(self._apply("startswith", prefix), na)

    def endswith(self, suffix: str, na: bool | None = None) -> PrivSeries:
        """Whether the text ends with a public text.

        >>> x = df["ward"].str.endswith("y")
        """
        return _filled(self._apply("endswith", suffix), na)

    def contains(self, pat: str, case: bool = True, *, na: bool | None = None, regex: bool = True) -> PrivSeries:
        """Whether the text contains a public text (no patterns).

        >>> x = df["ward"].str.contains("ger")
        """
        if regex and isinstance(pat, str) and not _literal(pat):
            raise PlanError(
                "str.contains takes plain text: a pattern's cost in time could depend on the data",
                do="write regex=False if the text is meant as it stands",
            )
        text = self if case else Strings(self.lower())
        return _filled(text._apply("contains", pat if case else pat.lower()), na)

    def slice(self, start: int | None = None, stop: int | None = None) -> PrivSeries:
        """The characters from one position to another.

        >>> x = df["patient"].str.slice(0, 2)
        """
        return self._apply("slice", start, stop)

    def get(self, i: int) -> PrivSeries:
        """The character at a position; missing where the text is shorter.

        >>> x = df["patient"].str.get(0)
        """
        if type(i) is not int or i < 0:
            raise PlanError(".str.get takes a position from 0")
        return self.slice(i, i + 1).where(self.len() > i)

    def __getitem__(self, key: Any) -> PrivSeries:
        if isinstance(key, slice) and key.step in (None, 1):
            return self.slice(key.start, key.stop)
        if type(key) is int and key >= 0:
            return self.get(key)
        raise PlanError(".str[…] takes a position or a slice")

    __iter__ = None  # else Python would iterate over positions 0, 1, 2, … for ever

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise RefusedAttribute(f".str.{name} is not offered", do=f"use one of {', '.join(FUNCTIONS)}")


def _literal(text: str) -> bool:
    """Whether a pattern matches exactly itself: no character of it has a meaning of its own."""
    return not set(text) & set(".^$*+?{}[]\\|()")


def _filled(answer: PrivSeries, na: bool | None) -> PrivSeries:
    return answer if na is None else answer.fillna(na)


class Categories:
    """The public list of categories."""

    def __init__(self, series: PrivSeries) -> None:
        self._series = series

    @property
    def categories(self) -> pandas.Index[Any]:
        """The categories, which are public, in their order.

        >>> list(df["ward"].cat.categories)
        ['cardiology', 'geriatrics', 'maternity', 'surgery']
        """
        domain = self._domain()
        found: pandas.Index[Any] = index_of((domain.categories,), (Axis(None, domain),)).categories
        return found

    @property
    def ordered(self) -> bool:
        """Whether the categories have an order.

        >>> df["ward"].cat.ordered
        False
        """
        return self._domain().ordered

    def _domain(self) -> CategoryDomain:
        domain = self._series.domain
        if not isinstance(domain, CategoryDomain):
            raise PlanError(f"a {domain.dtype} column has no categories")
        return domain

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise RefusedAttribute(
                f".cat.{name} is not offered", do="use .map(dict) or .astype(pandas.CategoricalDtype([…]))"
            )
