"""What a list of frequencies may look like before any report came: even, sparse, or with a long tail.

Claim: ``nodes`` returns, for each cell between two edges, points with the prior's exact mass, mean and
variance there, so a prior much narrower than a cell and a heap at 0 are both kept.
docs/decisions/0206-smooth.md says why these priors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np

from privjail.local.channels.channel import Floats

EVENNESS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 30.0, 1e3, 1e5)
FLAT = ((30.0, 0.15), (1e3, 0.015))  # evenness of answers that are neither empty nor outliers, and its weight
TAILS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
EMPTY = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Prior:
    """One frequency among k: gamma with this evenness, and with chance ``rest`` a zero or an outlier.

    All have mean 1/k. With ``tail`` the rest is log-uniform between 1/k and 1 and holds that share of
    all people; without it the rest is exactly 0.
    """

    k: int
    evenness: float
    rest: float = 0.0
    tail: bool = False
    weight: float = 1.0

    @property
    def _outlier(self) -> float:
        return (1 - 1 / self.k) / log(self.k) if self.tail else 0.0

    @property
    def _mean(self) -> float:
        """The gamma part's mean, such that the whole has mean 1/k."""
        return (1 / self.k - self.rest * self._outlier) / (1 - self.rest)

    def _below(self, edges: Floats, power: int) -> Floats:
        """E[tᵖᵒʷᵉʳ; t ≤ edge]; a heap at 0 counts as below every edge above 0."""
        from scipy.special import gammainc

        a, scale = self.evenness, self._mean / self.evenness
        moment = np.prod([scale * (a + i) for i in range(power)])
        bulk = moment * gammainc(a + power, edges / scale)
        if not self.rest:
            return np.asarray(bulk, dtype=np.float64)
        if self.tail:
            inside = np.clip(edges, 1 / self.k, 1) * self.k
            low = self.k**-power / log(self.k)
            rest = low * (np.log(inside) if power == 0 else (inside**power - 1) / power)
        else:
            rest = (edges > 0) * float(power == 0)
        return np.asarray((1 - self.rest) * bulk + self.rest * rest, dtype=np.float64)

    def nodes(self, edges: Floats) -> tuple[Floats, Floats]:
        """Two points for each cell between edges, and their masses: the cell's mass, mean and variance."""
        low, high = edges[..., :-1], edges[..., 1:]
        mass = np.maximum(np.diff(self._below(edges, 0), axis=-1), 0)
        some = np.where(mass > 1e-280, mass, 1)
        mean = np.clip(np.diff(self._below(edges, 1), axis=-1) / some, low, high)
        square = np.diff(self._below(edges, 2), axis=-1) / some
        variance = np.clip(square - mean**2, 0, (high - mean) * (mean - low))
        # Points a below and b above the mean have mean 0 and variance a·b at masses b and a, over a + b.
        down = np.minimum(np.sqrt(variance), mean - low)
        up = np.divide(variance, down, out=np.zeros_like(down), where=down > 0)
        share = np.divide(up, down + up, out=np.full_like(down, 0.5), where=down + up > 0)
        points = np.concatenate([mean - down, np.minimum(mean + up, high)], axis=-1)
        return points, np.concatenate([mass * share, mass * (1 - share)], axis=-1)

    @cached_property
    def variance(self) -> float:
        a, scale = self.evenness, self._mean / self.evenness
        square = (1 - self.rest) * scale**2 * a * (a + 1)
        if self.tail:
            square += self.rest * (1 - self.k**-2.0) / (2 * log(self.k))
        return float(square - self.k**-2.0)


def priors(k: int, caution: float = 0.0) -> list[Prior]:
    """Every shape that is averaged over, for a question with k answers; the even ones trusted by ``caution``."""
    # Less than one answer's worth of evenness would put everybody into one answer.
    found = [Prior(k, a, weight=max(0.5, k / 60, caution) if a > 1 else 1.0) for a in EVENNESS if a * k >= 0.3]
    for share in TAILS:
        rest = share / (k * Prior(k, 1.0, tail=True)._outlier)
        if rest < 0.9:
            found += [Prior(k, a, rest, tail=True, weight=w) for a, w in ((0.3, 0.15), *FLAT)]
    for rest in EMPTY:
        if (1 - rest) * k >= 1:
            found += [Prior(k, a, rest, weight=w) for a, w in ((1.0, 0.15), *FLAT)]
    return found
