"""Intervals enclose what other means compute, and tell right claims of ρ from wrong ones."""

from __future__ import annotations

import math
from fractions import Fraction as F

import pytest

from privjail.verify.laws import closed_forms
from privjail.verify.laws.intervals import (
    _lattice_sum, _theta, ball, ball_decay, discrete_gaussian_delta, discrete_gaussian_renyi, gaussian_delta, lower,
    precision, renyi, rounding_gap, upper, zcdp,
)  # fmt: skip


def weights(sigma: float, reach: int = 80) -> dict[int, float]:
    raw = {x: math.exp(-x * x / (2 * sigma * sigma)) for x in range(-reach, reach + 1)}
    whole = math.fsum(raw.values())
    return {x: w / whole for x, w in raw.items()}


def near(enclosed: object, plain: float) -> bool:
    return lower(enclosed) - 1e-9 <= plain <= upper(enclosed) + 1e-9


@pytest.mark.parametrize("sigma", [F(2, 5), F(1), F(33, 10)])
def test_the_divergence_of_discrete_gaussians(sigma: F) -> None:
    law = weights(float(sigma))
    with precision():
        for move, order in ((1, F(3, 2)), (2, F(2)), (3, F(7, 2))):
            a = float(order)
            both = [(p, law[x - move]) for x, p in law.items() if p > 1e-250 and law.get(x - move, 0) > 1e-250]
            total = math.fsum(math.exp(a * math.log(p) + (1 - a) * math.log(q)) for p, q in both)
            enclosed = discrete_gaussian_renyi(sigma, move, order)
            assert near(enclosed, math.log(total) / (a - 1))
            assert upper(enclosed) <= float(order) * move**2 / (2 * float(sigma) ** 2) * (1 + 1e-12)


def test_both_sides_of_poissons_formula_agree() -> None:
    with precision():
        for mean in (F(1, 3), F(1, 2)):
            quotients = [f(F(1), mean) / f(F(1), F(0)) for f in (_theta, _lattice_sum)]
            assert quotients[0].overlaps(quotients[1]) and lower(1 - quotients[0]) > 1e-9


def test_deltas_enclose_plain_sums() -> None:
    law = weights(5.0)
    with precision():
        plain = math.fsum(max(0.0, p - math.e * law.get(x - 5, 0.0)) for x, p in law.items())
        assert near(discrete_gaussian_delta(5, 5, F(1)), plain)
        assert near(gaussian_delta(F(1), F(1)), 0.12693673750664394)
        assert lower(rounding_gap(3)) > 1 / (100 * 9) and upper(rounding_gap(3)) <= 1 / (12 * 9)


def test_a_rho_is_certified_at_every_order_or_refuted() -> None:
    """ε²/8 is true of the exponential mechanism and not of permute and flip (V-12)."""
    pair, gamma, rho = ((3, 0, 0), (-1, 4, 4)), F(1, 4), F(1, 2)
    with precision():
        gumbel = [closed_forms.exponential(data, gamma, ball_decay) for data in pair]
        flip = [closed_forms.permute_and_flip(data, gamma, ball_decay) for data in pair]
        assert zcdp(gumbel[0], gumbel[1], rho, F(2)).certified
        wrong = zcdp(flip[0], flip[1], rho, F(2))
        assert not wrong.certified and wrong.refuted_at is not None
        assert not zcdp(flip[0], flip[1], F(3, 4), F(2)).certified  # only orders near 1 tell: none may be skipped
        assert zcdp(flip[0], flip[1], F(2), F(2)).certified  # ε²/2, which pure ε-DP gives
        assert lower(renyi(flip[0], flip[1], F(2))) > 1.378 > 1 == 2 * rho
        near_miss = zcdp(gumbel[0], gumbel[1], rho / 2, F(2))
        assert not near_miss.certified and near_miss.refuted_at is not None


def test_a_ball_that_touches_a_claim_does_not_pass() -> None:
    with precision():
        third = ball(F(1, 3))
        assert not (third <= ball(F(1, 3)) and third * 3 < 1) and not third * 3 < 1


def test_no_order_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each order visited settles all down to the next: D_b ≤ ρ·a, from ε/ρ to 1."""
    visited: list[tuple[F, float]] = []

    def spy(left: closed_forms.Law, right: closed_forms.Law, order: F) -> object:
        found = renyi(left, right, order)
        visited.append((order, lower(found)))
        return found

    monkeypatch.setattr("privjail.verify.laws.intervals.renyi", spy)
    rho = F(1, 32)
    with precision():
        left, right = (closed_forms.exponential(data, F(1, 4), ball_decay) for data in ((0, 1), (1, 0)))
        assert zcdp(left, right, rho, F(1, 2)).certified
    orders = [order for order, _ in visited] + [F(1)]
    assert orders[0] == 16
    assert all(d <= float(rho) * max(1.0, float(a)) + 1e-15 for (_, d), a in zip(visited, orders[1:], strict=True))
