"""The paper's own estimator for yes/no questions with public parameters: the best of three by equation (19).

Claim: each candidate (θ's people alone, for each θ, and all together) is equation (17), unbiased; the one whose
variance (19) estimates lowest is returned. Choosing by estimated variances makes the whole slightly biased, and
weighing all groups (``unbiased``) has less error: docs/local-paper.md. It is here to repeat the paper, not to be
used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privjail.errors import PlanError
from privjail.local.channels.kary import KaryResponse
from privjail.local.estimation.estimate import Estimate, from_parts
from privjail.local.estimation.likelihood import Group


def variance(frequency: float, truth: float, n: float) -> float:
    """Equation (19): the estimated variance of (17) for n people who tell the truth with this chance."""
    noise = 1 / (16 * (truth - 0.5) ** 2) - 0.25
    return (frequency * (1 - frequency) + noise) / (n - 1)


def best_of_three(groups: Sequence[Group], level: float = 0.95) -> Estimate:
    """Equation (17) for each group and for all together; the one with the least estimated variance."""
    filled = [group for group in groups if group.count > 1]
    if not filled or any(not isinstance(g.channel, KaryResponse) or g.channel.domain.size != 2 for g in filled):
        raise PlanError("the paper's estimator is for yes/no questions by randomised response", do="use unbiased")
    options = [(float(g.tally[0]), g.count, float(g.rates()[0])) for g in filled]
    everybody = sum(n for _, n, _ in options)
    pooled = sum(n * p for _, n, p in options) / everybody
    options.append((sum(said for said, _, _ in options), everybody, pooled))
    found = []
    for said, n, p in options:
        frequency = (p - 1) / (2 * p - 1) + said / n / (2 * p - 1)  # (17), with (18) for all together
        found.append((variance(frequency, p, n), frequency, n, p))
    spread, frequency, n, p = min(found)
    centre, error = np.array([frequency, 1 - frequency]), max(spread, 0.0) ** 0.5
    influence = 1 / abs(2 * p - 1) / n
    return from_parts(filled[0].channel, everybody, centre, np.full(2, error), level, "paper", influence)
