"""Wrong rules of blocks of accounting: their limit, their price, and what they are told apart by."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import count
from types import SimpleNamespace
from typing import Any

from privjail.budget import blocks
from privjail.budget.blocks import Block, limit_and_price
from privjail.budget.notions import ApproxDP, RenyiDP
from tests.budget import test_blocks

from .breaking import Mutation, always

NUMBERS = count()
HALF = Fraction(1, 2)


def on_a_table(test: Callable[..., None], **more: Any) -> Callable[[], None]:
    """A test of blocks, with a table of its own."""

    def check() -> None:
        request = SimpleNamespace(node=SimpleNamespace(name=f"block mutation {next(NUMBERS)}"))
        if more:
            test(request=request, **more)
        else:
            test(test_blocks.table(request.node.name, ApproxDP(2, 1e-5)), request)

    check.__name__ = test.__name__
    return check


beyond = on_a_table(test_blocks.test_nothing_beyond_the_block_is_answered)
loop = on_a_table(test_blocks.test_a_loop_of_many_releases_costs_one_price)
little = on_a_table(test_blocks.test_a_block_that_releases_nothing_costs_nothing_and_one_that_releases_little_costs_all)
two = on_a_table(test_blocks.test_two_blocks_add_up_and_releases_outside_count_as_before)
renyi = on_a_table(test_blocks.test_zcdp_blocks_under_other_budgets, budget=RenyiDP(4, 1e-6), price=None)


def implied() -> None:
    """ε of the ρ that the module has now."""
    for eps, delta in ((Fraction(1), Fraction(1, 10**6)), (Fraction(20), Fraction(1, 3))):
        test_blocks.check_implied(blocks.rho_for(eps, delta), eps, delta)


CHECKS = [beyond, loop, little, two, renyi, implied]


def changed(limit: Any = 1, price: Any = 1) -> Any:
    """What the ledger reads from a block's name, times a number each."""

    def wrong(partition: str) -> Any:
        found = limit_and_price(partition)
        return found and (tuple(x * limit for x in found[0]), tuple(x * price for x in found[1]))

    return always(wrong)


def without_id(right: Any) -> Any:
    return lambda self, cell, budget: right(Block(self.kind, self.eps, self.delta, self.rho, "0" * 32), cell, budget)


def passed_in_full(right: Any) -> Any:
    """The block's own ρ is counted as if it were the budget's ε, instead of the price."""

    def wrong(self: Any, partition: str, cost: Any) -> Any:
        found = right(self, partition, cost)
        return found if found is None or limit_and_price(partition) is None else (cost[0], Fraction(0))

    return wrong


MUTATIONS = [
    Mutation("a block has twice its limit", {"budget.ledger:limit_and_price": changed(limit=2)}, beyond),
    Mutation("a block costs half of its price", {"budget.ledger:limit_and_price": changed(price=HALF)}, loop),
    Mutation("a block costs what it used", {"budget.ledger:CostTree._passed": passed_in_full}, little),
    Mutation("two blocks of the same price are one", {"budget.blocks:Block.below": without_id}, two),
    Mutation(
        "the largest release of a block counts, not their sum",
        {"budget.ledger:plus": always(lambda a, b: tuple(map(max, a, b)))},
        beyond,
    ),
    Mutation(
        "a divergence of ρ at every order, not of order times ρ",
        {"budget.blocks:Block.price": always(lambda self, budget: self.notion.limit)},
        renyi,
    ),
    Mutation(
        "ε = ρ + √(ρ ln 1/δ)",
        {"budget.blocks:rho_for": lambda right: lambda eps, delta: 2 * right(eps, delta)},
        implied,
    ),
]
