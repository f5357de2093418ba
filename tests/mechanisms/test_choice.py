"""Exact choices: certified weights, the laws of the shipped samplers from their own bits, and their work (V-54, V-45)."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import pandas
from privjail.errors import PlanError
from privjail.mechanisms import choice
from privjail.mechanisms.exponential import Exponential
from privjail.mechanisms.mechanism import Mechanism
from privjail.mechanisms.noise import Noise, PredrawnNoise
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.mechanisms.weights import BITS, exponential, weights, whole
from privjail.verify.laws import closed_forms
from privjail.verify.laws.intervals import ball_decay, precision
from privjail.verify.laws.measured import ONE, WIDTH, Bits, agrees_with, answered, exponential_law, flip_law, halved

from tests.pandas.seen import opened

from .laws import vector
from .work import work

HALF = Fraction(1, 2)
FACTORS = [HALF, Fraction(1, 200), Fraction(50), Fraction(1000), Fraction(1, 3**60), Fraction(1, 2**127)]


# Certified weights


@pytest.mark.parametrize("factor", [*FACTORS, Fraction(1, 2**1000), Fraction(10) ** 300])
@pytest.mark.parametrize("limbs", [4, 8])
def test_a_weight_is_at_most_the_exponential_and_no_more_than_the_error_below_it(factor: Fraction, limbs: int) -> None:
    table = weights(factor, limbs)
    near = [int(x / factor) for x in (Fraction(1, 10**30), 1, 3, 20, 88, 89, 5000)]
    gaps = [0, 1, 2, 255, 256, 257, 65_535, 65_536, 2**62 + 1, 10**38, 10**300 + 7, *near]
    found = table.of([-gap for gap in gaps])
    with mp.workprec(1200):
        for i, gap in enumerate(gaps):
            true = mp.exp(-mp.mpf(gap) * factor.numerator / factor.denominator) * mp.mpf(2) ** (BITS * limbs)
            assert 0 <= true - whole(found[:, i]) <= table.error
    assert table.error <= 70


@pytest.mark.parametrize(
    "x", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(77, 10), Fraction(199), Fraction(400)]
)
def test_bounds_of_one_exponential_enclose_it_closely(x: Fraction) -> None:
    low, high = exponential(x, 200)
    with mp.workprec(1200):
        assert low <= mp.exp(-mp.mpf(x.numerator) / x.denominator) * mp.mpf(2) ** 200 <= high
    assert high - low <= 3


def test_weights_are_the_same_in_one_block_and_in_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gaps are those to the largest score of all blocks."""
    table, scores = weights(HALF, 4), [3, 0, 9, 4, 4, 1, 8, 2, 7, 5, 6]
    at_once = table.of(scores)
    for size in (1, 2, 5, 10, 11):
        monkeypatch.setattr("privjail.mechanisms.weights.BLOCK", size)
        assert (table.of(scores) == at_once).all()


@pytest.mark.parametrize("choose", [choice.exponential_choice, choice.permute_and_flip])
def test_a_choice_among_many_needs_no_more_bytes_for_each_than_foreseen(choose: Any) -> None:
    n = 200_000
    scores = list(range(n))
    choose([0, 1], HALF, Noise().uniform)
    tracemalloc.start()
    try:
        choose(scores, HALF, Noise().uniform)
        assert tracemalloc.get_traced_memory()[1] < choice.CHOICE_BYTES * n
    finally:
        tracemalloc.stop()


def test_a_factor_of_zero_has_no_weights() -> None:
    with pytest.raises(PlanError):
        weights(Fraction(0), 4)


# The law of the shipped samplers, measured on their own bits


SCORES = [(5,), (0, 1), (2, 0, 2), (1, 0, 3, 2), (0, -40, -41), (7, 7, 7), (10**30, 0, 10**30 - 3)]


@pytest.mark.parametrize("scores", SCORES)
def test_the_exponential_choice_has_its_law_v45(scores: tuple[int, ...]) -> None:
    """V-45: to within 2**-98, for every input; a factor that is off by 2**-90 is told apart."""
    found = exponential_law(lambda noise: noise.exponential(scores, HALF))
    with precision():
        assert agrees_with(found, closed_forms.exponential(scores, HALF, ball_decay)) and found.lost < Fraction(
            1, 2**98
        )
        if 0 < max(scores) - min(scores) < 10:
            assert not agrees_with(found, closed_forms.exponential(scores, HALF + Fraction(1, 2**90), ball_decay))
            assert not agrees_with(found, closed_forms.permute_and_flip(scores, HALF, ball_decay))


@pytest.mark.parametrize("scores", SCORES)
def test_permute_and_flip_has_its_law_v45(scores: tuple[int, ...]) -> None:
    """V-45."""
    found = flip_law(lambda noise: noise.noisy_max(scores, 2.0), len(scores))
    with precision():
        assert agrees_with(found, closed_forms.permute_and_flip(scores, HALF, ball_decay)) and found.lost < Fraction(
            1, 2**97
        )
        if 0 < max(scores) - min(scores) < 10:
            assert not agrees_with(found, closed_forms.permute_and_flip(scores, HALF + Fraction(1, 2**90), ball_decay))
            assert not agrees_with(found, closed_forms.exponential(scores, HALF, ball_decay))


@pytest.mark.parametrize("scores", [(0, 1), (2, 0, 2)])
def test_with_a_second_pass_the_laws_are_met_beyond_the_first_ones_precision(scores: tuple[int, ...]) -> None:
    inverted = exponential_law(lambda noise: noise.exponential(scores, HALF), most=320, depth=200)
    flipped = flip_law(lambda noise: noise.noisy_max(scores, 2.0), len(scores), most=256, depth=200)
    assert inverted.lost < Fraction(1, 2**197) and flipped.lost < Fraction(1, 2**197)
    with precision():
        assert agrees_with(inverted, closed_forms.exponential(scores, HALF, ball_decay))
        assert agrees_with(flipped, closed_forms.permute_and_flip(scores, HALF, ball_decay))


def test_mechanisms_have_their_laws_from_bits_too() -> None:
    """Factor and scale as the mechanisms pass them: ε·grid/2Δ, ε/2Δ, and ε/Δ for counts."""
    value, counts = vector(3, 4, Fraction(1, 2)), vector(3, 4, Fraction(1, 2), monotone=True)
    scores = [9, 0, 13]
    found = exponential_law(lambda noise: Exponential(Fraction(3)).sample(value, scores, noise))
    either = flip_law(lambda noise: NoisyMax(Fraction(3)).sample(value, scores, noise), 3)
    one_way = flip_law(lambda noise: NoisyMax(Fraction(3)).sample(counts, scores, noise), 3)
    with precision():
        assert agrees_with(found, closed_forms.exponential(scores, Fraction(3, 16), ball_decay))
        scale, smaller = (NoisyMax(Fraction(3)).calibrate(each).scale for each in (value, counts))
        assert Fraction(3, 16) * scale == pytest.approx(1, abs=1e-12) == Fraction(3, 8) * smaller
        assert agrees_with(either, closed_forms.permute_and_flip(scores, 1 / scale, ball_decay))
        assert agrees_with(one_way, closed_forms.permute_and_flip(scores, 1 / smaller, ball_decay))


def test_an_answer_in_two_intervals_is_noticed() -> None:
    with pytest.raises(ValueError, match="no interval"):
        halved(lambda u: int(ONE // 4 <= u < 3 * ONE // 4), 20)


# A second pass


def _bits(text: str) -> int:
    return int(text, 2) << (WIDTH - len(text))


def test_a_uniform_on_a_boundary_is_refined_until_it_is_decided() -> None:
    """Two equal scores: the boundary is exactly ½. All bits of the first pass lie on it."""
    for first_pass, second_pass, expected in (("0" + "1" * 191, "0" * 128, 0), ("1" + "0" * 191, "1" * 128, 1)):
        noise = Bits([[_bits(first_pass + second_pass)]], 320)
        assert noise.exponential([4, 4], HALF) == expected and noise.draws == [(6, 1), (4, 1)]
    assert answered(lambda noise: noise.exponential([4, 4], HALF), [[ONE // 2]], WIDTH) is None  # for ever undecided


@pytest.mark.parametrize(("more", "heads"), [("0" * 128, True), ("1" * 128, False)])
def test_a_coin_on_its_weight_is_refined_until_it_is_decided(more: str, heads: bool) -> None:
    """The coin of score 0 begins with the weight exp(-½·3), rounded down to 128 bits: less or more by what follows."""
    with mp.workprec(600):
        weight = int(mp.floor(mp.exp(mp.mpf(-3) / 2) * mp.mpf(2) ** 128))
    coin = _bits(format(weight, "0128b") + more)
    noise = Bits([[coin, 0], [0, ONE // 2]], 256)  # score 0 comes first in time
    assert noise.noisy_max([0, 3], 2.0) == (0 if heads else 1) and noise.draws == [(4, 2)] * 4


@pytest.mark.parametrize("later", [0, 1])
def test_equal_times_are_refined_until_they_differ(later: int) -> None:
    times = [ONE // 3 >> (WIDTH - 128) << (WIDTH - 128)] * 2
    times[later] += 1 << (WIDTH - 250)
    noise = Bits([[0, 0], times], 256)
    assert noise.noisy_max([4, 4], 2.0) == 1 - later and noise.draws == [(4, 2)] * 4


# Work


N = 120
WORLDS = {
    "flat": [0] * N,
    "peaked": [0] * (N - 1) + [3000],
    "one more row": [0] * (N - 1) + [3001],
    "two peaks": [10**6] + [0] * (N - 2) + [10**6],
    "steps": list(range(N)),
    "extreme": [-(10**300), 10**300] + [7] * (N - 2),
    "large": [2**70 + 2**65 * i for i in range(N)],
}
MECHANISMS: dict[str, Mechanism] = {
    "exponential": Exponential(Fraction(1, 100)),
    "exponential, large ε": Exponential(Fraction(5)),
    "noisy max": NoisyMax(Fraction(1, 100)),
    "noisy min": NoisyMax(Fraction(2), smallest=True),
    "top 3": NoisyMax(Fraction(1), k=3),
    "noisy max, tiny ε": NoisyMax(Fraction(1, 10**9)),
}


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("grid", [Fraction(1), Fraction(1, 2**300)], ids=["whole numbers", "very fine grid"])
def test_the_work_of_a_choice_does_not_depend_on_the_scores_v54(name: str, grid: Fraction) -> None:
    """V-54: the very same steps on arrays of the same shapes, whatever the scores; nor on the noise (V-6)."""
    mechanism, value = MECHANISMS[name], vector(N, 1, grid)
    mechanism.sample(value, WORLDS["flat"], Noise())  # tables are made once for each factor, which is public
    first = work(lambda: mechanism.sample(value, WORLDS["flat"], Noise()))
    assert len(first) > 1000
    for world, scores in WORLDS.items():
        for _ in range(3):
            assert work(lambda scores=scores: mechanism.sample(value, scores, Noise())) == first, world  # type: ignore[misc]


AGES = {
    "equal": [40] * 60,
    "one is far": [40] * 59 + [97],
    "two ends": [0] * 30 + [99] * 30,
    "one row": [3],
}


@pytest.mark.parametrize("ask", ["median", "max", "top 3"])
def test_the_work_of_an_answer_does_not_depend_on_the_data_v54(ask: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """V-54: a quantile is a noisy max over ranks, and a count. All that the mechanisms do is the same on data of one schema."""
    # How much noise is in stock depends on how much was used before: here each draw is made when it is asked for.
    monkeypatch.setattr(PredrawnNoise, "take", lambda self, scale, draw: draw(scale, 1)[0])
    asks: dict[str, Callable[[Any], Any]] = {
        "median": lambda df: df["age"].median(eps=1),
        "max": lambda df: df["age"].max(eps=1),
        "top 3": lambda df: df["age"].value_counts(sort=False).nlargest(3, eps=1),
    }
    schema = {"age": {"type": "Int64", "range": [0, 99]}}
    tables = [opened(pandas.DataFrame({"age": ages}), schema) for ages in AGES.values()]
    asks[ask](tables[0])
    first, *others = [work(lambda df=df: asks[ask](df)) for df in tables]  # type: ignore[misc]
    assert len(first) > 1000 and all(other == first for other in others)


def test_a_choice_with_more_options_is_more_work() -> None:
    """So that the count can see a difference at all."""

    def chosen(n: int) -> object:
        return Exponential(Fraction(1)).sample(vector(n, 1), [0] * n, Noise())

    chosen(10)  # a first call also imports
    counted = [len(work(lambda n=n: chosen(n))) for n in (10, 20, 40)]  # type: ignore[misc]
    assert counted[0] < counted[1] < counted[2]


def test_work_sees_a_rejection_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was shipped before: propose, accept with probability exp(-γ), else again."""

    def proposed(scores: Any, factor: Fraction, random: Any) -> int:
        while True:
            i = int(random(1, 1)[0, 0]) % len(scores)
            gap = float((max(scores) - scores[i]) * factor)
            if int(random(1, 1)[0, 0]) < 2**32 * np.exp(-gap):
                return i

    monkeypatch.setattr("privjail.mechanisms.noise.exponential_choice", proposed)
    value = vector(N, 1)
    mechanism = Exponential(Fraction(1, 100))
    tries = [WORLDS["flat"], *[WORLDS["peaked"]] * 20]  # one of them may be accepted at once, by chance
    counted = {len(work(lambda s=s: mechanism.sample(value, s, Noise()))) for s in tries}  # type: ignore[misc]
    assert len(counted) > 1


@pytest.mark.parametrize("data", ["flat", "peaked"])
def test_as_many_bits_are_drawn_v54(data: str) -> None:
    class Counted(Noise):
        def uniform(self, limbs: int, n: int) -> Any:
            drawn.append((limbs, n))
            return super().uniform(limbs, n)

    for mechanism, expected in (
        (Exponential(Fraction(1, 100)), [(6, 1)]),
        (NoisyMax(Fraction(1, 100)), [(4, N)] * 2),
        (NoisyMax(Fraction(1, 100), k=3), [(4, N)] * 2 + [(4, N - 1)] * 2 + [(4, N - 2)] * 2),
    ):
        drawn: list[tuple[int, int]] = []
        mechanism.sample(vector(N, 1), WORLDS[data], Counted())
        assert drawn == expected


def test_the_stated_chance_of_a_second_pass_holds_for_the_largest_error() -> None:
    """n²·2**-120: what the bounds of weights, sums and uniform leave open, for any factor."""
    worst = max(weights(factor, choice.LIMBS).error for factor in (*FACTORS, Fraction(1, 2**1000)))
    for n in (2, 1000, 10**7):
        open_boundaries = (n - 1) * (2 * n * worst + 4)  # in units of 2**-128, the sum of weights being at least 1
        coins_and_times = n * worst + n * (n - 1) // 2
        assert max(open_boundaries, coins_and_times) < n**2 * 2**8
