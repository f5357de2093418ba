"""cut: numbers into public intervals."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from privjail.errors import PlanError
from privjail.plan.domain import CategoryDomain, FloatDomain, IntDomain, Interval
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, node

MOST_BINS = 100_000
BLOCK = 1 << 15  # numbers that are sorted into intervals at a time: short arrays stay in the processor's cache


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
        inner = edges[1 if edges[:1] == [-math.inf] else 0 : -1 if edges[-1:] == [math.inf] else None]
        if not 2 <= len(edges) <= MOST_BINS + 1 or not all([-1e308 < e < 1e308 for e in inner]):
            raise PlanError(f"cut needs between 2 and {MOST_BINS + 1} edges, finite but for the first and the last")
        if any([a >= b for a, b in pairwise(map(float, edges))]):
            raise PlanError("the edges of cut must rise (as floats: that is how they are compared)")
        if self.labels is not None and len(self.labels) != len(edges) - 1:
            raise PlanError(f"cut needs one label per interval: {len(edges) - 1}, got {len(self.labels)}")
        ends = (edges[0] == -math.inf, edges[-1] == math.inf)
        inside = all(end if b is None else self._inside(b) for b, end in zip(domain.range, ends, strict=True))
        self.computed_from(self.a, domain=CategoryDomain(domain.nullable or not inside, self._categories(edges), True))

    def _inside(self, x: Any) -> bool:
        # As the engine compares: float(2**53 + 1) lies on the edge 2**53, not above it.
        first, last, x = float(self.edges[0].value), float(self.edges[-1].value), float(x)
        if self.right:
            return bool(first < x <= last or (self.lowest and x == first))
        return bool(first <= x < last)

    def _categories(self, edges: list[Any]) -> tuple[Any, ...]:
        if self.labels is not None:
            return tuple(label.value for label in self.labels)
        closed = "right" if self.right else "left"
        out = [Interval(a, b, closed) for a, b in pairwise(edges)]
        if self.right and self.lowest:
            out[0] = Interval(edges[0], edges[1], "both")
        return tuple(out)

    def polars(self, *inputs: Any) -> Any:
        import polars as pl

        return inputs[0].cast(pl.Float64()).map_batches(self._codes, return_dtype=pl.Int32(), is_elementwise=True)

    def _codes(self, column: Any) -> Any:
        """The position of each number's interval."""
        import polars as pl

        edges = [float(e.value) for e in self.edges]
        numbers = (column.fill_null(edges[0]) if column.null_count() else column).to_numpy()
        # The number of edges below x (or at x, where intervals include their left edge), less one.
        code = below(numbers, edges, not self.right) - 1
        if self.right and self.lowest:
            code[numbers == edges[0]] = 0
        found = pl.Series(column.name, code)
        outside = (code < 0) | (code >= len(edges) - 1)
        if outside.any():
            found = found.set(pl.Series(outside), None)
        return found.set(column.is_null(), None) if column.null_count() else found

    def python(self, *inputs: Any) -> Any:
        x, edges = float(inputs[0]), [float(e.value) for e in self.edges]
        for i, (low, high) in enumerate(pairwise(edges)):
            if low < x < high or x == (high if self.right else low) or (self.lowest and self.right and x == edges[0]):
                return i
        return None

    def sql(self, sql: Any, *inputs: Any) -> Any:
        x, edges = sql.as_float(inputs[0]), [float(e.value) for e in self.edges]
        code = sql.even_edges_below(x, edges, not self.right)
        # The number of edges below x is one more than the position of its interval; 0 and the last are outside.
        positions = [None, *range(len(edges) - 1), None]
        if self.right and self.lowest:
            code = sql.case(x.equals(sql.number(edges[0])), sql.code(1), code)
        code = sql.named(code)
        return sql.case((code > sql.code(0)) & (code < sql.code(len(positions) - 1)), code - sql.code(1))

    def text(self, *inputs: str) -> str:
        return f"cut({inputs[0]}, {len(self.edges) - 1} bins from {self.edges[0]} to {self.edges[-1]})"


def below(x: Any, edges: list[float], or_equal: bool) -> Any:
    """How many of the rising edges lie below each number (or are equal to it).

    A table over evenly spaced points gives a first guess, which is then moved until it is right. Only where guesses
    are far off (edges of very different distances) each number is searched for.
    """
    import numpy as np

    reach = edges[-1] - edges[0]
    scale = 4 * len(edges) / reach
    fenced = np.array([-np.inf, *edges, np.inf])
    if not (reach < np.inf and scale < np.inf):
        return np.searchsorted(fenced[1:-1], x, "right" if or_equal else "left").astype(np.int32)
    start = np.searchsorted(fenced[1:-1], edges[0] + np.arange(4 * len(edges) + 1) / scale).astype(np.int32)
    found = np.empty(len(x), dtype=np.int32)
    with np.errstate(over="ignore"):
        for i in range(0, len(x), BLOCK):
            guess = start[np.clip((x[i : i + BLOCK] - edges[0]) * scale, 0, 4 * len(edges)).astype(np.int32)]
            found[i : i + BLOCK] = _moved(guess, x[i : i + BLOCK], fenced, or_equal)
    return found


def _moved(guess: Any, x: Any, fenced: Any, or_equal: bool) -> Any:
    import numpy as np

    for _ in range(3):
        left, right = fenced[guess], fenced[guess + 1]
        down = left > x if or_equal else left >= x
        up = right <= x if or_equal else right < x
        if not (down.any() or up.any()):
            return guess
        guess = guess - down + up
    return np.searchsorted(fenced[1:-1], x, "right" if or_equal else "left")
