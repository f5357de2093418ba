"""What the console says about ε: against the laws themselves."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from privjail.curator import meaning as claims
from privjail.curator.meaning import at_most, meaning, of_rho


def best_guess(p, q):
    """How often the best rule is right that tells two equally likely laws apart."""
    return sum(max(a, b) for a, b in zip(p, q, strict=True)) / 2


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1, 3])
@pytest.mark.parametrize("delta", [0, 1e-6, 0.1])
def test_the_best_guess_is_reached_and_never_exceeded(epsilon, delta):
    """By the answers that tell most among those that are (ε, δ)-private; those at more ε tell more."""
    e = math.exp(epsilon)
    sure, kept = delta, (1 - delta) / (1 + e)
    p, q = (sure, e * kept, kept, 0), (0, kept, e * kept, sure)
    assert best_guess(p, q) == pytest.approx(meaning(epsilon, delta).guess)
    assert meaning(1.3 * epsilon, delta).guess > best_guess(p, q) + 1e-6
    assert meaning(0.1).guess == pytest.approx(0.525, abs=1e-4)


@pytest.mark.parametrize("epsilon", [0.05, 0.1, 0.5, 1, 2, 4])
def test_the_noise_on_a_count_is_that_of_its_law(epsilon):
    a = math.exp(-epsilon)
    law = [(1 - a) / (1 + a) * a ** abs(x) for x in range(-5000, 5001)]
    shown = meaning(epsilon)
    beyond = [
        sum(p for x, p in zip(range(-5000, 5001), law, strict=True) if abs(x) > t)
        for t in (shown.noise, shown.noise - 1)
    ]
    assert beyond[0] <= 0.05 + 1e-9 and (beyond[1] > 0.05 or shown.noise == 0)
    assert shown.scale == pytest.approx(sum(abs(x) * p for x, p in zip(range(-5000, 5001), law, strict=True)))


@pytest.mark.parametrize("rho", [0.001, 0.05, 0.5, 1])
def test_the_guess_under_rho_bounds_that_of_gaussian_noise(rho):
    sigma = 1 / math.sqrt(2 * rho)  # of a count
    told = 0.5 + 0.5 * math.erf(1 / (2 * sigma) / math.sqrt(2))
    assert told <= of_rho(rho) <= 1 and of_rho(rho / 2) < told + 0.1


def test_what_is_no_amount_is_refused():
    for given in ((0, 0), (-1, 0), (math.inf, 0), (1, 1), (math.nan, 0)):
        with pytest.raises(ValueError):
            meaning(*given)
    assert meaning(1000).guess == 1


@pytest.mark.parametrize("share", [0.5, 0.5000000001, 0.52498, meaning(0.25).guess, 0.9999, 1 - 2**-53, 1.0, 0.505])
def test_what_is_said_after_at_most_is_never_less(share):
    """And never a tenth of a per cent more."""
    said = Fraction(at_most(share)) / 100
    assert Fraction(share) <= said < Fraction(share) + Fraction(1, 1000)


def test_the_best_guess_before_and_after_a_loss_of_delta_alone():
    assert claims.best_guess(0) == 0.5 and claims.best_guess(0, 0.2) == pytest.approx(0.6)
    assert claims.best_guess(1e6) == 1
