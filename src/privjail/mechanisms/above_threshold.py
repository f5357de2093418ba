"""Sparse vector: which is the first of many numbers that is above a public threshold?"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

from privjail.budget.amounts import amount, exact, float_up
from privjail.budget.notions import Loss
from privjail.errors import PlanError
from privjail.mechanisms.mechanism import Calibration, Mechanism, noise_grid
from privjail.mechanisms.noise import Noise
from privjail.plan.value import Value


@dataclass(frozen=True)
class ThresholdCalibration(Calibration):
    """``scale`` is that of each number's noise."""

    outer: Fraction  # the scale of the threshold's noise, in steps


@dataclass(frozen=True)
class AboveThreshold(Mechanism):
    """The position of the first element whose noisy value is at least the noisy threshold; None if none is.

    Guarantee: ε-DP whatever the number of elements.
    Why: one threshold noise of scale 2Δ/ε covers all that were below (shift the threshold by Δ), one query
    noise of scale 4Δ/ε the one that was above (shift it by 2Δ): ε/2 each. Fresh noise for every query; the
    noisy value itself is never shown. Both shifts are proportional to the distance.
    Source: Dwork & Roth 2014, algorithm 1; Lyu, Su, Li, PVLDB 2017, on the variants that are wrong.
    """

    kind = "above_threshold"
    norm = "linf"
    adds_noise = False
    not_charged = frozenset({"threshold"})
    epsilon: Fraction
    threshold: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", amount(self.epsilon))
        object.__setattr__(self, "threshold", exact(self.threshold, "the threshold"))

    @property
    def loss(self) -> Loss:
        return Loss(pure=self.epsilon, what="above_threshold")

    def check(self, value: Value) -> None:
        if not value.index or not value.joint.size:
            raise PlanError("above_threshold needs at least one number")
        self.sensitivity(value)

    def calibrate(self, value: Value) -> ThresholdCalibration:
        distance = self.sensitivity(value)
        on = noise_grid(value.grid, distance, 4 * Fraction(distance) / self.epsilon)
        outer, inner = (Fraction(float_up(times * on.steps / self.epsilon)) for times in (2, 4))
        return ThresholdCalibration(on, inner, outer)

    def sample(self, value: Value, exact: Any, noise: Noise) -> int | None:
        calibration = self.calibrate(value)
        on, outer, inner = calibration.on, float(calibration.outer), float(calibration.scale)
        # A whole number of steps is at least the threshold if it is at least the next whole number.
        line = ceil(self.threshold / on.grid) + noise.laplace(outer, 1)[0]
        # All are drawn, whichever is first: how long it takes depends on the number of elements only.
        noised = [on.place(x) + e for x, e in zip(exact, noise.laplace(inner, len(exact)), strict=True)]
        return next((i for i, x in enumerate(noised) if x >= line), None)

    def certificate_noise(self, value: Value) -> dict[str, str | None]:
        calibration = self.calibrate(value)
        noise = {"outer": str(calibration.outer), "scale": str(calibration.scale)}
        sensitivity = str(Fraction(self.sensitivity(value)))
        return {"norm": self.norm, "grid": str(calibration.on.grid), **noise, "sensitivity": sensitivity}
