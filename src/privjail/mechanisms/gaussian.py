"""The Gaussian mechanism, calibrated exactly for every ε > 0."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privjail.budget.amounts import amount, float_up, probability
from privjail.budget.notions import ApproxDP, Loss, Notion
from privjail.errors import BudgetError
from privjail.mechanisms.mechanism import Calibration, Mechanism, OnGrid, listed, need_number_or_vector, public
from privjail.mechanisms.noise import Noise
from privjail.plan.distance import sqrt_up
from privjail.plan.value import Value

FINE = 2**40  # the standard deviation is at least this many steps of the noise's grid
WIDEST = 2**54  # and at most this many: 64 bits hold 512 standard deviations
MOST_EPSILON = 30


@dataclass(frozen=True)
class GaussianCalibration(Calibration):
    """``scale`` is the standard deviation in steps, rounded up."""

    sigma: Fraction  # the standard deviation, in the value's own unit


@dataclass(frozen=True)
class Gaussian(Mechanism):
    """Adds discrete Gaussian noise of standard deviation σ to each element, on a grid of σ / 2⁴⁰ or finer.

    Guarantee: with ``rho``: ρ-zCDP, σ = Δ₂ / √(2ρ). With ``epsilon`` and ``delta``: (ε, δ)-DP, σ by the exact
    condition for the continuous Gaussian, for every ε up to 30 (the textbook σ = Δ√(2 ln(1.25/δ))/ε holds
    for ε < 1 only, and is not used).
    Why: ρ-zCDP: Canonne, Kamath, Steinke 2020, theorem 14, any dimension. (ε, δ): adding continuous noise and
    rounding to the grid is post-processing of the continuous mechanism, so has its δ. The discrete law
    differs from the rounded one by at most 1/(12 s²) in total variation per element, s = σ in steps: cell
    by cell the ratio of the two lies between 1 - 1/(24 s²) and exp(x²/(24 s⁴)). n elements therefore add
    at most n·(1 + e^ε)/(12 s²) to δ; σ is computed for δ less this.
    Scaling: ρ grows with the square of the distance, so is at most proportional. (ε, δ) is not.
    Source: Balle & Wang, ICML 2018 (exact condition); Canonne, Kamath, Steinke, NeurIPS 2020.
    """

    kind = "gaussian"
    norm = "l2"
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None

    def __post_init__(self) -> None:
        if self.rho is not None and self.epsilon is None and self.delta is None:
            object.__setattr__(self, "rho", amount(self.rho, "rho"))
        elif self.rho is None and self.epsilon is not None and self.delta is not None:
            object.__setattr__(self, "epsilon", amount(self.epsilon))
            object.__setattr__(self, "delta", probability(self.delta))
            if self.epsilon > MOST_EPSILON:
                raise BudgetError(f"gaussian_mechanism takes eps up to {MOST_EPSILON}")
        else:
            raise BudgetError("gaussian_mechanism needs eps and delta, or rho")

    def proportional(self, notion: Notion, value: Value) -> bool:
        return not isinstance(notion, ApproxDP)

    @property
    def loss(self) -> Loss:
        if self.epsilon is None or self.delta is None:
            return Loss(rho=self.rho, what="gaussian_mechanism")
        return Loss(approx=(self.epsilon, self.delta), rho=_rho_of(self.epsilon, self.delta), what="gaussian_mechanism")

    def check(self, value: Value) -> None:
        need_number_or_vector(value)
        self.calibrate(value)

    def calibrate(self, value: Value) -> GaussianCalibration:
        distance = Fraction(self.sensitivity(value))
        sigma = distance * self._unit_sigma(value.joint.size)
        if sigma > WIDEST * value.grid:
            raise BudgetError("the noise is too wide for the value's grid", do="use a larger eps or rho")
        finer = 1
        while sigma and sigma * finer < FINE * value.grid:
            finer *= 2
        step = value.grid / finer
        on = OnGrid(step, 1, math.ceil(distance / step), finer)
        return GaussianCalibration(on, Fraction(float_up(sigma / step)), sigma)

    def _unit_sigma(self, size: int) -> Fraction:
        """The standard deviation for distance 1, for a value of so many elements."""
        if self.rho is not None:
            return sqrt_up(1 / (2 * self.rho))
        assert self.epsilon is not None and self.delta is not None
        spare = size * (1 + math.exp(float_up(self.epsilon))) / (12 * float(FINE) ** 2)
        return _smallest_sigma(self.epsilon, float(self.delta) - spare)

    def sample(self, value: Value, exact: Any, noise: Noise) -> Any:
        calibration = self.calibrate(value)
        on, elements = calibration.on, listed(exact)
        drawn = noise.gaussian(float(calibration.scale), len(elements))
        answers = [public((on.place(x) + e) * on.grid) for x, e in zip(elements, drawn, strict=True)]
        return answers if value.index else answers[0]

    def error(self, value: Value, confidence: float) -> float:
        from statistics import NormalDist

        return public(self.calibrate(value).sigma) * NormalDist().inv_cdf((1 + confidence) / 2)

    def certificate_noise(self, value: Value) -> dict[str, str | None]:
        sensitivity = str(Fraction(self.sensitivity(value)))
        return {"norm": self.norm, "sigma": str(self.calibrate(value).sigma), "sensitivity": sensitivity}


def delta_of(sigma: float, epsilon: float) -> float:
    """The δ at ε of continuous Gaussian noise of this σ at distance 1 (Balle & Wang, theorem 8), rounded up."""
    left = 0.5 * math.erfc(-(1 / (2 * sigma) - epsilon * sigma) / math.sqrt(2))
    right = 0.5 * math.erfc((1 / (2 * sigma) + epsilon * sigma) / math.sqrt(2))
    right *= math.exp(epsilon)
    return left - right + 1e-15 * (left + right)  # the two may nearly cancel


def _smallest_sigma(epsilon: Fraction, delta: float) -> Fraction:
    """The smallest σ for distance 1, rounded up."""
    if delta <= 0:
        raise BudgetError("delta is too small for this eps", do="raise delta, or use a smaller eps")
    e, low, high = float(epsilon), 1e-6, 1.0
    while delta_of(high, e) > delta:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle, e) > delta else (low, middle)
    return Fraction(high) * (1 + Fraction(1, 2**30))


def _rho_of(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The ρ of the noise that ``epsilon`` and ``delta`` ask for (rounded up), for zCDP and Rényi budgets."""
    sigma = _smallest_sigma(epsilon, float(delta))
    return 1 / (2 * sigma * sigma) * (1 + Fraction(1, 2**20))
