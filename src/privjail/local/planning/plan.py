"""Which channels to offer: the most accurate ones at wanted strengths, for a given public mix.

Claim: ``plan_kary`` finds, among all menus of k-ary response, and ``plan_binary`` among all menus of
channels with two inputs and two outputs, one whose hidden strengths E(θ) are at most the wanted ones
and whose blend is the most accurate. Unless told otherwise, the plain ε of each is at most the wanted one, too:
what is promised then holds even for people whose choice becomes known. docs/local-planning.md derives both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from privjail.errors import BudgetError, PlanError
from privjail.local.channels.channel import Channel
from privjail.local.channels.domain import Categories
from privjail.local.channels.exact import Rational, fraction, log_up, ratio_below
from privjail.local.channels.kary import KaryResponse
from privjail.local.channels.pbp import Mix, shares
from privjail.local.channels.table import Table
from privjail.local.channels.unary import Unary
from privjail.local.planning.accuracy import expected_error
from privjail.local.planning.cover import Affine, Pattern, best_cover
from privjail.local.survey.survey import Survey

LARGEST_MENU = 4


@dataclass(frozen=True)
class Plan:
    """Two surveys of the same strengths: θ hidden, and θ public. Compare them before asking anyone."""

    hidden: Survey
    public: Survey
    wanted: Mapping[str, Fraction]  # e^E for each parameter
    plain_may_rise: bool = False

    def errors(self, n: int, frequencies: list[float] | None = None) -> tuple[float, float]:
        """Expected squared error with hidden and with public parameters."""
        return expected_error(self.hidden, n, frequencies), expected_error(self.public, n, frequencies)

    @property
    def gain(self) -> float:
        """Error with public over error with hidden parameters: above 1, hiding pays."""
        hidden, public = self.errors(1)
        return public / hidden

    @property
    def better(self) -> Survey:
        """The more accurate of the two."""
        return self.hidden if self.gain > 1 else self.public

    def words(self) -> str:
        """What the plan recommends, what it gives and what it costs, for somebody who does not know E."""
        lines = [
            f"{'Hide' if self.gain > 1 else 'Publish'} the parameters: the squared error with public parameters is "
            f"{self.gain:.3f} times that with hidden ones."
        ]
        hidden, rises = self.hidden.strengths(), []
        for s in hidden:
            wanted = log_up(self.wanted[s.theta])
            if s.public > wanted + 1e-6:
                rises.append(
                    f"If hidden and the choice of {s.theta!r} becomes known: plain ε is {s.public:.2f} instead of the "
                    f"wanted {wanted:.2f}."
                )
        if rises:
            return "\n".join([*lines, *rises, "Tell people before they answer, or plan without letting it rise."])
        lines.append("The plain ε is as wanted either way, also for people whose choice becomes known.")
        lines += [
            f"While the choice of {s.theta!r} is secret, hiding lowers its E from {s.public:.2f} to {s.hidden:.2f}."
            for s in hidden
            if s.hidden < s.public - 1e-6
        ]
        return "\n".join(lines)


def wanted_ratios(
    mix: Mix, epsilons: Mapping[str, Rational] | None = None, ratios: Mapping[str, Rational] | None = None
) -> dict[str, Fraction]:
    """The wanted e^E of each parameter, from ε or given exactly."""
    if (epsilons is None) == (ratios is None):
        raise PlanError("say how strong each parameter shall be: either epsilons or ratios")
    if ratios is not None:
        exact = {t: fraction(r, "a ratio") for t, r in ratios.items()}
    else:
        exact = {t: ratio_below(e) for t, e in (epsilons or {}).items()}
    if set(exact) != set(mix):
        raise PlanError("give one strength for each parameter of the mix")
    if any(r <= 1 for r in exact.values()):
        raise BudgetError("a ratio e^E must be above 1: at 1 the reports say nothing")
    if len(exact) > LARGEST_MENU:
        raise PlanError(f"planning takes at most {LARGEST_MENU} parameters", do="merge similar ones")
    return exact


@dataclass(frozen=True)
class Asked:
    """What a plan is for: exact shares of the parameters, and the wanted e^E of each."""

    domain: Categories
    question: str
    mix: dict[str, Fraction]
    wanted: dict[str, Fraction]
    plain_may_rise: bool = False

    def limits(self) -> tuple[list[Fraction], list[Fraction] | None]:
        """The ratios that E must keep, and those that plain ε must keep."""
        wanted = [self.wanted[name] for name in self.mix]
        return wanted, None if self.plain_may_rise else wanted


class Planner(Protocol):
    """Strengths are wanted as ``epsilons``, or exactly as ``ratios`` e^E.

    They bound E, and also the plain ε that holds once θ is known, unless ``plain_may_rise``.
    """

    def __call__(
        self,
        domain: Categories,
        mix: Mix,
        epsilons: Mapping[str, Rational] | None = None,
        *,
        ratios: Mapping[str, Rational] | None = None,
        question: str = "",
        plain_may_rise: bool = False,
        **options: int,
    ) -> Plan: ...


def _planner(best: Callable[..., Plan]) -> Planner:
    """The one way to ask, for every family of channels."""

    def plan(
        domain: Categories,
        mix: Mix,
        epsilons: Mapping[str, Rational] | None = None,
        *,
        ratios: Mapping[str, Rational] | None = None,
        question: str = "",
        plain_may_rise: bool = False,
        **options: int,
    ) -> Plan:
        wanted = wanted_ratios(mix, epsilons, ratios)
        return best(Asked(domain, question, shares(mix, wanted), wanted, plain_may_rise), **options)

    plan.__name__, plan.__qualname__, plan.__doc__ = best.__name__, best.__qualname__, best.__doc__
    return plan


@_planner
def plan_kary(asked: Asked) -> Plan:
    """The best menu of k-ary responses. The blend's error falls as its chance of the truth grows."""
    truths = _two_levels(asked, Fraction(1), Fraction(1, asked.domain.size - 1))
    return _beside_public(asked, {t: KaryResponse(asked.domain, p) for t, p in truths.items()})


@_planner
def plan_binary(asked: Asked) -> Plan:
    """The best menu of channels with two outputs for a yes/no question, symmetric or not.

    The blend's worst error over all populations is 1/(4n·(ā + b̄ − 1)²), ā and b̄ its chances of the
    truth for either answer, so ā + b̄ is made as large as the strengths allow.
    """
    if asked.domain.size != 2:
        raise PlanError("this plan is for questions with two answers", do="use plan_kary")
    names, n = list(asked.mix), 2 * len(asked.mix)
    patterns: list[Pattern] = []
    for output in (0, 1):
        zero, one = (
            # x[2t + d] is θ_t's chance of the truth for answer d.
            [Affine.variable(2 * t + d, n, flip=output != d).times(asked.mix[s]) for t, s in enumerate(names)]
            for d in (0, 1)
        )
        patterns.append((zero, one))
    goal = [asked.mix[name] for name in names for _ in (0, 1)]
    x = best_cover(goal, patterns, *asked.limits())
    hidden: dict[str, Channel] = {
        name: Table(asked.domain, ((x[2 * t], 1 - x[2 * t + 1]), (1 - x[2 * t], x[2 * t + 1])))
        for t, name in enumerate(names)
    }
    return _beside_public(asked, hidden)


@_planner
def plan_unary(asked: Asked, grid: int = 64) -> Plan:
    """The best menu of unary encodings that share their rate of false ones, over ``grid`` such rates.

    They must share it: otherwise the number of ones in a report tells θ, and with many answers
    hiding adds nothing (docs/local-planning.md).
    """
    best: tuple[float, Survey] | None = None
    for step in range(1, grid):
        no = Fraction(step, 2 * grid)
        truths = _two_levels(asked, 1 / no, 1 / (1 - no))
        if min(truths.values()) <= no:
            continue  # somebody would answer no better than at random
        survey = Survey(asked.question, {t: Unary(asked.domain, p, no) for t, p in truths.items()}, asked.mix)
        error = expected_error(survey, 1)
        if best is None or error < best[0]:
            best = (error, survey)
    if best is None:
        raise PlanError("no unary encoding reaches these strengths on this grid", do="raise grid")
    half, domain = Fraction(1, 2), asked.domain
    public: dict[str, Channel] = {t: Unary(domain, half, 1 / (r + 1)) for t, r in asked.wanted.items()}
    open_ = Survey(asked.question, public, asked.mix, hidden=False)
    return Plan(best[1], open_, asked.wanted, asked.plain_may_rise)


def _beside_public(asked: Asked, hidden: Mapping[str, Channel]) -> Plan:
    """This menu, and k-ary response of the same strengths with public parameters."""
    public = {t: KaryResponse.at(asked.domain, r) for t, r in asked.wanted.items()}
    open_ = Survey(asked.question, public, asked.mix, hidden=False)
    return Plan(Survey(asked.question, hidden, asked.mix), open_, asked.wanted, asked.plain_may_rise)


def _two_levels(asked: Asked, high: Fraction, low: Fraction) -> dict[str, Fraction]:
    """The chances x_θ with the largest Σ Pr(θ)·x_θ, when a report has probability high·x_θ if it
    supports the true answer and low·(1 − x_θ) if not (times what does not depend on θ)."""
    mix = asked.mix
    names, n = list(mix), len(mix)
    supported = [Affine.variable(t, n).times(high * mix[name]) for t, name in enumerate(names)]
    other = [Affine.variable(t, n, flip=True).times(low * mix[name]) for t, name in enumerate(names)]
    goal = [mix[name] for name in names]
    x = best_cover(goal, [(supported, other)], *asked.limits())
    return dict(zip(names, x, strict=True))
