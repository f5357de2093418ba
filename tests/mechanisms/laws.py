"""Exact laws of the mechanisms, taken from their own code where it draws finitely, and checkers that try to refute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from types import SimpleNamespace
from typing import Any

import mpmath as mp

from privjail.mechanisms.noise import Noise
from privjail.plan.distance import Distance
from privjail.plan.value import Together

mp.mp.dps = 40
Law = dict[Any, mp.mpf]


def real(x: Fraction | int | float) -> mp.mpf:
    x = Fraction(x)
    return mp.mpf(x.numerator) / x.denominator


def vector(n: int, distance: Fraction | int, grid: Fraction | int = 1, monotone: bool = False) -> Any:
    """Public facts of n private numbers that can all move at once, by this distance each."""
    joint = Together(n, Distance(distance))
    return SimpleNamespace(joint=joint, grid=Fraction(grid), index=(tuple(range(n)),), monotone=monotone)


def single(distance: Fraction | int, grid: Fraction | int = 1) -> Any:
    return SimpleNamespace(joint=Together(1, Distance(distance)), grid=Fraction(grid), index=(), monotone=False)


class Restart(Exception):
    """A rejection sampler begins again."""


class Scripted(Noise):
    """Takes each random choice from a script, and multiplies up the probability of having made it.

    A second call of below() means that a rejection sampler begins again.
    """

    def __init__(self, script: Sequence[int]) -> None:
        self.script, self.used = list(script), 0
        self.weight = mp.mpf(1)
        self.options: list[int] = []
        self.belows = 0

    def _choose(self, chances: Sequence[mp.mpf]) -> int:
        choice = self.script[self.used] if self.used < len(self.script) else 0
        self.used += 1
        self.options.append(len(chances))
        self.weight *= chances[choice]
        return choice

    def below(self, n: int) -> int:
        self.belows += 1
        if self.belows > 1:
            raise Restart
        return self._choose([mp.mpf(1) / n] * n)

    def bernoulli_exp(self, gamma: Fraction) -> bool:
        p = mp.exp(-real(gamma))
        return self._choose([p, 1 - p]) == 0

    def noisy_max(self, scores: Sequence[int], scale: float) -> int:
        law = permute_and_flip(scores, Fraction(scale))
        return self._choose([law[i] for i in range(len(scores))])


def law_of(sample: Callable[[Noise], Any]) -> Law:
    """The law of a sampler with finitely many choices between restarts: all scripts, one after another."""
    found: Law = {}
    script: list[int] = []
    while True:
        noise = Scripted(script)
        try:
            answer = sample(noise)
            key = tuple(answer) if isinstance(answer, list) else answer
            found[key] = found.get(key, mp.mpf(0)) + noise.weight
        except Restart:
            pass
        script = (script + [0] * noise.used)[: noise.used]
        while script and script[-1] + 1 >= noise.options[len(script) - 1]:
            script.pop()
        if not script:
            break
        script[-1] += 1
    total = mp.fsum(found.values())
    return {key: p / total for key, p in found.items()}


def permute_and_flip(scores: Sequence[int], scale: Fraction) -> Law:
    """The law as published: in random order, take an item with probability exp(-(max - score) / scale)."""
    best = max(scores)
    return _permute_and_flip(tuple(best - s for s in scores), scale)


@cache
def _permute_and_flip(gaps: tuple[int, ...], scale: Fraction) -> Law:
    n = len(gaps)
    accept = [mp.exp(-real(gap / scale)) for gap in gaps]
    law: Law = dict.fromkeys(range(n), mp.mpf(0))
    for order in permutations(range(n)):
        left = mp.mpf(1) / mp.factorial(n)
        for i in order:
            law[i] += left * accept[i]
            left *= 1 - accept[i]
    return law


def exponential_noise_max(scores: Sequence[int], scale: Fraction) -> Law:
    """Pr[score_i + X_i is largest] for independent exponential X, by integration: another way to the same law."""
    b = real(scale)
    law: Law = {}
    for i, s in enumerate(scores):

        def density(t: mp.mpf, s: int = s, i: int = i) -> mp.mpf:
            below = [1 - mp.exp(-(t - x) / b) if t > x else mp.mpf(0) for j, x in enumerate(scores) if j != i]
            return mp.exp(-(t - s) / b) / b * mp.fprod(below) if t >= s else mp.mpf(0)

        top = max(scores)
        law[i] = mp.quad(density, [top, top + b, top + 4 * b, top + 20 * b, top + 90 * b])
    return law


def loss(left: Law, right: Law) -> mp.mpf:
    """The largest log-ratio of probabilities."""
    worst = mp.mpf(0)
    for key in left.keys() | right.keys():
        p, q = left.get(key, mp.mpf(0)), right.get(key, mp.mpf(0))
        if p == q:
            continue
        if p == 0 or q == 0:
            return mp.inf
        worst = max(worst, abs(mp.log(p / q)))
    return worst


def renyi(left: Law, right: Law, order: float) -> mp.mpf:
    total = mp.fsum(p**order * right[key] ** (1 - order) for key, p in left.items() if p)
    return mp.log(total) / (order - 1)


def neighbours(n: int, values: int, reach: int, monotone: bool) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All pairs of score vectors whose elements differ by at most ``reach``; all one way if monotone."""
    steps = range(reach + 1) if monotone else range(-reach, reach + 1)
    for left in product(range(values), repeat=n):
        for move in product(steps, repeat=n):
            yield left, tuple(x + m for x, m in zip(left, move, strict=True))
