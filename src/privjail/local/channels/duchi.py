"""Duchi's mechanism: one bit a number, for means."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privjail.errors import PlanError
from privjail.local.channels.domain import Grid
from privjail.local.channels.exact import Rational, probability, ratio_below
from privjail.local.channels.numeric import NumericChannel


@dataclass(frozen=True)
class Duchi(NumericChannel):
    """Sends 1 with chance (1 − truth) + (2·truth − 1)·d/steps, else 0.

    Guarantee: every ratio of probabilities is at most truth / (1 − truth).
    Why: the chance of either bit runs from 1 − truth to truth as d crosses the grid.
    Source: Duchi, Jordan, Wainwright, JASA 2018.
    """

    domain: Grid
    truth: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "truth", probability(self.truth, "truth"))
        if 2 * self.truth <= 1:
            raise PlanError("Duchi's mechanism needs truth above ½, or its reports say nothing")

    @staticmethod
    def of(domain: Grid, epsilon: Rational) -> Duchi:
        ratio = ratio_below(epsilon)
        return Duchi(domain, ratio / (ratio + 1))

    @property
    def shape(self) -> Hashable:
        return ("duchi", self.domain)

    def size(self) -> int:
        return 2

    def law(self, output: int, value: int) -> Fraction:
        one = (1 - self.truth) + (2 * self.truth - 1) * Fraction(value, self.domain.steps)
        return one if output == 1 else 1 - one

    def position(self, output: int) -> Fraction:
        return self.domain.steps * (output - (1 - self.truth)) / (2 * self.truth - 1)

    def spec(self) -> dict[str, Any]:
        return {"channel": "duchi", "truth": str(self.truth)}
