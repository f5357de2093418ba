"""Rows of several columns: weighted sums, scaling to a norm, and rounding that keeps a norm."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from privjail.errors import PlanError
from privjail.ops.numbers.tally import grid_bounds, sum_grid
from privjail.plan.domain import FloatDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, node

MOST_COLUMNS = 4096
SLACK = 2.0**-39  # of a norm bound: more than what rounding in floats can lose over so many columns
LEAST_BOUND, LARGEST_BOUND = 2.0**-100, 2.0**100
ORDERS = ("1", "2", "inf")


def _need_numbers(columns: tuple[Expr, ...], verb: str) -> None:
    if not 1 <= len(columns) <= MOST_COLUMNS:
        raise PlanError(f"{verb} takes between 1 and {MOST_COLUMNS} columns")
    for each in columns:
        if not isinstance(each.domain, (IntDomain, FloatDomain)):
            raise PlanError(f"{verb} needs numbers, not {each.domain.dtype}", do="convert the column with .astype(…)")


def _on_arrays(inputs: Sequence[Any], compute: Callable[[list[Any]], Any]) -> Any:
    """One Polars expression from a function of float arrays. Null is NaN meanwhile, for no float in a jail is one."""
    import polars as pl

    def run(columns: Sequence[Any]) -> Any:
        import numpy as np

        with np.errstate(all="ignore"):
            found = compute([each.to_numpy() for each in columns])
        column = pl.Series(found, dtype=pl.Float64())
        return column.set(~column.is_finite(), None)

    floats = [each.cast(pl.Float64()) for each in inputs]
    return pl.map_batches(floats, run, return_dtype=pl.Float64(), is_elementwise=True)


@node
class Dot(Expr):
    """w₀·x₀ + w₁·x₁ + … with public weights, added from left to right in floats; null where a column is.

    Domain: the same float operations on the ends of the ranges. Each is monotone in each operand, rounding included,
    so the results enclose all others. What overflows is null, and the domain says so.
    """

    kind = "dot"
    shared = True  # X @ W: each column of it is read by all products
    columns: tuple[Expr, ...]
    weights: tuple[Lit, ...]

    def __post_init__(self) -> None:
        _need_numbers(self.columns, "a weighted sum")
        weights = [w.value for w in self.weights]
        if len(weights) != len(self.columns) or not all(type(w) is float and math.isfinite(w) for w in weights):
            raise PlanError("a weighted sum needs one finite weight (a float) for each column")
        nullable = any(each.domain.nullable for each in self.columns)
        self.computed_from(*self.columns, domain=self._range(nullable))

    def _range(self, nullable: bool) -> FloatDomain:
        low = high = 0.0
        for each, w in zip(self.columns, self.weights, strict=True):
            if not each.domain.bounded:  # type: ignore[attr-defined]
                return FloatDomain(True)
            ends = [w.value * float(end) for end in each.domain.range]  # type: ignore[attr-defined]
            low, high = low + min(ends), high + max(ends)
            if not (math.isfinite(low) and math.isfinite(high)):
                return FloatDomain(True)
        return FloatDomain(nullable, low, high)

    def polars(self, *inputs: Any) -> Any:
        weights = [w.value for w in self.weights]

        def add_up(columns: list[Any]) -> Any:
            total: Any = 0.0
            for x, w in zip(columns, weights, strict=True):
                total = total + x * w
            return total

        return _on_arrays(inputs, add_up)

    def python(self, *inputs: Any) -> Any:
        total = 0.0
        for x, w in zip(inputs, self.weights, strict=True):
            total = total + float(x) * w.value
        return total if math.isfinite(total) else None

    def text(self, *inputs: str) -> str:
        return f"dot([{', '.join(inputs[:4])}{', …' if len(inputs) > 4 else ''}], {len(inputs)} weights)"


@node
class RowScale(Expr):
    """The largest s in [0, 1], up to a little slack, such that the row times s has a norm of at most the bound.

    Claim: with x the row as floats, the numbers fl(xᵢ·s) have a norm (L1, L2 or L∞) of at most the bound, except
    for what underflows. Why: decision 0190, "Floats". The slack of 2⁻³⁹ exceeds what rounding loses in 4,096 columns.
    Domain: [0, 1]; null where a column is.
    """

    kind = "row_scale"
    columns: tuple[Expr, ...]
    bound: Lit
    order: str

    shared = True

    def __post_init__(self) -> None:
        _need_numbers(self.columns, "clip_norm")
        if self.order not in ORDERS:
            raise PlanError(f"no norm of order {self.order!s:.20}", do="use ord=1, ord=2 or ord=inf")
        bound = self.bound.value
        if type(bound) is not float or not LEAST_BOUND <= bound <= LARGEST_BOUND:
            raise PlanError("clip_norm needs a bound between 1e-30 and 1e30")
        nullable = any(each.domain.nullable for each in self.columns)
        self.computed_from(*self.columns, domain=FloatDomain(nullable, 0.0, 1.0))

    @property
    def aimed(self) -> float:
        """The norm that is aimed at: a little below the bound."""
        return float(self.bound.value * (1 - SLACK))

    def polars(self, *inputs: Any) -> Any:
        import numpy as np

        def scale(columns: list[Any]) -> Any:
            total: Any = columns[0] * 0.0
            for x in columns:
                if self.order == "inf":
                    total = np.maximum(total, np.abs(x))  # NaN stays NaN
                else:
                    total = total + (x * x if self.order == "2" else np.abs(x))
            norm = np.sqrt(total) if self.order == "2" else total
            return np.where(np.isnan(norm), np.nan, np.where(norm <= self.aimed, 1.0, self.aimed / norm))

        return _on_arrays(inputs, scale)

    def python(self, *inputs: Any) -> Any:
        total = 0.0
        for x in map(float, inputs):
            size = x * x if self.order == "2" else abs(x)
            total = max(total, size) if self.order == "inf" else total + size
        norm = math.sqrt(total) if self.order == "2" else total
        return 1.0 if norm <= self.aimed else self.aimed / norm

    def text(self, *inputs: str) -> str:
        return f"row_scale({len(inputs)} columns, {self.bound.value:g}, ord={self.order})"


@node
class Truncate(Expr):
    """A column of floats, moved toward zero to the grid on which sums add it up (``sum_grid`` of its domain).

    Claim: no value gets larger in absolute value, and each is a multiple of the grid. Then every norm of a row of such
    columns is at most what it was before, and the sum does not round them again. Domain: both ends moved likewise.
    """

    kind = "truncate"
    a: Expr

    def __post_init__(self) -> None:
        domain = self.a.domain
        if not isinstance(domain, FloatDomain):
            raise PlanError(f"truncate needs floats, not {domain.dtype}")
        if not domain.bounded:
            raise PlanError("truncate needs a range: the grid follows from it", do="clip the column first")
        grid = sum_grid(domain)
        low, high = (float(end * grid) for end in grid_bounds(domain))
        self.computed_from(self.a, domain=FloatDomain(domain.nullable, low, high))

    @property
    def grid(self) -> float:
        """A power of two."""
        assert isinstance(self.a.domain, FloatDomain)
        return float(sum_grid(self.a.domain))

    def polars(self, *inputs: Any) -> Any:
        import numpy as np

        # Dividing and multiplying by a power of two is exact: quotients have at most 31 bits before the point, and
        # the grid is at least 2**-1020.
        return _on_arrays(inputs, lambda columns: np.trunc(columns[0] / self.grid) * self.grid + 0.0)

    def python(self, *inputs: Any) -> Any:
        return float(math.trunc(Fraction(inputs[0]) / Fraction(self.grid))) * self.grid + 0.0

    def text(self, *inputs: str) -> str:
        return f"truncate({inputs[0]})"
