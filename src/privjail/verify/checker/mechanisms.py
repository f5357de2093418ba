"""Mechanisms: how much noise each must have at least, and what a release costs in each notion of privacy.

The sensitivity Δ here is the one that the certificate states for its noise; it was found to be large enough before.
Laplace, noisy max and above threshold add whole steps of a grid. If that is the value's own grid, a change by at most Δ
is a change by at most floor(Δ/grid) steps. If it is a coarser one (a multiple of the value's own), the value is
rounded to it first, which adds at most one step to the change of each element.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from math import erfc, exp, floor, inf, sqrt
from typing import Any

from privjail.verify.checker.distances import ZERO, largest
from privjail.verify.checker.numbers import Numbers
from privjail.verify.checker.reading import number, whole_number
from privjail.verify.checker.verdict import CannotCheck, Refuted

# The norm in which each mechanism needs the sensitivity.
NORMS = {"laplace": "l1", "gaussian": "l2", "exponential": "linf", "noisy_max": "linf", "above_threshold": "linf",
         "private_keys": "l1"}  # fmt: skip

PARAMETERS = {"gaussian": [{"epsilon", "delta"}, {"rho"}], "private_keys": [{"epsilon", "delta"}]}  # others: ε alone

GAUSSIAN_STEPS = 2.0**40  # Gaussian noise is drawn on a grid of at most σ / 2**40
# What is computed here with rounding may be off by this much (relatively), in the certificate's favour.
FLOAT_ERROR = 1e-9  # of the δ of a Gaussian
DECIMAL_ERROR = Fraction(1, 10**12)  # of a Rényi divergence


@dataclass(frozen=True)
class Mechanism:
    """A mechanism and its privacy parameters; those that it does not have are 0."""

    kind: str
    epsilon: Fraction
    delta: Fraction
    rho: Fraction
    k: int  # of noisy max: how many positions are released

    @property
    def is_pure(self) -> bool:
        """Whether it is ε-differentially private."""
        return self.kind not in ("gaussian", "private_keys")


@dataclass(frozen=True)
class Noise:
    """The stated noise, for a value of this size and grid that can move this far."""

    stated: dict[str, Fraction]
    value: Numbers
    sensitivity: Fraction

    @property
    def coarsening(self) -> Fraction:
        """The grid of the noise in steps of the value's own grid."""
        return self.stated.get("grid", self.value.grid) / self.value.grid

    def steps(self, elements_that_move: int) -> int:
        """How many steps of the noise's grid the value can move, rounding included."""
        if self.coarsening < 1 or self.coarsening.denominator != 1:
            raise Refuted("the noise is too small for the sensitivity: its grid is not one that the value lies on")
        rounding = 0 if self.coarsening == 1 else elements_that_move
        return floor(self.sensitivity / self.stated["grid"]) + rounding


def read_mechanism(given: dict[str, Any]) -> Mechanism:
    """Exactly the parameters of the mechanism: with others, noise could be made for one and another be paid."""
    kind = given["kind"]
    if kind not in NORMS:
        raise CannotCheck(f"the mechanism {kind!s:.40}")
    stated = {name: number(given[name]) for name in ("epsilon", "delta", "rho") if given.get(name) is not None}
    allowed = PARAMETERS.get(kind, [{"epsilon"}])
    if set(stated) not in allowed or min(stated.values()) <= 0:
        raise Refuted("the parameters are not those of the mechanism, or not positive")
    epsilon, delta, rho = (stated.get(name, ZERO) for name in ("epsilon", "delta", "rho"))
    return Mechanism(kind, epsilon, delta, rho, whole_number(given.get("k", 1), 1))


# -- how much noise is enough


def check_noise(mechanism: Mechanism, given: dict[str, Any], value: Numbers, sensitivity: Fraction) -> bool:
    """Refute noise that is too small. Returns whether it is drawn on the value's own grid."""
    stated = {name: number(x) for name, x in given.items() if name != "norm" and x is not None}
    noise = Noise(stated, value, sensitivity)
    if min(stated.values()) < 0 or not ENOUGH[mechanism.kind](mechanism, noise):
        raise Refuted("the noise is too small for the sensitivity")
    return noise.coarsening == 1


def enough_laplace(mechanism: Mechanism, noise: Noise) -> bool:
    """Scale Δ₁/ε: moving the vector by Δ₁ in all changes each probability by a factor of at most exp(Δ₁/scale).

    Source: Dwork, McSherry, Nissim, Smith, TCC 2006; in whole steps: Ghosh, Roughgarden, Sundararajan, STOC 2009.
    """
    return noise.stated["scale"] >= noise.steps(noise.value.size) / mechanism.epsilon


def enough_exponential(mechanism: Mechanism, noise: Noise) -> bool:
    """Options are chosen with probability ∝ exp(rate·score), rate ≤ ε/(2Δ∞): each weight changes by at most
    exp(ε/2), and so does their sum. Without sensitivity the scores are public and any rate will do.

    Source: McSherry & Talwar, FOCS 2007.
    """
    return not noise.sensitivity or noise.stated["rate"] * 2 * noise.sensitivity <= mechanism.epsilon


def enough_noisy_max(mechanism: Mechanism, noise: Noise) -> bool:
    """Exponential noise of scale 2Δ∞/ε; Δ∞/ε if all elements move in one direction, since only gaps between them count.
    k positions are released one after another, with ε/k each.

    Source: McKenna & Sheldon, NeurIPS 2020 (permute and flip); Ding et al. 2021 (the same law with exponential noise).
    """
    directions = 1 if noise.value.monotone else 2
    return noise.stated["scale"] >= mechanism.k * directions * noise.steps(1) / mechanism.epsilon


def enough_above_threshold(mechanism: Mechanism, noise: Noise) -> bool:
    """Laplace noise of scale 2Δ∞/ε on the threshold ("outer") and of 4Δ∞/ε on each number: ε/2 for each.

    Source: Dwork & Roth 2014, algorithm 1; Lyu, Su, Li, PVLDB 2017, on variants that are wrong.
    """
    unit = noise.steps(1) / mechanism.epsilon
    return noise.stated["scale"] >= 4 * unit and noise.stated["outer"] >= 2 * unit


def enough_private_keys(mechanism: Mechanism, noise: Noise) -> bool:
    """Laplace noise of scale k/ε on the counts of keys, of which one person moves k, each by 1; and a threshold τ that
    a key of one person reaches with probability p = Pr[1 + X ≥ τ] = exp(-(τ-1)/scale) / (1 + exp(-1/scale)), k·p ≤ δ.

    Keys that others have too cost 1/scale each. A key that she alone has is hidden with probability 1 - p, as one that
    does not occur. Both add up over the keys. Source: Korolova et al., WWW 2009; PrivateKeys.v.
    """
    scale, threshold, k = noise.stated["scale"], noise.stated["threshold"], noise.steps(1)
    if largest(noise.value.element_distance(0)) > 1 or threshold < 1 or scale < k / mechanism.epsilon or not scale:
        return False
    with localcontext(Context(60)):
        rate = Decimal(scale.denominator) / scale.numerator
        far = (threshold - 1) * Fraction(rate)
        if far > 1000:  # exp(-1000) is below every δ
            return True
        top = (-(Decimal(far.numerator) / far.denominator)).exp()
        chance = Fraction(top / (1 + (-min(rate, Decimal(1000))).exp()))
    return k * chance * (1 - DECIMAL_ERROR) <= mechanism.delta


def enough_gaussian(mechanism: Mechanism, noise: Noise) -> bool:
    """ρ-zCDP: σ² ≥ Δ₂²/(2ρ), also for the discrete Gaussian in any dimension.
    (ε, δ): δ ≥ Φ(Δ/2σ - εσ/Δ) - exp(ε)·Φ(-Δ/2σ - εσ/Δ), plus what the discrete law adds to the continuous one:
    at most 1/(12 s²) in total variation per element, for σ of s steps, so size·(1 + exp(ε))/(12 s²) in all.

    Source: Canonne, Kamath, Steinke, NeurIPS 2020, theorem 14; Balle & Wang, ICML 2018, theorem 8.
    """
    sigma, sensitivity = noise.stated["sigma"], noise.sensitivity
    if mechanism.rho:
        return sigma * sigma * 2 * mechanism.rho >= sensitivity * sensitivity
    if sensitivity and not sigma:
        return False
    epsilon = float(mechanism.epsilon)
    ratio = float(sigma / sensitivity) if sensitivity else inf
    discrete = noise.value.size * (1 + exp(epsilon)) / (12 * GAUSSIAN_STEPS**2)
    delta = normal_cdf(0.5 / ratio - epsilon * ratio) - exp(epsilon) * normal_cdf(-0.5 / ratio - epsilon * ratio)
    return delta * (1 - FLOAT_ERROR) + discrete <= mechanism.delta


def normal_cdf(x: float) -> float:
    """Φ(x)."""
    return erfc(-x / sqrt(2)) / 2


ENOUGH: dict[str, Callable[[Mechanism, Noise], bool]] = {
    "laplace": enough_laplace, "exponential": enough_exponential, "noisy_max": enough_noisy_max,
    "above_threshold": enough_above_threshold, "gaussian": enough_gaussian,
    "private_keys": enough_private_keys,
}  # fmt: skip


# -- what a release costs


def cost(mechanism: Mechanism, notion: dict[str, Any]) -> list[Fraction]:
    """The least charge for one release, in a notion of privacy: [ε], [ε, δ], [ρ] or the Rényi divergence at one order.

    ε-DP is (ε, 0)-DP. It is ε²/2-zCDP (Bun & Steinke, TCC 2016), ε²/8 for the exponential mechanism, whose log-ratio
    stays within a range of ε (Cesar & Rogers, ALT 2021).
    """
    epsilon, kind = mechanism.epsilon, notion["kind"]
    rho = mechanism.rho
    if mechanism.is_pure:
        rho = epsilon * epsilon / (8 if mechanism.kind == "exponential" else 2)
    match kind:
        case "pure" if mechanism.is_pure:
            return [epsilon]
        case "approx" if epsilon:
            return [epsilon, mechanism.delta]
        case "zcdp" if rho:
            return [rho]
        case "renyi" if rho:
            return [renyi_cost(mechanism, rho, number(notion["order"]))]
    raise CannotCheck(f"{mechanism.kind} paid under {kind!s:.40}")


def renyi_cost(mechanism: Mechanism, rho: Fraction, order: Fraction) -> Fraction:
    """ρ-zCDP has a Rényi divergence of at most order·ρ. ε-DP has at most that of randomised response, at which all
    ε-DP mechanisms are largest: log((exp(aε) + exp((1 - a)ε)) / (1 + exp(ε))) / (a - 1). The smaller one counts.

    Source: Mironov, CSF 2017; Bun & Steinke, TCC 2016.
    """
    if order <= 1:
        raise Refuted("the order of a Rényi budget is above 1")
    if not mechanism.is_pure:
        return order * rho
    with localcontext(Context(60)):
        e, a = (Decimal(x.numerator) / x.denominator for x in (mechanism.epsilon, order))
        response = (((a * e).exp() + ((1 - a) * e).exp()).ln() - (1 + e.exp()).ln()) / (a - 1)
    return min(order * rho, Fraction(response) * (1 - DECIMAL_ERROR))
