"""Claims about Rényi divergence and Gaussian noise, in interval arithmetic that is rounded outward (Arb).

A number here is a ball that contains the true value. A claim passes only if the whole ball is on the right side of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

from privjail.verify.laws.law import Law

Ball = Any  # flint.arb
BITS = 256


@contextmanager
def precision(bits: int = BITS) -> Iterator[None]:
    from flint import ctx

    before, ctx.prec = ctx.prec, bits
    try:
        yield
    finally:
        ctx.prec = before


def ball(x: Fraction | int | float) -> Ball:
    """The smallest ball around an exact number, at the precision of the moment."""
    from flint import arb, fmpq

    exact = Fraction(x)
    return arb(fmpq(exact.numerator, exact.denominator))


def ball_decay(gamma: Fraction) -> Ball:
    """e^−γ, enclosed: the decay for laws at an ε as it is."""
    return (-ball(gamma)).exp()


def upper(x: Ball) -> float:
    """A float that is at least the true value."""
    from math import inf, nextafter

    return nextafter(float(x.upper()), inf)


def lower(x: Ball) -> float:
    from math import inf, nextafter

    return nextafter(float(x.lower()), -inf)


def as_balls(law: Law) -> Law:
    return {key: ball(p) if isinstance(p, (Fraction, int)) else p for key, p in law.items()}


def renyi(left: Law, right: Law, order: Fraction) -> Ball:
    """The Rényi divergence of this order (> 1), enclosed."""
    from flint import arb

    a, total = ball(order), arb(0)
    for key, p in as_balls(left).items():
        q = right.get(key, 0)
        q = ball(q) if isinstance(q, (Fraction, int)) else q
        if p == 0:
            continue
        if q == 0:
            return arb("inf")
        total += (a * p.log() + (1 - a) * q.log()).exp()
    return total.log() / (a - 1)


@dataclass(frozen=True)
class ZcdpVerdict:
    """Whether D_α ≤ ρ·α at every order α from 1 to ``top``."""

    certified: bool
    largest: float  # the largest D_α/α that was met, rounded up
    refuted_at: Fraction | None  # an order at which D_α > ρ·α for certain
    orders: int


def zcdp(left: Law, right: Law, rho: Fraction, pure: Fraction, deepest: int = 4000) -> ZcdpVerdict:
    """Hold two laws against ρ-zCDP, at all orders at once.

    Why finitely many orders are enough: D_α never falls as α grows, so D_b ≤ ρ·a settles all of [a, b]; and
    ε-DP (``pure``) settles every α ≥ ε/ρ. Starting from the top, a is as small as D_b allows: a = D_b/ρ, rounded up.
    """
    with precision():
        b = max(Fraction(1), pure / rho)
        largest = 0.0
        for n in range(1, deepest):
            if b <= 1:
                return ZcdpVerdict(True, largest, None, n)
            divergence = renyi(left, right, b)
            share = divergence / ball(b)
            largest = max(largest, upper(share))
            if share > ball(rho):
                return ZcdpVerdict(False, largest, b, n)
            a = Fraction(upper(divergence / ball(rho)))
            if a >= b:
                break
            b = a
        # Not certified: the chain ends where D_α meets ρ·α. Look for an order below at which it is above for certain.
        for k in range(1, 32):
            order = 1 + (b - 1) * Fraction(k, 32)
            share = renyi(left, right, order) / ball(order)
            largest = max(largest, upper(share))
            if share > ball(rho):
                return ZcdpVerdict(False, largest, order, n + k)
        return ZcdpVerdict(False, largest, None, n + 31)


def discrete_gaussian_renyi(sigma: Fraction, move: int, order: Fraction) -> Ball:
    """The Rényi divergence between N(0, σ²) and N(move, σ²) on the whole numbers, enclosed.

    Completing the square: D_α = α·move²/2σ² + log(T(μ)/T(0))/(α − 1), with T(μ) = Σ_x exp(−(x − μ)²/2σ²) and
    μ = (1 − α)·move. T(μ) is summed to a point beyond which a geometric series bounds it; for wide noise it is summed
    on the other side of Poisson's formula: T(μ) ∝ 1 + 2·Σ_k exp(−2π²σ²k²)·cos(2πkμ).
    """
    a, s2 = ball(order), ball(sigma) ** 2
    mean = (1 - order) * move
    square = a * move * move / (2 * s2)
    if sigma >= 1:
        quotient = _theta(sigma, mean) / _theta(sigma, Fraction(0))
    else:
        quotient = _lattice_sum(sigma, mean) / _lattice_sum(sigma, Fraction(0))
    return square + quotient.log() / (a - 1)


def _lattice_sum(sigma: Fraction, mean: Fraction) -> Ball:
    """Σ over whole x of exp(−(x − mean)²/2σ²); only the fractional part of the mean matters."""
    mean -= mean.numerator // mean.denominator
    reach = 8 + ceil(20 * sigma)
    s2 = 2 * ball(sigma) ** 2
    total: Ball = ball(0)
    for x in range(-reach, reach + 1):
        total += (-((ball(x) - ball(mean)) ** 2) / s2).exp()
    # Beyond reach, terms shrink by exp(−reach/σ²) or more each step; both sides.
    edge = (-(ball(reach) ** 2) / s2).exp()
    tail = 2 * edge / (1 - (-ball(reach) / ball(sigma) ** 2).exp())
    return total + tail.union(ball(0))


def _theta(sigma: Fraction, mean: Fraction) -> Ball:
    from flint import arb

    q = 2 * arb.pi() ** 2 * ball(sigma) ** 2
    mean -= mean.numerator // mean.denominator
    total: Ball = ball(1)
    for k in range(1, 7):
        total += 2 * (-q * k * k).exp() * (2 * ball(k * mean)).cos_pi()
    tail = 2 * (-q * 49).exp() / (1 - (-q).exp())
    return total + tail.union(-tail)


def gaussian_delta(sigma: Fraction, epsilon: Fraction) -> Ball:
    """δ at ε of continuous Gaussian noise at distance 1 (Balle & Wang 2018, theorem 8), enclosed."""
    from flint import arb

    s, e, root = ball(sigma), ball(epsilon), arb(2).sqrt()
    left = ((e * s - 1 / (2 * s)) / root).erfc() / 2
    right = ((e * s + 1 / (2 * s)) / root).erfc() / 2
    return left - e.exp() * right


def discrete_gaussian_delta(sigma: int, move: int, epsilon: Fraction) -> Ball:
    """δ at ε of discrete Gaussian noise: a hockey-stick sum, its tail enclosed.

    x lies in the best set just where x ≤ move/2 − εσ²/move (left law at 0, right law at move): all below a cut.
    """
    cut = (Fraction(move, 2) - epsilon * sigma * sigma / move).__floor__()
    norm = _lattice_sum(Fraction(sigma), Fraction(0))
    factor = ball(epsilon).exp()
    low = min(cut, 0) - 8 - 24 * sigma
    total: Ball = ball(0)
    s2 = 2 * ball(sigma) ** 2
    for x in range(low, cut + 1):
        total += (-(ball(x) ** 2) / s2).exp() - factor * (-(ball(x - move) ** 2) / s2).exp()
    tail = (-(ball(low) ** 2) / s2).exp() / (1 - (ball(low) / ball(sigma) ** 2).exp())
    return (total + tail.union(ball(0))) / norm


def rounding_gap(sigma: int) -> Ball:
    """Total variation between discrete Gaussian noise and rounded continuous noise of the same σ, enclosed."""
    from flint import arb

    s, root = ball(sigma), arb(2).sqrt()
    norm = _lattice_sum(Fraction(sigma), Fraction(0))
    total: Ball = ball(0)
    reach = 14 * sigma
    for x in range(-reach, reach + 1):
        discrete = (-(ball(x) ** 2) / (2 * s * s)).exp() / norm
        cell = (
            ((ball(x) - ball(Fraction(1, 2))) / (s * root)).erfc()
            - ((ball(x) + ball(Fraction(1, 2))) / (s * root)).erfc()
        ) / 2
        total += abs(discrete - cell)
    beyond = 2 * (ball(reach) / (s * root)).erfc() + 4 * (-(ball(reach) ** 2) / (2 * s * s)).exp()
    return (total + beyond.union(ball(0))) / 2
