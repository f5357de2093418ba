"""Report noisy max: the exact law for up to four elements, over all neighbours in a small world (V-46)."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import mpmath as mp
import pytest

from privjail.errors import DPError
from privjail.mechanisms.noise import Noise
from privjail.mechanisms.noisy_max import NoisyMax

from .laws import Law, exponential_noise_max, law_of, loss, neighbours, permute_and_flip, real, renyi, vector
from .samples import fits

SLACK = mp.mpf(10) ** -30


def _law(mechanism: NoisyMax, scores: tuple[int, ...], reach: int, monotone: bool) -> Law:
    value = vector(len(scores), reach, monotone=monotone)
    return law_of(lambda noise: mechanism.sample(value, list(scores), noise))


def _worst(mechanism: NoisyMax, n: int, reach: int, monotone: bool, claims: bool | None = None) -> mp.mpf:
    """The largest loss over all neighbours; ``claims``: the direction that the mechanism is told."""
    laws: dict[tuple[int, ...], Law] = {}
    worst = mp.mpf(0)
    told = monotone if claims is None else claims
    for left, right in neighbours(n, 3 if n < 4 else 2, reach, monotone):
        for scores in (left, right):
            if scores not in laws:
                laws[scores] = _law(mechanism, scores, reach, told)
        worst = max(worst, loss(laws[left], laws[right]))
    return worst


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize(("n", "reach"), [(1, 1), (2, 1), (2, 2), (3, 1), (4, 1)])
def test_no_neighbour_is_more_than_epsilon_away_v46(n: int, reach: int, monotone: bool) -> None:
    """V-46."""
    for eps in (Fraction(1, 2), Fraction(3)):
        assert _worst(NoisyMax(eps, smallest=eps == 3), n, reach, monotone) <= real(eps) + SLACK


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("monotone", [False, True])
def test_neither_for_the_largest_few(k: int, monotone: bool) -> None:
    assert _worst(NoisyMax(Fraction(2), k=k), 3, 1, monotone) <= 2 + SLACK


def test_the_claim_is_nearly_reached_so_noise_30_percent_too_small_is_caught() -> None:
    eps = Fraction(2)
    for monotone, left, right in ((False, (0, 30), (1, 29)), (True, (0, 30), (1, 30)), (True, (0, 30), (0, 31))):
        near = loss(_law(NoisyMax(eps), left, 1, monotone), _law(NoisyMax(eps), right, 1, monotone))
        assert real(eps) * 0.99 < near <= real(eps)


def test_elements_that_move_against_each_other_may_not_use_the_smaller_noise() -> None:
    """The scale for counts, on scores that are not: the checker refutes it."""
    assert _worst(NoisyMax(Fraction(2)), 2, 1, monotone=False, claims=True) > 2 * real(1.2)


def test_permute_and_flip_exceeds_an_eighth_of_epsilon_squared_v12() -> None:
    """V-12: the ρ of the exponential mechanism is not true of this one; its exact law refutes the claim."""
    eps, reach = Fraction(2), 4
    assert NoisyMax(eps).loss.rho is None
    one, two = (_law(NoisyMax(eps), scores, reach, False) for scores in ((3, 0, 0), (-1, 4, 4)))
    claimed = 2 * real(eps**2 / 8)
    assert renyi(one, two, 2) == pytest.approx(1.3788, abs=1e-4) and claimed == 1
    assert renyi(one, two, 2) <= 2 * real(eps**2 / 2)  # what pure ε-DP implies, and is charged


def test_exponential_noise_and_permute_and_flip_have_one_law() -> None:
    for scores in ((0, 0), (0, 3), (1, 0, 2), (2, 2, 0)):
        published, integrated = permute_and_flip(scores, Fraction(3, 2)), exponential_noise_max(scores, Fraction(3, 2))
        for i in range(len(scores)):
            assert abs(published[i] - integrated[i]) < 1e-8


@pytest.mark.parametrize("scores", [(0, 0, 0, 0), (3, 0, 1, 2), (-5, -4, -5, -9)])
def test_the_sampler_follows_the_law_and_not_one_30_percent_off_v5(scores: tuple[int, ...]) -> None:
    """V-5."""
    noise = Noise()
    drawn = [noise.noisy_max(list(scores), 2.0) for _ in range(5_000)]
    counts = [drawn.count(i) for i in range(4)]
    assert fits(counts, [float(permute_and_flip(scores, Fraction(2))[i]) for i in range(4)])
    if len(set(scores)) > 1:
        assert not fits(counts, [float(permute_and_flip(scores, Fraction(2) * Fraction(7, 10))[i]) for i in range(4)])
        assert not fits(counts, [float(permute_and_flip(scores, Fraction(2) * Fraction(13, 10))[i]) for i in range(4)])


def test_huge_gaps_and_scales() -> None:
    """Gaps beyond 64 bits are compared as they are, and the widest noise still chooses both."""
    noise = Noise()
    mechanism = NoisyMax(Fraction(1))
    assert mechanism.sample(vector(2, 1), [-(10**40), 10**40], noise) == 1
    assert mechanism.sample(vector(3, 1, monotone=True), [10**300, 0, -(10**300)], noise) == 0
    assert NoisyMax(Fraction(1), k=3).sample(vector(3, 1), [0, 10**300, 10**30], noise) == [1, 2, 0]
    wide = NoisyMax(Fraction(1, 10**9))
    calibration = wide.calibrate(vector(2, 10**18))
    grid, scale = calibration.on, calibration.scale
    assert scale <= 2.0**55 and grid.coarser > 1
    assert {wide.sample(vector(2, 10**18), [0, 5], noise) for _ in range(60)} == {0, 1}


def test_numbers_that_cannot_move_a_step_are_compared_as_they_are() -> None:
    noise = Noise()
    for distance in (0, Fraction(1, 2)):  # in whole steps both are 0
        assert NoisyMax(Fraction(1)).sample(vector(3, distance), [2, 9, 9], noise) == 1
    assert NoisyMax(Fraction(1), k=2).sample(vector(3, 0), [2, 9, 9], noise) == [1, 2]


def test_top_k_is_a_list_of_different_positions_of_fixed_length_v46() -> None:
    """V-46: the length is k, whatever the data."""
    noise = Noise()
    for scores in product((0, 5), repeat=3):
        chosen = NoisyMax(Fraction(1), k=3).sample(vector(3, 1), list(scores), noise)
        assert sorted(chosen) == [0, 1, 2]


@pytest.mark.parametrize("k", [0, -1, 4, 1.0, True, "1"])
def test_what_it_refuses(k: object) -> None:
    with pytest.raises(DPError):
        NoisyMax(Fraction(1), k=k).check(vector(3, 1))  # type: ignore[arg-type]


def test_work_is_that_of_all_rounds() -> None:
    """V-54: each of k rounds draws for every element."""
    assert NoisyMax(Fraction(1), k=2).choices(vector(3, 1)) == 6
