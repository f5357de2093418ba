"""PrivDataFrame: a private table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from privjail.errors import PlanError, RowsError
from privjail.ops.carried import Constant
from privjail.ops.filter import keep
from privjail.ops.isin import IsNull
from privjail.ops.logic import Logic, negation
from privjail.ops.numbers import Scale, Stack
from privjail.ops.slice import Slice
from privjail.ops.sort import Sort
from privjail.ops.tally import Tally
from privjail.ops.where import NullWhere, Where
from privjail.pandas.groups import PrivDataFrameGroupBy
from privjail.pandas.join import join_public
from privjail.pandas.query import parse_query
from privjail.pandas.refusals import refuse
from privjail.pandas.rowwise import constant_like, literal, numeric, same_rows
from privjail.pandas.series import PrivSeries
from privjail.pandas.show import facts, facts_html
from privjail.pandas.slicing import Iloc, bounded, carried
from privjail.pandas.statistics import means
from privjail.pandas.vectors import SensitiveSeries
from privjail.plan.distance import Distance
from privjail.plan.domain import BoolDomain, Domain, Numeric, TimeDomain, UntypedDomain
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows
from privjail.prisoner import Prisoner
from privjail.sensitive import number


class PrivDataFrame(Prisoner):
    """A private table: rows that nobody sees, and public column names with expressions over the rows."""

    _shown_class = "pandas.core.frame.DataFrame"
    _way_out = "count, sum or average it, and release the result: .shape[0].reveal(eps=…), .mean(eps=…)"

    def __init__(self, rows: Rows, columns: Mapping[str, Expr]) -> None:
        self._rows = rows
        self._exprs = dict(columns)

    def __getattr__(self, name: str) -> Any:
        exprs = self.__dict__.get("_exprs", {})
        if name in exprs:
            return self[name]
        return refuse(self, name)

    # -- facts

    @property
    def distance(self) -> Distance:
        return self._rows.distance

    @property
    def columns(self) -> Any:
        import pandas

        return pandas.Index(list(self._exprs), dtype=object)

    @property
    def domains(self) -> dict[str, Domain]:
        """The domain of each column."""
        return {name: expr.domain for name, expr in self._exprs.items()}

    @property
    def dtypes(self) -> Any:
        import pandas

        return pandas.Series({name: expr.domain.dtype for name, expr in self._exprs.items()}, dtype=object)

    @property
    def shape(self) -> tuple[Any, int]:
        return (number(Tally(self._rows, (), None)), len(self._exprs))

    @property
    def size(self) -> Any:
        from fractions import Fraction

        return number(Scale(Tally(self._rows, (), None), Fraction(len(self._exprs))))

    ndim = 2

    def _plan(self) -> str:
        return str(self._rows)

    def __str__(self) -> str:
        return facts(Prisoner.__repr__(self), self._rows, self._exprs)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return facts_html(Prisoner.__repr__(self), self._rows, self._exprs)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name in self._exprs if name.isidentifier())]

    def __contains__(self, name: Any) -> bool:
        return name in self._exprs

    def keys(self) -> Any:
        return self.columns

    # -- columns

    def _new(self, columns: Mapping[str, Expr], rows: Rows | None = None) -> PrivDataFrame:
        return PrivDataFrame(self._rows if rows is None else rows, columns)

    def _expr(self, name: Any) -> Expr:
        if name not in self._exprs:
            raise PlanError(f"there is no column {name!r}", do=f"the columns are {', '.join(self._exprs)}")
        return self._exprs[name]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, PrivSeries):
            return self._filtered(key)
        if isinstance(key, (list, tuple)) or type(key).__name__ == "Index":
            return self._new({name: self._expr(name) for name in key})
        if isinstance(key, slice):
            return self.iloc[key]
        if isinstance(key, Prisoner):
            raise PlanError("a table is filtered by one true/false column of its own")
        return PrivSeries(self._rows, self._expr(key), key)

    def _filtered(self, condition: PrivSeries) -> PrivDataFrame:
        if condition._rows is self._rows:
            return self._new(self._exprs, keep(self._rows, condition._expr))
        rows, exprs = same_rows((condition._rows, condition._expr), *((self._rows, e) for e in self._exprs.values()))
        return PrivDataFrame(keep(rows, exprs[0]), dict(zip(self._exprs, exprs[1:], strict=True)))

    def __setitem__(self, key: Any, value: Any) -> None:
        """Set a column (to another column of the same rows, or a constant), or set values where a condition holds."""
        changed = self._masked(key, value) if isinstance(key, PrivSeries) else self.assign(**{str(key): value})
        self._rows, self._exprs = changed._rows, changed._exprs

    def __delitem__(self, name: Any) -> None:
        self._expr(name)
        del self._exprs[name]

    def assign(self, **columns: Any) -> PrivDataFrame:
        """A table with further or changed columns."""
        table = self._new(self._exprs)
        for name, value in columns.items():
            if callable(value) and not isinstance(value, Prisoner):
                value = value(table)
            if isinstance(value, PrivSeries):
                rows, exprs = same_rows((value._rows, value._expr), *((table._rows, e) for e in table._exprs.values()))
                table = PrivDataFrame(rows, dict(zip(table._exprs, exprs[1:], strict=True)) | {name: exprs[0]})
            elif isinstance(value, Prisoner):
                raise PlanError(f"column {name!r} cannot be set to a private number or table")
            elif isinstance(value, (list, tuple)) or hasattr(value, "__array__"):
                raise RowsError(
                    f"column {name!r} cannot be set to a public list: which row comes where is private",
                    do="compute it from columns, or join a public table on a key with .merge(…)",
                )
            else:
                table = table._new(table._exprs | {name: Constant(literal(value))})
        return table

    def _masked(self, condition: PrivSeries, value: Any) -> PrivDataFrame:
        return self._new({n: self._with_mask(e, condition, value) for n, e in self._exprs.items()})

    def _with_mask(self, expr: Expr, condition: PrivSeries, value: Any) -> Expr:
        if condition._rows is not self._rows:
            raise RowsError("the condition does not belong to the rows of this table")
        if value is None:
            return NullWhere(condition._expr, expr)
        if isinstance(value, PrivSeries):
            if value._rows is not self._rows:
                raise RowsError("the new values do not belong to the rows of this table")
            return Where(condition._expr, value._expr, expr)
        return Where(condition._expr, constant_like(value, expr.domain), expr)

    def drop(self, labels: Any = None, *, columns: Any = None, axis: Any = 0) -> PrivDataFrame:
        """Without some columns."""
        if columns is None and axis in (1, "columns"):
            columns = labels
        if columns is None:
            raise PlanError("rows have no public labels", do="drop columns with drop(columns=…), filter rows")
        gone = [columns] if isinstance(columns, str) else list(columns)
        for name in gone:
            self._expr(name)
        return self._new({n: e for n, e in self._exprs.items() if n not in gone})

    def rename(self, mapper: Any = None, *, columns: Any = None, axis: Any = 0) -> PrivDataFrame:
        """Other names for columns."""
        names = mapper if columns is None and axis in (1, "columns") else columns
        if not isinstance(names, Mapping) and not callable(names):
            raise PlanError("rename takes columns={old: new}")
        new = [names(n) if callable(names) else names.get(n, n) for n in self._exprs]
        if len(set(new)) != len(new):
            raise PlanError("two columns would have the same name")
        return self._new(dict(zip(map(str, new), self._exprs.values(), strict=True)))

    def select_dtypes(self, include: Any) -> PrivDataFrame:
        """The columns of some types."""
        wanted = {include} if isinstance(include, str) else set(include)
        numbers = {"Int64", "Float64"} if "number" in wanted else set()
        return self._new({n: e for n, e in self._exprs.items() if e.domain.dtype in wanted | numbers})

    def copy(self, deep: bool = True) -> PrivDataFrame:
        """A table that can be given other columns without changing this one."""
        return self._new(self._exprs)

    def pipe(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """f(self, …)."""
        return f(self, *args, **kwargs)

    def merge(self, right: Any, *, on: Any, how: str = "left") -> PrivDataFrame:
        """Join with a public table (a pandas frame) on a key that is unique there."""
        return join_public(self, right, on, how)

    # -- the same on every column

    def _each(self, f: Callable[[PrivSeries], PrivSeries], only: Callable[[Domain], bool] | None = None) -> Any:
        out = {}
        for name, expr in self._exprs.items():
            untouched = only is not None and not only(expr.domain)
            out[name] = expr if untouched else f(PrivSeries(self._rows, expr, name))._expr
        return self._new(out)

    def _elementwise(self, other: Any, op: str) -> PrivDataFrame:
        out = {}
        for name, expr in self._exprs.items():
            mine = PrivSeries(self._rows, expr, name)
            if isinstance(other, PrivDataFrame):
                if set(other._exprs) != set(self._exprs):
                    raise PlanError("two tables are combined only if they have the same columns")
                theirs: Any = other[name]
                if theirs._rows is not self._rows:
                    raise RowsError("the tables do not have the same rows in the same order")
            else:
                theirs = other
            out[name] = getattr(mine, op)(theirs)._expr
        return self._new(out)

    def fillna(self, value: Any) -> PrivDataFrame:
        """Missing values replaced: by one constant, or by a dict of one for each column."""
        if isinstance(value, Mapping):
            return self.assign(**{n: self[n].fillna(v) for n, v in value.items()})
        out: PrivDataFrame = self._each(lambda s: s.fillna(value))
        return out

    def replace(self, to_replace: Any, value: Any = None) -> PrivDataFrame:
        """Values replaced in every column that can hold them."""
        pairs = to_replace if isinstance(to_replace, Mapping) else {to_replace: value}

        def fits(domain: Domain) -> bool:
            return any(domain.accepts(literal(k).value) for k in pairs)

        out: PrivDataFrame = self._each(
            lambda s: s.replace({k: v for k, v in pairs.items() if s.domain.accepts(literal(k).value)}), fits
        )
        return out

    def astype(self, dtype: Any) -> PrivDataFrame:
        """Other types, for all columns or by a dict."""
        if isinstance(dtype, Mapping):
            return self.assign(**{n: self[n].astype(t) for n, t in dtype.items()})
        out: PrivDataFrame = self._each(lambda s: s.astype(dtype))
        return out

    def clip(self, lower: Any = None, upper: Any = None) -> PrivDataFrame:
        """All columns of numbers bounded."""
        out: PrivDataFrame = self._each(lambda s: s.clip(lower, upper))
        return out

    def round(self, decimals: int = 0) -> PrivDataFrame:
        """All columns of numbers rounded."""
        out: PrivDataFrame = self._each(lambda s: s.round(decimals), _is_number)
        return out

    def abs(self) -> PrivDataFrame:
        """Absolute values."""
        out: PrivDataFrame = self._each(lambda s: s.abs())
        return out

    def isna(self) -> PrivDataFrame:
        """Where values are missing."""
        out: PrivDataFrame = self._each(lambda s: s.isna())
        return out

    isnull = isna

    def notna(self) -> PrivDataFrame:
        """Where values are there."""
        out: PrivDataFrame = self._each(lambda s: s.notna())
        return out

    notnull = notna

    def isin(self, values: Any) -> PrivDataFrame:
        """Where values are in a public list."""
        out: PrivDataFrame = self._each(lambda s: s.isin(values))
        return out

    def where(self, cond: Any, other: Any = None) -> PrivDataFrame:
        """Values kept where a condition holds."""
        out: PrivDataFrame = self._each(lambda s: s.where(cond, other))
        return out

    def mask(self, cond: Any, other: Any = None) -> PrivDataFrame:
        """Values replaced where a condition holds."""
        out: PrivDataFrame = self._each(lambda s: s.mask(cond, other))
        return out

    def shift(self, periods: int = 1) -> PrivDataFrame:
        """Every column shifted."""
        series = [PrivSeries(self._rows, e, n).shift(periods) for n, e in self._exprs.items()]
        return PrivDataFrame(series[0]._rows, {str(s.name): s._expr for s in series})

    def diff(self, periods: int = 1) -> PrivDataFrame:
        """Differences to the row above, in every column."""
        series = [PrivSeries(self._rows, e, n).diff(periods) for n, e in self._exprs.items()]
        return PrivDataFrame(series[0]._rows, {str(s.name): s._expr for s in series})

    # -- rows

    @property
    def loc(self) -> Loc:
        return Loc(self)

    @property
    def iloc(self) -> Any:
        return Iloc(self._window)

    def _window(self, start: int | None, stop: int | None) -> PrivDataFrame:
        rows = Slice(self._rows, start, stop)
        return self._new({n: carried(rows, e) for n, e in self._exprs.items()}, rows)

    def head(self, n: int = 5) -> PrivDataFrame:
        """The first rows."""
        return self._window(*bounded("head", n))

    def tail(self, n: int = 5) -> PrivDataFrame:
        """The last rows."""
        return self._window(*bounded("tail", n))

    def query(self, text: str) -> PrivDataFrame:
        """Rows that meet a condition written as text, e.g. ``query("age > 40 and sex == 'F'")``."""
        condition: PrivSeries = parse_query(text, self)
        return self._filtered(condition)

    def sort_values(self, by: Any, *, ascending: Any = True, kind: str = "stable") -> PrivDataFrame:
        """Sorted by columns, ties in their order, missing values last."""
        names = [by] if isinstance(by, str) else list(by)
        up = [ascending] * len(names) if isinstance(ascending, bool) else list(ascending)
        if len(up) != len(names):
            raise PlanError("ascending needs one direction for each column")
        keys = tuple(self._expr(n) for n in names)
        return self._new(self._exprs, Sort(self._rows, keys, tuple(int(not a) for a in up)))

    def dropna(self, *, subset: Any = None, how: str = "any") -> PrivDataFrame:
        """Rows without missing values (how='all': rows in which not everything is missing)."""
        names = [subset] if isinstance(subset, str) else list(self._exprs if subset is None else subset)
        nulls: list[Expr] = [IsNull(self._expr(n)) for n in names if self._expr(n).domain.nullable]
        if how not in ("any", "all"):
            raise PlanError(f"how must be 'any' or 'all', got {how!r}")
        rows = self._rows
        if how == "any":
            for null in nulls:
                rows = keep(rows, negation(null))
        elif nulls and len(nulls) == len(names):
            every = nulls[0]
            for null in nulls[1:]:
                every = Logic("&", every, null)
            rows = keep(rows, negation(every))
        return self._new(self._exprs, rows)

    def groupby(self, by: Any, *, sort: bool = True, observed: bool = False, dropna: bool = True) -> Any:
        """Groups by one or more columns with finitely many values; absent values give empty groups."""
        if observed or not dropna:
            raise PlanError(
                "which groups occur is private: every possible group is there, and rows without a key in none"
            )
        keys = [by] if isinstance(by, (str, PrivSeries)) else list(by)
        return PrivDataFrameGroupBy(self, keys)

    # -- private numbers and released statistics

    def count(self) -> SensitiveSeries:
        """How many values of each column are not missing."""
        return self._stacked({n: PrivSeries(self._rows, e, n).count()._value for n, e in self._exprs.items()})

    def sum(self) -> SensitiveSeries:
        """The sum of each column; all must be bounded numbers."""
        return self._stacked({n: Tally(self._rows, (), numeric(e)) for n, e in self._exprs.items()})

    def nunique(self) -> SensitiveSeries:
        """How many of its possible values occur in each column."""
        return self._stacked({n: PrivSeries(self._rows, e, n).nunique()._value for n, e in self._exprs.items()})

    def _stacked(self, values: dict[str, Any]) -> SensitiveSeries:
        if not values:
            raise PlanError("the table has no columns")
        return SensitiveSeries(Stack(tuple(values.values()), tuple(values)), None, (None,))

    def value_counts(self, subset: Any = None, *, sort: bool = True) -> Any:
        """How often each combination of values occurs."""
        names = list(self._exprs) if subset is None else list(subset)
        if sort:
            raise PlanError("value_counts() would show an order by frequency", do="use value_counts(sort=False)")
        return SensitiveSeries(Tally(self._rows, tuple(self._expr(n) for n in names), None), "count", tuple(names))

    def mean(self, *, eps: Any) -> Any:
        """The mean of each column, for one eps in all."""
        import pandas

        return pandas.Series(means(self._rows, self._exprs, eps))

    def _numbers(self) -> dict[str, Expr]:
        chosen = {n: e for n, e in self._exprs.items() if _is_number(e.domain)}
        if not chosen:
            raise PlanError("the table has no column of numbers")
        return chosen

    def _per_column(self, method: str, eps: Any, **kwargs: Any) -> dict[str, Any]:
        from privjail.budget.amounts import amount

        columns = self._numbers()
        share = amount(eps) / len(columns)
        return {n: getattr(PrivSeries(self._rows, e, n), method)(eps=share, **kwargs) for n, e in columns.items()}

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

    def quantile(self, q: float = 0.5, *, eps: Any) -> Any:
        """A quantile of each column of numbers, for one eps in all."""
        return self._released("quantile", eps, q=q)

    def describe(self, *, eps: Any) -> Any:
        """count, mean, std, min, quartiles and max of each column of numbers, for one eps in all."""
        import pandas

        return pandas.DataFrame(self._per_column("describe", eps))

    def hist(self, column: str, *, eps: Any, bins: Any = 10) -> Any:
        """Noisy counts of a column in intervals."""
        return self[column].hist(eps=eps, bins=bins)


def _is_number(domain: Domain) -> bool:
    if isinstance(domain, UntypedDomain):
        return False
    return isinstance(domain, (Numeric, BoolDomain)) and not isinstance(domain, TimeDomain)


class Loc:
    """df.loc[condition], df.loc[condition, columns], df.loc[:, columns], and assignment to them."""

    def __init__(self, frame: PrivDataFrame) -> None:
        self._frame = frame

    @staticmethod
    def _parts(key: Any) -> tuple[Any, Any]:
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        if not isinstance(rows, PrivSeries) and rows != slice(None):
            raise PlanError("rows have no public labels", do="use a condition: df.loc[df['age'] > 40]")
        return rows, columns

    def __getitem__(self, key: Any) -> Any:
        rows, columns = self._parts(key)
        table = self._frame[rows] if isinstance(rows, PrivSeries) else self._frame
        return table if isinstance(columns, slice) else table[columns]

    def __setitem__(self, key: Any, value: Any) -> None:
        rows, columns = self._parts(key)
        frame = self._frame
        every = isinstance(columns, slice)
        names = list(frame._exprs) if every else [columns] if isinstance(columns, str) else list(columns)
        for name in names:
            if isinstance(rows, PrivSeries):
                changed = frame._with_mask(frame._expr(name), rows, value)
                frame._exprs = frame._exprs | {name: changed}
            else:
                frame[name] = value


def _operator(op: str) -> Any:
    def method(self: PrivDataFrame, other: Any) -> PrivDataFrame:
        return self._elementwise(other, op)

    return method


for _op in ("add", "sub", "mul", "truediv", "floordiv", "mod", "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "xor"):
    setattr(PrivDataFrame, f"__{_op}__", _operator(f"__{_op}__"))
    if _op in ("add", "sub", "mul", "truediv", "floordiv", "mod"):
        setattr(PrivDataFrame, f"__r{_op}__", _operator(f"__r{_op}__"))
PrivDataFrame.__hash__ = Prisoner.__hash__  # type: ignore[method-assign]
