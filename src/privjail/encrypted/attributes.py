"""What the bins of a study mean: one bin for each combination of labels, the last attribute running fastest.

So one record holds all attributes of its owner, the histogram is their cross table, and what is known of one attribute
alone is a sum of its rows. A record is still one unit in one bin: nothing about proofs or privacy changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from privjail.errors import PlanError

MOST_LABELS = 4096


@dataclass(frozen=True)
class Attribute:
    """A name and its labels; for numbers also where the first label begins and how wide each is."""

    name: str
    labels: tuple[str, ...]
    low: str = ""
    step: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))
        texts = (self.name, *self.labels)
        if not all(isinstance(each, str) and 0 < len(each) <= 100 for each in texts):
            raise PlanError("an attribute has a name and labels of 1 … 100 characters")
        if not 2 <= len(set(self.labels)) == len(self.labels) <= MOST_LABELS:
            raise PlanError(f"attribute {self.name!r} needs at least two labels, each once")
        if bool(self.low) != bool(self.step) or (self.step and _number(self.step) <= 0):
            raise PlanError(f"the numbers of attribute {self.name!r} need a beginning and a width above 0")

    @staticmethod
    def parse(text: str) -> Attribute:
        """``region=north,south``, or ``age=0:100:5`` for numbers from 0 to below 100 in steps of 5."""
        name, _, rest = text.partition("=")
        parts = rest.split(":")
        if len(parts) == 3:
            low, high, step = (_number(part) for part in parts)
            count = math.ceil((high - low) / step) if step > 0 else 0
            if not 2 <= count <= MOST_LABELS:
                raise PlanError(f"{text!r} is no attribute", do="write age=0:100:5")
            labels = tuple(f"{_spelled(low + i * step)} to {_spelled(low + (i + 1) * step)}" for i in range(count))
            return Attribute(name, labels, str(low), str(step))
        return Attribute(name, tuple(part.strip() for part in rest.split(",")))

    @property
    def numeric(self) -> bool:
        return bool(self.step)

    def values(self) -> npt.NDArray[np.float64]:
        """The middle of each label, for sums and means."""
        if not self.numeric:
            raise PlanError(f"attribute {self.name!r} has labels, not numbers", do="ask for counts")
        low, step = _number(self.low), _number(self.step)
        return np.array([float(low + (i + Fraction(1, 2)) * step) for i in range(len(self.labels))])

    def place(self, text: str) -> int:
        """The label that this text is, or the one whose range holds this number; beyond the ends: the outermost."""
        if text in self.labels:
            return self.labels.index(text)
        if not self.numeric:
            raise PlanError(f"this is none of the labels of {self.name!r}", do=f"use: {', '.join(self.labels[:8])}")
        at = math.floor((_number(text) - _number(self.low)) / _number(self.step))
        return min(max(at, 0), len(self.labels) - 1)

    def chosen(self, text: str) -> list[int]:
        """Places that a query names: a label, ``a:b`` of places or, for numbers, of numbers; empty ends are open."""
        first, colon, last = text.partition(":")
        if not colon:
            return [self.place(text)]
        n = len(self.labels)
        if self.numeric:
            low, step = _number(self.low), _number(self.step)
            ends = [
                (_number(end) - low) / step if end else Fraction(0 if i == 0 else n)
                for i, end in enumerate((first, last))
            ]
            if any(end.denominator != 1 for end in ends):
                raise PlanError(f"{text!r} cuts through a label of {self.name!r}", do=f"use steps of {self.step}")
            a, b = (int(end) for end in ends)
        else:
            a = self.place(first) if first else 0
            b = self.place(last) + 1 if last else n
        if not 0 <= a < b <= n:
            raise PlanError(f"{text!r} is no range of {self.name!r}")
        return list(range(a, b))


def attributes_of(given: Iterable[Attribute | Mapping[str, Any]]) -> tuple[Attribute, ...]:
    """Attributes, also as a study file spells them."""
    found = tuple(each if isinstance(each, Attribute) else Attribute(**each) for each in given)
    if len({each.name for each in found}) != len(found):
        raise PlanError("two attributes have the same name")
    return found


def bins_of(attributes: Iterable[Attribute]) -> int:
    return math.prod(len(each.labels) for each in attributes)


def bin_of(attributes: tuple[Attribute, ...], texts: Mapping[str, str]) -> int:
    """The bin of a record with these labels or numbers."""
    found = 0
    for each in attributes:
        found = found * len(each.labels) + each.place(texts[each.name])
    return found


def weights(attributes: tuple[Attribute, ...], query: str) -> npt.NDArray[np.float64]:
    """1 for each bin that a query names: ``age=20:40,region=north``; attributes that it does not name: all."""
    asked = dict(_pair(part) for part in query.split(",") if part.strip())
    unknown = [name for name in asked if name not in {each.name for each in attributes}]
    if unknown:
        names = ", ".join(each.name for each in attributes)
        raise PlanError(f"this study has no attribute {unknown[0]!r}", do=f"it has: {names}")
    found = np.ones(1)
    for each in attributes:
        row = np.zeros(len(each.labels))
        row[each.chosen(asked[each.name]) if each.name in asked else slice(None)] = 1.0
        found = np.outer(found, row).ravel()
    return found


def values(attributes: tuple[Attribute, ...], name: str) -> npt.NDArray[np.float64]:
    """The number that each bin stands for, in one attribute."""
    found = np.ones(1)
    known = False
    for each in attributes:
        row = each.values() if each.name == name else np.ones(len(each.labels))
        known |= each.name == name
        found = np.outer(found, row).ravel()
    if not known:
        raise PlanError(f"this study has no attribute {name!r}")
    return found


def _pair(text: str) -> tuple[str, str]:
    name, equal, chosen = text.partition("=")
    if not equal or not chosen:
        raise PlanError(f"{text!r} is no part of a query", do="write age=20:40,region=north")
    return name.strip(), chosen.strip()


def _number(text: str) -> Fraction:
    from privjail.encrypted.study import parse_amount

    negative = text.strip().startswith("-")
    return -parse_amount(text.strip()[1:]) if negative else parse_amount(text)


def _spelled(number: Fraction) -> str:
    return str(number) if number.denominator == 1 else f"{float(number):g}"
