"""The collector's side: frequencies and their intervals from randomised reports.

Claim: ``unbiased`` has expectation equal to the true frequencies, whatever they are; its intervals,
and those of ``likely``, hold the population's frequencies at the stated rate for large n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from privjail.errors import PlanError, RefusedError
from privjail.local.channels.channel import Channel, Floats, SupportChannel, TableChannel
from privjail.local.channels.pbp import Strength
from privjail.local.estimation.em import SLACK, maximise
from privjail.local.estimation.findings import Finding
from privjail.local.estimation.likelihood import Group, Likelihood, likelihood
from privjail.local.estimation.mixes import CollectedMix, mix_variances
from privjail.simplex import nearest_on_simplex


@dataclass(frozen=True)
class Estimate:
    """Frequencies with intervals; and always both strengths of every parameter that was on the menu."""

    labels: tuple[str, ...]
    frequencies: Floats
    errors: Floats  # standard errors
    lower: Floats
    upper: Floats
    count: int
    method: str
    influence: float  # how far a single forged report can move a frequency
    strengths: tuple[Strength, ...] = field(default=())
    findings: tuple[Finding, ...] = field(default=())  # what speaks against the estimate
    mix: CollectedMix | None = None  # the mix that was used, if it was collected

    def __str__(self) -> str:
        rows = zip(self.labels, self.frequencies, self.lower, self.upper, strict=True)
        lines = [f"{label}: {f:.4f} [{lo:.4f}, {hi:.4f}]" for label, f, lo, hi in rows]
        warned = [f"warning: {finding}" for finding in self.findings]
        return "\n".join([*lines, *(str(s) for s in self.strengths), *warned])


def unbiased(groups: Sequence[Group], level: float = 0.95) -> Estimate:
    """Linear decoding of each group, combined with weights that were fixed before any report came."""
    filled = _filled(groups)
    decoded = [_decode(group) for group in filled]
    # The weights look at the design only. Weights from the reports would make the result biased.
    weights = np.array([d.group.count / d.design for d in decoded])
    weights /= weights.sum()
    centre = sum((w * d.frequencies for w, d in zip(weights, decoded, strict=True)), np.zeros(()))
    variance = sum((w**2 * d.variances for w, d in zip(weights, decoded, strict=True)), np.zeros(()))
    variance = variance + sum(
        (w**2 * mix_variances(d.group, d.frequencies) for w, d in zip(weights, decoded, strict=True)), np.zeros(())
    )
    influence = max(w * d.reach / d.group.count for w, d in zip(weights, decoded, strict=True))
    return _estimate(filled, centre, np.sqrt(variance), level, "unbiased", float(influence))


def likely(
    groups: Sequence[Group],
    level: float = 0.95,
    *,
    slack: float = SLACK,
    progress: Callable[[float], None] | None = None,
) -> Estimate:
    """Maximum likelihood by EM: never negative, adds up to 1, and uses each group as well as possible."""
    filled = _filled(groups)
    parts = [likelihood(group) for group in filled]
    linear = unbiased(filled, level)  # refuses what cannot be told apart, and bounds the errors
    # A start nearby, strictly inside: EM multiplies, so it never leaves a 0.
    near = 0.9 * nearest_on_simplex(linear.frequencies) + 0.1 / _size(filled)
    fit = maximise(parts, _size(filled), slack=slack, start=near, progress=progress)
    errors = linear.errors
    if _size(filled) <= 1024:
        errors = _information_errors(parts, fit.frequencies, linear.errors)
        if errors is not linear.errors:
            errors = np.sqrt(errors**2 + sum((mix_variances(g, fit.frequencies) for g in filled), np.zeros(())))
    return _estimate(filled, fit.frequencies, errors, level, "maximum likelihood", linear.influence)


@dataclass(frozen=True)
class _Decoded:
    group: Group
    frequencies: Floats
    variances: Floats
    design: float  # the variance of one report if every answer were equally frequent
    reach: float  # how far one report can move its own group's total


def _decode(group: Group) -> _Decoded:
    channel, n = group.channel, group.count
    if isinstance(channel, SupportChannel):
        p, q = (float(rate) for rate in group.rates())
        tally = group.tally
        reach = 1 / abs(p - q)
        even = q + (p - q) / channel.domain.size
        # As if two more reports were for each answer and two against (Agresti, Coull 1998): no error is 0.
        likely_rate = (tally + 2) / (n + 4)
        variances, seen = likely_rate * (1 - likely_rate) * reach**2 / n, tally / n
        return _Decoded(group, (seen - q) / (p - q), variances, even * (1 - even) * reach**2, reach)
    if isinstance(channel, TableChannel):
        return _decode_table(group)
    raise PlanError(f"no decoder is known for {type(channel).__name__}")


def _decode_table(group: Group) -> _Decoded:
    law, n = group.table(), group.count
    if np.linalg.matrix_rank(law) < law.shape[1]:
        raise RefusedError(
            "these reports do not determine the frequency of each answer",
            do="ask for the mean instead, or use a channel with more outputs",
        )
    inverse = np.linalg.pinv(law)
    seen = group.counts() / n
    centre = inverse @ seen
    even = law.mean(axis=1)
    mixed = (n * seen + 4 * even) / (n + 4)  # as above: four more reports, of evenly spread answers
    variances = np.maximum(inverse**2 @ mixed - (inverse @ mixed) ** 2, 0) / n
    design = float((inverse**2 @ even - (inverse @ even) ** 2).mean())
    return _Decoded(group, centre, variances, design, float(np.ptp(inverse, axis=1).max()))


def _information_errors(parts: Sequence[Likelihood], frequencies: Floats, otherwise: Floats) -> Floats:
    """Square roots of the inverse information along the simplex (frequencies add up to 1).

    At the edge (a frequency of 0) the unconstrained information is kept: the estimate is then nearer
    to the truth than its unconstrained twin, so the interval holds it at least as often.
    """
    found = [part.information(frequencies) for part in parts]
    if any(f is None for f in found):
        return otherwise
    information = sum((f for f in found if f is not None), np.zeros(()))
    # Along the simplex a constant added to every entry changes nothing, and makes the whole invertible.
    whole = information + float(np.diag(information).mean())
    try:
        slopes = np.diag(np.linalg.cholesky(whole)) ** 2
    except np.linalg.LinAlgError:
        return otherwise
    if not slopes.min() > 1e-12 * slopes.max():
        return otherwise  # fewer kinds of reports than answers: the reports alone do not bound the errors
    inverse = np.linalg.inv(whole)
    ones = inverse.sum(axis=1)
    return np.asarray(np.sqrt(np.maximum(np.diag(inverse) - ones**2 / ones.sum(), 0)), dtype=np.float64)


def _estimate(
    groups: Sequence[Group], centre: Floats, errors: Floats, level: float, method: str, influence: float
) -> Estimate:
    count = sum(group.count for group in groups)
    return from_parts(groups[0].channel, count, centre, errors, level, method, influence)


def from_parts(
    channel: Channel, count: int, centre: Floats, errors: Floats, level: float, method: str, influence: float
) -> Estimate:
    """Frequencies with their normal intervals."""
    reach = quantile(level) * errors
    labels = getattr(channel.domain, "labels", None) or tuple(str(i) for i in range(channel.domain.size))
    lower, upper = np.clip(centre - reach, 0, 1), np.clip(centre + reach, 0, 1)
    return Estimate(labels, centre, errors, lower, upper, count, method, influence)


def quantile(level: float) -> float:
    """How many standard errors an interval of this level reaches to either side."""
    if not 0 < level < 1:
        raise PlanError(f"a level must lie between 0 and 1, got {level}", do="use 0.95")
    return NormalDist().inv_cdf((1 + level) / 2)


def _filled(groups: Sequence[Group]) -> list[Group]:
    filled = [group for group in groups if group.count]
    if not filled:
        raise PlanError("there are no reports to estimate from", do="collect some first")
    return filled


def _size(groups: Sequence[Group]) -> int:
    return groups[0].channel.domain.size
