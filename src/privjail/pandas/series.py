"""PrivSeries: a private column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privjail.errors import PlanError, RowsError
from privjail.ops.cast import Cast, Categorise
from privjail.ops.clip import Clip
from privjail.ops.distinct import Distinct
from privjail.ops.filter import keep
from privjail.ops.function import Function
from privjail.ops.isin import IsIn, IsNull
from privjail.ops.logic import negation
from privjail.ops.recode import Recode
from privjail.ops.slice import Slice
from privjail.ops.sort import Sort
from privjail.ops.tally import Tally
from privjail.ops.where import FillNull, NullWhere, Where
from privjail.ops.window import Lag, Window
from privjail.pandas.accessors import Categories, DateTimes, Strings
from privjail.pandas.refusals import refuse
from privjail.pandas.rolling import Rolling
from privjail.pandas.rowwise import compared, computed, constant_like, literal, logical, numeric, same_rows
from privjail.pandas.slicing import Iloc, bounded
from privjail.pandas.statistics import Statistics
from privjail.pandas.vectors import SensitiveSeries
from privjail.plan.distance import Distance
from privjail.plan.domain import Domain, FloatDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.prisoner import Prisoner
from privjail.sensitive import number


class PrivSeries(Statistics, Prisoner):
    """A private column: rows that nobody sees, and one expression over them."""

    _shown_class = "pandas.core.series.Series"
    _way_out = "count or sum it, and release the result: .sum().reveal(eps=…), .mean(eps=…)"

    def __init__(self, rows: Rows, expr: Expr, name: str | None = None) -> None:
        self._rows, self._expr, self.name = rows, expr, name

    def __getattr__(self, name: str) -> Any:
        refuse(self, name)

    # -- facts

    @property
    def distance(self) -> Distance:
        return self._rows.distance

    @property
    def domain(self) -> Domain:
        return self._expr.domain

    @property
    def dtype(self) -> str:
        return self._expr.domain.dtype

    @property
    def shape(self) -> tuple[Any]:
        return (number(Tally(self._rows, (), None)),)

    @property
    def size(self) -> Any:
        return self.shape[0]

    ndim = 1

    def _plan(self) -> str:
        return f"{self._rows} | {self._expr}"

    def _columns(self) -> dict[str, Expr]:
        return {str(self.name): self._expr}

    def __str__(self) -> str:
        cells = ", ".join(map(str, self._rows.cells[:3])) or "nowhere"
        return f"{Prisoner.__repr__(self)}\n  {self.name}: {self.domain}\n  cell: {cells}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from privjail.pandas.show import facts_html

        return facts_html(Prisoner.__repr__(self), self._rows, self._columns())

    # -- row-wise operations

    def _new(self, expr: Expr, rows: Rows | None = None) -> PrivSeries:
        return PrivSeries(self._rows if rows is None else rows, expr, self.name)

    def _binary(self, other: Any, build: Any, flip: bool = False) -> Any:
        if isinstance(other, PrivSeries):
            rows, (a, b) = same_rows((self._rows, self._expr), (other._rows, other._expr))
        elif isinstance(other, Prisoner):
            raise PlanError("a column is not combined with a private number or table", do="release the number first")
        else:
            rows, a = self._rows, self._expr
            b = constant_like(other, self.domain)
        return PrivSeries(rows, build(b, a) if flip else build(a, b), self.name)

    def _compare(self, op: str, other: Any) -> PrivSeries:
        if isinstance(other, Prisoner):
            made: PrivSeries = self._binary(other, lambda a, b: compared(op, a, b))
            return made
        return self._new(compared(op, self._expr, other))

    def __eq__(self, other: Any) -> PrivSeries:  # type: ignore[override]
        return self._compare("==", other)

    def __ne__(self, other: Any) -> PrivSeries:  # type: ignore[override]
        return self._compare("!=", other)

    def __lt__(self, other: Any) -> PrivSeries:
        return self._compare("<", other)

    def __le__(self, other: Any) -> PrivSeries:
        return self._compare("<=", other)

    def __gt__(self, other: Any) -> PrivSeries:
        return self._compare(">", other)

    def __ge__(self, other: Any) -> PrivSeries:
        return self._compare(">=", other)

    __hash__ = Prisoner.__hash__

    def __add__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: computed("+", a, b))

    def __radd__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: computed("+", a, b), flip=True)

    def __sub__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: computed("-", a, b))

    def __rsub__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: computed("-", a, b), flip=True)

    def __mul__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: computed("*", a, b))

    def __rmul__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: computed("*", a, b), flip=True)

    def __truediv__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: computed("/", a, b))

    def __rtruediv__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: computed("/", a, b), flip=True)

    def __floordiv__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: computed("//", a, b))

    def __rfloordiv__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: computed("//", a, b), flip=True)

    def __mod__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: computed("%", a, b))

    def __rmod__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: computed("%", a, b), flip=True)

    def __pow__(self, power: Any) -> Any:
        if power == 0.5:
            return self.sqrt()
        if type(power) is not int or not 1 <= power <= 8:
            raise PlanError(f"** takes whole numbers from 1 to 8, or 0.5, got {power!r}")
        result = self
        for _ in range(power - 1):
            result = result * self
        return result

    def __neg__(self) -> PrivSeries:
        negated: PrivSeries = 0 - self
        return negated

    def __abs__(self) -> PrivSeries:
        return self.abs()

    def __and__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: logical("&", a, b))

    def __or__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: logical("|", a, b))

    def __xor__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: logical("^", a, b))

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> PrivSeries:
        return self._new(negation(self._expr))

    def __round__(self, digits: Any = None) -> PrivSeries:
        return self.round(digits or 0)

    def _function(self, f: str, digits: int = 0) -> PrivSeries:
        return self._new(Function(f, numeric(self._expr), digits))

    def abs(self) -> PrivSeries:
        """The absolute value of each number."""
        return self._function("abs")

    def round(self, decimals: int = 0) -> PrivSeries:
        """Each number rounded."""
        return self._function("round", decimals)

    def floor(self) -> PrivSeries:
        """The next whole number below each number."""
        return self._function("floor")

    def ceil(self) -> PrivSeries:
        """The next whole number above each number."""
        return self._function("ceil")

    def sqrt(self) -> PrivSeries:
        """Square roots; missing for negative numbers."""
        return self._function("sqrt")

    def exp(self) -> PrivSeries:
        """Exponentials."""
        return self._function("exp")

    def log(self) -> PrivSeries:
        """Natural logarithms; missing for numbers ≤ 0."""
        return self._function("log")

    def clip(self, lower: Any = None, upper: Any = None) -> PrivSeries:
        """Bound the column: values outside become the bound."""
        expr = numeric(self._expr)
        if any(isinstance(bound, float) for bound in (lower, upper)) and not isinstance(expr.domain, FloatDomain):
            expr = Cast(expr, "Float64")
        return self._new(Clip(expr, literal(lower), literal(upper)))

    def isna(self) -> PrivSeries:
        """Whether each value is missing."""
        return self._new(IsNull(self._expr))

    isnull = isna

    def notna(self) -> PrivSeries:
        """Whether each value is there."""
        return self._new(negation(IsNull(self._expr)))

    notnull = notna

    def isin(self, values: Any) -> PrivSeries:
        """Whether each value is in a public list."""
        if isinstance(values, (str, Prisoner)):
            raise PlanError("isin takes a public list of values")
        lits = tuple(dict.fromkeys(literal(v) for v in values))
        expr = self._expr
        if any(isinstance(v.value, (int, float)) and not isinstance(v.value, bool) for v in lits):
            from privjail.pandas.rowwise import typed

            expr = typed(expr, 0)
        return self._new(IsIn(expr, lits))

    def between(self, left: Any, right: Any, inclusive: str = "both") -> PrivSeries:
        """Whether each value lies between two public ones."""
        if inclusive not in ("both", "neither", "left", "right"):
            raise PlanError(f"inclusive must be 'both', 'neither', 'left' or 'right', got {inclusive!r}")
        above = self >= left if inclusive in ("both", "left") else self > left
        below = self <= right if inclusive in ("both", "right") else self < right
        both: PrivSeries = above & below
        return both

    def fillna(self, value: Any) -> PrivSeries:
        """Missing values replaced by a constant, or by another column of the same table."""
        expr = self._expr if isinstance(value, str) else numeric_if_untyped(self._expr, value)
        made: PrivSeries = self._new(expr)._binary(value, FillNull)
        return made

    def where(self, cond: PrivSeries, other: Any = None) -> PrivSeries:
        """Values kept where the condition is true, else replaced (by a missing value, unless given)."""
        return self._choose(cond, other, keep_where=True)

    def mask(self, cond: PrivSeries, other: Any = None) -> PrivSeries:
        """Values replaced where the condition is true (by a missing value, unless given)."""
        return self._choose(cond, other, keep_where=False)

    def _choose(self, cond: Any, other: Any, keep_where: bool) -> PrivSeries:
        if not isinstance(cond, PrivSeries):
            raise PlanError("a condition must be a private true/false column")
        if other is None:
            rows, (c, a) = same_rows((cond._rows, cond._expr), (self._rows, self._expr))
            drop = FillNull(negation(c), _true()) if keep_where else c
            return PrivSeries(rows, NullWhere(drop, a), self.name)
        if isinstance(other, PrivSeries):
            rows, (c, a, b) = same_rows((cond._rows, cond._expr), (self._rows, self._expr), (other._rows, other._expr))
        else:
            expr = numeric_if_untyped(self._expr, other)
            rows, (c, a) = same_rows((cond._rows, cond._expr), (self._rows, expr))
            b = constant_like(other, self.domain)
        return PrivSeries(rows, Where(c, a, b) if keep_where else Where(c, b, a), self.name)

    def map(self, mapping: Mapping[Any, Any]) -> PrivSeries:
        """Each value looked up in a public dict; missing where it has no entry."""
        return self._recoded(mapping, keep=0)

    def replace(self, to_replace: Any, value: Any = None) -> PrivSeries:
        """Values replaced by a public dict (or one value by another); the rest is kept."""
        pairs = to_replace if isinstance(to_replace, Mapping) else None
        if pairs is None:
            listed = to_replace if isinstance(to_replace, (list, tuple)) else [to_replace]
            pairs = dict.fromkeys(listed, value)
        return self._recoded(pairs, keep=1)

    def _recoded(self, mapping: Any, keep: int) -> PrivSeries:
        if not isinstance(mapping, Mapping):
            if callable(mapping):
                refuse(self, "apply")
            raise PlanError("a public dict is needed")
        expr = self._expr
        if any(isinstance(k, (int, float)) and not isinstance(k, bool) for k in mapping):
            expr = numeric_if_untyped(expr, 0)
        pairs = tuple((literal(k), literal(v)) for k, v in mapping.items())
        return self._new(Recode(expr, pairs, keep))

    def astype(self, dtype: Any) -> PrivSeries:
        """Another type: 'Int64', 'Float64', 'boolean', 'string', or a pandas.CategoricalDtype."""
        categories = getattr(dtype, "categories", None)
        if categories is not None:
            lits = tuple(literal(c) for c in categories)
            return self._new(Categorise(self._expr, lits, int(bool(getattr(dtype, "ordered", False)))))
        names = {"int": "Int64", "int64": "Int64", "float": "Float64", "float64": "Float64", "bool": "boolean",
                 "str": "string", "object": "string"}  # fmt: skip
        spelled = dtype.__name__ if isinstance(dtype, type) else str(dtype)
        if spelled == "category":
            raise PlanError(
                "which categories occur is private, so they must be given",
                do="astype(pandas.CategoricalDtype([…]))",
            )
        return self._new(Cast(self._expr, names.get(spelled, spelled)))

    @property
    def str(self) -> Strings:  # noqa: A003
        return Strings(self)

    @property
    def dt(self) -> DateTimes:
        return DateTimes(self)

    @property
    def cat(self) -> Categories:
        return Categories(self)

    # -- neighbouring rows

    def shift(self, periods: int = 1) -> PrivSeries:
        """The value some rows above (below, if negative)."""
        if type(periods) is not int:
            raise PlanError("shift takes a whole number of rows")
        window = Window(self._rows, max(periods, 0), max(-periods, 0))
        return self._new(Lag(window, self._expr, periods), window)

    def diff(self, periods: int = 1) -> PrivSeries:
        """The difference to the value some rows above."""
        difference: PrivSeries = self - self.shift(periods)
        return difference

    def rolling(self, window: int) -> Rolling:
        """Sums, means, minima and maxima over each row and those just above it."""
        return Rolling(self, window)

    # -- rows

    def __getitem__(self, key: Any) -> PrivSeries:
        if isinstance(key, PrivSeries):
            if key._rows is not self._rows:
                raise RowsError("the condition does not belong to the rows of this column")
            return self._new(self._expr, keep(self._rows, key._expr))
        if isinstance(key, slice):
            window: PrivSeries = self.iloc[key]
            return window
        raise PlanError("rows have no public labels", do="filter by a condition: s[s > 1]")

    @property
    def loc(self) -> PrivSeries:
        return self

    @property
    def iloc(self) -> Any:
        return Iloc(self._window)

    def _window(self, start: int | None, stop: int | None) -> PrivSeries:
        from privjail.pandas.slicing import carried

        rows = Slice(self._rows, start, stop)
        return self._new(carried(rows, self._expr), rows)

    def head(self, n: int = 5) -> PrivSeries:
        """The first rows."""
        return self._window(*bounded("head", n))

    def tail(self, n: int = 5) -> PrivSeries:
        """The last rows."""
        return self._window(*bounded("tail", n))

    def sort_values(self, ascending: bool = True) -> PrivSeries:
        """Sorted, ties in their order, missing values last."""
        return self._new(self._expr, Sort(self._rows, (self._expr,), (int(not ascending),)))

    def dropna(self) -> PrivSeries:
        """Without missing values."""
        if not self.domain.nullable:
            return self
        return self._new(self._expr, keep(self._rows, negation(IsNull(self._expr))))

    def copy(self, deep: bool = True) -> PrivSeries:
        """The same column: nothing ever changes it."""
        return self._new(self._expr)

    def rename(self, name: Any) -> PrivSeries:
        return PrivSeries(self._rows, self._expr, name)

    def to_frame(self, name: Any = None) -> Any:
        """A table of this one column."""
        from privjail.pandas.frame import PrivDataFrame

        return PrivDataFrame(self._rows, {str(name or self.name): self._expr})

    # -- private numbers

    def count(self) -> Any:
        """How many values are not missing, as a private number."""
        return number(Tally(self._rows, (), self._present()))

    def sum(self) -> Any:  # noqa: A003
        """The sum, as a private number; the column must be bounded."""
        return number(Tally(self._rows, (), numeric(self._expr)))

    def nunique(self) -> Any:
        """How many of the possible values occur, as a private number."""
        return number(Distinct(self._rows, self._expr))

    def value_counts(self, *, sort: bool = True, normalize: bool = False, dropna: bool = True) -> SensitiveSeries:
        """How often each possible value occurs, in the order of the domain."""
        if sort:
            raise PlanError(
                "value_counts() would show which value is most frequent by its order", plan=self._plan(),
                do="use value_counts(sort=False); sort the released counts as you like",
            )  # fmt: skip
        if normalize or not dropna:
            raise PlanError("value_counts takes sort=False only", do="divide the released counts by their sum")
        return SensitiveSeries(Tally(self._rows, (self._expr,), None), self.name)

    def _present(self) -> Expr | None:
        return negation(IsNull(self._expr)) if self.domain.nullable else None


def numeric_if_untyped(expr: Expr, other: Any) -> Expr:
    from privjail.pandas.rowwise import typed

    if isinstance(other, PrivSeries):
        return expr
    return typed(expr, other)


def _true() -> Expr:
    from privjail.ops.carried import Constant

    return Constant(Lit.of(True))
