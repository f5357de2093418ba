"""What a fit may spend, and how: one price, divided into shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from privjail import session
from privjail.budget.amounts import amount, probability
from privjail.budget.blocks import log_of_inverse
from privjail.budget.notions import ApproxDP, Notion
from privjail.errors import BudgetError, BudgetExceeded, PlanError
from privjail.mechanisms.exponential import Exponential
from privjail.mechanisms.gaussian import Gaussian
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.mechanism import Mechanism
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.ops.numbers.combine import Element, Stack
from privjail.ops.numbers.tally import Tally
from privjail.plan.rows import Rows
from privjail.plan.value import Value
from privjail.release import Query


def rho_for(eps: Any, delta: Any) -> Fraction:
    """The largest ρ, rounded down, for which ρ-zCDP implies (ε, δ): ε = ρ + 2√(ρ ln 1/δ) (Bun & Steinke 2016)."""
    e, log = float(amount(eps)), log_of_inverse(probability(delta))
    root = e / (math.sqrt(log + e) + math.sqrt(log))  # √(ln 1/δ + ε) - √(ln 1/δ), without cancellation
    found = Fraction(root * root * (1 - 1e-9))
    return found if found < Fraction(1, 10**12) else found.limit_denominator(10**12)  # the nearest may be larger there


class Bill(list[dict[str, Any]]):
    """What a fit asked for, line by line, and at which price; ``certificates()`` says what each release claims.

    Certificates are made when they are asked for, from the plans, which stay in the process that fitted.
    """

    def __init__(self, lines: Sequence[dict[str, Any]] = (), made: list[dict[str, Any]] | None = None) -> None:
        super().__init__(lines)
        self._asks: list[Query] = []
        self._made = made

    def certificates(self) -> list[dict[str, Any]]:
        """The certificate of each release, as ``pj.certify()`` would have kept it."""
        if self._made is None or len(self._made) < len(self._asks):
            if not self._asks:
                raise PlanError(
                    "the certificates were left behind when this model was pickled",
                    do="ask for model.certificate before pickling",
                )
            from privjail.verify.certificate import of

            self._made = [of(ask) for ask in self._asks]
        return self._made

    def extend_by(self, other: Bill) -> None:
        """Enter the lines and releases of a part."""
        self.extend(other)
        self._asks += other._asks

    def __reduce__(self) -> Any:
        return Bill, (list(self), self._made)

    def __repr__(self) -> str:
        width = max((len(line["what"]) for line in self), default=0)
        lines = [
            f"{line['what']:<{width}}  {line['values']:>5} value{'s' if line['values'] > 1 else ' '} "
            + (f"at {line['each']} each" if "each" in line else f"at {line['all']} together")
            for line in self
        ]
        return "\n".join(lines) or "nothing was asked for"


@dataclass
class Spending:
    """The price of one fit: eps alone is pure (Laplace noise); eps with delta, or rho, is Gaussian noise.

    Under an (ε, δ) budget, whose releases add up ε and δ, Gaussian noise is best spent on one vector; under zCDP and
    Rényi budgets ρ adds up, so rounds cost less. ``bill`` lists what was asked for, and at which price.
    """

    eps: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    bill: Bill = field(default_factory=Bill)

    @staticmethod
    def of(eps: Any, delta: Any, rho: Any, rows: Rows) -> Spending:
        if rho is not None and eps is None and delta is None:
            return Spending(rho=amount(rho, "rho"))
        if rho is not None or eps is None:
            raise BudgetError("a fit needs eps, or eps and delta, or rho", do="model.fit(X, y, eps=1, delta=1e-5)")
        if delta is None:
            return Spending(amount(eps))
        if isinstance(notion_of(rows), ApproxDP):
            return Spending(amount(eps), probability(delta))
        return Spending(rho=rho_for(eps, delta))

    def reserve(self, rows: Rows) -> None:
        """Refuse a fit of several rounds that the budget does not reach for, before its first round is charged."""
        session.reserve([Query(Tally(rows, (), None), self.mechanism(1))])

    @property
    def is_pure(self) -> bool:
        return self.rho is None and self.delta is None

    @property
    def in_one_piece(self) -> bool:
        """Whether Gaussian noise is best spent on one vector, for ε and δ of several would add up."""
        return self.delta is not None

    def _part(self, share: float | Fraction) -> Fraction:
        part = Fraction(share).limit_denominator(10**9)
        if not 0 < part <= 1:
            raise PlanError("a share of the price lies between 0 and 1")
        return part

    def mechanism(self, share: float | Fraction) -> Mechanism:
        """Noise for one value at this share of the price."""
        part = self._part(share)
        if self.rho is not None:
            return Gaussian(rho=_short(self.rho * part))
        assert self.eps is not None
        if self.delta is not None:
            return Gaussian(_short(self.eps * part), self.delta * part)
        return Laplace(_short(self.eps * part))

    def price(self, share: float | Fraction) -> dict[str, Fraction]:
        """A share of the price, as arguments of another fit."""
        part = self._part(share)
        if self.rho is not None:
            return {"rho": _short(self.rho * part)}
        assert self.eps is not None
        found = {"eps": _short(self.eps * part)}
        return found if self.delta is None else {**found, "delta": self.delta * part}

    def deviation(self, share: float | Fraction = 1) -> float:
        """The standard deviation of the noise on a number of sensitivity 1 that gets this share of the price."""
        found = self.mechanism(share)
        if isinstance(found, Gaussian):
            return float(found._unit_sigma(1))
        return math.sqrt(2) / float(found.epsilon)  # type: ignore[attr-defined]

    def deviation_of_all(self, number: int, share: float | Fraction = 1) -> float:
        """The standard deviation of ``release_all`` on the elements of so many vectors."""
        if not self.in_one_piece:
            return self.deviation(self._part(share) / number)
        return min(self.deviation(share) * math.sqrt(number), self.without_delta().deviation_of_all(number, share))

    def without_delta(self) -> Spending:
        """The same price and bill for pure releases: an (ε, δ) budget counts ε-DP as (ε, 0)."""
        return Spending(self.eps, bill=self.bill) if self.in_one_piece else self

    def release(self, values: Sequence[Value], share: float | Fraction, what: str) -> list[Any]:
        """Several values in one request, at equal parts of a share of the price."""
        noise = self.mechanism(self._part(share) / len(values))
        answers = self._ask([Query(value, noise) for value in values])
        self.bill.append({"what": what, "values": len(values), "each": noise})
        return answers

    def of_choice(self, share: float | Fraction) -> float:
        """The ε of a choice that gets this share of the price.

        Under zCDP it is that of the exponential mechanism, which costs ρ = ε²/8: of noisy max only ε²/2 is known.
        """
        part = self._part(share)
        if self.eps is not None:
            return float(self.eps * part)
        assert self.rho is not None
        return math.sqrt(8 * self.rho * part)

    def choose(self, values: Sequence[Value], share: float | Fraction, what: str) -> list[int]:
        """The place of the largest element of each vector, with noise; each vector gets the whole share.

        For values in parts of the table that exclude each other: together they cost what one of them does. By report
        noisy max for ε (with δ, which stays unspent), by the exponential mechanism for ρ.
        """
        eps = _short(Fraction(self.of_choice(share)) * (1 - Fraction(1, 10**9)))  # the root was not rounded down
        noise: Mechanism = NoisyMax(eps) if self.rho is None else Exponential(eps)
        found = self._ask([Query(value, noise) for value in values])
        self.bill.append({"what": what, "values": len(values), "each": noise})
        return [int(place) for place in found]

    def _ask(self, asks: list[Query]) -> list[Any]:
        refused: BudgetExceeded | None = None
        try:
            answers = session.release(asks)
        except BudgetExceeded as e:
            if not self.bill:
                raise
            refused = e
        if refused is not None:
            raise BudgetExceeded(
                f"this fit stops after {len(self.bill)} of its rounds, which stay charged ({refused.what})",
                do=refused.do,
            )
        self.bill._asks += asks
        return answers

    def release_all(self, values: Sequence[Value], share: float | Fraction, what: str) -> tuple[list[Any], float]:
        """Vectors of sensitivity 1 each, and the standard deviation of the noise on their elements.

        For Gaussian noise of (ε, δ) they are one vector, of L2 sensitivity √(number of vectors); else one release each.
        Under (ε, δ) that is Laplace noise where few vectors make it the smaller one.
        """
        pure, deviation = self.without_delta(), self.deviation_of_all(len(values), share)
        if pure.deviation_of_all(len(values), share) <= deviation:
            return pure.release(values, share, what), deviation
        elements = tuple(Element(value, i) for value in values for i in range(value.size))
        noise = self.mechanism(share)
        found = self._ask([Query(Stack(elements, tuple(range(len(elements)))), noise)])[0]
        self.bill.append({"what": what, "values": len(values), "all": noise})
        answers, at = [], 0
        for value in values:
            answers.append(found[at : at + value.size])
            at += value.size
        return answers, deviation


def notion_of(rows: Rows) -> Notion | None:
    """The notion of privacy in which releases are counted: that of the data set's budget, or of an open block."""
    if (block := session.current_block()) is not None:
        return block.notion
    connected, staged = session.connection(), session.rehearsing()
    root = rows.source.cells[0].root
    if staged is not None:
        return staged.notion_of(root)
    if connected is None:
        return session.jail().ledger.account(root).notion
    found: Notion = connected.notions[str(root.key)]
    return found


def _short(x: Fraction) -> Fraction:
    """A fraction that is not larger, and of few digits: what is paid is sent and added up for ever."""
    return Fraction(math.floor(x * 10**12), 10**12)
