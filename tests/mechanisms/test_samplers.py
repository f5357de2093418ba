"""The draws that are our own: uniform numbers and coins of bias exp(-γ)."""

from __future__ import annotations

import math
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import mpmath as mp
import pytest

from privjail.errors import BudgetError
from privjail.mechanisms.noise import LARGEST_SCALE, Noise, Stock

from .laws import real
from .samples import fits


class Walk(Noise):
    """Follows one path through the draws of a coin: the first ``successes`` comparisons succeed, the next fails."""

    def __init__(self, top: int, successes: int) -> None:
        self.top, self.left, self.weight = top, successes, Fraction(1)

    def below(self, n: int) -> int:
        chance = Fraction(min(self.top, n), n)  # of a number below ``top``
        self.left -= 1
        self.weight *= chance if self.left >= 0 else 1 - chance
        return 0 if self.left >= 0 else n


def _chance(gamma: Fraction, depth: int = 26) -> tuple[Fraction, Fraction]:
    """Pr[True] of bernoulli_exp for gamma ≤ 1, by all paths of up to ``depth`` draws, and all that these decide."""
    heads = decided = Fraction(0)
    for successes in range(depth):
        walk = Walk(gamma.numerator, successes)
        if walk.bernoulli_exp(gamma):
            heads += walk.weight
        decided += walk.weight
    return heads, decided


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 7), Fraction(1, 2), Fraction(99, 100), Fraction(1)])
def test_the_exact_chance_of_the_coin(gamma: Fraction) -> None:
    heads, decided = _chance(gamma)
    assert decided > 1 - Fraction(1, 10**20)
    assert abs(real(heads) - mp.exp(-real(gamma))) < mp.mpf(10) ** -20


@pytest.mark.parametrize(
    "gamma", [Fraction(1, 7), Fraction(1), Fraction(3, 2), Fraction(3), Fraction(10**30, 10**30 + 1)]
)
def test_the_coin_has_its_bias_and_not_one_30_percent_off_v5(gamma: Fraction) -> None:
    """V-5: our own sampler too."""
    noise, n = Noise(), 20_000
    heads = sum(noise.bernoulli_exp(gamma) for _ in range(n))
    p = math.exp(-gamma)
    assert fits([heads, n - heads], [p, 1 - p])
    for off in (0.7, 1.3):
        q = math.exp(-off * float(gamma))
        assert not fits([heads, n - heads], [q, 1 - q])


def test_the_coin_at_its_ends() -> None:
    noise = Noise()
    assert all(noise.bernoulli_exp(Fraction(0)) for _ in range(100))
    assert not any(noise.bernoulli_exp(Fraction(10) ** 400) for _ in range(100))
    assert not any(noise.bernoulli_exp(Fraction(10**600 + 1, 10**297)) for _ in range(100))


def test_uniform_numbers_v5() -> None:
    """V-5."""
    noise = Noise()
    drawn = Counter(noise.below(7) for _ in range(14_000))
    assert fits([drawn[i] for i in range(7)], [1 / 7] * 7)
    assert not fits([drawn[i] for i in range(7)], [1.3 / 7] + [(1 - 1.3 / 7) / 6] * 6)
    assert max(noise.below(2**200) for _ in range(50)) > 2**190


def test_scales_beyond_64_bits_are_refused() -> None:
    noise = Noise()
    for draw in (lambda s: noise.laplace(s, 1), lambda s: noise.gaussian(s, 2), lambda s: noise.noisy_max([0, 1], s)):
        draw(LARGEST_SCALE)
        with pytest.raises(BudgetError):
            draw(LARGEST_SCALE * 2)


def test_no_noise_for_no_scale() -> None:
    assert Noise().laplace(0, 3) == Noise().gaussian(0, 3) == [0, 0, 0]
    assert len(Noise().laplace(2.0, 1)) == 1 and len(Noise().gaussian(2.0, 4)) == 4


def test_draws_made_ahead_are_handed_out_once_and_in_no_other_process() -> None:
    made: list[int] = []

    def draw(scale: float, n: int) -> list[int]:
        made.extend(range(len(made), len(made) + n))
        return made[-n:]

    stock = Stock()
    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(lambda _: stock.take(2.0, draw), range(2000)))
    assert len(set(taken)) == len(taken)
    assert stock.take(3.0, lambda scale, n: [-1] * n) == -1  # another scale has its own

    waiting = set(made) - set(taken)
    assert waiting
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, str(stock.take(2.0, lambda scale, n: [-2] * n)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 99) == b"-2"


def test_many_single_draws_follow_the_law() -> None:
    """Both ways: the stated scale fits, one 30 % off does not."""
    noise = Noise()
    drawn = [noise.laplace(2.0, 1)[0] for _ in range(20_000)]

    def misfit(scale: float) -> float:
        a = math.exp(-1 / scale)
        laws = {x: (1 - a) / (1 + a) * a ** abs(x) for x in range(-4, 5)}
        return max(abs(drawn.count(x) / len(drawn) - p) / (p / len(drawn)) ** 0.5 for x, p in laws.items())

    assert misfit(2.0) < 5 < misfit(1.4)


def test_a_stock_is_emptied_before_it_is_taken_over() -> None:
    """Two threads of a forked process: one must not find the other's half-done work, and take the parent's draws."""
    order: list[str] = []

    class Seen(Stock):
        def __setattr__(self, name: str, value: object) -> None:
            order.append(name)
            super().__setattr__(name, value)

    Seen()
    assert order[-1] == "_process" and len(order) == 3
