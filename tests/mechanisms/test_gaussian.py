"""Gaussian noise: the calibration in high precision, the step from continuous to discrete, ρ, and the sampler."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import pytest

from privjail.errors import BudgetError
from privjail.mechanisms.gaussian import FINE, MOST_EPSILON, Gaussian, delta_of
from privjail.mechanisms.noise import Noise

from .laws import real, single, vector
from .samples import fits_law

EPSILONS = [Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2), 1, 2, 5, 10, 15, 20, 30]
DELTAS = [Fraction(1, 10**k) for k in (1, 3, 5, 8, 10)]


def exact_delta(sigma: Fraction | mp.mpf, epsilon: Fraction) -> mp.mpf:
    """Balle & Wang 2018, theorem 8, with 60 digits."""
    with mp.workdps(60):
        s = sigma if isinstance(sigma, mp.mpf) else real(sigma)
        e = real(epsilon)
        return mp.ncdf(1 / (2 * s) - e * s) - mp.exp(e) * mp.ncdf(-1 / (2 * s) - e * s)


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_delta_holds_for_every_epsilon_up_to_30_v14(epsilon: Fraction) -> None:
    """V-14: δ of the σ that is drawn with, plus what the discrete law adds, is at most the δ that is paid."""
    for delta in DELTAS:
        for n in (1, 1000):
            try:
                sigma = Gaussian(Fraction(epsilon), delta).calibrate(vector(n, Fraction(1))).sigma
            except BudgetError:
                assert epsilon > 20  # e**ε·n / 2**80 leaves nothing of the smallest δ
                continue
            unit = sigma / Fraction(vector(n, 1).joint.l2)
            spare = n * (1 + mp.exp(real(epsilon))) / (12 * mp.mpf(FINE) ** 2)
            true = exact_delta(unit, Fraction(epsilon)) + spare
            assert true <= real(delta)
            assert true >= real(delta) * mp.mpf("0.999")  # and the noise is no larger than it must be


def test_the_textbook_formula_is_refuted_and_not_used_v14() -> None:
    """V-14: σ = √(2 ln(1.25/δ)) / ε at ε = 10, δ = 1e-5 has a true δ of 2.3e-5."""
    epsilon, delta = Fraction(10), Fraction(1, 10**5)
    textbook = mp.sqrt(2 * mp.log(1.25 / real(delta))) / 10
    assert exact_delta(textbook, epsilon) > 2 * real(delta)
    assert Gaussian(epsilon, delta).calibrate(single(1)).sigma > Fraction(float(textbook)) * Fraction(101, 100)
    # a σ that is 1 % too small is caught by the test above
    assert exact_delta(real(Gaussian(epsilon, delta).calibrate(single(1)).sigma) * mp.mpf("0.99"), epsilon) > real(
        delta
    )


def test_delta_in_floats_is_never_below_delta_in_60_digits_by_more_than_the_margin() -> None:
    for sigma in (0.05, 0.2, 1.0, 3.7, 50.0, 1e4):
        for epsilon in EPSILONS:
            true = exact_delta(mp.mpf(sigma), Fraction(epsilon))
            assert delta_of(sigma, float(epsilon)) >= true * (1 - mp.mpf(10) ** -9) - mp.mpf(10) ** -300


def _discrete(s: mp.mpf, reach: int) -> dict[int, mp.mpf]:
    weights = {x: mp.exp(-mp.mpf(x * x) / (2 * s * s)) for x in range(-reach, reach + 1)}
    total = mp.fsum(weights.values())
    return {x: w / total for x, w in weights.items()}


@pytest.mark.parametrize("s", [1, 2, 5, 12])
def test_rounded_and_discrete_noise_differ_by_little(s: int) -> None:
    """Total variation at most 1/(12 s²), which is what σ leaves room for."""
    law = _discrete(mp.mpf(s), 14 * s)
    apart = mp.fsum(abs(p - (mp.ncdf((x + 0.5) / s) - mp.ncdf((x - 0.5) / s))) for x, p in law.items()) / 2
    assert mp.mpf(1) / (100 * s * s) < apart <= mp.mpf(1) / (12 * s * s)


@pytest.mark.parametrize(("s", "move"), [(2, 1), (4, 3), (10, 4)])
def test_the_discrete_law_has_the_delta_that_is_claimed(s: int, move: int) -> None:
    """From the probabilities themselves: δ(ε) of the discrete law ≤ δ of the continuous one + (1 + e^ε)/(12 s²)."""
    law = _discrete(mp.mpf(s), 16 * s)
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(3)):
        e = mp.exp(real(epsilon))
        true = mp.fsum(max(mp.mpf(0), p - e * law.get(x - move, mp.mpf(0))) for x, p in law.items())
        continuous = exact_delta(Fraction(s, move), epsilon)
        assert true <= continuous + (1 + e) / (12 * s * s)


@pytest.mark.parametrize("s", ["0.4", "1", "3.3"])
def test_rho_holds_at_every_order(s: str) -> None:
    """Canonne, Kamath, Steinke 2020: D_α ≤ α·d²/2σ² for whole moves d, even where σ is less than a step."""
    sigma = mp.mpf(s)
    law = _discrete(sigma, 60)
    for move in (1, 2, 4):
        for order in (mp.mpf("1.05"), mp.mpf(2), mp.mpf(8), mp.mpf(30)):
            parts = [p**order * law[x - move] ** (1 - order) for x, p in law.items() if x - move in law]
            divergence = mp.log(mp.fsum(parts)) / (order - 1)
            claim = order * move * move / (2 * sigma * sigma)
            assert divergence <= claim * (1 + mp.mpf(10) ** -20)
            if s == "3.3" and order == 2:
                assert divergence >= claim * mp.mpf("0.999")  # σ 30 % too small would double it


def test_sigma_follows_from_rho() -> None:
    for rho in (Fraction(1, 1000), Fraction(1, 2), Fraction(7)):
        for distance in (Fraction(1), Fraction(3, 7)):
            sigma = Gaussian(rho=rho).calibrate(vector(5, distance)).sigma
            exact = distance**2 * 5 / (2 * rho)
            assert exact <= sigma**2 <= exact * (1 + Fraction(1, 2**50))


@pytest.mark.parametrize("scale", [0.6, 2.0, 9.5])
@pytest.mark.parametrize("n", [1, 20_000])
def test_the_sampler_follows_the_law_and_not_one_30_percent_off_v5(scale: float, n: int) -> None:
    """V-5."""

    def law(x: int, s: float) -> float:
        return math.exp(-x * x / (2 * s * s)) / sum(math.exp(-k * k / (2 * s * s)) for k in range(-200, 201))

    noise = Noise()
    drawn = noise.gaussian(scale, n) if n > 1 else [noise.gaussian(scale, 1)[0] for _ in range(1500)]
    assert fits_law(drawn, lambda x: law(x, scale), 40)
    if n > 1:
        assert not fits_law(drawn, lambda x: law(x, scale * 0.7), 40)
        assert not fits_law(drawn, lambda x: law(x, scale * 1.3), 40)


def test_a_release_has_the_stated_deviation_and_error() -> None:
    """Through the mechanism: the spread of 20 000 elements, and how many lie within the error foretold."""
    mechanism = Gaussian(Fraction(1), Fraction(1, 10**6))
    value = vector(20_000, Fraction(1, 100))
    drawn = mechanism.sample(value, [0] * 20_000, Noise())
    sigma = float(mechanism.calibrate(value).sigma)
    spread = math.sqrt(math.fsum(x * x for x in drawn) / 20_000)
    assert 0.96 < spread / sigma < 1.04
    for confidence in (0.5, 0.95):
        error = mechanism.error(value, confidence)
        within = sum(abs(x) <= error for x in drawn) / 20_000
        assert within == pytest.approx(confidence, abs=0.02)


def test_the_noise_is_fine_enough_for_the_argument() -> None:
    """σ spans at least 2**40 and at most 2**54 steps, whatever the grid."""
    asked: list[float] = []

    class Watching(Noise):
        def gaussian(self, scale: float, n: int) -> list[int]:
            asked.append(scale)
            return [0] * n

    for grid in (Fraction(1), Fraction(1, 3), Fraction(1, 2**40), Fraction(10**6)):
        value = single(Fraction(1), grid)
        for mechanism in (Gaussian(rho=Fraction(1, 2)), Gaussian(Fraction(1), Fraction(1, 10**6))):
            mechanism.check(value)
            mechanism.sample(value, 3, Watching())
    assert all(2**40 <= scale <= 2**54 for scale in asked)


def test_public_values_get_no_noise() -> None:
    assert Gaussian(rho=Fraction(1)).sample(single(0), 7, Noise()) == 7


@pytest.mark.parametrize(
    ("epsilon", "delta", "rho"),
    [(None, None, None), (1, None, None), (None, 0.1, None), (1, 0.1, 1), (1, None, 1), (MOST_EPSILON + 1, 0.1, None)],
)
def test_what_it_refuses(epsilon: object, delta: object, rho: object) -> None:
    with pytest.raises(BudgetError):
        Gaussian(epsilon, delta, rho)  # type: ignore[arg-type]


def test_what_cannot_be_drawn_is_refused_by_check() -> None:
    for mechanism, value in (
        (Gaussian(Fraction(30), Fraction(1, 10**12)), vector(10**6, 1)),
        (Gaussian(rho=Fraction(1, 10**9)), single(1, Fraction(1, 10**13))),
    ):
        with pytest.raises(BudgetError):
            mechanism.check(value)


def test_noise_that_is_wide_already_stays_on_the_grid_of_the_value() -> None:
    """A finer grid than needed would show in the answers: counts with noise of 2⁴⁰ are whole numbers."""
    mechanism = Gaussian(rho=Fraction(1, 2))  # σ is the sensitivity
    grids = [mechanism.calibrate(single(Fraction(2**k), Fraction(1))).on.grid for k in (41, 40, 39)]

    assert grids == [1, 1, Fraction(1, 2)]
