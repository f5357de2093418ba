"""Grids: how far a value moves in whole steps, on its own grid and on a coarser one."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from privjail.budget.notions import PureDP
from privjail.errors import DPError
from privjail.mechanisms import laplace, mechanism as module
from privjail.mechanisms.above_threshold import AboveThreshold
from privjail.mechanisms.exponential import Exponential
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.mechanism import FINEST, noise_grid, public, public_steps
from privjail.mechanisms.noise import LARGEST_SCALE, Noise
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.ops.numbers.tally import Tally
from privjail.plan.domain import IntDomain

from ..ops.worlds import ANY_EACH
from ..tables import World
from .laws import single, vector


@pytest.mark.parametrize("finest", [2, 3, 16])
@pytest.mark.parametrize("distance", [0, 1, 2, 5])
def test_no_value_moves_further_than_the_steps_claimed(
    monkeypatch: pytest.MonkeyPatch, finest: int, distance: int
) -> None:
    """All pairs in a small world, with the limit lowered so that the grid does become coarser."""
    monkeypatch.setattr(module, "FINEST", finest)
    for scale in (1, 4, 11, 64):
        on = noise_grid(single(distance).grid, distance, Fraction(scale))
        assert (on.coarser > 1) == (scale > finest)
        for x, y in product(range(-20, 21), repeat=2):
            if abs(x - y) <= distance:
                assert abs(on.place(x) - on.place(y)) <= on.steps
        assert all(abs(on.place(x) * on.coarser - x) * 2 <= on.coarser for x in range(-50, 51))


def test_nor_does_a_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FINEST", 2)
    for scale in (2, 5, 9):
        on = noise_grid(vector(3, 1).grid, 2, Fraction(scale), moving=3)
        reached = 0
        for x in product(range(-3, 4), repeat=3):
            for move in product((-2, -1, 0, 1, 2), repeat=3):
                if sum(map(abs, move)) <= 2:
                    steps = sum(abs(on.place(a + m) - on.place(a)) for a, m in zip(x, move, strict=True))
                    assert steps <= on.steps
                    reached = max(reached, steps)
        assert reached >= min(2, on.steps - 1)


def test_on_a_coarser_grid_the_loss_is_not_proportional_and_no_mechanism_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two edits, one in each of two groups. On its own grid each group pays half; rounded, each can pay all of ε."""
    epsilon = Fraction(1, 4)
    value, notion = single(2), PureDP()
    calibration = Laplace(epsilon).calibrate(value)
    on, scale = calibration.on, calibration.scale
    assert on.coarser == 1 and Laplace(epsilon).proportional(notion, value)
    assert 2 * (Fraction(1) / Fraction(scale)) <= epsilon

    monkeypatch.setattr(module, "FINEST", 1)
    monkeypatch.setattr(laplace, "calibrated", laplace.calibrated.__wrapped__)  # those made before are kept
    calibration = Laplace(epsilon).calibrate(value)
    on, scale = calibration.on, calibration.scale
    assert on.coarser == 8
    moved = max(abs(on.place(x + 1) - on.place(x)) for x in range(32))  # one edit in one group
    assert 2 * (Fraction(moved) / Fraction(scale)) == 2 * epsilon  # both groups: twice what the maximum would charge
    many = vector(3, 2)
    for mechanism in (Laplace(epsilon), NoisyMax(epsilon), AboveThreshold(epsilon, Fraction(0))):
        assert not mechanism.proportional(notion, many)
    assert Exponential(epsilon).proportional(notion, many)  # has no grid of its own


def test_shares_of_the_edits_move_shares_of_the_steps() -> None:
    """On its own grid: each edit moves whole steps, so k of K edits cost at most k/K of ε (the proportional claim)."""
    for top, edits in product(range(1, 40), range(1, 6)):
        per_edit = Fraction(top, 8)  # a distance that need not be whole in steps
        scale = Laplace(Fraction(1)).calibrate(single(per_edit * edits)).scale
        for k in range(edits + 1):
            moved = k * (per_edit.numerator // per_edit.denominator)
            if moved:
                assert Fraction(moved) / Fraction(scale) <= Fraction(k, edits)


def test_the_widest_noise_fits() -> None:
    """The smallest eps, the finest grid and the longest vector: below OpenDP's limit, and it can be drawn."""
    tiny = Fraction(1, 10**9)
    for n, distance, grid in ((1, 10**30, 1), (10**7, 1, Fraction(1, 2**900)), (5, 10**300, Fraction(1, 10**300))):
        calibration = Laplace(tiny).calibrate(vector(n, distance, grid))
        on, scale = calibration.on, calibration.scale
        assert 0 < scale <= LARGEST_SCALE and on.steps >= 1 and on.coarser > 1
        assert Fraction(on.steps) / Fraction(scale) <= tiny
        value = vector(n, distance, grid)
        above = AboveThreshold(tiny, Fraction(0)).calibrate(value)
        for wide in (NoisyMax(tiny).calibrate(value).scale, above.outer, above.scale):
            assert 0 < wide <= LARGEST_SCALE
    answer = Laplace(tiny).sample(single(10**30), 5, Noise())
    assert 0 < abs(answer) < 1e45
    assert FINEST < LARGEST_SCALE


def test_answers_are_the_nearest_floats() -> None:
    assert public(Fraction(1, 3)) == 1 / 3
    assert public(Fraction(10) ** 400) == float("inf") and public(-(Fraction(10) ** 400)) == float("-inf")
    for grid in (Fraction(1), Fraction(3, 7), Fraction(1, 2**40), Fraction(10) ** 300):
        steps = [0, 1, -3, 2**53 + 1, -(10**20)]
        assert public_steps(steps, grid) == [public(x * grid) for x in steps]


def test_what_has_no_bound_is_told_apart() -> None:
    """Any number of rows of one person, or any value in a column."""
    with pytest.raises(DPError, match="how many rows one u has"):
        Laplace(Fraction(1)).check(Tally(ANY_EACH.source, (), None))
    world = World((("x", IntDomain(True, 0, None)),), ())
    with pytest.raises(DPError, match="unbounded"):
        Laplace(Fraction(1)).check(Tally(world.source, (), world.column("x")))
