"""How far a released number may be off: one law for each way in which numbers are released.

A law gives intervals for the statistic *of the data that the jail holds*: inside their domains, on the grid of sums.
It says nothing about a population that the data were drawn from. Laws hold numbers only, so they can be pickled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

Interval = tuple[float, float]
VISIBLE = 1000  # a variance below this part of the largest possible one counts as none


def around(answer: float, far: float) -> Interval:
    """All numbers at most this far from an answer; everything, where one of them has no float."""
    if not math.isfinite(answer) or not math.isfinite(far):
        return (-math.inf, math.inf)
    return (answer - far, answer + far)


class Law:
    """What is known about one released number, besides the number."""

    @property
    def noise(self) -> float | None:
        """The standard deviation of the noise; None where there is no single one."""
        return None

    def interval(self, answer: float, confidence: float) -> Interval:
        """An interval that holds the true statistic with at least this probability."""
        raise TypeError

    def doubt(self, answer: float) -> str | None:
        """Why the number should not be relied on; None if nothing speaks against it."""
        return None


@dataclass(frozen=True)
class Exact(Law):
    """No noise: the number was public."""

    @property
    def noise(self) -> float:
        return 0.0

    def interval(self, answer: float, confidence: float) -> Interval:
        return (answer, answer)


@dataclass(frozen=True)
class LaplaceNoise(Law):
    """Two-sided geometric noise: whole steps x of a grid, with probability proportional to exp(-|x·grid| / scale)."""

    scale: float  # in the unit of the number
    grid: float
    rounding: float = 0.0  # the released number was moved by at most this much besides

    @property
    def noise(self) -> float:
        """Of x: 2a / (1 - a)², with a = exp(-grid / scale)."""
        if self.scale == 0 or self.scale == math.inf:
            return self.scale
        step = self.grid / self.scale
        return self.grid * math.sqrt(2 * math.exp(-step)) / -math.expm1(-step)

    def interval(self, answer: float, confidence: float) -> Interval:
        return around(answer, self.reach(confidence))

    def reach(self, confidence: float) -> float:
        """The least t with Pr[|x·grid| > t] ≤ 1 - confidence: Pr[|x| > k] = 2a**(k+1) / (1 + a)."""
        if self.scale == 0 or self.scale == math.inf:  # beyond the largest float nothing is known
            return self.rounding + self.scale
        steps = self.scale / self.grid
        a = math.exp(-1 / steps)
        k = max(0, math.ceil(-steps * math.log((1 - confidence) * (1 + a) / 2) - 1 - 1e-12))
        return k * self.grid + self.rounding


@dataclass(frozen=True)
class GaussianNoise(Law):
    """Gaussian noise."""

    sigma: float
    rounding: float = 0.0

    @property
    def noise(self) -> float:
        return self.sigma

    def interval(self, answer: float, confidence: float) -> Interval:
        return around(answer, self.sigma * NormalDist().inv_cdf((1 + confidence) / 2) + self.rounding)


@dataclass(frozen=True)
class OtherNoise(Law):
    """Noise of another mechanism, known by how far it reaches at a few confidences."""

    reaches: tuple[tuple[float, float], ...]  # (confidence, distance), rising

    def interval(self, answer: float, confidence: float) -> Interval:
        return around(answer, next((reach for known, reach in self.reaches if known >= confidence), math.inf))


@dataclass(frozen=True)
class Mapped(Law):
    """A rising function of a number with a known law: a root, a multiple, a clipped count."""

    inner: Law
    released: float  # the number that the law speaks of
    f: Callable[[float], float]  # importable, so that it can be pickled

    def interval(self, answer: float, confidence: float) -> Interval:
        low, high = self.inner.interval(self.released, confidence)
        return (self.f(low), self.f(high))

    def doubt(self, answer: float) -> str | None:
        return self.inner.doubt(self.released)


def root(x: float) -> float:
    """The square root, 0 below 0."""
    return math.sqrt(max(x, 0.0))


@dataclass(frozen=True)
class Parts:
    """A noisy sum (of deviations from the middle of the range) and a noisy count, as they were released."""

    total: float
    count: float
    total_noise: LaplaceNoise
    count_noise: LaplaceNoise

    def fewest(self, confidence: float) -> float:
        """The true count is at least this, with this probability: a one-sided bound."""
        return self.count - self.count_noise.reach(2 * confidence - 1)

    def doubt(self) -> str | None:
        if self.fewest(0.975) >= 1:
            return None
        return f"perhaps no row at all: the noisy count is {self.count:.4g} ± {self.count_noise.reach(0.95):.3g}"


@dataclass(frozen=True)
class MeanLaw(Law):
    """A noisy sum over a noisy count: Fieller's interval with the exact law of the noise.

    Let T = S + X and C = N + Y be released, and μ = S/N the true mean (measured from the middle of the range). Then
    T - μC = X - μY, whose law is known for every μ. The interval holds all μ in the range for which |T - μC| is not
    in the tail of mass 1 - confidence; the true μ is among them with probability ``confidence``, whatever N ≥ 1 is.
    Noise in whole steps is no more peaked than continuous noise of the same scale rounded to steps (for k ≥ 1,
    2aᵏ/(1 + a) ≤ a^(k - ½)), and sums of symmetric unimodal numbers keep that order (Birnbaum 1948). So the tail is
    that of continuous Laplace numbers, half a step nearer for each of the two.
    Source: Fieller, J. R. Stat. Soc. B 1954, with Laplace noise in place of Gaussian.
    """

    parts: Parts
    middle: float
    low: float
    high: float

    SCANNED = 256  # points of the range: where a count near zero leaves several pieces, their hull is given

    def interval(self, answer: float, confidence: float) -> Interval:
        half = self.high / 2 - self.low / 2
        best = min(max(answer - self.middle, -half), half)
        points = sorted({half * (2 * i / self.SCANNED - 1) for i in range(self.SCANNED + 1)} | {best})
        inside = [i for i, mu in enumerate(points) if self.tail(mu) >= 1 - confidence]
        if not inside:
            return (self.low, self.high)
        first, last = inside[0], inside[-1]
        left = points[0] if first == 0 else self._edge(points[first], points[first - 1], confidence)
        right = points[-1] if last == len(points) - 1 else self._edge(points[last], points[last + 1], confidence)
        at = self.middle + best  # where the noisy count is negative, the mean itself may lie outside
        return (min(max(self.middle + left, self.low), at), max(min(self.middle + right, self.high), at))

    def tail(self, mu: float) -> float:
        """Pr[|X - μY| ≥ |T - μC|], or a little more."""
        parts = self.parts
        x, y = parts.total_noise, parts.count_noise
        slack = x.grid / 2 + x.rounding + abs(mu) * (y.grid / 2 + y.rounding)
        return two_laplace_tail(abs(parts.total - mu * parts.count) - slack, x.scale, abs(mu) * y.scale)

    def _edge(self, inside: float, outside: float, confidence: float) -> float:
        """Where the tail falls below its mass, between a point inside and one outside; rounded outward."""
        for _ in range(50):
            middle = inside / 2 + outside / 2
            inside, outside = (middle, outside) if self.tail(middle) >= 1 - confidence else (inside, middle)
        return outside

    def doubt(self, answer: float) -> str | None:
        parts = self.parts
        if found := parts.doubt():
            return found
        # A box around both parts, which is cheap; only a mean that looks doubtful is worth its interval.
        reach = parts.total_noise.reach(0.95) + abs(answer - self.middle) * parts.count_noise.reach(0.95)
        if 2 * reach / parts.fewest(0.975) < (self.high - self.low) / 2:
            return None
        return too_wide(self.interval(answer, 0.95), self.low, self.high)


def two_laplace_tail(t: float, a: float, b: float) -> float:
    """Pr[|X + Y| ≥ t] for independent continuous Laplace numbers of scales a and b.

    The density of the sum is (a·exp(-t/a) - b·exp(-t/b)) / 2(a² - b²); near a = b its limit is used, which is
    continuous in both. 1 for t ≤ 0.
    """
    a, b = max(a, b), min(a, b)
    if not math.isfinite(a) or not math.isfinite(t):
        return 1.0
    if t <= 0 or a == 0:
        return 1.0 if t <= 0 else 0.0
    if b > a * (1 - 1e-6):
        return math.exp(-t / a) * (1 + t / (2 * a))
    small = b * b * math.exp(-t / b) if b > 0 else 0.0
    return (a * a * math.exp(-t / a) - small) / ((a - b) * (a + b))


@dataclass(frozen=True)
class VarianceLaw(Law):
    """The variance from noisy squares, sum and count: the largest and smallest over a box of the three.

    Each part is within its reach with probability 1 - (1 - confidence)/3, so all three are with probability
    ``confidence`` (union bound). (q - s²/n) / (n - ddof) rises with q and falls with s²; in n its extrema are known.
    Where it is least it may be negative: then 0 is the bound, since a variance is not.
    """

    parts: Parts
    squares: float
    squares_noise: LaplaceNoise
    most: float  # the largest possible variance
    ddof: int = 1

    def interval(self, answer: float, confidence: float) -> Interval:
        each = 1 - (1 - confidence) / 3
        parts, far = self.parts, self.squares_noise.reach(each)
        t, c = parts.total_noise.reach(each), parts.count_noise.reach(each)
        if not math.isfinite(far + t + c):
            return (0.0, self.most)
        fewest, most = max(parts.count - c, 2.0), max(parts.count + c, 2.0)
        near = max(abs(parts.total) - t, 0.0)
        low = min(self._spreads(self.squares - far, abs(parts.total) + t, fewest, most))
        high = max(self._spreads(self.squares + far, near, fewest, most))
        return (min(max(low, 0.0), self.most), min(max(high, 0.0), self.most))

    def _spreads(self, q: float, s: float, fewest: float, most: float) -> list[float]:
        """The variance at both ends of the range of counts, and at its extrema between."""
        counts = [fewest, most, *(n for n in _turning(q, s, self.ddof) if fewest < n < most)]
        return [(q - s * s / n) / max(n - self.ddof, 1.0) for n in counts]

    def doubt(self, answer: float) -> str | None:
        if self.parts.fewest(0.975) < 2:
            return self.parts.doubt() or "perhaps a single row, which has no variance"
        low, high = self.interval(answer, 0.95)
        if answer <= 0 and high > self.most / VISIBLE:
            return f"anything from {low:.4g} to {high:.4g}"  # what came out was less than 0
        return too_wide((low, high), 0.0, self.most)


def _turning(q: float, s: float, ddof: int) -> tuple[float, ...]:
    """Where (q·n - s²) / n(n - d) has its extrema in n: q·n² - 2s²·n + d·s² = 0; and where the divisor becomes 1."""
    square = s**4 - q * ddof * s * s
    if q <= 0 or square < 0:
        return (ddof + 1.0,)
    return ((s * s + math.sqrt(square)) / q, (s * s - math.sqrt(square)) / q, ddof + 1.0)


@dataclass(frozen=True)
class RankLaw(Law):
    """A private quantile: between two ends that were released with it.

    The ends are quantiles of ranks so far below and above that each is on its side of the true one with the stated
    confidence (argued in statistics/quantile.py). For more confidence than that only the range is known.
    """

    left: float
    right: float
    low: float
    high: float
    confidence: float
    few: str | None = None  # why the number of rows is too small
    fitted: bool = True  # the ends were chosen for this quantile: if they lie far apart, it is not known well

    def interval(self, answer: float, confidence: float) -> Interval:
        if confidence > self.confidence:
            return (self.low, self.high)
        return (min(self.left, answer), max(self.right, answer))

    def doubt(self, answer: float) -> str | None:
        if self.few or not self.fitted:
            return self.few
        return too_wide(self.interval(answer, self.confidence), self.low, self.high)


def too_wide(interval: Interval, low: float, high: float) -> str | None:
    """A number is of little use if its interval is as wide as half of what was known without it."""
    left, right = interval
    if right - left < (high - low) / 2 or low == high:
        return None
    return f"anything from {left:.4g} to {right:.4g}"
