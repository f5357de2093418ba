"""What every mechanism answers. From ``kind`` and the declared fields follow the wire and the certificate."""

from __future__ import annotations

import typing
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import floor, inf
from typing import Any, ClassVar, Literal

from privjail.budget.notions import Loss, Notion
from privjail.errors import DPError, PlanError, unbounded
from privjail.mechanisms.noise import Noise
from privjail.plan.distance import Number
from privjail.plan.node import Node, children, inputs_first
from privjail.plan.rows import Rows
from privjail.plan.value import Value

FINEST = 2**50  # the noise scale, in grid units, beyond which the grid is made coarser

registry: dict[str, type[Mechanism]] = {}


@dataclass(frozen=True)
class OnGrid:
    """Whole numbers on a public grid, and how far they can move, in steps of that grid."""

    grid: Fraction
    coarser: int  # steps of the value's own grid in one step of this grid
    steps: int
    finer: int = 1  # steps of this grid in one step of the value's own; then ``coarser`` is 1

    def place(self, exact: int) -> int:
        """An exact value on this grid, rounded to the nearest step (half up)."""
        if self.coarser == 1:
            return exact * self.finer
        return (2 * exact + self.coarser) // (2 * self.coarser)


@dataclass(frozen=True)
class Calibration:
    """The noise for one value: what is drawn for each element, and on which grid it is added."""

    on: OnGrid
    scale: Fraction  # of the noise, in steps of the grid, exactly as it is drawn; 0: the value is public


class Mechanism(ABC):
    """The only way out. A mechanism is a frozen dataclass; its fields are its public parameters.

    A field is a ``Fraction``, an ``int``, a ``bool``, or one of these or None.
    """

    kind: ClassVar[str] = ""  # its name on the wire and in certificates
    norm: ClassVar[Literal["l1", "l2", "linf"]]  # in which the sensitivity is measured
    adds_noise: ClassVar[bool] = True  # to each element; otherwise the answer is a choice among the elements
    for_keys: ClassVar[bool] = False  # releases counts of private keys, and nothing else
    not_charged: ClassVar[frozenset[str]] = frozenset()  # parameters that are no part of the loss: they may be long
    element_bytes: ClassVar[int] = 0  # memory that sampling needs for each element, besides lists of them

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__dict__.get("kind"):
            if cls.kind in registry:
                raise TypeError(f"two mechanisms are called {cls.kind!r}")
            registry[cls.kind] = cls

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """What one release costs."""

    @abstractmethod
    def check(self, value: Value) -> None:
        """Refuse, from public facts alone, what this mechanism cannot release."""

    @abstractmethod
    def calibrate(self, value: Value) -> Calibration:
        """The noise that ``sample`` draws for this value, from public facts alone."""

    @abstractmethod
    def sample(self, value: Value, exact: Any, noise: Noise) -> Any:
        """The public answer, from the exact value in units of its grid."""

    def proportional(self, notion: Notion, value: Value) -> bool:
        """Whether a share t of the edits (0 ≤ t ≤ 1) causes at most a share t of the loss.

        Then a release may be charged to a group that holds only a part of a privacy unit's rows. On a coarser
        grid rounding adds a step however small the move is (see ``noise_grid``).
        """
        return self.calibrate(value).on.coarser == 1

    def error(self, value: Value, confidence: float) -> float:
        """With this probability one released element is off by at most this much."""
        raise PlanError(f"how far {self.kind} is off is not known in advance")

    def choices(self, value: Value) -> int:
        """How many elements are looked at again, after the first time: what ``choices_per_request`` limits."""
        return 0

    def sensitivity(self, value: Value) -> Number:
        """How far the value can move, in this mechanism's norm."""
        return require_bounded(getattr(value.joint, self.norm), value)

    def parameters(self) -> dict[str, Any]:
        """The declared fields by name."""
        return {name: getattr(self, name) for name in declared_parameters(type(self))}

    def certificate_noise(self, value: Value) -> dict[str, str | None]:
        """The noise, and the sensitivity that it is made for, as a certificate states them."""
        calibration = self.calibrate(value)
        noise = {"grid": str(calibration.on.grid), "scale": str(calibration.scale)}
        return {"norm": self.norm, **noise, "sensitivity": str(Fraction(self.sensitivity(value)))}


@cache
def declared_parameters(cls: type[Mechanism]) -> dict[str, tuple[type, bool]]:
    """The fields of a mechanism: the type of each, and whether it can be None instead."""
    hints = typing.get_type_hints(cls)
    found = {}
    for name in cls.__match_args__:  # type: ignore[attr-defined]
        given = typing.get_args(hints[name]) or (hints[name],)
        types = [each for each in given if each is not type(None)]
        if len(types) != 1 or types[0] not in (Fraction, int, bool):
            raise TypeError(f"{cls.__name__}.{name} must be declared as Fraction, int or bool, or one of them or None")
        found[name] = types[0], len(given) > 1
    return found


def require_bounded(distance: Number | None, value: Value) -> Number:
    """A sensitivity that must be known."""
    if distance is None:
        raise without_bound(value)
    return distance


def without_bound(value: Value) -> DPError:
    """The error for a value of unknown sensitivity: a person has any number of rows, or a column any value."""
    below: list[Node] = [value]
    for rows in inputs_first(below, children):
        if isinstance(rows, Rows) and rows.distance.value is None and (owner := rows.base.owner()) is not None:
            return DPError(
                f"nothing bounds how many rows one {owner} has, so nothing bounds what they change",
                plan=str(value),
                do=f'keep some rows of each: df.groupby("{owner}").head(5); or one row, by .agg(…)',
            )
    return unbounded(str(value))


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
