"""Laplace noise: the exact loss as a fraction, the sampler, and the error that is foretold."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privjail.errors import DPError
from privjail.mechanisms import noise as noise_module
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.noise import Noise

from ..budget.people import People
from .laws import real, single, vector
from .samples import fits_law

epsilons = st.fractions(min_value=Fraction(1, 10**9), max_value=10**6)
positive = st.fractions(min_value=Fraction(1, 10**6), max_value=10**9)


@given(epsilons, positive, positive, st.integers(1, 5))
def test_the_loss_is_at_most_epsilon_exactly(epsilon: Fraction, distance: Fraction, grid: Fraction, n: int) -> None:
    """The log-ratio of discrete Laplace noise of scale b (the float that is drawn with) at d steps is d / b."""
    mechanism = Laplace(epsilon)
    calibration = mechanism.calibrate(vector(n, distance, grid))
    on, scale = calibration.on, calibration.scale
    if scale == 0:
        assert distance * n < grid  # less than one step in all: the value cannot move
        return
    assert Fraction(on.steps) / Fraction(scale) <= epsilon
    assert Fraction(on.steps) / Fraction(scale) >= epsilon * (1 - Fraction(1, 2**50))  # and no more noise than that
    if on.coarser == 1:
        assert on.steps == distance * n // grid


def test_no_neighbour_is_more_than_epsilon_away() -> None:
    """The law as a table of probabilities, over all pairs of vectors in a small world."""
    epsilon = Fraction(3, 2)
    for distance in (1, 2, 3):
        scale = Laplace(epsilon).calibrate(vector(1, distance)).scale
        a = mp.exp(-1 / real(scale))

        def log_p(out: tuple[int, ...], x: tuple[int, ...], a: mp.mpf = a) -> mp.mpf:
            return mp.fsum(mp.log((1 - a) / (1 + a) * a ** abs(o - v)) for o, v in zip(out, x, strict=True))

        worst = mp.mpf(0)
        for left in product(range(2), repeat=2):
            for move in product(range(-distance, distance + 1), repeat=2):
                if sum(map(abs, move)) <= distance:
                    right = tuple(x + m for x, m in zip(left, move, strict=True))
                    for out in product(range(-3, 5), repeat=2):
                        worst = max(worst, abs(log_p(out, left) - log_p(out, right)))
        assert real(epsilon) * (1 - mp.mpf(10) ** -12) <= worst <= real(epsilon) + mp.mpf(10) ** -30


def test_the_stated_law_is_a_law() -> None:
    mechanism = Laplace(Fraction(1))
    assert math.fsum(mechanism.pmf(x, 3, 2.5) for x in range(-200, 200)) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.25])
@pytest.mark.parametrize("n", [1, 20_000])
def test_the_sampler_follows_the_law_and_not_one_30_percent_off_v5(scale: float, n: int) -> None:
    """V-5: single draws and vectors are two samplers."""
    noise, law = Noise(), Laplace(Fraction(1)).pmf
    drawn = noise.laplace(scale, n) if n > 1 else [noise.laplace(scale, 1)[0] for _ in range(1500)]
    assert fits_law(drawn, lambda x: law(x, 0, scale), 40)
    if n > 1:
        assert not fits_law(drawn, lambda x: law(x, 0, scale * 0.7), 40)
        assert not fits_law(drawn, lambda x: law(x, 0, scale * 1.3), 40)


def test_draws_that_are_cut_off_are_drawn_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the edges moved to where they are met often, the law must stay the same beyond them."""
    drawn_by_opendp = noise_module._drawn

    def cut(measurement: object, n: int) -> list[int]:
        return [max(-3, min(2, x)) for x in drawn_by_opendp(measurement, n)]

    monkeypatch.setattr(noise_module, "_drawn", cut)
    noise, law = Noise(), Laplace(Fraction(1)).pmf
    plain = noise.laplace(2.0, 2500)
    assert not fits_law(plain, lambda x: law(x, 0, 2.0), 30)
    monkeypatch.setattr(noise_module, "EDGES", (-3, 2))
    assert fits_law(noise.laplace(2.0, 2500), lambda x: law(x, 0, 2.0), 30)


@pytest.mark.parametrize(("epsilon", "distance", "grid"), [(1, 1, 1), (0.3, 2, 1), (4, 1, 1), (1, 1, Fraction(1, 64))])
def test_the_error_that_is_foretold_is_met(epsilon: float, distance: int, grid: Fraction) -> None:
    mechanism = Laplace(Fraction(epsilon))
    value = single(distance, grid)
    calibration = mechanism.calibrate(value)
    on, scale = calibration.on, calibration.scale
    drawn = Counter(abs(x) for x in Noise().laplace(float(scale), 40_000))
    for confidence in (0.5, 0.9, 0.95, 0.99):
        error = Fraction(mechanism.error(value, confidence))
        within = sum(k for x, k in drawn.items() if x * on.grid <= error) / 40_000
        less = sum(k for x, k in drawn.items() if x * on.grid < error) / 40_000
        assert within >= confidence - 0.02
        assert less <= confidence + 0.02  # one step less would not be enough


def test_the_price_of_an_accuracy() -> None:
    n = People().df.shape[0]
    for error in (1, 3.5, 20, 400):
        eps = n.eps_for(error=error)
        assert n.error(eps=eps) <= error
        assert n.error(eps=eps * 0.98) > error or n.error(eps=eps * 0.5) > error
    mean = People().df.income.sum()
    eps = mean.eps_for(error=10, confidence=0.8)
    assert mean.error(eps=eps, confidence=0.8) == pytest.approx(10, rel=1e-3)


def test_asking_for_the_error_costs_nothing() -> None:
    people = People(budget=1)
    people.df.shape[0].error(eps=0.1)
    people.df.shape[0].eps_for(error=3)
    assert people.cost() == 0
    for confidence in (0, 1, -1, 2, math.nan):
        with pytest.raises(DPError):
            people.df.shape[0].error(eps=1, confidence=confidence)


def test_public_values_get_no_noise() -> None:
    assert Laplace(Fraction(1)).sample(single(0, Fraction(1, 3)), 7, Noise()) == 7 / 3
    assert Laplace(Fraction(1)).error(single(0), 0.95) == 0


def test_what_it_refuses() -> None:
    with pytest.raises(DPError):
        Laplace(Fraction(1)).check(vector(0, 1))
    with pytest.raises(DPError):
        Laplace(math.nan)  # type: ignore[arg-type]
    assert Laplace(0.1).epsilon == Fraction(1, 10)  # type: ignore[arg-type]


def test_nothing_is_looked_at_again() -> None:
    assert Laplace(Fraction(1)).choices(single(Fraction(1), Fraction(1))) == 0


def test_every_mechanism_is_imported_by_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    from pathlib import Path

    from privjail.mechanisms import registry

    named: list[str] = []
    monkeypatch.setattr(registry.importlib, "import_module", named.append)
    registry.load_all()
    files = {path.stem for path in Path(registry.__file__).parent.glob("*.py")} - {"__init__"}

    assert {name.removeprefix("privjail.mechanisms.") for name in named} == files
