"""The Laplace mechanism, on whole steps of a public grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from privjail.budget.amounts import amount, float_up
from privjail.budget.notions import Loss, Notion
from privjail.mechanisms.mechanism import (
    Mechanism,
    OnGrid,
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
def _calibrated(epsilon: Ratio, distance: Ratio, own: Ratio, size: int) -> tuple[OnGrid, float]:
    eps, far = Fraction(*epsilon), Fraction(*distance)
    grid = noise_grid(Fraction(*own), far, far / eps, size)
    return grid, float_up(grid.steps / eps)


@dataclass(frozen=True)
class Laplace(Mechanism):
    """Adds X to each element with Pr[X = x] proportional to exp(-|x| / b), x whole steps of the grid.

    Guarantee: ε-DP, with b = (L1 distance in steps) / ε, rounded up to a float.
    Why: moving the vector by d steps in all changes Σ|x| by at most d, so each probability changes by a
    factor of at most exp(d / b) ≤ exp(ε). On the value's own grid each edit moves it by whole steps, so a
    share t of the edits moves it by at most t·d steps and costs t·ε: the loss is proportional.
    Source: Dwork, McSherry, Nissim, Smith, TCC 2006; Ghosh, Roughgarden, Sundararajan, STOC 2009.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", amount(self.epsilon))

    @property
    def loss(self) -> Loss:
        return Loss(pure=self.epsilon, what="laplace_mechanism")

    def proportional(self, notion: Notion, value: Value) -> bool:
        return self.calibrate(value)[0].coarser == 1

    def check(self, value: Value) -> None:
        need_number_or_vector(value)
        require_bounded(value.joint.l1, value)

    def calibrate(self, value: Value) -> tuple[OnGrid, float]:
        """The grid, and the scale of the noise in steps of it."""
        distance = require_bounded(value.joint.l1, value).as_integer_ratio()
        return _calibrated(self.epsilon.as_integer_ratio(), distance, value.grid.as_integer_ratio(), value.joint.size)

    def sample(self, value: Value, exact: Any, noise: Noise) -> Any:
        grid, scale = self.calibrate(value)
        elements = [grid.place(x) for x in listed(exact)]
        noised = [x + e for x, e in zip(elements, noise.laplace(scale, len(elements)), strict=True)]
        answers = public_steps(noised, grid.grid)
        return answers if value.index else answers[0]

    def pmf(self, output: int, value: int, scale: float) -> float:
        """Pr[output] for a value, both in steps."""
        a = math.exp(-1 / scale)
        return (1 - a) / (1 + a) * a ** abs(output - value)

    def error(self, value: Value, confidence: float) -> float:
        """With this probability one released element is off by at most this much."""
        grid, scale = self.calibrate(value)
        if scale == 0:
            return 0.0
        # Pr[|X| > t] = 2 a**(t+1) / (1 + a), with a = exp(-1/b)
        a = math.exp(-1 / scale)
        t = max(0, math.ceil(-scale * math.log((1 - confidence) * (1 + a) / 2) - 1 - 1e-12))
        rounding = grid.grid / 2 if grid.coarser > 1 else 0
        return public(t * grid.grid + rounding)
