"""Choosing the best of several candidates by a private score."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from privjail.budget.amounts import float_up
from privjail.histograms.laws import Floats, Integers
from privjail.mechanisms.noise import Noise

#: Scores, where each group of candidates starts, the sensitivity of a score, and ε: the place of each group's winner.
Pick = Callable[[Floats, Integers, float, Fraction], Integers]

GRID = 1024


def pick_exactly(scores: Floats, starts: Integers, sensitivity: float, epsilon: Fraction) -> Integers:
    """The candidate with (about) the highest score, in each group.

    Guarantee: ε-DP for each group, if one record moves each score by at most the sensitivity.
    Why: permute and flip. Scores go to whole steps of 1/1024 first, which can add one step to what a record moves.
    Source: McKenna & Sheldon, NeurIPS 2020.
    """
    noise = Noise()
    steps = np.floor(scores * GRID)
    scale = float_up(2 * Fraction(math.ceil(sensitivity * GRID) + 1) / epsilon)
    ends = np.append(starts[1:], len(scores))
    winners = [
        a + noise.noisy_max([int(x) for x in steps[a:b]], scale) if b - a > 1 else a
        for a, b in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    return np.array(winners, dtype=np.int64)
