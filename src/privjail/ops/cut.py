"""cut: numbers into public intervals."""

from __future__ import annotations

from typing import Any

from privjail.errors import PlanError
from privjail.plan.domain import CategoryDomain, FloatDomain, IntDomain, Interval
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, node

MOST_BINS = 100_000


@node
class Cut(Expr):
    """The interval that each number falls into, between public edges; null outside all of them.

    Domain: a category for each interval, in order. Row-wise because the edges are given, never found.
    """

    kind = "cut"
    a: Expr
    edges: tuple[Lit, ...]
    labels: tuple[Lit, ...] | None
    right: int  # intervals include their right edge, else their left one
    lowest: int  # the first interval includes its left edge too

    def __post_init__(self) -> None:
        domain = self.a.domain
        if not isinstance(domain, (IntDomain, FloatDomain)):
            raise PlanError(f"cut needs numbers, not {domain.dtype}")
        edges = [e.value for e in self.edges]
        if not 2 <= len(edges) <= MOST_BINS + 1 or any(not -1e308 < e < 1e308 for e in edges):
            raise PlanError(f"cut needs between 2 and {MOST_BINS + 1} finite edges")
        if any(float(a) >= float(b) for a, b in zip(edges, edges[1:], strict=False)):
            raise PlanError("the edges of cut must rise (as floats: that is how they are compared)")
        if self.labels is not None and len(self.labels) != len(edges) - 1:
            raise PlanError(f"cut needs one label per interval: {len(edges) - 1}, got {len(self.labels)}")
        inside = domain.bounded and self._inside(domain.lower) and self._inside(domain.upper)
        self.derive(self.a, domain=CategoryDomain(domain.nullable or not inside, self._categories(), True))

    def _inside(self, x: Any) -> bool:
        # As the engine compares: float(2**53 + 1) lies on the edge 2**53, not above it.
        first, last, x = float(self.edges[0].value), float(self.edges[-1].value), float(x)
        if self.right:
            return bool(first < x <= last or (self.lowest and x == first))
        return bool(first <= x < last)

    def _categories(self) -> tuple[Any, ...]:
        if self.labels is not None:
            return tuple(label.value for label in self.labels)
        closed = "right" if self.right else "left"
        edges = [e.value for e in self.edges]
        out = [Interval(a, b, closed) for a, b in zip(edges, edges[1:], strict=False)]
        if self.right and self.lowest:
            out[0] = Interval(edges[0], edges[1], "both")
        return tuple(out)

    def polars(self, *inputs: Any) -> Any:
        import polars as pl

        column = inputs[0].cast(pl.Float64())
        edges = pl.lit(pl.Series([float(e.value) for e in self.edges]))
        # The number of edges below x (or at x, where intervals include their left edge), less one.
        code = edges.search_sorted(column, side="left" if self.right else "right").cast(pl.Int32()) - 1
        if self.right and self.lowest:
            code = pl.when(column == float(self.edges[0].value)).then(pl.lit(0, dtype=pl.Int32())).otherwise(code)
        bins = len(self.edges) - 1
        return pl.when(column.is_not_null() & (code >= 0) & (code < bins)).then(code)

    def text(self, *inputs: str) -> str:
        return f"cut({inputs[0]}, {len(self.edges) - 1} bins)"
