"""Mechanisms: the noise that a sensitivity needs, what it costs, and where that is charged."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any

from privjail.verify.checker.forms import CannotCheck, Cell, Wrong, largest, largest_square, root_below, whole
from privjail.verify.checker.tables import Vec

DIGITS = Context(60)
OWN = dict.fromkeys(("laplace", "exponential", "noisy_max", "above_threshold"), [["epsilon"]])
OWN["gaussian"] = [["epsilon", "delta"], ["rho"]]


def norm(v: Vec, name: str) -> Fraction | None:
    """How far a vector can move, in this norm."""
    if name != "l2":
        return largest(v.total() if name == "l1" else v.peak())
    if v.way == "listed":
        square = largest_square([v.at(i) for i in range(v.size)])
        return None if square is None else root_below(square)
    reach = largest(v.whole)
    return reach if v.way == "shared" or reach is None else reach * root_below(Fraction(v.size))


def asked(m: dict[str, Any]) -> list[Any]:
    """ε, δ and ρ of a mechanism: those that it has and no others, or one could be noised for and another be paid."""
    if m["kind"] not in OWN:
        raise CannotCheck(f"mechanism {m['kind']!r}")
    given = {k: Fraction(m[k]) for k in ("epsilon", "delta", "rho") if m.get(k) is not None}
    if list(given) not in OWN[m["kind"]] or min(given.values()) <= 0:
        raise Wrong("the parameters are not those of the mechanism, or not positive")
    return [given.get(k) for k in ("epsilon", "delta", "rho")]


def noise_fits(m: dict[str, Any], noise: dict[str, Any], v: Vec, reach: Fraction) -> bool:
    """Refuse noise that is too small for its sensitivity. Whether a share of the edits costs that share of the loss."""
    eps, delta, rho = asked(m)
    finer = Fraction(1)
    if m["kind"] == "gaussian" and eps is not None and delta is not None:
        spare = v.size * (1 + math.exp(eps)) / (12 * 2.0**80)
        enough = not reach or gaussian_delta(abs(Fraction(noise["sigma"])) / reach, eps) + spare <= float(delta)
    elif m["kind"] == "gaussian" and rho is not None:
        enough = Fraction(noise["sigma"]) ** 2 * 2 * rho >= reach * reach
    elif m["kind"] == "exponential":
        enough = not reach or abs(Fraction(noise["rate"])) * 2 * reach <= eps
    else:
        finer = Fraction(noise["grid"]) / v.grid
        steps = math.floor(reach / Fraction(noise["grid"])) + (finer != 1) * (v.size if m["kind"] == "laplace" else 1)
        share = {"laplace": 1, "above_threshold": 4, "noisy_max": whole(m.get("k", 1), 1) * (2 - v.monotone)}[m["kind"]]
        least = share * steps / eps
        enough = finer >= 1 == finer.denominator and Fraction(noise["scale"]) >= least
        enough &= m["kind"] != "above_threshold" or Fraction(noise["outer"]) >= least / 2
    if not enough:
        raise Wrong("the noise is too small for the sensitivity")
    return finer == 1


def gaussian_delta(sigma: Any, eps: Any) -> float:
    """δ at ε of Gaussian noise at distance 1: Φ(1/2σ - εσ) - e^ε Φ(-1/2σ - εσ), by logarithms."""
    from scipy.special import log_ndtr

    sigma, eps = float(sigma), float(eps)
    near, far = log_ndtr(1 / (2 * sigma) - eps * sigma), log_ndtr(-1 / (2 * sigma) - eps * sigma)
    return float(math.exp(near) - math.exp(eps + far)) * (1 - 1e-9)


def least_cost(m: dict[str, Any], notion: dict[str, Any]) -> list[Fraction]:
    """What a release must at least be charged, in a notion of privacy."""
    eps, delta, rho = asked(m)
    if m["kind"] == "exponential" and eps is not None:
        rho = eps * eps / 8
    match notion["kind"], m["kind"] != "gaussian":
        case "pure", True if eps is not None:
            return [eps]
        case "approx", pure if eps is not None:
            return [eps, Fraction(0) if pure or delta is None else delta]
        case "zcdp", pure if rho is not None or (pure and eps is not None):
            return [rho if rho is not None else eps * eps / 2]  # type: ignore[operator]
        case "renyi", pure if rho is not None or (pure and eps is not None):
            order = Fraction(notion["order"])
            if order <= 1:
                raise Wrong("the order of a Rényi budget is above 1")
            known = [order * x for x in (rho,) if x is not None]
            return [min(known + [y for x in (eps,) if x is not None for y in (x, _response(x, order))])]
    raise CannotCheck(f"{m['kind']} paid under {notion['kind']}")


def _response(eps: Fraction, order: Fraction) -> Fraction:
    """The Rényi divergence of randomised response, the largest that ε-DP allows; a little less, to 60 digits."""
    e, a = (DIGITS.divide(Decimal(x.numerator), Decimal(x.denominator)) for x in (eps, order))

    def log_cosh(x: Decimal) -> Decimal:
        return x + DIGITS.ln((1 + DIGITS.exp(-2 * x)) / 2)

    return Fraction((log_cosh((a - Decimal("0.5")) * e) - log_cosh(e / 2)) / (a - 1)) * (1 - Fraction(1, 10**12))


def charged(cells: list[Cell]) -> set[Cell]:
    """Cells that all exclude each other inside one partition: two that do not become their lowest common ancestor."""
    left = set(cells)
    for a, b in combinations(left, 2):
        n = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
        if n == min(len(a), len(b)) or a[n][:2] != b[n][:2]:
            return charged([*(left - {a, b}), a[:n]])
    return left
