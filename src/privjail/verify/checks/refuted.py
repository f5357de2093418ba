"""Wrong claims that laws or samples refute: the broken variants, wrong Gaussian noise, a borrowed ρ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import log, sqrt
from typing import Any

from privjail.verify.checks.blackbox import Bound, lower_bound
from privjail.verify.checks.broken import BROKEN, Broken
from privjail.verify.checks.row import Row, Watch, share_of
from privjail.verify.laws import closed_forms
from privjail.verify.laws.law import hockey_stick, ratio


@dataclass(frozen=True)
class Refutation:
    """What each checker said of one wrong claim; None: it was not asked."""

    name: str
    wrong: str
    exact: bool | None
    exact_found: str
    statistical: bool | None
    statistical_found: str


def exactly(broken: Broken) -> tuple[bool, str]:
    """Whether the exact law refutes the claim, and what it found."""
    if broken.law is None:
        raise TypeError(f"{broken.name} has no law")
    left, right = (broken.law(data) for data in broken.pair)
    delta = max(hockey_stick(left, right, broken.factor), hockey_stick(right, left, broken.factor))
    ratios = ratio(left, right), ratio(right, left)
    most = None if None in ratios else max(ratios)  # type: ignore[type-var]
    found = f"ε = {share_of(most, broken.factor):.2f} × claimed" if most is not None else "ε = ∞"
    return delta > broken.delta, f"{found}; δ = {float(delta):.3g}"


def statistically(broken: Broken, samples: int | None = None) -> Bound:
    """What the black-box auditor says, knowing nothing but the outputs."""
    if broken.draw is None:
        raise TypeError(f"{broken.name} cannot be drawn")
    return lower_bound(
        broken.draw,
        *broken.pair,
        samples=samples or broken.samples,
        delta=broken.sampled_delta,
        claimed=broken.epsilon,
        many=True,
    )


def variants(watch: Watch) -> list[Refutation]:
    """Both checkers on every broken variant."""
    found = []
    for broken in BROKEN:
        exact, shown = exactly(broken) if broken.law else (None, "no law: outputs are floats")
        bound = statistically(broken)
        seen = f"ε ≥ {bound.epsilon:.2f}, claimed {broken.epsilon:g} ({bound.event})"
        found.append(Refutation(broken.name, broken.wrong, exact, shown, bound.epsilon > broken.epsilon, seen))
        watch()
    return [*found, textbook_gaussian(), narrow_gaussian(), flip_with_rho()]


def textbook_gaussian() -> Refutation:
    """σ = √(2 ln(1.25/δ))/ε at ε = 10 (V-14)."""
    from privjail.verify.laws.intervals import ball, gaussian_delta, lower, precision

    delta = Fraction(1, 10**5)
    sigma = Fraction(sqrt(2 * log(1.25e5)) / 10)
    with precision():
        found = gaussian_delta(sigma, Fraction(10))
        name, wrong = "Gaussian by the textbook formula at ε = 10", "it holds for ε < 1 only (V-14)"
        return Refutation(
            name, wrong, bool(found > ball(delta)), f"δ ≥ {lower(found):.3g}, claimed 1e-05", None, "δ too small to see"
        )


def narrow_gaussian() -> Refutation:
    """Discrete Gaussian noise with σ 30 % too small, for ρ = ½."""
    from privjail.verify.laws.intervals import ball, discrete_gaussian_renyi, lower, precision

    with precision():
        found = discrete_gaussian_renyi(Fraction(7), 10, Fraction(2)) / 2
        name, wrong = "Gaussian, σ 30 % too small for its ρ", "ρ doubles"
        return Refutation(
            name, wrong, bool(found > ball(Fraction(1, 2))), f"ρ ≥ {lower(found):.3g}, claimed 0.5", None, "—"
        )


SCORES = (3, 0, 0), (-1, 4, 4)  # a pair at distance 4 in every element
SCALE, GAMMA = 4.0, Fraction(1, 4)


def opendp_noisy_max(measure: str) -> Any:
    """OpenDP's noisy max, as its users build it: ``measure`` is max_divergence or zero_concentrated_divergence."""
    from opendp import domains, measurements, measures, metrics, mod, typing

    mod.enable_features("contrib")
    space = domains.vector_domain(domains.atom_domain(T=typing.i64)), metrics.linf_distance(T=typing.i64)
    return measurements.make_noisy_max(*space, getattr(measures, measure)(), scale=SCALE)


def laws_followed(measurement: Any, draws: int = 3000) -> set[str]:
    """Which of the two laws its draws look like, on both inputs, by χ²."""
    from privjail.verify.checks.fit import fits
    from privjail.verify.laws.intervals import ball_decay, precision

    known: dict[str, Callable[..., Any]] = {
        "Gumbel": closed_forms.exponential,
        "permute and flip": closed_forms.permute_and_flip,
    }
    left = set(known)
    for data in SCORES:
        drawn = [measurement(list(data)) for _ in range(draws)]
        counts = [drawn.count(i) for i in range(3)]
        with precision():
            left = {n for n in left if fits(counts, [float(p) for p in known[n](data, GAMMA, ball_decay).values()])}
    return left


@cache
def holds_rho(law: Callable[..., Any], rho: Fraction) -> tuple[bool | None, Any]:
    """Whether a law keeps ρ at this pair (True), breaks it for certain (False) or neither; and its D₂."""
    from privjail.verify.laws.intervals import ball_decay, precision, renyi, zcdp

    with precision():
        left, right = (law(data, GAMMA, ball_decay) for data in SCORES)
        both = [zcdp(left, right, rho, Fraction(2)), zcdp(right, left, rho, Fraction(2))]
        divergence = max(
            (renyi(left, right, Fraction(2)), renyi(right, left, Fraction(2))), key=lambda b: float(b.mid())
        )
    if any(v.refuted_at is not None for v in both):
        return False, divergence
    return (True if all(v.certified for v in both) else None), divergence


def flip_with_rho() -> Refutation:
    """Permute and flip sold with the exponential mechanism's ρ = ε²/8: the claim of OpenDP's issue 2911 (V-12)."""
    from privjail.verify.laws.intervals import lower

    rho = Fraction(opendp_noisy_max("zero_concentrated_divergence").map(4))
    kept, divergence = holds_rho(closed_forms.permute_and_flip, rho)
    shown = f"D₂ ≥ {lower(divergence):.4g}, claimed 2ρ = {float(2 * rho):g}"
    name, wrong = "permute and flip with ρ = ε²/8", "ρ of another mechanism (V-12)"
    return Refutation(name, wrong, kept is False, shown, None, "—")


def opendp_row(fast: bool, watch: Watch) -> list[Row]:
    """What OpenDP's noisy max really runs under zCDP, and whether its ρ is true of that."""
    measurement = opendp_noisy_max("zero_concentrated_divergence")
    rho = Fraction(measurement.map(4))
    runs = laws_followed(measurement)
    kept, _ = holds_rho(closed_forms.exponential, rho)
    watch()
    how = f"draws by χ²: {', '.join(runs) or 'neither law'} of Gumbel, permute and flip"
    how += "; ρ of that law at every order, in intervals"
    inputs = f"{SCORES[0]} against {SCORES[1]}"
    holds = runs == {"Gumbel"} and kept is True
    return [
        Row("OpenDP's make_noisy_max under zCDP", "ε²/8-zCDP", inputs, how, holds, f"ρ = {float(rho):g}", ours=False)
    ]


CHECKS = {"OpenDP's noisy max": opendp_row}
