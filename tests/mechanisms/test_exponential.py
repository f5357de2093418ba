"""The exponential mechanism: its exact law, from its own code."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import pytest

from privjail.errors import DPError, PlanError
from privjail.mechanisms.exponential import Exponential
from privjail.mechanisms.noise import Noise
from privjail.pandas.vectors import SensitiveSeries

from .laws import Law, law_of, loss, neighbours, real, renyi, vector
from .samples import fits

SLACK = mp.mpf(10) ** -30


def _law(mechanism: Exponential, scores: tuple[int, ...], reach: int, grid: Fraction = Fraction(1)) -> Law:
    value = vector(len(scores), reach * grid, grid)
    return law_of(lambda noise: mechanism.sample(value, list(scores), noise))


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2), Fraction(5)])
@pytest.mark.parametrize(("n", "reach"), [(2, 1), (2, 2), (3, 1)])
def test_no_neighbour_is_more_than_epsilon_away(epsilon: Fraction, n: int, reach: int) -> None:
    mechanism = Exponential(epsilon)
    worst, divergence = mp.mpf(0), mp.mpf(0)
    laws = {}
    for left, right in neighbours(n, 3, reach, monotone=False):
        for scores in (left, right):
            if scores not in laws:
                laws[scores] = _law(mechanism, scores, reach)
        worst = max(worst, loss(laws[left], laws[right]))
        for order in (1.01, 2, 5, 40):
            share = renyi(laws[left], laws[right], order) / order
            divergence = max(divergence, share)
    assert worst <= real(epsilon) + SLACK
    rho = mechanism.loss.rho
    assert rho is not None and divergence <= real(rho) + SLACK  # ε²/8 from the exact law (V-12)


def test_both_claims_are_reached_so_noise_30_percent_too_small_is_caught() -> None:
    eps = Fraction(1, 2)
    mechanism = Exponential(eps)
    near = loss(_law(mechanism, (0, 40), 1), _law(mechanism, (1, 39), 1))
    assert real(eps) * 0.99 < near <= real(eps)
    even = renyi(_law(mechanism, (0, 1), 1), _law(mechanism, (1, 0), 1), 1.01) / 1.01
    assert real(eps**2 / 8) * 0.97 < even <= real(eps**2 / 8)


def test_the_law_is_the_one_stated() -> None:
    mechanism = Exponential(Fraction(3, 2))
    law = _law(mechanism, (4, 1, 3, 3), 2)
    weights = [mp.exp(real(Fraction(3, 2)) * s / 4) for s in (4, 1, 3, 3)]
    for i, weight in enumerate(weights):
        assert abs(law[i] - weight / mp.fsum(weights)) < SLACK


def test_the_grid_only_changes_the_unit() -> None:
    mechanism = Exponential(Fraction(1))
    assert _law(mechanism, (4, 1, 3), 2, Fraction(1, 8)) == _law(mechanism, (4, 1, 3), 2)


def test_a_certificate_states_the_rate_of_the_law() -> None:
    """exp(ε·score / 2Δ): scores that move by 2 are weighed by ε / 4 each, on any grid."""
    for grid in (Fraction(1), Fraction(1, 8), Fraction(4)):
        noise = Exponential(Fraction(1)).certificate_noise(vector(3, 2, grid))
        assert (noise["rate"], noise["sensitivity"]) == ("1/4", "2"), grid


HUGE = 10**308


@pytest.mark.parametrize("scores", [(HUGE, -HUGE, 0), (-HUGE, -HUGE, HUGE - 1), (HUGE, HUGE, 1), (0, 0, 0), (7, 7, 0)])
def test_extreme_scores_and_ties_v45(scores: tuple[int, ...]) -> None:
    """V-45: no overflow, no NaN, no 0/0; ties are equally likely, exactly."""
    mechanism = Exponential(Fraction(1))
    law = _law(mechanism, scores, 1)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        if scores[i] == scores[j]:
            assert law[i] == law[j]
    noise = Noise()
    value = vector(3, 1)
    drawn = [mechanism.sample(value, list(scores), noise) for _ in range(3000)]
    likely = [float(law.get(i, 0)) for i in range(3)]
    assert fits([drawn.count(i) for i in range(3)], likely)


def test_scores_as_fine_as_floats_go_v45() -> None:
    """V-45: scores on a grid of 2**-1000, and a distance of 1e300 of them, are told apart exactly."""
    mechanism = Exponential(Fraction(2))
    grid = Fraction(1, 2**1000)
    far = law_of(lambda noise: mechanism.sample(vector(2, grid * 2**990, grid), [0, 2**990], noise))
    assert abs(far[1] / far[0] - mp.e) < mp.mpf(10) ** -30


def test_public_scores_need_no_noise() -> None:
    assert Exponential(Fraction(1)).sample(vector(3, 0), [1, 5, 5], Noise()) == 1


def test_what_it_refuses() -> None:
    with pytest.raises(DPError):
        Exponential(Fraction(1)).check(vector(0, 1))
    with pytest.raises(DPError):
        Exponential(Fraction(0))


def test_rho_is_an_eighth_of_the_square_of_epsilon() -> None:
    assert Exponential(Fraction(2)).loss.rho == Fraction(1, 2)


def test_it_shows_a_position_and_no_numbers() -> None:
    """It is no way to reveal a vector, and nothing says how far its answer is off."""
    scores = SensitiveSeries(vector(3, 1))
    with pytest.raises(PlanError, match="chooses among elements"):
        scores.reveal(mechanism=Exponential(Fraction(1)))
    with pytest.raises(PlanError, match="exponential is off is not known"):
        Exponential(Fraction(1)).error(vector(3, 1), 0.95)
