"""Why no estimator beats the best of all others in every setting: a bound, not a shortcoming of ours.

Unary encoding, ε = ½, 1,000 people, 1,000 answers. Somebody is told that the population is either even or has half of
its people at one answer (nobody knows which), and nothing else is possible. With odds o for the second, the posterior
mean minimises risk(even) + o·risk(peaked). So whoever has a risk(even) no larger than its own has a risk(peaked) no
smaller than its own. This one already loses to the simplex projection on peaked data when it loses to IBU on even data.
"""

from __future__ import annotations

import numpy as np
import pytest

from privjail.local import Categories, Unary
from privjail.simplex import nearest_on_simplex
from privjail.local.estimation.smooth import Counts, posterior_mean

K, N = 1000, 1000
P, Q = (float(rate) for rate in Unary.optimised(Categories.numbered(K), 0.5).rates)
EVEN = np.full(K, 1 / K)
PEAKED = np.append(0.5, np.full(K - 1, 0.5 / (K - 1)))


def tallies(truth, rounds, seed):
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        held = rng.multinomial(N, truth)
        yield (rng.binomial(held, P) + rng.binomial(N - held, Q)).astype(float)


def ibu(tally, steps=10_000):
    """multi-freq-ldpy's iterative Bayesian update, without writing down its matrix of two numbers."""
    seen, guess = tally / tally.sum(), EVEN.copy()
    for _ in range(steps):
        weights = seen / (Q + (P - Q) * guess)
        guess = guess * (Q * weights.sum() + (P - Q) * weights)
    return guess


def told(tally, odds):
    """The posterior mean of who knows that all is even, or that one answer holds half of the people."""

    def log_chance(t):
        rate = Q + (P - Q) * t
        return tally * np.log(rate) + (N - tally) * np.log(1 - rate)

    high, low = PEAKED[0], PEAKED[1]
    gains = log_chance(high) - log_chance(low)  # of each answer, if it were the one
    chances = np.exp(gains - gains.max())
    log_odds = np.log(odds * chances.mean()) + gains.max() + (log_chance(low) - log_chance(1 / K)).sum()
    share = 1 / (1 + np.exp(-log_odds))
    return (1 - share) / K + share * (low + (high - low) * chances / chances.sum())


def risk(estimator, truth, rounds, seed):
    return float(np.mean([((estimator(t) - truth) ** 2).mean() for t in tallies(truth, rounds, seed)]))


def test_no_estimator_is_as_good_as_ibu_on_even_and_as_the_simplex_on_peaked_data():
    even = risk(lambda t: told(t, 0.01), EVEN, 400, 3)
    peaked = risk(lambda t: told(t, 0.01), PEAKED, 400, 4)
    simplex = risk(lambda t: nearest_on_simplex((t / N - Q) / (P - Q)), PEAKED, 400, 4)

    assert risk(ibu, EVEN, 3, 3) < even / 2
    assert peaked > 1.15 * simplex


@pytest.mark.parametrize("n", [1000, 10_000])
def test_where_reports_say_next_to_nothing_even_answers_are_left_alone(n):
    """What we chose there: on even data no further off than IBU, which hardly leaves its even start."""
    rng = np.random.default_rng(n)
    ours = []
    for _ in range(8):
        held = rng.multinomial(n, EVEN)
        tally = (rng.binomial(held, P) + rng.binomial(n - held, Q)).astype(float)
        ours.append(((posterior_mean([Counts(tally, n, P, Q, exclusive=False)]) - EVEN) ** 2).mean())
    theirs = (1e4 / K * ((P - Q) / Q) ** 2) ** 2 * Q * (1 - Q) / (n * (P - Q) ** 2) / K**2  # (c·σ/k)²
    if n == 1000:
        assert theirs == pytest.approx(risk(ibu, EVEN, 2, 5), rel=0.15)
    assert np.mean(ours) < 0.5 * theirs
