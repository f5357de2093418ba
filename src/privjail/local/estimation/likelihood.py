"""Where reports meet laws: the likelihood of frequencies, for any mix of parameters.

Claim: for a group of reports, ``forward(π)`` is the probability (up to a factor without π) of each
distinct report when answers have frequencies π. Hidden parameters enter as one blended law
Σ_θ Pr(θ)·P_θ, public ones as one group for each θ. This replaces the paper's equations (15) and (16);
docs/decisions/0202-likelihoods.md derives it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

import numpy as np

from privjail.errors import PlanError, RefusedError
from privjail.local.channels.channel import Channel, Floats, Reports, SupportChannel, TableChannel
from privjail.local.channels.entropy import Ints
from privjail.local.channels.hashing import LocalHashing
from privjail.local.channels.kary import KaryResponse
from privjail.local.channels.unary import Unary, odds_by_weight
from privjail.local.estimation.packed import Bits

C = TypeVar("C", bound=Channel)
_ENTRIES = 2**24  # the largest dense array of (distinct report, answer) pairs: 128 MiB
_BYTES = 80_000_000  # the most packed bits: ten million reports of 64 answers, or 640,000 of 1,000
_SOME, _SHORT = 2**18, 16
_SALTED = 2**25  # the most different hashed reports, all of which are looked at in each step


@dataclass(frozen=True)
class Group:
    """Reports whose senders share one law: a public parameter, or the blend of hidden ones."""

    channels: tuple[Channel, ...]
    mix: tuple[Fraction, ...]
    reports: Reports
    mix_covariance: Floats | None = None  # of the shares, if they were estimated

    @property
    def count(self) -> int:
        return len(self.reports)

    @property
    def channel(self) -> Channel:
        return self.channels[0]

    @cached_property
    def tally(self) -> Ints:
        """How many reports support each answer."""
        assert isinstance(self.channel, SupportChannel)
        return self.channel.tally(self.reports)

    def rates(self) -> tuple[Fraction, Fraction]:
        """The chances that a report supports the truth, and another answer, over the blend."""
        pairs = [c.rates for c in self.channels if isinstance(c, SupportChannel)]
        p = sum((m * pair[0] for m, pair in zip(self.mix, pairs, strict=True)), Fraction(0))
        q = sum((m * pair[1] for m, pair in zip(self.mix, pairs, strict=True)), Fraction(0))
        if p == q:
            raise RefusedError(
                "under this mix the reports say nothing: truth and lies are equally likely",
                do="choose channels that favour the truth",
            )
        return p, q

    def table(self) -> Floats:
        """The blended law, for channels with few outputs."""
        tables = [c.table for c in self.channels if isinstance(c, TableChannel)]
        return sum((float(m) * t for m, t in zip(self.mix, tables, strict=True)), np.zeros(()))

    def counts(self) -> Ints:
        assert isinstance(self.channel, TableChannel)
        return np.bincount(self.reports, minlength=self.channel.size()).astype(np.int64)


class Likelihood(ABC):
    """How often each distinct report was seen, and its probability as a linear map of frequencies."""

    seen: Floats

    @abstractmethod
    def forward(self, frequencies: Floats) -> Floats: ...

    @abstractmethod
    def adjoint(self, weights: Floats) -> Floats: ...

    @abstractmethod
    def bend(self, frequencies: Floats) -> Floats:
        """The information's diagonal, less its average elsewhere.

        A constant added to every entry means nothing along the simplex; what is left of the information
        is often nearly this diagonal. It only guides steps: no result depends on it.
        """

    def pull(self, frequencies: Floats) -> Floats:
        """seen / chance², and 0 for what was never seen."""
        chance = self.forward(frequencies)
        return np.divide(self.seen, chance**2, out=np.zeros_like(chance), where=self.seen > 0)

    def information(self, frequencies: Floats) -> Floats | None:
        """Fisher's information about all frequencies, or None where it is too large to write down."""
        return None


def _less_others(diagonal: Floats, total: float) -> Floats:
    """The diagonal of a matrix with this total, less the average of all other entries; kept above 0."""
    k = len(diagonal)
    others = (total - float(diagonal.sum())) / (k * (k - 1))
    return np.asarray(np.maximum(diagonal - others, 1e-3 * diagonal), dtype=np.float64)


class Dense(Likelihood):
    """A matrix: distinct reports down, answers across."""

    def __init__(self, law: Floats, seen: Ints) -> None:
        used = seen > 0
        self.law, self.seen = law[used], seen[used].astype(np.float64)

    def forward(self, frequencies: Floats) -> Floats:
        return np.asarray(self.law @ frequencies, dtype=np.float64)

    def adjoint(self, weights: Floats) -> Floats:
        return np.asarray(self.law.T @ weights, dtype=np.float64)

    def bend(self, frequencies: Floats) -> Floats:
        weights = self.pull(frequencies)
        return _less_others(weights @ self.law**2, float(weights @ self.law.sum(axis=1) ** 2))

    def information(self, frequencies: Floats) -> Floats:
        weights = self.pull(frequencies)
        return np.asarray((self.law * weights[:, None]).T @ self.law, dtype=np.float64)


class TwoLevels(Likelihood):
    """k-ary response: the matrix low + (high − low)·identity, without writing it down."""

    def __init__(self, high: float, low: float, seen: Ints) -> None:
        self.gap, self.low, self.seen = high - low, low, seen.astype(np.float64)

    def forward(self, frequencies: Floats) -> Floats:
        return np.asarray(self.low * frequencies.sum() + self.gap * frequencies, dtype=np.float64)

    def adjoint(self, weights: Floats) -> Floats:
        return self.forward(weights)  # the matrix is symmetric

    def bend(self, frequencies: Floats) -> Floats:
        # What ``information`` adds to this, a number for each row and one for each column, is 0 along the simplex.
        bend = self.gap**2 * self.pull(frequencies)
        return np.asarray(np.maximum(bend, 1e-3 * bend.mean()), dtype=np.float64)

    def information(self, frequencies: Floats) -> Floats:
        weights = self.pull(frequencies)
        shared = self.low * self.gap * weights + self.low**2 * weights.sum() / 2
        full = np.diag(self.gap**2 * weights) + shared[:, None] + shared[None, :]
        return np.asarray(full, dtype=np.float64)


class Packed(Likelihood):
    """Unary reports as they came, bits and all: for more of them than a matrix can hold."""

    def __init__(self, bits: Bits, low: Floats, gap: Floats) -> None:
        self.bits, self.low, self.gap = bits, low, gap
        self.seen = np.ones(len(low))

    @staticmethod
    def of(bits: Bits, odds: Floats) -> Packed:
        ones = bits.ones().astype(np.int64)
        certain = np.isinf(odds)  # yes = 1: an answer that the report does not support is impossible
        return Packed(bits, np.where(certain, 0.0, 1.0)[ones], np.where(certain, 1.0, odds - 1)[ones])

    def forward(self, frequencies: Floats) -> Floats:
        return np.asarray(self.low * frequencies.sum() + self.gap * self.bits.dot(frequencies), dtype=np.float64)

    def adjoint(self, weights: Floats) -> Floats:
        supported = self.bits.transposed(weights * self.gap)
        return np.asarray(weights @ self.low + supported, dtype=np.float64)

    def bend(self, frequencies: Floats) -> Floats:
        if len(self.seen) > _SOME:  # a guide for steps need not be exact: the first reports stand for all
            part = Packed(self.bits.first(_SOME), self.low[:_SOME], self.gap[:_SOME])
            return part.bend(frequencies) * (len(self.seen) / _SOME)
        weights = self.pull(frequencies)
        supported = self.bits.transposed(weights * self.gap * (self.gap + 2 * self.low))
        every = self.forward(np.ones(self.bits.size))
        return _less_others(weights @ self.low + supported, float(weights @ every**2))


class Hashed(Likelihood):
    """All salts of local hashing at once: the cost of a step does not grow with n."""

    def __init__(self, channel: LocalHashing, low: float, high: float, reports: Reports) -> None:
        self.channel, self.low, self.gap = channel, low, high - low
        self.shape = (channel.prime, channel.cells, channel.prime - 1)
        counts = channel.counted(reports).ravel()
        self.at = np.flatnonzero(counts)
        self.seen = counts[self.at]

    def forward(self, frequencies: Floats) -> Floats:
        supported = self.channel.spread(frequencies).ravel()[self.at]
        return np.asarray(self.low * frequencies.sum() + self.gap * supported, dtype=np.float64)

    def _supported(self, weights: Floats) -> Floats:
        every = np.zeros(self.channel.salted)
        every[self.at] = weights
        return self.channel.gather(every.reshape(self.shape))

    def adjoint(self, weights: Floats) -> Floats:
        return np.asarray(self.low * weights.sum() + self.gap * self._supported(weights), dtype=np.float64)

    def bend(self, frequencies: Floats) -> Floats:
        weights, every = self.pull(frequencies), self.forward(np.ones(self.channel.domain.size))
        both = (self.low + self.gap) ** 2 - self.low**2
        diagonal = self.low**2 * weights.sum() + both * self._supported(weights)
        return _less_others(diagonal, float(weights @ every**2))


def likelihood(group: Group) -> Likelihood:
    """The cheapest exact form of this group's likelihood."""
    first = group.channel
    if isinstance(first, KaryResponse):
        high, low = group.rates()
        return TwoLevels(float(high), float(low), group.counts())
    if isinstance(first, TableChannel):
        return Dense(group.table(), group.counts())
    if isinstance(first, Unary):
        return _unary(group)
    if isinstance(first, LocalHashing):
        return _hashed(first, group)
    raise PlanError(f"no likelihood is known for {type(first).__name__}")


def _hashed(channel: LocalHashing, group: Group) -> Likelihood:
    high = float(sum((m * c.truth for c, m in _pairs(group, LocalHashing)), Fraction(0)))
    low = float(sum((m * c.lie for c, m in _pairs(group, LocalHashing)), Fraction(0)))
    if channel.salted <= _SALTED:
        return Hashed(channel, low, high, group.reports)
    k = channel.domain.size
    distinct, seen = np.unique(group.reports, return_counts=True)
    if len(distinct) * k > _ENTRIES:
        raise RefusedError(
            f"maximum likelihood for {k:,} hashed answers takes at most {_ENTRIES // k:,} reports at this ε",
            do='use method="smooth", or estimate from a part of the reports',
        )
    return Dense(np.where(channel.supports(distinct), high, low), seen.astype(np.int64))


def _unary(group: Group) -> Likelihood:
    channels = [c for c, _ in _pairs(group, Unary)]
    k, n = channels[0].domain.size, len(group.reports)
    few, odds = _ENTRIES // k, odds_by_weight(channels, list(group.mix))
    # Of short reports there are few different ones, and counting them is quick.
    if k > _SHORT and n > few:
        if group.reports.size > _BYTES:
            most = _BYTES // group.reports.shape[1]
            raise RefusedError(
                f"maximum likelihood looks at whole reports, of {k:,} bits each: at most {most:,} of them",
                do='use method="smooth", or estimate from a part of the reports',
            )
        return Packed.of(Bits.of(group.reports, k), odds)
    distinct, seen = _distinct(group.reports)
    rows = channels[0].bits(distinct)
    odds = odds[rows.sum(axis=1, dtype=np.int64)]
    certain = np.isinf(odds)  # yes = 1: an answer that the report does not support is impossible
    law = np.where(certain[:, None], rows, 1 + (np.where(certain, 1, odds)[:, None] - 1) * rows)
    return Dense(law, seen.astype(np.int64))


def _distinct(packed: Reports) -> tuple[Reports, Ints]:
    """The different rows and how often each occurs; short rows are counted as numbers, which is faster."""
    width = packed.shape[1]
    if width > 8:
        rows, seen = np.unique(packed, axis=0, return_counts=True)
        return rows, seen.astype(np.int64)
    wide = np.zeros((len(packed), 8), dtype=np.uint8)
    wide[:, :width] = packed
    numbers = wide.view("<u8").ravel()
    if width <= 2:
        tally = np.bincount(numbers.astype(np.int64), minlength=1)
        codes, seen = np.flatnonzero(tally).astype("<u8"), tally[tally > 0]
    else:
        codes, seen = np.unique(numbers, return_counts=True)
    rows = np.ascontiguousarray(codes).view(np.uint8).reshape(-1, 8)[:, :width]
    return rows, seen.astype(np.int64)


def _pairs(group: Group, kind: type[C]) -> Sequence[tuple[C, Fraction]]:
    return [(c, m) for c, m in zip(group.channels, group.mix, strict=True) if isinstance(c, kind)]
