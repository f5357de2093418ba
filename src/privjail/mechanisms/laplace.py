"""The Laplace mechanism, on whole steps of a public grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from privjail.budget.amounts import amount, float_up
from privjail.budget.notions import Loss
from privjail.mechanisms.mechanism import (
    Calibration,
    Mechanism,
    listed,
    need_number_or_vector,
    noise_grid,
    public,
    public_steps,
    require_bounded,
)
from privjail.mechanisms.noise import Noise
from privjail.plan.value import Value

Ratio = tuple[int, int]  # a fraction for a cache: the fraction itself is slow to hash


@lru_cache(maxsize=1024)
def calibrated(epsilon: Ratio, distance: Ratio, own: Ratio, size: int) -> Calibration:
    """The noise for an ε, a distance, a grid and a number of elements."""
    eps, far = Fraction(*epsilon), Fraction(*distance)
    on = noise_grid(Fraction(*own), far, far / eps, size)
    return Calibration(on, Fraction(float_up(on.steps / eps)))


@dataclass(frozen=True)
class Laplace(Mechanism):
    """Adds X to each element with Pr[X = x] proportional to exp(-|x| / b), x whole steps of the grid.

    Guarantee: ε-DP, with b = (L1 distance in steps) / ε, rounded up to a float.
    Why: moving the vector by d steps in all changes Σ|x| by at most d, so each probability changes by a
    factor of at most exp(d / b) ≤ exp(ε). On the value's own grid each edit moves it by whole steps, so a
    share t of the edits moves it by at most t·d steps and costs t·ε: the loss is proportional.
    Source: Dwork, McSherry, Nissim, Smith, TCC 2006; Ghosh, Roughgarden, Sundararajan, STOC 2009.
    """

    kind = "laplace"
    norm = "l1"
    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", amount(self.epsilon))

    @property
    def loss(self) -> Loss:
        return Loss(pure=self.epsilon, what="laplace_mechanism")

    def check(self, value: Value) -> None:
        need_number_or_vector(value)
        self.sensitivity(value)

    def calibrate(self, value: Value) -> Calibration:
        return calibrated(*self.inputs_of_noise(value))

    def inputs_of_noise(self, value: Value) -> tuple[Ratio, Ratio, Ratio, int]:
        """All that the noise depends on: ε, the L1 distance, the value's own grid and its number of elements."""
        joint = value.joint
        distance = require_bounded(joint.l1, value).as_integer_ratio()
        return self.epsilon.as_integer_ratio(), distance, value.grid.as_integer_ratio(), joint.size

    def sample(self, value: Value, exact: Any, noise: Noise) -> Any:
        calibration = self.calibrate(value)
        on, scale = calibration.on, float(calibration.scale)
        elements = [on.place(x) for x in listed(exact)]
        noised = [x + e for x, e in zip(elements, noise.laplace(scale, len(elements)), strict=True)]
        answers = public_steps(noised, on.grid)
        return answers if value.index else answers[0]

    def pmf(self, output: int, value: int, scale: float) -> float:
        """Pr[output] for a value, both in steps."""
        a = math.exp(-1 / scale)
        return (1 - a) / (1 + a) * a ** abs(output - value)

    def error(self, value: Value, confidence: float) -> float:
        calibration = self.calibrate(value)
        on, scale = calibration.on, float(calibration.scale)
        if scale == 0:
            return 0.0
        # Pr[|X| > t] = 2 a**(t+1) / (1 + a), with a = exp(-1/b)
        a = math.exp(-1 / scale)
        t = max(0, math.ceil(-scale * math.log((1 - confidence) * (1 + a) / 2) - 1 - 1e-12))
        rounding = on.grid / 2 if on.coarser > 1 else 0
        return public(t * on.grid + rounding)
