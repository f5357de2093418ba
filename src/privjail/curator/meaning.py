"""What an amount of privacy loss means, in numbers that need no mathematics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal


@dataclass(frozen=True)
class Meaning:
    """What ε (and δ) allow: the best guess about one person, and the noise on a count."""

    epsilon: float
    delta: float
    guess: float  # at most: how often a guess that was right half the time can now be right
    noise: float  # a count is off by at most this much, 95 times of 100
    scale: float  # the mean distance of a noisy count from the true one


def meaning(epsilon: float, delta: float = 0.0) -> Meaning:
    """The attacker knows everybody else's data, and guesses whether one person's are there (or which of two they are).

    Before: 50 %. After an (ε, δ)-private release no rule of guessing is right more often than (e^ε + δ) / (1 + e^ε)
    (Wasserman, Zhou 2010; Kairouz, Oh, Viswanath 2015: a test with errors a and b has a + e^ε·b ≥ 1 − δ).

    >>> round(meaning(0.1).guess, 3)
    0.525
    """
    if not (0 < epsilon < math.inf and 0 <= delta < 1):
        raise ValueError("ε is a number above 0, δ one from 0 to below 1")
    guess = best_guess(epsilon, delta)
    a = math.exp(-epsilon)  # discrete Laplace noise: Pr[|X| > t] = 2 a**(t+1) / (1 + a)
    off = max(0, math.ceil(math.log(0.05 * (1 + a) / 2) / -epsilon - 1 - 1e-12))
    return Meaning(epsilon, delta, guess, off, 2 * a / (1 - a * a) if a < 1 else math.inf)


def best_guess(epsilon: float, delta: float = 0.0) -> float:
    """How often the best guess is right, at most; for ε = 0, too, where δ alone was spent or nothing was."""
    return 1.0 if epsilon > 500 else min(1.0, (math.exp(epsilon) + delta) / (1 + math.exp(epsilon)))


def at_most(share: float) -> str:
    """A share as a percentage with one decimal, rounded up: printed after "at most", less would be a false claim.

    >>> at_most(meaning(0.1).guess), at_most(meaning(0.25).guess)
    ('52.5', '56.3')
    """
    # The text of the float is its exact decimal value, and the ceiling of that is exact, too.
    exact = Decimal(share) * 100
    return str(min(exact.quantize(Decimal("0.1"), ROUND_CEILING), Decimal("100.0")))


def of_rho(rho: float) -> float:
    """The same best guess under ρ-zCDP: by Pinsker's inequality, since the Kullback-Leibler divergence is at most ρ."""
    return min(1.0, 0.5 + 0.5 * math.sqrt(rho / 2))
