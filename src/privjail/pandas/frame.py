"""PrivDataFrame: a private table.

One class with every method that an analyst can call on a table: each builds nodes, or asks a statistic of
``privjail.statistics``. It is long because pandas' DataFrame is; nothing in it is trusted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, overload

from privjail.budget.amounts import amount
from privjail.errors import PlanError, RowsError, unbounded, warn
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.isin import IsNull
from privjail.ops.columns.logic import joined, negation
from privjail.ops.columns.where import FillNull, NullWhere, Where
from privjail.ops.numbers.combine import Scale, Stack
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import keep
from privjail.ops.rows.per_person import PerPerson
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.sort import Sort
from privjail.pandas.across import row_counts, row_extremes, row_logic, row_means, row_sums
from privjail.pandas.aggregate import frame_agg
from privjail.pandas.axes import Axis
from privjail.pandas.beside import beside
from privjail.pandas.columns import by_column, info_text
from privjail.pandas.counting import counted
from privjail.pandas.dates import shown_type
from privjail.pandas.deferred import Deferred
from privjail.pandas.flat import FlatGroups
from privjail.pandas.groups import PrivDataFrameGroupBy
from privjail.pandas.identifiers import identifier, need_amounts
from privjail.pandas.indexing import Loc, TableIloc
from privjail.pandas.join import join_public
from privjail.pandas.operators import Operators
from privjail.pandas.people import merged, person_of
from privjail.pandas.persons import by_person
from privjail.pandas.priced import no_price, priced
from privjail.pandas.query import callers_names, parse_query
from privjail.pandas.refusals import refuse, refuse_row_numbers
from privjail.pandas.resample import Indexed, resampled
from privjail.pandas.series import PrivSeries
from privjail.pandas.show import facts, facts_html
from privjail.pandas.slicing import bounded, carried, nulls_last
from privjail.pandas.traced import apply_rows
from privjail.pandas.vectors import SensitiveSeries
from privjail.plan.distance import Distance
from privjail.plan.domain import (
    BoolDomain,
    CategoryDomain,
    Domain,
    FloatDomain,
    IntDomain,
    Numeric,
    TimeDomain,
    UntypedDomain,
)
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows
from privjail.plan.value import Value
from privjail.prisoner import Prisoner
from privjail.rowwise import constant_like, is_missing, literal, numeric, same_rows, typed
from privjail.samples import drawn
from privjail.sensitive import SensitiveFloat, SensitiveInt, number
from privjail.statistics.correlation import correlations, covariances
from privjail.statistics.mean import means
from privjail.together import several

if TYPE_CHECKING:
    import pandas
    from privjail.answers.released import ReleasedFrame, ReleasedSeries
    from privjail.numpy.arrays import PrivArray

T = TypeVar("T")
MOST_NAMED = 10  # columns of a wide table, in an error
TYPES = {"int": "Int64", "int64": "Int64", "float": "Float64", "float64": "Float64", "bool": "boolean",
         "datetime": "datetime64[us]", "str": "string", "object": "string"}  # fmt: skip


@priced
class PrivDataFrame(Operators):
    """A private table: rows that nobody sees, and public column names with expressions over the rows."""

    _shown_class = "pandas.core.frame.DataFrame"
    _way_out = "count, sum or average it, and release the result: .shape[0].reveal(eps=…), .mean(eps=…)"
    ndim = 2
    _rows: Rows
    _exprs: dict[Any, Expr]

    def __init__(self, rows: Rows, columns: Mapping[Any, Expr]) -> None:
        vars(self).update(_rows=rows, _exprs=dict(columns))  # not through __setattr__, which looks for columns

    def _new(self, columns: Mapping[Any, Expr], rows: Rows | None = None) -> Self:
        return type(self)(self._rows if rows is None else rows, columns)

    if not TYPE_CHECKING:  # to mypy and editors a misspelt method is an error; a column is df["name"]

        def __getattr__(self, name: str) -> Any:
            if name in self.__dict__.get("_exprs", {}):
                return self._series(name)
            return refuse(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        # df.age = … sets the column if there is one, as in pandas; anything else would be lost silently.
        if name in self.__dict__.get("_exprs", {}):
            self[name] = value
        elif isinstance(value, Prisoner):
            refuse(self, name)
        else:
            object.__setattr__(self, name, value)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(n for n in self._exprs if isinstance(n, str) and n.isidentifier())]

    def _ipython_key_completions_(self) -> list[Any]:
        """What an editor offers after ``df["``."""
        return list(self._exprs)

    def _like(self, array: PrivArray) -> Any:
        if array.ndim != 2 or array._cells.shape != (len(self._exprs),):
            return array
        return self._new(dict(zip(self._exprs, array._flat, strict=True)))

    def _expr(self, name: Any) -> Expr:
        if isinstance(name, Prisoner):
            raise PlanError("a column is named by public text, not by a private value")
        if not isinstance(name, Hashable):
            raise PlanError(f"a column is named by a text, not by a {type(name).__name__}")
        if name not in self._exprs:
            raise PlanError(f"there is no column {name!r}", do=f"the columns are {_named(list(self._exprs), name)}")
        return self._exprs[name]

    def _series(self, name: Any) -> PrivSeries:
        return PrivSeries(self._rows, self._expr(name), name)

    def _names(self, given: Any) -> list[Any]:
        """One column's name, or a list of them."""
        names = [given] if isinstance(given, (str, tuple)) or not hasattr(given, "__iter__") else list(given)
        for name in names:
            self._expr(name)
        return names

    # -- public facts

    @property
    def distance(self) -> Distance:
        return self._rows.distance

    @property
    def columns(self) -> pandas.Index[Any]:
        """The names of the columns, which are public; assign a list to rename them all.

        >>> list(df.columns)
        ['patient', 'age', 'sex', 'ward', 'admitted', 'days', 'cost']
        """
        import pandas

        names: pandas.Index[Any] = pandas.Index(list(self._exprs))
        return names

    @columns.setter
    def columns(self, names: Iterable[Any]) -> None:
        new = list(names)
        if len(new) != len(self._exprs) or len(set(new)) != len(new):
            raise PlanError(f"{len(self._exprs)} different names are needed")
        self._exprs = dict(zip(new, self._exprs.values(), strict=True))

    def keys(self) -> pandas.Index[Any]:
        """The names of the columns.

        >>> "age" in df.keys()
        True
        """
        return self.columns

    @property
    def domains(self) -> Mapping[Any, Domain]:
        """The values that each column may hold: public.

        >>> print(df.domains["age"])
        Int64 [0, 120]
        """
        return Domains(self._exprs)

    @property
    def dtypes(self) -> pandas.Series[Any]:
        """The type of each column.

        >>> df.dtypes["age"]
        'Int64'
        """
        import pandas

        return pandas.Series({name: shown_type(expr.domain) for name, expr in self._exprs.items()}, dtype=object)

    def info(self, verbose: bool | None = None, buf: Any = None, **options: Any) -> None:
        """Print the columns and what they may hold: public facts. How many rows there are is private.

        >>> df[["age", "sex"]].info()
        <class 'privjail.pandas.PrivDataFrame'>
        rows: private; .shape[0].reveal(eps=…) counts them
        Data columns (total 2 columns):
         #  Column  Dtype     Values
        --  ------  --------  ------
         0  age     Int64     0 to 120
         1  sex     category  2 categories
        """
        print(info_text(self._exprs), file=buf)

    @property
    def shape(self) -> tuple[SensitiveInt | SensitiveFloat, int]:
        """The number of rows, as a private number, and the number of columns, which is public.

        >>> df.shape[0].reveal(eps=1)
        ≈ 2000
        """
        return (number(Tally(self._rows, (), None)), len(self._exprs))

    @property
    def size(self) -> SensitiveInt | SensitiveFloat:
        """The number of rows times the number of columns, as a private number.

        >>> df[["age", "sex"]].size.reveal(eps=1)
        ≈ 4000
        """
        return number(Scale(Tally(self._rows, (), None), Fraction(len(self._exprs))))

    def __contains__(self, name: Any) -> bool:
        return name in self._exprs

    def __iter__(self) -> Iterator[Any]:
        return iter(self._exprs)

    def _plan(self) -> str:
        return str(self._rows)

    def __str__(self) -> str:
        return facts(Prisoner.__repr__(self), self._rows, self._exprs)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return facts_html(Prisoner.__repr__(self), self._rows, self._exprs)

    # -- choosing columns and rows

    @overload
    def __getitem__(self, key: str) -> PrivSeries: ...
    @overload
    def __getitem__(
        self, key: PrivSeries | list[Any] | pandas.Index[Any] | slice | Callable[[Self], PrivSeries]
    ) -> Self: ...
    def __getitem__(self, key: Any) -> Any:
        if callable(key) and not isinstance(key, Prisoner):
            key = key(self)
        if isinstance(key, PrivSeries):
            return self._filtered(key)
        if isinstance(key, list) or type(key).__name__ == "Index":
            return self._new({name: self._expr(name) for name in key})
        if isinstance(key, slice):
            return self.iloc[key]
        if isinstance(key, (set, frozenset)) or type(key).__name__ in ("ndarray", "dict_keys"):
            raise PlanError("columns are chosen by a list of names", do="df[list(names)]")
        if isinstance(key, Prisoner):
            raise PlanError("a table is filtered by one true/false column of its own")
        return self._series(key)

    def _filtered(self, condition: PrivSeries) -> Self:
        if condition._rows is self._rows:
            return self._new(self._exprs, keep(self._rows, condition._expr))
        rows, exprs = same_rows((condition._rows, condition._expr), *((self._rows, e) for e in self._exprs.values()))
        return self._new(dict(zip(self._exprs, exprs[1:], strict=True)), keep(rows, exprs[0]))

    @property
    def loc(self) -> Loc:
        """Rows by a condition, and columns by name.

        >>> x = df.loc[df["age"] > 65, ["age", "cost"]]
        """
        return Loc(self)

    @property
    def iloc(self) -> TableIloc:
        """Consecutive rows by their position, and columns by theirs.

        >>> x = df.iloc[10:20, 1:3]
        """
        return TableIloc(self)

    def _slice(self, start: int | None, stop: int | None) -> Self:
        rows = Slice(self._rows, start, stop)
        return self._new({n: carried(rows, e) for n, e in self._exprs.items()}, rows)

    def head(self, n: int = 5) -> Self:
        """The first rows.

        >>> x = df.sort_values("cost").head(100)
        """
        return self._slice(*bounded("head", n))

    def tail(self, n: int = 5) -> Self:
        """The last rows.

        >>> x = df.sort_values("cost").tail(100)
        """
        return self._slice(*bounded("tail", n))

    def sample(
        self, n: Any = None, frac: Any = None, replace: bool = False, weights: Any = None, random_state: Any = None
    ) -> Self:
        """A random part of the rows: each is drawn with this chance, by coins that only the jail knows.

        Under pure ε it costs the table less: a sample at rate q that costs ε adds log(1 + q·(exp(ε) - 1)), about q·ε.
        ``random_state`` names the sample: the same number gives the same one.

        >>> x = df.sample(frac=0.1, random_state=1)["cost"].mean(eps=1)
        """
        return self._new(self._exprs, drawn(self._rows, n, frac, replace, weights, random_state))

    def query(self, expr: str) -> Self:
        """Rows that meet a condition written as text.

        >>> x = df.query("age > 40 and sex == 'F'")
        """
        return self._filtered(parse_query(expr, self, callers_names()))

    def sort_values(
        self, by: Any, *, ascending: Any = True, kind: str = "stable", na_position: str = "last",
        ignore_index: bool = True,
    ) -> Self:  # fmt: skip
        """Sorted by columns, ties in their order, missing values last.

        >>> x = df.sort_values(["ward", "cost"], ascending=[True, False])
        """
        nulls_last(na_position)
        names = self._names(by)
        up = [ascending] * len(names) if isinstance(ascending, (bool, int)) else list(ascending)
        if len(up) != len(names):
            raise PlanError("ascending needs one direction for each column")
        keys = tuple(self._expr(n) for n in names)
        return self._new(self._exprs, Sort(self._rows, keys, tuple(int(not a) for a in up)))

    def reset_index(self, *, drop: bool = False) -> Self:
        """The same rows: they have no labels that could be dropped. Of one row per person: with the person as a column.

        >>> x = df[df["age"] > 65].reset_index(drop=True)
        """
        person = person_of(self._rows) if isinstance(self._rows.base, PerPerson) else None
        if drop or person is None:
            return self._new(self._exprs) if drop else refuse_row_numbers(self)
        owner: Any = self._rows.base.owner()
        return self._new({person: owner, **self._exprs})

    def dropna(self, *, subset: Any = None, how: str = "any", thresh: int | None = None) -> Self:
        """Rows without missing values (how='all': without rows of nothing else; thresh: with so many values).

        >>> x = df.dropna(subset=["sex"])
        """
        if thresh is not None:
            table = self if subset is None else self[self._names(subset)]
            return self._filtered(table.count(axis=1) >= thresh)
        if how not in ("any", "all"):
            raise PlanError(f"how must be 'any' or 'all', got {how!r}")
        names = list(self._exprs) if subset is None else self._names(subset)
        nulls: list[Expr] = [IsNull(self._expr(n)) for n in names if self._expr(n).domain.nullable]
        if not nulls or (how == "all" and len(nulls) < len(names)):
            return self._new(self._exprs, self._rows)
        # One condition, and so one partition: one for each column would leave no depth for the groups of a wide table.
        dropped = joined("|" if how == "any" else "&", nulls)
        return self._new(self._exprs, keep(self._rows, negation(dropped)))

    def groupby(
        self, by: Any, *, sort: bool = True, as_index: bool = True, observed: bool = False, dropna: bool = True,
        keys: str | None = None, eps: Any = None, delta: Any = None, min_persons: int = 1, keys_per_person: int = 1,
        most_keys: int = 1000,
    ) -> PrivDataFrameGroupBy:  # fmt: skip
        """Groups by one or more columns with finitely many values; absent values give empty groups.

        ``keys="private"``: a column of free text or open numbers. Which values enough persons share is released first,
        for eps and delta, as ``value_counts(keys="private", …)`` does; these are the groups.

        >>> counts = df.groupby("ward").size().reveal(eps=1)
        """
        if keys is not None and not isinstance(by, str):
            raise PlanError(
                "private keys are those of one column", do='join them first: df["c"] = df["a"] + " " + df["b"]'
            )
        if keys is not None:
            names = self[by].value_counts(
                keys=keys, eps=eps, delta=delta, min_persons=min_persons, keys_per_person=keys_per_person,
                most_keys=most_keys,
            )  # fmt: skip
            return self._of_private_keys(by, list(names.index)).groupby(
                by, sort=sort, as_index=as_index, observed=observed, dropna=dropna
            )
        if eps is not None or delta is not None:
            raise PlanError(
                "groupby() gives groups and releases nothing, so it costs nothing", do="leave out eps= and delta="
            )
        if observed:
            warn("which groups occur is private: groups without rows are there too, whatever observed= says")
        if isinstance(by, Prisoner) and not isinstance(by, PrivSeries):
            raise PlanError("groups are made by columns, not by a private number or table")
        if callable(by) and not isinstance(by, Prisoner) and not hasattr(by, "freq"):
            raise PlanError("groups are made by columns, not by code", do='df.groupby("column")')
        groups = by_person(PrivDataFrameGroupBy(self, by))
        if not dropna:
            groups._need_no_missing_keys()
        return groups if as_index else FlatGroups(groups)  # type: ignore[return-value]

    def _of_private_keys(self, by: Any, keys: list[Any]) -> Self:
        """The table with a column as a category of released keys; other values are missing."""
        if not keys:
            raise PlanError(
                f"no value of {by!r} is shared by enough persons", do="use a larger eps or delta, or fewer filters"
            )
        import pandas

        return self.assign(**{by: self[by].astype(pandas.CategoricalDtype(sorted(keys)))})

    def resample(self, rule: Any, on: Any = None, **options: Any) -> PrivDataFrameGroupBy:
        """Groups of days, weeks or months of a column of dates; they come from the column's declared range.

        >>> weekly = df.resample("W", on="admitted").size().reveal(eps=1)
        """
        return PrivDataFrameGroupBy(self, resampled(self, rule, on, options))

    def set_index(self, keys: Any, **options: Any) -> Indexed:
        """The table with a column of dates as its index: for resample, and for loc with dates.

        >>> daily = df.set_index("admitted").resample("D")["cost"].sum().reveal(eps=1)
        """
        return Indexed(self, keys, options)

    # -- setting, naming and dropping columns

    def __setitem__(self, key: Any, value: Any) -> None:
        """Set columns (to columns of the same rows, or constants), or set values where a condition holds."""
        if isinstance(key, PrivSeries):
            changed = self._new({n: self._with_mask(e, key, value) for n, e in self._exprs.items()})
        elif isinstance(key, list):
            changed = self._assigned_list(key, value)
        else:
            changed = self._assigned(key, value)
        self._rows, self._exprs = changed._rows, changed._exprs

    def _assigned_list(self, names: list[Any], value: Any) -> Self:
        parts = [value] * len(names)
        if isinstance(value, PrivDataFrame):
            parts = [value._series(n) for n in value._exprs]
            if len(parts) != len(names):
                raise PlanError(f"{len(names)} columns cannot be set to {len(parts)}")
        changed = self._new(self._exprs)
        for name, part in zip(names, parts, strict=True):
            changed = changed._assigned(name, part)
        return changed

    def __delitem__(self, name: Any) -> None:
        self._expr(name)
        del self._exprs[name]

    def assign(self, **columns: Any) -> Self:
        """A table with further or changed columns.

        >>> x = df.assign(per_day=df["cost"] / df["days"], old=lambda d: d["age"] > 65)
        """
        table = self._new(self._exprs)
        for name, value in columns.items():
            public = callable(value) and not isinstance(value, Prisoner)
            table = table._assigned(name, value(table) if public else value)
        return table

    def _assigned(self, name: Any, value: Any) -> Self:
        if isinstance(value, PrivSeries):
            rows, exprs = same_rows((value._rows, value._expr), *((self._rows, e) for e in self._exprs.values()))
            return self._new(dict(zip(self._exprs, exprs[1:], strict=True)) | {name: exprs[0]}, rows)
        if type(value).__name__ == "PrivArray" and isinstance(value, Prisoner):
            return self._assigned_array(name, value)
        if isinstance(value, Prisoner):
            raise PlanError(f"column {name!r} cannot be set to a private number or table")
        if isinstance(value, (list, tuple, dict, set, range)) or hasattr(value, "__array__") and value.ndim:
            raise RowsError(
                f"column {name!r} cannot be set to a public list: which row comes where is private",
                do="compute it from columns, or join a public table on a key with .merge(…)",
            )
        if is_missing(value):
            raise PlanError(
                f"column {name!r} cannot be set to a missing value: it would have no type",
                do="make values of a column missing with .mask(condition)",
            )
        return self._new(self._exprs | {name: Constant(literal(value))})

    def _assigned_array(self, name: Any, array: Any) -> Self:
        """What numpy made of columns, as a column."""
        if array.ndim != 1:
            raise PlanError(f"column {name!r} cannot be set to an array of {array.ndim} axes", do="use X[:, i]")
        return self._assigned(name, PrivSeries(array._rows, array._flat[0], name))

    def _with_mask(self, expr: Expr, condition: PrivSeries, value: Any) -> Expr:
        if condition._rows is not self._rows:
            raise RowsError("the condition does not belong to the rows of this table")
        if isinstance(value, PrivSeries):
            if value._rows is not self._rows and value._rows is not self[condition]._rows:
                raise RowsError(
                    "the new values do not belong to the rows of this table",
                    do='take them from the same table: `df.loc[df["a"] > 3, "a"] = df["a"] * 2`',
                )
            return Where(condition._expr, value._expr, expr)
        if is_missing(value):
            return NullWhere(condition._expr, expr)
        return Where(condition._expr, constant_like(value), typed(expr, value))

    def _only_where(self, condition: PrivSeries, value: Any) -> Expr:
        """A new column: the value in the rows of the condition, missing in all others."""
        if is_missing(value):
            raise PlanError("a column of missing values alone has no type", do='df["new"] = 0')
        if isinstance(value, PrivSeries) and value._rows not in (self._rows, self[condition]._rows):
            raise RowsError(
                "the new values do not belong to the rows of this table",
                do='take them from the same table: `df.loc[df["a"] > 3, "new"] = df["a"] * 2`',
            )
        holds: Expr = condition._expr
        if holds.domain.nullable:
            holds = FillNull(holds, constant_like(False))
        found = value._expr if isinstance(value, PrivSeries) else constant_like(value)
        return NullWhere(negation(holds), found)

    def insert(self, loc: int, column: Any, value: Any) -> None:
        """Set a new column, at a position among the columns.

        >>> table = df.copy(); table.insert(0, "year", 2025); list(table.columns)[:2]
        ['year', 'patient']
        """
        if column in self._exprs:
            raise PlanError(f"there is already a column {column!r}")
        if type(loc) is not int or not 0 <= loc <= len(self._exprs):
            raise PlanError(f"the position must lie between 0 and {len(self._exprs)}")
        changed = self._assigned(column, value)
        names = [n for n in changed._exprs if n != column]
        names.insert(loc, column)
        self._rows, self._exprs = changed._rows, {n: changed._exprs[n] for n in names}

    def pop(self, item: Any) -> PrivSeries:
        """Take a column out of the table.

        >>> table = df.copy(); days = table.pop("days"); "days" in table
        False
        """
        taken = self._series(item)
        del self._exprs[item]
        return taken

    def get(self, key: Any, default: T | None = None) -> PrivSeries | T | None:
        """A column, or the default if there is none of this name.

        >>> df.get("weight") is None
        True
        """
        return self._series(key) if key in self._exprs else default

    def items(self) -> Iterator[tuple[Any, PrivSeries]]:
        """Each column's name, with the column.

        >>> numbers = [name for name, column in df.items() if column.dtype == "Int64"]; numbers
        ['age', 'days']
        """
        return ((name, self._series(name)) for name in self._exprs)

    def drop(self, labels: Any = None, *, columns: Any = None, axis: Any = 0) -> Self:
        """Without some columns.

        >>> x = df.drop(columns=["patient"])
        """
        if columns is None and axis in (1, "columns"):
            columns = labels
        if columns is None:
            raise PlanError("rows have no public labels", do="drop columns with drop(columns=…), filter rows")
        gone = self._names(columns)
        return self._new({n: e for n, e in self._exprs.items() if n not in gone})

    def rename(self, mapper: Any = None, *, columns: Any = None, axis: Any = 0) -> Self:
        """Other names for columns.

        >>> x = df.rename(columns={"age": "years"})
        """
        names = mapper if columns is None and axis in (1, "columns") else columns
        if not isinstance(names, Mapping) and not callable(names):
            raise PlanError("rename takes columns={old: new}")
        return self._renamed(lambda n: names(n) if callable(names) else names.get(n, n))

    def _renamed(self, f: Callable[[Any], Any]) -> Self:
        new = [f(n) for n in self._exprs]
        if len(set(new)) != len(new):
            raise PlanError("two columns would have the same name")
        return self._new(dict(zip(new, self._exprs.values(), strict=True)))

    def add_prefix(self, prefix: str) -> Self:
        """Names of columns with a text before them.

        >>> list(df[["age", "sex"]].add_prefix("patient_").columns)
        ['patient_age', 'patient_sex']
        """
        return self._renamed(lambda n: f"{prefix}{n}")

    def add_suffix(self, suffix: str) -> Self:
        """Names of columns with a text after them.

        >>> list(df[["age", "sex"]].add_suffix("_2025").columns)
        ['age_2025', 'sex_2025']
        """
        return self._renamed(lambda n: f"{n}{suffix}")

    def set_axis(self, labels: Iterable[Any], *, axis: Any = 0) -> Self:
        """Other names for all columns.

        >>> x = df[["age", "sex"]].set_axis(["years", "gender"], axis=1)
        """
        if axis not in (1, "columns"):
            raise PlanError("rows have no public labels", do="use axis=1 to name the columns")
        table = self._new(self._exprs)
        table.columns = labels
        return table

    def filter(self, items: Any = None, like: str | None = None, regex: str | None = None, axis: Any = 1) -> Self:
        """The columns with some names: a list, a part of the name, or a pattern.

        >>> list(df.filter(like="a").columns)
        ['patient', 'age', 'ward', 'admitted', 'days']
        """
        if sum(x is not None for x in (items, like, regex)) != 1 or axis not in (1, "columns", None):
            raise PlanError(
                "filter takes the names of columns: one of items=, like=, regex=", do="filter rows by df[…]"
            )
        if items is not None:
            if isinstance(items, (str, Prisoner)) or not hasattr(items, "__iter__"):
                raise PlanError(
                    "filter takes a list of names", do='df.filter(["age", "days"]); rows: df[df["age"] > 40]'
                )
            return self._new({n: self._exprs[n] for n in items if n in self._exprs})
        hit = (lambda n: like in n) if like is not None else re.compile(str(regex)).search
        return self._new({n: e for n, e in self._exprs.items() if hit(str(n))})

    def select_dtypes(self, include: Any = None, exclude: Any = None) -> Self:
        """The columns of some types.

        >>> list(df.select_dtypes("number").columns)
        ['age', 'days', 'cost']
        """
        wanted, unwanted = _types(include), _types(exclude)
        if not wanted and not unwanted:
            raise PlanError("select_dtypes needs include= or exclude=")
        kinds = {n: shown_type(e.domain) for n, e in self._exprs.items()}
        return self._new(
            {n: self._exprs[n] for n, t in kinds.items() if (not wanted or t in wanted) and t not in unwanted}
        )

    def join(self, other: Any, on: Any = None, how: str = "left") -> PrivDataFrame:
        """Beside columns of the same rows; or with on= a look-up in a public table by its index.

        >>> x = df.join(pd.get_dummies(df["ward"], prefix="ward"))
        """
        if isinstance(other, Indexed):
            on = other._key if on is None and other._key in self._exprs else on
            return self.merge(other._frame, how, left_on=on, right_on=other._key)
        if isinstance(other, Prisoner):
            return beside([self, other])
        if on is None:
            raise PlanError("join with a public table needs a key", do='`df.merge(table, on="g", how="left")`')
        return self.merge(other.rename_axis(on).reset_index(), how, on)

    def convert_dtypes(self) -> Self:
        """The same table: its types are those of the schema, which hold missing values already.

        >>> x = df.convert_dtypes()
        """
        return self._new(self._exprs)

    infer_objects = convert_dtypes

    def nlargest(self, n: int, columns: Any) -> Self:
        """The n rows with the largest values, private ones: sort_values(…).head(n).

        >>> x = df.nlargest(100, "cost")["age"].mean(eps=1)
        """
        return self.sort_values(columns, ascending=False).head(n)

    def nsmallest(self, n: int, columns: Any) -> Self:
        """The n rows with the smallest values, private ones: sort_values(…).head(n).

        >>> x = df.nsmallest(100, "cost")["age"].mean(eps=1)
        """
        return self.sort_values(columns).head(n)

    def drop_duplicates(self, subset: Any = None, *, keep: str = "first") -> Self:
        """The first row of each value of a column, as groupby(column).head(1).

        >>> filled = df.assign(age=df["age"].fillna(0))
        >>> x = filled.drop_duplicates("age").shape[0].reveal(eps=1)
        """
        names = [] if subset is None else self._names(subset)
        if len(names) != 1 or keep != "first":
            raise PlanError(
                "drop_duplicates is offered for one column, keeping first rows",
                do='name the column that tells rows apart: `df.drop_duplicates("a")`',
            )
        if self._expr(names[0]).domain.nullable:
            warn(f"rows without {names[0]!r} are dropped; pandas keeps the first of them")
        first = self.groupby(names[0]).head(1)
        return self._new(first._exprs, first._rows)

    def copy(self, deep: bool = True) -> Self:
        """A table that can be given other columns without changing this one.

        >>> table = df.copy(); table["old"] = table["age"] > 65; "old" in df
        False
        """
        return self._new(self._exprs)

    def apply(
        self, func: Any, axis: Any = 0, args: tuple[Any, ...] = (), **kwargs: Any
    ) -> PrivDataFrame | PrivSeries | pandas.Series[Any] | dict[Any, Any]:
        """A function of each row (axis=1), followed through its branches; or of each column (axis=0).

        >>> x = df.apply(lambda row: row["cost"] / row["days"] if row["days"] > 0 else 0, axis=1)
        >>> means = df[["age", "cost"]].apply(lambda column: column.mean(eps=1))
        """
        if axis in (1, "columns"):
            f = func if not args and not kwargs else lambda row: func(row, *args, **kwargs)
            return apply_rows(self, f)
        found = {name: self[name].pipe(func, *args, **kwargs) for name in self._exprs}
        if all(isinstance(each, PrivSeries) for each in found.values()):
            return self._new({}).assign(**found) if found else self
        if any(isinstance(each, Prisoner) for each in found.values()):
            return found
        import pandas

        return pandas.Series(found)

    def map(self, func: Any, na_action: Any = None) -> Self:
        """A function of each value of each column (see PrivSeries.apply).

        >>> x = df[["age", "days"]].map(lambda number: number * 2)
        """
        return self._new({name: self[name].map(func)._expr for name in self._exprs})

    applymap = map

    def eval(self, expr: str) -> PrivDataFrame | PrivSeries:
        """A column computed by an expression written as text; with ``name = …`` the table with that column.

        >>> x = df.eval("cost / (days + 1)")
        >>> table = df.eval("per_day = cost / (days + 1)")
        """
        name, assigns, rest = expr.partition("=") if isinstance(expr, str) else (expr, "", "")
        if assigns and name.strip().isidentifier() and not rest.startswith("="):
            return self._assigned(name.strip(), parse_query(rest, self, callers_names()))
        column: PrivSeries = parse_query(expr, self, callers_names())
        return column

    def pipe(self, func: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """func(self, …).

        >>> x = df.pipe(lambda d: d[d["age"] > 65])
        """
        return func(self, *args, **kwargs)

    def merge(
        self, right: Any, how: str = "inner", on: Any = None, left_on: Any = None, right_on: Any = None,
        *, suffixes: Any = ("_x", "_y"), indicator: bool = False,
    ) -> Self:  # fmt: skip
        """Join with a public table on a key that is unique there; or with a private one on the person or a link.

        >>> floors = pandas.DataFrame({"ward": ["surgery", "maternity"], "floor": [2, 3]})
        >>> x = df.merge(floors, on="ward", how="left")
        """
        if isinstance(right, PrivDataFrame):
            left_on, right_on = (on, on) if on is not None else (left_on, right_on)
            if left_on is None or right_on is None:
                raise PlanError("merge needs on= the column that says whose rows they are", do='on="person"')
            names = [each if isinstance(each, (list, tuple)) else [each] for each in (left_on, right_on)]
            rows, columns = merged(self, right, how, list(zip(*names, strict=True)), suffixes, indicator)
            return self._new(columns, rows)
        if indicator or tuple(suffixes) != ("_x", "_y"):
            raise PlanError("suffixes and indicator are offered for private tables only", do="rename columns first")
        if on is None and left_on is not None and right_on is not None:
            on = left_on
            right = right.rename(columns={right_on: left_on}) if right_on != left_on else right
        rows, columns = join_public(self._rows, self._exprs, right, on, how)
        return self._new(columns, rows)

    # -- row-wise operations on every column

    def _all(self, series: Mapping[Any, PrivSeries]) -> Self:
        """The table of these columns, which all have the same rows."""
        if not series:
            return self._new({})
        return self._new({n: s._expr for n, s in series.items()}, next(iter(series.values()))._rows)

    def _each(self, f: Callable[[PrivSeries], PrivSeries], only: Callable[[Domain], bool] = lambda _: True) -> Self:
        mine = {n: self._series(n) for n in self._exprs}
        return self._all({n: f(s) if only(s.domain) else s for n, s in mine.items()})

    def _by_column(self, method: str, arguments: Mapping[Any, Any]) -> Self:
        for name in arguments:
            self._expr(name)
        mine = {n: self._series(n) for n in self._exprs}
        return self._all({n: getattr(s, method)(arguments[n]) if n in arguments else s for n, s in mine.items()})

    def _operate(self, op: str, other: Any, flip: bool = False) -> Self:
        if isinstance(other, PrivDataFrame):
            if set(other._exprs) != set(self._exprs):
                raise PlanError("two tables are combined only if they have the same columns")
            return self._all({n: self._series(n)._operate(op, other._series(n), flip) for n in self._exprs})
        if isinstance(other, Prisoner):
            raise PlanError(
                "a table is combined with a constant or a table of the same columns", do="combine column by column"
            )
        known = by_column(other, list(self._exprs))
        if known is not None:
            return self._all({n: self._series(n)._operate(op, known[n], flip) for n in self._exprs})
        return self._each(lambda s: s._operate(op, other, flip))

    def __invert__(self) -> Self:
        return self._each(lambda s: ~s)

    def __abs__(self) -> Self:
        return self.abs()

    def __round__(self, digits: Any = None) -> Self:
        return self.round(digits or 0)

    def fillna(self, value: Any) -> Self:
        """Missing values replaced: by one constant, or by a dict of one for each column.

        >>> x = df.fillna({"sex": "F"})
        """
        if isinstance(value, Mapping):
            return self._by_column("fillna", value)
        given = literal(value).value
        unfit = [n for n, e in self._exprs.items() if e.domain.nullable and not _takes(e.domain, given)]
        if unfit:
            raise PlanError(
                f"column {unfit[0]!r} of type {self._expr(unfit[0]).domain.dtype} cannot hold {given!r}",
                do='name the columns: `df.fillna({"b": 0})`',
            )
        return self._each(lambda s: s.fillna(value))

    def replace(self, to_replace: Any, value: Any = None) -> Self:
        """Values replaced in every column that can hold them; or a dict of dicts, by column.

        >>> x = df.replace({"ward": {"geriatrics": "medicine"}})
        """
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
        """Other types, for all columns or by a dict.

        >>> x = df.astype({"age": "Float64"})
        """
        if isinstance(dtype, Mapping):
            return self._by_column("astype", dtype)
        return self._each(lambda s: s.astype(dtype))

    def clip(self, lower: Any = None, upper: Any = None) -> Self:
        """All columns bounded.

        >>> x = df[["age", "days"]].clip(0, 50)
        """
        return self._each(lambda s: s.clip(lower, upper))

    def round(self, decimals: Any = 0) -> Self:
        """All columns of numbers rounded.

        >>> x = df.round({"cost": 1})
        """
        if isinstance(decimals, Mapping):
            return self._by_column("round", decimals)
        return self._each(lambda s: s.round(decimals), lambda d: isinstance(d, (IntDomain, FloatDomain)))

    def abs(self) -> Self:
        """Absolute values.

        >>> x = (df[["age", "days"]] - 50).abs()
        """
        return self._each(lambda s: s.abs())

    def isna(self) -> Self:
        """Where values are missing.

        >>> missing = df.isna().sum().reveal(eps=1)
        """
        return self._each(lambda s: s.isna())

    isnull = isna

    def notna(self) -> Self:
        """Where values are there.

        >>> x = df.notna()
        """
        return self._each(lambda s: s.notna())

    notnull = notna

    def isin(self, values: Iterable[Any]) -> Self:
        """Where values are in a public list.

        >>> x = df[["sex", "ward"]].isin(["F", "surgery"])
        """
        if isinstance(values, Mapping):
            raise PlanError("isin takes a list for all columns", do="test column by column")
        if isinstance(values, (str, Prisoner)) or not hasattr(values, "__iter__"):
            raise PlanError("isin takes a public list of values", do='df.isin(["F", "surgery"])')
        return self._each(lambda s: s.isin([v for v in values if v is None or s.domain.accepts(literal(v).value)]))

    def where(self, cond: Any, other: Any = None) -> Self:
        """Values kept where a condition (a column, or a table of conditions) holds.

        >>> x = df[["age", "days"]].where(df["sex"] == "F", 0)
        """
        return self._chosen("where", cond, other)

    def mask(self, cond: Any, other: Any = None) -> Self:
        """Values replaced where a condition (a column, or a table of conditions) holds.

        >>> x = df[["age", "days"]].mask(df["sex"] == "F", 0)
        """
        return self._chosen("mask", cond, other)

    def _chosen(self, method: str, cond: Any, other: Any) -> Self:
        if callable(cond) and not isinstance(cond, Prisoner):
            cond = cond(self)
        out = {}
        for name in self._exprs:
            condition = cond._series(name) if isinstance(cond, PrivDataFrame) else cond
            new = other._series(name) if isinstance(other, PrivDataFrame) else other
            out[name] = getattr(self._series(name), method)(condition, new)
        return self._all(out)

    def shift(self, periods: int = 1) -> Self:
        """Every column shifted.

        >>> x = df[["age", "days"]].shift(1)
        """
        return self._each(lambda s: s.shift(periods))

    def diff(self, periods: int = 1) -> Self:
        """Differences to the row above, in every column.

        >>> x = df[["age", "days"]].diff()
        """
        return self._each(lambda s: s.diff(periods))

    # -- private numbers

    @overload
    def count(self, axis: Literal[0, "index"] = 0) -> SensitiveSeries: ...
    @overload
    def count(self, axis: Literal[1, "columns"]) -> PrivSeries: ...
    def count(self, axis: Any = 0) -> SensitiveSeries | PrivSeries:
        """How many values of each column are not missing (axis=1: of each row, a private column).

        >>> present = df.count().reveal(eps=1)
        """
        if axis in (1, "columns"):
            return row_counts(self)
        return self._stacked({n: self._series(n).count()._value for n in self._exprs})

    @overload
    def sum(self, axis: Literal[0, "index"] = 0) -> SensitiveSeries: ...
    @overload
    def sum(self, axis: Literal[1, "columns"]) -> PrivSeries: ...
    def sum(self, axis: Any = 0) -> SensitiveSeries | PrivSeries:
        """The sum of each column, all of them bounded numbers (axis=1: of each row, a private column).

        >>> totals = df[["days", "age"]].sum().reveal(eps=1)
        """
        if axis in (1, "columns"):
            return row_sums(self)
        need_amounts(self._exprs, "df", "sum()")
        return self._stacked({n: Tally(self._rows, (), numeric(e)) for n, e in self._exprs.items()})

    def nunique(self) -> SensitiveSeries:
        """How many different values occur in each column.

        >>> x = df[["sex", "ward"]].nunique()
        """
        return self._stacked({n: self._series(n).nunique()._value for n in self._exprs})

    def _stacked(self, values: Mapping[Any, Value]) -> SensitiveSeries:
        if not values:
            raise PlanError("the table has no columns")
        return SensitiveSeries(Stack(tuple(values.values()), tuple(values)), None, (Axis(),))

    def value_counts(
        self, subset: Any = None, normalize: bool = False, sort: bool = True, ascending: bool = False,
        dropna: bool = True,
    ) -> SensitiveSeries | Deferred:  # fmt: skip
        """How often each combination of values occurs; sorted, and divided by the total, once it is released.

        >>> counts = df.value_counts(["sex", "ward"]).reveal(eps=1)
        """
        names = list(self._exprs) if subset is None else self._names(subset)
        keys = [(n, self._expr(n)) for n in names]
        return counted(self._rows, keys, sort=sort, ascending=ascending, normalize=normalize, dropna=dropna)

    # -- released statistics

    @overload
    def mean(self, *, axis: Literal[0, "index"] = 0, eps: Any) -> ReleasedSeries: ...
    @overload
    def mean(self, *, axis: Literal[1, "columns"], eps: None = None) -> PrivSeries: ...
    def mean(self, *, axis: Any = 0, eps: Any = None) -> ReleasedSeries | PrivSeries:
        """The mean of each column, for one eps in all (axis=1: of each row, a private column).

        >>> averages = df[["age", "cost"]].mean(eps=1)
        """
        from privjail.answers.released import series_of

        if axis in (1, "columns"):
            return row_means(self)
        if eps is None:
            raise no_price(self, "mean")
        need_amounts(self._exprs, "df", "mean(eps=0.1)")
        found = means(self._rows, self._exprs, eps)
        return series_of(found.values(), index=list(found))

    @several
    def _per_column(self, method: str, eps: Any, **kwargs: Any) -> dict[Any, Any]:
        columns = self._bounded(method)
        share = amount(eps) / len(columns)
        return {n: getattr(self._series(n), method)(eps=share, **kwargs) for n in columns}

    def _bounded(self, method: str) -> list[Any]:
        """The columns of numbers; those without bounds are left out, and named in a warning."""
        numbers = {n: numeric(e).domain for n, e in self._exprs.items() if _is_number(e.domain)}
        columns = [n for n, d in numbers.items() if isinstance(d, Numeric) and d.bounded]
        if not columns and not numbers:
            raise PlanError("the table has no column of numbers", do='convert with .astype("Float64"), or clip')
        if not columns:
            raise unbounded(self._plan())
        left = [n for n in numbers if n not in columns]
        if left:
            warn(f"{method} leaves out {', '.join(map(str, left))}: no bounds are known; use .clip(lower, upper)")
        return columns

    def _numbers(self) -> Self:
        """The columns of numbers, as numeric_only=True chooses them, without those that name persons and rows."""
        numbers = {n: e for n, e in self._exprs.items() if _is_number(e.domain)}
        amounts = {n: e for n, e in numbers.items() if not identifier(e)}
        return self._new(amounts or numbers)

    def _replace(self, changed: Any) -> None:
        """What inplace=True does."""
        if not isinstance(changed, PrivDataFrame):
            raise PlanError("inplace=True needs a result that is a table", do="leave out inplace=True")
        self._rows, self._exprs = changed._rows, changed._exprs

    def _released(self, method: str, eps: Any, **kwargs: Any) -> ReleasedSeries:
        from privjail.answers.released import series_of

        found = self._per_column(method, eps, **kwargs)
        return series_of(found.values(), index=list(found))

    def var(self, *, ddof: int = 1, eps: Any) -> ReleasedSeries:
        """The variance of each column of numbers, for one eps in all.

        >>> x = df[["age", "days"]].var(eps=1)
        """
        return self._released("var", eps, ddof=ddof)

    def std(self, *, ddof: int = 1, eps: Any) -> ReleasedSeries:
        """The standard deviation of each column of numbers, for one eps in all.

        >>> x = df[["age", "days"]].std(eps=1)
        """
        return self._released("std", eps, ddof=ddof)

    def sem(self, *, ddof: int = 1, eps: Any) -> ReleasedSeries:
        """The standard error of each column's mean, for one eps in all.

        >>> x = df[["age", "days"]].sem(eps=1)
        """
        return self._released("sem", eps, ddof=ddof)

    def skew(self, *, eps: Any) -> ReleasedSeries:
        """The skewness of each column of numbers, for one eps in all.

        >>> x = df[["age", "days"]].skew(eps=1)
        """
        return self._released("skew", eps)

    def kurt(self, *, eps: Any) -> ReleasedSeries:
        """The excess kurtosis of each column of numbers, for one eps in all.

        >>> x = df[["age", "days"]].kurt(eps=1)
        """
        return self._released("kurt", eps)

    kurtosis = kurt

    @overload
    def min(self, *, axis: Literal[0, "index"] = 0, eps: Any) -> ReleasedSeries: ...
    @overload
    def min(self, *, axis: Literal[1, "columns"], eps: None = None) -> PrivSeries: ...
    def min(self, *, axis: Any = 0, eps: Any = None) -> ReleasedSeries | PrivSeries:
        """A value of each column that few rows lie below, for one eps in all (axis=1: the least of each row).

        >>> x = df[["age", "days"]].min(eps=1)
        """
        if axis in (1, "columns"):
            return row_extremes(self, "<")
        if eps is None:
            raise no_price(self, "min")
        return self._released("min", eps)

    @overload
    def max(self, *, axis: Literal[0, "index"] = 0, eps: Any) -> ReleasedSeries: ...
    @overload
    def max(self, *, axis: Literal[1, "columns"], eps: None = None) -> PrivSeries: ...
    def max(self, *, axis: Any = 0, eps: Any = None) -> ReleasedSeries | PrivSeries:
        """A value of each column that few rows lie above, for one eps in all (axis=1: the largest of each row).

        >>> x = df[["age", "days"]].max(eps=1)
        """
        if axis in (1, "columns"):
            return row_extremes(self, ">")
        if eps is None:
            raise no_price(self, "max")
        return self._released("max", eps)

    def any(self, *, axis: Any = 0) -> PrivSeries:
        """axis=1: whether anything in a row is true. Down the columns it is refused: one row would decide it.

        >>> x = df.isna().any(axis=1)
        """
        return row_logic(self, "any", axis)

    def all(self, *, axis: Any = 0) -> PrivSeries:
        """axis=1: whether everything in a row is true. Down the columns it is refused: one row would decide it.

        >>> x = df.notna().all(axis=1)
        """
        return row_logic(self, "all", axis)

    @several
    def mode(self, *, eps: Any) -> pandas.DataFrame:
        """The most frequent value of each column, for one eps in all.

        >>> x = df[["sex", "ward"]].mode(eps=1)
        """
        import pandas

        share = amount(eps) / max(len(self._exprs), 1)
        return pandas.DataFrame({n: self._series(n).mode(eps=share) for n in self._exprs})

    def corr(self, *, eps: Any) -> ReleasedFrame:
        """The correlation of each two columns of numbers, for one eps in all.

        >>> x = df[["age", "days", "cost"]].corr(eps=1)
        """
        return self._matrix(correlations(self._rows, self._numeric_exprs("corr"), eps))

    def cov(self, *, ddof: int = 1, eps: Any) -> ReleasedFrame:
        """The covariance of each two columns of numbers, for one eps in all.

        >>> x = df[["age", "days", "cost"]].cov(eps=1)
        """
        return self._matrix(covariances(self._rows, self._numeric_exprs("cov"), eps, ddof))

    @several
    def corrwith(self, other: PrivSeries, *, eps: Any) -> ReleasedSeries:
        """The correlation of each column of numbers with one other column, for one eps in all.

        >>> x = df[["age", "days"]].corrwith(df["cost"], eps=1)
        """
        from privjail.answers.released import series_of

        columns = self._bounded("corrwith")
        share = amount(eps) / len(columns)
        mine = getattr(other, "_expr", None)
        found = [1.0 if self._exprs[n] is mine else self._series(n).corr(other, eps=share) for n in columns]
        return series_of(found, index=columns)

    def _numeric_exprs(self, method: str) -> dict[Any, Expr]:
        return {n: self._exprs[n] for n in self._bounded(method)}

    def _matrix(self, found: Mapping[tuple[Any, Any], float]) -> ReleasedFrame:
        from privjail.answers.released import frame_of

        names = [n for n in self._exprs if any(n == a for a, _ in found)]
        return frame_of({b: [found.get((a, b), 1.0) for a in names] for b in names}, index=names)

    def agg(self, func: Any = None, *, eps: Any, **named: Any) -> pandas.Series[float] | pandas.DataFrame:
        """Statistics by their names: one, a list, a dict by column, or named results; for one eps in all.

        >>> x = df.agg({"age": ["mean", "std"], "cost": "sum"}, eps={"age": 1, "cost": 0.5})
        """
        return frame_agg(self, func, eps, named)

    aggregate = agg

    def pivot_table(
        self, values: Any = None, index: Any = None, columns: Any = None, aggfunc: Any = "mean",
        fill_value: Any = None, margins: bool = False, dropna: bool = True, margins_name: str = "All", *, eps: Any,
    ) -> pandas.DataFrame:  # fmt: skip
        """Statistics of groups, those of ``index`` down and those of ``columns`` across, for one eps in all.

        >>> x = df.pivot_table(values="cost", index="ward", columns="sex", aggfunc="mean", eps=1)
        """
        from privjail.pandas.pivot import pivot

        found: pandas.DataFrame = pivot(self, values, index, columns, aggfunc, fill_value, margins, margins_name, eps)
        return found

    def median(self, *, eps: Any) -> ReleasedSeries:
        """The median of each column of numbers, for one eps in all.

        >>> x = df[["age", "days"]].median(eps=1)
        """
        return self._released("median", eps)

    def quantile(self, q: Any = 0.5, *, eps: Any) -> ReleasedSeries | ReleasedFrame:
        """A quantile (or several) of each column of numbers, for one eps in all.

        >>> x = df[["age", "days"]].quantile([0.25, 0.75], eps=1)
        """
        from privjail.answers.released import frame_of

        if isinstance(q, (list, tuple)):
            return frame_of(self._per_column("quantile", eps, q=q))
        return self._released("quantile", eps, q=q)

    def describe(
        self, percentiles: Any = None, include: Any = None, exclude: Any = None, *, eps: Any
    ) -> pandas.DataFrame:  # fmt: skip
        """count, mean, std, min, quartiles and max of each column of numbers, for one eps in all.

        include="all": of categories too, count, unique, top and freq. Numbers without bounds are left out, and named.

        >>> x = df[["age", "days"]].describe(eps=1)
        """
        from privjail.answers.released import frame_of

        table = self if include in (None, "all") and exclude is None else self.select_dtypes(include, exclude)
        labels = [n for n, e in table._exprs.items() if isinstance(e.domain, (CategoryDomain, BoolDomain))]
        numbers = [n for n in table._numbers()._exprs if n not in labels]
        if not numbers or include == "all":
            return table._described(numbers, labels, eps, percentiles)
        return frame_of(table[numbers]._per_column("describe", eps, percentiles=percentiles))

    @several
    def _described(self, numbers: list[Any], labels: list[Any], eps: Any, percentiles: Any) -> pandas.DataFrame:
        """Numbers and categories in one table, as include="all" has them."""
        import pandas

        numbers = self[numbers]._bounded("describe") if numbers else []
        if not numbers and not labels:
            raise PlanError("the table has no column of numbers or categories", do='`df[["a", "g"]].describe(eps=0.1)`')
        left = [n for n in self._exprs if n not in (*numbers, *labels) and not _is_number(self._exprs[n].domain)]
        if left:
            warn(f"describe leaves out {', '.join(map(str, left))}: of text and dates there is no summary here")
        share = amount(eps) / (len(numbers) + len(labels))
        parts = {n: self._series(n).describe(percentiles, eps=share) for n in self._exprs if n in [*numbers, *labels]}
        rows = list(dict.fromkeys(x for n in [*labels, *numbers] for x in parts[n].index))
        return pandas.DataFrame(parts).reindex(rows)

    def hist(self, column: Any = None, *, bins: Any = 10, eps: Any) -> ReleasedSeries | dict[Any, ReleasedSeries]:
        """Noisy counts of a column in intervals; of several columns a dict, for one eps in all.

        >>> counts = df.hist("age", bins=12, eps=1)
        """
        if isinstance(column, str):
            return self._series(column).hist(eps=eps, bins=bins)
        table = self if column is None else self[list(column)]
        return table._per_column("hist", eps, bins=bins)


class Domains(Mapping[Any, Domain]):
    """The domain of each column, by its name."""

    def __init__(self, exprs: Mapping[Any, Expr]) -> None:
        self._exprs = exprs

    def __getitem__(self, name: Any) -> Domain:
        return self._exprs[name].domain

    def __iter__(self) -> Iterator[Any]:
        return iter(self._exprs)

    def __len__(self) -> int:
        return len(self._exprs)

    def __repr__(self) -> str:
        return repr(dict(self))


def _named(columns: list[Any], wanted: Any) -> str:
    """The columns that there are; of many, those that look like the one that was wanted first."""
    if len(columns) <= MOST_NAMED:
        return ", ".join(map(str, columns))
    alike = get_close_matches(str(wanted), map(str, columns), MOST_NAMED)
    first = dict.fromkeys([*alike, *map(str, columns)])
    return f"{', '.join(list(first)[:MOST_NAMED])}, … {len(columns) - MOST_NAMED} more"


def _is_number(domain: Domain) -> bool:
    return isinstance(domain, (Numeric, BoolDomain)) and not isinstance(domain, TimeDomain)


def _takes(domain: Domain, value: Any) -> bool:
    """Whether a constant can stand in a column; a category may be a new one, an untyped column holds anything."""
    if isinstance(domain, (CategoryDomain, UntypedDomain)):
        return isinstance(value, str) or domain.accepts(value)
    return domain.accepts(value)


def _types(given: Any) -> set[str]:
    listed = [] if given is None else [given] if isinstance(given, (str, type)) else list(given)
    names = {t.__name__ if isinstance(t, type) else str(t) for t in listed}
    names |= {"Int64", "Float64"} if "number" in names else set()
    return {TYPES.get(n, n) for n in names}
