"""Power: how many people a survey needs to notice a difference.

Claim: with ``people_needed`` respondents (in each group) a two-sided test of level 1 − ``level`` on the unbiased
frequency notices the difference with about the wanted chance: n = ((z_a·√V₀ + z_b·√V₁) / difference)², V the variance
that one report gives to the frequency when nothing is special (0) and when the difference is real (1).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from statistics import NormalDist

import numpy as np

from privjail.errors import PlanError
from privjail.local.planning.accuracy import one_report_variances
from privjail.local.survey.survey import Survey


@dataclass(frozen=True)
class Question:
    """Which difference shall be noticed, and how surely."""

    answer: str
    frequency: float
    difference: float
    groups: int = 1  # 1: against a known frequency; 2: between two groups of the same size
    chance: float = 0.8
    level: float = 0.95

    def __post_init__(self) -> None:
        there = self.frequency + self.difference
        if not (0 <= self.frequency <= 1 and 0 <= there <= 1) or self.difference == 0 or self.groups not in (1, 2):
            raise PlanError("both frequencies must lie between 0 and 1 and differ, in 1 or 2 groups", do="0.3 and 0.05")
        if not (0 < self.chance < 1 and 0 < self.level < 1):
            raise PlanError("chance and level must lie between 0 and 1", do="use 0.8 and 0.95")


def people_needed(survey: Survey | None, asked: Question) -> int:
    """Respondents, or respondents in each group; without a survey: if everybody told the truth openly."""
    plain, special = (_variance(survey, asked, f) for f in (asked.frequency, asked.frequency + asked.difference))
    false_alarm, notice = NormalDist().inv_cdf((1 + asked.level) / 2), NormalDist().inv_cdf(asked.chance)
    if asked.groups == 2:
        # If nothing is special both groups have the frequency in the middle.
        middle = _variance(survey, asked, asked.frequency + asked.difference / 2)
        reach = false_alarm * (2 * middle) ** 0.5 + notice * (plain + special) ** 0.5
    else:
        reach = false_alarm * plain**0.5 + notice * special**0.5
    return int(ceil((reach / asked.difference) ** 2))


def _variance(survey: Survey | None, asked: Question, frequency: float) -> float:
    if survey is None:
        return frequency * (1 - frequency)
    place = survey.domain.index(asked.answer)
    # One answer's variance does not depend on how the others share the rest, for support channels; else evenly.
    truth = np.full(survey.domain.size, (1 - frequency) / (survey.domain.size - 1))
    truth[place] = frequency
    return float(one_report_variances(survey, truth)[place])
