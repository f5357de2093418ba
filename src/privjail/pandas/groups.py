"""Groups of a private table: one for every possible key, whether it occurs or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from privjail.budget.amounts import amount
from privjail.errors import PlanError, RowsError
from privjail.notebook import progress
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.isin import IsNull
from privjail.ops.columns.logic import negation
from privjail.ops.numbers.combine import ColumnStack, Stack
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.deciding import label_lit
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.per_person import Aggregate, PerPerson
from privjail.pandas.aggregate import group_column_agg, groups_agg
from privjail.pandas.applying import applied, transformed
from privjail.pandas.axes import Axis, flat_labels, index_of, shown_labels
from privjail.pandas.counting import counted
from privjail.pandas.deferred import Deferred, deferred
from privjail.pandas.identifiers import need_amounts
from privjail.pandas.priced import no_price, priced
from privjail.pandas.reachable import narrowed
from privjail.pandas.refusals import refuse
from privjail.pandas.resample import group_key
from privjail.pandas.series import PrivSeries
from privjail.pandas.slicing import carried
from privjail.pandas.vectors import SensitiveDataFrame, SensitiveSeries, position
from privjail.plan.distance import Distance
from privjail.plan.domain import CategoryDomain, Domain
from privjail.plan.expr import Expr
from privjail.prisoner import Prisoner
from privjail.rowwise import numeric
from privjail.statistics.bounds import found_bounds
from privjail.statistics.histogram import binned
from privjail.statistics.mean import group_means
from privjail.together import several

if TYPE_CHECKING:
    import pandas
    from privjail.answers.released import ReleasedFrame, ReleasedSeries
    from privjail.pandas.frame import PrivDataFrame

T = TypeVar("T")
Group = TypeVar("Group")  # what one group is: a table, or a column


@lru_cache(maxsize=4096)
def _pick(key: Expr, place: int) -> tuple[Compare, Constant | None]:
    """The condition that picks one group of a key; and for a category the key's value in that group."""
    labels = key.domain.labels
    assert labels is not None
    lit = label_lit(labels[place])
    constant = isinstance(key.domain, CategoryDomain) and type(labels[place]) is str
    return Compare("==", key, lit), Constant(lit) if constant else None


@priced
class Groups(Prisoner, Generic[Group]):
    """The groups of a table by one or more columns: what both kinds of them share."""

    _way_out = "count or sum the groups, and release the result: .size().reveal(eps=…), .mean(eps=…)"

    def __init__(self, frame: PrivDataFrame, by: Any) -> None:
        self._several = isinstance(by, (list, tuple)) or type(by).__name__ == "Index"
        keys = list(by) if self._several else [by]
        if not keys:
            raise PlanError("groupby needs at least one column")
        self._frame, self._by = frame, by
        self._names: list[Any] = []
        self._keys: list[Expr] = []
        self._kinds: list[Domain] = []  # of the keys as they were given: the index of what is released is of this type
        for given in keys:
            key = group_key(frame, given)
            if isinstance(key, PrivSeries):
                if key._rows is not frame._rows:
                    raise RowsError("the group key does not belong to the rows of this table")
                self._names.append(key.name)
                given = key._expr
            else:
                self._names.append(key)
                given = frame._expr(key)
            self._kinds.append(given.domain)
            self._keys.append(narrowed(given) if given.inputs else given)

    def _need_no_missing_keys(self) -> None:
        """What dropna=False asks for: rows without a key are a group, too."""
        for name, key in zip(self._names, self._keys, strict=True):
            if key.domain.nullable:
                raise PlanError(
                    f"groupby(dropna=False) is not offered: {name!r} may be missing, and rows without a key are in "
                    "no group",
                    do=f'give them a key first: df["{name}"] = df["{name}"].fillna("missing"), then groupby without it',
                )

    def _typed(self) -> str:
        """How these groups are typed."""
        return f"df.groupby({self._names if self._several else self._names[0]!r})"

    def _need_keys(self, name: str) -> None:
        """Refuse what has a place for every possible key, if these are persons."""

    def _narrowed(self, table: PrivDataFrame) -> Group:
        """One group, reduced to the chosen columns."""
        raise TypeError

    @property
    def distance(self) -> Distance:
        return self._frame.distance

    def _plan(self) -> str:
        return f"{self._frame._plan()} | groupby({', '.join(map(str, self._names))})"

    def __str__(self) -> str:
        return f"{Prisoner.__repr__(self)}\n  groups: {self.ngroups}, by {', '.join(map(str, self._names))}"

    __repr__ = __str__

    def __contains__(self, key: Any) -> bool:
        return position(flat_labels(tuple(self._axes()), self._index_axes()), key) is not None

    # -- the groups themselves

    def _axes(self) -> list[tuple[Any, ...]]:
        return list(Tally(self._frame._rows, tuple(self._keys), None).index)

    def _index_axes(self) -> tuple[Axis, ...]:
        return tuple(Axis(n, kind) for n, kind in zip(self._names, self._kinds, strict=True))

    def _index(self) -> Any:
        return index_of(tuple(self._axes()), self._index_axes())

    @property
    def ngroups(self) -> int:
        """The number of possible groups, which is public.

        >>> df.groupby(["sex", "ward"]).ngroups
        8
        """
        total = 1
        for axis in self._axes():
            total *= len(axis)
        return total

    def __len__(self) -> int:
        return self.ngroups

    def __iter__(self) -> Iterator[tuple[Any, Group]]:
        """(key, group) for every possible key."""
        named = zip(self._axes(), self._index_axes(), strict=True)
        for numbered in product(*[enumerate(shown_labels(labels, axis.domain)) for labels, axis in named]):
            shown = tuple([label for _, label in numbered])
            yield (shown if self._several else shown[0]), self._group(tuple([place for place, _ in numbered]))

    def _group(self, places: tuple[int, ...]) -> Group:
        frame = self._frame
        rows = frame._rows
        columns = dict(frame._exprs)
        for name, key, place in zip(self._names, self._keys, places, strict=True):
            condition, only = _pick(key, place)
            rows = Filter(rows, condition)
            # Inside its group a key has one value only: that is a public fact.
            if only is not None and columns.get(name) is key:
                columns[name] = only
        return self._narrowed(frame._new(columns, rows))

    def get_group(self, name: Any) -> Group:
        """One group; a possible key that does not occur gives an empty one.

        >>> df.groupby("ward").get_group("surgery").shape[0].reveal(eps=1)
        ≈ 1000
        """
        wanted = name if isinstance(name, tuple) else (name,)
        axes = self._axes()
        if len(wanted) != len(axes):
            raise PlanError(f"get_group needs {len(axes)} keys")
        places = []
        for axis, given, named in zip(axes, wanted, self._index_axes(), strict=True):
            found = position(shown_labels(axis, named.domain), given)
            if found is None:
                raise PlanError(f"{given!r} is no possible key", do=f"use one of {list(axis)[:10]}")
            places.append(found)
        return self._group(tuple(places))

    def head(self, n: int | str = 5, *, eps: Any = None) -> Group:
        """The first n rows of each group, in their order; by the user column: at most n rows per user.

        ``head("auto", eps=…)``, by the user column: a number that almost all users keep within is found and released.

        >>> x = df.groupby("ward").head(100)
        """
        if len(self._keys) != 1:
            raise PlanError("groupby(…).head(n) takes one key")
        frame = self._frame
        if n == "auto":
            n = self._found_rows(eps)
        elif eps is not None:
            raise PlanError("head(n) releases nothing, so it costs nothing", do="leave out eps=")
        rows = GroupHead(frame._rows, self._keys[0], n)  # type: ignore[arg-type]
        return self._narrowed(frame._new({name: carried(rows, e) for name, e in frame._exprs.items()}, rows))

    def _found_rows(self, eps: Any) -> int:
        """How many rows almost all persons have at most, from a noisy histogram of one number for each."""
        if eps is None:
            raise no_price(self, "head", True)
        persons = PerPerson(self._frame._rows, self._keys[0])
        return max(1, int(found_bounds(persons, Aggregate(persons, "size", None), eps)[1]) - 1)

    def pipe(self, func: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """func(self, …).

        >>> x = df.groupby("ward").pipe(lambda groups: groups.size())
        """
        return func(self, *args, **kwargs)

    def apply(self, func: Any, *args: Any, **kwargs: Any) -> pandas.Series[Any] | pandas.DataFrame | Deferred:
        """func(group) of each possible group; it runs here and sees private groups. What it releases is paid once.

        >>> x = df.groupby("ward").apply(lambda group: group["cost"].mean(eps=1))
        """
        found: pandas.Series[Any] | pandas.DataFrame | Deferred = applied(self, func, args, kwargs)
        return found

    # -- private vectors

    def _labelled(self, vector: SensitiveSeries | SensitiveDataFrame) -> Deferred:
        """A vector with a number for each group: it gets their keys once it is released."""
        index = self._index()
        return deferred(vector, "labelled by group", lambda found: found.set_axis(index))

    def _vector(self, value: Expr | None, name: Any = None) -> SensitiveSeries:
        return SensitiveSeries(Tally(self._frame._rows, tuple(self._keys), value), name, self._index_axes())


@priced
class PrivDataFrameGroupBy(Groups["PrivDataFrame"]):
    """The groups of a table: all its columns but the keys, or those that were chosen."""

    _shown_class = "pandas.core.groupby.generic.DataFrameGroupBy"
    ndim = 2

    def __init__(self, frame: PrivDataFrame, by: Any, columns: list[Any] | None = None) -> None:
        super().__init__(frame, by)
        self._columns = columns

    if not TYPE_CHECKING:  # to mypy and editors a misspelt method is an error; a column is groups["name"]

        def __getattr__(self, name: str) -> Any:
            if name in self.__dict__.get("_frame", ()):
                return self[name]
            return refuse(self, name)

    @overload
    def __getitem__(self, columns: str) -> PrivSeriesGroupBy: ...
    @overload
    def __getitem__(self, columns: list[Any] | pandas.Index[Any]) -> PrivDataFrameGroupBy: ...
    def __getitem__(self, columns: Any) -> Any:
        if isinstance(columns, list) or type(columns).__name__ == "Index":
            return PrivDataFrameGroupBy(self._frame, self._by, self._frame._names(columns))
        return self._column(columns)

    def _column(self, name: Any) -> PrivSeriesGroupBy:
        return PrivSeriesGroupBy(self._frame, self._by, name)

    def _ipython_key_completions_(self) -> list[Any]:
        """What an editor offers after ``groups["``."""
        return list(self._frame._exprs)

    def _narrowed(self, table: PrivDataFrame) -> PrivDataFrame:
        return table if self._columns is None else table[self._columns]

    def _chosen(self) -> dict[Any, Expr]:
        frame = self._frame
        names = self._columns if self._columns is not None else [n for n in frame._exprs if n not in self._names]
        if not names:
            raise PlanError("there is no column besides the keys")
        return {n: frame._expr(n) for n in names}

    def _per_group(self, value: Callable[[Expr], Expr | None]) -> SensitiveDataFrame:
        chosen = self._chosen()
        tallies = tuple(Tally(self._frame._rows, tuple(self._keys), value(e)) for e in chosen.values())
        return SensitiveDataFrame(ColumnStack(tallies, tuple(chosen)), (*self._index_axes(), Axis()))

    def size(self) -> SensitiveSeries:
        """The number of rows of each group.

        >>> counts = df.groupby("ward").size().reveal(eps=1)
        """
        return self._vector(None)

    def sum(self) -> SensitiveDataFrame:
        """The sum of each group; the columns must be bounded.

        >>> totals = df.groupby("ward")[["days", "age"]].sum().reveal(eps=1)
        """
        need_amounts(self._chosen(), self._typed(), "sum()")
        return self._per_group(numeric)

    def count(self) -> SensitiveDataFrame:
        """How many values of each group are not missing.

        >>> present = df.groupby("ward").count().reveal(eps=1)
        """
        return self._per_group(_present)

    def value_counts(
        self, subset: Any = None, normalize: bool = False, sort: bool = True, ascending: bool = False,
        dropna: bool = True,
    ) -> SensitiveSeries | Deferred:  # fmt: skip
        """How often each combination of values of the other columns occurs in each group.

        >>> counts = df[["ward", "sex"]].groupby("ward").value_counts().reveal(eps=1)
        """
        self._need_keys("value_counts")
        names = list(self._chosen()) if subset is None else self._frame._names(subset)
        keys = [*zip(self._names, self._keys, strict=True), *((n, self._frame._expr(n)) for n in names)]
        return counted(
            self._frame._rows, keys, sort=sort, ascending=ascending, normalize=normalize, dropna=dropna,
            within=len(self._keys),
        )  # fmt: skip

    @overload
    def nunique(self, *, eps: None = None) -> SensitiveDataFrame | Deferred: ...
    @overload
    def nunique(self, *, eps: Any) -> ReleasedFrame: ...
    def nunique(self, *, eps: Any = None) -> ReleasedFrame | SensitiveDataFrame | Deferred:
        """How many of its possible values occur in each group; with eps= released at once, for one eps in all.

        >>> x = df.groupby("ward")[["sex", "days"]].nunique(eps=1)
        >>> y = df.groupby("ward")[["sex", "days"]].nunique().reveal(eps=1)
        """
        if eps is not None:
            return self._each_column("nunique", eps)
        vectors = tuple(self._column(name)._occurring() for name in self._chosen())
        if len(self._keys) == 1:
            return SensitiveDataFrame(ColumnStack(vectors, tuple(self._chosen())), (*self._index_axes(), Axis()))
        return self._labelled(SensitiveDataFrame(ColumnStack(vectors, tuple(self._chosen())), (Axis(), Axis())))

    def agg(self, func: Any = None, *, eps: Any, **named: Any) -> pandas.DataFrame:
        """Statistics by their names: one, a list, a dict by column, or named results; for one eps in all.

        >>> x = df.groupby("ward").agg(stays=("days", "count"), cost=("cost", "mean"), eps=1)
        """
        return groups_agg(self, func, eps, named)

    aggregate = agg

    def mean(self, *, eps: Any) -> ReleasedFrame:
        """The mean of each group, for one eps in all.

        >>> averages = df.groupby("ward")[["age", "cost"]].mean(eps=1)
        """
        from privjail.answers.released import frame_of

        need_amounts(self._chosen(), self._typed(), "mean(eps=0.1)")
        means = group_means(self._frame._rows, tuple(self._keys), self._chosen(), eps)
        return frame_of(means, index=self._index())

    @several
    def _each_column(self, method: str, eps: Any, **kwargs: Any) -> ReleasedFrame:
        """A released statistic of every chosen column, which share eps."""
        from privjail.answers.released import frame_of

        columns = {name: self._column(name) for name in self._chosen()}
        share = amount(eps) / len(columns)
        return frame_of({n: getattr(column, method)(eps=share, **kwargs) for n, column in columns.items()})

    def _numbers(self) -> PrivDataFrameGroupBy:
        """The columns of numbers, as numeric_only=True chooses them."""
        names = list(self._frame[list(self._chosen())]._numbers()._exprs)
        return type(self)(self._frame, self._by, names)

    def var(self, *, ddof: int = 1, eps: Any) -> ReleasedFrame:
        """The variance in each group, for one eps in all.

        >>> x = df.groupby("ward")[["age", "days"]].var(eps=1)
        """
        return self._each_column("var", eps, ddof=ddof)

    def std(self, *, ddof: int = 1, eps: Any) -> ReleasedFrame:
        """The standard deviation in each group, for one eps in all.

        >>> x = df.groupby("ward")[["age", "days"]].std(eps=1)
        """
        return self._each_column("std", eps, ddof=ddof)

    def sem(self, *, ddof: int = 1, eps: Any) -> ReleasedFrame:
        """The standard error of the mean in each group, for one eps in all.

        >>> x = df.groupby("ward")[["age", "days"]].sem(eps=1)
        """
        return self._each_column("sem", eps, ddof=ddof)

    def skew(self, *, eps: Any) -> ReleasedFrame:
        """The skewness in each group, for one eps in all.

        >>> x = df.groupby("ward")[["age", "days"]].skew(eps=1)
        """
        return self._each_column("skew", eps)

    def kurt(self, *, eps: Any) -> ReleasedFrame:
        """The excess kurtosis in each group, for one eps in all.

        >>> x = df.groupby("ward")[["age", "days"]].kurt(eps=1)
        """
        return self._each_column("kurt", eps)

    @several
    def describe(
        self, percentiles: Any = None, include: Any = None, exclude: Any = None, *, eps: Any
    ) -> pandas.DataFrame:
        """count, mean, std, min, quartiles and max of each column in each group, for one eps in all.

        >>> x = df.groupby("ward")[["age", "days"]].describe(eps=1)
        """
        import pandas

        columns = self._numbers()._chosen()
        share = amount(eps) / len(columns)
        parts = {n: self._column(n).describe(percentiles, eps=share) for n in columns}
        described: pandas.DataFrame = pandas.concat(list(parts.values()), axis=1, keys=list(parts))
        return described

    def corr(self, *, eps: Any) -> pandas.DataFrame:
        """The correlations in each group, for one eps in all.

        >>> x = df.groupby("ward")[["age", "days"]].corr(eps=1)
        """
        return self._tables("corr", eps)

    def cov(self, *, eps: Any) -> pandas.DataFrame:
        """The covariances in each group, for one eps in all.

        >>> x = df.groupby("ward")[["age", "days"]].cov(eps=1)
        """
        return self._tables("cov", eps)

    @several
    def _tables(self, method: str, eps: Any) -> pandas.DataFrame:
        import pandas

        amount(eps)
        names = list(self._numbers()._chosen())
        chosen = PrivDataFrameGroupBy(self._frame, self._by, names)
        found = {key: getattr(group, method)(eps=eps) for key, group in chosen}
        tables: pandas.DataFrame = pandas.concat(found, names=self._names)
        return tables

    def min(self, *, eps: Any) -> ReleasedFrame:
        """A value that few rows lie below, in each group, for one eps in all.

        >>> x = df.groupby("ward")[["age", "days"]].min(eps=1)
        """
        return self._each_column("min", eps)

    def max(self, *, eps: Any) -> ReleasedFrame:
        """A value that few rows lie above, in each group, for one eps in all.

        >>> x = df.groupby("ward")[["age", "days"]].max(eps=1)
        """
        return self._each_column("max", eps)

    def median(self, *, eps: Any) -> ReleasedFrame:
        """The median in each group, for one eps in all.

        >>> x = df.groupby("ward")[["age", "days"]].median(eps=1)
        """
        return self._each_column("median", eps)

    def quantile(self, q: float = 0.5, *, eps: Any) -> ReleasedFrame:
        """A quantile in each group, for one eps in all.

        >>> x = df.groupby("ward")[["age", "days"]].quantile(0.9, eps=1)
        """
        return self._each_column("quantile", eps, q=q)


@priced
class PrivSeriesGroupBy(Groups[PrivSeries]):
    """The groups of one column of a table."""

    _shown_class = "pandas.core.groupby.generic.SeriesGroupBy"
    ndim = 1

    def __init__(self, frame: PrivDataFrame, by: Any, column: Any) -> None:
        super().__init__(frame, by)
        self._expr = frame._expr(column)
        self._name = column

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return refuse(self, name)

    def _narrowed(self, table: PrivDataFrame) -> PrivSeries:
        return table._series(self._name)

    def size(self) -> SensitiveSeries:
        """The number of rows of each group.

        >>> counts = df.groupby("ward")["cost"].size().reveal(eps=1)
        """
        return self._vector(None, self._name)

    def sum(self) -> SensitiveSeries:
        """The sum of each group; the column must be bounded.

        >>> totals = df.groupby("ward")["cost"].sum().reveal(eps=1)
        """
        return self._vector(numeric(self._expr), self._name)

    def count(self) -> SensitiveSeries:
        """How many values of each group are not missing.

        >>> present = df.groupby("ward")["sex"].count().reveal(eps=1)
        """
        return self._vector(_present(self._expr), self._name)

    def value_counts(
        self, normalize: bool = False, sort: bool = True, ascending: bool = False, bins: Any = None, dropna: bool = True
    ) -> SensitiveSeries | Deferred:
        """How often each possible value occurs in each group; sorted, and divided by the group's total, once released.

        >>> counts = df.groupby("ward")["sex"].value_counts(normalize=True).reveal(eps=1)
        """
        self._need_keys("value_counts")
        expr = self._expr if bins is None else binned(self._frame._rows, numeric(self._expr), bins, closed="right")
        keys = [*zip(self._names, self._keys, strict=True), (self._name, expr)]
        return counted(
            self._frame._rows, keys, sort=sort, ascending=ascending, normalize=normalize, dropna=dropna,
            within=len(self._keys),
        )  # fmt: skip

    @overload
    def nunique(self, *, eps: None = None) -> SensitiveSeries | Deferred: ...
    @overload
    def nunique(self, *, eps: Any) -> ReleasedSeries: ...
    def nunique(self, *, eps: Any = None) -> ReleasedSeries | SensitiveSeries | Deferred:
        """How many of the possible values occur in each group; with eps= released at once, for one eps in all.

        >>> x = df.groupby("ward")["sex"].nunique(eps=1)
        >>> y = df.groupby("ward")["sex"].nunique().reveal(eps=1)
        """
        if eps is not None:
            return self._each_group("nunique", eps)
        if len(self._keys) == 1:
            return SensitiveSeries(self._occurring(), self._name, self._index_axes())
        return self._labelled(SensitiveSeries(self._occurring(), self._name, (Axis(),)))

    def _occurring(self) -> Stack:
        """How many values occur in each group, as one vector; of several keys numbered by group."""
        axes = self._axes()
        labels = axes[0] if len(axes) == 1 else tuple(range(self.ngroups))
        return Stack(tuple(group.nunique()._value for _, group in self), labels)

    def transform(self, func: Any, *, eps: Any = None) -> PrivSeries:
        """In each row the released statistic of its group: a private column.

        >>> x = df["cost"] - df.groupby("ward")["cost"].transform("mean", eps=1)
        """
        return transformed(self, func, eps)

    def agg(self, func: Any = None, *, eps: Any, **named: Any) -> pandas.Series[float] | pandas.DataFrame:
        """Statistics by their names: one, a list, or named results; for one eps in all.

        >>> x = df.groupby("ward")["cost"].agg(["mean", "std"], eps={"mean": 0.8, "std": 0.2})
        """
        return group_column_agg(self, func, eps, named)

    aggregate = agg

    def mean(self, *, eps: Any) -> ReleasedSeries:
        """The mean of each group, for one eps in all.

        >>> averages = df.groupby("ward")["cost"].mean(eps=1)
        """
        from privjail.answers.released import series_of

        means = group_means(self._frame._rows, tuple(self._keys), {self._name: self._expr}, eps)
        return series_of(means[self._name], index=self._index(), name=self._name)

    @several
    def _each_group(self, method: str, eps: Any, **kwargs: Any) -> ReleasedSeries:
        """A released statistic of each group: groups exclude each other, so eps pays for all."""
        from privjail.answers.released import series_of

        amount(eps)
        groups = progress(self, self.ngroups, f"{method} of each group")
        found = [getattr(group, method)(eps=eps, **kwargs) for _, group in groups]
        return series_of(found, index=self._index(), name=self._name)

    def var(self, *, ddof: int = 1, eps: Any) -> ReleasedSeries:
        """The variance in each group, for one eps in all.

        >>> x = df.groupby("ward")["days"].var(eps=1)
        """
        return self._each_group("var", eps, ddof=ddof)

    def std(self, *, ddof: int = 1, eps: Any) -> ReleasedSeries:
        """The standard deviation in each group, for one eps in all.

        >>> x = df.groupby("ward")["days"].std(eps=1)
        """
        return self._each_group("std", eps, ddof=ddof)

    def sem(self, *, ddof: int = 1, eps: Any) -> ReleasedSeries:
        """The standard error of the mean in each group, for one eps in all.

        >>> x = df.groupby("ward")["days"].sem(eps=1)
        """
        return self._each_group("sem", eps, ddof=ddof)

    def skew(self, *, eps: Any) -> ReleasedSeries:
        """The skewness in each group, for one eps in all.

        >>> x = df.groupby("ward")["days"].skew(eps=1)
        """
        return self._each_group("skew", eps)

    def kurt(self, *, eps: Any) -> ReleasedSeries:
        """The excess kurtosis in each group, for one eps in all.

        >>> x = df.groupby("ward")["days"].kurt(eps=1)
        """
        return self._each_group("kurt", eps)

    def hist(self, *, bins: Any = 10, eps: Any) -> ReleasedFrame:
        """Noisy counts in half-open intervals, a row for each group, for one eps in all.

        >>> x = df.groupby("ward")["days"].hist(bins=10, eps=1)
        """
        return self._each_row("hist", eps, bins=bins)

    def describe(self, percentiles: Any = None, include: Any = None, exclude: Any = None, *, eps: Any) -> ReleasedFrame:
        """count, mean, std, min, quartiles and max in each group, for one eps in all.

        >>> x = df.groupby("ward")["days"].describe(eps=1)
        """
        return self._each_row("describe", eps, percentiles=percentiles)

    @several
    def _each_row(self, method: str, eps: Any, **kwargs: Any) -> ReleasedFrame:
        """A released Series of each group, as rows: groups exclude each other, so eps pays for all."""
        from privjail.answers.released import frame_of_rows

        amount(eps)
        groups = progress(self, self.ngroups, f"{method} of each group")
        return frame_of_rows([getattr(group, method)(eps=eps, **kwargs) for _, group in groups], self._index())

    def min(self, *, eps: Any) -> ReleasedSeries:
        """A value that few rows lie below, in each group, for one eps in all.

        >>> x = df.groupby("ward")["days"].min(eps=1)
        """
        return self._each_group("min", eps)

    def max(self, *, eps: Any) -> ReleasedSeries:
        """A value that few rows lie above, in each group, for one eps in all.

        >>> x = df.groupby("ward")["days"].max(eps=1)
        """
        return self._each_group("max", eps)

    def median(self, *, eps: Any) -> ReleasedSeries:
        """The median in each group, for one eps in all.

        >>> x = df.groupby("ward")["days"].median(eps=1)
        """
        return self._each_group("median", eps)

    def quantile(self, q: Any = 0.5, *, eps: Any) -> ReleasedSeries:
        """A quantile (or several, sharing eps) in each group, for one eps in all.

        >>> x = df.groupby("ward")["days"].quantile(0.9, eps=1)
        """
        if isinstance(q, (list, tuple)):
            from privjail.answers.released import released_series

            rows = self._each_row("quantile", eps, q=q)
            return released_series(rows.stack().rename(self._name), rows._facts)
        return self._each_group("quantile", eps, q=q)


def _present(expr: Expr) -> Expr | None:
    """Where a column has a value; None if it has one everywhere."""
    return negation(IsNull(expr)) if expr.domain.nullable else None
