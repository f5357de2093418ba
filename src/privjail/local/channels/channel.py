"""What every randomiser is: a domain, an exact law, a way to sample, a way to decode."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from privjail.errors import SchemaError
from privjail.local.channels.domain import Domain
from privjail.local.channels.entropy import Ints, choose
from privjail.local.channels.exact import log_up

Floats = npt.NDArray[np.float64]
Reports = npt.NDArray[Any]  # int64 codes; for unary encoding, packed bits, one row a report


class Channel(ABC):
    """A randomiser that a respondent runs on her own device.

    Guarantee: ``epsilon`` is the largest log P[o|d]/P[o|d'] over the law below, which is the law that
    ``draw`` samples. It is computed, never declared.
    """

    domain: Domain

    @property
    @abstractmethod
    def shape(self) -> Hashable:
        """What a report shows whatever the strength; only channels of one shape can hide each other."""

    @abstractmethod
    def law(self, output: int, value: int) -> Fraction:
        """P[output | the value at this position of the domain], exactly."""

    @abstractmethod
    def outputs(self) -> Iterator[int]:
        """Every output, one by one."""

    @abstractmethod
    def patterns(
        self, beside: Sequence[Channel] = (), mix: Sequence[Fraction] = ()
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Outputs, each with inputs, that stand for all others by symmetry.

        For this channel and those ``beside`` it (of the same shape), every (output, set of inputs) has
        the same joint probabilities, up to one common factor, as one listed here; with a ``mix``, those that
        decide no strength may be left out. It makes k = 1,000 as cheap as k = 3.
        """

    def extremes(self, beside: Sequence[Channel]) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Outputs, each with inputs, among which are those with the largest ratio between any two of ``beside``."""
        return self.patterns(beside)

    @abstractmethod
    def draw(self, values: Ints) -> Reports:
        """One independent report for each position in ``values``, exactly after the law."""

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """What a survey file says of this channel."""

    def sample(self, value: object) -> int:
        """One report on one answer (in the words of the domain)."""
        return self.code(self.draw(np.array([self.domain.index(value)], dtype=np.int64)))

    def code(self, report: Reports) -> int:
        """The output of a single drawn report."""
        return int(report[0])

    def write(self, reports: Reports) -> list[str]:
        """Reports as people exchange them in CSV, JSON and Parquet."""
        return [str(code) for code in reports.tolist()]

    @abstractmethod
    def read(self, texts: list[str]) -> Reports:
        """The inverse of ``write``; refuses anything that no respondent could have sent."""

    @abstractmethod
    def checked(self, reports: Reports) -> Reports:
        """Reports as an array; refuses anything that no respondent could have sent."""

    @cached_property
    def ratio(self) -> Fraction | None:
        """max P[o|d] / P[o|d′]; None if some output is possible for one value and not for another."""
        worst = Fraction(1)
        for output, inputs in self.patterns():
            chances = [self.law(output, d) for d in inputs]
            if max(chances) == 0:
                continue
            if min(chances) == 0:
                return None
            worst = max(worst, max(chances) / min(chances))
        return worst

    @property
    def epsilon(self) -> float:
        """Plain local differential privacy: what holds when the parameter is known."""
        return log_up(self.ratio)


class SupportChannel(Channel):
    """A channel whose report names a set of answers that it supports; for counting answers."""

    @property
    @abstractmethod
    def rates(self) -> tuple[Fraction, Fraction]:
        """The chances that a report supports the true answer, and any given other answer."""

    @abstractmethod
    def tally(self, reports: Reports) -> Ints:
        """How many reports support each answer."""

    def decode(self, tally: Ints, count: int) -> Floats:
        """Unbiased frequencies: E[tally] = count · (q + (p − q) · frequency), solved for the frequency."""
        p, q = self.rates
        return np.asarray((tally / count - float(q)) / float(p - q), dtype=np.float64)


class TableChannel(Channel):
    """A channel with so few outputs that its law is a table: outputs down, inputs across."""

    @abstractmethod
    def size(self) -> int:
        """The number of outputs, which are 0 … size − 1."""

    def outputs(self) -> Iterator[int]:
        return iter(range(self.size()))

    def patterns(
        self, beside: Sequence[Channel] = (), mix: Sequence[Fraction] = ()
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        every = tuple(range(self.domain.size))
        return ((o, every) for o in self.outputs())

    @cached_property
    def table(self) -> Floats:
        inputs = range(self.domain.size)
        return np.array([[float(self.law(o, d)) for d in inputs] for o in self.outputs()], dtype=np.float64)

    def draw(self, values: Ints) -> Reports:
        reports = np.empty(len(values), dtype=np.int64)
        for d in np.unique(values):
            rows = values == d
            column = [self.law(o, int(d)) for o in self.outputs()]
            reports[rows] = choose(column, int(rows.sum()))
        return reports

    def read(self, texts: list[str]) -> Reports:
        return read_codes(texts, self.size())

    def checked(self, reports: Reports) -> Reports:
        return check_codes(reports, self.size())


def read_codes(texts: list[str], size: int) -> Reports:
    """Whole numbers from 0 to size − 1, or an error that says where, not what."""
    try:
        codes = np.array([int(text) for text in texts], dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        raise _forged("some") from None
    return check_codes(codes, size)


def check_codes(reports: Reports, size: int) -> Reports:
    """A list of whole numbers from 0 to size − 1, or an error that says how many are wrong, not which."""
    codes = np.asarray(reports)
    if codes.size == 0:
        return codes.astype(np.int64).ravel()
    if codes.ndim != 1 or not np.issubdtype(codes.dtype, np.integer):
        raise SchemaError("reports must be a list of whole numbers", do="read texts with the channel's read first")
    if codes.min() < 0 or codes.max() >= size:
        raise _forged(f"{int(((codes < 0) | (codes >= size)).sum())}")
    return codes


def _forged(how_many: str) -> SchemaError:
    return SchemaError(
        f"{how_many} of the reports are none that this channel can send",
        do="check that the reports belong to this survey; drop forged ones before estimating",
    )
