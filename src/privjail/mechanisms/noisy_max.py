"""Report noisy max, min and top-k: which element is largest, at ε and not at ε times their number."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privjail.budget.amounts import amount, float_up
from privjail.budget.notions import Loss
from privjail.errors import PlanError
from privjail.mechanisms.choice import CHOICE_BYTES
from privjail.mechanisms.mechanism import Calibration, Mechanism, noise_grid
from privjail.mechanisms.noise import Noise
from privjail.plan.value import Value


@dataclass(frozen=True)
class NoisyMax(Mechanism):
    """The position of the largest (or smallest) element after exponential noise of scale 2Δ/ε, or k positions.

    k positions are found one after another, with ε/k each.

    Guarantee: ε-DP whatever the number of elements. Where all elements move in the same direction
    (counts of rows), a scale of Δ/ε is enough.
    Why: permute and flip, which has the same law, accepts element i with probability
    exp(-(max - x_i)/scale); the gap max - x_i moves by at most 2Δ, by Δ if all move one way. Proportional.
    Only the position leaves: the noisy value would cost as much again for each element. The sampler's work
    depends on k and the number of elements alone (V-54): see choice.py.
    Source: McKenna & Sheldon, NeurIPS 2020; Ding et al. 2021 (same law); for counts also seeds/002.
    """

    kind = "noisy_max"
    norm = "linf"
    adds_noise = False
    element_bytes = CHOICE_BYTES
    epsilon: Fraction
    smallest: bool = False
    k: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", amount(self.epsilon))
        object.__setattr__(self, "smallest", bool(self.smallest))
        if type(self.k) is not int or self.k < 1:
            raise PlanError("top-k needs a whole number k ≥ 1")

    @property
    def loss(self) -> Loss:
        return Loss(pure=self.epsilon, what="noisy max")

    def check(self, value: Value) -> None:
        if not value.index or not value.joint.size:
            raise PlanError("noisy max needs at least one element")
        if self.k > value.joint.size:
            raise PlanError(f"there are only {value.joint.size} elements, fewer than k = {self.k}")
        self.sensitivity(value)

    def choices(self, value: Value) -> int:
        return self.k * value.joint.size

    def calibrate(self, value: Value) -> Calibration:
        distance = self.sensitivity(value)
        each = self.epsilon / self.k * (1 if value.monotone else Fraction(1, 2))
        on = noise_grid(value.grid, distance, Fraction(distance) / each)
        return Calibration(on, Fraction(float_up(on.steps / each)))

    def sample(self, value: Value, exact: Any, noise: Noise) -> Any:
        calibration = self.calibrate(value)
        scale = float(calibration.scale)
        scores = [(-x if self.smallest else x) for x in map(calibration.on.place, exact)]
        left = list(range(len(scores)))
        chosen: list[int] = []
        for _ in range(self.k):
            rivals = [scores[i] for i in left]
            position = noise.noisy_max(rivals, scale) if scale else rivals.index(max(rivals))
            chosen.append(left.pop(position))
        return chosen if self.k > 1 else chosen[0]
