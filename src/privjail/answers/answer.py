"""A released number that knows its price, its noise and an interval for the truth."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from privjail.answers.laws import Exact, GaussianNoise, Interval, LaplaceNoise, Law, OtherNoise
from privjail.errors import DPError, PlanError
from privjail.mechanisms.gaussian import Gaussian
from privjail.mechanisms.laplace import Laplace, Ratio, calibrated
from privjail.mechanisms.mechanism import Mechanism, public
from privjail.plan.value import Value

CONFIDENCES = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)


@dataclass(frozen=True)
class Facts:
    """What is public about one released number besides its value. It holds no plan, so that it stays small."""

    price: Price
    mechanism: str
    law: Law


@dataclass(frozen=True)
class Price:
    """What a release was asked to cost."""

    eps: float | None = None
    delta: float | None = None
    rho: float | None = None

    def __str__(self) -> str:
        named = (("ε", self.eps), ("δ", self.delta), ("ρ", self.rho))
        return ", ".join(f"{name} = {x:.6g}" for name, x in named if x is not None) or "free"


class Answer(float):
    """A released number. Computing with it gives plain floats, without error or interval.

    >>> n = df.shape[0].reveal(eps=0.1)
    >>> n.error()
    30.0
    >>> low, high = n.interval(0.95)
    """

    facts: Facts

    def __new__(cls, value: float, facts: Facts) -> Answer:
        made = super().__new__(cls, value)
        made.facts = facts
        return made

    @property
    def eps(self) -> float | None:
        """The ε that it was released for; None if the price was another one."""
        return self.facts.price.eps

    @property
    def mechanism(self) -> str:
        """The mechanism that released it."""
        return self.facts.mechanism

    @property
    def noise(self) -> float | None:
        """The standard deviation of its noise; None where there is no single one, as for a quantile."""
        return self.facts.law.noise

    @property
    def reliable(self) -> bool:
        """False where the number says little: a mean of perhaps no rows, a median of a few."""
        return self.doubt is None

    @property
    def doubt(self) -> str | None:
        """Why it is not reliable."""
        return self.facts.law.doubt(float(self))

    def interval(self, confidence: float = 0.95) -> Interval:
        """An interval that holds the true number of the data with this probability."""
        return self.facts.law.interval(float(self), checked(confidence))

    def error(self, confidence: float = 0.95) -> float:
        """With this probability the number is off by at most this much."""
        low, high = self.interval(confidence)
        far = max(float(self) - low, high - float(self))
        return far if far == far else float("inf")

    def plot(self, **options: Any) -> Any:
        """A bar with its interval; see pj.plot."""
        from privjail.answers.plot import plot

        return plot(self, **options)

    def __repr__(self) -> str:
        doubt = self.doubt
        return float.__repr__(self) if doubt is None else f"{float.__repr__(self)} (unreliable: {doubt})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)

    def __reduce__(self) -> Any:
        return (Answer, (float(self), self.facts))


def checked(confidence: Any) -> float:
    """A confidence strictly between 0 and 1."""
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0 < confidence < 1:
        raise PlanError(f"confidence must lie strictly between 0 and 1, got {confidence}", do="interval(0.95)")
    return float(confidence)


def price_of(*mechanisms: Mechanism) -> Price:
    """What several releases were asked to cost together."""
    given = [each.parameters() for each in mechanisms]

    def added(name: str) -> float | None:
        found = [x[name] for x in given if x.get(name) is not None]
        return float(sum(found)) if found else None

    return Price(added("epsilon"), added("delta"), added("rho"))


def noise_of(value: Value, mechanism: Mechanism) -> Law:
    """The law of one element's noise, from public facts."""
    match mechanism:
        case Laplace():
            return _laplace_facts(*mechanism.inputs_of_noise(value)).law
        case Gaussian():
            return GaussianNoise(public(mechanism.calibrate(value).sigma))
    try:
        return OtherNoise(tuple((c, float(mechanism.error(value, c))) for c in CONFIDENCES))
    except DPError:
        return OtherNoise(())


def laplace_noise(value: Value, mechanism: Mechanism) -> LaplaceNoise:
    """The same where it is known to be Laplace noise."""
    law = noise_of(value, mechanism)
    return law if isinstance(law, LaplaceNoise) else LaplaceNoise(0.0, 1.0)


def facts_of(value: Value, mechanism: Mechanism) -> Facts:
    """The facts of a number or vector that is released as it is."""
    if isinstance(mechanism, Laplace):  # most releases
        return _laplace_facts(*mechanism.inputs_of_noise(value))
    return Facts(price_of(mechanism), mechanism.kind, noise_of(value, mechanism))


@lru_cache(maxsize=1024)
def _laplace_facts(epsilon: Ratio, distance: Ratio, own: Ratio, size: int) -> Facts:
    price = Price(float(Fraction(*epsilon)))
    calibration = calibrated(epsilon, distance, own, size)
    if not calibration.scale:
        return Facts(price, Laplace.kind, Exact())
    grid, scale = public(calibration.on.grid), public(calibration.scale * calibration.on.grid)
    return Facts(price, Laplace.kind, LaplaceNoise(scale, grid, grid / 2 if calibration.on.coarser > 1 else 0.0))
