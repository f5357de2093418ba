"""Losses and limits of each notion, against dp-accounting and against exact divergences."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant as pld
from dp_accounting.rdp import rdp_privacy_accountant as rdp
from hypothesis import given, settings
from hypothesis import strategies as st

from privjail.budget.notions import ZCDP, ApproxDP, Loss, PureDP, RenyiDP, pure_renyi
from privjail.errors import BudgetError
from privjail.mechanisms.exponential import Exponential
from privjail.mechanisms.gaussian import Gaussian
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.noisy_max import NoisyMax

HALF = Fraction(1, 2)


def _randomised_response(eps: mp.mpf, order: mp.mpf) -> mp.mpf:
    """The Rényi divergence of the worst ε-DP mechanism, from its two probabilities."""
    p = mp.exp(eps) / (1 + mp.exp(eps))
    q = 1 - p
    return mp.log(p**order * q ** (1 - order) + q**order * p ** (1 - order)) / (order - 1)


@settings(max_examples=300)
@given(
    st.fractions(min_value=Fraction(1, 10**9), max_value=50),
    st.fractions(min_value=Fraction(101, 100), max_value=500),
)
def test_the_divergence_of_pure_privacy_is_rounded_up_and_by_little(eps: Fraction, order: Fraction) -> None:
    with mp.workdps(60):
        true = _randomised_response(
            mp.mpf(eps.numerator) / eps.denominator, mp.mpf(order.numerator) / order.denominator
        )
        ours = pure_renyi(eps, order)
        ours_mp = mp.mpf(ours.numerator) / ours.denominator
        assert true <= ours_mp <= true * (1 + mp.mpf(2) ** -29) + mp.mpf(2) ** -43


@given(st.floats(1e-6, 30), st.floats(1.01, 200), st.floats(0.01, 1))
def test_a_share_of_the_distance_costs_at_most_that_share(eps: float, order: float, share: float) -> None:
    """What makes pure mechanisms proportional under Rényi and zCDP budgets."""
    with mp.workdps(50):
        whole = _randomised_response(mp.mpf(eps), mp.mpf(order))
        assert _randomised_response(mp.mpf(eps) * share, mp.mpf(order)) <= share * whole * (1 + mp.mpf(10) ** -30)


def test_each_notion_takes_the_losses_that_it_knows() -> None:
    pure, rho = Loss(pure=HALF), Loss(rho=HALF)
    both = Loss(approx=(HALF, Fraction(1, 100)), rho=Fraction(1, 8))
    assert PureDP().cost(pure) == (HALF,)
    assert ApproxDP().cost(pure) == (HALF, 0) and ApproxDP().cost(both) == (HALF, Fraction(1, 100))
    assert (
        ZCDP().cost(pure) == (Fraction(1, 8),)
        and ZCDP().cost(rho) == (HALF,)
        and ZCDP().cost(both) == (Fraction(1, 8),)
    )
    renyi = RenyiDP(1, 1e-6)
    assert renyi.cost(rho) == (renyi.order / 2,)
    for notion, loss in ((PureDP(), rho), (PureDP(), both), (ApproxDP(), rho)):
        with pytest.raises(BudgetError):
            notion.cost(loss)


def test_who_may_claim_an_eighth_v12() -> None:
    """V-12: ε²/8 is proved for the exponential mechanism. Noisy max (permute and flip) pays ε²/2, as all pure ones."""
    eps = Fraction(2)
    assert ZCDP().cost(Exponential(eps).loss) == (HALF,)
    for mechanism in (NoisyMax(eps), Laplace(eps)):
        assert ZCDP().cost(mechanism.loss) == (2,)


@pytest.mark.parametrize(("eps", "delta"), [(1, 1e-6), (0.5, 1e-9), (8, 1e-5), (0.1, 1e-6), (3, 0.9999999)])
def test_a_renyi_budget_keeps_its_promise(eps: float, delta: float) -> None:
    notion = RenyiDP(eps, delta)
    assert notion.limit is not None
    with mp.workdps(50):
        order = mp.mpf(notion.order.numerator) / notion.order.denominator
        room = mp.mpf(notion.limit[0].numerator) / notion.limit[0].denominator
        d = mp.mpf(notion.delta.numerator) / notion.delta.denominator
        promised = room + mp.log(1 / d) / (order - 1)  # Mironov 2017, proposition 3
        assert promised <= mp.mpf(eps) * (1 + mp.mpf(10) ** -15)
    reported = notion.report(notion.limit)
    assert reported == (pytest.approx(eps, rel=1e-9), pytest.approx(delta))
    assert notion.report((Fraction(0),)) == (0.0, 0.0)


@pytest.mark.parametrize("delta", [Fraction(10**17 - 1, 10**17), Fraction(1, 3), Fraction(1, 10**9)], ids=float)
def test_a_renyi_budget_is_rounded_down(delta: Fraction) -> None:
    """Also where δ is no float: so near 1 that its logarithm would be 0."""
    notion = RenyiDP(Fraction(7, 3), delta)
    assert notion.limit is not None
    with mp.workdps(60):
        share = mp.log(mp.mpf(delta.denominator) / delta.numerator) / _mpf(notion.order - 1)
        assert _mpf(notion.limit[0]) + share <= mp.mpf(7) / 3


def _mpf(x: Fraction) -> mp.mpf:
    return mp.mpf(x.numerator) / x.denominator


def test_no_order_can_promise_too_little() -> None:
    with pytest.raises(BudgetError):
        RenyiDP(1e-6, 1e-9)


@pytest.mark.parametrize("count", [1, 10, 100])
@pytest.mark.parametrize("sigma", [2.0, 10.0])
def test_gaussian_composition_in_four_accountants_v40(count: int, sigma: float) -> None:
    """V-40: what zCDP, our Rényi order and basic (ε, δ) claim for the same composition is never below PLD's ε."""
    delta = 1e-6
    event = dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(sigma), count)
    tight = pld.PLDAccountant().compose(event).get_epsilon(delta)
    best_rdp = rdp.RdpAccountant().compose(event).get_epsilon(delta)
    rho = Fraction(1) / (2 * Fraction(sigma) ** 2)

    spent = float(ZCDP().cost(Loss(rho=rho))[0] * count)
    zcdp = spent + 2 * math.sqrt(spent * math.log(1 / delta))  # Bun & Steinke 2016, proposition 1.3

    notion = RenyiDP(max(2 * best_rdp, 0.5), delta)
    ours = notion.report((notion.cost(Loss(rho=rho))[0] * count,))[0]
    order = float(notion.order)
    theirs = rdp.RdpAccountant(orders=[order]).compose(event)._rdp[0]
    assert float(notion.cost(Loss(rho=rho))[0] * count) == pytest.approx(theirs)

    assert tight <= best_rdp <= ours * (1 + 1e-9)
    assert tight <= zcdp * (1 + 1e-9)
    assert ours < 25 * tight  # and not absurdly above


@pytest.mark.parametrize("count", [1, 5, 40])
@pytest.mark.parametrize("eps", [0.05, 0.5, 2.0])
def test_laplace_composition_in_four_accountants_v40(count: int, eps: float) -> None:
    """V-40: pure, zCDP and Rényi claims for Laplace noise are never below PLD's ε."""
    delta = 1e-6
    event = dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(1 / eps), count)
    tight = pld.PLDAccountant().compose(event).get_epsilon(delta)
    loss = Laplace(Fraction(eps)).loss
    assert tight <= float(PureDP().cost(loss)[0] * count) * (1 + 1e-6)
    rho = float(ZCDP().cost(loss)[0] * count)
    assert tight <= rho + 2 * math.sqrt(rho * math.log(1 / delta))
    for target in (1.0, 10.0):
        notion = RenyiDP(target, delta)
        theirs = rdp.RdpAccountant(orders=[float(notion.order)]).compose(event)._rdp[0]
        ours = notion.cost(loss)[0] * count
        assert theirs <= float(ours) * (1 + 1e-9)
        assert tight <= notion.report((ours,))[0]


@pytest.mark.parametrize(("eps", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (5.0, 1e-9), (20.0, 1e-3)])
def test_noise_asked_for_by_epsilon_and_delta_is_paid_at_its_true_rho(eps: float, delta: float) -> None:
    """Under a zCDP budget: the ρ of the σ that is drawn, and no smaller."""
    mechanism = Gaussian(Fraction(eps), Fraction(delta))
    from .people import People

    sigma = mechanism.calibrate(People().df.shape[0]._value).sigma
    (paid,) = ZCDP().cost(mechanism.loss)
    assert 1 / (2 * sigma * sigma) <= paid <= 1 / (2 * sigma * sigma) * (1 + Fraction(1, 10**5))


def test_nothing_spent_is_nothing_in_every_component() -> None:
    for notion, components in ((PureDP(1), 1), (ApproxDP(1, 0.1), 2), (ZCDP(1), 1), (RenyiDP(5, 1e-6), 1)):
        assert notion.zero() == (0,) * components == (0,) * len(notion.limit or ())
