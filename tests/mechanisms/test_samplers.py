"""Draws: uniform numbers, and Laplace noise that is drawn ahead. For choices see test_choice.py."""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from privjail.errors import BudgetError
from privjail.mechanisms import noise as noise_module
from privjail.mechanisms.noise import LARGEST_SCALE, Noise, PredrawnNoise

from .samples import fits


def test_uniform_numbers_v5() -> None:
    """V-5: every limb is uniform, and no two are equal."""
    drawn = Noise().uniform(3, 40_000)
    assert drawn.shape == (3, 40_000) and drawn.max() < 2**32
    assert len(np.unique(drawn)) > 119_900
    for shift in (0, 29):  # the lowest and the highest bits
        for row in drawn:
            counts = np.bincount((row >> np.uint32(shift)).astype(np.int64) % 8, minlength=8).tolist()
            assert fits(counts, [1 / 8] * 8) and not fits(counts, [1.3 / 8] + [(1 - 1.3 / 8) / 7] * 7)


def test_scales_beyond_64_bits_are_refused() -> None:
    noise = Noise()
    for draw in (lambda s: noise.laplace(s, 1), lambda s: noise.gaussian(s, 2)):
        draw(LARGEST_SCALE)
        with pytest.raises(BudgetError):
            draw(LARGEST_SCALE * 2)


@pytest.mark.parametrize("edge", [-(2**63), 2**63 - 1])
def test_a_draw_that_was_cut_off_at_an_edge_is_drawn_on(edge: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenDP gives the ends of 64 bits for all that lies beyond them. A draw on the way there is what it is."""
    waiting = [edge, -3, 7, 2**62 - 1, -(2**62), 2**62, 5]
    monkeypatch.setattr(noise_module, "_drawn", lambda sampler, n: [waiting.pop(0) for _ in range(n)])
    noise = Noise()

    assert noise._laplace(2.0, 1) == [edge + (7 if edge > 0 else -7)]  # beyond the edge, -3 counts as no draw
    assert noise._laplace(2.0, 4) == [2**62 - 1, -(2**62), 2**62, 5] and not waiting


def test_no_noise_for_no_scale() -> None:
    assert Noise().laplace(0, 3) == Noise().gaussian(0, 3) == [0, 0, 0]
    assert len(Noise().laplace(2.0, 1)) == 1 and len(Noise().gaussian(2.0, 4)) == 4


def test_draws_made_ahead_are_handed_out_once_and_in_no_other_process() -> None:
    made: list[int] = []

    def draw(scale: float, n: int) -> list[int]:
        made.extend(range(len(made), len(made) + n))
        return made[-n:]

    stock = PredrawnNoise()
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

    class Seen(PredrawnNoise):
        def __setattr__(self, name: str, value: object) -> None:
            order.append(name)
            super().__setattr__(name, value)

    Seen()
    assert order[-1] == "_process" and len(order) == 3
