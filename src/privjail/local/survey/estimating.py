"""From reports (and ballots) to an estimate: which mix is used, which method, and what is checked beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from privjail.errors import PlanError, RefusedError
from privjail.local.channels.channel import Reports, SupportChannel
from privjail.local.channels.entropy import Ints
from privjail.local.channels.exact import Rational, fraction
from privjail.local.channels.numeric import NumericChannel
from privjail.local.channels.pbp import Strength, strengths
from privjail.local.channels.unary import Unary
from privjail.local.estimation.estimate import Estimate, likely, unbiased
from privjail.local.estimation.findings import Finding, of_fit, of_mix, of_strength, unchecked
from privjail.local.estimation.joint import Linked, any_choice, as_finding, by_size, dependence, dependence_of_groups
from privjail.local.estimation.likelihood import Group
from privjail.local.estimation.mean import Mean, mean
from privjail.local.estimation.mixes import CollectedMix, corner_mixes
from privjail.local.estimation.smooth import smooth

if TYPE_CHECKING:
    from privjail.local.survey.survey import Survey

METHODS = ("smooth", "ml", "unbiased", "mean")


@dataclass(frozen=True)
class Asked:
    """How an estimate is wanted; ``Survey.estimate`` says what each means."""

    ballots: Ints | None = None
    mix: CollectedMix | None = None
    mix_within: Rational | None = None
    independent: bool = True
    method: str | None = None
    level: float = 0.95
    progress: Callable[[float], None] | None = None


def estimate(survey: Survey, reports: Reports, thetas: Sequence[str] | None, asked: Asked) -> Estimate | Mean:
    mix = _collected(survey, asked)
    groups = survey.groups(reports, thetas, mix)
    linked = None
    if asked.ballots is not None:
        assert survey.ballot is not None  # else _collected has refused
        linked = Linked(tuple(survey.menu.values()), survey.ballot, groups[0].reports, np.asarray(asked.ballots))
    result = _number(survey, groups, linked, asked)
    if asked.mix_within is not None:
        result = _widened(survey, reports, asked, result)
    strength, found = _strengths(survey, mix), _findings(survey, groups, linked, mix, asked, result)
    return replace(result, strengths=strength, findings=tuple(found), mix=mix)


def _collected(survey: Survey, asked: Asked) -> CollectedMix | None:
    if asked.ballots is None:
        if asked.mix is not None and (not survey.hidden or asked.mix.thetas != tuple(survey.menu)):
            raise PlanError("a collected mix is for hidden parameters of this menu", do="leave it out")
        return asked.mix
    if survey.ballot is None or asked.mix is not None:
        raise PlanError("this survey asks for no ballots, or its mix is given twice", do="give ballots or a mix")
    return CollectedMix.of_ballots(survey.ballot, np.asarray(asked.ballots))


def _number(survey: Survey, groups: list[Group], linked: Linked | None, asked: Asked) -> Estimate | Mean:
    method = asked.method
    if not asked.independent:
        return _any_choice(survey, groups, linked, asked)
    if method is None:
        method = "smooth" if all(isinstance(c, SupportChannel) for c in survey.menu.values()) else "ml"
    if method == "unbiased":
        return unbiased(groups, asked.level)
    if method == "ml":
        return likely(groups, asked.level, progress=asked.progress)
    if method == "smooth":
        return smooth(groups, asked.level, progress=asked.progress)
    if method == "mean":
        return mean(groups, asked.level)
    raise PlanError(f"there is no method {method!r}", do=f"use one of: {', '.join(METHODS)}")


def _any_choice(survey: Survey, groups: list[Group], linked: Linked | None, asked: Asked) -> Estimate:
    if asked.method not in (None, "unbiased") or isinstance(groups[0].channel, NumericChannel):
        raise PlanError("without independence frequencies are decoded linearly", do="leave the method out")
    if not survey.hidden:
        return by_size(groups, asked.level)
    if linked is None:
        raise RefusedError(
            "hidden parameters without ballots tell nothing about who chose which",
            do="add a ballot to the survey before it is run, or make its parameters public",
        )
    return any_choice(linked, asked.level)


def _widened(survey: Survey, reports: Reports, asked: Asked, result: Estimate | Mean) -> Estimate | Mean:
    """The interval that holds for every mix within the given distance of the stated one."""
    within = fraction(asked.mix_within or 0, "mix_within")
    if not survey.hidden or asked.ballots is not None or asked.mix is not None or not 0 < within < 1:
        raise PlanError("mix_within is for a stated mix of hidden parameters, between 0 and 1", do="leave it out")
    found = [result]
    for corner in corner_mixes(survey.mix, within):
        groups = replace(survey, mix=corner).groups(reports)
        found.append(mean(groups, asked.level) if isinstance(result, Mean) else unbiased(groups, asked.level))
    if isinstance(result, Mean):
        ends = [(e.lower, e.upper) for e in found if isinstance(e, Mean)]
        return replace(result, lower=min(low for low, _ in ends), upper=max(high for _, high in ends))
    low = np.min([e.lower for e in found if isinstance(e, Estimate)], axis=0)
    high = np.max([e.upper for e in found if isinstance(e, Estimate)], axis=0)
    return replace(result, lower=low, upper=high)


def _strengths(survey: Survey, mix: CollectedMix | None) -> tuple[Strength, ...]:
    """At the collected mix, if there is one: E depends on the true mix, not on the stated one."""
    if mix is None:
        return survey.strengths()
    return tuple(strengths(survey.menu, mix.fractions, survey.ballot).values())


def _findings(
    survey: Survey,
    groups: list[Group],
    linked: Linked | None,
    mix: CollectedMix | None,
    asked: Asked,
    result: Estimate | Mean,
) -> list[Finding]:
    found = of_fit(groups)
    if mix is not None:
        differs = of_mix(mix, survey.mix)
        found += differs
        if differs:
            found += of_strength(survey.strengths(), _strengths(survey, mix))
    elif survey.hidden and asked.mix_within is None and isinstance(result, Estimate) and not _shows_mix(survey):
        found.append(unchecked(groups[0], result.frequencies))
    if asked.independent and isinstance(result, Estimate):
        if linked is not None:
            found += as_finding(dependence(linked))
        elif not survey.hidden:
            found += as_finding(dependence_of_groups(groups))
    return found


def _shows_mix(survey: Survey) -> bool:
    """Whether reports alone speak against a wrong mix: a menu of one has none, and numbers of ones tell θ."""
    laws = {(c.yes, c.no) if isinstance(c, Unary) else None for c in survey.menu.values()}
    return len(survey.menu) == 1 or (None not in laws and len(laws) > 1)
