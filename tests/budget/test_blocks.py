"""Blocks of accounting: many releases, one price; refused beyond it, and nothing paid back."""

from __future__ import annotations

import math
from fractions import Fraction

import pandas
import pytest

import privjail as pj
from privjail import learn
from privjail import pandas as pd
from privjail.budget.blocks import Block, limit_and_price, rho_for
from privjail.budget.ledger import Ledger
from privjail.budget.notions import ZCDP, ApproxDP, PureDP, RenyiDP
from privjail.errors import BudgetError, BudgetExceeded, PlanError

SCHEMA = {"a": {"type": "Int64", "range": [0, 100]}, "g": {"type": "category", "categories": ["x", "y"]}}


def table(name, budget):
    frame = pandas.DataFrame({"a": range(100), "g": ["x", "y"] * 50})
    return pd.from_frame(frame, name, SCHEMA, budget=budget)


def spent(name):
    return pj.session._reported(pj.session.jail())[name]


@pytest.fixture
def df(request):
    return table(request.node.name, ApproxDP(2, 1e-5))


def test_a_loop_of_many_releases_costs_one_price(df, request):
    """100 releases, which would cost ε = 1 only at a tenth of this precision."""
    rho = float(rho_for(Fraction(1), Fraction(1, 10**6)))
    with pj.accounting("zcdp", eps=1, delta=1e-6):
        for _ in range(100):
            df.shape[0].reveal(rho=rho / 100.001)
    assert spent(request.node.name) == (1, 1e-6)


def test_nothing_beyond_the_block_is_answered(df, request):
    rho = rho_for(Fraction(1), Fraction(1, 10**6))
    with pj.accounting("zcdp", eps=1, delta=1e-6):
        df.shape[0].reveal(rho=rho * Fraction(2, 3))
        with pytest.raises(BudgetExceeded, match="block"):
            df["a"].sum().reveal(rho=rho * Fraction(2, 3))
        df["a"].sum().reveal(rho=rho / 3)  # what was refused left no trace
    assert spent(request.node.name) == (1, 1e-6)


def test_a_block_that_releases_nothing_costs_nothing_and_one_that_releases_little_costs_all(df, request):
    with pj.accounting("zcdp", eps=1, delta=1e-6):
        pass
    assert spent(request.node.name) == (0, 0)
    with pytest.raises(ZeroDivisionError), pj.accounting("zcdp", eps=1, delta=1e-6):
        df.shape[0].reveal(rho=1e-9)
        raise ZeroDivisionError
    assert spent(request.node.name) == (1, 1e-6)


def test_a_block_that_the_budget_does_not_reach_is_refused_as_a_whole(df, request):
    with pj.accounting("zcdp", eps=3, delta=1e-6), pytest.raises(BudgetExceeded):
        df.shape[0].reveal(rho=1e-9)
    assert spent(request.node.name) == (0, 0)


def test_groups_of_a_partition_share_the_block(df, request):
    rho = rho_for(Fraction(1), Fraction(1, 10**6))
    with pj.accounting("zcdp", eps=1, delta=1e-6):
        for key in ("x", "y"):
            df[df["g"] == key].shape[0].reveal(rho=rho)
        with pytest.raises(BudgetExceeded):
            df.shape[0].reveal(rho=rho / 1000)


def test_two_blocks_add_up_and_releases_outside_count_as_before(df, request):
    for _ in range(2):
        with pj.accounting("zcdp", eps=Fraction(1, 2), delta=1e-6):
            df.shape[0].reveal(rho=1e-4)
    df.shape[0].reveal(eps=Fraction(1, 4))
    assert spent(request.node.name) == (1.25, 2e-6)


def test_laplace_noise_and_choices_are_paid_in_a_block_too(df, request):
    with pj.accounting("zcdp", eps=1, delta=1e-6):
        df.shape[0].reveal(eps=Fraction(1, 10))
        df["g"].value_counts(sort=False).idxmax(eps=Fraction(1, 10))
    assert spent(request.node.name) == (1, 1e-6)


def test_renyi_blocks(df, request):
    order = RenyiDP(1, 1e-6).order
    with pj.accounting("renyi", eps=1, delta=1e-6) as block:
        df.shape[0].reveal(rho=block.notion.limit[0] / order)
        with pytest.raises(BudgetExceeded):
            df.shape[0].reveal(rho=1e-4)
    assert spent(request.node.name) == (1, 1e-6)


@pytest.mark.parametrize(("budget", "price"), [(ZCDP(1), Fraction(1, 10)), (RenyiDP(4, 1e-6), None)])
def test_zcdp_blocks_under_other_budgets(budget, price, request):
    name = request.node.name
    df = table(name, budget)
    with pj.accounting("zcdp", rho=Fraction(1, 10)):
        df.shape[0].reveal(rho=Fraction(1, 20))
    account = next(a for a in pj.session.jail().ledger.accounts() if a.name == name)
    assert account.total() == ((price or budget.order / 10),)


def test_what_is_refused(request):
    pure = table(request.node.name, PureDP(1))
    with pj.accounting("zcdp", eps=1, delta=1e-6), pytest.raises(BudgetError, match="pure"):
        pure.shape[0].reveal(rho=1e-4)
    for wrong in ({"eps": 1}, {"rho": 1, "eps": 1}, {"delta": 1e-6}, {}):
        with pytest.raises(BudgetError), pj.accounting("zcdp", **wrong):
            pass
    with pytest.raises(BudgetError, match="no accounting"), pj.accounting("gdp", eps=1, delta=1e-6):
        pass
    with pytest.raises(BudgetError), pj.accounting("renyi", rho=1):
        pass
    with pytest.raises(BudgetError, match="inside another"), pj.accounting("zcdp", rho=1), pj.accounting("zcdp", rho=1):
        pass


def test_the_rho_of_a_block_implies_its_price():
    """ε = ρ + 2√(ρ ln 1/δ), rounded against the spender; and not by much."""
    for eps, delta in (
        (Fraction(1), Fraction(1, 10**6)),
        (Fraction(1, 100), Fraction(1, 10)),
        (Fraction(20), Fraction(1, 3)),
        (Fraction(1, 10**5), Fraction(1, 10**6)),
        (Fraction(6, 10**6), Fraction(1, 10**6)),  # ρ is below 10**-12
        (Fraction(1, 10**9), Fraction(1, 10**6)),
        (Fraction(1, 10**9), 1 - Fraction(1, 3 * 10**16)),  # as a float δ is 1
        (Fraction(1, 10**6), 1 - Fraction(1, 3 * 10**11)),
    ):
        check_implied(rho_for(eps, delta), eps, delta)
        check_implied(learn.rho_for(eps, delta), eps, delta)


def check_implied(rho, eps, delta):
    log = math.log(delta) if delta < 0.5 else math.log1p(-float(1 - delta))
    implied = float(rho) + 2 * math.sqrt(rho * -log)
    assert float(eps) * (1 - 1e-6) < implied < float(eps)


def test_what_a_block_refuses_is_not_counted_in_it():
    """A smaller release still fits, and the data set pays the block's price and no more."""
    ledger, root, block = Ledger(), pj.session.Cell(None, "data", "data"), Block.of("zcdp", None, None, 1, "0" * 32)
    ledger.open(root, "data", ZCDP(10))
    cell = block.below(root, ZCDP(10))
    ledger.charge([(cell, (Fraction(1, 2),))])
    for _ in range(3):
        with pytest.raises(BudgetExceeded, match="block"):
            ledger.charge([(cell, (Fraction(2, 3),))])
    ledger.charge([(cell, (Fraction(1, 2),))])

    assert ledger.accounts()[0].total() == (1,)


def test_names_of_blocks_say_what_they_cost():
    block = Block.of("zcdp", 1, 1e-6, None, "0" * 32)
    cell = block.below(pj.session.Cell(None, "data", "data"), ApproxDP(1, 1e-5))
    assert limit_and_price(cell.address[0][0]) == (block.notion.limit, (1, Fraction(1, 10**6)))
    assert limit_and_price("f00d") is None


def test_a_rehearsal_prices_blocks(df, request):
    with pj.rehearsal() as bill, pj.accounting("zcdp", eps=1, delta=1e-6):
        df.shape[0].reveal(rho=1e-4)
    assert "1" in repr(bill)
    assert spent(request.node.name) == (0, 0)


# -- reveal(scale=)


def test_noise_of_a_scale_costs_what_it_has(request):
    df = table(request.node.name, PureDP(10))
    df["a"].sum().reveal(scale=100)
    assert spent(request.node.name) == 1  # one row moves the sum by 100
    df.shape[0].reveal(scale=Fraction(1, 2))
    assert spent(request.node.name) == 3


def test_gaussian_noise_of_a_standard_deviation(request):
    df = table(request.node.name, ZCDP(10))
    answer = df["a"].sum().reveal(scale=50, mechanism="gaussian")
    assert spent(request.node.name) == 2  # (100/50)²/2
    assert answer.error(0.95) == pytest.approx(1.96 * 50, rel=0.01)


def test_a_scale_and_a_price_are_not_given_together(df):
    with pytest.raises(PlanError, match="price of its own"):
        df.shape[0].reveal(1, scale=2)
    with pytest.raises(PlanError):
        df.shape[0].reveal(scale=2, mechanism="exponential")
