"""Keys by threshold: which keys enough persons share, with noisy counts."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from privjail.budget.amounts import amount, float_up, probability
from privjail.budget.notions import Loss, Notion
from privjail.errors import PlanError
from privjail.mechanisms.mechanism import FINEST, Calibration, Mechanism, OnGrid
from privjail.mechanisms.noise import Noise
from privjail.plan.value import Value

SMALL = Decimal(600)  # exp(-600) is below every δ that can be asked for; smaller numbers would only be long
DIGITS = 80  # of the computations about δ; what is rounded is rounded against the spender


@dataclass(frozen=True)
class KeysCalibration(Calibration):
    """``scale`` is that of each count's noise."""

    threshold: int  # a key comes out if its noisy count is at least this


@dataclass(frozen=True)
class PrivateKeys(Mechanism):
    """Keys whose noisy count of persons reaches a threshold, with that count; the most frequent first.

    Guarantee: (ε, δ)-DP, for counts of which one person moves at most k, each by 1. The noise is Laplace noise of scale
    b = k/ε on whole numbers; the threshold is the smallest τ with k·Pr[1 + X ≥ τ] ≤ δ, or ``min_persons`` if that is
    larger. Pr[1 + X ≥ τ] = exp(-(τ-1)/b) / (1 + exp(-1/b)): the count *at* the threshold is shown, so it is counted.
    Why: of the keys that a person moves, those that others have too cost 1/b each, as Laplace noise does: k/b = ε
    in all. Of those that she alone has, each is shown with the probability above and otherwise looks like a key that
    does not occur. The keys are independent, so what they cost adds up. A key that does not occur is never shown.
    That at most ``most`` keys come out, and their order, is computed from what would be released.
    Source: Korolova, Kenthapadi, Mishra, Ntoulas, WWW 2009; Wilson et al., PoPETs 2020; with discrete noise.
    """

    kind = "private_keys"
    norm = "l1"
    adds_noise = False
    for_keys = True
    not_charged = frozenset({"min_persons"})
    element_bytes = 2200
    epsilon: Fraction
    delta: Fraction
    min_persons: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", amount(self.epsilon))
        object.__setattr__(self, "delta", probability(self.delta))
        if type(self.min_persons) is not int or not 1 <= self.min_persons < 2**32:
            raise PlanError("min_persons is a whole number of at least 1")

    @property
    def loss(self) -> Loss:
        return Loss(approx=(self.epsilon, self.delta), what="a list of private keys")

    def proportional(self, notion: Notion, value: Value) -> bool:
        return False  # δ is not shared out among the groups of a partition

    def check(self, value: Value) -> None:
        if self.sensitivity(value) / self.epsilon > FINEST:
            raise PlanError("the noise on counts of keys would be wider than any count", do="use a larger eps")

    def calibrate(self, value: Value) -> KeysCalibration:
        keys = max(1, int(self.sensitivity(value)))  # rows that nobody can change: noise as for one key
        scale, threshold = calibrated(self.epsilon, self.delta, keys)
        return KeysCalibration(OnGrid(Fraction(1), 1, keys), scale, max(threshold, self.min_persons))

    def sample(self, value: Value, exact: Any, noise: Noise) -> list[tuple[Any, float]]:
        calibration = self.calibrate(value)
        drawn = noise.laplace(float(calibration.scale), len(exact)) if exact else []
        noised = [(key, count + x) for (key, count), x in zip(exact, drawn, strict=True)]
        shown = [(key, n) for key, n in noised if n >= calibration.threshold]
        shown.sort(key=lambda each: (-each[1], each[0]))  # an order that depends on what is shown alone
        return [(key, float(n)) for key, n in shown[: value.joint.size]]

    def certificate_noise(self, value: Value) -> dict[str, str | None]:
        calibration = self.calibrate(value)
        noise = {"scale": str(calibration.scale), "threshold": str(calibration.threshold)}
        return {"norm": self.norm, "grid": "1", **noise, "sensitivity": str(Fraction(self.sensitivity(value)))}


@lru_cache(maxsize=1024)
def calibrated(epsilon: Fraction, delta: Fraction, keys: int) -> tuple[Fraction, int]:
    """The scale of the noise for so many keys of one person, and the smallest threshold that keeps δ."""
    scale = Fraction(float_up(keys / epsilon))
    near = Context(DIGITS)
    rate = near.divide(Decimal(scale.denominator), Decimal(scale.numerator))
    shown = near.divide(Decimal(keys), near.multiply(_decimal(delta, ROUND_FLOOR), 1 + near.exp(-min(rate, SMALL))))
    steps = int(near.divide(near.ln(shown), rate)) - 2  # near the smallest; what follows is exact
    threshold = 1 + max(steps, 0)
    while keys * chance_of_one(scale, threshold) > delta:
        threshold += 1
    return scale, threshold


def chance_of_one(scale: Fraction, threshold: int) -> Fraction:
    """The chance that a key of one person is shown, Pr[1 + X ≥ threshold], rounded up in its last of 80 digits."""
    up, down, near = Context(DIGITS, ROUND_CEILING), Context(DIGITS, ROUND_FLOOR), Context(DIGITS)
    # exp is rounded to the nearest, whatever the context says: one unit in the last place makes it a bound.
    least, most = _decimal(1 / scale, ROUND_FLOOR), _decimal(1 / scale, ROUND_CEILING)
    above = up.next_plus(near.exp(-min(down.multiply(Decimal(threshold - 1), least), SMALL)))
    below = down.add(1, down.next_minus(near.exp(-min(most, SMALL)))) if most < SMALL else Decimal(1)
    return Fraction(up.divide(above, below))


def _decimal(x: Fraction, rounding: str) -> Decimal:
    return Context(DIGITS, rounding).divide(Decimal(x.numerator), Decimal(x.denominator))
