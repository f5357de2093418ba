"""The paper's experiments on yes/no surveys, simulated: four estimators, θ hidden or public.

A survey here has n people of whom exactly π·n have answer d0 and exactly Pr(θ)·n use θ, chosen without
regard to their answer. Errors are against π·n/n, as in the paper's equation (3). numpy's generator
simulates *people*; nothing here protects anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
ESTIMATORS = ("hidden, likelihood", "hidden, unbiased", "public, likelihood", "public, unbiased")


@dataclass(frozen=True)
class Setting:
    """Chances of the truth for θ_s and θ_w, when hidden and, at the same strengths, when public."""

    share: float  # Pr(θ_w)
    hidden: tuple[float, float]
    public: tuple[float, float]


def constant_strength(share: Fraction) -> Setting:
    """E(θ_s) = log 1.5 and E(θ_w) = log 3 for every mix, with θ_s at 0.6 (figures 3 and 4)."""
    r = share / (1 - share)
    # θ_w is covered by θ_s while r·p/0.4 ≤ 3 and 0.6/(r·(1 − p)) ≤ 3; else she must cover herself: p ≤ 3/4.
    covered = min(1 - Fraction(1, 5) / r, Fraction(6, 5) / r)
    weak = max(Fraction(3, 4), covered)
    return Setting(float(share), (0.6, float(weak)), (0.6, 0.75))


def errors(setting: Setting, n: int, pi: float, runs: int, seed: int = 0) -> dict[str, float]:
    """Mean squared error of each of the paper's four estimators."""
    rng = np.random.default_rng(seed)
    truth = round(pi * n) / n
    hidden = _hidden(*_reports(rng, setting.share, setting.hidden, n, truth, runs), setting)
    public = _public(*_reports(rng, setting.share, setting.public, n, truth, runs), setting)
    guesses = dict(zip(ESTIMATORS, (*hidden, *public), strict=True))
    return {name: float(np.mean((guess - truth) ** 2)) for name, guess in guesses.items()}


def _reports(
    rng: np.random.Generator, share: float, truths: tuple[float, float], n: int, truth: float, runs: int
) -> tuple[Array, Array, Array]:
    """How often each group said d0, and the sizes of the groups."""
    sizes = np.array([n - round(share * n), round(share * n)])
    have = round(truth * n)
    weak = rng.hypergeometric(have, n - have, sizes[1], size=runs) if sizes[1] else np.zeros(runs, dtype=int)
    holders = np.stack([have - weak, weak])
    groups = zip(holders, sizes, truths, strict=True)
    said = [rng.binomial(h, p) + rng.binomial(m - h, 1 - p) for h, m, p in groups]
    return said[0].astype(float), said[1].astype(float), sizes.astype(float)


def _hidden(strong: Array, weak: Array, sizes: Array, setting: Setting) -> tuple[Array, Array]:
    p = (sizes @ np.array(setting.hidden)) / sizes.sum()
    unbiased = ((strong + weak) / sizes.sum() - (1 - p)) / (2 * p - 1)
    # One binomial with a chance that is monotone in π: its likelihood peaks at the nearest π in [0, 1].
    return np.clip(unbiased, 0, 1), unbiased


def _public(strong: Array, weak: Array, sizes: Array, setting: Setting) -> tuple[Array, Array]:
    ps = np.array(setting.public)
    said = np.stack([strong, weak])
    low, high = np.zeros_like(strong), np.ones_like(strong)
    for _ in range(45):  # the slope of the log likelihood falls in π, so halving finds its zero
        middle = (low + high) / 2
        chance = (1 - ps)[:, None] + (2 * ps - 1)[:, None] * middle
        rest = sizes[:, None] - said
        slope = ((2 * ps - 1)[:, None] * (said / chance - rest / (1 - chance))).sum(axis=0)
        low, high = np.where(slope > 0, middle, low), np.where(slope > 0, high, middle)
    return (low + high) / 2, _best_of_three(strong, weak, sizes, ps)


def _best_of_three(strong: Array, weak: Array, sizes: Array, ps: Array) -> Array:
    """The paper's rule: θ_s's people, θ_w's, or all together, whichever (19) says varies least."""
    pooled = sizes @ ps / sizes.sum()
    guesses, variances = [], []
    options = ((strong, sizes[0], ps[0]), (weak, sizes[1], ps[1]), (strong + weak, sizes.sum(), pooled))
    for said, n, p in options:
        guess = (p - 1) / (2 * p - 1) + said / n / (2 * p - 1)
        guesses.append(guess)
        variances.append((guess * (1 - guess) + 1 / (16 * (p - 0.5) ** 2) - 0.25) / (n - 1))
    best = np.argmin(np.stack(variances), axis=0)
    return np.take_along_axis(np.stack(guesses), best[None, :], axis=0)[0]
