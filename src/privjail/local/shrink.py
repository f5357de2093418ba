"""The least squared error for many answers: unbiased frequencies, pulled to where frequencies can lie.

Claim: the result lies on the simplex. It is a point between equal frequencies and one of two ways onto
the simplex (nearest point; cut off at 0 and rescaled), the one of least estimated squared error. The
estimate of that error is Stein's, plus one standard error for each step away from equal frequencies,
because the least of many noisy estimates is too good to be true. It is biased; its intervals are the
unbiased ones. Source: Stein 1981; Wang et al., NDSS 2020 (the two ways).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from privjail.local.channel import Floats
from privjail.local.estimate import Estimate, unbiased
from privjail.local.likelihood import Group
from privjail.local.simplex import project


def shrunk(groups: Sequence[Group], level: float = 0.95) -> Estimate:
    """For k in the hundreds, where noise drowns single answers and maximum likelihood chases it."""
    linear = unbiased(groups, level)
    best = least_risk(linear.frequencies, float(np.mean(linear.errors**2)))
    return replace(linear, frequencies=best, method="shrunk")


def least_risk(raw: Floats, noise: float) -> Floats:
    """The candidate h(x) with the least ‖h(x) − x‖² + 2·noise·div h(x), plus the caution above."""
    k = len(raw)
    nearest, positive = project(raw), np.maximum(raw, 0)
    total = float(positive.sum())
    # The nearest point moves all m positive entries and keeps their sum: div = m − 1.
    # Rescaling by the sum S does the same at 1/S of the speed: div = (m − 1)/S.
    caution = noise * (2 * k) ** 0.5  # the standard error of ‖x − truth‖²
    ways = [
        (nearest, float(np.count_nonzero(nearest) - 1), caution),
        (positive / total, (np.count_nonzero(positive) - 1) / total, caution / max(1.0, total)),
    ]
    best, least = np.full(k, 1 / k), np.inf
    for point, slope, doubt in ways:
        for share in np.linspace(0, 1, 41):
            tried = 1 / k + share * (point - 1 / k)
            risk = float(((tried - raw) ** 2).sum()) + share * (2 * noise * slope + doubt)
            if risk < least:
                best, least = tried, risk
    return best
