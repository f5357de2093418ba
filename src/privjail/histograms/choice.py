"""Choosing the best of several candidates by a private score."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from privjail.budget.amounts import float_up
from privjail.histograms.laws import Integers
from privjail.mechanisms.noise import Noise

#: Whole scores, where each group of candidates starts, the sensitivity of a score, and ε: each group's winner.
Pick = Callable[[Integers, Integers, int, Fraction], Integers]


def pick_exactly(scores: Integers, starts: Integers, sensitivity: int, epsilon: Fraction) -> Integers:
    """The candidate with (about) the highest score, in each group.

    Guarantee: ε-DP for each group, if one record moves each score by at most the sensitivity.
    Why: permute and flip. Scores are whole numbers: floats could move by more than what they stand for.
    Source: McKenna & Sheldon, NeurIPS 2020.
    """
    if np.asarray(scores).dtype.kind != "i":
        raise TypeError("scores are whole numbers")
    noise = Noise()
    scale = float_up(2 * sensitivity / epsilon)
    ends = np.append(starts[1:], len(scores))
    winners = [
        a + noise.noisy_max(scores[a:b].tolist(), scale) if b - a > 1 else a
        for a, b in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    return np.array(winners, dtype=np.int64)
