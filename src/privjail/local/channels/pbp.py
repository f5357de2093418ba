"""Parameter Blending Privacy: what hiding the parameter adds, exactly.

Claim: ``strengths`` returns

    E(θ) = max over d, d′, o of min over θ′ of |log( Pr(θ)·P_θ[o|d] / (Pr(θ′)·P_θ′[o|d′]) )|

as the exact ratio e^E, and beside it two other ratios: of plain local differential privacy, which is
what remains once θ is known, and of the blend Σ_θ Pr(θ)·P_θ, which bounds how far a collector who
knows the mix can move her odds between two answers. E can lie below the blend's: it compares single
parameters, not their sum. A probability of 0 counts against us, docs/decisions/0201-zero-probabilities.md.
Source: the paper's definition 3 and equation (4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from privjail.errors import PlanError, RefusedError
from privjail.local.channels.channel import Channel
from privjail.local.channels.exact import Rational, fraction, log_up

Mix = Mapping[str, Rational]


@dataclass(frozen=True)
class Strength:
    """What one parameter gives: E while θ is hidden, plain ε once it is known, and the blend's own ε."""

    theta: str
    share: Fraction
    hidden_ratio: Fraction | None
    public_ratio: Fraction | None
    blend_ratio: Fraction | None
    any_choice_ratio: Fraction | None = None

    @property
    def hidden(self) -> float:
        """E(θ), rounded up."""
        return log_up(self.hidden_ratio)

    @property
    def public(self) -> float:
        """ε of local differential privacy, rounded up: what a collector who learns θ is held to."""
        return log_up(self.public_ratio)

    @property
    def blend(self) -> float:
        """ε of the blended law, rounded up: the odds that a collector who knows only the mix can gain."""
        return log_up(self.blend_ratio)

    @property
    def any_choice(self) -> float:
        """ε that holds even if the choice of θ depends on the answer, in whatever way; rounded up."""
        return log_up(self.any_choice_ratio)

    def __str__(self) -> str:
        return f"{self.theta}: E = {self.hidden:.6f} while hidden, ε = {self.public:.6f} once known"


def shares(mix: Mix, thetas: Mapping[str, object]) -> dict[str, Fraction]:
    """A public mix as fractions that are above 0, add up to 1 and name exactly these parameters."""
    if set(mix) != set(thetas):
        raise PlanError("the mix must give one share for each parameter on the menu")
    exact = {theta: fraction(mix[theta], "a share") for theta in thetas}
    if any(s <= 0 for s in exact.values()) or sum(exact.values()) != 1:
        raise PlanError("shares must be above 0 and add up to exactly 1", do='write thirds as "1/3"')
    return exact


def check_shape(menu: Mapping[str, Channel]) -> None:
    """Refuse to hide channels among each other whose reports look different."""
    if len({channel.shape for channel in menu.values()}) != 1:
        raise RefusedError(
            "these channels cannot hide each other: a report shows by its form which one made it",
            do="give all parameters the same kind of channel, domain, cells and window; or make them public",
        )


def strengths(menu: Mapping[str, Channel], mix: Mix, ballot: Channel | None = None) -> dict[str, Strength]:
    """E(θ) and the plain ε of every parameter on the menu, exactly.

    With a ballot (θ itself, randomised, sent beside the report) a collector who sees ballot r has the mix
    Pr(θ | r) ∝ Pr(θ)·K[r|θ] for this person. So E is the largest over r of E at that mix, and so is the blend's ε.
    """
    check_shape(menu)
    exact = shares(mix, menu)
    found = [_strengths(menu, seen) for seen in _mixes_seen(exact, ballot)]
    whole = any_choice_ratio(menu, ballot)
    worst = found[0]
    for other in found[1:]:
        worst = {t: (_larger(worst[t][0], other[t][0]), _larger(worst[t][1], other[t][1])) for t in menu}
    return {t: Strength(t, exact[t], worst[t][0], menu[t].ratio, worst[t][1], whole) for t in menu}


def any_choice_ratio(menu: Mapping[str, Channel], ballot: Channel | None = None) -> Fraction | None:
    """The largest P[o, r | d] / P[o, r | d′] when θ may depend on the answer in any way.

    P[o, r | d] = Σ_θ Pr(θ|d)·K[r|θ]·P_θ[o|d] is a mean of the terms, so it lies between the smallest and the largest.
    """
    names = list(menu)
    worst: Fraction | None = Fraction(1)
    for output, inputs in menu[names[0]].extremes(tuple(menu.values())):
        for r in range(len(names)) if ballot is not None else (0,):
            factor = [ballot.law(r, t) if ballot is not None else Fraction(1) for t in range(len(names))]
            chances = [factor[t] * menu[name].law(output, d) for t, name in enumerate(names) for d in inputs]
            worst = _larger(worst, _apart(max(chances), min(chances)))
    return worst


def _mixes_seen(mix: Mapping[str, Fraction], ballot: Channel | None) -> list[dict[str, Fraction]]:
    """What a collector knows of one person's θ: the mix, or the mix given her ballot."""
    if ballot is None:
        return [dict(mix)]
    seen = []
    for r in range(len(mix)):
        joint = {theta: share * ballot.law(r, i) for i, (theta, share) in enumerate(mix.items())}
        total = sum(joint.values())
        seen.append({theta: weight / total for theta, weight in joint.items()})
    return seen


Ratios = tuple[Fraction | None, Fraction | None]


def _strengths(menu: Mapping[str, Channel], exact: Mapping[str, Fraction]) -> dict[str, Ratios]:
    """e^E of each parameter, and the blend's ratio."""
    worst: dict[str, Fraction | None] = dict.fromkeys(menu, Fraction(1))
    blend: Fraction | None = Fraction(1)
    for output, inputs in next(iter(menu.values())).patterns(tuple(menu.values()), tuple(exact.values())):
        # weights[d][θ] = Pr(θ)·P_θ[o|d]; equal rows need to be looked at once only.
        weights = {tuple(exact[t] * menu[t].law(output, d) for t in menu) for d in inputs}
        for column, theta in enumerate(menu):
            worst[theta] = _larger(worst[theta], _loss(column, weights))
        sums = [sum(row) for row in weights]
        blend = _larger(blend, _apart(max(sums), min(sums)))
    return {t: (worst[t], blend) for t in menu}


def _loss(column: int, weights: set[tuple[Fraction, ...]]) -> Fraction | None:
    """The worst over inputs d and d′ of the best cover θ′, as a ratio; None if there is no bound."""
    worst: Fraction | None = Fraction(1)
    for mine in {row[column] for row in weights}:
        for others in weights:
            covers = [ratio for other in others if (ratio := _apart(mine, other)) is not None]
            worst = _larger(worst, min(covers, default=None))
    return worst


def _apart(a: Fraction | int, b: Fraction | int) -> Fraction | None:
    """e^|log(a/b)|: 1 if both are impossible, None if only one is."""
    if a == b:
        return Fraction(1)
    return None if a == 0 or b == 0 else max(Fraction(a) / b, Fraction(b) / a)


def _larger(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else max(a, b)
