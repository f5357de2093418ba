"""Draws every figure of docs/local*.md: the paper's figures 2, 3 and 4, and those on planning.

python examples/local_figures.py [--out docs/figures] [--runs 10000] [--every 1]
"""

from __future__ import annotations

import argparse
from fractions import Fraction as F
from pathlib import Path

import numpy as np
from local_paper import ESTIMATORS, constant_strength, errors

from privjail.local import Categories, Unary, Warner, strengths
from privjail.local.planning.plan import plan_binary, plan_kary, plan_unary
from privjail.local.planning.plots import HIDDEN, PUBLIC, canvas, error_over_mix, strength_over_mix

RATIOS = {"s": F(3, 2), "w": F(3)}
YES_NO = Categories(("yes", "no"))
LOOKS = dict(zip(ESTIMATORS, ((HIDDEN, "-"), (HIDDEN, "--"), (PUBLIC, "-"), (PUBLIC, "--")), strict=True))


def figure_2(out: Path) -> None:
    strength_over_mix({"s": Warner("3/5"), "w": Warner("4/5")}, out / "local-figure-2.svg")


def figure_3(out: Path, runs: int, every: int) -> None:
    """n = 100, π = ½, both strengths constant, over the mixes where hiding has an effect."""
    shares = [F(i, 100) for i in range(40, 67, every)]
    figure, axes = canvas(3, "Figure 3: E(s) = log 1.5 and E(w) = log 3 for every mix, π = ½")
    for axis, n in zip(axes, (100, 1000, 10000), strict=True):
        found = [errors(constant_strength(w), n, 0.5, runs) for w in shares]
        _four(axis, shares, found, f"n = {n:,}", "Pr(w)")
    figure.savefig(out / "local-figure-3.svg")


def figure_4(out: Path, runs: int, every: int) -> None:
    """Pr(w) = ½, π from 0 to 1, n = 100, 1,000 and 10,000."""
    figure, axes = canvas(3, "Figure 4: E(s) = log 1.5 and E(w) = log 3, Pr(w) = ½")
    setting = constant_strength(F(1, 2))
    for axis, n in zip(axes, (100, 1000, 10000), strict=True):
        pis = np.linspace(0, 1, 21)[::every]
        _four(axis, pis, [errors(setting, n, pi, runs) for pi in pis], f"n = {n:,}", "π")
    figure.savefig(out / "local-figure-4.svg")


def _four(axis, xs, found, title, label) -> None:
    for name, (colour, line) in LOOKS.items():
        axis.plot([float(x) for x in xs], [f[name] for f in found], color=colour, linestyle=line, label=name)
    axis.set(title=title, xlabel=label, ylabel="mean squared error")
    axis.set_ylim(bottom=0)
    axis.legend(fontsize=7)


def planning(out: Path, every: int) -> None:
    def binary(w):
        return plan_binary(YES_NO, {"s": 1 - w, "w": w}, ratios=RATIOS, plain_may_rise=True)

    def kary(w):
        return plan_kary(Categories.numbered(10), {"s": 1 - w, "w": w}, ratios=RATIOS, plain_may_rise=True)

    points = max(2, 39 // every)
    error_over_mix(binary, "w", 1000, out / "local-plan-binary.svg", points)
    error_over_mix(kary, "w", 1000, out / "local-plan-kary.svg", points)
    shares = [F(i, 60) for i in range(1, 60, every)]
    figure, (left, right) = canvas(2, "What the best hidden channels gain: squared error, public / hidden")
    for k in (2, 3, 10, 100):
        domain = Categories.numbered(k)
        gains = [plan_kary(domain, {"s": 1 - w, "w": w}, ratios=RATIOS, plain_may_rise=True).gain for w in shares]
        left.plot(shares, gains, label=f"k = {k}")
    for kind, plan in (("symmetric", plan_kary), ("any two-output channel", plan_binary)):
        gains = [plan(YES_NO, {"s": 1 - w, "w": w}, ratios=RATIOS, plain_may_rise=True).gain for w in shares]
        right.plot(shares, gains, label=kind)
    for axis, title in ((left, "k-ary response"), (right, "k = 2")):
        axis.axhline(1, color="grey", linestyle="--")
        axis.set(title=title, xlabel="Pr(w)", ylabel="above 1: hiding pays")
        axis.legend()
    figure.savefig(out / "local-plan-gain.svg")


def symmetric(domain):
    return {"s": Unary(domain, F(3, 5), F(2, 5)), "w": Unary(domain, F(4, 5), F(1, 5))}


def shared(domain):
    return {"s": Unary(domain, F(1, 3), F(1, 4)), "w": Unary(domain, F(2, 3), F(1, 4))}


def rappor(out: Path, every: int) -> None:
    half = {"s": F(1, 2), "w": F(1, 2)}
    figure, (left, right) = canvas(2, "Unary encoding (RAPPOR) under PBP")
    sizes = range(2, 13)
    for label, menu, colour in (
        ("symmetric: no = 1 − yes", symmetric, PUBLIC),
        ("shared no = 1/4", shared, HIDDEN),
    ):
        found = [strengths(menu(Categories.numbered(k)), half)["w"] for k in sizes]
        left.plot(sizes, [s.hidden for s in found], color=colour, marker="o", label=label)
        left.plot(sizes, [s.public for s in found], color=colour, linestyle=":", label="its plain ε")
    left.set(xlabel="answers k", ylabel="E(w) at Pr(w) = ½", title="the number of ones tells θ")
    left.set_ylim(bottom=0)
    left.legend(fontsize=7)
    shares = [F(i, 30) for i in range(1, 30, every)]
    for k in (10, 100):
        domain = Categories.numbered(k)
        gains = [
            plan_unary(domain, {"s": 1 - w, "w": w}, ratios=RATIOS, plain_may_rise=True, grid=32).gain for w in shares
        ]
        right.plot(shares, gains, label=f"k = {k}")
    right.axhline(1, color="grey", linestyle="--")
    right.set(xlabel="Pr(w)", ylabel="squared error, public / hidden", title="best shared no")
    right.legend()
    figure.savefig(out / "local-rappor.svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "docs" / "figures")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--every", type=int, default=1, help="draw only every so many points, for a quick look")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    import matplotlib

    matplotlib.rcParams["svg.hashsalt"] = "privjail"  # the same figure is the same file
    figure_2(given.out)
    figure_3(given.out, given.runs, given.every)
    figure_4(given.out, given.runs, given.every)
    planning(given.out, given.every)
    rappor(given.out, given.every)


if __name__ == "__main__":
    main()
