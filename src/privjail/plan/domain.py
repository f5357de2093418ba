"""What a column may hold. A domain is public, and enforced when data is loaded: sensitivities rest on it.

Every domain says whether nulls may occur. Floats are finite or null: NaN and ±inf do not exist inside
the jail, so no comparison or sum has a special case for them.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from privjail.errors import PlanError
from privjail.plan.node import micros, moment

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
FINITE_INTS = 100_000  # an integer range up to this size counts as a finite domain


@dataclass(frozen=True)
class Domain:
    """The values a column may hold."""

    nullable: bool = True
    dtype: ClassVar[str] = ""

    def with_nulls(self, nullable: bool) -> Domain:
        return self if nullable == self.nullable else replace(self, nullable=nullable)

    @property
    def labels(self) -> Sequence[Any] | None:
        """The values in their public order, if they are finitely many, else None."""
        return None

    def accepts(self, value: Any) -> bool:
        """Whether this public constant is comparable with the column."""
        raise TypeError(f"{type(self).__name__} has no rule")

    def __str__(self) -> str:
        return self.dtype + ("" if self.nullable else ", no nulls")


@dataclass(frozen=True)
class Numeric(Domain):
    """Numbers between two bounds; a bound of None is unknown."""

    lower: Any = None
    upper: Any = None

    def __post_init__(self) -> None:
        if any(b is not None and not -math.inf < b < math.inf for b in self.range):
            raise PlanError("a range needs finite bounds", do="use None for a bound that is not known")
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise PlanError(f"a range needs lower ≤ upper, got [{self.lower}, {self.upper}]")

    @property
    def bounded(self) -> bool:
        return self.lower is not None and self.upper is not None

    @property
    def range(self) -> tuple[Any, Any]:
        return (self.lower, self.upper)

    @property
    def magnitude(self) -> Fraction | None:
        """The largest absolute value, exactly; None if unbounded."""
        if not self.bounded:
            return None
        return max(abs(Fraction(self.lower)), abs(Fraction(self.upper)))

    def accepts(self, value: Any) -> bool:
        return isinstance(value, (int, float)) and not isinstance(value, bool)

    def __str__(self) -> str:
        low = "-∞" if self.lower is None else str(self.lower)
        high = "∞" if self.upper is None else str(self.upper)
        return f"{self.dtype} [{low}, {high}]" + ("" if self.nullable else ", no nulls")


@dataclass(frozen=True)
class IntDomain(Numeric):
    """Whole numbers of 64 bits."""

    dtype: ClassVar[str] = "Int64"

    @property
    def labels(self) -> Sequence[Any] | None:
        if not self.bounded or self.upper - self.lower >= FINITE_INTS:
            return None
        return range(self.lower, self.upper + 1)


@dataclass(frozen=True)
class OrdinalDomain(IntDomain):
    """Whole numbers that count something public: days since 1970, microseconds between two moments.

    No rule reads ``unit``: it says in pandas' words (``timedelta64[us]``, ``period[M]``) how faces show the numbers.
    """

    unit: str = ""

    def __str__(self) -> str:
        low, high = ("…" if b is None else str(b) for b in self.range)
        return f"{self.unit} [{low}, {high}]" + ("" if self.nullable else ", no nulls")


@dataclass(frozen=True)
class FloatDomain(Numeric):
    """Finite floating-point numbers of 64 bits."""

    dtype: ClassVar[str] = "Float64"


@dataclass(frozen=True)
class BoolDomain(Domain):
    """False or True."""

    dtype: ClassVar[str] = "boolean"

    @property
    def labels(self) -> Sequence[Any]:
        return (False, True)

    @property
    def categories(self) -> tuple[Any, ...]:
        return (False, True)

    def accepts(self, value: Any) -> bool:
        return isinstance(value, bool)


TRUTH = {nullable: BoolDomain(nullable) for nullable in (False, True)}


def _short(x: float) -> str:
    """A text that tells any two floats apart, without a needless .0."""
    return repr(int(x)) if abs(x) < 1e15 and x == int(x) else repr(float(x))


@dataclass(frozen=True)
class Interval:
    """A label made by ``cut``: the numbers between two edges."""

    left: float
    right: float
    closed: str  # "left", "right" or "both"

    def __str__(self) -> str:
        opening = "[" if self.closed in ("left", "both") else "("
        closing = "]" if self.closed in ("right", "both") else ")"
        return f"{opening}{_short(self.left)}, {_short(self.right)}{closing}"

    __repr__ = __str__


@dataclass(frozen=True)
class CategoryDomain(Domain):
    """One of finitely many labels, known from the schema, in the schema's order."""

    categories: tuple[Any, ...] = ()
    ordered: bool = False
    dtype: ClassVar[str] = "category"

    def __post_init__(self) -> None:
        plain = [c for c in self.categories if type(c) is not Interval]
        if len(self._identities(alone=not plain)) != len(self.categories):
            raise PlanError("categories must be distinct (1 and 1.0 are the same)")
        if any(c is None or c != c for c in plain):
            raise PlanError("a missing value is no category", do="leave it out of the list: it is always allowed")
        if any(isinstance(c, float) and c - c != 0 for c in plain):
            raise PlanError("a category must be a finite number or text")

    def _identities(self, alone: bool) -> set[tuple[Any, ...]]:
        """What identifies each label, by the rule of ``code``: otherwise two groups could hold the same rows.

        An interval is identified by its text. If all labels are intervals (``alone``), their edges do instead: two
        intervals have the same text if and only if they have the same edges and are closed on the same sides.
        """
        if alone:
            return {(float(c.left), float(c.right), c.closed) for c in self.categories}
        return {(isinstance(c, bool), str(c) if isinstance(c, Interval) else c) for c in self.categories}

    @property
    def labels(self) -> Sequence[Any]:
        return self.categories

    def code(self, label: Any) -> int | None:
        """The position of a label, or None for a label that cannot occur."""
        return self._codes.get((isinstance(label, bool), label))

    @cached_property
    def _codes(self) -> dict[tuple[bool, Any], int]:
        """The position of each label. True and 1 are different labels; the text of an interval is also its label."""
        found: dict[tuple[bool, Any], int] = {}
        for i, known in enumerate(self.categories):
            found.setdefault((isinstance(known, bool), known), i)
            if isinstance(known, Interval):
                found.setdefault((False, str(known)), i)
        return found

    def accepts(self, value: Any) -> bool:
        return True

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.categories[:4]))
        more = ", …" if len(self.categories) > 4 else ""
        return f"category of {len(self.categories)}: {shown}{more}" + ("" if self.nullable else "; no nulls")


@dataclass(frozen=True)
class TextDomain(Domain):
    """Any text."""

    dtype: ClassVar[str] = "string"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str)


@dataclass(frozen=True)
class UntypedDomain(TextDomain):
    """Text of a column that no schema declares. It is parsed as numbers wherever numbers are needed.

    The type is not guessed from the data: the guess would be an output that depends on the data.
    """

    dtype: ClassVar[str] = "untyped"


@dataclass(frozen=True)
class TimeDomain(Numeric):
    """Moments, to the microsecond, without time zone. Bounds are microseconds since 1970."""

    dtype: ClassVar[str] = "datetime64[us]"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, datetime.date)

    def __str__(self) -> str:
        low = "…" if self.lower is None else moment(self.lower).isoformat(" ")
        high = "…" if self.upper is None else moment(self.upper).isoformat(" ")
        return f"{self.dtype} [{low}, {high}]" + ("" if self.nullable else ", no nulls")


@lru_cache(maxsize=4096)
def _only(label: str) -> CategoryDomain:
    return CategoryDomain(False, (label,))


def domain_of(value: Any) -> Domain:
    """The domain that holds one public constant and nothing else."""
    match value:
        case bool():
            return BoolDomain(False)
        case int() if INT_MIN <= value <= INT_MAX:
            return IntDomain(False, value, value)
        case float() if math.isfinite(value):
            return FloatDomain(False, value, value)
        case int() | float():
            raise PlanError(
                f"a column cannot hold {value!r}: numbers are finite, whole ones have 64 bits",
                do="use .mask(…) to make values missing",
            )
        case str():
            return _only(value)
        case datetime.date():
            return TimeDomain(False, micros(value), micros(value))
    raise PlanError(f"a column cannot hold a {type(value).__name__}")


def join(left: Domain, right: Domain) -> Domain:
    """The smallest domain that holds both, for columns that take values from either."""
    nullable = left.nullable or right.nullable
    if isinstance(left, CategoryDomain) and isinstance(right, CategoryDomain):
        extra = tuple(c for c in right.categories if left.code(c) is None)
        return CategoryDomain(nullable, left.categories + extra, left.ordered and not extra)
    if isinstance(left, CategoryDomain) and isinstance(right, TextDomain):
        return TextDomain(nullable)
    if isinstance(left, TextDomain) and isinstance(right, CategoryDomain):
        return TextDomain(nullable)
    if type(left) is type(right) and getattr(left, "unit", "") == getattr(right, "unit", ""):
        if not isinstance(left, Numeric) or not isinstance(right, Numeric):
            return left.with_nulls(nullable)
        low, high = _hull(left, right)
        return replace(left, nullable=nullable, lower=low, upper=high)
    if {type(left), type(right)} == {IntDomain, FloatDomain}:
        assert isinstance(left, Numeric) and isinstance(right, Numeric)
        low, high = _hull(left, right)
        return FloatDomain(nullable, *float_bounds(low, high))
    raise PlanError(
        f"a column cannot hold both {type_name(left)} and {type_name(right)}",
        do="convert one of them first with .astype(…)",
    )


def type_name(domain: Domain) -> str:
    """The type of a column in pandas' words."""
    return domain.unit if isinstance(domain, OrdinalDomain) else domain.dtype


def _hull(a: Numeric, b: Numeric) -> tuple[Any, Any]:
    low = None if a.lower is None or b.lower is None else min(a.lower, b.lower)
    high = None if a.upper is None or b.upper is None else max(a.upper, b.upper)
    return low, high


def float_bounds(low: Any, high: Any) -> tuple[float | None, float | None]:
    """Floats that enclose exact bounds (rounding an exact bound to a float must not move it inward)."""
    return (None if low is None else float_below(low)), (None if high is None else float_above(high))


def float_below(x: Any) -> float | None:
    if abs(x) > Fraction(1.7976931348623157e308):
        return None
    f = float(x)
    return f if Fraction(f) <= x else math.nextafter(f, -math.inf)


def float_above(x: Any) -> float | None:
    low = float_below(-x)
    return None if low is None else -low
