"""Scores of candidate values by how many rows lie on either side: the way to quantiles, minima and maxima."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from privjail.errors import PlanError, RowsError
from privjail.plan.domain import FloatDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, node
from privjail.plan.rows import Rows
from privjail.plan.value import Together, Value, common_grid

MOST_CANDIDATES = 20_000


@node
class Ranks(Value):
    """For each candidate c: -|below·#{x < c} - above·#{x > c} - target|.

    Distance: every score can move at once, each by max(below, above) per edit, since a row is on one side
    of c or on neither.
    """

    kind = "ranks"
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
        if not 1 <= len(points) <= MOST_CANDIDATES or not all(self._fits(p) for p in points):
            raise PlanError(f"between 1 and {MOST_CANDIDATES} candidate numbers of 64 bits are needed")
        if any(p >= q for p, q in zip(points, points[1:], strict=False)):
            raise PlanError("the candidates must rise")
        if not (0 <= self.below <= 1 and 0 <= self.above <= 1):
            raise PlanError("the weights of the two sides lie between 0 and 1")
        steps = [g for g in (self.below, self.above, abs(self.target)) if g]
        self.fact(
            index=(points,),
            joint=Together(len(points), self.rows.distance * max(self.below, self.above)),
            grid=common_grid(steps) if steps else Fraction(1),
            cells=self.rows.cells,
            capped=self.rows.cap is not None,
            monotone=False,
        )

    def _fits(self, point: Any) -> bool:
        """Whether the engine can hold a candidate in the column's type, whatever rows there are."""
        if isinstance(self.a.domain, FloatDomain):
            return isinstance(point, (int, float)) and abs(point) < 1e308
        return isinstance(point, (int, float)) and -(2**63) <= point < 2**63

    def scores(self, below: list[int], above: list[int]) -> list[int]:
        """The scores in units of the grid, from the numbers of rows on either side of each candidate."""
        left, right = int(self.below / self.grid), int(self.above / self.grid)
        target = int(self.target / self.grid)
        return [-abs(left * x - right * y - target) for x, y in zip(below, above, strict=True)]

    def text(self) -> str:
        return f"{self.rows} | ranks({self.a}, {len(self.candidates)} candidates)"

    def compute(self, *inputs: Any) -> Any:
        return self.scores(*inputs)
