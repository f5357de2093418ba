"""The search behind planning: every parameter needs a cover for every output it can give away.

Claim: ``best_cover`` returns the x in the unit cube with the largest goal·x such that, for every
pattern (the chances of one output under answers d and d′, one affine form of x for each θ), every θ
and either order of the answers, some θ′ has

    chance_θ(d) ≤ R_θ · chance_θ′(d′)   and   chance_θ′(d′) ≤ R_θ · chance_θ(d).

Why exact: once each θ's cover θ′ is chosen these are linear. Without the choice, leaving conditions
out only enlarges the set, so a linear program whose optimum breaks no condition is optimal for its
branch; otherwise a broken condition is branched on, over its possible covers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from privjail.errors import PlanError
from privjail.local.planning.lp import maximum


@dataclass(frozen=True)
class Affine:
    """slopes·x + constant."""

    slopes: tuple[Fraction, ...]
    constant: Fraction

    @staticmethod
    def variable(index: int, n: int, flip: bool = False) -> Affine:
        """x[index], or 1 − x[index]."""
        sign = Fraction(-1 if flip else 1)
        return Affine(tuple(sign if i == index else Fraction(0) for i in range(n)), Fraction(int(flip)))

    def times(self, factor: Fraction) -> Affine:
        return Affine(tuple(s * factor for s in self.slopes), self.constant * factor)

    def minus(self, other: Affine) -> Affine:
        slopes = tuple(a - b for a, b in zip(self.slopes, other.slopes, strict=True))
        return Affine(slopes, self.constant - other.constant)

    def at(self, x: Sequence[Fraction]) -> Fraction:
        return sum((s * v for s, v in zip(self.slopes, x, strict=True)), self.constant)


Pattern = tuple[Sequence[Affine], Sequence[Affine]]
Condition = tuple[int, Affine, Sequence[Affine]]  # θ, its chance, the chances that may cover it


def best_cover(
    goal: Sequence[Fraction],
    patterns: Sequence[Pattern],
    ratios: Sequence[Fraction],
    plain: Sequence[Fraction] | None = None,
) -> list[Fraction]:
    """The best x; the menu where everybody covers herself is always feasible, so there is one.

    With ``plain``, each θ must also cover herself at that ratio: the ε that holds once θ is known.
    """
    conditions = list(_conditions(patterns))
    found = _Search(list(goal), conditions, list(ratios))
    own = []
    for theta, mine, covers in conditions if plain is not None else ():
        limit = plain[theta] if plain is not None else Fraction(0)
        own += [mine.minus(covers[theta].times(limit)), covers[theta].minus(mine.times(limit))]
    found.descend(own)
    if found.best is None:
        raise PlanError("no channels reach these strengths")
    return found.best


def _conditions(patterns: Sequence[Pattern]) -> Iterator[Condition]:
    for one, other in patterns:
        for mine, theirs in ((one, other), (other, one)):
            for theta, chance in enumerate(mine):
                yield theta, chance, theirs


class _Search:
    def __init__(self, goal: list[Fraction], conditions: list[Condition], ratios: list[Fraction]) -> None:
        self.goal, self.conditions, self.ratios = goal, conditions, ratios
        self.best: list[Fraction] | None = None
        self.value = Fraction(-1)

    def descend(self, chosen: list[Affine]) -> None:
        """Look below these constraints (each form ≤ 0) for anything better than the best so far."""
        x = self._solve(chosen)
        if x is None:
            return
        value = sum((g * v for g, v in zip(self.goal, x, strict=True)), Fraction(0))
        if value <= self.value:
            return
        broken = next((c for c in self.conditions if not self._holds(c, x)), None)
        if broken is None:
            self.best, self.value = x, value
            return
        theta, mine, covers = broken
        # θ's own channel first: it soon gives a good value to prune with.
        for cover in [covers[theta], *(c for i, c in enumerate(covers) if i != theta)]:
            self.descend([*chosen, *self._pair(theta, mine, cover)])

    def _pair(self, theta: int, mine: Affine, cover: Affine) -> list[Affine]:
        ratio = self.ratios[theta]
        return [mine.minus(cover.times(ratio)), cover.minus(mine.times(ratio))]

    def _holds(self, condition: Condition, x: Sequence[Fraction]) -> bool:
        theta, mine, covers = condition
        return any(all(form.at(x) <= 0 for form in self._pair(theta, mine, cover)) for cover in covers)

    def _solve(self, chosen: list[Affine]) -> list[Fraction] | None:
        n = len(self.goal)
        cube = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
        left = [*cube, *(list(form.slopes) for form in chosen)]
        right = [*([Fraction(1)] * n), *(-form.constant for form in chosen)]
        return maximum(self.goal, left, right)
