"""Sparse vector: which is the first of many numbers that is above a public threshold?"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

from privjail.budget.amounts import amount, exact, float_up
from privjail.budget.notions import Loss, Notion
from privjail.errors import PlanError
from privjail.mechanisms.mechanism import Mechanism, OnGrid, noise_grid, require_bounded
from privjail.mechanisms.noise import Noise
from privjail.plan.value import Value


@dataclass(frozen=True)
class AboveThreshold(Mechanism):
    """The position of the first element whose noisy value is at least the noisy threshold; None if none is.

    Guarantee: ε-DP whatever the number of elements.
    Why: one threshold noise of scale 2Δ/ε covers all that were below (shift the threshold by Δ), one query
    noise of scale 4Δ/ε the one that was above (shift it by 2Δ): ε/2 each. Fresh noise for every query; the
    noisy value itself is never shown. Both shifts are proportional to the distance.
    Source: Dwork & Roth 2014, algorithm 1; Lyu, Su, Li, PVLDB 2017, on the variants that are wrong.
    """

    epsilon: Fraction
    threshold: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", amount(self.epsilon))
        object.__setattr__(self, "threshold", exact(self.threshold, "the threshold"))

    @property
    def loss(self) -> Loss:
        return Loss(pure=self.epsilon, what="above_threshold")

    def proportional(self, notion: Notion, value: Value) -> bool:
        return self.scales(value)[0].coarser == 1

    def check(self, value: Value) -> None:
        if not value.index or not value.joint.size:
            raise PlanError("above_threshold needs at least one number")
        require_bounded(value.joint.linf, value)

    def scales(self, value: Value) -> tuple[OnGrid, float, float]:
        """The grid, and the two noise scales in its steps: for the threshold and for each number."""
        distance = require_bounded(value.joint.linf, value)
        grid = noise_grid(value.grid, distance, 4 * Fraction(distance) / self.epsilon)
        return grid, float_up(2 * grid.steps / self.epsilon), float_up(4 * grid.steps / self.epsilon)

    def sample(self, value: Value, exact: Any, noise: Noise) -> int | None:
        grid, outer, inner = self.scales(value)
        # A whole number of steps is at least the threshold if it is at least the next whole number.
        line = ceil(self.threshold / grid.grid) + noise.laplace(outer, 1)[0]
        # All are drawn, whichever is first: how long it takes depends on the number of elements only.
        noised = [grid.place(x) + e for x, e in zip(exact, noise.laplace(inner, len(exact)), strict=True)]
        return next((i for i, x in enumerate(noised) if x >= line), None)
