"""What can be asked: one of several answers, or a number on a public grid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from privjail.errors import PlanError, SchemaError
from privjail.local.channels.exact import Rational, fraction

Ints = npt.NDArray[np.int64]
LARGEST_GRID = 1000  # a law on it has a million exact entries


@dataclass(frozen=True)
class Categories:
    """A closed list of answers, known to everybody before the survey."""

    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(str(label) for label in self.labels))
        if len(self.labels) < 2 or len(set(self.labels)) != len(self.labels):
            raise PlanError("a question needs at least two different answers", do="list each answer once")

    @staticmethod
    def numbered(size: int) -> Categories:
        return Categories(tuple(str(i) for i in range(size)))

    @property
    def size(self) -> int:
        return len(self.labels)

    @cached_property
    def _position(self) -> dict[str, int]:
        return {label: i for i, label in enumerate(self.labels)}

    def index(self, value: object) -> int:
        position = self._position.get(str(value))
        if position is None:
            # The answer itself is not repeated: an error message is an output, too.
            raise SchemaError("this answer is not in the question's list", do=f"answer one of: {_some(self.labels)}")
        return position

    def indices(self, values: Iterable[object]) -> Ints:
        return np.fromiter((self.index(v) for v in values), dtype=np.int64)

    def spec(self) -> dict[str, Any]:
        return {"categories": list(self.labels)}


@dataclass(frozen=True)
class Grid:
    """Numbers from low to high in equal steps; anything else is clamped and rounded to the grid.

    Why a grid: with finitely many exact inputs every law is a table of fractions, so neither the
    rounding of floats nor their uneven spacing can give a value away (Mironov 2012).
    """

    low: Fraction
    high: Fraction
    steps: int

    def __post_init__(self) -> None:
        if not 1 <= self.steps <= LARGEST_GRID or self.low >= self.high:
            raise PlanError(
                f"a grid needs low < high and 1 to {LARGEST_GRID:,} steps", do="100 steps are plenty beside the noise"
            )

    @staticmethod
    def of(low: Rational, high: Rational, steps: int) -> Grid:
        return Grid(fraction(low, "low"), fraction(high, "high"), int(steps))

    @property
    def size(self) -> int:
        return self.steps + 1

    def index(self, value: object) -> int:
        return int(self.indices([value])[0])

    def indices(self, values: Iterable[object]) -> Ints:
        try:
            numbers = np.asarray(list(values), dtype=np.float64)
        except (TypeError, ValueError):
            raise SchemaError("this answer is not a number", do="answer with a plain number") from None
        if np.isnan(numbers).any():
            raise SchemaError("this answer is not a number", do="answer with a plain number")
        low, high = float(self.low), float(self.high)
        scaled = (np.clip(numbers, low, high) - low) / (high - low) * self.steps
        # int() happens before any noise, so float rounding here moves the input, never the law.
        return np.clip(np.rint(scaled), 0, self.steps).astype(np.int64)

    def number(self, position: Fraction) -> Fraction:
        """The number at a (possibly fractional, possibly outside) grid position."""
        return self.low + (self.high - self.low) * position / self.steps

    def spec(self) -> dict[str, Any]:
        return {"low": str(self.low), "high": str(self.high), "steps": self.steps}


Domain = Categories | Grid


def domain_from(spec: Mapping[str, Any]) -> Domain:
    """The domain that a survey file describes."""
    if isinstance(spec.get("categories"), list):
        return Categories(tuple(spec["categories"]))
    if {"low", "high", "steps"} <= spec.keys():
        return Grid.of(spec["low"], spec["high"], spec["steps"])
    raise SchemaError(
        "a survey's domain must list categories, or give low, high and steps",
        do='e.g. {"categories": ["yes", "no"]} or {"low": 0, "high": 100, "steps": 100}',
    )


def _some(labels: tuple[str, ...]) -> str:
    shown = ", ".join(labels[:8])
    return shown if len(labels) <= 8 else f"{shown}, … ({len(labels)} in all)"
