"""Draws are exact, come from the operating system, and cannot be seeded or replayed."""

from __future__ import annotations

import inspect
import multiprocessing
import re
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import privjail.local
from privjail.errors import PlanError
from privjail.local.channels import entropy

SOURCES = sorted(Path(privjail.local.__file__).parent.rglob("*.py"))


def test_no_source_file_uses_a_seedable_generator():
    """V-4: neither numpy's nor Python's generator appears under privjail.local."""
    banned = re.compile(r"np\.random|numpy\.random|^\s*(import|from) random\b|default_rng", re.M)
    assert len(SOURCES) > 20
    for path in SOURCES:
        assert not banned.search(path.read_text(encoding="utf-8")), path.name


def test_no_sampler_takes_a_seed():
    """V-4: a client has nothing to pass."""
    for name in ("bernoulli", "below", "choose"):
        assert not {"seed", "rng", "random_state"} & set(inspect.signature(getattr(entropy, name)).parameters)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: entropy.bernoulli(F(1, 3), 50).tolist(),
        lambda: entropy.below(10, 50).tolist(),
        lambda: entropy.choose([F(1, 3), F(2, 3)], 50).tolist(),
    ],
)
def test_every_bit_comes_from_the_operating_system(monkeypatch, draw):
    """V-4: with an operating system that only says 0, every draw is the one that zeros give."""
    assert len(set(draw())) > 1
    monkeypatch.setattr(entropy.os, "urandom", bytes)
    assert len(set(draw())) == 1


def _draw(queue):
    queue.put(entropy.below(2**62, 4).tolist())


def test_forked_workers_draw_different_noise():
    """V-4: no state is copied by fork."""
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    workers = [context.Process(target=_draw, args=(queue,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    first, second = queue.get(timeout=20), queue.get(timeout=20)
    for worker in workers:
        worker.join()
    assert first != second


@pytest.mark.parametrize("chance", [F(0), F(1), F(1, 3), F(1, 2**40), F(65535, 65536), F(7, 10**30)])
def test_coins_have_their_chance(chance):
    n = 200_000
    heads = int(entropy.bernoulli(chance, n).sum())
    assert stats.binomtest(heads, n, float(chance)).pvalue > 1e-6


def feed(monkeypatch, data: bytes):
    stream = iter(data)
    monkeypatch.setattr(entropy, "_bytes", lambda n: bytes(next(stream) for _ in range(n)))


@pytest.mark.parametrize(("third", "expected"), [(0x5554, True), (0x5556, False)])
def test_a_tie_is_decided_by_further_digits(monkeypatch, third, expected):
    """V-45: 1/3 = 0.555…₁₆; two tied 16-digit words leave the coin open, the third decides."""
    feed(monkeypatch, b"\x55\x55\x55\x55" + third.to_bytes(2, "little"))
    assert bool(entropy.bernoulli(F(1, 3), 1)[0]) is expected


@pytest.mark.parametrize(("more", "expected"), [(0, 0), (2**64 - 1, 1)])
def test_a_tie_between_cells_is_decided_by_further_digits(monkeypatch, more, expected):
    """V-45: a law's edge lies inside the first 64 digits drawn; rounding would always pick one side."""
    word = int(F(1, 3) * 2**64)
    feed(monkeypatch, word.to_bytes(8, "little") + more.to_bytes(8, "little"))
    assert entropy.choose([F(1, 3), F(2, 3)], 1)[0] == expected


def test_an_edge_on_a_word_belongs_to_the_upper_cell(monkeypatch):
    feed(monkeypatch, (2**63).to_bytes(8, "little") + (2**63 - 1).to_bytes(8, "little"))
    assert entropy.choose([F(1, 2), F(1, 2)], 2).tolist() == [1, 0]


def test_the_last_incomplete_multiple_is_thrown_away(monkeypatch):
    """Without rejection 2^64 − 1 mod 3 would make 0 too likely."""
    feed(monkeypatch, (2**64 - 1).to_bytes(8, "little") + (4).to_bytes(8, "little"))
    assert entropy.below(3, 1).tolist() == [1]


def test_uniform_integers_are_uniform():
    counts = np.bincount(entropy.below(7, 140_000), minlength=7)
    assert stats.chisquare(counts).pvalue > 1e-6


def test_impossible_outcomes_never_come_up():
    assert set(entropy.choose([F(0), F(1, 2), F(0), F(1, 2), F(0)], 5000).tolist()) == {1, 3}


@pytest.mark.parametrize("law", [[F(1, 2), F(1, 3)], [F(3, 2), F(-1, 2)]])
def test_a_law_that_does_not_add_up_is_refused(law):
    with pytest.raises(PlanError):
        entropy.choose(law, 1)
