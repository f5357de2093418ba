"""The law of the noise that stands on a released vector of whole numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privjail.errors import PlanError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: A source of noise: so many independent whole numbers with Pr[x] proportional to exp(-|x| / scale).
#: ``privjail.mechanisms.noise.Noise().laplace`` is the exact one; a simulation brings its own.
Draw = Callable[[float, int], Any]


@dataclass(frozen=True)
class Law:
    """The sum of independent discrete Laplace draws, one for each scale: Pr[x] proportional to exp(-|x| / scale).

    One scale for a trusted server; one for each of two servers that add their noise without seeing the other's.
    """

    scales: tuple[float, ...]

    def __post_init__(self) -> None:
        if not all(math.isfinite(scale) and scale >= 0 for scale in self.scales):
            raise PlanError(f"a scale of noise is a number ≥ 0, not {self.scales}")

    @classmethod
    def of(cls, scale: float, draws: int = 1) -> Law:
        """The law of so many draws of the same scale."""
        return cls((float(scale),) * draws)

    @property
    def variance(self) -> float:
        """Var X = 2a / (1 - a)² for a = exp(-1 / scale), summed over the draws."""
        return sum(_variance(scale) for scale in self.scales)

    @property
    def deviation(self) -> float:
        """The standard deviation of one element."""
        return math.sqrt(self.variance)

    def pmf(self, reach: int) -> Floats:
        """Pr[x] for x = -reach … reach."""
        size = 2 * reach + 1
        law = np.zeros(size)
        law[reach] = 1.0
        for scale in self.scales:
            law = _convolve(law, _geometric(scale, reach))[reach : reach + size]
        return law

    def log_density(self, x: Floats) -> Floats:
        """log Pr[x]; between whole numbers, the smooth curve through them."""
        distance = np.abs(x)
        if len(self.scales) == 1 and self.scales[0] > 0:
            return np.asarray(math.log(math.tanh(1 / (2 * self.scales[0]))) - distance / self.scales[0])
        if len(self.scales) == 2 and self.scales[0] == self.scales[1] > 0:
            return _log_two_draws(distance, self.scales[0])
        return self._log_density_by_table(distance)

    def _log_density_by_table(self, distance: Floats) -> Floats:
        widest = max(self.scales, default=0.0)
        if widest == 0:
            raise PlanError("a vector without noise has no density")
        reach = math.ceil(20 * widest * len(self.scales)) + 1
        law = self.pmf(reach)[reach:]
        known = int(np.argmax(law < 1e-11)) or reach  # beyond that, rounding of the transform; the tail is geometric
        inside = np.interp(distance, np.arange(known), np.log(law[:known]))
        return np.asarray(inside - np.maximum(distance - (known - 1), 0) / widest)

    def to_json(self) -> dict[str, Any]:
        return {"law": "sum of discrete Laplace draws", "scales": list(self.scales)}

    @classmethod
    def from_json(cls, found: Any) -> Law:
        if not isinstance(found, dict) or not isinstance(found.get("scales"), list):
            raise PlanError("this is no law of noise: it needs a list of scales")
        return cls(tuple(float(scale) for scale in found["scales"]))

    def __str__(self) -> str:
        if not self.scales:
            return "no noise"
        parts = " + ".join(f"Laplace({scale:.4g})" for scale in self.scales)
        return f"{parts}, ±{self.deviation:.3g}"


def _variance(scale: float) -> float:
    if scale == 0:
        return 0.0
    # 2a / (1 - a)² = 1 / (2 sinh²(1 / 2b)), which loses no digits for large scales
    half = 1 / (2 * scale)
    return 0.0 if half > 300 else 1 / (2 * math.sinh(half) ** 2)


def _log_two_draws(distance: Floats, scale: float) -> Floats:
    # Σ_k a^|k| a^|x-k| = a^|x| (|x| + (1 + a²) / (1 - a²)), and (1 + a²) / (1 - a²) = coth(1 / b)
    normal = 2 * math.log(math.tanh(1 / (2 * scale)))
    return np.asarray(normal - distance / scale + np.log(distance + 1 / math.tanh(1 / scale)))


def _geometric(scale: float, reach: int) -> Floats:
    x = np.abs(np.arange(-reach, reach + 1))
    if scale == 0:
        return np.asarray(x == 0, dtype=float)
    return np.asarray(np.exp(-x / scale) * math.tanh(1 / (2 * scale)))


def _convolve(a: Floats, b: Floats) -> Floats:
    size = 1 << (len(a) + len(b) - 2).bit_length()
    product = np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size), size)
    return np.maximum(product[: len(a) + len(b) - 1], 0.0)
