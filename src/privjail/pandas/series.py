"""PrivSeries: a private column.

One class with every method that an analyst can call on a column: each builds nodes, or asks a statistic of
``privjail.statistics``. It is long because pandas' Series is; nothing in it is trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, overload

from privjail.answers.answer import Answer
from privjail.errors import PlanError, RowsError, warn
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.cast import Cast, Categorise
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.function import Function
from privjail.ops.columns.isin import IsIn, IsNull
from privjail.ops.columns.logic import Logic, negation
from privjail.ops.columns.recode import Recode
from privjail.ops.columns.where import FillNull, NullWhere, Where
from privjail.ops.numbers.distinct import Distinct
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import keep
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.per_person import Aggregate, PerPerson
from privjail.ops.rows.slice import Slice
from privjail.ops.rows.sort import Sort
from privjail.pandas.accessors import Categories, DateTimes, Strings
from privjail.pandas.aggregate import series_agg
from privjail.pandas.axes import Axis, index_of, public_name
from privjail.pandas.columns import every_value, mapped, rounded, shifted
from privjail.pandas.counting import counted
from privjail.pandas.dates import clipped, fitted, kind_of, listed, operated, shown_type
from privjail.pandas.deferred import Deferred
from privjail.pandas.identifiers import no_list, refuse_groups
from privjail.pandas.joined_text import joined
from privjail.pandas.operators import COMPARISONS, LOGIC, Operators
from privjail.pandas.people import found_in, looked_up, person_of
from privjail.pandas.priced import no_price, priced
from privjail.pandas.private_keys import PRICE, key_counts
from privjail.pandas.refusals import refuse, refuse_row_numbers
from privjail.pandas.retyping import retyped
from privjail.pandas.rolling import Rolling
from privjail.pandas.show import facts_html
from privjail.pandas.slicing import Iloc, bounded, carried, nulls_last
from privjail.pandas.traced import Value, traced
from privjail.pandas.vectors import SensitiveSeries
from privjail.plan.distance import Distance
from privjail.plan.domain import BoolDomain, CategoryDomain, Domain, FloatDomain, IntDomain, OrdinalDomain, TimeDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.prisoner import Prisoner
from privjail.rowwise import compared, computed, constant_like, is_missing, literal, numeric, same_rows, typed
from privjail.samples import drawn
from privjail.sensitive import SensitiveFloat, SensitiveInt, number
from privjail.statistics.bounds import found_bounds
from privjail.statistics.correlation import correlations, covariances
from privjail.statistics.describe import describe, describe_labels
from privjail.statistics.histogram import binned, histogram, intervals
from privjail.statistics.mean import means
from privjail.statistics.quantile import extreme, quantiles
from privjail.statistics.shape import kurt, sem, skew
from privjail.statistics.variance import deviation, variance

if TYPE_CHECKING:
    import numpy.typing

    import pandas
    from privjail.answers.released import ReleasedSeries
    from privjail.numpy.arrays import PrivArray
    from privjail.pandas.frame import PrivDataFrame
    from privjail.pandas.groups import PrivSeriesGroupBy

T = TypeVar("T")
ACCESSORS: dict[str, Callable[..., Any]] = {"str": Strings, "dt": DateTimes, "cat": Categories}
Text = str  # inside PrivSeries the name ``str`` is the accessor
_SIZES = {f"{kind}{n}": kind for kind in ("Int", "UInt", "int", "uint", "Float", "float") for n in (8, 16, 32, 64)}
#: what numpy and pandas call types; how many bits a number takes is the jail's own business
TYPES = {**{name: "Float64" if "loat" in kind else "Int64" for name, kind in _SIZES.items()},
         "int": "Int64", "float": "Float64", "bool": "boolean",
         "str": "string", "object": "string"}  # fmt: skip


@priced
class PrivSeries(Operators):
    """A private column: rows that nobody sees, and one expression over them."""

    _shown_class = "pandas.core.series.Series"
    _way_out = "count or sum it, and release the result: .sum().reveal(eps=…), .mean(eps=…)"
    ndim = 1

    def __init__(self, rows: Rows, expr: Expr, name: Any = None) -> None:
        self._rows, self._expr, self.name = rows, expr, name

    if not TYPE_CHECKING:  # to mypy and editors a misspelt method is an error

        def __getattr__(self, name: Text) -> Any:
            if name in ACCESSORS:  # of a column that has none: Python asks here once more, and loses the reason
                return ACCESSORS[name](self)
            return refuse(self, name)

    def _new(self, expr: Expr, rows: Rows | None = None) -> Self:
        return type(self)(self._rows if rows is None else rows, expr, self.name)

    def _table(self, columns: Mapping[Any, Expr]) -> PrivDataFrame:
        from privjail.pandas.frame import PrivDataFrame

        return PrivDataFrame(self._rows, columns)

    # -- public facts

    @property
    def distance(self) -> Distance:
        return self._rows.distance

    @property
    def domain(self) -> Domain:
        """The values that the column may hold: public.

        >>> print(df["age"].domain)
        Int64 [0, 120]
        """
        return self._expr.domain

    @property
    def dtype(self) -> Text:
        """The type of the column.

        >>> df["age"].dtype
        'Int64'
        """
        return shown_type(self._expr.domain)

    dtypes = dtype

    @property
    def shape(self) -> tuple[SensitiveInt | SensitiveFloat]:
        """The number of rows, as a private number.

        >>> df["age"].shape[0].reveal(eps=1)
        ≈ 2000
        """
        return (number(Tally(self._rows, (), None)),)

    @property
    def size(self) -> SensitiveInt | SensitiveFloat:
        """The number of rows, as a private number.

        >>> df["age"].size.reveal(eps=1)
        ≈ 2000
        """
        return self.shape[0]

    def _plan(self) -> Text:
        return f"{self._rows} | {self._expr}"

    def __str__(self) -> Text:
        cells = ", ".join(map(Text, self._rows.cells[:3])) or "nowhere"
        return f"{Prisoner.__repr__(self)}\n  {self.name}: {self.domain}\n  cell: {cells}"

    __repr__ = __str__

    def _repr_html_(self) -> Text:
        return facts_html(Prisoner.__repr__(self), self._rows, {Text(self.name): self._expr})

    # -- operators

    def _like(self, array: PrivArray) -> Any:
        return self._new(array._flat[0]) if array.ndim == 1 else array

    def _operate(self, op: Text, other: Any, flip: bool = False) -> Self:
        if isinstance(other, Prisoner) or isinstance(self._expr.domain, (TimeDomain, OrdinalDomain)):
            of_time: Self | None = operated(self, op, other, flip)
            if of_time is not None:
                return of_time
        if op == "+":
            text: Self | None = joined(self, other, flip)
            if text is not None:
                return text
        if op in COMPARISONS:
            if isinstance(other, Prisoner):
                return self._binary(other, lambda a, b: compared(op, a, b))
            return self._new(compared(op, self._expr, other))
        if op in LOGIC:
            return self._binary(other, lambda a, b: Logic(op, a, b))
        if op == "**":
            return self._power(other, flip)
        return self._binary(other, lambda a, b: computed(op, a, b), flip)

    def _binary(self, other: Any, build: Callable[[Expr, Expr], Expr], flip: bool = False) -> Self:
        """A row-wise function of this column and another, or a public constant."""
        from privjail.numpy.arrays import PrivArray

        if isinstance(other, PrivSeries):
            rows, (a, b) = same_rows((self._rows, self._expr), (other._rows, other._expr))
        elif isinstance(other, PrivArray) and other.ndim == 1:
            rows, (a, b) = same_rows((self._rows, self._expr), (other._rows, other._flat[0]))
        elif isinstance(other, Prisoner):
            raise PlanError("a column is not combined with a private number or table", do="release the number first")
        else:
            rows, a = self._rows, self._expr
            b = constant_like(other)
        return self._new(build(b, a) if flip else build(a, b), rows)

    def _power(self, power: Any, flip: bool) -> Self:
        if flip:
            raise PlanError("a column in the exponent has no rule", do="use .exp() after multiplying by a logarithm")
        if isinstance(power, float) and power == 0.5:
            return self.sqrt()
        if type(power) is not int or not 1 <= power <= 8:
            raise PlanError("** takes whole numbers from 1 to 8, or 0.5")
        result = self
        for _ in range(power - 1):
            result = result * self
        return result

    def __abs__(self) -> Self:
        return self.abs()

    def __invert__(self) -> Self:
        return self._new(negation(self._expr))

    def __round__(self, digits: Any = None) -> Self:
        return self.round(digits or 0)

    # -- functions of one number

    def _function(self, f: Text, digits: int = 0) -> Self:
        return self._new(Function(f, numeric(self._expr), digits))

    def abs(self) -> Self:
        """The absolute value of each number.

        >>> x = (df["age"] - 50).abs()
        """
        if kind_of(self._expr) == "span":
            return self._new(Function("abs", self._expr, 0))
        return self._function("abs")

    def round(self, decimals: int = 0) -> Self:
        """Each number rounded.

        >>> x = df["cost"].round(1)
        """
        return self._new(rounded(numeric(self._expr), decimals))

    def floor(self) -> Self:
        """The next whole number below each number.

        >>> x = (df["age"] / 10).floor()
        """
        return self._function("floor")

    def ceil(self) -> Self:
        """The next whole number above each number.

        >>> x = (df["age"] / 10).ceil()
        """
        return self._function("ceil")

    def sqrt(self) -> Self:
        """Square roots; missing for negative numbers.

        >>> x = df["cost"].sqrt()
        """
        return self._function("sqrt")

    def exp(self) -> Self:
        """Exponentials.

        >>> x = (df["age"] / 100).exp()
        """
        return self._function("exp")

    def log(self) -> Self:
        """Natural logarithms; missing for numbers ≤ 0.

        >>> x = (df["cost"] + 1).log()
        """
        return self._function("log")

    def clip(self, lower: Any = None, upper: Any = None, *, eps: Any = None) -> Self:
        """Bound the column: values outside become the bound. ``clip("auto", eps=…)`` finds bounds that hold almost all
        values; they are released, and stand in ``domain``.

        >>> df["cost"].clip(0, 5000).domain.upper
        5000.0
        """
        if isinstance(lower, str) and lower == "auto":
            if eps is None:
                raise no_price(self, "clip", True)
            if upper is not None:
                raise PlanError('clip("auto") finds both bounds', do='clip("auto", eps=0.1), or clip(0, 100)')
            low, high = found_bounds(self._rows, self._expr, eps)
            whole = isinstance(numeric(self._expr).domain, IntDomain)
            return self.clip(int(low), int(high)) if whole else self.clip(low, high)
        if eps is not None:
            raise PlanError("clip() with given bounds releases nothing, so it costs nothing", do="leave out eps=")
        of_time: Self | None = clipped(self, lower, upper)
        if of_time is not None:
            return of_time
        expr = numeric(self._expr)
        if any(isinstance(bound, float) for bound in (lower, upper)) and not isinstance(expr.domain, FloatDomain):
            expr = Cast(expr, "Float64")
        return self._new(Clip(expr, literal(lower), literal(upper)))

    # -- membership and missing values

    def isna(self) -> Self:
        """Whether each value is missing.

        >>> df["sex"].isna().sum().reveal(eps=10)
        ≈ 20
        """
        return self._new(IsNull(self._expr))

    isnull = isna

    def notna(self) -> Self:
        """Whether each value is there.

        >>> df["sex"].notna().sum().reveal(eps=1)
        ≈ 1980
        """
        return self._new(negation(IsNull(self._expr)))

    notnull = notna

    def isin(self, values: Iterable[Any]) -> Self:
        """Whether each value is in a public list; of persons: whether they are in another table of the population.

        >>> x = df["ward"].isin(["surgery", "maternity"])
        """
        if isinstance(values, PrivSeries):
            return self._new(found_in(self, values))
        if isinstance(values, (Text, Prisoner)) or not hasattr(values, "__iter__"):
            raise PlanError("isin takes a public list of values", do='df["ward"].isin(["surgery"])')
        expr, values = listed(self._expr, values)
        lits = tuple(dict.fromkeys(literal(v) for v in values))
        known = tuple(v for v in lits if v.value is not None)
        if any(isinstance(v.value, (int, float)) and not isinstance(v.value, bool) for v in known):
            expr = typed(expr, 0)
        found = IsIn(expr, known)
        return self._new(found if len(known) == len(lits) else Logic("|", found, IsNull(self._expr)))

    def between(self, left: Any, right: Any, inclusive: Text = "both") -> Self:
        """Whether each value lies between two public ones.

        >>> x = df["age"].between(18, 65)
        """
        if inclusive not in ("both", "neither", "left", "right"):
            raise PlanError(f"inclusive must be 'both', 'neither', 'left' or 'right', got {inclusive!r}")
        above = self >= left if inclusive in ("both", "left") else self > left
        below = self <= right if inclusive in ("both", "right") else self < right
        both: Self = above & below
        return both

    def fillna(self, value: Any) -> Self:
        """Missing values replaced by a constant, or by another column of the same table.

        >>> x = df["sex"].fillna("F")
        """
        value = fitted(self._expr, value)
        return self._new(self._met(value))._binary(value, FillNull)

    def combine_first(self, other: Any) -> Self:
        """Missing values taken from another column of the same table.

        >>> x = df["days"].mask(df["days"] > 20).combine_first(df["age"])
        """
        if not isinstance(other, PrivSeries):
            raise PlanError("combine_first takes another column of the same table", do="use .fillna(constant)")
        return self.fillna(other)

    def _met(self, other: Any) -> Expr:
        """This column, read as what it meets if no schema says what it is."""
        return self._expr if isinstance(other, PrivSeries) else typed(self._expr, other)

    # -- choosing

    def where(self, cond: Any, other: Any = None) -> Self:
        """Values kept where the condition is true, else replaced (by a missing value, unless given).

        >>> x = df["cost"].where(df["cost"] < 15000, 15000)
        """
        if callable(cond) and not isinstance(cond, Prisoner):
            cond = cond(self)
        if not isinstance(cond, PrivSeries):
            raise PlanError("a condition must be a private true/false column")
        other = fitted(self._expr, other)
        mine = self._new(self._met(other))
        if is_missing(other):
            rows, (c, a) = same_rows(*((s._rows, s._expr) for s in (cond, self)))
            return self._new(NullWhere(FillNull(negation(c), Constant(Lit.of(True))), a), rows)
        if isinstance(other, PrivSeries):
            rows, (c, a, b) = same_rows(*((s._rows, s._expr) for s in (cond, mine, other)))
        else:
            rows, (c, a) = same_rows(*((s._rows, s._expr) for s in (cond, mine)))
            b = constant_like(other)
        return self._new(Where(c, a, b), rows)

    def mask(self, cond: Any, other: Any = None) -> Self:
        """Values replaced where the condition is true, or missing; as in pandas, where(~cond, other).

        >>> x = df["cost"].mask(df["cost"] > 15000, 15000)
        """
        if callable(cond) and not isinstance(cond, Prisoner):
            cond = cond(self)
        if not isinstance(cond, PrivSeries):
            raise PlanError("a condition must be a private true/false column")
        return self.where(cond._new(negation(cond._expr)), other)

    def case_when(self, caselist: Iterable[tuple[Any, Any]]) -> Self:
        """The replacement of the first condition that is true, else the value itself.

        >>> x = df["days"].case_when([(df["days"] > 30, 30), (df["days"] < 1, 1)])
        """
        result = self
        for condition, replacement in reversed(list(caselist)):
            result = result.mask(condition, replacement)
        return result

    # -- recoding

    def map(self, arg: Any, na_action: Any = None) -> Self:
        """Each value looked up in a public dict; missing where it has no entry. Or a function of one value (see apply).

        A private column with one row for each person is looked up by the person, as in a join.

        >>> x = df["sex"].map({"F": "female", "M": "male"})
        >>> decade = df["age"].map(lambda years: years // 10 * 10)
        """
        if isinstance(arg, PrivSeries):
            return self._new(looked_up(self, arg))
        if callable(arg) and not isinstance(arg, (Mapping, Prisoner)):
            return self.apply(arg)
        return self._recoded(arg, keep=0)

    def apply(self, func: Any, args: tuple[Any, ...] = (), **kwargs: Any) -> Self:
        """A function of each value. It runs here, not on the data.

        Where the column can hold few values, it is called once for each of them. Otherwise it is called with a stand-in
        and followed through each of its branches; what it computes and decides becomes a column.

        >>> x = df["age"].apply(lambda years: "child" if years < 18 else "adult")
        >>> y = df["cost"].apply(lambda euros: euros * 1.1 if euros > 1000 else euros)
        """
        if isinstance(func, Text):
            return getattr(self, func)(*args, **kwargs)  # type: ignore[no-any-return]
        f = func if not args and not kwargs else lambda value: func(value, *args, **kwargs)
        values = every_value(self.domain)
        if values is None:
            return traced(f, Value(self), self)  # type: ignore[return-value]
        return self._recoded(mapped(values, f), keep=0)

    transform = apply

    def unique(self) -> numpy.typing.NDArray[Any]:
        """All values that the column can hold, as the schema declares them: which of them occur is private.

        A warning says so.

        >>> with warnings.catch_warnings(action="ignore"):
        ...     list(map(str, df["sex"].unique()))
        ['F', 'M']
        """
        values = every_value(self.domain)
        if values is None:
            refuse(self, "unique")
        warn("unique() gives all values that the column can hold: which of them occur is private")
        import numpy

        return numpy.array([shown for _, shown in values])

    def replace(self, to_replace: Any, value: Any = None) -> Self:
        """Values replaced by a public dict (or one value, or several, by another); the rest is kept.

        >>> x = df["ward"].replace({"geriatrics": "medicine", "cardiology": "medicine"})
        """
        pairs = to_replace if isinstance(to_replace, Mapping) else None
        if pairs is None:
            old = list(to_replace) if isinstance(to_replace, (list, tuple)) else [to_replace]
            new = list(value) if isinstance(value, (list, tuple)) else [value] * len(old)
            if len(old) != len(new):
                raise PlanError("replace needs as many new values as old ones")
            pairs = dict(zip(old, new, strict=True))
        gone = [k for k, v in pairs.items() if not isinstance(v, Prisoner) and is_missing(v)]
        kept = {k: v for k, v in pairs.items() if k not in gone}
        result = self.mask(self.isin(gone)) if gone else self
        return result._recoded(kept, keep=1) if kept else result

    def _recoded(self, mapping: Any, keep: int) -> Self:
        if type(mapping).__name__ == "Series" and type(mapping).__module__.startswith("pandas"):
            mapping = dict(mapping.items())
        if not isinstance(mapping, Mapping):
            do = 'df["g"].map({"x": 0, "y": 1}); columns of another private table: df.merge(other, on="person")'
            raise PlanError("a public dict is needed", do=do)
        expr = self._expr
        if any(isinstance(k, (int, float)) and not isinstance(k, bool) for k in mapping):
            expr = typed(expr, 0)
        pairs = tuple((literal(k), literal(v)) for k, v in mapping.items())
        return self._new(Recode(expr, pairs, keep))

    def astype(self, dtype: Any) -> Self:
        """Another type: 'Int64', 'Float64', 'boolean', 'string', or a pandas.CategoricalDtype.

        >>> df["age"].astype("Float64").dtype
        'Float64'
        """
        of_time: Self | None = retyped(self, dtype)
        if of_time is not None:
            return of_time
        categories = getattr(dtype, "categories", None)
        if categories is not None:
            lits = tuple(literal(c) for c in categories)
            return self._new(Categorise(self._expr, lits, int(bool(getattr(dtype, "ordered", False)))))
        spelled = dtype.__name__ if isinstance(dtype, type) else Text(dtype)
        values = every_value(self.domain)
        if spelled == "category":
            if isinstance(self.domain, CategoryDomain):
                return self
            if values is None:
                raise PlanError(
                    "which categories occur is private, so they must be given",
                    do='name them: `df["s"].astype(pd.CategoricalDtype(["one", "two"]))`',
                )
            warn("the categories are all values that the column can hold; pandas takes those that occur")
            return self._new(Categorise(self._expr, tuple(literal(key) for key, _ in values), 1))
        if TYPES.get(spelled, spelled) == "string" and isinstance(self.domain, OrdinalDomain) and values is not None:
            return self._recoded({key: Text(shown) for key, shown in values}, keep=0)
        return self._new(Cast(self._expr, TYPES.get(spelled, spelled)))

    @property
    def str(self) -> Strings:
        """Text functions.

        >>> x = df["ward"].str.upper()
        """
        return Strings(self)

    @property
    def dt(self) -> DateTimes:
        """Parts of dates.

        >>> x = df["admitted"].dt.month
        """
        return DateTimes(self)

    @property
    def cat(self) -> Categories:
        """The public list of categories.

        >>> list(df["sex"].cat.categories)
        ['F', 'M']
        """
        return Categories(self)

    # -- rows

    def __getitem__(self, key: PrivSeries | slice | Callable[[Self], Any]) -> Self:
        if callable(key) and not isinstance(key, PrivSeries):
            key = key(self)
        if isinstance(key, PrivSeries):
            if key._rows is not self._rows:
                raise RowsError("the condition does not belong to the rows of this column")
            return self._new(self._expr, keep(self._rows, key._expr))
        if isinstance(key, slice):
            return self.iloc[key]
        raise PlanError("rows have no public labels", do="filter by a condition: s[s > 1]")

    @property
    def loc(self) -> Self:
        """Rows by a condition.

        >>> x = df["cost"].loc[df["age"] > 65]
        """
        return self

    @property
    def iloc(self) -> Iloc[Self]:
        """Consecutive rows by their position.

        >>> x = df["cost"].iloc[10:20]
        """
        return Iloc(self._slice)

    def _slice(self, start: int | None, stop: int | None) -> Self:
        rows = Slice(self._rows, start, stop)
        return self._new(carried(rows, self._expr), rows)

    def head(self, n: int = 5) -> Self:
        """The first rows.

        >>> df["cost"].head(100).mean(eps=100)
        ≈ 5700
        """
        return self._slice(*bounded("head", n))

    def tail(self, n: int = 5) -> Self:
        """The last rows.

        >>> x = df["cost"].tail(100)
        """
        return self._slice(*bounded("tail", n))

    def sample(
        self, n: Any = None, frac: Any = None, replace: bool = False, weights: Any = None, random_state: Any = None
    ) -> Self:
        """A random part of the rows: each is drawn with this chance, by coins that only the jail knows.

        Under pure ε it costs the table less: a sample at rate q that costs ε adds log(1 + q·(exp(ε) - 1)), about q·ε.
        ``random_state`` names the sample: the same number gives the same one.

        >>> x = df["cost"].sample(frac=0.1, random_state=1).mean(eps=1)
        """
        return self._new(self._expr, drawn(self._rows, n, frac, replace, weights, random_state))

    def sort_values(
        self, *, ascending: bool = True, kind: Text = "stable", na_position: Text = "last", ignore_index: bool = True
    ) -> Self:
        """Sorted, ties in their order, missing values last.

        >>> x = df["cost"].sort_values(ascending=False).head(10)
        """
        nulls_last(na_position)
        return self._new(self._expr, Sort(self._rows, (self._expr,), (int(not ascending),)))

    @overload
    def reset_index(self, *, drop: Literal[True], name: Text | None = ...) -> Self: ...
    @overload
    def reset_index(self, *, drop: bool = ..., name: Text | None = ...) -> Self | PrivDataFrame: ...
    def reset_index(self, *, drop: bool = False, name: Text | None = None) -> Self | PrivDataFrame:
        """The same rows: they have no labels that could be dropped. Of one row per person: a table, with the person.

        >>> x = df["cost"].reset_index(drop=True)
        """
        person = person_of(self._rows) if isinstance(self._rows.base, PerPerson) else None
        if drop or person is None:
            return self._new(self._expr) if drop else refuse_row_numbers(self)
        owner: Any = self._rows.base.owner()
        column = self.name if name is None else name
        return self.to_frame(column)._new({person: owner, column: self._expr})

    def dropna(self) -> Self:
        """Without missing values.

        >>> x = df["sex"].dropna()
        """
        if not self.domain.nullable:
            return self
        return self._new(self._expr, keep(self._rows, negation(IsNull(self._expr))))

    def shift(self, periods: int = 1) -> Self:
        """The value some rows above (below, if negative).

        >>> x = df["cost"] - df["cost"].shift(1)
        """
        if type(periods) is not int:
            raise PlanError("shift takes a whole number of rows")
        rows, expr = shifted(self._rows, self._expr, periods)
        return self._new(expr, rows)

    def diff(self, periods: int = 1) -> Self:
        """The difference to the value some rows above.

        >>> x = df["cost"].diff()
        """
        return self - self.shift(periods)

    def rolling(self, window: int, min_periods: int | None = None) -> Rolling:
        """Sums, means, minima and maxima over each row and those just above it.

        >>> x = df["cost"].rolling(3).mean()
        """
        return Rolling(self, window, min_periods)

    # -- the column as a whole

    def pct_change(self, periods: int = 1) -> Self:
        """The relative change to the value some rows above.

        >>> x = df["cost"].pct_change()
        """
        return self / self.shift(periods) - 1

    def nlargest(self, n: int = 5) -> Self:
        """The n largest values, private ones: sort_values(ascending=False).head(n).

        >>> x = df["cost"].nlargest(100).mean(eps=1)
        """
        return self.sort_values(ascending=False).head(n)

    def nsmallest(self, n: int = 5) -> Self:
        """The n smallest values, private ones: sort_values().head(n).

        >>> x = df["cost"].nsmallest(100).mean(eps=1)
        """
        return self.sort_values().head(n)

    def convert_dtypes(self) -> Self:
        """The same column: its type is that of the schema, which holds missing values already.

        >>> x = df["age"].convert_dtypes()
        """
        return self._new(self._expr)

    infer_objects = convert_dtypes

    def copy(self, deep: bool = True) -> Self:
        """The same column: nothing ever changes it.

        >>> x = df["age"].copy()
        """
        return self._new(self._expr)

    def rename(self, index: Any = None) -> Self:
        """The same column under another name.

        >>> df["age"].rename("years").name
        'years'
        """
        return type(self)(self._rows, self._expr, public_name(index))

    def to_frame(self, name: Any = None) -> PrivDataFrame:
        """A table of this one column.

        >>> list(df["age"].to_frame().columns)
        ['age']
        """
        return self._table({self.name if name is None else name: self._expr})

    def pipe(self, func: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """func(self, …).

        >>> x = df["age"].pipe(lambda s: s / 10)
        """
        return func(self, *args, **kwargs)

    def groupby(self, by: Any, **options: Any) -> PrivSeriesGroupBy:
        """Groups of this column by other columns of the same table.

        >>> x = df["cost"].groupby(df["sex"]).sum()
        """
        name = "value" if self.name is None else self.name
        return self._table({name: self._expr}).groupby(by, **options)._column(name)

    # -- private numbers

    def count(self) -> SensitiveInt | SensitiveFloat:
        """How many values are not missing, as a private number.

        >>> df["sex"].count().reveal(eps=1)
        ≈ 1980
        """
        present = negation(IsNull(self._expr)) if self.domain.nullable else None
        return number(Tally(self._rows, (), present))

    def sum(self) -> SensitiveInt | SensitiveFloat:
        """The sum, as a private number; the column must be bounded.

        >>> df["days"].sum().reveal(eps=100)
        ≈ 9700
        """
        return number(Tally(self._rows, (), numeric(self._expr)))

    def nunique(self) -> SensitiveInt | SensitiveFloat:
        """How many different values occur, as a private number; missing ones are not counted.

        >>> df["ward"].nunique().reveal(eps=100)
        ≈ 4
        """
        if self.domain.labels is not None:
            return number(Distinct(self._rows, self._expr))
        return number(Tally(GroupHead(self._rows, self._expr, 1), (), None))  # the first row of each value

    @overload
    def value_counts(self, normalize: Literal[False] = ..., sort: Literal[False] = ..., ascending: bool = ...,
                     bins: Any = ..., dropna: Literal[True] = ...) -> SensitiveSeries: ...  # fmt: skip
    @overload
    def value_counts(self, normalize: bool = ..., sort: bool = ..., ascending: bool = ..., bins: Any = ...,
                     dropna: bool = ...) -> Deferred: ...  # fmt: skip
    @overload
    def value_counts(self, *, keys: Text, eps: Any, delta: Any, min_persons: int = ..., keys_per_person: int = ...,
                     most_keys: int = ...) -> pandas.Series[float]: ...  # fmt: skip
    def value_counts(
        self, normalize: bool = False, sort: bool = True, ascending: bool = False, bins: Any = None,
        dropna: bool = True, *, keys: Text | None = None, eps: Any = None, delta: Any = None, rho: Any = None,
        min_persons: int = 1, keys_per_person: int = 1, most_keys: int = 1000,
    ) -> SensitiveSeries | Deferred | pandas.Series[float]:  # fmt: skip
        """How often each possible value occurs; sorted, and divided by the total, once it is released.

        ``keys="private"``: of free text or open numbers, how many persons have each value. Only values that enough
        persons share come out; ``attrs["threshold"]`` says how many that are. Of each person ``keys_per_person``
        values count.

        >>> counts = df["ward"].value_counts().reveal(eps=1)
        """
        if keys is not None:
            plain = (normalize, sort, ascending, bins, dropna) == (False, True, False, None, True) and rho is None
            if not plain:
                raise PlanError("private keys come with their counts, the most frequent first", do=PRICE)
            return key_counts(
                self._rows, self._expr, self.name, keys=keys, eps=eps, delta=delta, min_persons=min_persons,
                keys_per_person=keys_per_person, most_keys=most_keys,
            )  # fmt: skip
        price = {name: x for name, x in (("eps", eps), ("delta", delta), ("rho", rho)) if x is not None}
        if price:
            released: pandas.Series[float] = self.value_counts(normalize, sort, ascending, bins, dropna).reveal(**price)
            return released
        if bins is None and not normalize and self._expr is self._rows.base.owner():
            persons = PerPerson(self._rows, self._expr)
            return PrivSeries(persons, Aggregate(persons, "size", None), "count")  # type: ignore[return-value]
        if bins is None and no_list(self._expr):
            owner: Any = self._rows.base.owner()
            refuse_groups(self._rows, {person_of(self._rows): owner}, self.name, None, "value_counts")
        expr = self._expr if bins is None else binned(self._rows, numeric(self._expr), bins, closed="right")
        return counted(
            self._rows, [(self.name, expr)], sort=sort, ascending=ascending, normalize=normalize, dropna=dropna
        )

    def mode(self, dropna: bool = True, *, eps: Any) -> pandas.Series[Any]:
        """The most frequent of the possible values, chosen by noisy max.

        >>> df["ward"].mode(eps=1)[0]
        'surgery'
        """
        import pandas

        if not dropna and self.domain.nullable:
            raise PlanError("mode chooses among the possible values", do='.fillna("missing") first')
        counts = SensitiveSeries(Tally(self._rows, (self._expr,), None), None, (Axis(self.name, self.domain),))
        return pandas.Series([counts.idxmax(eps=eps)], name=self.name)

    # -- released statistics

    def mean(self, *, eps: Any) -> Answer:
        """The mean: a noisy sum over a noisy count, half of eps each.

        >>> df["age"].mean(eps=1)
        ≈ 53
        """
        return means(self._rows, {"": self._expr}, eps)[""]

    def var(self, *, ddof: int = 1, eps: Any) -> Answer:
        """The variance: noisy sums of squares and values, and a noisy count, a third of eps each.

        >>> df["days"].var(eps=100)
        ≈ 6.5
        """
        return variance(self._rows, self._expr, eps, ddof)

    def std(self, *, ddof: int = 1, eps: Any) -> Answer:
        """The standard deviation: the root of var(eps).

        >>> df["days"].std(eps=100)
        ≈ 2.5
        """
        return deviation(variance(self._rows, self._expr, eps, ddof))

    def sem(self, *, ddof: int = 1, eps: Any) -> Answer:
        """The standard error of the mean that the rows would have without noise.

        >>> x = df["days"].sem(eps=1)
        """
        return sem(self._rows, self._expr, eps, ddof)

    def skew(self, *, eps: Any) -> Answer:
        """The skewness: noisy sums of three powers, and a noisy count, a quarter of eps each.

        >>> x = df["days"].skew(eps=1)
        """
        return skew(self._rows, self._expr, eps)

    def kurt(self, *, eps: Any) -> Answer:
        """The excess kurtosis: noisy sums of four powers, and a noisy count, a fifth of eps each.

        >>> x = df["days"].kurt(eps=1)
        """
        return kurt(self._rows, self._expr, eps)

    kurtosis = kurt

    def dot(self, other: PrivSeries) -> SensitiveInt | SensitiveFloat:
        """The sum of the products with another column of the same table; also column @ column.

        >>> x = df["age"].dot(df["days"])
        """
        if not isinstance(other, PrivSeries):
            raise PlanError("the other column must be a private column of the same table", do='df["a"].dot(df["b"])')
        return (self * other).sum()

    __matmul__ = dot

    def cov(self, other: PrivSeries, *, ddof: int = 1, eps: Any) -> float:
        """The covariance with another column of the same table.

        >>> x = df["age"].cov(df["days"], eps=1)
        """
        rows, columns = self._with(other)
        return covariances(rows, columns, eps, ddof)[0, 1]

    def corr(self, other: PrivSeries, *, eps: Any) -> float:
        """The correlation with another column of the same table.

        >>> x = df["age"].corr(df["days"], eps=1)
        """
        rows, columns = self._with(other)
        return correlations(rows, columns, eps)[0, 1]

    def _with(self, other: Any) -> tuple[Rows, dict[int, Expr]]:
        if not isinstance(other, PrivSeries):
            raise PlanError("the other column must be a private column of the same table")
        rows, exprs = same_rows((self._rows, self._expr), (other._rows, other._expr))
        return rows, dict(enumerate(exprs))

    def agg(self, func: Any = None, *, eps: Any, **named: Any) -> float | pandas.Series[float]:
        """One statistic by its name, or several in a list, for one eps in all.

        >>> x = df["age"].agg(["mean", "std", "max"], eps=1)
        """
        return series_agg(self, func, eps, named)

    aggregate = agg

    @overload
    def quantile(self, q: float = 0.5, *, eps: Any) -> Answer: ...
    @overload
    def quantile(self, q: Sequence[float], *, eps: Any) -> ReleasedSeries: ...
    def quantile(self, q: Any = 0.5, *, eps: Any) -> Any:
        """A quantile (or several, sharing eps): the candidate value that splits the rows best.

        >>> df["age"].quantile(0.9, eps=1)
        ≈ 76
        """
        from privjail.answers.released import series_of

        q = q.tolist() if getattr(q, "ndim", 0) else q
        if not isinstance(q, (list, tuple)):
            return quantiles(self._rows, self._expr, [q], eps)[0]
        return series_of(quantiles(self._rows, self._expr, q, eps), index=[float(x) for x in q], name=self.name)

    def median(self, *, eps: Any) -> Answer:
        """The median.

        >>> df["age"].median(eps=1)
        ≈ 52
        """
        return quantiles(self._rows, self._expr, [0.5], eps)[0]

    def min(self, *, eps: Any) -> Answer:
        """A value that few rows lie below.

        >>> df["age"].min(eps=100)
        ≈ 12
        """
        return extreme(self._rows, self._expr, "min", eps)

    def max(self, *, eps: Any) -> Answer:
        """A value that few rows lie above.

        >>> df["age"].max(eps=100)
        ≈ 120
        """
        return extreme(self._rows, self._expr, "max", eps)

    def hist(self, *, bins: Any = 10, eps: Any) -> ReleasedSeries:
        """Noisy counts in half-open intervals: a public list of edges, or a number of equal parts of the range.

        >>> counts = df["age"].hist(bins=[0, 18, 65, 120], eps=1)
        """
        from privjail.answers.released import series_of

        tally, counts = histogram(self._rows, self._expr, bins, eps)
        index = index_of((intervals(tally),), (Axis(self.name, tally.keys[0].domain),))
        return series_of(counts, index=index, name=self.name)

    def describe(
        self, percentiles: Sequence[float] | None = None, include: Any = None, exclude: Any = None, *, eps: Any
    ) -> ReleasedSeries | pandas.Series[Any]:
        """count, mean, std, min, quartiles and max (of categories count, unique, top and freq), for one eps in all.

        >>> list(df["age"].describe(eps=1).index)
        ['count', 'mean', 'std', 'min', '25%', '50%', '75%', 'max']
        """
        from privjail.answers.released import series_of

        if isinstance(self.domain, (CategoryDomain, BoolDomain)):
            import pandas

            labels: Any = describe_labels(self._rows, self._expr, eps)
            return pandas.Series(labels, name=self.name, dtype=object)
        found = describe(self._rows, self._expr, eps, percentiles)
        return series_of(found.values(), index=list(found), name=self.name)
