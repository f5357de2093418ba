"""What every mechanism answers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor, inf
from typing import Any, ClassVar

from privjail.budget.notions import Loss, Notion
from privjail.errors import PlanError, unbounded
from privjail.mechanisms.noise import Noise
from privjail.plan.distance import Number
from privjail.plan.value import Value

FINEST = 2**50  # the noise scale, in grid units, beyond which the grid is made coarser


class Mechanism:
    """The only way out."""

    element_bytes: ClassVar[int] = 0  # memory that sampling needs for each element, besides lists of them

    def proportional(self, notion: Notion, value: Value) -> bool:
        """Whether a share t of the edits (0 ≤ t ≤ 1) causes at most a share t of the loss.

        Then a release may be charged to a group that holds only a part of a privacy unit's rows.
        """
        return True

    @property
    def loss(self) -> Loss:
        raise TypeError

    def check(self, value: Value) -> None:
        """Refuse, from public facts alone, what this mechanism cannot release."""
        raise TypeError

    def sample(self, value: Value, exact: Any, noise: Noise) -> Any:
        """The public answer, from the exact value in units of its grid."""
        raise TypeError


def require_bounded(distance: Number | None, value: Value) -> Number:
    """A sensitivity that must be known."""
    if distance is None:
        raise unbounded(str(value))
    return distance


@dataclass(frozen=True)
class OnGrid:
    """Whole numbers on a public grid, and how far they can move, in steps of that grid."""

    grid: Fraction
    coarser: int  # steps of the value's own grid in one step of this grid
    steps: int

    def place(self, exact: int) -> int:
        """An exact value on this grid, rounded to the nearest step (half up)."""
        return exact if self.coarser == 1 else (2 * exact + self.coarser) // (2 * self.coarser)


def noise_grid(own: Fraction, distance: Number, scale: Fraction, moving: int = 1) -> OnGrid:
    """The grid to add noise on.

    The value's own grid, on which it moves by whole steps: at most floor(distance / grid). Only where the
    noise would span more than 2**50 such steps a coarser one; rounding then adds at most one step to each
    of the elements that can move. That step is added however small the move is, so on a coarser grid the
    loss is not proportional to the distance.
    """
    coarser = 1
    while scale > FINEST * own * coarser:
        coarser *= 2
    grid = own * coarser
    steps = floor(Fraction(distance) / grid)
    return OnGrid(grid, coarser, steps if coarser == 1 else steps + moving)


def need_number_or_vector(value: Value) -> None:
    if value.index and not value.joint.size:
        raise PlanError("there is nothing to release: the vector is empty")


def listed(exact: Any) -> list[int]:
    return exact if isinstance(exact, list) else [exact]


def public(x: Fraction) -> float:
    """The float nearest to an answer that already carries its noise; infinite beyond the largest float."""
    try:
        return x.numerator / x.denominator
    except OverflowError:
        return inf if x > 0 else -inf


def public_steps(steps: list[int], grid: Fraction) -> list[float]:
    """The same for many whole numbers of steps of a grid, without a fraction for each."""
    top, bottom = grid.numerator, grid.denominator
    try:
        return [x * top / bottom for x in steps]
    except OverflowError:
        return [public(x * grid) for x in steps]
