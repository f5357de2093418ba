"""Groups of a private table: one for every possible key, whether it occurs or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from typing import Any

from privjail import session
from privjail.budget.amounts import amount
from privjail.errors import PlanError, RowsError
from privjail.mechanisms.laplace import Laplace
from privjail.ops.carried import Constant
from privjail.ops.compare import Compare
from privjail.ops.filter import Filter, label_lit
from privjail.ops.group_head import GroupHead
from privjail.ops.isin import IsNull
from privjail.ops.logic import negation
from privjail.ops.numbers import Beside
from privjail.ops.tally import Tally
from privjail.pandas.axes import Axis, flat_labels, index_of, public_label
from privjail.pandas.priced import priced
from privjail.pandas.refusals import refuse
from privjail.pandas.rowwise import numeric
from privjail.pandas.series_core import SeriesCore
from privjail.pandas.slicing import carried
from privjail.pandas.statistics import Centred
from privjail.pandas.vectors import SensitiveDataFrame, SensitiveSeries, position
from privjail.plan.distance import Distance
from privjail.plan.domain import CategoryDomain
from privjail.plan.expr import Expr
from privjail.prisoner import Prisoner
from privjail.release import Ask


@lru_cache(maxsize=4096)
def _pick(key: Expr, place: int) -> tuple[Compare, Constant | None]:
    """The condition that picks one group of a key; and for a category the key's value in that group."""
    labels = key.domain.labels
    assert labels is not None
    lit = label_lit(labels[place])
    constant = isinstance(key.domain, CategoryDomain) and type(labels[place]) is str
    return Compare("==", key, lit), Constant(lit) if constant else None


@priced
class PrivDataFrameGroupBy(Prisoner):
    """The groups of a table by one or more columns."""

    _shown_class = "pandas.core.groupby.generic.DataFrameGroupBy"
    _way_out = "count or sum the groups, and release the result: .size().reveal(eps=…), .mean(eps=…)"

    def __init__(self, frame: Any, by: Any, columns: Any = None) -> None:
        self._listed = isinstance(by, (list, tuple)) or type(by).__name__ == "Index"
        keys = list(by) if self._listed else [by]
        if not keys:
            raise PlanError("groupby needs at least one column")
        self._frame, self._columns, self._by = frame, columns, by
        self._names: list[Any] = []
        self._keys: list[Expr] = []
        for key in keys:
            if isinstance(key, SeriesCore):
                if key._rows is not frame._rows:
                    raise RowsError("the group key does not belong to the rows of this table")
                self._names.append(key.name)
                self._keys.append(key._expr)
            else:
                self._names.append(key)
                self._keys.append(frame._expr(key))

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("_frame", ()):
            return self[name]
        return refuse(self, name)

    def __getitem__(self, columns: Any) -> PrivDataFrameGroupBy:
        self._frame._names(columns)
        return PrivDataFrameGroupBy(self._frame, self._by, columns)

    @property
    def distance(self) -> Distance:
        found: Distance = self._frame.distance
        return found

    def _plan(self) -> str:
        return f"{self._frame._plan()} | groupby({', '.join(map(str, self._names))})"

    def __str__(self) -> str:
        return f"{Prisoner.__repr__(self)}\n  groups: {self.ngroups}, by {', '.join(map(str, self._names))}"

    __repr__ = __str__

    def __contains__(self, key: Any) -> bool:
        return position(flat_labels(tuple(self._axes())), key) is not None

    # -- the groups themselves

    def _axes(self) -> list[tuple[Any, ...]]:
        return list(Tally(self._frame._rows, tuple(self._keys), None).index)

    @property
    def ndim(self) -> int:
        return 1 if self._single() else 2

    @property
    def ngroups(self) -> int:
        """The number of possible groups, which is public."""
        total = 1
        for axis in self._axes():
            total *= len(axis)
        return total

    def __len__(self) -> int:
        return self.ngroups

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """(key, table) for every possible key."""
        for numbered in product(*map(enumerate, self._axes())):
            shown = tuple([public_label(label) for _, label in numbered])
            yield (shown if self._listed else shown[0]), self._group(tuple([place for place, _ in numbered]))

    def _group(self, places: tuple[int, ...]) -> Any:
        frame = self._frame
        rows = frame._rows
        columns = dict(frame._exprs)
        for name, key, place in zip(self._names, self._keys, places, strict=True):
            condition, only = _pick(key, place)
            rows = Filter(rows, condition)
            # Inside its group a key has one value only: that is a public fact.
            if only is not None and columns.get(name) is key:
                columns[name] = only
        table = frame._new(columns, rows)
        return table if self._columns is None else table[self._columns]

    def get_group(self, key: Any) -> Any:
        """The table of one group; a possible key that does not occur gives an empty table."""
        wanted = key if isinstance(key, tuple) else (key,)
        axes = self._axes()
        if len(wanted) != len(axes):
            raise PlanError(f"get_group needs {len(axes)} keys")
        places = []
        for axis, given in zip(axes, wanted, strict=True):
            found = position([public_label(x) for x in axis], given)
            if found is None:
                raise PlanError(f"{given!r} is no possible key", do=f"use one of {list(axis)[:10]}")
            places.append(found)
        return self._group(tuple(places))

    # -- private vectors

    def _index_axes(self) -> tuple[Axis, ...]:
        return tuple(Axis(n, e.domain) for n, e in zip(self._names, self._keys, strict=True))

    def _vector(self, value: Expr | None, name: Any = None) -> SensitiveSeries:
        return SensitiveSeries(Tally(self._frame._rows, tuple(self._keys), value), name, self._index_axes())

    def size(self) -> SensitiveSeries:
        """The number of rows of each group."""
        return self._vector(None, self._columns if self._single() else None)

    def value_counts(self, *, sort: bool = True) -> SensitiveSeries:
        """How often each possible value of one column occurs in each group."""
        if sort:
            raise PlanError("value_counts() would show an order by frequency", do="use value_counts(sort=False)")
        if not self._single():
            raise PlanError("one column is needed", do='df.groupby("a")["b"].value_counts(sort=False)')
        column = self._frame._expr(self._columns)
        axes = (*self._index_axes(), Axis(self._columns, column.domain))
        return SensitiveSeries(Tally(self._frame._rows, (*self._keys, column), None), "count", axes)

    def _single(self) -> bool:
        return self._columns is not None and not isinstance(self._columns, list)

    def _chosen(self) -> dict[Any, Expr]:
        frame = self._frame
        if self._single():
            return {self._columns: frame._expr(self._columns)}
        names = self._columns if self._columns is not None else [n for n in frame._exprs if n not in self._names]
        if not names:
            raise PlanError("there is no column besides the keys")
        return {n: frame._expr(n) for n in names}

    def _per_group(self, value: Any) -> Any:
        chosen = self._chosen()
        if self._single():
            return self._vector(value(chosen[self._columns]), self._columns)
        tallies = tuple(Tally(self._frame._rows, tuple(self._keys), value(e)) for e in chosen.values())
        return SensitiveDataFrame(Beside(tallies, tuple(chosen)), (*self._index_axes(), Axis()))

    def sum(self) -> Any:
        """The sum of each group; the columns must be bounded."""
        return self._per_group(numeric)

    def count(self) -> Any:
        """How many values of each group are not missing."""
        return self._per_group(lambda e: negation(IsNull(e)) if e.domain.nullable else None)

    # -- released statistics

    def mean(self, *, eps: Any) -> Any:
        """The mean of each group, for one eps in all."""
        import pandas

        chosen = {n: Centred(self._frame._rows, e) for n, e in self._chosen().items()}
        share = Laplace(amount(eps) / (2 * len(chosen)))
        keys = tuple(self._keys)
        parts = [Tally(self._frame._rows, keys, v) for c in chosen.values() for v in (c.deviation(), c.present())]
        answers = session.release([Ask(v, share) for v in parts])
        index = index_of(parts[0].index, self._index_axes())
        columns = {}
        for i, (name, c) in enumerate(chosen.items()):
            totals, counts = answers[2 * i], answers[2 * i + 1]
            columns[name] = pandas.Series(
                [c.mean(t, n) for t, n in zip(totals, counts, strict=True)], index=index, name=name
            )
        if self._single():
            return columns[self._columns]
        return pandas.DataFrame(columns)

    def _each_group(self, method: str, eps: Any, **kwargs: Any) -> Any:
        """A released statistic of one column in each group: groups exclude each other, so eps pays for all."""
        import pandas

        if not self._single():
            raise PlanError(f"groupby(…).{method} needs one column", do=f'df.groupby("a")["b"].{method}(eps=…)')
        amount(eps)
        found = [getattr(group, method)(eps=eps, **kwargs) for _, group in self]
        index = index_of(tuple(self._axes()), self._index_axes())
        return pandas.Series(found, index=index, name=self._columns)

    def var(self, *, eps: Any) -> Any:
        """The variance in each group, for one eps in all."""
        return self._each_group("var", eps)

    def std(self, *, eps: Any) -> Any:
        """The standard deviation in each group, for one eps in all."""
        return self._each_group("std", eps)

    def min(self, *, eps: Any) -> Any:
        """The minimum of each group, for one eps in all."""
        return self._each_group("min", eps)

    def max(self, *, eps: Any) -> Any:
        """The maximum of each group, for one eps in all."""
        return self._each_group("max", eps)

    def median(self, *, eps: Any) -> Any:
        """The median of each group, for one eps in all."""
        return self._each_group("median", eps)

    def quantile(self, q: float = 0.5, *, eps: Any) -> Any:
        """A quantile of each group, for one eps in all."""
        return self._each_group("quantile", eps, q=q)

    # -- rows

    def pipe(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """f(self, …)."""
        return f(self, *args, **kwargs)

    def head(self, n: int = 5) -> Any:
        """The first n rows of each group, in their order; by the user column: at most n rows per user."""
        if len(self._keys) != 1:
            raise PlanError("groupby(…).head(n) takes one key")
        frame = self._frame
        rows = GroupHead(frame._rows, self._keys[0], n)
        table = frame._new({name: carried(rows, e) for name, e in frame._exprs.items()}, rows)
        return table if self._columns is None else table[self._columns]
