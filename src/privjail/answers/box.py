"""Intervals of statistics that are computed from several noisy sums: by interval arithmetic over a box of them.

Each of k noisy sums lies within its reach with probability 1 - (1 - confidence)/k, so all do with ``confidence``
(union bound). The statistic of the true sums then lies in what interval arithmetic gives. That is wider than needed
where a sum occurs twice in a formula, and never too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from privjail.answers.laws import Interval, LaplaceNoise, Law, too_wide


@dataclass(frozen=True)
class Span:
    """All numbers between two."""

    low: float
    high: float

    def __add__(self, other: Span) -> Span:
        return Span(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Span) -> Span:
        return Span(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Span) -> Span:
        ends = [x * y for x in (self.low, self.high) for y in (other.low, other.high)]
        return Span(min(ends), max(ends))

    def __truediv__(self, other: Span) -> Span:
        """By numbers above 0."""
        return self * Span(1 / other.high, 1 / other.low if other.low > 0 else math.inf)

    def times(self, factor: float) -> Span:
        return self * Span(factor, factor)

    def square(self) -> Span:
        least = 0.0 if self.low <= 0 <= self.high else min(self.low**2, self.high**2)
        return Span(least, max(self.low**2, self.high**2))

    def root(self) -> Span:
        return Span(math.sqrt(max(self.low, 0.0)), math.sqrt(max(self.high, 0.0)))

    def within(self, low: float, high: float) -> Span:
        """The part between two numbers; an end that is NaN is replaced by that of the range."""
        ends = [end if end == end else limit for end, limit in ((self.low, low), (self.high, high))]
        return Span(min(max(ends[0], low), high), min(max(ends[1], low), high))


Formula = Callable[[list[Span], float], Span]  # of the parts' spans and one public number; importable, for pickle


@dataclass(frozen=True)
class BoxLaw(Law):
    """A statistic of several noisy sums, the first of which is a count of rows."""

    parts: tuple[tuple[float, LaplaceNoise], ...]
    formula: Formula
    public: float
    low: float
    high: float

    def interval(self, answer: float, confidence: float) -> Interval:
        each = 1 - (1 - confidence) / len(self.parts)
        spans = [Span(x - noise.reach(each), x + noise.reach(each)) for x, noise in self.parts]
        found = self.formula([Span(max(spans[0].low, 1.0), max(spans[0].high, 1.0)), *spans[1:]], self.public)
        inside = found.within(self.low, self.high)
        return (inside.low, inside.high) if answer != answer else (min(inside.low, answer), max(inside.high, answer))

    def doubt(self, answer: float) -> str | None:
        if answer != answer:
            return "the noise is larger than the variance"
        count, noise = self.parts[0]
        if count - noise.reach(0.95) < 1:
            return f"perhaps no row at all: the noisy count is {count:.4g} ± {noise.reach(0.95):.3g}"
        return too_wide(self.interval(answer, 0.95), self.low, self.high) if math.isfinite(self.high) else None


def _centred(product: Span, x: Span, y: Span, n: Span) -> Span:
    """Σxy - Σx·Σy/n."""
    return product - x * y / n


def _spread(squares: Span, x: Span, n: Span) -> Span:
    """Σx² - (Σx)²/n, which is not negative."""
    found = squares - x.square() / n
    return Span(max(found.low, 0.0), max(found.high, 0.0))


def covariance(parts: list[Span], ddof: float) -> Span:
    """From count, Σx, Σy and Σxy."""
    n, x, y, xy = parts
    divisor = Span(max(n.low - ddof, 1.0), max(n.high - ddof, 1.0))
    return _centred(xy, x, y, n) / divisor


def correlation(parts: list[Span], _: float) -> Span:
    """From count, Σx, Σy, Σxy, Σx² and Σy²."""
    n, x, y, xy, xx, yy = parts
    below = (_spread(xx, x, n) * _spread(yy, y, n)).root()
    return Span(-1.0, 1.0) if below.low <= 0 else (_centred(xy, x, y, n) / below).within(-1.0, 1.0)


def standard_error(parts: list[Span], ddof: float) -> Span:
    """Of a mean, from count, Σx and Σx²."""
    n, x, squares = parts
    divisor = Span(max(n.low - ddof, 1.0), max(n.high - ddof, 1.0))
    return (_spread(squares, x, n) / (n * divisor)).root()


def skewness(parts: list[Span], _: float) -> Span:
    """From count and the sums of three powers."""
    n, *sums = parts
    m1, m2, m3 = (each / n for each in sums)
    spread = _spread(sums[1], sums[0], n) / n
    if spread.low <= 0:
        return Span(-math.inf, math.inf)
    third = m3 - (m1 * m2).times(3) + (m1.square() * m1).times(2)
    few, many = max(n.low, 4.0), max(n.high, 4.0)
    factor = Span(math.sqrt(many * (many - 1)) / (many - 2), math.sqrt(few * (few - 1)) / (few - 2))
    return third / (spread * spread.root()) * factor


def kurtosis(parts: list[Span], _: float) -> Span:
    """Excess kurtosis, from count and the sums of four powers."""
    n, *sums = parts
    m1, m2, m3, m4 = (each / n for each in sums)
    spread = _spread(sums[1], sums[0], n) / n
    if spread.low <= 0:
        return Span(-math.inf, math.inf)
    fourth = m4 - (m1 * m3).times(4) + (m1.square() * m2).times(6) - m1.square().square().times(3)
    excess = fourth / spread.square()
    few, many = max(n.low, 5.0), max(n.high, 5.0)
    # As pandas corrects it for small numbers: (n - 1)/((n - 2)(n - 3)) · ((n + 1)·excess - 3(n - 1)).
    factor = Span((many - 1) / ((many - 2) * (many - 3)), (few - 1) / ((few - 2) * (few - 3)))
    return factor * (Span(few + 1, many + 1) * excess - Span(3 * (few - 1), 3 * (many - 1)))
