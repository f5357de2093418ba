"""Sparse vector: exact probabilities by summation, a checker, and the published variants that it refutes (V-44)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import pytest

from privjail.errors import DPError
from privjail.mechanisms.above_threshold import AboveThreshold
from privjail.mechanisms.noise import Noise
from privjail.ops.numbers.tally import Tally
from privjail.verify.laws import closed_forms
from privjail.verify.checks.broken import SPARSE, Broken
from privjail.verify.laws.law import check
from privjail.verify.checks.refuted import exactly
from privjail.verify.checks.row import share_of
from privjail.verify.laws.geometric_series import TwoSided

from ..ops.worlds import ANY_EACH
from .laws import vector
from .samples import fits

EPS = Fraction(1)


def _law(xs: Sequence[int], line: int, outer: float, inner: float) -> dict[Any, float]:
    """The law of the first position whose noisy value reaches the noisy line."""
    law = closed_forms.first_above(xs, line, TwoSided(math.exp(-1 / outer)), TwoSided(math.exp(-1 / inner)))
    return dict(law)


def test_scales_are_those_of_the_law_that_is_verified_v44() -> None:
    """V-44: privjail.verify checks the law at these scales, over all neighbours of a small domain."""
    for reach, eps in ((1, Fraction(2)), (1, Fraction(4)), (2, Fraction(2))):
        found = AboveThreshold(eps, Fraction(0)).calibrate(vector(3, reach))
        assert (found.outer, found.scale, found.on.coarser) == (2 * reach / eps, 4 * reach / eps, 1)


def _far(outer: Fraction, inner: Fraction, claimed: Fraction) -> float:
    """The reached share of ε on the hardest pairs: many that are below move one way, the last one the other way."""
    law = partial(closed_forms.first_above, line=1, outer=TwoSided(outer), inner=TwoSided(inner))
    pairs = [((0,) * 25 + (last,), (step,) * 25 + (last - step,)) for last in (-8, 1) for step in (1, -1)]
    return share_of(check(law, pairs, claimed).reached, claimed)


def test_noise_30_percent_too_small_is_refuted_v44() -> None:
    """V-44: with e^(−ε/28) = 24/25; scales 2/ε and 4/ε decay by its 14th and 7th power, 30 % less noise by the 20th and 10th."""
    a = Fraction(24, 25)
    assert 0.8 < _far(a**14, a**7, 1 / a**28) <= 1
    assert _far(a**20, a**10, 1 / a**28) > 1.1


@pytest.mark.parametrize("broken", SPARSE, ids=lambda b: b.name)
def test_the_wrong_variants_are_refuted_v44(broken: Broken) -> None:
    """V-44: Lyu, Su, Li 2017 list them."""
    assert exactly(broken)[0]


class Fixed(Noise):
    """Noise as given, and a record of the scales that were asked for."""

    def __init__(self, *noise: int) -> None:
        self.left, self.scales = list(noise), []

    def laplace(self, scale: float, n: int) -> list[int]:
        self.scales.append(scale)
        return [self.left.pop(0) for _ in range(n)]


def test_it_draws_and_compares_as_the_law_says() -> None:
    mechanism = AboveThreshold(EPS, Fraction(5, 2))
    for shift, *noise in product((-2, 0, 1), repeat=4):
        xs = [1, 3, 2]
        fixed = Fixed(shift, *noise)
        got = mechanism.sample(vector(3, 1), xs, fixed)
        above = [i for i, (x, e) in enumerate(zip(xs, noise, strict=True)) if x + e >= Fraction(5, 2) + shift]
        assert got == (above[0] if above else None)
        assert fixed.scales == [2.0, 4.0] and not fixed.left  # one for the line, a fresh one for each number


def test_the_sampler_follows_the_law_v5() -> None:
    """V-5: and not the law of 30 % less noise."""
    noise = Noise()
    mechanism = AboveThreshold(Fraction(2), Fraction(2))
    drawn = [mechanism.sample(vector(3, 1), [0, 2, 1], noise) for _ in range(4000)]
    keys = [0, 1, 2, None]
    counts = [drawn.count(k) for k in keys]
    law, less = _law([0, 2, 1], 2, 1.0, 2.0), _law([0, 2, 1], 2, 0.7, 1.4)
    assert fits(counts, [law[k] for k in keys])
    assert not fits(counts, [less[k] for k in keys])


def test_only_a_position_leaves_v44() -> None:
    """V-44: no noisy value, however far above the line."""
    noise = Noise()
    for threshold in (-(10**30), 10**30):
        answer = AboveThreshold(EPS, Fraction(threshold)).sample(vector(2, 1), [0, 1], noise)
        assert answer == (0 if threshold < 0 else None)


def test_public_numbers_are_compared_as_they_are() -> None:
    mechanism = AboveThreshold(EPS, Fraction(5, 2))
    assert mechanism.sample(vector(3, 0), [2, 3, 9], Noise()) == 1
    assert mechanism.sample(vector(2, 0), [1, 2], Noise()) is None


def test_what_it_refuses() -> None:
    with pytest.raises(DPError):
        AboveThreshold(EPS, Fraction(1)).check(vector(0, 1))
    with pytest.raises(DPError, match="at least one number"):
        AboveThreshold(EPS, Fraction(1)).check(Tally(ANY_EACH.source, (), None))  # one number is no list
    for threshold in (math.nan, math.inf, "1", None, True):
        with pytest.raises(DPError):
            AboveThreshold(EPS, threshold)  # type: ignore[arg-type]


def test_it_compares_on_the_grid_of_the_numbers() -> None:
    """Numbers are whole steps of their grid; the threshold is given as an amount."""
    mechanism = AboveThreshold(EPS, Fraction(5, 2))
    steps = [9, 10, 11]  # of a quarter: 2.25, 2.5, 2.75
    assert mechanism.sample(vector(3, 0, Fraction(1, 4)), steps, Fixed(0, 0, 0, 0)) == 1


def test_the_price_is_read_as_an_amount() -> None:
    """V-39: 0.1 is a tenth; what is no amount is refused."""
    assert AboveThreshold(0.1, Fraction(1)).loss.pure == Fraction(1, 10)  # type: ignore[arg-type]
    for eps in (math.nan, math.inf, -1, 0):
        with pytest.raises(DPError):
            AboveThreshold(eps, Fraction(1))  # type: ignore[arg-type]


def test_numbers_without_a_bound_are_refused_before_a_charge() -> None:
    counts = Tally(ANY_EACH.source, (ANY_EACH.column("x"),), None)
    with pytest.raises(DPError, match="nothing bounds"):
        AboveThreshold(EPS, Fraction(1)).check(counts)
