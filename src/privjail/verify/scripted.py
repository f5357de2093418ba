"""The law of a shipped sampler, from its own code: every script of random choices is run, and its chance counted."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from privjail.mechanisms.noise import Noise
from privjail.plan.distance import Distance
from privjail.plan.value import Together
from privjail.verify.law import Decay, Law, Number
from privjail.verify.laws import permute_and_flip
from privjail.verify.series import TwoSided


class Restart(Exception):
    """A rejection sampler begins again."""


class Scripted(Noise):
    """Takes each random choice from a script, and multiplies up the probability of having made it.

    A second call of below() means that a rejection sampler begins again. Laplace noise beyond ``reach`` is not
    followed: its mass is what the found law lacks.
    """

    def __init__(self, script: Sequence[int], decay: Decay, reach: int) -> None:
        self.script, self.reach = list(script), reach
        self.decay: Any = decay
        self.used, self.belows = 0, 0
        self.one = decay(Fraction(0))  # in the decay's own kind of number
        self.weight: Number = self.one
        self.options: list[int] = []

    def _choose(self, chances: Sequence[Number]) -> int:
        choice = self.script[self.used] if self.used < len(self.script) else 0
        self.used += 1
        self.options.append(len(chances))
        self.weight = self.weight * chances[choice]
        return choice

    def below(self, n: int) -> int:
        self.belows += 1
        if self.belows > 1:
            raise Restart
        return self._choose([self.one / n] * n)

    def bernoulli_exp(self, gamma: Fraction) -> bool:
        p = self.decay(gamma)
        return self._choose([p, 1 - p]) == 0

    def laplace(self, scale: float, n: int) -> list[int]:
        if scale == 0:
            return [0] * n
        values = range(-self.reach, self.reach + 1)
        chances: list[Number] = _chances(self.decay, scale, self.reach)
        return [values[self._choose(chances)] for _ in range(n)]

    def noisy_max(self, scores: Sequence[int], scale: float) -> int:
        law = permute_and_flip(scores, 1 / Fraction(scale), self.decay)
        return self._choose([law[i] for i in range(len(scores))])


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
    """Run a sampler on all scripts, one after another."""
    found: dict[Hashable, Number] = {}
    again: Number = 0 * decay(Fraction(0))
    script: list[int] = []
    while True:
        noise = Scripted(script, decay, reach)
        try:
            answer = sample(noise)
            key = tuple(answer) if isinstance(answer, list) else answer
            found[key] = found.get(key, 0) + noise.weight
        except Restart:
            again = again + noise.weight
        script = (script + [0] * noise.used)[: noise.used]
        while script and script[-1] + 1 >= noise.options[len(script) - 1]:
            script.pop()
        if not script:
            break
        script[-1] += 1
    # A rejection sampler that begins again forgets: its law is that of one round, given that it ends.
    law = {key: p / (1 - again) for key, p in found.items()}
    return Found(law, 1 - sum(law.values(), 0 * again))


def agrees(found: Found, stated: Law) -> bool:
    """Whether a stated law is possible: nowhere below what was found, nowhere above it by more than was lost."""
    return all(
        found.law.get(key, 0) <= stated.get(key, 0) <= found.law.get(key, 0) + found.lost
        for key in found.law.keys() | stated.keys()
    )


def vector(n: int, distance: Fraction | int, grid: Fraction | int = 1, monotone: bool = False) -> Any:
    """Public facts of n private numbers that can all move at once, by this distance each."""
    joint = Together(n, Distance(distance))
    return SimpleNamespace(joint=joint, grid=Fraction(grid), index=(tuple(range(n)),), monotone=monotone)


def single(distance: Fraction | int, grid: Fraction | int = 1) -> Any:
    """Public facts of one private number."""
    return SimpleNamespace(joint=Together(1, Distance(distance)), grid=Fraction(grid), index=(), monotone=False)
