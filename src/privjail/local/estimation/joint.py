"""Estimates that hold even if people choose their parameter by their answer, and a test of whether they do.

Claim: ``any_choice`` has expectation equal to the frequencies of all respondents' answers, whatever the joint law of
(θ, answer) is. From a ballot r and a report o the joint frequencies J[θ, d] are decoded,
E[K⁻¹[θ, r]·D_θ[d, o]] = J[θ, d], and added up over θ. docs/decisions/0220-the-mix-is-collected.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from privjail.errors import RefusedError
from privjail.local.channels.channel import Channel, Floats, Reports, SupportChannel, TableChannel
from privjail.local.channels.entropy import Ints
from privjail.local.channels.kary import KaryResponse
from privjail.local.estimation.estimate import Estimate, from_parts, quantile
from privjail.local.estimation.findings import ALPHA, Finding
from privjail.local.estimation.likelihood import Group


@dataclass(frozen=True)
class Linked:
    """Reports with the randomised ballot that came with each."""

    channels: tuple[Channel, ...]
    ballot: KaryResponse
    reports: Reports
    ballots: Ints

    def __post_init__(self) -> None:
        if len(self.reports) != len(self.ballots):
            raise RefusedError("there must be one ballot for each report", do="keep reports and ballots in one table")

    @property
    def inverse(self) -> Floats:
        return np.asarray(np.linalg.inv(self.ballot.table), dtype=np.float64)

    def cells(self) -> tuple[Floats, Floats]:
        """How often each kind of report came with each ballot, and what it decodes to for each θ.

        counts[r, s, d] and values[θ, s, d]; s is what a report says about answer d: nothing or support for support
        channels, the output for tables. So one formula serves both, answer by answer.
        """
        groups = [self.reports[self.ballots == r] for r in range(len(self.channels))]
        if all(isinstance(c, SupportChannel) for c in self.channels):
            return self._supports(groups)
        tables = [c.table for c in self.channels if isinstance(c, TableChannel)]
        if any(np.linalg.matrix_rank(t) < t.shape[1] for t in tables):
            raise RefusedError("these reports do not determine each answer's frequency", do="assume independence")
        k, outputs = tables[0].shape[1], tables[0].shape[0]
        seen = np.array([np.bincount(g, minlength=outputs) for g in groups], dtype=np.float64)
        return np.repeat(seen[:, :, None], k, axis=2), np.array([np.linalg.pinv(t).T for t in tables])

    def _supports(self, groups: Sequence[Reports]) -> tuple[Floats, Floats]:
        tallies = np.array([self.channels[0].tally(g) for g in groups], dtype=np.float64)  # type: ignore[attr-defined]
        sizes = np.array([len(g) for g in groups], dtype=np.float64)[:, None]
        counts = np.stack([sizes - tallies, tallies], axis=1)
        values = np.empty((len(self.channels), 2, tallies.shape[1]))
        for i, channel in enumerate(self.channels):
            assert isinstance(channel, SupportChannel)
            p, q = (float(rate) for rate in channel.rates)
            values[i, 0], values[i, 1] = -q / (p - q), (1 - q) / (p - q)
        return counts, values


def any_choice(linked: Linked, level: float = 0.95) -> Estimate:
    """Frequencies from reports and ballots, without assuming that θ is independent of the answer."""
    counts, values = linked.cells()
    n = float(len(linked.reports))
    # What one report with ballot r and statement s adds to the frequency of answer d.
    each = np.einsum("tr,tsd->rsd", linked.inverse, values)
    # As if one more of each kind had been seen: with few reports no error is 0.
    kinds = counts.shape[0] * counts.shape[1]
    likely = (counts + 1) / (n + kinds)
    centre = (counts / n * each).sum(axis=(0, 1))
    middle = (likely * each).sum(axis=(0, 1))
    variance = ((likely * each**2).sum(axis=(0, 1)) - middle**2) / n
    influence = float(np.ptp(each, axis=(0, 1)).max() / n)
    return from_parts(linked.channels[0], int(n), centre, np.sqrt(variance), level, "any choice", influence)


def joint_frequencies(linked: Linked) -> Floats:
    """J[θ, d], the share of people who chose θ and have answer d; unbiased."""
    counts, values = linked.cells()
    return np.asarray(np.einsum("tr,rsd,tsd->td", linked.inverse, counts, values) / len(linked.reports))


def dependence(linked: Linked) -> float:
    """The probability of frequencies that differ by θ at least this much if they do not (Wald's χ², for all answers).

    Answer by answer, F_θ = J[θ, d] − μ_θ·π_d. One report moves it by φ_θ − π_d·ν_θ − μ_θ·Σφ, φ_θ its part of J[θ, d]
    and ν_θ = K⁻¹[θ, r] its part of μ_θ. The probability is multiplied by the number of answers.
    """
    from scipy.stats import chi2

    counts, values = linked.cells()
    n, m = float(len(linked.reports)), len(linked.channels)
    inverse, shares = linked.inverse, counts / n
    mu = inverse @ shares[:, :, 0].sum(axis=1)
    smallest = 1.0
    for d in range(counts.shape[2]):
        phi = inverse[:, :, None] * values[:, None, :, d]  # θ, r, s
        joint = (phi * shares[None, :, :, d]).sum(axis=(1, 2))
        pi = float(joint.sum())
        moved = phi - pi * inverse[:, :, None] - mu[:, None, None] * phi.sum(axis=0)[None]
        flat, weight = moved.reshape(m, -1)[:-1], shares[:, :, d].ravel()
        middle = flat @ weight
        spread = (flat * weight) @ flat.T - np.outer(middle, middle)
        gap = (joint - mu * pi)[:-1]
        if np.linalg.matrix_rank(spread) < len(gap):
            continue
        smallest = min(smallest, float(chi2.sf(n * gap @ np.linalg.solve(spread, gap), m - 1)))
    return float(min(1.0, smallest * counts.shape[2]))


def dependence_of_groups(groups: Sequence[Group]) -> float:
    """The same for public parameters, whose groups are known: are their frequencies the same?"""
    from scipy.stats import chi2

    from privjail.local.estimation.estimate import unbiased

    found = [unbiased([group]) for group in groups if group.count >= 30]
    if len(found) < 2:
        return 1.0
    values, weights = np.array([e.frequencies for e in found]), 1 / np.array([e.errors for e in found]) ** 2
    middle = (values * weights).sum(axis=0) / weights.sum(axis=0)
    statistics = ((values - middle) ** 2 * weights).sum(axis=0)
    return float(min(1.0, chi2.sf(statistics, len(found) - 1).min() * len(statistics)))


def as_finding(p: float) -> list[Finding]:
    if p >= ALPHA:
        return []
    return [
        Finding(
            "dependence",
            "people chose their parameter by their answer: the groups' answers differ",
            "use independent=False; E says nothing then, what holds is the ε for any choice",
            p,
        )
    ]


def by_size(groups: Sequence[Group], level: float = 0.95) -> Estimate:
    """Public parameters without assuming independence: each group counts by its number of people."""
    from privjail.local.estimation.estimate import unbiased

    filled = [group for group in groups if group.count]
    parts = [unbiased([group], level) for group in filled]
    n = sum(group.count for group in filled)
    weights = [group.count / n for group in filled]
    centre = sum((w * e.frequencies for w, e in zip(weights, parts, strict=True)), np.zeros(()))
    # Beside the noise within each group, which group a person is in varies by its size: the spread between groups.
    between = sum((w * (e.frequencies - centre) ** 2 for w, e in zip(weights, parts, strict=True)), np.zeros(())) / n
    within = sum((w**2 * e.errors**2 for w, e in zip(weights, parts, strict=True)), np.zeros(()))
    reach = quantile(level) * np.sqrt(within + between)
    influence = max(w * e.influence for w, e in zip(weights, parts, strict=True))
    return replace(
        parts[0],
        frequencies=centre,
        errors=np.sqrt(within + between),
        lower=np.clip(centre - reach, 0, 1),
        upper=np.clip(centre + reach, 0, 1),
        count=n,
        method="any choice",
        influence=influence,
    )
