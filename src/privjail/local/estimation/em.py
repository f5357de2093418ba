"""Maximum likelihood by expectation–maximisation, with a proof of how close it came.

Claim: the returned frequencies have a log likelihood within ``slack`` per answer of the largest.
Why: the log likelihood ℓ is concave in π and its gradient g satisfies Σ π_d g_d = n. For every π′,
ℓ(π′) − ℓ(π) ≤ Σ π′_d g_d − n ≤ max_d g_d − n. The loop ends only when that bound is small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from privjail.errors import PlanError
from privjail.local.channels.channel import Floats
from privjail.local.estimation.likelihood import Likelihood
from privjail.simplex import nearest_on_simplex

SLACK = 0.002  # log likelihood for each answer; sampling error alone moves it by about ½ for each


@dataclass(frozen=True)
class Fit:
    frequencies: Floats
    gap: float  # no frequencies have a log likelihood larger by more than this
    steps: int


def maximise(
    parts: Sequence[Likelihood],
    size: int,
    *,
    slack: float = SLACK,
    limit: int = 3000,
    start: Floats | None = None,
    progress: Callable[[float], None] | None = None,
) -> Fit:
    """The most likely frequencies of ``size`` answers, from all parts together."""
    now = np.full(size, 1 / size) if start is None else start
    value, slope = _score(parts, now)
    total = float(sum(part.seen.sum() for part in parts))
    bend: Floats | None = None
    for step in range(limit):
        gap = float(slope.max() - total)
        if progress is not None:
            progress(gap)
        if gap <= slack * size:
            return Fit(now, gap, step)
        before = gap
        bend = sum((part.bend(now) for part in parts), np.zeros(())) if bend is None else bend
        now, value, slope = _bend(parts, now, value, slope, bend)
        gap = float(slope.max() - total)
        if gap <= before / 2:
            continue
        bend = None  # it changes slowly; where it no longer helps it is computed anew
        rarest = int(slope.argmax())
        if now[rarest] * size < 0.5 or step % 4 == 3:  # where EM, which multiplies, is slow
            now = _revive(parts, now, rarest)
            value, slope = _score(parts, now)
        now, value, slope = _leap(parts, now, value, slope, total)
    raise PlanError(
        f"maximum likelihood is still {gap:.3g} from the optimum after {limit} steps",
        do='use method="unbiased", or allow a larger slack',
    )


def _score(parts: Sequence[Likelihood], frequencies: Floats) -> tuple[float, Floats]:
    """Log likelihood and its gradient."""
    value, slope = 0.0, np.zeros(len(frequencies))
    for part in parts:
        chance = part.forward(frequencies)
        if part.seen.min() == 0:  # a report that was never seen has weight 0, whatever its chance
            chance[part.seen == 0] = 1
        with np.errstate(divide="ignore", invalid="ignore"):  # frequencies that cannot explain a report: −∞
            value += float(part.seen @ np.log(chance))
            slope = slope + part.adjoint(part.seen / chance)
    return value, slope


def _bend(
    parts: Sequence[Likelihood], start: Floats, value: float, slope: Floats, bend: Floats
) -> tuple[Floats, float, Floats]:
    """To the top of a parabola with the same slope and nearly the same bend, if that is higher than here.

    EM takes small steps where reports say little, because it multiplies by how often an answer explains
    them. The parabola's step does not; for k-ary response it is Newton's.
    """
    there = _top(start, slope, np.maximum(bend, 1e-6 * bend.mean()))
    for _ in range(3):
        found, after = _score(parts, there)
        if found > value:
            return there, found, after
        there = (start + there) / 2
    return start, value, slope


def _top(start: Floats, slope: Floats, bend: Floats) -> Floats:
    """max(0, start + (slope − λ)/bend), with the λ that makes them add up to 1: a projection in units of 1/bend."""
    there = nearest_on_simplex(start + slope / bend, 1.0, 1 / bend)
    return np.asarray(there / there.sum(), dtype=np.float64)


def _leap(
    parts: Sequence[Likelihood], start: Floats, value: float, slope: Floats, total: float
) -> tuple[Floats, float, Floats]:
    """Two EM steps and one extrapolation along them (SQUAREM), kept only if it is no worse.

    Source: Dempster, Laird, Rubin 1977; Varadhan, Roland 2008.
    """
    once = start * slope / total
    once_value, once_slope = _score(parts, once)
    twice = once * once_slope / total
    first, bend = once - start, twice - 2 * once + start
    size = float(np.linalg.norm(bend))
    if size > 0:
        stride = float(np.linalg.norm(first)) / size
        far = np.maximum(start + 2 * stride * first + stride**2 * bend, twice * 0.1)
        far /= far.sum()
        far_value, far_slope = _score(parts, far)
        if far_value >= once_value:
            return far, far_value, far_slope
    return twice, *_score(parts, twice)


def _revive(parts: Sequence[Likelihood], now: Floats, answer: int) -> Floats:
    """The best point on the way from here to a population that gives only this answer.

    EM multiplies, so an answer that came close to 0 would need thousands of steps to come back.
    """
    corner = np.zeros_like(now)
    corner[answer] = 1.0
    here = np.concatenate([part.forward(now)[part.seen > 0] for part in parts])
    there = np.concatenate([part.forward(corner)[part.seen > 0] for part in parts])
    seen = np.concatenate([part.seen[part.seen > 0] for part in parts])
    grows = (there - here) / here  # how fast each report's probability grows along the way
    low, high, middle = 0.0, 1.0, 0.0
    for _ in range(8):  # the slope along the way falls: Newton's step, or half of what is left
        share = grows / (1 + middle * grows)
        slope = float(seen @ share)
        low, high = (middle, high) if slope > 0 else (low, middle)
        after = middle + slope / float(seen @ share**2)
        if abs(after - middle) < 1e-3 * middle:
            break
        middle = after if low < after < high else (low + high) / 2
    return (1 - low) * now + low * corner
