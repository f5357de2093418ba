"""The collector's side for numbers: a mean with its interval.

Claim: each decoded report has the respondent's own (grid) number as its expectation, so the average
is unbiased; with hidden parameters, so is the report decoded by the blended law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from privjail.errors import PlanError, RefusedError
from privjail.local.channels.channel import Floats, TableChannel
from privjail.local.channels.numeric import NumericChannel
from privjail.local.channels.pbp import Strength
from privjail.local.estimation.estimate import quantile
from privjail.local.estimation.findings import Finding
from privjail.local.estimation.likelihood import Group
from privjail.local.estimation.mixes import CollectedMix


@dataclass(frozen=True)
class Mean:
    """A mean with its interval; and always both strengths of every parameter that was on the menu."""

    value: float
    error: float
    lower: float
    upper: float
    count: int
    influence: float
    strengths: tuple[Strength, ...] = field(default=())
    findings: tuple[Finding, ...] = field(default=())  # what speaks against the estimate
    mix: CollectedMix | None = None  # the mix that was used, if it was collected

    def __str__(self) -> str:
        line = f"mean: {self.value:.6g} [{self.lower:.6g}, {self.upper:.6g}]"
        warned = [f"warning: {finding}" for finding in self.findings]
        return "\n".join([line, *(str(s) for s in self.strengths), *warned])


def mean(groups: Sequence[Group], level: float = 0.95) -> Mean:
    """The average of decoded reports, groups weighted by how noisy their design is."""
    filled = [group for group in groups if group.count]
    if not filled:
        raise PlanError("there are no reports to estimate from", do="collect some first")
    decoders = [guesses(group) for group in filled]
    noises = [_noise(g, guess) for g, guess in zip(filled, decoders, strict=True)]
    weights = np.array([g.count / noise for g, noise in zip(filled, noises, strict=True)])
    weights /= weights.sum()
    value = variance = influence = 0.0
    for weight, group, guess, noise in zip(weights, filled, decoders, noises, strict=True):
        decoded, n = guess[group.reports], group.count
        value += weight * float(decoded.mean())
        # As if four more reports had come from evenly spread numbers: a single report has an error, too.
        variance += weight**2 * (n * float(decoded.var()) + 4 * noise) / (n + 4) / n
        variance += weight**2 * _mix_variance(group, guess)
        influence = max(influence, weight * float(np.ptp(guess)) / group.count)
    error = variance**0.5
    reach = quantile(level) * error
    count = sum(group.count for group in filled)
    return Mean(value, error, value - reach, value + reach, count, influence)


def guesses(group: Group) -> Floats:
    """What each output stands for under the blended law.

    E_θ[position_θ(o)] = d holds for each θ alone. Under a blend no θ is known, so the blend's own
    table is solved for Σ_o P[o|d]·guess(o) = d with the least variance when numbers are spread evenly.
    """
    channel = group.channel
    if not isinstance(channel, NumericChannel):
        raise RefusedError("a mean needs a question about numbers", do="estimate frequencies instead")
    if len(group.channels) == 1:
        return channel.guesses
    law = group.table()
    numbers = np.array([float(channel.domain.number(Fraction(d))) for d in range(channel.domain.size)])
    weight = 1 / np.sqrt(law.mean(axis=1))
    scaled = law * weight[:, None]
    guess = weight * (np.linalg.pinv(scaled.T) @ numbers)
    if np.abs(law.T @ guess - numbers).max() > 1e-6 * (1 + np.abs(numbers).max()):
        raise RefusedError("under this blend no unbiased guess of the number exists", do="make the parameters public")
    return np.asarray(guess, dtype=np.float64)


def _mix_variance(group: Group, guess: Floats) -> float:
    """What the uncertainty of the mix adds: a decoded report of θ has expectation guess·P_θ·π, π as seen."""
    if group.mix_covariance is None:
        return 0.0
    seen = group.counts() / group.count
    frequencies = np.linalg.pinv(group.table()) @ seen
    slopes = np.array([guess @ c.table @ frequencies for c in group.channels if isinstance(c, TableChannel)])
    return float(slopes @ group.mix_covariance @ slopes)


def _noise(group: Group, guess: Floats) -> float:
    """The variance of one decoded report when numbers are spread evenly: known before any report."""
    even = group.table().mean(axis=1)
    return float(even @ guess**2 - (even @ guess) ** 2)
