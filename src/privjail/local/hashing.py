"""Optimal local hashing: hash the answer to a few cells with a fresh salt, randomise the cell."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from privjail.errors import PlanError
from privjail.local.channel import Channel, Floats, Reports, SupportChannel, read_codes
from privjail.local.domain import Categories
from privjail.local.entropy import Ints, below, bernoulli
from privjail.local.exact import Rational, probability, ratio_below


@dataclass(frozen=True)
class LocalHashing(SupportChannel):
    """Sends (a, b, y): a fresh salt, and k-ary response among ``cells`` values on h_ab(answer).

    h_ab(x) = ((a·x + b) mod P) mod cells, a uniform on 1 … P − 1, b on 0 … P − 1, P prime ≥ k.
    Guarantee: max(p/q, q/p) bounds every ratio, p = truth, q = (1 − p)/(cells − 1).
    Why: the salt is independent of the answer; given the salt, y has probability p or q.
    Source: Wang, Blocki, Li, Jha 2017 (OLH); Carter, Wegman 1979 (the hash family).

    The family is summed exactly: (a·x + b, a·x′ + b) is uniform on pairs of different residues, so
    the chance of a collision is a known fraction and the estimate is unbiased, not nearly so.
    A salt is drawn for each report and never taken from outside: a collector who could choose it,
    or make two reports share it, would learn which cell a changed answer moved to (V-50).
    """

    domain: Categories
    cells: int
    truth: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "truth", probability(self.truth, "truth"))
        if not 2 <= self.cells <= 2**16 or self.domain.size > 2**20:
            raise PlanError("local hashing takes 2 to 65,536 cells and at most 2**20 answers")
        if self.truth * self.cells == 1:
            raise PlanError("with truth = 1/cells a report says nothing", do="raise truth")

    @staticmethod
    def of(domain: Categories, epsilon: Rational) -> LocalHashing:
        """The optimal number of cells, ⌊e^ε⌉ + 1, at a computed ε of at most this."""
        ratio = ratio_below(epsilon)
        cells = max(2, round(ratio) + 1)
        return LocalHashing(domain, cells, ratio / (ratio + cells - 1))

    @cached_property
    def prime(self) -> int:
        # At least 101, so that a small domain still meets many different salts.
        candidate = max(self.domain.size, self.cells, 101)
        while any(candidate % d == 0 for d in range(2, int(candidate**0.5) + 1)):
            candidate += 1
        return candidate

    @property
    def shape(self) -> Hashable:
        return ("hashing", self.domain, self.cells)

    @property
    def lie(self) -> Fraction:
        return (1 - self.truth) / (self.cells - 1)

    @cached_property
    def collision(self) -> Fraction:
        """The chance, over the salt, that two different answers share a cell."""
        p = self.prime
        fill = [len(range(y, p, self.cells)) for y in range(self.cells)]
        return Fraction(sum(c * (c - 1) for c in fill), p * (p - 1))

    @property
    def rates(self) -> tuple[Fraction, Fraction]:
        share = self.collision
        return self.truth, share * self.truth + (1 - share) * self.lie

    def split(self, output: int) -> tuple[int, int, int]:
        """The salt (a, b) and the cell y of a report."""
        rest, y = divmod(output, self.cells)
        a, b = divmod(rest, self.prime)
        return a + 1, b, y

    def law(self, output: int, value: int) -> Fraction:
        a, b, y = self.split(output)
        cell = (a * value + b) % self.prime % self.cells
        salts = self.prime * (self.prime - 1)
        return (self.truth if cell == y else self.lie) / salts

    def outputs(self) -> Iterator[int]:
        return iter(range(self.prime * (self.prime - 1) * self.cells))

    def patterns(self, beside: Sequence[Channel] = ()) -> Iterator[tuple[int, tuple[int, ...]]]:
        # a = 1, b = 0, y = 0: answer 0 is supported, answer 1 is not (cells ≥ 2). Every other report
        # has the same two probabilities; some support all answers or none, which bounds nothing more.
        yield 0, (0, 1)

    def draw(self, values: Ints) -> Reports:
        n = len(values)
        a, b = below(self.prime - 1, n), below(self.prime, n)
        cell = ((a + 1) * values + b) % self.prime % self.cells
        shift = 1 + below(self.cells - 1, n)
        y = np.where(bernoulli(self.truth, n), cell, (cell + shift) % self.cells)
        return (a * self.prime + b) * self.cells + y

    def read(self, texts: list[str]) -> Reports:
        return read_codes(texts, self.prime * (self.prime - 1) * self.cells)

    def tally(self, reports: Reports) -> Ints:
        p, g = self.prime, self.cells
        if p * p * g > 2**26:  # a huge domain: walk the reports instead of all salts
            return self._tally_directly(reports)
        counts = np.bincount(reports, minlength=(p - 1) * p * g).reshape(p - 1, p, g)
        return np.rint(self.gather(counts.astype(np.float64))).astype(np.int64)

    def _tally_directly(self, reports: Reports) -> Ints:
        rest, y = np.divmod(reports, self.cells)
        a, b = np.divmod(rest, self.prime)
        total = np.empty(self.domain.size, dtype=np.int64)
        for d in range(self.domain.size):
            total[d] = int((((a + 1) * d + b) % self.prime % self.cells == y).sum())
        return total

    @cached_property
    def _cells_spectrum(self) -> Any:
        residues = np.arange(self.prime) % self.cells
        return np.fft.rfft((residues[None, :] == np.arange(self.cells)[:, None]).astype(np.float64), axis=1)

    @cached_property
    def _moved(self) -> Ints:
        return np.outer(np.arange(1, self.prime), np.arange(self.domain.size)) % self.prime

    def gather(self, weights: Floats) -> Floats:
        """For each answer d, the sum of weights[a, b, y] over the reports that support d.

        Supporting depends on a·d + b only, so for each a it is a cyclic correlation over b: a
        Fourier transform costs P·log P where walking over answers costs P·k.
        """
        total = np.zeros(self.domain.size)
        for a in range(self.prime - 1):
            spectrum = np.conj(np.fft.rfft(weights[a].T, axis=1)) * self._cells_spectrum
            total += np.fft.irfft(spectrum.sum(axis=0), n=self.prime)[self._moved[a]]
        return total

    def spread(self, frequencies: Floats) -> Floats:
        """For each report (a, b, y), the total frequency of the answers that it supports."""
        out = np.empty((self.prime - 1, self.prime, self.cells))
        for a in range(self.prime - 1):
            placed = np.zeros(self.prime)
            placed[self._moved[a]] = frequencies
            spectrum = np.conj(np.fft.rfft(placed))[None, :] * self._cells_spectrum
            out[a] = np.fft.irfft(spectrum, n=self.prime, axis=1).T
        return out

    def spec(self) -> dict[str, Any]:
        return {"channel": "hashing", "cells": self.cells, "truth": str(self.truth)}
