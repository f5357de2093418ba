"""Blocks: a part of a program that is accounted for in ρ or at a Rényi order, and paid for as if it were one release.

A block has a limit in its own notion, and a price in that of the data set's budget, which is paid with its first
release. Releases in it are charged to a tree of costs of its own (its cells hang below the block's cell, which hangs
below the data set), and refused beyond its limit. Nothing is paid back: what a block leaves unused is lost, also if
the program or the jail stops. Who never releases anything in a block pays nothing.

Guarantee: all releases of the block together have the price as their (ε, δ), ρ or divergence. Why: ρ and the
divergence at one order are filters (budget/notions.py), so the block as a whole is ρ-zCDP, or has that divergence,
however its releases are chosen. ρ-zCDP implies (ε, δ) for ε = ρ + 2√(ρ ln 1/δ) (Bun & Steinke 2016, prop. 1.3), and a
divergence ε - ln(1/δ)/(α - 1) at order α implies it too (Mironov 2017, prop. 3). The block is interactive, and others
ask meanwhile: such mechanisms compose as if each were asked at once, also when parameters are chosen on the way
(Haney et al., CCS 2023). A price that was spent in part cannot be lowered by the same theorems: how much was used may
depend on the answers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from privjail.budget.amounts import amount, probability
from privjail.budget.notions import ZCDP, ApproxDP, Cost, Notion, RenyiDP
from privjail.errors import BudgetError
from privjail.plan.cells import Cell
from privjail.plan.node import Lit

BLOCK = "block "  # the names of blocks begin with it: the ledger knows cells by names only


def rho_for(eps: Fraction, delta: Fraction) -> Fraction:
    """The largest ρ for which ρ-zCDP implies (ε, δ), rounded down."""
    e, log = float(eps), log_of_inverse(delta)
    root = e / (math.sqrt(log + e) + math.sqrt(log))  # √(ln 1/δ + ε) - √(ln 1/δ), without cancellation
    found = Fraction(root * root * (1 - 1e-9))
    # Such a fraction is off by at most 10**-12 of itself; below 10**-12 the nearest one may be much larger.
    short = found if found < Fraction(1, 10**12) else found.limit_denominator(10**12)
    return short * (1 - Fraction(1, 10**9))


def log_of_inverse(delta: Fraction) -> float:
    """ln(1/δ), to a float's precision also where δ as a float would be 1."""
    return -math.log(float(delta)) if delta < Fraction(1, 2) else -math.log1p(-float(1 - delta))


@dataclass(frozen=True)
class Block:
    """``kind``: "zcdp" or "renyi". ``id``: what the analyst's program knows it by, 32 hexadecimal digits."""

    kind: str
    eps: Fraction | None
    delta: Fraction | None
    rho: Fraction | None
    id: str

    @staticmethod
    def of(kind: str, eps: Any, delta: Any, rho: Any, id_: str) -> Block:
        if kind not in ("zcdp", "renyi"):
            raise BudgetError(f"no accounting in {kind!r}", do='use "zcdp" or "renyi"')
        by_rho = kind == "zcdp" and rho is not None and eps is None and delta is None
        if not by_rho and (eps is None or delta is None or rho is not None):
            raise BudgetError(
                "a block needs eps and delta, or for zcdp rho alone",
                do='with pj.accounting("zcdp", eps=1, delta=1e-6): …',
            )
        if by_rho:
            return Block(kind, None, None, amount(rho, "rho"), id_)
        return Block(kind, amount(eps), probability(delta), None, id_)

    @property
    def notion(self) -> Notion:
        """The notion that releases in the block are counted in, with the block's limit."""
        if self.kind == "renyi":
            return RenyiDP(self.eps, self.delta)
        return ZCDP(self.rho if self.eps is None or self.delta is None else rho_for(self.eps, self.delta))

    def price(self, budget: Notion) -> Cost:
        """What the whole block costs in the notion of a data set's budget."""
        limit = self.notion.limit
        assert limit is not None
        match budget:
            case ApproxDP() if self.eps is not None and self.delta is not None:
                return (self.eps, self.delta)
            case ZCDP() if self.kind == "zcdp":
                return limit
            case RenyiDP() if self.kind == "zcdp":
                return (budget.order * limit[0],)
        raise BudgetError(
            f"a {self.kind} block with these parameters cannot be paid under {budget}",
            do="under (ε, δ) give eps and delta; under zCDP and Rényi budgets use zcdp; pure ε has no blocks",
        )

    def below(self, cell: Cell, budget: Notion) -> Cell:
        """The cell of the block that stands for a cell of the data set."""
        limit, price = (",".join(map(str, cost or ())) for cost in (self.notion.limit, self.price(budget)))
        made = Cell(cell.root, f"{BLOCK}{self.kind} {limit} {price} {self.id}", Lit.of(True))
        for each in cell.path()[1:]:
            made = Cell(made, each.partition, each.key)
        return made


@lru_cache(maxsize=4096)
def limit_and_price(partition: str) -> tuple[Cost, Cost] | None:
    """What a block may spend and what it costs, from the name of its partition; None for a partition that is none."""
    if not partition.startswith(BLOCK):
        return None
    limit, price = (tuple(map(Fraction, part.split(","))) for part in partition.split(" ")[2:4])
    return limit, price
