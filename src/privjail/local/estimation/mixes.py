"""The mix of hidden parameters as it was collected, and what its uncertainty does to an estimate.

Claim: ``CollectedMix`` has expectation equal to the population's mix, and ``covariance`` is that of its shares.
``mix_slopes`` says how far a linear estimate moves when a share grows. docs/decisions/0220-the-mix-is-collected.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

import numpy as np

from privjail.errors import PlanError, SchemaError
from privjail.local.channels.channel import Floats, SupportChannel, TableChannel
from privjail.local.channels.entropy import Ints
from privjail.local.channels.kary import KaryResponse
from privjail.local.estimation.likelihood import Group
from privjail.simplex import nearest_on_simplex

_ROUND = 10**6  # denominators of collected shares
_LEAST = 1e-4  # no share is believed to be 0: a parameter on the menu may be picked


@dataclass(frozen=True)
class CollectedMix:
    """Shares of the parameters with their covariance, from what people said about their own choice."""

    thetas: tuple[str, ...]
    shares: Floats  # unbiased; may lie slightly outside of 0 … 1
    covariance: Floats
    count: int

    @staticmethod
    def of_choices(menu: Mapping[str, object], choices: Sequence[str]) -> CollectedMix:
        """From choices that were collected anonymously, without a link to any report (the paper's figure 1)."""
        thetas = tuple(menu)
        unknown = sum(choice not in menu for choice in choices)
        if unknown:
            raise SchemaError(f"{unknown} choices are not on the menu", do=f"the menu has: {', '.join(thetas)}")
        counts = np.array([list(choices).count(theta) for theta in thetas], dtype=np.float64)
        return _collected(thetas, np.eye(len(thetas)), counts)

    @staticmethod
    def of_ballots(ballot: KaryResponse, codes: Ints) -> CollectedMix:
        """From randomised ballots: K⁻¹ applied to the shares that were seen."""
        counts = np.bincount(ballot.checked(codes), minlength=ballot.domain.size).astype(np.float64)
        return _collected(ballot.domain.labels, np.asarray(np.linalg.inv(ballot.table), dtype=np.float64), counts)

    @property
    def fractions(self) -> dict[str, Fraction]:
        """The nearest mix that can be: positive shares that add up to exactly 1."""
        inside = nearest_on_simplex(self.shares)
        inside = np.maximum(inside, _LEAST)
        parts = np.rint(inside / inside.sum() * _ROUND).astype(int)
        parts[int(parts.argmax())] += _ROUND - int(parts.sum())
        return {theta: Fraction(int(part), _ROUND) for theta, part in zip(self.thetas, parts, strict=True)}

    def fractions_shown(self) -> list[tuple[str, float]]:
        """Each parameter with its share, as the nearest mix that can be."""
        return [(theta, float(share)) for theta, share in self.fractions.items()]

    def differs_from(self, stated: Mapping[str, Fraction]) -> float:
        """The probability of collecting shares at least as far from the stated ones if those were true (χ²)."""
        from scipy.stats import chi2

        gap = (self.shares - np.array([float(stated[t]) for t in self.thetas]))[:-1]
        statistic = float(gap @ np.linalg.solve(self.covariance[:-1, :-1], gap))
        return float(chi2.sf(statistic, len(gap)))


def _collected(thetas: tuple[str, ...], inverse: Floats, counts: Floats) -> CollectedMix:
    n = int(counts.sum())
    if n == 0:
        raise PlanError("no choices were collected", do="collect ballots, or state the mix")
    # As if one more had come for each: with few ballots no share has an error of 0.
    seen, likely = counts / n, (counts + 1) / (n + len(counts))
    spread = (np.diag(likely) - np.outer(likely, likely)) / n
    return CollectedMix(thetas, inverse @ seen, inverse @ spread @ inverse.T, n)


def mix_slopes(group: Group, frequencies: Floats) -> Floats:
    """How far each decoded frequency falls when a share grows: c_θ = D·P_θ·π, parameters down, answers across."""
    channels = group.channels
    if all(isinstance(c, SupportChannel) for c in channels):
        p, q = (float(rate) for rate in group.rates())
        pairs = [(float(c.rates[0]), float(c.rates[1])) for c in channels if isinstance(c, SupportChannel)]
        return np.array([(low + (high - low) * frequencies) / (p - q) for high, low in pairs])
    inverse = np.linalg.pinv(group.table())
    return np.array([inverse @ (c.table @ frequencies) for c in channels if isinstance(c, TableChannel)])


def mix_variances(group: Group, frequencies: Floats) -> Floats:
    """What the uncertainty of the mix adds to the variance of each frequency."""
    if group.mix_covariance is None:
        return np.zeros(len(frequencies))
    slopes = mix_slopes(group, nearest_on_simplex(frequencies))
    return np.asarray(np.einsum("td,ts,sd->d", slopes, group.mix_covariance, slopes), dtype=np.float64)


def mix_reach(group: Group, frequencies: Floats, within: float) -> float:
    """How far, to first order, a frequency can move if each share is off by at most this much."""
    slopes = np.sort(mix_slopes(group, nearest_on_simplex(frequencies)), axis=0)
    half = len(slopes) // 2
    return float((within * (slopes[len(slopes) - half :].sum(axis=0) - slopes[:half].sum(axis=0))).max())


def corner_mixes(mix: Mapping[str, Fraction], within: Fraction) -> list[dict[str, Fraction]]:
    """Mixes that differ from this one by at most ``within`` in each share, as far out as that goes.

    A frequency is a ratio of two forms that are linear in the mix, so over this set it is extreme at a corner. At a
    corner all shares but one are at an end of their range.
    """
    names, found = list(mix), {}
    for order in permutations(names):
        left, corner = Fraction(1), {}
        low = {t: max(mix[t] - within, Fraction(1, 10**6)) for t in names}
        high = {t: min(mix[t] + within, Fraction(1)) for t in names}
        for i, theta in enumerate(order):  # each in turn as large as the others allow
            others = sum((low[t] for t in order[i + 1 :]), Fraction(0))
            least = left - sum((high[t] for t in order[i + 1 :]), Fraction(0))
            corner[theta] = max(min(high[theta], left - others), least)
            left -= corner[theta]
        found[tuple(corner[t] for t in names)] = {t: corner[t] for t in names}
    return [mix_ for mix_ in found.values() if all(share > 0 for share in mix_.values())]
