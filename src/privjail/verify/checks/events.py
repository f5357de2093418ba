"""Events that may tell two samples apart, learned from samples: features of an output, and sets of features."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Vector = tuple[float, ...]
ATOMS = 400  # more different outputs than this are put together as "others"
PARTS = 6  # elements that are looked at one by one
SIZES = [-4.0, -2.0, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 2.0, 4.0]


@dataclass(frozen=True)
class Seen:
    """An output, as something that can be put into a set, and as a vector of numbers if it is one."""

    key: Hashable
    vector: Vector | None
    kind: str

    @staticmethod
    def of(output: Any) -> Seen:
        return Seen(frozen(output), numbers(output), type(output).__name__)


Feature = Callable[[Seen], Hashable]


@dataclass(frozen=True)
class Event:
    """A set of outputs: those whose feature is in ``inside``."""

    what: str
    feature: Feature
    inside: frozenset[Hashable]

    def __contains__(self, output: Any) -> bool:
        return self.feature(Seen.of(output)) in self.inside

    def count(self, outputs: Sequence[Seen]) -> int:
        return sum(self.feature(o) in self.inside for o in outputs)


def frozen(output: Any) -> Hashable:
    """An output as something that can be compared and put into a set."""
    if isinstance(output, (np.ndarray, np.generic)):
        output = output.tolist()
    if isinstance(output, (list, tuple)):
        return tuple(frozen(x) for x in output)
    if isinstance(output, dict):
        return tuple(sorted((str(k), frozen(v)) for k, v in output.items()))
    if isinstance(output, float) and math.isnan(output):
        return "nan"
    return output if isinstance(output, Hashable) else repr(output)


def numbers(output: Any) -> Vector | None:
    """An output as a vector of numbers, if it is one."""
    if type(output) in (int, float):
        output = (output,)
    if isinstance(output, dict):
        output = output.values()
    if isinstance(output, (np.ndarray, np.generic)):
        output = np.atleast_1d(output).tolist()
    try:
        vector = tuple(map(float, output))
    except (TypeError, ValueError, OverflowError):
        return None
    return vector if vector and not any(map(math.isnan, vector)) else None


def fraction_bits(x: float) -> int:
    """The finest binary digit that a float uses: the least k ≥ 0 such that x·2^k is whole."""
    return x.as_integer_ratio()[1].bit_length() - 1 if math.isfinite(x) else 0


def features(left: Sequence[Seen], right: Sequence[Seen]) -> list[tuple[str, Feature]]:
    """Ways to look at outputs like these; learned from both samples together."""
    both = [*left, *right]
    known: list[tuple[str, Feature]] = [("the output itself", _atoms([s.key for s in both], lambda s: s.key))]
    sizes = {None if s.vector is None else len(s.vector) for s in both}
    if len(sizes) == 1 and None not in sizes:
        known += _of_numbers([s.vector for s in left if s.vector], [s.vector for s in right if s.vector])
    else:
        known.append(("kind and length", lambda s: (s.kind, len(s.key) if isinstance(s.key, tuple) else 0)))
    if all(isinstance(s.key, tuple) for s in both):
        known += [_part(both, i) for i in range(min(PARTS, max(len(s.key) for s in both)))]  # type: ignore[arg-type]
    return known


def _atoms(keys: Sequence[Hashable], of: Callable[[Seen], Hashable]) -> Feature:
    common = {k for k, _ in Counter(keys).most_common(ATOMS)}
    return lambda s: k if (k := of(s)) in common else "others"


def _part(both: Sequence[Seen], i: int) -> tuple[str, Feature]:
    """One element alone, for outputs that are not numbers throughout, such as (None, None, 3.2)."""

    def element(s: Seen) -> Hashable:
        return s.key[i] if isinstance(s.key, tuple) and len(s.key) > i else "absent"

    seen = [element(s) for s in both]
    values = [float(x) for x in seen if type(x) in (int, float)]  # type: ignore[arg-type]
    if len(set(values)) <= ATOMS:
        return f"element {i}", _atoms(seen, element)
    edges = _edges(values)

    def binned(s: Seen) -> Hashable:
        x = element(s)
        return bisect_left(edges, float(x)) if isinstance(x, (int, float)) and not isinstance(x, bool) else x

    return f"element {i}", binned


def _edges(values: Sequence[float], bins: int = 96) -> list[float]:
    """Cuts at quantiles, and finer ones in both tails, where ratios are largest."""
    tail = np.geomspace(1e-4, 1 / bins, 12)
    points = np.concatenate([tail, np.linspace(1 / bins, 1 - 1 / bins, bins), 1 - tail])
    cuts: list[float] = np.unique(np.quantile(np.array(values), points)).tolist()
    return cuts


def _of_numbers(left: Sequence[Vector], right: Sequence[Vector]) -> list[tuple[str, Feature]]:
    """Binned: the value, or the largest, the sum, the steepest direction; and the finest binary digit in use."""
    both = [*left, *right]
    maps: list[tuple[str, Callable[[Vector], float]]] = [("value", lambda v: v[0])]
    if len(both[0]) > 1:
        slope = _steepest(left, right)
        maps += [("largest", max), ("sum", sum), ("position of the largest", lambda v: v.index(max(v)))]
        maps.append(("steepest direction", lambda v: sum(x * s for x, s in zip(v, slope, strict=False))))
    return [(name, _binned(of, both)) for name, of in maps] + [("finest binary digit, by size", _grid)]


def _steepest(left: Sequence[Vector], right: Sequence[Vector]) -> Vector:
    """Along which all elements that moved moved: the signs of the differences of medians, by their spread."""
    a, b = np.clip(np.array(left), -1e100, 1e100), np.clip(np.array(right), -1e100, 1e100)
    middle, other = np.median(a, axis=0), np.median(b, axis=0)
    spread = np.median(np.abs(a - middle), axis=0) + 1e-12
    return tuple((np.sign(np.round((middle - other) / spread, 1)) / spread).tolist())


def _binned(of: Callable[[Vector], float], both: Sequence[Vector]) -> Feature:
    edges = _edges([max(-1e300, min(1e300, of(v))) for v in both])

    def feature(s: Seen) -> Hashable:
        return "no number" if s.vector is None else bisect_left(edges, of(s.vector))

    return feature


def _grid(s: Seen) -> Hashable:
    """Noise that is computed and added in floats leaves neighbours on different grids (V-1, V-2)."""
    if s.vector is None:
        return "no number"
    return min(fraction_bits(s.vector[0]), 80), bisect_left(SIZES, s.vector[0])
