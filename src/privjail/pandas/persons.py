"""groupby(person): where a column says whose rows they are, groups can be made one row for each person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from privjail.errors import PlanError
from privjail.ops.rows.lookup import Lookup
from privjail.ops.rows.per_person import Aggregate, PerPerson
from privjail.pandas.aggregate import named_pair
from privjail.pandas.groups import PrivDataFrameGroupBy, PrivSeriesGroupBy
from privjail.pandas.identifiers import KeyGroups, identifier, need_amounts
from privjail.pandas.person_aggregates import SPREADS, aggregate, spread
from privjail.pandas.person_words import refusal
from privjail.pandas.priced import priced
from privjail.pandas.refusals import refuse
from privjail.pandas.series import PrivSeries
from privjail.plan.domain import CategoryDomain

if TYPE_CHECKING:
    import pandas
    from privjail.answers.released import ReleasedFrame, ReleasedSeries
    from privjail.pandas.frame import PrivDataFrame


def by_person(groups: PrivDataFrameGroupBy) -> PrivDataFrameGroupBy:
    """The groups as groups of persons, if their one key says whose rows they are."""
    keys = groups._keys
    owner: Any = groups._frame._rows.base.owner()
    if len(keys) == 1 and keys[0] is owner:
        return PersonGroups(groups._frame, groups._by[0] if groups._several else groups._by, groups._columns)
    for key in keys:
        if not isinstance(key.domain, CategoryDomain) and key.domain.labels is None and identifier(key):
            return KeyGroups(groups)  # type: ignore[return-value]
    return groups


@priced
class PersonGroups(PrivDataFrameGroupBy):
    """The rows of each person. Without eps=, aggregates are private tables with one row for each person."""

    def _column(self, name: Any) -> PersonColumn:
        return PersonColumn(self._frame, self._by, name)

    def __getitem__(self, columns: Any) -> Any:
        if isinstance(columns, list) or type(columns).__name__ == "Index":
            return PersonGroups(self._frame, self._by, self._frame._names(columns))
        return self._column(columns)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in self.__dict__.get("_frame", ()):
                return self[name]
            raise self._unpriced(name) or refuse(self, name)

    def _unpriced(self, name: str) -> Exception | None:
        return refusal(self, name)

    def _need_keys(self, name: str) -> None:
        if self._keys[0].domain.labels is None:
            raise self._unpriced(name)  # type: ignore[misc]

    def _axes(self) -> list[tuple[Any, ...]]:
        self._need_keys("groups")
        return super()._axes()

    def _persons(self) -> PerPerson:
        return PerPerson(self._frame._rows, self._keys[0])

    def _each(self, how: str) -> PrivDataFrame:
        persons = self._persons()
        if how in ("sum", "mean", *SPREADS):
            need_amounts(self._chosen(), f'df.groupby("{self._names[0]}")', f"{how}()")
        return self._frame._new({n: aggregate(persons, how, e) for n, e in self._chosen().items()}, persons)

    def size(self) -> PrivSeries:  # type: ignore[override]
        """The number of rows of each person: one row for each.

        >>> x = visits.groupby("patient").size().clip(0, 20).mean(eps=1)
        """
        persons = self._persons()
        return PrivSeries(persons, Aggregate(persons, "size", None), "size")

    def agg(  # type: ignore[override]
        self, func: Any = None, *, eps: Any = None, **named: Any
    ) -> PrivDataFrame | pandas.DataFrame:
        """Named results, a dict by column, or one name for all columns: one row for each person.

        >>> x = visits.groupby("patient").agg(n=("cost", "size"), total=("cost", "sum"))
        """
        if eps is not None:
            return super().agg(func, eps=eps, **named)
        if type(named.get("numeric_only")) is bool:
            chosen = self._numbers() if named.pop("numeric_only") else self
            return chosen.agg(func, **named)
        persons, frame = self._persons(), self._frame
        if isinstance(func, str) and not named:
            return self.size().to_frame() if func == "size" else self._each(func)
        if isinstance(func, Mapping) and not named:
            named = {name: (name, how) for name, how in func.items()}
        elif func is not None or not named:
            raise PlanError("agg takes named results", do='agg(n=("cost", "size"), total=("cost", "sum"))')
        columns = {}
        for name, given in named.items():
            given = named_pair(given)
            if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], (list, tuple)):
                pairs = ", ".join(f'{given[0]}_{how}=("{given[0]}", "{how}")' for how in given[1])
                raise PlanError("one result is one column here, with one name", do=f"agg({pairs})")
            if not isinstance(given, tuple) or len(given) != 2:
                raise PlanError("a named result is a column and an aggregate", do='agg(total=("cost", "sum"))')
            columns[name] = aggregate(persons, given[1], frame._expr(given[0]))
        return frame._new(columns, persons)

    aggregate = agg  # type: ignore[assignment]

    def sum(self) -> PrivDataFrame:  # type: ignore[override]
        """The sum of each person's rows: one row for each person.

        >>> x = visits.groupby("patient")[["cost"]].sum()
        """
        return self._each("sum")

    def count(self) -> PrivDataFrame:  # type: ignore[override]
        """How many values of each person are not missing: one row for each person.

        >>> x = visits.groupby("patient")[["cost"]].count()
        """
        return self._each("count")

    def mean(self, *, eps: Any = None) -> PrivDataFrame | ReleasedFrame:  # type: ignore[override]
        """The mean of each person's rows: one row for each person. With eps=: that of each group, released.

        >>> x = visits.groupby("patient")[["cost"]].mean()
        """
        return self._each("mean") if eps is None else super().mean(eps=eps)

    def min(self, *, eps: Any = None) -> PrivDataFrame | ReleasedFrame:  # type: ignore[override]
        """The smallest value of each person: one row for each person.

        >>> x = visits.groupby("patient")[["cost"]].min()
        """
        return self._each("min") if eps is None else super().min(eps=eps)

    def max(self, *, eps: Any = None) -> PrivDataFrame | ReleasedFrame:  # type: ignore[override]
        """The largest value of each person: one row for each person.

        >>> x = visits.groupby("patient")[["cost"]].max()
        """
        return self._each("max") if eps is None else super().max(eps=eps)

    def var(self, *, ddof: int = 1, eps: Any = None) -> PrivDataFrame | ReleasedFrame:  # type: ignore[override]
        """The variance of each person's rows: one row for each person.

        >>> x = visits.groupby("patient")[["cost"]].var()
        """
        return self._spread("var", ddof) if eps is None else super().var(ddof=ddof, eps=eps)

    def std(self, *, ddof: int = 1, eps: Any = None) -> PrivDataFrame | ReleasedFrame:  # type: ignore[override]
        """The standard deviation of each person's rows: one row for each person.

        >>> x = visits.groupby("patient")[["cost"]].std()
        """
        return self._spread("std", ddof) if eps is None else super().std(ddof=ddof, eps=eps)

    def _spread(self, how: str, ddof: int) -> PrivDataFrame:
        persons, chosen = self._persons(), self._chosen()
        need_amounts(chosen, f'df.groupby("{self._names[0]}")', f"{how}()")
        return self._frame._new({n: spread(persons, how, e, ddof) for n, e in chosen.items()}, persons)

    def transform(self, func: Any) -> PrivDataFrame:
        """An aggregate of the row's person, in every row, of each column.

        >>> x = visits[["cost"]] - visits.groupby("patient")[["cost"]].transform("mean")
        """
        if func in ("sum", "mean", *SPREADS):
            need_amounts(self._chosen(), f'df.groupby("{self._names[0]}")', f'transform("{func}")')
        return self._frame._new({n: self._column(n).transform(func)._expr for n in self._chosen()})

    def nth(self, n: int = 0) -> PrivDataFrame:
        """The first row of each person: nth(0). Later ones are refused with what to type instead.

        >>> x = visits.groupby("patient").nth(0)
        """
        return _nth(self, n)  # type: ignore[no-any-return]

    def any(self) -> PrivDataFrame:
        """Whether a value of each person is true: one row for each person.

        >>> x = visits.assign(long=visits["days"] > 7).groupby("patient")[["long"]].any()
        """
        return self._each("any")

    def all(self) -> PrivDataFrame:
        """Whether no value of each person is false: one row for each person.

        >>> x = visits.assign(long=visits["days"] > 7).groupby("patient")[["long"]].all()
        """
        return self._each("all")

    def nunique(self, *, eps: Any = None) -> PrivDataFrame | ReleasedFrame:  # type: ignore[override]
        """How many different values each person has: one row for each person.

        >>> x = visits.groupby("patient")[["ward"]].nunique()
        """
        return self._each("nunique") if eps is None else super().nunique(eps=eps)

    def first(self) -> PrivDataFrame:
        """The first value of each person that is not missing: one row for each person.

        >>> x = visits.groupby("patient").first()
        """
        return self._each("first")

    def last(self) -> PrivDataFrame:
        """The last value of each person that is not missing: one row for each person.

        >>> x = visits.groupby("patient").last()
        """
        return self._each("last")


@priced
class PersonColumn(PrivSeriesGroupBy):
    """One column of the rows of each person. Without eps=, aggregates are private columns of one row each."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise self._unpriced(name) or refuse(self, name)

    def _unpriced(self, name: str) -> Exception | None:
        return refusal(self, name, self._name)

    def _need_keys(self, name: str) -> None:
        if self._keys[0].domain.labels is None:
            raise self._unpriced(name)  # type: ignore[misc]

    def _axes(self) -> list[tuple[Any, ...]]:
        self._need_keys("groups")
        return super()._axes()

    def _made(self, how: Any) -> PrivSeries:
        persons = PerPerson(self._frame._rows, self._keys[0])
        return PrivSeries(persons, aggregate(persons, how, self._frame._expr(self._name)), self._name)

    def agg(  # type: ignore[override]
        self, func: Any = None, *, eps: Any = None, **named: Any
    ) -> PrivSeries | PrivDataFrame | pandas.Series[float] | pandas.DataFrame:
        """An aggregate by its name, or a table of several: one row for each person.

        >>> x = visits.groupby("patient")["cost"].agg("sum")
        >>> spans = visits.groupby("patient")["cost"].agg(["min", "max"])
        """
        if eps is not None:
            return super().agg(func, eps=eps, **named)
        wanted = named or ({str(getattr(f, "__name__", f)): f for f in func} if isinstance(func, (list, tuple)) else {})
        if not wanted:
            return self._made(func)
        persons = PerPerson(self._frame._rows, self._keys[0])
        column = self._frame._expr(self._name)
        return self._frame._new({name: aggregate(persons, how, column) for name, how in wanted.items()}, persons)

    aggregate = agg  # type: ignore[assignment]

    def transform(self, func: Any, *, eps: Any = None) -> PrivSeries:
        """An aggregate of the row's person, in every row.

        >>> x = visits.assign(share=visits["cost"] / visits.groupby("patient")["cost"].transform("sum"))
        """
        if eps is not None:
            return super().transform(func, eps=eps)
        made, owner = self._made(func), self._keys[0]
        found = Lookup((owner,), made._rows, (made._rows.base.owner(),), made._expr)  # type: ignore[arg-type]
        return PrivSeries(self._frame._rows, found, self._name)

    def size(self) -> PrivSeries:  # type: ignore[override]
        """The number of rows of each person.

        >>> x = visits.groupby("patient")["cost"].size()
        """
        return self._made("size")

    def sum(self) -> PrivSeries:  # type: ignore[override]
        """The sum of each person's rows.

        >>> x = visits.groupby("patient")["cost"].sum().clip(0, 5000).mean(eps=1)
        """
        return self._made("sum")

    def count(self) -> PrivSeries:  # type: ignore[override]
        """How many values of each person are not missing.

        >>> x = visits.groupby("patient")["cost"].count()
        """
        return self._made("count")

    def mean(self, *, eps: Any = None) -> PrivSeries | ReleasedSeries:  # type: ignore[override]
        """The mean of each person's rows. With eps=: that of each group, released.

        >>> x = visits.groupby("patient")["cost"].mean()
        """
        return self._made("mean") if eps is None else super().mean(eps=eps)

    def min(self, *, eps: Any = None) -> PrivSeries | ReleasedSeries:  # type: ignore[override]
        """The smallest value of each person.

        >>> x = visits.groupby("patient")["cost"].min()
        """
        return self._made("min") if eps is None else super().min(eps=eps)

    def max(self, *, eps: Any = None) -> PrivSeries | ReleasedSeries:  # type: ignore[override]
        """The largest value of each person.

        >>> x = visits.groupby("patient")["cost"].max()
        """
        return self._made("max") if eps is None else super().max(eps=eps)

    def var(self, *, ddof: int = 1, eps: Any = None) -> PrivSeries | ReleasedSeries:  # type: ignore[override]
        """The variance of each person's rows; missing where there are too few. With eps=: that of each group, released.

        >>> x = visits.groupby("patient")["cost"].var()
        """
        return self._spread("var", ddof) if eps is None else super().var(ddof=ddof, eps=eps)

    def std(self, *, ddof: int = 1, eps: Any = None) -> PrivSeries | ReleasedSeries:  # type: ignore[override]
        """The standard deviation of each person's rows; missing where there are too few.

        >>> x = visits.groupby("patient")["cost"].std().mean(eps=1)
        """
        return self._spread("std", ddof) if eps is None else super().std(ddof=ddof, eps=eps)

    def _spread(self, how: str, ddof: int) -> PrivSeries:
        persons = PerPerson(self._frame._rows, self._keys[0])
        return PrivSeries(persons, spread(persons, how, self._frame._expr(self._name), ddof), self._name)

    def nth(self, n: int = 0) -> PrivSeries:
        """The value in the first row of each person: nth(0). Later ones are refused with what to type instead.

        >>> x = visits.groupby("patient")["cost"].nth(0)
        """
        return _nth(self, n)  # type: ignore[no-any-return]

    def nunique(self, *, eps: Any = None) -> PrivSeries | ReleasedSeries:  # type: ignore[override]
        """How many different values each person has.

        >>> x = visits.groupby("patient")["ward"].nunique()
        """
        return self._made("nunique") if eps is None else super().nunique(eps=eps)

    def first(self) -> PrivSeries:
        """The first value of each person that is not missing.

        >>> x = visits.groupby("patient")["ward"].first()
        """
        return self._made("first")

    def last(self) -> PrivSeries:
        """The last value of each person that is not missing.

        >>> x = visits.groupby("patient")["ward"].last()
        """
        return self._made("last")

    def any(self) -> PrivSeries:
        """Whether a value of each person is true.

        >>> x = visits.assign(long=visits["days"] > 7).groupby("patient")["long"].any()
        """
        return self._made("any")

    def all(self) -> PrivSeries:
        """Whether no value of each person is false.

        >>> x = visits.assign(long=visits["days"] > 7).groupby("patient")["long"].all()
        """
        return self._made("all")


def _nth(groups: Any, n: Any) -> Any:
    """The first row of each person; no later one."""
    if type(n) is not int or n != 0:
        raise groups._unpriced("nth")
    return groups.head(1)
