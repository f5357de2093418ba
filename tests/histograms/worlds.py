"""Small worlds: all histograms of few bins and counts, each beside the neighbours that have one record more."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np


def neighbours(bins: int, most: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for counts in product(range(most + 1), repeat=bins):
        for k in range(bins):
            more = np.array(counts)
            more[k] += 1
            yield np.array(counts), more


class Silent:
    """A source of noise that draws zeros, and remembers for which scales it was asked."""

    def __init__(self) -> None:
        self.scales: list[float] = []

    def __call__(self, scale: float, n: int) -> list[int]:
        self.scales.append(scale)
        return [0] * n


class Scripted:
    """A chooser that takes the same places whatever the scores, and remembers what it was asked."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self.asked: list[tuple[np.ndarray, np.ndarray, float, float]] = []

    def __call__(self, scores, starts, sensitivity, epsilon):
        self.asked.append((np.array(scores), np.array(starts), float(sensitivity), float(epsilon)))
        ends = np.append(starts[1:], len(scores))
        return np.array([self._rng.integers(a, b) for a, b in zip(starts, ends, strict=True)])
