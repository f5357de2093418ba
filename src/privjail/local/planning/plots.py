"""Pictures for planning: strengths over the mix, and errors of hidden against public parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from privjail.errors import PlanError
from privjail.local.channels.channel import Channel
from privjail.local.channels.pbp import strengths
from privjail.local.planning.plan import Plan

HIDDEN, PUBLIC = "#1b6ca8", "#c1440e"


def canvas(panels: int, title: str, width: float = 4.6) -> tuple[Any, list[Any]]:
    """An empty figure; matplotlib is only loaded when somebody draws."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise PlanError("drawing needs matplotlib", do="pip install 'privjail-dp[plots]'") from None
    figure = Figure(figsize=(width * panels, 3.6), layout="constrained")
    figure.suptitle(title, fontsize=11)
    axes = [figure.add_subplot(1, panels, i + 1) for i in range(panels)]
    for axis in axes:
        axis.grid(alpha=0.3)
    return figure, axes


def strength_over_mix(menu: dict[str, Channel], path: str | Path, points: int = 99) -> None:
    """E(θ) beside plain ε for every mix of two parameters (the paper's figure 2)."""
    first, second = menu
    mixes = [Fraction(i, points + 1) for i in range(1, points + 1)]
    results = [strengths(menu, {first: 1 - w, second: w}) for w in mixes]
    figure, axes = canvas(2, "Strength over the mix")
    for axis, name in zip(axes, ("hidden", "public"), strict=True):
        for theta, colour in ((first, HIDDEN), (second, PUBLIC)):
            axis.plot(mixes, [getattr(r[theta], name) for r in results], color=colour, label=theta)
        axis.set(title=f"θ {name}", xlabel=f"Pr({second})", ylabel="E" if name == "hidden" else "ε")
        axis.set_ylim(bottom=0)
        axis.legend()
    figure.savefig(path)


def error_over_mix(make: Callable[[Fraction], Plan], second: str, n: int, path: str | Path, points: int = 39) -> None:
    """Expected error at equal strengths, hidden against public, for every mix of two parameters."""
    mixes = [Fraction(i, points + 1) for i in range(1, points + 1)]
    plans = [make(w) for w in mixes]
    errors = [plan.errors(n) for plan in plans]
    figure, (left, right) = canvas(2, f"Best channels for each mix, n = {n:,}")
    left.plot(mixes, [e[0] ** 0.5 for e in errors], color=HIDDEN, label="θ hidden")
    left.plot(mixes, [e[1] ** 0.5 for e in errors], color=PUBLIC, label="θ public")
    left.set(xlabel=f"Pr({second})", ylabel="expected error of a frequency (RMS)")
    left.legend()
    right.plot(mixes, [plan.gain for plan in plans], color="black")
    right.axhline(1, color="grey", linestyle="--")
    right.set(xlabel=f"Pr({second})", ylabel="squared error, public / hidden", title="above 1: hiding pays")
    figure.savefig(path)


def error_of_plan(plan: Plan, sizes: Sequence[int], path: str | Path) -> None:
    """Expected error of one plan over the number of respondents."""
    errors = [plan.errors(n) for n in sizes]
    figure, (axis,) = canvas(1, "Expected error at equal strength", width=6)
    axis.loglog(sizes, [e[0] ** 0.5 for e in errors], color=HIDDEN, label="θ hidden")
    axis.loglog(sizes, [e[1] ** 0.5 for e in errors], color=PUBLIC, label="θ public")
    axis.set(xlabel="respondents", ylabel="error of a frequency (RMS)")
    axis.legend()
    figure.savefig(path)
