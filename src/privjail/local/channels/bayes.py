"""What a collector believes after one report: the reading of E by Bayes' rule (the paper's equation 6).

Claim: for every prior on the answers that is independent of θ, every report o, answers d and d′ and every θ, there is
a θ′ with |log Pr(d, θ | o)/Pr(d′, θ′ | o) − log Pr(d)/Pr(d′)| ≤ E(θ). ``shift`` is the smallest such number, exactly.
Note what it does not say: the odds of d against d′ themselves, Pr(d | o)/Pr(d′ | o), move by up to the blend's ε.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from privjail.errors import PlanError
from privjail.local.channels.channel import Channel
from privjail.local.channels.exact import Rational, log_up, probability
from privjail.local.channels.pbp import Mix, shares


@dataclass(frozen=True)
class Belief:
    """The posterior over (answer, θ) after one report."""

    prior: tuple[Fraction, ...]
    thetas: tuple[str, ...]
    joint: tuple[tuple[Fraction, ...], ...]  # joint[d][θ] = Pr(d, θ | o)

    def answer(self, d: int) -> Fraction:
        """Pr(d | o)."""
        return sum(self.joint[d], Fraction(0))

    def shift_ratio(self, theta: str) -> Fraction | None:
        """The largest over d, d′ of the smallest over θ′ of how far the odds moved, as e^shift."""
        t, worst = self.thetas.index(theta), Fraction(1)
        for d, mine in enumerate(self.joint):
            for e, others in enumerate(self.joint):
                before = self.prior[d] / self.prior[e]
                moved = [max(odds, 1 / odds) for other in others if other and (odds := mine[t] / other / before)]
                if not moved and any(others):
                    return None
                worst = max(worst, min(moved, default=Fraction(1)))
        return worst

    def shift(self, theta: str) -> float:
        """The left side of equation (6) for this report, rounded up; at most E(θ)."""
        return log_up(self.shift_ratio(theta))


def belief(menu: Mapping[str, Channel], mix: Mix, prior: Sequence[Rational], output: int) -> Belief:
    """By Bayes' rule, Pr(d, θ | o) ∝ Pr(d)·Pr(θ)·P_θ[o | d]."""
    exact = shares(mix, menu)
    before = tuple(probability(p, "a prior") for p in prior)
    size = next(iter(menu.values())).domain.size
    if len(before) != size or sum(before) != 1 or min(before) == 0:
        raise PlanError("a prior gives each answer a chance above 0, and they add up to 1", do='e.g. ["1/3", "2/3"]')
    weights = [[before[d] * exact[t] * menu[t].law(output, d) for t in menu] for d in range(size)]
    total = sum((sum(row, Fraction(0)) for row in weights), Fraction(0))
    if total == 0:
        raise PlanError("nobody can send this report", do="give one of the channel's outputs")
    return Belief(before, tuple(menu), tuple(tuple(w / total for w in row) for row in weights))
