"""Notions of privacy: how the losses of several releases add up, and when the limit is reached.

Each notion turns the loss of a mechanism into a tuple of exact numbers that simply add up under adaptive
composition: pure ε; (ε, δ); zCDP's ρ; the Rényi divergence at one order that is fixed beforehand. All
four are *filters*: the analyst may choose each ε after seeing earlier answers, and the guarantee holds
for the sum (Rogers, Roth, Ullman, Vadhan 2016 for ε and (ε, δ); Feldman & Zrnic 2021 for one Rényi order
that is fixed beforehand, and so for ρ, which is a bound at every order).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from privjail.budget.amounts import amount, float_up, probability
from privjail.errors import BudgetError

Cost = tuple[Fraction, ...]


@dataclass(frozen=True)
class Loss:
    """What one run of a mechanism can give away, in each notion that it is known in.

    ``pure`` ε implies ρ = ε²/2 (Bun & Steinke 2016) and (ε, 0); ``rho`` may be given where it is smaller.
    """

    pure: Fraction | None = None
    rho: Fraction | None = None
    approx: tuple[Fraction, Fraction] | None = None
    what: str = "this mechanism"


@dataclass(frozen=True)
class Notion:
    """A notion of privacy, with the limit that the curator set (None: nothing is refused)."""

    limit: Cost | None

    #: Whether random samples cost less than their tables; proved for pure ε only (budget/sampling.py).
    amplifies: ClassVar[bool] = False

    def cost(self, loss: Loss) -> Cost:
        raise TypeError

    def exceeds(self, total: Cost) -> bool:
        return self.limit is not None and any(spent > most for spent, most in zip(total, self.limit, strict=True))

    def report(self, total: Cost) -> Any:
        """A total, in the form that people read: ε, (ε, δ) or ρ."""
        return float(total[0])

    def spelled(self, total: Cost) -> str:
        """The report of a total, as text."""
        reported = self.report(total)
        return ", ".join(f"{x:.10g}" for x in (reported if isinstance(reported, tuple) else (reported,)))

    def parameters(self) -> Cost:
        """What a report needs besides the total: public, and fixed with the budget."""
        return ()

    def zero(self) -> Cost:
        return (Fraction(0),)

    def _no(self, loss: Loss, instead: str) -> BudgetError:
        return BudgetError(f"{loss.what} cannot be paid under {self}", do=instead)


@dataclass(frozen=True)
class PureDP(Notion):
    """ε-differential privacy: losses add up."""

    amplifies = True

    def __init__(self, eps: Any = None) -> None:
        object.__setattr__(self, "limit", None if eps is None else (amount(eps, "the budget"),))

    def cost(self, loss: Loss) -> Cost:
        if loss.pure is None:
            instead = "choose what needs no δ (Laplace noise, keys that you name) or ask the curator for another budget"
            raise self._no(loss, f"{instead}: (ε, δ), zCDP or Rényi")
        return (loss.pure,)

    def __str__(self) -> str:
        return "pure ε-differential privacy"


@dataclass(frozen=True)
class ApproxDP(Notion):
    """(ε, δ)-differential privacy with basic composition: both add up."""

    def __init__(self, eps: Any = None, delta: Any = None) -> None:
        if (eps is None) != (delta is None):
            raise BudgetError("an (ε, δ) budget needs both, or neither")
        limit = None if eps is None else (amount(eps, "the budget"), probability(delta))
        object.__setattr__(self, "limit", limit)

    def zero(self) -> Cost:
        return (Fraction(0), Fraction(0))

    def cost(self, loss: Loss) -> Cost:
        if loss.pure is not None:
            return (loss.pure, Fraction(0))
        if loss.approx is None:
            raise self._no(loss, "give eps and delta")
        return loss.approx

    def report(self, total: Cost) -> Any:
        return (float(total[0]), float(total[1]))

    def __str__(self) -> str:
        return "(ε, δ)-differential privacy"


@dataclass(frozen=True)
class ZCDP(Notion):
    """Zero-concentrated differential privacy: ρ adds up."""

    def __init__(self, rho: Any = None) -> None:
        object.__setattr__(self, "limit", None if rho is None else (amount(rho, "the budget"),))

    def cost(self, loss: Loss) -> Cost:
        if loss.rho is not None:
            return (loss.rho,)
        if loss.pure is None:
            raise self._no(loss, "use a mechanism with a pure ε or a ρ")
        return (loss.pure * loss.pure / 2,)

    def __str__(self) -> str:
        return "zCDP"


@dataclass(frozen=True)
class RenyiDP(Notion):
    """Rényi differential privacy at one order, fixed when the budget is set.

    The limit is given as (ε, δ). The order is the one at which Gaussian noise can be used longest; what is
    spent is the divergence at that order, of which ε - log(1/δ)/(α - 1) may be used (Mironov 2017, prop. 3).
    """

    order: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __init__(self, eps: Any, delta: Any) -> None:
        target, tail = amount(eps, "the budget"), probability(delta)
        rooms = {a: _room(target, tail, a) for a in _orders()}
        order = max(rooms, key=lambda a: rooms[a] / a)
        if rooms[order] <= 0:
            raise BudgetError(f"no Rényi order can promise ε = {eps} with δ = {delta}", do="raise ε or δ")
        object.__setattr__(self, "limit", (rooms[order],))
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "delta", tail)

    def cost(self, loss: Loss) -> Cost:
        if loss.rho is not None and loss.pure is None:
            return (self.order * loss.rho,)
        if loss.pure is None:
            raise self._no(loss, "use a mechanism with a pure ε or a ρ")
        candidates = [pure_renyi(loss.pure, self.order), loss.pure]
        if loss.rho is not None:
            candidates.append(self.order * loss.rho)
        return (min(candidates),)

    @classmethod
    def at(cls, order: Fraction, delta: Fraction) -> RenyiDP:
        """The notion at a given order, without a limit."""
        made = cls.__new__(cls)
        for name, value in (("limit", None), ("order", order), ("delta", delta)):
            object.__setattr__(made, name, value)
        return made

    def parameters(self) -> Cost:
        return (self.order, self.delta)

    def room(self, eps: Any, delta: Any) -> Cost:
        """The limit at this order that promises (ε, δ)."""
        room = _room(amount(eps, "the budget"), probability(delta), self.order)
        if room <= 0:
            raise BudgetError(f"order {float(self.order):g} cannot promise ε = {eps} with δ = {delta}")
        return (room,)

    def report(self, total: Cost) -> Any:
        """(ε, δ) for what was spent."""
        if not total[0]:
            return (0.0, 0.0)
        tail = -math.log(float(self.delta)) / float(self.order - 1)
        return (float(total[0]) + tail, float(self.delta))

    def __str__(self) -> str:
        return f"Rényi differential privacy at order {float(self.order):g}"


#: Every notion, by the name that curators, the ledger, certificates and the wire have for it.
NOTIONS: dict[str, Callable[..., Notion]] = {"pure": PureDP, "approx": ApproxDP, "zcdp": ZCDP, "renyi": RenyiDP}


def name_of(notion: Notion) -> str:
    return next(name for name, cls in NOTIONS.items() if cls is type(notion))


def unlimited(name: str, parameters: Sequence[Fraction] = ()) -> Notion:
    """A notion from its name and parameters, as a client knows it: it prices and reports, but refuses nothing."""
    return RenyiDP.at(*parameters) if NOTIONS[name] is RenyiDP else NOTIONS[name]()


@lru_cache(maxsize=1)
def _orders() -> tuple[Fraction, ...]:
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    return tuple(Fraction(a).limit_denominator(100) for a in rdp.DEFAULT_RDP_ORDERS if a > 1)


def _room(eps: Fraction, delta: Fraction, order: Fraction) -> Fraction:
    """ε - log(1/δ)/(α - 1), rounded down."""
    # δ itself is rounded to a float, which matters where it is near 1 and the logarithm near 0.
    tail = -math.log(float(delta)) / float(order - 1)
    return eps - Fraction(tail) * (1 + Fraction(1, 2**40)) - Fraction(1, 2**40)


def pure_renyi(eps: Fraction, order: Fraction) -> Fraction:
    """The largest Rényi divergence that ε-DP allows, rounded up: that of randomised response.

    (log cosh((α - ½)ε) - log cosh(ε/2)) / (α - 1); divided by ε it rises with ε, so a part of the distance
    costs at most that part of the loss.
    """
    e, a = float_up(eps), float(order)
    value = (_log_cosh((a - 0.5) * e) - _log_cosh(e / 2)) / (a - 1)
    # Near zero the two logarithms cancel: ε²α/2 is an upper bound that does not.
    return min(Fraction(value) * (1 + Fraction(1, 2**30)) + Fraction(1, 2**45), eps * eps * order / 2)


def _log_cosh(x: float) -> float:
    return abs(x) + math.log1p(math.exp(-2 * abs(x))) - math.log(2)
