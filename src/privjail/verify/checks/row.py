"""One line of the report: a claim, what was done to refute it, and what came out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import log

from privjail.verify.laws.law import Number, Verdict

Watch = Callable[[], None]


@dataclass(frozen=True)
class Row:
    """``ours``: whether it is about what this library runs, rather than a reference law."""

    mechanism: str
    claim: str
    inputs: str
    how: str
    holds: bool
    reached: str
    ours: bool = True
    size: int = 0  # the number of elements, for noisy max
    share: float | None = None  # reached ε / claimed ε


def share_of(reached: Number | None, factor: Fraction) -> float:
    """Reached ε over claimed ε."""
    if reached is None:
        return float("inf")
    if reached <= 0:
        return 0.0
    # ln of a fraction by its parts: numerators can be far beyond the floats.
    top, bottom = (log(x.numerator) - log(x.denominator) for x in (Fraction(reached), factor))
    return top / bottom


def percent(share: float, equal: bool) -> str:
    if share == float("inf"):
        return "∞"
    if equal:
        return "100 % of ε (equality)"
    # Rounded down to what is shown, so that 99.999… % is not shown as reached.
    return f"{int(share * 100_000) / 1000:g} % of ε"


def exact_row(
    mechanism: str, claim: str, inputs: str, how: str, verdict: Verdict, factor: Fraction, *, delta: Number = 0,
    tied: bool = True, ours: bool = True, size: int = 0,
) -> Row:  # fmt: skip
    """A row of an exact check; it holds only if the law was tied to the code that runs, too."""
    share = share_of(verdict.reached, factor)
    shown = percent(share, verdict.reached == factor)
    if delta:
        spent = float(Fraction(verdict.delta) / Fraction(delta))
        shown = f"{'100 % of δ (equality)' if verdict.delta == delta else f'{spent:.4%} of δ'}"
    how = f"exact fractions, {verdict.pairs:,} {'pair' if verdict.pairs == 1 else 'pairs'}; {how}"
    return Row(mechanism, claim, inputs, how, verdict.holds(delta) and tied, shown, ours, size, share)
