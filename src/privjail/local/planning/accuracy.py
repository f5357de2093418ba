"""How far off an estimate will be, before anybody is asked.

Claim: ``expected_error`` is the mean over the answers of the variance of ``estimate.unbiased`` when n
people, drawn from a population with these frequencies, answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from privjail.errors import PlanError
from privjail.local.channels.channel import Floats, SupportChannel
from privjail.local.estimation.likelihood import Group
from privjail.local.survey.survey import Survey

_NOBODY = np.zeros(0, dtype=np.int64)


def expected_error(survey: Survey, n: int, frequencies: Sequence[float] | Floats | None = None) -> float:
    """Mean squared error of one frequency; of equally frequent answers if none are given."""
    k = survey.domain.size
    truth = np.full(k, 1 / k) if frequencies is None else np.asarray(frequencies, dtype=np.float64)
    if n < 1 or truth.shape != (k,) or abs(truth.sum() - 1) > 1e-9 or (truth < 0).any():
        raise PlanError(
            "an expected error needs n ≥ 1 and one frequency for each answer, adding up to 1",
            do="say how many people will answer",
        )
    return float(one_report_variances(survey, truth).mean()) / n


def one_report_variances(survey: Survey, truth: Floats) -> Floats:
    """The variance of each unbiased frequency, times the number of reports."""
    even = np.full(survey.domain.size, 1 / survey.domain.size)
    if survey.hidden:
        blend = Group(tuple(survey.menu.values()), tuple(survey.mix[t] for t in survey.menu), _NOBODY)
        return _variances(blend, truth)
    groups = [Group((channel,), (Fraction(1),), _NOBODY) for channel in survey.menu.values()]
    people = np.array([float(share) for share in survey.mix.values()])
    weights = people / np.array([_variances(group, even).mean() for group in groups])
    weights /= weights.sum()
    parts = [_variances(group, truth) for group in groups]
    return sum((w**2 * v / m for w, v, m in zip(weights, parts, people, strict=True)), np.zeros(()))


def _variances(group: Group, truth: Floats) -> Floats:
    """The variance that one report adds to each answer's frequency."""
    if isinstance(group.channel, SupportChannel):
        p, q = (float(rate) for rate in group.rates())
        seen = q + (p - q) * truth
        return np.asarray(seen * (1 - seen) / (p - q) ** 2, dtype=np.float64)
    law = group.table()
    inverse = np.linalg.pinv(law)
    seen = law @ truth
    return np.asarray(inverse**2 @ seen - (inverse @ seen) ** 2, dtype=np.float64)
