"""Optimal local hashing: hash the answer to a few cells with a fresh salt, randomise the cell."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from privjail.errors import PlanError
from privjail.local.channels.channel import Channel, Floats, Reports, SupportChannel, check_codes, read_codes
from privjail.local.channels.domain import Categories
from privjail.local.channels.entropy import Bools, Ints, below, bernoulli
from privjail.local.channels.exact import Rational, probability, ratio_below

LARGEST = 2**26  # different reports that are counted at once: 512 MiB


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
            raise PlanError("local hashing takes 2 to 65,536 cells and at most 2**20 answers", do="see LocalHashing.of")
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

    def patterns(
        self, beside: Sequence[Channel] = (), mix: Sequence[Fraction] = ()
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
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
        return read_codes(texts, self.salted)

    def checked(self, reports: Reports) -> Reports:
        return check_codes(reports, self.salted)

    def tally(self, reports: Reports) -> Ints:
        if self.salted > LARGEST:  # a huge domain: walk the reports instead of all salts
            return self._tally_directly(reports)
        return np.rint(self.gather(self.counted(reports))).astype(np.int64)

    @property
    def salted(self) -> int:
        """The number of different reports, (P − 1)·P·cells."""
        return (self.prime - 1) * self.prime * self.cells

    def counted(self, reports: Reports) -> Floats:
        """How often each report (b, y, a) was sent; a last, so that all salts a move in one stroke."""
        p, g = self.prime, self.cells
        counts = np.bincount(reports, minlength=self.salted).reshape(p - 1, p, g)
        return np.ascontiguousarray(counts.transpose(1, 2, 0), dtype=np.float64)

    def _tally_directly(self, reports: Reports) -> Ints:
        rest, y = np.divmod(reports, self.cells)
        a, b = np.divmod(rest, self.prime)
        total = np.empty(self.domain.size, dtype=np.int64)
        for d in range(self.domain.size):
            total[d] = int((((a + 1) * d + b) % self.prime % self.cells == y).sum())
        return total

    def supports(self, reports: Reports) -> Bools:
        """Which answers each report supports, answers across."""
        rest, y = np.divmod(reports, self.cells)
        a, b = np.divmod(rest, self.prime)
        cells = (np.outer(a + 1, np.arange(self.domain.size)) + b[:, None]) % self.prime % self.cells
        return np.asarray(cells == y[:, None], dtype=np.bool_)

    @cached_property
    def _moved(self) -> Ints:
        """a·d mod P, answers down, salts a across."""
        return np.outer(np.arange(self.domain.size), np.arange(1, self.prime)) % self.prime

    def spread(self, frequencies: Floats) -> Floats:
        """For each report (b, y, a), the total frequency of the answers that it supports.

        From b to b + 1 every residue a·d + b grows by one, so each cell takes over the next lower cell's
        answers. Only residue P − 1 does not: it falls to 0 instead of growing to P.
        """
        p, g = self.prime, self.cells
        placed = np.zeros((p, p - 1))
        np.put_along_axis(placed, self._moved, frequencies[:, None], axis=0)
        out = np.empty((p, g, p - 1))
        for y in range(g):
            out[0, y] = placed[y::g].sum(axis=0)
        for b in range(1, p):
            out[b, 1:], out[b, 0] = out[b - 1, :-1], out[b - 1, -1]
            out[b, p % g] -= placed[p - b]
            out[b, 0] += placed[p - b]
        return out

    def gather(self, weights: Floats) -> Floats:
        """For each answer, the sum of weights[b, y, a] over the reports that support it: ``spread`` transposed."""
        p, g = self.prime, self.cells
        each, carried = np.empty((p, p - 1)), np.zeros((g, p - 1))
        for b in range(p - 1, 0, -1):
            carried += weights[b]
            each[p - b] = carried[0] - carried[p % g]
            carried = np.concatenate([carried[1:], carried[:1]])
        carried += weights[0]
        each[0] = 0
        for y in range(g):
            each[y::g] += carried[y]
        return np.asarray(np.take_along_axis(each, self._moved, axis=0).sum(axis=1), dtype=np.float64)

    def spec(self) -> dict[str, Any]:
        return {"channel": "hashing", "cells": self.cells, "truth": str(self.truth)}
