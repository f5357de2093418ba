"""Laplace noise on a grid, clamped to the range that everybody knows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privjail.errors import PlanError
from privjail.local.channels.domain import Grid
from privjail.local.channels.exact import Rational, fraction, probability, ratio_below
from privjail.local.channels.numeric import NumericChannel


@dataclass(frozen=True)
class GridLaplace(NumericChannel):
    """Adds X with Pr[X = x] proportional to decay^|x|, in grid steps, and clamps to the grid.

    Guarantee: every ratio of probabilities is at most decay^−steps.
    Why: moving d by one step changes |o − d| by at most one, so each probability by a factor of at
    most 1/decay; clamping adds up probabilities of outputs, which keeps the bound.
    Source: Ghosh, Roughgarden, Sundararajan, STOC 2009 (truncated geometric mechanism).

    Clamping costs no accuracy: a report at the edge decodes to the mean of what was clamped there,
    steps + decay/(1 − decay), so decoding is unbiased and has less variance than without (Rao–Blackwell).
    """

    domain: Grid
    decay: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "decay", probability(self.decay, "decay"))
        if not 0 < self.decay < 1:
            raise PlanError("Laplace noise needs a decay strictly between 0 and 1")

    @staticmethod
    def of(domain: Grid, epsilon: Rational) -> GridLaplace:
        """Spreads ε over the whole range, because any two numbers of the grid are neighbours."""
        return GridLaplace(domain, 1 / ratio_below(fraction(epsilon, "ε") / domain.steps))

    @property
    def shape(self) -> Hashable:
        return ("laplace", self.domain)

    def size(self) -> int:
        return self.domain.size

    def law(self, output: int, value: int) -> Fraction:
        reach = self.decay ** abs(output - value)
        if output in (0, self.domain.steps):
            return reach / (1 + self.decay)
        return reach * (1 - self.decay) / (1 + self.decay)

    def position(self, output: int) -> Fraction:
        beyond = self.decay / (1 - self.decay)
        if output == 0:
            return -beyond
        return output + beyond if output == self.domain.steps else Fraction(output)

    def spec(self) -> dict[str, Any]:
        return {"channel": "laplace", "decay": str(self.decay)}
