"""The law of a mechanism, from its own code: it is run on every outcome of its noise, and the chances are added up.

The noise has its stated law here. Whether the samplers have that law is another question: for choices see
measured.py, for Laplace and Gaussian noise (OpenDP's samplers) see draws.py.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from privjail.mechanisms.noise import Noise
from privjail.plan.distance import Distance
from privjail.plan.value import AllMove
from privjail.verify.laws.closed_forms import exponential, permute_and_flip
from privjail.verify.laws.geometric_series import TwoSided
from privjail.verify.laws.law import Decay, Law, Number


class Scripted(Noise):
    """Takes each outcome of the noise from a script, and multiplies up the probability of having drawn it.

    Laplace noise beyond ``reach`` is not followed: its mass is what the found law lacks.
    """

    def __init__(self, script: Sequence[int], decay: Decay, reach: int) -> None:
        self.script, self.reach = list(script), reach
        self.decay: Any = decay
        self.used = 0
        self.weight: Number = decay(Fraction(0))  # 1, in the decay's own kind of number
        self.options: list[int] = []

    def _choose(self, chances: Sequence[Number]) -> int:
        choice = self.script[self.used] if self.used < len(self.script) else 0
        self.used += 1
        self.options.append(len(chances))
        self.weight = self.weight * chances[choice]
        return choice

    def laplace(self, scale: float, n: int) -> list[int]:
        if scale == 0:
            return [0] * n
        values = range(-self.reach, self.reach + 1)
        chances: list[Number] = _chances(self.decay, scale, self.reach)
        return [values[self._choose(chances)] for _ in range(n)]

    def exponential(self, scores: Sequence[int], factor: Fraction) -> int:
        return self._one_of(exponential(scores, factor, self.decay))

    def noisy_max(self, scores: Sequence[int], scale: float) -> int:
        return self._one_of(permute_and_flip(scores, 1 / Fraction(scale), self.decay))

    def _one_of(self, law: Law) -> int:
        return self._choose([law[i] for i in range(len(law))])


@lru_cache(maxsize=64)
def _chances(decay: Any, scale: float, reach: int) -> list[Number]:
    noise = TwoSided(decay(1 / Fraction(scale)))
    return [noise.pmf(k) for k in range(-reach, reach + 1)]


@dataclass(frozen=True)
class Found:
    """A law from below: each probability is at least this, and all that is missing is ``lost``."""

    law: Law
    lost: Number


def found_law(sample: Callable[[Noise], Any], decay: Decay, reach: int = 6) -> Found:
    """Run a mechanism on all scripts, one after another."""
    law: dict[Hashable, Number] = {}
    script: list[int] = []
    while True:
        noise = Scripted(script, decay, reach)
        answer = sample(noise)
        key = tuple(answer) if isinstance(answer, list) else answer
        law[key] = law.get(key, 0) + noise.weight
        script = (script + [0] * noise.used)[: noise.used]
        while script and script[-1] + 1 >= noise.options[len(script) - 1]:
            script.pop()
        if not script:
            break
        script[-1] += 1
    return Found(law, 1 - sum(law.values(), 0 * decay(Fraction(0))))


def agrees(found: Found, stated: Law) -> bool:
    """Whether a stated law is possible: nowhere below what was found, nowhere above it by more than was lost."""
    return all(
        found.law.get(key, 0) <= stated.get(key, 0) <= found.law.get(key, 0) + found.lost
        for key in found.law.keys() | stated.keys()
    )


def vector(n: int, distance: Fraction | int, grid: Fraction | int = 1, monotone: bool = False) -> Any:
    """Public facts of n private numbers that can all move at once, by this distance each."""
    joint = AllMove(n, Distance(distance))
    return SimpleNamespace(joint=joint, grid=Fraction(grid), index=(tuple(range(n)),), monotone=monotone)


def single(distance: Fraction | int, grid: Fraction | int = 1) -> Any:
    """Public facts of one private number."""
    return SimpleNamespace(joint=AllMove(1, Distance(distance)), grid=Fraction(grid), index=(), monotone=False)
