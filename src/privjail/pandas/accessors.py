"""s.str, s.dt and s.cat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from privjail.errors import PlanError
from privjail.pandas.axes import Axis, index_of
from privjail.pandas.datetimes import DateTimes
from privjail.pandas.joined_text import codes
from privjail.pandas.refusals import RefusedAttribute
from privjail.pandas.text import Strings
from privjail.plan.domain import CategoryDomain, type_name

if TYPE_CHECKING:
    import pandas
    from privjail.pandas.series import PrivSeries

__all__ = ["Categories", "DateTimes", "Strings"]


class Categories:
    """The public list of categories."""

    def __init__(self, series: PrivSeries) -> None:
        self._series = series
        self._domain()

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

    @property
    def codes(self) -> PrivSeries:
        """The position of each category in the list; -1 for a missing one.

        >>> df["ward"].cat.codes.domain.upper
        3
        """
        found = self._series._new(codes(self._series._expr, self._domain()))
        return found.fillna(-1) if self._domain().nullable else found

    def _relisted(self, labels: Any, ordered: bool | None = None) -> PrivSeries:
        import pandas

        order = self._domain().ordered if ordered is None else bool(ordered)
        return self._series.astype(pandas.CategoricalDtype(pandas.Index(list(labels), dtype=object), order))

    def set_categories(self, new_categories: Any, ordered: bool | None = None) -> PrivSeries:
        """Another list of categories; values that are not in it become missing.

        >>> x = df["ward"].cat.set_categories(["surgery", "maternity"])
        """
        return self._relisted(new_categories, ordered)

    def reorder_categories(self, new_categories: Any, ordered: bool | None = None) -> PrivSeries:
        """The same categories in another order.

        >>> x = df["sex"].cat.reorder_categories(["M", "F"], ordered=True)
        """
        if set(new_categories) != set(self._domain().categories):
            raise PlanError("the categories must be the same ones", do="use .cat.set_categories([…])")
        return self._relisted(new_categories, ordered)

    def as_ordered(self) -> PrivSeries:
        """With an order: that of the list.

        >>> x = df["sex"].cat.as_ordered() < "M"
        """
        return self._relisted(self._domain().categories, True)

    def as_unordered(self) -> PrivSeries:
        """Without an order.

        >>> x = df["sex"].cat.as_unordered()
        """
        return self._relisted(self._domain().categories, False)

    def add_categories(self, new_categories: Any) -> PrivSeries:
        """With further categories, which do not occur yet.

        >>> x = df["ward"].cat.add_categories(["oncology"])
        """
        new = [new_categories] if isinstance(new_categories, str) else list(new_categories)
        return self._relisted([*self._domain().categories, *new])

    def remove_categories(self, removals: Any) -> PrivSeries:
        """Without some categories: their values become missing.

        >>> x = df["ward"].cat.remove_categories(["maternity"])
        """
        gone = [removals] if isinstance(removals, str) else list(removals)
        return self._relisted([c for c in self._domain().categories if c not in gone])

    def rename_categories(self, new_categories: Any) -> PrivSeries:
        """Other names: a dict, a list in their order, or a function.

        >>> x = df["sex"].cat.rename_categories({"F": "female", "M": "male"})
        """
        labels = self._domain().categories
        if isinstance(new_categories, Mapping):
            names = [new_categories.get(c, c) for c in labels]
        else:
            names = list(map(new_categories, labels) if callable(new_categories) else new_categories)
        if len(names) != len(labels) or len(set(names)) != len(names):
            raise PlanError(f"{len(labels)} different names are needed")
        return self._series.map(dict(zip(labels, names, strict=True)))

    def _domain(self) -> CategoryDomain:
        domain = self._series.domain
        if not isinstance(domain, CategoryDomain):
            raise RefusedAttribute(
                f"PrivSeries.cat is refused: a {type_name(domain)} column has no categories",
                do='name them: `df["a"].astype(pd.CategoricalDtype([1, 2, 3]))`',
            )
        return domain

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise RefusedAttribute(
                f".cat.{name} is not offered: which categories occur is private",
                do='keep all, or name some: `df["g"].cat.set_categories(["x"])`; or .map(dict)',
            )
