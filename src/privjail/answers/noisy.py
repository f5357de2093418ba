"""Releases with noise on every element, each by its own scale. See decision 0180.

One vector gets one noise scale: a count beside a sum of incomes would drown in the noise of the incomes. So elements
of different sensitivity are first multiplied by public factors that make their sensitivities equal, and released
numbers are divided by the same factors again, which is post-processing. The jail sees an ordinary vector.

The law. Let Δᵢ be the sensitivity of element i, wᵢ its weight (all equal unless the analyst gives an ε to each), and J
the joint sensitivity (L1 for Laplace, L2 for Gaussian noise) of the vector with elements xᵢ·wᵢ/Δᵢ. Element i gets
noise of scale (J/wᵢ)·Δᵢ/ε: as if it were alone, with the share wᵢ/J of ε. J ≤ Σ wᵢ; for groups that exclude each
other J = max wᵢ, and no share is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor, isfinite, lcm
from typing import Any

from privjail import records, session
from privjail.answers.answer import Answer, Facts, facts_of
from privjail.answers.laws import Exact, GaussianNoise, LaplaceNoise, Law
from privjail.budget.amounts import amount
from privjail.errors import PlanError
from privjail.mechanisms.gaussian import Gaussian
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.mechanism import Mechanism, public, without_bound
from privjail.ops.numbers.combine import ColumnStack, Element, Scale, Stack
from privjail.ops.numbers.tally import Tally
from privjail.plan.value import PerElement, Value
from privjail.release import Query

MOST_STEPS = 2**40  # that one unit may move a scaled element: noise of far more steps would need a coarser grid
FINENESS = 2**8  # where no common multiple is that small, sensitivities become equal within a 256th
STILL = 20  # bits by which a part that cannot move is made larger than the others
MOST_ELEMENTS = 4096  # of a vector that is taken apart into its elements


def release(
    value: Value, mechanism: Mechanism, weights: Sequence[Fraction] | None = None, *, as_it_is: bool = False
) -> tuple[Any, list[Facts]]:
    """The noisy answer, one number or a flat list, and what is known about each number.

    ``as_it_is``: one scale of noise for all elements.
    """
    if isinstance(mechanism, (Laplace, Gaussian)) and not as_it_is:
        scaled, factors = equalised(value, weights)
        if scaled is not None:
            answers = session.release([Query(scaled, mechanism)])[0]
            numbers, known = _unscaled(answers, facts_of(scaled, mechanism), factors, _grids(value))
            return _noted(numbers, known)
    answer = session.release([Query(value, mechanism)])[0]
    facts = facts_of(value, mechanism)
    return _noted(answer, [facts] * (value.joint.size if value.index else 1))


def at_scale(value: Value, scale: Any, kind: Any) -> Mechanism:
    """Laplace or Gaussian noise of this scale (or standard deviation) on each element, at the price that it has."""
    wide = amount(scale, "scale")
    norm = value.joint.l2 if kind == "gaussian" else value.joint.l1
    if kind not in (None, "laplace", "gaussian"):
        raise PlanError("noise of a scale is 'laplace' or 'gaussian'", do='reveal(scale=10, mechanism="gaussian")')
    if norm is None:
        raise without_bound(value)
    if not norm:
        raise PlanError("this number is public: it needs no noise", plan=str(value), do="reveal(eps=1)")
    return Gaussian(rho=norm * norm / (2 * wide * wide)) if kind == "gaussian" else Laplace(Fraction(norm) / wide)


def _noted(answer: Any, facts: list[Facts]) -> tuple[Any, list[Facts]]:
    """The same, entered in the history."""
    given = answer[: records.SHOWN] if isinstance(answer, list) else [answer]
    found = [Answer(x, known) for x, known in zip(given, facts, strict=False)]
    records.answered("", found if isinstance(answer, list) else found[0])
    return answer, facts


def equalised(value: Value, weights: Sequence[Fraction] | None = None) -> tuple[Value | None, list[Fraction]]:
    """The vector with elements of equal sensitivity (times their weights), and the factor of each element.

    (None, []) where the vector is released as it is: all elements move equally far, or some move without a bound.
    """
    parts = _parts(value)
    if parts is None:
        return None, []
    moves = [part.joint.linf for part in parts]
    if any(move is None for move in moves):
        return None, []
    steps = [int(Fraction(move or 0) / part.grid) for move, part in zip(moves, parts, strict=True)]
    shares = [Fraction(1)] * len(parts) if weights is None else list(weights)
    if weights is None and len({move for move in moves if move}) < 2:
        return None, []
    # Whole steps times whole numbers: on a grid of 1 or coarser, whatever the grids of the parts are.
    factors = [times / part.grid for times, part in zip(_multiples(steps, shares), parts, strict=True)]
    scaled = tuple(Scale(part, factor) for part, factor in zip(parts, factors, strict=True))
    if isinstance(value, ColumnStack):
        return ColumnStack(scaled, value.labels), factors * (value.size // len(factors))
    return Stack(scaled, tuple(range(len(scaled)))), factors


def largest_error(value: Value, far: float, factors: Sequence[Fraction]) -> float:
    """How far a number is off at most, of those that were scaled by these factors and then were off by ``far`` at most.

    A number that is moved to its grid may get further away from the true one, which lies on that grid: by less than
    half a step, and to a whole number of steps.
    """
    if not isfinite(far):
        return far
    most = Fraction(0)
    for factor, (grid, moves) in dict.fromkeys(zip(factors, _grids(value), strict=True)):
        if moves:
            off = Fraction(far) / factor
            most = max(most, floor(off / grid + Fraction(1, 2)) * grid if grid else off)
    return public(most)


def _parts(value: Value) -> Sequence[Value] | None:
    """What gets factors of its own: the columns of a table, the elements of a vector."""
    match value:
        case ColumnStack():
            return value.vectors
        case Stack():
            return value.elements
    if isinstance(value, Tally) or not value.index:
        return None  # counts or sums of groups move equally far
    if isinstance(value.joint, PerElement) and value.size <= MOST_ELEMENTS:
        return [Element(value, i) for i in range(value.size)]
    return None


def _multiples(steps: Sequence[int], shares: Sequence[Fraction]) -> list[int]:
    """A whole number for each part, such that steps × number ÷ share is the same for all, or nearly.

    A part that cannot move gets a factor so large that the noise vanishes beside it.
    """
    wanted = [step / share for step, share in zip(steps, shares, strict=True) if step]
    common = lcm(*(x.numerator for x in wanted)) if wanted else 1
    if common > MOST_STEPS:
        common = int(max(wanted) * FINENESS)
    return [
        max(1, int(common * share / step)) if step else common << STILL
        for step, share in zip(steps, shares, strict=True)
    ]


def _grids(value: Value) -> list[tuple[Fraction, bool]]:
    """For each element the grid that it lies on, if that is one of whole or known numbers, and whether it can move."""
    parts = _parts(value) or ()
    found = [(part.grid if part.whole or not part.joint.linf else Fraction(0), bool(part.joint.linf)) for part in parts]
    return found * (value.size // len(found))


def _unscaled(
    answers: Sequence[float], facts: Facts, factors: Sequence[Fraction], grids: Sequence[tuple[Fraction, bool]]
) -> tuple[list[float], list[Facts]]:
    """Released numbers in their own unit; where the true one lies on a grid of whole numbers, moved there."""
    known: dict[Any, Facts] = {}
    numbers = []
    for answer, factor, (grid, moves) in zip(answers, factors, grids, strict=True):
        numbers.append(_own_unit(answer, factor, grid))
        if (factor, grid, moves) not in known:
            law = _law(facts.law, public(1 / factor), public(grid) / 2) if moves else Exact()
            known[factor, grid, moves] = replace(facts, law=law)
    return numbers, [known[factor, *grid] for factor, grid in zip(factors, grids, strict=True)]


def _own_unit(answer: float, factor: Fraction, grid: Fraction) -> float:
    """Exactly, and infinite beyond the largest float: what is paid for must not fail here."""
    if not isfinite(answer):
        return answer
    x = Fraction(answer) / factor
    return public(round(x / grid) * grid if grid else x)


def _law(law: Law, times: float, rounding: float) -> Law:
    """The law of a multiple of a number, moved to its grid afterwards."""
    match law:
        case LaplaceNoise(scale, grid, before):
            return LaplaceNoise(scale * times, grid * times, before * times + rounding)
        case GaussianNoise(sigma, before):
            return GaussianNoise(sigma * times, before * times + rounding)
    return law
