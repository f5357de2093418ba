"""The draws themselves, by χ² both ways: they look like the stated law, not like one 30 % off. And ε as Rényi."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from math import exp

from privjail.mechanisms.noise import Noise
from privjail.verify.checks.fit import fits, fits_law
from privjail.verify.checks.row import Row, Watch
from privjail.verify.laws import closed_forms
from privjail.verify.laws.law import Decay, Law

OFF = (0.7, 1.3)
Stated = Callable[[Sequence[int], Fraction, Decay], Law]


def _laplace(x: int, scale: float) -> float:
    a = exp(-1 / scale)
    return (1 - a) / (1 + a) * a ** abs(x)


def _gaussian(x: int, scale: float) -> float:
    whole = sum(exp(-k * k / (2 * scale * scale)) for k in range(-200, 201))
    return exp(-x * x / (2 * scale * scale)) / whole


def _added(name: str, draw: Callable[[float, int], list[int]], pmf: Callable[[int, float], float], n: int) -> Row:
    good, scales = True, (0.8, 2.0, 7.25)
    for scale in scales:
        drawn = draw(scale, n)
        good &= fits_law(drawn, lambda x, s=scale: pmf(x, s), 30)  # type: ignore[misc]
        good &= not any(fits_law(drawn, lambda x, s=scale * off: pmf(x, s), 30) for off in OFF)  # type: ignore[misc]
    how = f"χ², {n:,} draws each; scales 30 % off are told apart"
    return Row(name, "its law", f"scales {', '.join(map(str, scales))}", how, good, "—")


def _chosen(name: str, choose: Callable[[Sequence[int]], int], law: Stated, n: int) -> Row:
    good = True
    for scores in ((3, 0, 1, 2), (-5, -4, -5, -9)):
        drawn = [choose(scores) for _ in range(n)]
        counts = [drawn.count(i) for i in range(4)]
        good &= fits(counts, _likely(law, scores, 2.0))
        good &= not any(fits(counts, _likely(law, scores, 2.0 * off)) for off in OFF)
    return Row(f"{name} draws", "its law", "two vectors of four scores", f"χ², {n:,} draws each; both ways", good, "—")


def _likely(law: Stated, scores: Sequence[int], scale: float) -> list[float]:
    return [float(p) for p in law(scores, Fraction(1), lambda g: exp(-float(g) / scale)).values()]


def draws(fast: bool, watch: Watch) -> list[Row]:
    n = 20_000
    rows = [_added("discrete Laplace draws", Noise().laplace, _laplace, n)]
    rows.append(_added("discrete Gaussian draws", Noise().gaussian, _gaussian, n))
    half, noise = Fraction(1, 2), Noise()
    rows.append(_chosen("exponential choice", lambda s: noise.exponential(s, half), closed_forms.exponential, 4000))
    rows.append(_chosen("permute and flip", lambda s: noise.noisy_max(s, 2.0), closed_forms.permute_and_flip, 4000))
    watch()
    return rows


def renyi_cost(fast: bool, watch: Watch) -> list[Row]:
    """What a Rényi budget is charged for a pure ε: at least the divergence of randomised response, the worst of all."""
    from privjail.budget.notions import pure_renyi
    from privjail.verify.laws.intervals import ball, precision, renyi, upper

    worst, cases = 0.0, 0
    with precision():
        for epsilon, order in product(("1/100", "1/2", "1", "4"), ("21/20", "2", "17/2", "64")):
            e, a = Fraction(epsilon), Fraction(order)
            power = ball(e).exp()
            truth, lie = power / (1 + power), 1 / (1 + power)
            found = renyi({0: truth, 1: lie}, {0: lie, 1: truth}, a)
            worst, cases = max(worst, upper(found / ball(pure_renyi(e, a)))), cases + 1
            watch()
    how = f"intervals rounded outward, {cases} cases; the charge is not below the worst divergence that ε-DP allows"
    return [
        Row("any ε-DP mechanism", "Rényi cost", "ε 0.01 to 4, orders 1.05 to 64", how, worst <= 1, f"{worst:.6%} of it")
    ]


CHECKS = {"draws": draws, "Rényi cost": renyi_cost}
