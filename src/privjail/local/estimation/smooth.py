"""The least squared error: the mean of all populations that explain the reports, weighted by how well.

Claim: the result lies on the simplex. It is the posterior mean of the frequencies, up to the two
approximations below, when the answers are alike beforehand and their spread is one of ``priors``,
averaged over those by how likely each makes the reports. It is biased (towards what the other answers
look like), so its intervals are those of the unbiased estimator. docs/decisions/0206-smooth.md.

Two approximations: reports enter by how many support each answer, as if these counts were independent; and
that frequencies add up to 1 is imposed by a common tilt exp(−λt), the saddle point of the exact condition.
With up to three answers no estimator can beat maximum likelihood everywhere, so it *is* maximum likelihood.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from privjail.errors import RefusedError
from privjail.local.channels.channel import Floats, SupportChannel
from privjail.local.channels.kary import KaryResponse
from privjail.local.estimation.estimate import Estimate, likely, unbiased
from privjail.local.estimation.likelihood import Group
from privjail.local.estimation.prior import Prior, priors

FEW = 3  # answers; two free numbers, where Stein's effect begins only at three
_CELLS, _REACH = 20, 6.0  # cells of 0.6 standard errors with two points each, six errors to either side
_COARSE = 16
STEPS, _CAUTION = 10_000, 1e6
_STEEP = 1e9  # the largest tilt, in units of 1/k
_NEVER = -1e300
_EXACT = 1e-6  # log likelihood: for few answers EM is cheap enough to go to the end


@dataclass(frozen=True)
class Counts:
    """How many of n reports support each answer; each does so at rate q + (p − q)·frequency."""

    tally: Floats
    n: int
    p: float
    q: float
    exclusive: bool  # a report supports exactly one answer (k-ary response)

    @staticmethod
    def of(group: Group) -> Counts:
        channel = group.channel
        if not isinstance(channel, SupportChannel):
            raise RefusedError(
                "smoothing needs reports that support single answers", do='use method="ml" or "unbiased"'
            )
        p, q = (float(rate) for rate in group.rates())
        tally = group.tally.astype(np.float64)
        return Counts(tally, group.count, p, q, isinstance(channel, KaryResponse))

    def log_chance(self, t: Floats) -> Floats:
        """Of each answer's count when its frequency is t; one row for each answer."""
        from scipy.special import xlog1py, xlogy

        rate, tally = np.clip(self.q + (self.p - self.q) * t, 0, 1), self.tally[:, None]
        # If one report supports one answer, rates add up to 1, and the joint law is that of Poisson
        # counts given their sum; else each count is binomial.
        lacking = -self.n * rate if self.exclusive else xlog1py(self.n - tally, -rate)
        return np.asarray(xlogy(tally, rate) + lacking, dtype=np.float64)


def smooth(
    groups: Sequence[Group], level: float = 0.95, *, progress: Callable[[float], None] | None = None
) -> Estimate:
    """Biased, but of less squared error than unbiased or most likely frequencies when answers are many."""
    if groups[0].channel.domain.size <= FEW:
        return replace(likely(groups, level, slack=_EXACT, progress=progress), method="smooth")
    counts = [Counts.of(group) for group in groups if group.count]
    linear = unbiased(groups, level)
    return replace(linear, frequencies=posterior_mean(counts, progress=progress), method="smooth")


def posterior_mean(counts: Sequence[Counts], *, progress: Callable[[float], None] | None = None) -> Floats:
    """The frequencies' mean over all priors, each weighted by how likely it makes the reports."""
    # Answers with equal counts have equal posteriors: k = 1,000 rarely means 1,000 of them.
    seen, place, times = np.unique(np.stack([c.tally for c in counts]), axis=1, return_inverse=True, return_counts=True)
    distinct = [replace(c, tally=tally) for c, tally in zip(counts, seen, strict=True)]
    cells = _cells(distinct, times.astype(np.float64))
    means, evidence = [], []
    for prior in priors(len(place), caution(counts)):
        centre, weight = _posterior(cells, distinct, prior)
        means.append(centre)
        evidence.append(weight + np.log(prior.weight))
        if progress is not None:
            progress(weight)
    shares = np.exp(np.array(evidence) - max(evidence))
    best = (shares @ np.array(means))[place.ravel()]
    return np.asarray(best / best.sum(), dtype=np.float64)


def caution(counts: Sequence[Counts]) -> float:
    """How much more to trust that answers are alike: what it costs to fall for noise if they are.

    Who believes one answer that stands out by a standard error is off by σ²/k. The yardstick is what 10,000 EM
    steps from the even start leave, which multiply each frequency by about exp(c·noise): (exp(c²σ²) − 1)/k².
    docs/decisions/0206-smooth.md.
    """
    k, n = len(counts[0].tally), sum(c.n for c in counts)
    if any(c.q == 0 for c in counts):
        return 0.0  # honest reports among them: little noise
    variance = 1 / sum(c.n * (c.p - c.q) ** 2 / (c.q * (1 - c.q)) for c in counts)
    speed = STEPS / k * sum(c.n / n * ((c.p - c.q) / c.q) ** 2 for c in counts)
    return min(float(k * variance / np.expm1(min(speed**2 * variance, 700.0))), _CAUTION)


@dataclass(frozen=True)
class _Cells:
    """Where each answer's frequency is looked for: densely around its own estimate, coarsely elsewhere."""

    edges: Floats
    times: Floats  # how many answers share a row


def _cells(counts: Sequence[Counts], times: Floats) -> _Cells:
    # One more report for and one against each answer: nobody's error is 0.
    rates = [(c.tally + 1) / (c.n + 2) for c in counts]
    precision = [c.n * (c.p - c.q) ** 2 / (r * (1 - r)) for c, r in zip(counts, rates, strict=True)]
    guesses = [(c.tally / c.n - c.q) / (c.p - c.q) for c in counts]
    total = sum(precision, np.zeros(()))
    centre = sum((w * g for w, g in zip(precision, guesses, strict=True)), np.zeros(())) / total
    error = 1 / np.sqrt(total)[:, None]
    near = np.clip(centre, 0, 1)[:, None] + error * np.linspace(-_REACH, _REACH, _CELLS + 1)
    # Where a strong prior may pull.
    far = np.concatenate([[0.0], np.geomspace(0.02 / times.sum(), 1, _COARSE)])
    edges = np.sort(np.concatenate([np.clip(near, 0, 1), np.tile(far, (len(near), 1))], axis=1), axis=1)
    return _Cells(edges, times)


def _posterior(cells: _Cells, counts: Sequence[Counts], prior: Prior) -> tuple[Floats, float]:
    """The posterior mean under one prior, given that frequencies add up to 1, and its log evidence."""
    at, mass = prior.nodes(cells.edges)
    heavy = mass > 1e-280
    plain = np.where(heavy, np.log(np.where(heavy, mass, 1)), -np.inf)
    plain = plain + sum((c.log_chance(at) for c in counts), np.zeros(()))
    tilt, low, high = 0.0, -_STEEP * prior.k, _STEEP * prior.k
    for step in range(60):
        found = _tilted(cells, plain, at, tilt)
        gap, spread = float(cells.times @ found.centre - 1), max(found.variance, 1e-18)
        if abs(gap) < 1e-9:
            break
        # More tilt, less sum: Newton's step, kept within what is known, and not too bold.
        low, high = (tilt, high) if gap > 0 else (low, tilt)
        bold = 3 * (1 + step) / spread**0.5
        after = tilt + float(np.clip(gap / spread, -bold, bold))
        tilt = after if low < after < high else (low + high) / 2
    if abs(gap) > 1e-6:  # under this prior the frequencies cannot add up to 1: it explains nothing
        return found.centre, _NEVER - abs(gap)
    return found.centre, found.log_total + 0.5 * float(np.log(prior.k * prior.variance / spread))


@dataclass(frozen=True)
class _Tilted:
    centre: Floats
    variance: float  # of the sum
    log_total: float


def _tilted(cells: _Cells, plain: Floats, at: Floats, tilt: float) -> _Tilted:
    """Means when each frequency t counts exp(−tilt·(t − 1/k)) times as much."""
    logs = plain - tilt * (at - 1 / cells.times.sum())
    top = logs.max(axis=1, keepdims=True)
    weights = np.exp(logs - top)
    total = weights.sum(axis=1)
    centre = (weights * at).sum(axis=1) / total
    variances = (weights * (at - centre[:, None]) ** 2).sum(axis=1) / total
    return _Tilted(centre, float(cells.times @ variances), float(cells.times @ (top[:, 0] + np.log(total))))
