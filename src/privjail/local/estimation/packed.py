"""Sums over the bits of many unary reports, without unpacking them.

Claim: ``dot(x)`` is the matrix of bits (a row for each report) times x, ``transposed(w)`` its transpose times w.
Sixteen bits at a time are one number, and a table says what each of 65,536 numbers adds.
"""

from __future__ import annotations

import numpy as np

from privjail.local.channels.channel import Floats, Reports

_WORD = 16
_ALL = 1 << _WORD
_READ, _COUNT = 1 << 16, 1 << 18  # reports at a time: what is made on the way stays in the cache


class Bits:
    """Words of sixteen bits, lowest first: one row for sixteen answers, one column for a report."""

    def __init__(self, words: Reports, size: int) -> None:
        self.words, self.size = words, size

    @staticmethod
    def of(packed: Reports, size: int) -> Bits:
        n, width = packed.shape
        even = np.zeros((n, width + width % 2), dtype=np.uint8)
        even[:, :width] = packed
        return Bits(np.ascontiguousarray(even.view("<u2").T), size)

    def first(self, count: int) -> Bits:
        return Bits(self.words[:, :count], self.size)

    def _split(self, x: Floats) -> Floats:
        whole = np.zeros(len(self.words) * _WORD)
        whole[: self.size] = x
        return whole.reshape(-1, _WORD)

    def dot(self, x: Floats) -> Floats:
        """For each report, the sum of x over its ones."""
        n = self.words.shape[1]
        out = np.zeros(n)
        tables = [_sums(part) for part in self._split(x)]
        for start in range(0, n, _READ):
            some = out[start : start + _READ]
            for words, table in zip(self.words[:, start : start + _READ], tables, strict=True):
                some += np.take(table, words, mode="clip")  # nothing to clip: the table has every word
        return out

    def transposed(self, weights: Floats) -> Floats:
        """For each answer, the sum of the weights of the reports whose bit is 1."""
        total = np.zeros((len(self.words), _ALL))
        for start in range(0, len(weights), _COUNT):
            some = weights[start : start + _COUNT]
            for row, words in zip(total, self.words[:, start : start + _COUNT], strict=True):
                row += np.bincount(words, some, _ALL)
        return np.array([_halves(row) for row in total]).ravel()[: self.size]

    def ones(self) -> Floats:
        """How many bits of each report are 1."""
        return self.dot(np.ones(self.size))


def _sums(values: Floats) -> Floats:
    """The sum of the values at the ones of each number below 2¹⁶."""
    table = np.zeros(1)
    for value in values:
        table = np.concatenate([table, table + value])
    return table


def _halves(row: Floats) -> list[float]:
    """For each bit, the sum over the numbers that have it: ``_sums`` transposed."""
    found = []
    for bit in range(_WORD):
        found.append(float(row.reshape(-1, 2, 1 << bit)[:, 1].sum()))
    return found
