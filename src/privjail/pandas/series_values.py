"""Row-wise operations on a private column: each value alone, or together with others of its row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from privjail.errors import PlanError
from privjail.ops.carried import Constant
from privjail.ops.cast import Cast, Categorise
from privjail.ops.clip import Clip
from privjail.ops.function import Function
from privjail.ops.isin import IsIn, IsNull
from privjail.ops.logic import Logic, negation
from privjail.ops.recode import Recode
from privjail.ops.where import FillNull, NullWhere, Where
from privjail.pandas.operators import COMPARISONS, LOGIC, Operators
from privjail.pandas.refusals import refuse
from privjail.pandas.rowwise import compared, computed, constant_like, literal, numeric, same_rows, typed
from privjail.pandas.series_core import SeriesCore
from privjail.plan.domain import FloatDomain
from privjail.plan.node import Lit
from privjail.prisoner import Prisoner

TYPES = {"int": "Int64", "int64": "Int64", "float": "Float64", "float64": "Float64", "bool": "boolean",
         "str": "string", "object": "string"}  # fmt: skip


class SeriesValues(Operators, SeriesCore):
    """Arithmetic, comparisons, logic, missing values, recoding, types."""

    def _operate(self, op: str, other: Any, flip: bool = False) -> Any:
        if op in COMPARISONS:
            if isinstance(other, Prisoner):
                return self._binary(other, lambda a, b: compared(op, a, b))
            return self._new(compared(op, self._expr, other))
        if op in LOGIC:
            return self._binary(other, lambda a, b: Logic(op, a, b))
        if op == "**":
            return self._power(other, flip)
        return self._binary(other, lambda a, b: computed(op, a, b), flip)

    def _power(self, power: Any, flip: bool) -> Any:
        if flip:
            raise PlanError("a column in the exponent has no rule", do="use .exp() after multiplying by a logarithm")
        if isinstance(power, float) and power == 0.5:
            return self.sqrt()
        if type(power) is not int or not 1 <= power <= 8:
            raise PlanError("** takes whole numbers from 1 to 8, or 0.5")
        result: Any = self
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

    def _function(self, f: str, digits: int = 0) -> Self:
        return self._new(Function(f, numeric(self._expr), digits))

    def abs(self) -> Self:
        """The absolute value of each number."""
        return self._function("abs")

    def round(self, decimals: int = 0) -> Self:
        """Each number rounded."""
        return self._function("round", decimals)

    def floor(self) -> Self:
        """The next whole number below each number."""
        return self._function("floor")

    def ceil(self) -> Self:
        """The next whole number above each number."""
        return self._function("ceil")

    def sqrt(self) -> Self:
        """Square roots; missing for negative numbers."""
        return self._function("sqrt")

    def exp(self) -> Self:
        """Exponentials."""
        return self._function("exp")

    def log(self) -> Self:
        """Natural logarithms; missing for numbers ≤ 0."""
        return self._function("log")

    def clip(self, lower: Any = None, upper: Any = None) -> Self:
        """Bound the column: values outside become the bound."""
        expr = numeric(self._expr)
        if any(isinstance(bound, float) for bound in (lower, upper)) and not isinstance(expr.domain, FloatDomain):
            expr = Cast(expr, "Float64")
        return self._new(Clip(expr, literal(lower), literal(upper)))

    # -- membership and missing values

    def isna(self) -> Self:
        """Whether each value is missing."""
        return self._new(IsNull(self._expr))

    isnull = isna

    def notna(self) -> Self:
        """Whether each value is there."""
        return self._new(negation(IsNull(self._expr)))

    notnull = notna

    def isin(self, values: Any) -> Self:
        """Whether each value is in a public list."""
        if isinstance(values, (str, Prisoner)):
            raise PlanError("isin takes a public list of values")
        lits = tuple(dict.fromkeys(literal(v) for v in values))
        known = tuple(v for v in lits if v.value is not None)
        expr = self._expr
        if any(isinstance(v.value, (int, float)) and not isinstance(v.value, bool) for v in known):
            expr = typed(expr, 0)
        found = IsIn(expr, known)
        return self._new(found if len(known) == len(lits) else Logic("|", found, IsNull(self._expr)))

    def between(self, left: Any, right: Any, inclusive: str = "both") -> Self:
        """Whether each value lies between two public ones."""
        if inclusive not in ("both", "neither", "left", "right"):
            raise PlanError(f"inclusive must be 'both', 'neither', 'left' or 'right', got {inclusive!r}")
        above = self >= left if inclusive in ("both", "left") else self > left
        below = self <= right if inclusive in ("both", "right") else self < right
        both: Self = above & below
        return both

    def fillna(self, value: Any) -> Self:
        """Missing values replaced by a constant, or by another column of the same table."""
        return self._new(self._met(value))._binary(value, FillNull)

    def _met(self, other: Any) -> Any:
        """This column, read as what it meets if no schema says what it is."""
        return self._expr if isinstance(other, SeriesCore) else typed(self._expr, other)

    # -- choosing

    def where(self, cond: Any, other: Any = None) -> Self:
        """Values kept where the condition is true, else replaced (by a missing value, unless given)."""
        if callable(cond) and not isinstance(cond, Prisoner):
            cond = cond(self)
        if not isinstance(cond, SeriesCore):
            raise PlanError("a condition must be a private true/false column")
        mine = self._new(self._met(other))
        if literal_or_none(other) is None:
            rows, (c, a) = same_rows(*((s._rows, s._expr) for s in (cond, self)))
            return self._new(NullWhere(FillNull(negation(c), Constant(Lit.of(True))), a), rows)
        if isinstance(other, SeriesCore):
            rows, (c, a, b) = same_rows(*((s._rows, s._expr) for s in (cond, mine, other)))
        else:
            rows, (c, a) = same_rows(*((s._rows, s._expr) for s in (cond, mine)))
            b = constant_like(other)
        return self._new(Where(c, a, b), rows)

    def mask(self, cond: Any, other: Any = None) -> Self:
        """Values replaced where the condition is true, or missing; as in pandas, where(~cond, other)."""
        if callable(cond) and not isinstance(cond, Prisoner):
            cond = cond(self)
        if not isinstance(cond, SeriesCore):
            raise PlanError("a condition must be a private true/false column")
        return self.where(cond._new(negation(cond._expr)), other)

    def case_when(self, caselist: Any) -> Self:
        """The replacement of the first condition that is true, else the value itself."""
        result = self
        for condition, replacement in reversed(list(caselist)):
            result = result.mask(condition, replacement)
        return result

    # -- recoding

    def map(self, mapping: Mapping[Any, Any]) -> Self:
        """Each value looked up in a public dict; missing where it has no entry."""
        return self._recoded(mapping, keep=0)

    def replace(self, to_replace: Any, value: Any = None) -> Self:
        """Values replaced by a public dict (or one value, or several, by another); the rest is kept."""
        pairs = to_replace if isinstance(to_replace, Mapping) else None
        if pairs is None:
            old = list(to_replace) if isinstance(to_replace, (list, tuple)) else [to_replace]
            new = list(value) if isinstance(value, (list, tuple)) else [value] * len(old)
            if len(old) != len(new):
                raise PlanError("replace needs as many new values as old ones")
            pairs = dict(zip(old, new, strict=True))
        return self._recoded(pairs, keep=1)

    def _recoded(self, mapping: Any, keep: int) -> Self:
        if not isinstance(mapping, Mapping):
            if callable(mapping):
                refuse(self, "apply")
            raise PlanError("a public dict is needed")
        expr = self._expr
        if any(isinstance(k, (int, float)) and not isinstance(k, bool) for k in mapping):
            expr = typed(expr, 0)
        pairs = tuple((literal(k), literal(v)) for k, v in mapping.items())
        return self._new(Recode(expr, pairs, keep))

    def astype(self, dtype: Any) -> Self:
        """Another type: 'Int64', 'Float64', 'boolean', 'string', or a pandas.CategoricalDtype."""
        categories = getattr(dtype, "categories", None)
        if categories is not None:
            lits = tuple(literal(c) for c in categories)
            return self._new(Categorise(self._expr, lits, int(bool(getattr(dtype, "ordered", False)))))
        spelled = dtype.__name__ if isinstance(dtype, type) else str(dtype)
        if spelled == "category":
            raise PlanError(
                "which categories occur is private, so they must be given",
                do="astype(pandas.CategoricalDtype([…]))",
            )
        return self._new(Cast(self._expr, TYPES.get(spelled, spelled)))


def literal_or_none(value: Any) -> Any:
    """Whether an argument stands for a missing value: None, NA, NaT or NaN."""
    if isinstance(value, Prisoner):
        return value
    lit = literal(value)
    return None if lit.value is None or lit.value != lit.value else lit
