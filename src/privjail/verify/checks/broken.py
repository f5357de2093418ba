"""Mechanisms that are wrong, from the literature and from bugs that happened: a checker that clears them is no checker.

Each has a claim, the exact law of what it really does (for a pair of neighbours that shows it) and a sampler.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privjail.mechanisms.noise import Noise
from privjail.verify.laws import closed_forms
from privjail.verify.laws.geometric_series import Fixed, OneSided, TwoSided
from privjail.verify.laws.law import Law, Rational

Draw = Callable[[Any, int], list[Any]]
HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Broken:
    """Claims e^ε = ``factor`` (and ``delta``) of its law, and ``epsilon`` of its sampler; neither is true."""

    name: str
    wrong: str
    pair: tuple[Any, Any]
    factor: Fraction = 1 / HALF
    delta: Fraction = Fraction(0)
    law: Callable[[Any], Law] | None = None
    draw: Draw | None = None
    epsilon: float = 1.0
    sampled_delta: float = 0.0
    samples: int = 20_000


def noise_rows(scale: float, n: int, width: int) -> list[list[int]]:
    """n rows of ``width`` draws each."""
    drawn = Noise().laplace(scale, n * width)
    return [drawn[i * width : (i + 1) * width] for i in range(n)]


def added(scale: float) -> Draw:
    return lambda x, n: [x + e for e in Noise().laplace(scale, n)]


def _one_sided(x: int) -> Law:
    noise = OneSided(HALF)
    return {**{y: noise.pmf(y - x) for y in range(-2, 8)}, "more": noise.at_least(8 - x)}


def _clamped(x: int, most: int = 3) -> Law:
    noise = TwoSided(HALF)
    law: Law = {x + k: noise.pmf(k) for k in range(-most + 1, most)}
    law[x + most] = law[x - most] = noise.at_least(most)
    return law


def _float_laplace(x: float, n: int) -> list[float]:
    """Inverse of the distribution function, computed and added in floats (V-1, V-2)."""
    generator = secrets.SystemRandom()
    answers = []
    for _ in range(n):
        u = generator.random() - 0.5
        answers.append(x - math.copysign(math.log(1 - 2 * abs(u)), u))
    return answers


def _reused(data: Sequence[int], n: int) -> list[Any]:
    return [tuple(x + e for x in data) for e in Noise().laplace(1.0, n)]


ADDED = [
    Broken("Laplace, noise 30 % too small", "scale 0.7·Δ/ε", (0, 1), Fraction(10, 9) ** 7,
           law=lambda x: closed_forms.geometric(x, Fraction(9, 10) ** 10, 4), draw=added(0.7)),
    Broken("Laplace, scale off by 2", "Δ taken as 1 where it is 2", (0, 2),
           law=lambda x: closed_forms.geometric(x, HALF, 4), draw=added(1.0)),
    Broken("Laplace, one-sided noise", "noise is never negative", (0, 1), law=_one_sided,
           draw=lambda x, n: [x + abs(e) for e in Noise().laplace(1.0, n)]),
    Broken("Laplace, noise cut off", "noise clamped to ±3", (0, 1), law=_clamped,
           draw=lambda x, n: [x + max(-3, min(3, e)) for e in Noise().laplace(1.0, n)]),
    Broken("Laplace, in floating point", "computed and added in floats", (0.0, 1.0), draw=_float_laplace),
    Broken("Laplace, one draw for two answers", "the difference of the answers is exact", ((0, 0), (1, 0)),
           law=lambda d: {d[0] - d[1]: Fraction(1)}, draw=_reused),
    Broken("Laplace, noise of a histogram split over its bins", "scale Δ/(ε·bins)", (0, 1),
           law=lambda x: closed_forms.geometric(x, HALF**3, 4), draw=added(1 / 3)),
]  # fmt: skip


def _largest_value(scores: Sequence[int]) -> Law:
    """The law of the largest noisy score; all from −3 downward and from 5 upward put together."""
    noise = TwoSided(HALF)

    def at_most(y: int) -> Fraction:
        p = Fraction(1)
        for s in scores:
            p *= 1 - noise.at_least(y - s + 1)
        return p

    law: Law = {y: at_most(y) - at_most(y - 1) for y in range(-2, 5)}
    return law | {"low": at_most(-3), "high": 1 - at_most(4)}


def _value_too(scores: Sequence[int], n: int) -> list[Any]:
    rows = ([x + e for x, e in zip(scores, row, strict=True)] for row in noise_rows(1.0, n, len(scores)))
    return [max(row) for row in rows]


def _first_largest(scores: Sequence[int]) -> Law:
    return {i: Fraction(int(i == list(scores).index(max(scores)))) for i in range(len(scores))}


def _choose(scale: float) -> Draw:
    return lambda scores, n: [Noise().noisy_max(list(scores), scale) for _ in range(n)]


def _exponential(gamma: Fraction) -> Draw:
    return lambda scores, n: [Noise().exponential(scores, gamma) for _ in range(n)]


def _top_two(scores: Sequence[int]) -> Law:
    """Two positions one after another, each with all of ε."""
    decay, law = Rational(HALF), {}
    for first, p in closed_forms.permute_and_flip(scores, Fraction(1), decay).items():
        rest = [i for i in range(len(scores)) if i != first]
        for j, q in closed_forms.permute_and_flip([scores[i] for i in rest], Fraction(1), decay).items():
            law[first, rest[int(str(j))]] = p * q
    return dict(law)


def _draw_top_two(scores: Sequence[int], n: int) -> list[Any]:
    noise = Noise()
    chosen: list[Any] = []
    for _ in range(n):
        first = noise.noisy_max(list(scores), 1.0)
        rest = [i for i in range(len(scores)) if i != first]
        chosen.append((first, rest[noise.noisy_max([scores[i] for i in rest], 1.0)]))
    return chosen


CHOSEN = [
    Broken("noisy max that returns the noisy value", "the value of all m counts leaks: m·ε", ((1,) * 8, (0,) * 8),
           law=_largest_value, draw=_value_too, samples=8_000),
    Broken("noisy max, noise for counts on scores", "scale Δ/ε where scores move either way", ((0, 2), (1, 1)),
           law=lambda s: closed_forms.permute_and_flip(s, Fraction(1), Rational(HALF)), draw=_choose(1.0)),
    Broken("noisy max, one noise for all", "adding the same number changes no order", ((0, 1), (1, 0)),
           law=_first_largest, draw=lambda s, n: [max(range(len(s)), key=lambda i: s[i])] * n, samples=2_000),
    Broken("noisy top 2 with ε each", "two choices, one price", ((2, 2, 0), (3, 2, 0)),
           law=_top_two, draw=_draw_top_two, samples=24_000),
    Broken("exponential mechanism without the 2", "exp(ε·score/Δ): right for counts only", ((0, 2), (1, 1)),
           law=lambda s: closed_forms.exponential(s, Fraction(1), Rational(HALF)), draw=_exponential(Fraction(1))),
]  # fmt: skip


def _every_answer(xs: Sequence[int], bits: Sequence[int], line: int, outer: TwoSided, inner: TwoSided | Fixed) -> Law:
    """The chance of one pattern of answers above and below, against all others."""
    from privjail.verify.laws.geometric_series import total

    factors = [outer.equals(line)]
    factors += [inner.reaches(x) if bit else inner.at_most(x + 1) for x, bit in zip(xs, bits, strict=True)]
    p = total(factors)
    return {"the pattern": p, "another": 1 - p}


def _draw_answers(line: int, outer: float, inner: float, most: int = 99) -> Draw:
    """Above or below for every number, until ``most`` were above."""

    def draw(xs: Sequence[int], n: int) -> list[Any]:
        answers = []
        lines = Noise().laplace(outer, n) if outer else [0] * n
        for t, row in zip(lines, noise_rows(inner, n, len(xs)), strict=True):
            bits: list[int] = []
            for x, e in zip(xs, row, strict=True):
                if sum(bits) < most:
                    bits.append(int(x + e >= line + t))
            answers.append(tuple(bits))
        return answers

    return draw


def _value_after(xs: Sequence[int], line: int = 1) -> Law:
    """All but the last below, then the noisy value 0 of the last: Roth's notes of 2011."""
    from privjail.verify.laws.geometric_series import total

    outer, inner = TwoSided(HALF), TwoSided(HALF)
    below = [inner.at_most(x + 1) for x in xs[:-1]]
    p = total([outer.equals(line), *below, Fixed().reaches(0)]) * inner.pmf(0 - xs[-1])
    return {"below, then 0": p, "another": 1 - p}


def _draw_value_after(xs: Sequence[int], n: int, line: int = 1) -> list[Any]:
    answers: list[Any] = []
    for t, row in zip(Noise().laplace(2.0, n), noise_rows(2.0, n, len(xs)), strict=True):
        shown = next(
            ((i, x + e) for i, (x, e) in enumerate(zip(xs, row, strict=True)) if x + e >= line + t), (None, None)
        )
        answers.append(shown)
    return answers


def _line_without_noise(xs: Sequence[int]) -> Law:
    noise, p = TwoSided(HALF), Fraction(1)
    for x in xs:
        p *= 1 - noise.at_least(1 - x)
    return {None: p, "some": 1 - p}


SMALL, FOUR = Fraction(1, 4), 1 / HALF**4

SPARSE = [
    Broken("sparse vector, no noise on the numbers", "Stoddard et al. 2014", ((0, 1), (1, 0)), 1 / SMALL,
           law=lambda xs: _every_answer(xs, (0, 1), 1, TwoSided(SMALL), Fixed()), draw=_draw_answers(1, 1.0, 0.0)),
    Broken("sparse vector, no noise on the line", "each number below costs again", ((0,) * 6, (1,) * 6),
           law=_line_without_noise, draw=lambda xs, n: [next((i for i, b in enumerate(bits) if b), None)
                                                        for bits in _draw_answers(1, 0.0, 1.0)(xs, n)]),
    Broken("sparse vector that goes on", "Chen et al. 2015: no limit on answers above",
           ((0,) * 5 + (1,) * 5, (1,) * 5 + (0,) * 5), 1 / HALF**2,
           law=lambda xs: _every_answer(xs, (0,) * 5 + (1,) * 5, 1, TwoSided(HALF), TwoSided(HALF)),
           draw=_draw_answers(1, 1.0, 1.0), epsilon=2.0),
    Broken("sparse vector, noise for one answer, four given", "Lee & Clifton 2014",
           ((0,) * 5 + (1,) * 4, (1,) * 5 + (0,) * 4), FOUR,
           law=lambda xs: _every_answer(xs, (0,) * 5 + (1,) * 4, 1, TwoSided(HALF), TwoSided(HALF**3)),
           draw=_draw_answers(1, 2.0, 2 / 3, most=4), epsilon=2.0),
    Broken("sparse vector that returns the noisy value", "Roth 2011: the value bounds the line",
           ((0,) * 5 + (1,), (1,) * 5 + (0,)), 1 / HALF**2,
           law=_value_after, draw=_draw_value_after, epsilon=1.0, samples=80_000),
]  # fmt: skip


def _shown(count: int, line: int, noisy_line: bool = True) -> Law:
    """One key: its noisy count from the line on, or hidden; the line is held against the exact count if asked so."""
    if noisy_line:
        return closed_forms.thresholded(count, line, HALF, line + 6)
    return closed_forms.geometric(count, HALF, 12) if count >= line else {None: Fraction(1)}


def _draw_shown(line: int, noisy_line: bool = True) -> Draw:
    def draw(count: int, n: int) -> list[Any]:
        noised = [count + e for e in Noise().laplace(1.0, n)]
        if not noisy_line:
            return noised if count >= line else [None] * n
        return [y if count and y >= line else None for y in noised]

    return draw


def _response(truth: float, k: int) -> Draw:
    def draw(value: int, n: int) -> list[int]:
        generator = secrets.SystemRandom()
        return [value if generator.random() < truth else (value + 1 + secrets.randbelow(k - 1)) % k for _ in range(n)]

    return draw


TAIL = math.exp(-3) / (1 + math.exp(-1))  # the δ of line 4 at ε = 1
TRUTH = math.e / (1 + math.e)

SHOWN = [
    Broken("thresholded histogram, line off by one", "≥ where > was priced (V-13)", (0, 1),
           delta=closed_forms.histogram_delta(4, HALF),
           law=lambda c: _shown(c, 3), draw=_draw_shown(3), sampled_delta=TAIL),
    Broken("histogram, line held against the exact count", "whether a key is shown is exact", (3, 4),
           delta=closed_forms.histogram_delta(4, HALF),
           law=lambda c: _shown(c, 4, False), draw=_draw_shown(4, False), sampled_delta=TAIL),
    Broken("histogram of the keys that occur", "no line at all (V-20)", (0, 1),
           law=lambda c: _shown(c, 1, False), draw=_draw_shown(1, False)),
    Broken("k-ary response with the truth of two answers", "truth e^ε/(e^ε + 1) for k = 4", (0, 1),
           law=lambda v: closed_forms.randomised_response(v, 4, Fraction(2, 3)), draw=_response(TRUTH, 4)),
]  # fmt: skip

BROKEN = [*ADDED, *CHOSEN, *SPARSE, *SHOWN]
