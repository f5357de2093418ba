"""The exponential mechanism: choose one of several options by their private scores."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

from privjail.budget.amounts import amount
from privjail.budget.notions import Loss, Notion
from privjail.errors import PlanError
from privjail.mechanisms.choice import CHOICE_BYTES
from privjail.mechanisms.mechanism import Calibration, Mechanism, OnGrid
from privjail.mechanisms.noise import Noise
from privjail.plan.value import Value


@dataclass(frozen=True)
class Exponential(Mechanism):
    """Chooses position i with probability proportional to exp(ε·score_i / 2Δ).

    Guarantee: ε-DP, Δ being the largest distance of a score; ε²/8-zCDP.
    Why: each weight, and their sum, changes by a factor of at most exp(ε/2); proportional to the distance.
    The sampler is exact, and its work depends on the number of options alone (V-54): see choice.py.
    ρ = ε²/8: the log-ratio of two outcomes moves within a range of ε (Cesar & Rogers, ALT 2021).
    Source: McSherry & Talwar, FOCS 2007.
    """

    kind = "exponential"
    norm = "linf"
    adds_noise = False
    element_bytes = CHOICE_BYTES
    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", amount(self.epsilon))

    @property
    def loss(self) -> Loss:
        return Loss(pure=self.epsilon, rho=self.epsilon**2 / 8, what="exponential_mechanism")

    def check(self, value: Value) -> None:
        if not value.index or not value.joint.size:
            raise PlanError("exponential_mechanism needs at least one option")
        self.sensitivity(value)

    def proportional(self, notion: Notion, value: Value) -> bool:
        return True  # nothing is rounded to another grid

    def calibrate(self, value: Value) -> Calibration:
        """``scale``: the steps by which a score must be larger to weigh e times as much."""
        steps = Fraction(self.sensitivity(value)) / value.grid
        return Calibration(OnGrid(value.grid, 1, floor(steps)), 2 * steps / self.epsilon)

    def sample(self, value: Value, exact: Any, noise: Noise) -> int:
        scale = self.calibrate(value).scale
        if scale == 0:  # the scores are public
            return int(exact.index(max(exact)))
        return noise.exponential(exact, 1 / scale)

    def certificate_noise(self, value: Value) -> dict[str, str | None]:
        distance = Fraction(self.sensitivity(value))
        rate = None if distance == 0 else str(1 / (self.calibrate(value).scale * value.grid))
        return {"norm": self.norm, "rate": rate, "sensitivity": str(distance)}
