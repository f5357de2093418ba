"""Scores of candidate values by how many rows lie on either side: the way to quantiles, minima and maxima."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from sys import float_info
from typing import Any

from privjail.errors import PlanError, RowsError
from privjail.ops.columns.compare import exact
from privjail.plan.domain import FloatDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, node
from privjail.plan.rows import Rows
from privjail.plan.value import ROWS_BITS, AllMove, Facts, Value, common_grid

MOST_CANDIDATES = 20_000


@node
class QuantileScores(Value):
    """For each candidate c, minus how far it is from splitting the rows as wanted.

    Rows below c weigh ``below``, rows above it -``above``, and rows equal to c may be counted on either side:
    0 where that can make the balance equal to ``target``, else minus what is missing,
    -max(0, below·#{x < c} - above·#{x ≥ c} - target, target - below·#{x ≤ c} + above·#{x > c}).
    (Left uncounted, equal rows would make values between two common ones as good as a common one.)
    Distance: every score can move at once, each like a sum over rows: a row adds ``below`` or -``above`` to the first
    term, and the opposite to the second.
    """

    kind = "quantile_scores"
    rows: Rows
    a: Expr
    candidates: tuple[Lit, ...]
    below: Fraction
    above: Fraction
    target: Fraction

    def __post_init__(self) -> None:
        if self.a.base is not None and self.a.base is not self.rows.base:
            raise RowsError("the column does not belong to the rows of this table")
        if not isinstance(self.a.domain, (IntDomain, FloatDomain)):
            raise PlanError(f"a quantile needs numbers, not {self.a.domain.dtype}")
        points = tuple(c.value for c in self.candidates)
        if not 1 <= len(points) <= MOST_CANDIDATES or any(not isinstance(p, (int, float)) for p in points):
            raise PlanError(f"between 1 and {MOST_CANDIDATES} candidate numbers are needed")
        if any(not abs(p) <= float_info.max for p in points):
            raise PlanError("the candidates must be finite")
        if any(p >= q for p, q in zip(points, points[1:], strict=False)):
            raise PlanError("the candidates must rise")
        if not (0 <= self.below <= 1 and 0 <= self.above <= 1):
            raise PlanError("the weights of the two sides lie between 0 and 1")
        steps = [g for g in (self.below, self.above, abs(self.target)) if g]
        self.fact(index=(points,), grid=common_grid(steps) if steps else Fraction(1))

    def derive(self) -> Facts:
        joint = AllMove(self.size, self.rows.sum_distance(-self.above, self.below))
        return Facts(joint, self.rows.cells, self.rows.cap is not None, monotone=False)

    def number_bits(self, inputs: Sequence[tuple[Value, int]]) -> int:
        steps = [abs(x) / self.grid for x in (self.below, self.above, self.target)]
        return ROWS_BITS + 2 + max([int(step).bit_length() for step in steps])

    def scores(self, below: list[int], above: list[int], rows: int) -> list[int]:
        """The scores in units of the grid, from the numbers of rows on either side of each candidate."""
        left, right = int(self.below / self.grid), int(self.above / self.grid)
        target = int(self.target / self.grid)
        out = []
        for x, y in zip(below, above, strict=True):
            too_high = left * x - right * (rows - x) - target
            too_low = target - left * (rows - y) + right * y
            out.append(-max(0, too_high, too_low))
        return out

    def polars(self, column: Any) -> tuple[list[int], list[int], int]:
        """How many values lie below each candidate and above it, and how many there are."""
        import numpy as np

        domain = self.a.domain
        assert isinstance(domain, (IntDomain, FloatDomain))
        held = np.sort(column.drop_nulls().to_numpy())

        def count(op: str, side: Any) -> list[int]:
            bounds = [exact(domain, op, c.value) for c in self.candidates]
            found = np.searchsorted(held, np.array([b for b in bounds if not isinstance(b, bool)], held.dtype), side)
            among = iter((found if op == "<" else len(held) - found).tolist())
            return [len(held) * b if isinstance(b, bool) else next(among) for b in bounds]

        return count("<", "left"), count(">", "right"), len(held)

    def python(self, values: list[Any]) -> tuple[list[int], list[int], int]:
        held = [x for x in values if x is not None]
        points = [c.value for c in self.candidates]
        return [sum(x < c for x in held) for c in points], [sum(x > c for x in held) for c in points], len(held)

    def text(self) -> str:
        return f"{self.rows} | ranks({self.a}, {len(self.candidates)} candidates)"
