"""Where randomness comes from: OpenDP's exact samplers, our exact choices, and the operating system. No seeds.

``Noise`` is what a mechanism may draw. The jail holds the only instance; nothing a client sends reaches it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from privjail.errors import BudgetError
from privjail.mechanisms.choice import exponential_choice, permute_and_flip
from privjail.mechanisms.weights import Kept

LARGEST_SCALE = 2.0**55
MOST_AHEAD = 63  # draws that wait for use
MOST_SCALES = 256  # for which they do
EDGES = (-(2**63), 2**63 - 1)  # OpenDP cuts its draws off here


class Noise:
    """Exact draws: integers whose law is the stated one, not a float approximation of it."""

    def __init__(self) -> None:
        self._predrawn = PredrawnNoise()

    def prepare(self) -> None:
        """Load the samplers, so that the first release need not wait for them."""
        _opendp()

    def laplace(self, scale: float, n: int) -> list[int]:
        """n independent X with Pr[X = x] proportional to exp(-|x| / scale)."""
        if scale == 0:
            return [0] * n
        if n == 1:
            return [self._predrawn.take(scale, self._laplace)]
        return self._laplace(scale, n)

    def _laplace(self, scale: float, n: int) -> list[int]:
        drawn = _drawn(_opendp_laplace(_checked(scale), n == 1), n)
        return [self._beyond(x, scale) if x in EDGES else x for x in drawn]

    def _beyond(self, edge: int, scale: float) -> int:
        """A draw that was cut off at an edge, drawn on: beyond any point the law is geometric.

        Without this the law would have two atoms, at different answers for neighbouring values.
        """
        while (more := self._laplace(scale, 1)[0]) < 0:
            pass
        return edge + more if edge > 0 else edge - more

    def gaussian(self, scale: float, n: int) -> list[int]:
        """n independent X with Pr[X = x] proportional to exp(-x² / 2 scale²).

        Cut off at 64 bits: beyond 2**63 lies less than exp(-2**15) of the mass at the largest scale.
        """
        if scale == 0:
            return [0] * n
        return _drawn(_opendp_gaussian(_checked(scale), n == 1), n)

    def exponential(self, scores: Sequence[int], factor: Fraction) -> int:
        """Position i with probability proportional to exp(factor·score_i)."""
        return exponential_choice(scores, factor, self.uniform)

    def noisy_max(self, scores: Sequence[int], scale: float) -> int:
        """The position of the largest score plus exponential noise of this scale (permute and flip)."""
        return permute_and_flip(scores, 1 / Fraction(scale), self.uniform)

    def uniform(self, limbs: int, n: int) -> Kept:
        """n independent uniform numbers of ``limbs`` times 32 bits."""
        return np.frombuffer(os.urandom(4 * limbs * n), dtype=np.uint32).reshape(limbs, n)


class PredrawnNoise:
    """Draws made ahead: twenty at once cost little more than one.

    Each draw is handed out once, whichever thread asks. The first for a scale is made alone, then as many
    again as were used. Draws are independent of each other and of all data, so when they are made tells
    nothing. A forked process starts empty: it must not hand out its parent's draws.
    """

    def __init__(self) -> None:
        self._held: dict[float, list[int]] = {}
        self._used: dict[float, int] = {}
        self._process = os.getpid()  # last: another thread that finds its own process here finds the stock empty

    def take(self, scale: float, draw: Callable[[float, int], list[int]]) -> int:
        if self._process != os.getpid() or len(self._held) > MOST_SCALES:
            self.__init__()  # type: ignore[misc]
        held = self._held.setdefault(scale, [])
        try:
            return held.pop()
        except IndexError:  # nothing is left, or other threads were faster
            used = self._used[scale] = min(2 * self._used.get(scale, 0) + 1, MOST_AHEAD)
            first, *rest = draw(scale, used)
            held.extend(rest)
            return first


def _checked(scale: float) -> float:
    if scale > LARGEST_SCALE:
        raise BudgetError("the noise would not fit into 64 bits", do="use a larger eps")
    return scale


def _drawn(measurement: Any, n: int) -> list[int]:
    return [measurement(0)] if n == 1 else list(measurement([0] * n))


class _OpenDP:
    """What is used of OpenDP. Its prelude would import scikit-learn, too, where that is installed."""

    def __init__(self) -> None:
        from opendp import domains, measurements, metrics, mod, typing

        mod.enable_features("contrib")
        self.m = measurements
        self.i64, self.f64 = typing.i64, typing.f64
        self.atom_domain, self.vector_domain = domains.atom_domain, domains.vector_domain
        self.absolute_distance = metrics.absolute_distance
        self.l1_distance, self.l2_distance = metrics.l1_distance, metrics.l2_distance


@lru_cache(maxsize=1)
def _opendp() -> _OpenDP:
    return _OpenDP()


@lru_cache(maxsize=4096)
def _opendp_laplace(scale: float, single: bool) -> Any:
    dp = _opendp()
    if single:
        return dp.m.make_laplace(dp.atom_domain(T=dp.i64), dp.absolute_distance(T=dp.i64), scale=scale)
    return dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l1_distance(T=dp.i64), scale=scale)


@lru_cache(maxsize=4096)
def _opendp_gaussian(scale: float, single: bool) -> Any:
    dp = _opendp()
    if single:
        return dp.m.make_gaussian(dp.atom_domain(T=dp.i64), dp.absolute_distance(T=dp.i64), scale=scale)
    return dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l2_distance(T=dp.f64), scale=scale)
