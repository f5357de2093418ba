"""Sparse vector: exact probabilities by summation, a checker, and the published variants that it refutes (V-44)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from privjail.errors import DPError
from privjail.mechanisms.above_threshold import AboveThreshold
from privjail.mechanisms.noise import Noise

from .laws import vector
from .samples import fits

EPS = Fraction(1)


def _pmf(x: int, b: float) -> float:
    if b == 0:
        return float(x == 0)
    a = math.exp(-1 / b)
    return (1 - a) / (1 + a) * a ** abs(x)


def _at_least(x: int, b: float) -> float:
    """Pr[X ≥ x] for discrete Laplace noise, without cancellation."""
    if b == 0:
        return float(x <= 0)
    a = math.exp(-1 / b)
    return a**x / (1 + a) if x > 0 else 1 - a ** (1 - x) / (1 + a)


def _below(x: int, b: float) -> float:
    return _at_least(1 - x, b)


def first_above(xs: Sequence[int], line: int, outer: float, inner: float) -> dict[Any, float]:
    """The law of the first position whose noisy value reaches the noisy line."""
    law: dict[Any, list[float]] = {}
    reach = int(60 * outer) + 2 if outer else 0
    for shift in range(-reach, reach + 1):
        left = _pmf(shift, outer)
        for i, x in enumerate(xs):
            law.setdefault(i, []).append(left * _at_least(line + shift - x, inner))
            left *= _below(line + shift - x, inner)
        law.setdefault(None, []).append(left)
    return {key: math.fsum(parts) for key, parts in law.items()}


def every_answer(xs: Sequence[int], line: int, outer: float, inner: float) -> dict[Any, float]:
    """A broken variant: goes on after the first that is above, and answers for all (Chen et al. 2015)."""
    law: dict[Any, float] = {}
    reach = int(60 * outer) + 2
    for shift in range(-reach, reach + 1):
        up = [_at_least(line + shift - x, inner) for x in xs]
        for bits in product((0, 1), repeat=len(xs)):
            p = _pmf(shift, outer)
            for bit, each in zip(bits, up, strict=True):
                p *= each if bit else 1 - each
            law[bits] = law.get(bits, 0.0) + p
    return law


def _loss(left: dict[Any, float], right: dict[Any, float]) -> float:
    worst = 0.0
    for key, p in left.items():
        q = right[key]
        if p != q and min(p, q) < 1e-200:
            return math.inf
        if p != q:
            worst = max(worst, abs(math.log(p / q)))
    return worst


def _pairs(n: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Neighbours: all vectors of 0 and 1 against all moves of one step."""
    return [
        (xs, tuple(x + m for x, m in zip(xs, moves, strict=True)))
        for xs in product((0, 1), repeat=n)
        for moves in product((-1, 0, 1), repeat=n)
    ]


def _refuted(
    law: Any, outer: float, inner: float, eps: float, n: int = 3, lines: Sequence[int] = (-6, 0, 1, 6)
) -> bool:
    return any(
        _loss(law(left, line, outer, inner), law(right, line, outer, inner)) > eps * (1 + 1e-9)
        for line in lines
        for left, right in _pairs(n)
    )


def _far(outer: float, inner: float, n: int = 200, line: int = 5) -> float:
    """The hardest pairs: many that are below move one way, the last one the other way."""
    worst = 0.0
    for last in (-20, -10, 0, line):
        for step in (1, -1):
            left, right = [0] * n + [last], [step] * n + [last - step]
            worst = max(worst, _loss(*(first_above(xs, line, outer, inner) for xs in (left, right))))
    return worst


def test_ours_is_not_refuted_v44() -> None:
    """V-44: scales as the mechanism itself computes them."""
    for reach, eps in ((1, Fraction(2)), (1, Fraction(4)), (2, Fraction(2))):
        grid, outer, inner = AboveThreshold(eps, Fraction(0)).scales(vector(3, reach))
        assert (outer, inner, grid.coarser) == (float(2 * reach / eps), float(4 * reach / eps), 1)
        if reach == 1:
            assert not _refuted(first_above, outer, inner, float(eps))
    assert _far(2.0, 4.0) <= 1 + 1e-9


def test_noise_30_percent_too_small_is_refuted_v44() -> None:
    """V-44: the checker is sharp enough to see it."""
    assert _far(2.0, 4.0) > 0.99  # so the claim of ε = 1 is reached
    assert _far(0.7 * 2.0, 0.7 * 4.0) > 1.3


@pytest.mark.parametrize(
    ("what", "law", "outer", "inner"),
    [
        ("no noise on the numbers (Stoddard et al. 2014)", first_above, 2.0, 0.0),
        ("no noise on the threshold", first_above, 0.0, 2.0),
        ("goes on after the first answer (Chen et al. 2015)", every_answer, 2.0, 2.0),
        ("noise for Δ where 2Δ is needed", first_above, 0.5, 0.5),
    ],
)
def test_the_wrong_variants_are_refuted_v44(what: str, law: Any, outer: float, inner: float) -> None:
    """V-44: Lyu, Su, Li 2017 list them."""
    eps = 1.0
    assert _refuted(law, outer, inner, eps, n=4 if law is first_above else 5, lines=(0, 1, 4))


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
    law, less = first_above([0, 2, 1], 2, 1.0, 2.0), first_above([0, 2, 1], 2, 0.7, 1.4)
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
    for threshold in (math.nan, math.inf, "1", None, True):
        with pytest.raises(DPError):
            AboveThreshold(EPS, threshold)  # type: ignore[arg-type]
