"""The piecewise mechanism on a grid: a window that follows the number is favoured."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from math import exp
from typing import Any

import numpy as np

from privjail.errors import PlanError
from privjail.local.channels.channel import Reports
from privjail.local.channels.domain import Grid
from privjail.local.channels.entropy import Ints, below, bernoulli
from privjail.local.channels.exact import Rational, fraction, ratio_below
from privjail.local.channels.numeric import NumericChannel


@dataclass(frozen=True)
class Piecewise(NumericChannel):
    """Sends one of steps + window cells; cells d … d + window − 1 are ``favour`` times as likely.

    Guarantee: every ratio of probabilities is at most ``favour``.
    Why: each cell has one of two probabilities, b or favour·b, and b is the same for every d
    because the window is always whole.
    Source: Wang et al., ICDE 2019, whose window is 1/(e^(ε/2) + 1) of the range; here on a grid, so
    that the law is a table of fractions.
    """

    domain: Grid
    favour: Fraction
    window: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "favour", fraction(self.favour, "favour"))
        if self.favour <= 1 or self.window < 1:
            raise PlanError("the piecewise mechanism needs favour above 1 and a window of at least 1")

    @staticmethod
    def of(domain: Grid, epsilon: Rational, window: int | None = None) -> Piecewise:
        wide = round(domain.steps * exp(-float(fraction(epsilon, "ε")) / 2))
        return Piecewise(domain, ratio_below(epsilon), window or max(1, wide))

    @property
    def shape(self) -> Hashable:
        return ("piecewise", self.domain, self.window)

    def size(self) -> int:
        return self.domain.steps + self.window

    @property
    def _low(self) -> Fraction:
        return 1 / (self.size() + (self.favour - 1) * self.window)

    def law(self, output: int, value: int) -> Fraction:
        inside = value <= output < value + self.window
        return self._low * self.favour if inside else self._low

    def draw(self, values: Ints) -> Reports:
        n = len(values)
        inside = values + below(self.window, n)
        outside = below(self.domain.steps, n)  # the cells that are left, counted from the bottom
        outside = np.where(outside < values, outside, outside + self.window)
        return np.where(bernoulli(self._low * self.favour * self.window, n), inside, outside)

    def position(self, output: int) -> Fraction:
        # E[output | d] = b·Σ all cells + (favour − 1)·b·(window·d + Σ 0 … window − 1): affine in d.
        size, w, b = self.size(), self.window, self._low
        slope = (self.favour - 1) * b * w
        start = b * size * (size - 1) / 2 + (self.favour - 1) * b * w * (w - 1) / 2
        return (output - start) / slope

    def spec(self) -> dict[str, Any]:
        return {"channel": "piecewise", "favour": str(self.favour), "window": self.window}
