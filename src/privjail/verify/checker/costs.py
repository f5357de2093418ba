"""Mechanisms: the noise that a sensitivity needs, what it costs, and where that is charged."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from privjail.verify.checker.forms import CannotCheck, Cell, Wrong, largest, largest_square, root_below
from privjail.verify.checker.tables import Vec

DIGITS = Context(60)


def norm(v: Vec, name: str) -> Fraction | None:
    """How far a vector can move, in this norm."""
    if name == "l1":
        return largest(v.total())
    reach = largest(v.whole) if v.way != "listed" else None
    if name == "linf":
        return reach if v.way != "listed" else largest(v.peak())
    if v.way != "listed":
        return reach if v.way == "shared" or reach is None else reach * root_below(Fraction(v.size))
    square = largest_square([v.at(i) for i in range(v.size)])
    return None if square is None else root_below(square)


def noise_fits(m: dict[str, Any], noise: dict[str, Any], v: Vec, reach: Fraction) -> bool:
    """Refuse noise that is too small for its sensitivity. Whether a share of the edits costs that share of the loss."""
    eps = None if m.get("epsilon") is None else Fraction(m["epsilon"])
    if m["kind"] == "gaussian":
        sigma = Fraction(noise["sigma"])
        if m["rho"] is not None:
            enough = sigma * sigma * 2 * Fraction(m["rho"]) >= reach * reach
        else:
            assert eps is not None
            spare = v.size * (1 + math.exp(eps)) / (12 * 2.0**80)
            enough = not reach or gaussian_delta(float(sigma / reach), float(eps)) + spare <= float(Fraction(m["delta"]))
        if not enough:
            raise Wrong("the Gaussian noise is too small")
        return True
    assert eps is not None
    if m["kind"] == "exponential":
        if reach and Fraction(noise["rate"]) * 2 * reach > eps:
            raise Wrong("the scores count for more than eps allows")
        return True
    grid, scale = Fraction(noise["grid"]), Fraction(noise["scale"])
    finer = grid / v.grid
    if finer.denominator != 1 or finer < 1:
        raise Wrong("the noise is not on the value's grid")
    steps = math.floor(reach / grid) + (0 if finer == 1 else v.size if m["kind"] == "laplace" else 1)
    share = {"laplace": eps, "above_threshold": eps / 4}.get(m["kind"])
    if m["kind"] == "noisy_max":
        share = eps / m["k"] / (1 if v.monotone else 2)
    if share is None:
        raise CannotCheck(f"mechanism {m['kind']!r}")
    if scale * share < steps or (m["kind"] == "above_threshold" and Fraction(noise["outer"]) * eps < 2 * steps):
        raise Wrong("the noise is too small for the sensitivity")
    return finer == 1


def gaussian_delta(sigma: float, eps: float) -> float:
    """δ at ε of Gaussian noise at distance 1: Φ(1/2σ - εσ) - e^ε Φ(-1/2σ - εσ), by logarithms."""
    from scipy.special import log_ndtr

    near, far = log_ndtr(1 / (2 * sigma) - eps * sigma), log_ndtr(-1 / (2 * sigma) - eps * sigma)
    return float(math.exp(near) - math.exp(eps + far)) * (1 - 1e-9)


def least_cost(m: dict[str, Any], notion: dict[str, Any]) -> list[Fraction]:
    """What a release must at least be charged, in a notion of privacy."""
    eps, delta, rho = (None if m.get(k) is None else Fraction(m[k]) for k in ("epsilon", "delta", "rho"))
    kind, pure = notion["kind"], m["kind"] != "gaussian"
    if m["kind"] == "exponential" and eps is not None:
        rho = eps * eps / 8
    if not pure and eps is not None and kind in ("zcdp", "renyi"):
        raise CannotCheck("an (ε, δ) Gaussian paid in ρ")
    if kind == "pure" and pure and eps is not None:
        return [eps]
    if kind == "approx" and eps is not None:
        return [eps, Fraction(0) if pure or delta is None else delta]
    if kind == "zcdp" and (rho or eps) is not None:
        return [rho if rho is not None else eps * eps / 2]  # type: ignore[operator]
    if kind == "renyi":
        order = Fraction(notion["order"])
        known = [] if rho is None else [order * rho]
        return [min(known + ([eps, _response(eps, order)] if pure and eps is not None else []))]
    raise Wrong(f"{m['kind']} cannot be paid under {kind}")


def _response(eps: Fraction, order: Fraction) -> Fraction:
    """The Rényi divergence of randomised response, the largest that ε-DP allows; a little less, to 60 digits."""
    e, a = (DIGITS.divide(Decimal(x.numerator), Decimal(x.denominator)) for x in (eps, order))

    def log_cosh(x: Decimal) -> Decimal:
        return x + DIGITS.ln((1 + DIGITS.exp(-2 * x)) / 2)

    return Fraction((log_cosh((a - Decimal("0.5")) * e) - log_cosh(e / 2)) / (a - 1)) * (1 - Fraction(1, 10**12))


def charged(cells: list[Cell]) -> set[Cell]:
    """Cells that all exclude each other inside one partition: two that do not become their lowest common ancestor."""
    left = set(cells)
    while True:
        for a in left:
            for b in left - {a}:
                n = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
                apart = n < min(len(a), len(b)) and (n == 0 or a[n][:2] == b[n][:2])
                if not apart:
                    break
            else:
                continue
            left = (left - {a, b}) | {a[:n]}
            break
        else:
            return left
