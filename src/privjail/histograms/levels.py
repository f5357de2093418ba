"""What is believed about the common level of neighbouring bins before and after a noisy look at it."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from privjail.histograms.laws import Floats

#: Half of all that is believed of small levels lies below this many records a bin: sparse stretches are common.
NEAR_ZERO = 0.01


class LevelPrior:
    """A level λ in [0, top] with density proportional to 1 / (λ + 0.01): each order of magnitude is as likely.

    It is seen as λ + a normal error. Tables over what is seen give the log evidence, and mean and variance of λ.
    """

    def __init__(self, deviation: float, top: float) -> None:
        self.deviation, self.top = deviation, top
        self._log_range = math.log(math.log((top + NEAR_ZERO) / NEAR_ZERO))
        reach = min(top, 60 * deviation + 50)
        edges = np.unique(np.concatenate([[0.0], np.linspace(0, reach, 800), np.geomspace(1e-3, reach, 200)]))
        level = (edges[1:] + edges[:-1]) / 2
        weight = np.diff(np.log(edges + NEAR_ZERO)) / math.exp(self._log_range)
        self._seen = np.linspace(-12 * deviation, min(reach, 40 * deviation), 300)
        power = -((self._seen[:, None] - level) ** 2) / (2 * deviation**2)
        highest = power.max(axis=1, keepdims=True)
        belief = np.exp(power - highest) * weight
        mass = belief.sum(axis=1)
        self._evidence = highest[:, 0] + np.log(mass) - math.log(deviation * math.sqrt(2 * math.pi))
        self._mean = belief @ level / mass
        self._variance = np.maximum(belief @ level**2 / mass - self._mean**2, 0.0)

    def __call__(self, seen: Floats) -> tuple[Floats, Floats, Floats]:
        """Log evidence, mean and variance of the level for each noisy look at one."""
        far = seen > self._seen[-1]  # the prior is flat there, so the look is believed as it is
        flat = -np.log(np.clip(seen, 0, self.top) + NEAR_ZERO) - self._log_range
        evidence = np.where(far, flat, np.interp(seen, self._seen, self._evidence))
        mean = np.where(far, seen, np.interp(seen, self._seen, self._mean))
        variance = np.where(far, self.deviation**2, np.interp(seen, self._seen, self._variance))
        return evidence, mean, variance


@lru_cache(maxsize=512)
def level_prior(deviation: float, top: float) -> LevelPrior:
    return LevelPrior(deviation, top)
