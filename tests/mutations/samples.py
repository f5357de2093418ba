"""Wrong rules of random samples and their cost."""

from __future__ import annotations

from fractions import Fraction

from privjail.budget.sampling import amplified
from privjail.plan.cells import Cell, Draw
from tests.budget import test_sampling
from tests.ops import test_sample

from .breaking import Mutation, always

EPS = test_sampling.EPS


def one_sample() -> None:
    test_sampling.check_law("one sample")


def twice() -> None:
    test_sampling.check_law("one sample twice")


def beside_its_table() -> None:
    test_sampling.check_law("a sample plus its table")


MUTATIONS = [
    Mutation(
        "a sample at half of its rate",
        {"budget.ledger:amplified": always(lambda cost, rate: amplified(cost, rate / 2))},
        one_sample,
    ),
    Mutation("a sample costs rate times its cost", {"budget.ledger:amplified": always(lambda c, q: c * q)}, one_sample),
    Mutation(
        "every release on a sample is amplified by itself",
        {"budget.ledger:amplified": always(lambda cost, rate: cost / EPS * amplified(EPS, rate))},
        twice,
    ),
    Mutation(
        "what reads a sample and its table is charged in the sample",
        {
            "release:charged": lambda right: (
                lambda cells: [cell for cell in cells if isinstance(cell.partition, Draw)] or right(cells)
            )
        },
        beside_its_table,
    ),
    Mutation(
        "users with two rows are amplified",
        {
            "ops.rows.sample:Sample._cells": always(
                lambda s: tuple(Cell(c, Draw(s.rows, s.rate, s.tag), test_sample.Lit.of(True)) for c in s.rows.cells)
            )
        },
        test_sampling.check_users,
    ),
    Mutation(
        "all samples have the same coins",
        {"engines.coins:Coins._key": always(lambda self, sample: "0" * 32)},
        test_sample.test_coins_are_fair_and_independent,
    ),
    Mutation(
        "rows are drawn at twice the rate",
        {"ops.rows.sample:Sample.below": always(property(lambda s: min(2**32, int(s.rate * 2**33))))},
        test_sample.test_the_chance_is_never_above_the_rate,
    ),
    Mutation(
        "the complement is drawn",
        {
            "ops.rows.sample:Sample.polars": always(
                lambda s, index, numbers: (
                    (numbers >= s.below).nonzero()[0] if index is None else index[numbers[index] >= s.below]
                )
            )
        },
        test_sample.test_a_sample_has_the_rows_that_were_drawn_in_their_order,
    ),
    Mutation(
        "other notions are amplified, too",
        {"budget.notions:Notion.amplifies": always(True)},
        lambda: test_sampling.test_other_notions_pay_for_a_sample_in_full(test_sampling.ZCDP(Fraction(9))),
    ),
]
