"""Unary encoding: one bit for each answer, each flipped on its own (the core of RAPPOR)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np

from privjail.errors import PlanError, SchemaError
from privjail.local.channels.channel import Channel, Floats, Reports, SupportChannel
from privjail.local.channels.domain import Categories
from privjail.local.channels.entropy import Ints, bernoulli
from privjail.local.channels.exact import GRID, Rational, probability, ratio_below

_BLOCK = 1 << 16  # reports unpacked at a time
_ROWS = 255 * 64  # reports counted at a time
_LOWEST = np.uint64(0x0101010101010101)  # the lowest bit of each of eight bytes


@dataclass(frozen=True)
class Unary(SupportChannel):
    """Bit d is 1 with chance ``yes`` if d is the true answer, with chance ``no`` otherwise.

    Guarantee: with p = yes > q = no, every ratio of probabilities is at most p(1 − q) / (q(1 − p)).
    Why: two inputs change two bits of the one-hot vector; the ratio is largest when the first is
    reported 1 and the second 0, and every other bit cancels.
    Source: Erlingsson, Pihur, Korolova 2014 (symmetric, p + q = 1); Wang et al. 2017 (optimised, p = ½).
    """

    domain: Categories
    yes: Fraction
    no: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "yes", probability(self.yes, "yes"))
        object.__setattr__(self, "no", probability(self.no, "no"))
        if self.yes <= self.no:
            raise PlanError("unary encoding needs yes > no, or its reports say nothing", do="see Unary.optimised")

    @staticmethod
    def symmetric(domain: Categories, epsilon: Rational) -> Unary:
        """yes = r/(r + 1), no = 1/(r + 1) with r² ≤ e^ε."""
        ratio = ratio_below(epsilon)
        root = Fraction(isqrt(int(ratio * GRID * GRID)), GRID)  # rounded down: never above √ratio
        return Unary(domain, root / (root + 1), 1 / (root + 1))

    @staticmethod
    def optimised(domain: Categories, epsilon: Rational) -> Unary:
        """yes = ½, no = 1/(e^ε + 1): the least variance at a given ε for rare answers."""
        return Unary(domain, Fraction(1, 2), 1 / (ratio_below(epsilon) + 1))

    @property
    def shape(self) -> Hashable:
        return ("unary", self.domain)

    @property
    def rates(self) -> tuple[Fraction, Fraction]:
        return self.yes, self.no

    def law(self, output: int, value: int) -> Fraction:
        return self.law_by_weight(output.bit_count(), bool(output >> value & 1))

    def law_by_weight(self, ones: int, supported: bool) -> Fraction:
        """The probability of any one report with this many ones, given whether it supports the truth."""
        rest = ones - supported
        true_bit = self.yes if supported else 1 - self.yes
        return true_bit * self.no**rest * (1 - self.no) ** (self.domain.size - 1 - rest)

    def outputs(self) -> Iterator[int]:
        return iter(range(2**self.domain.size))

    def patterns(
        self, beside: Sequence[Channel] = (), mix: Sequence[Fraction] = ()
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        # Relabelling turns any report with w ones into the first w answers; the law looks only at
        # w and at the bit of the input, so one supported and one unsupported input stand for all.
        # If all share the rate of false ones, no^(w−1)·(1 − no)^(k−w−1) is a common factor: w = 1 will do.
        k = self.domain.size
        alike = all(isinstance(other, Unary) and other.no == self.no for other in beside)
        if alike:
            kinds: Sequence[int] = (1,)
        else:
            kinds = _telling([c for c in beside if isinstance(c, Unary)], mix) or range(k + 1)
        for ones in kinds:
            yield (1 << ones) - 1, (0,) * (ones > 0) + (k - 1,) * (ones < k)

    def extremes(self, beside: Sequence[Channel]) -> Iterator[tuple[int, tuple[int, ...]]]:
        # The logarithm of each law is linear in the number of ones, so the largest less the smallest of several is
        # convex in it: largest at an end. With no ones, or all, only one kind of input is left.
        k = self.domain.size
        for ones in sorted({0, 1, k - 1, k}):
            yield (1 << ones) - 1, (0,) * (ones > 0) + (k - 1,) * (ones < k)

    def draw(self, values: Ints) -> Reports:
        k, n = self.domain.size, len(values)
        packed = np.empty((n, (k + 7) // 8), dtype=np.uint8)
        for start in range(0, n, _BLOCK):
            rows = values[start : start + _BLOCK]
            bits = bernoulli(self.no, len(rows) * k).reshape(len(rows), k)
            bits[np.arange(len(rows)), rows] = bernoulli(self.yes, len(rows))
            packed[start : start + _BLOCK] = np.packbits(bits, axis=1, bitorder="little")
        return packed

    def code(self, report: Reports) -> int:
        return int.from_bytes(report[0].tobytes(), "little")

    def bits(self, reports: Reports) -> Reports:
        """One column of 0 and 1 for each answer."""
        return np.unpackbits(reports, axis=1, count=self.domain.size, bitorder="little")

    def tally(self, reports: Reports) -> Ints:
        # Eight bytes at a time, one bit of each: 255 reports add up within a byte without overflow.
        n, width = reports.shape
        wide = -(-width // 8) * 8
        total = np.zeros((wide, 8), dtype=np.int64)
        for start in range(0, n, _ROWS):
            some = reports[start : start + _ROWS]
            block = np.zeros((-(-len(some) // 255) * 255, wide), dtype=np.uint8)
            block[: len(some), :width] = some
            words = block.view(np.uint64)
            for bit in range(8):
                sums = ((words >> np.uint64(bit)) & _LOWEST).reshape(-1, 255, wide // 8).sum(axis=1)
                total[:, bit] += sums.view(np.uint8).sum(axis=0, dtype=np.int64)
        return total.ravel()[: self.domain.size].copy()

    def write(self, reports: Reports) -> list[str]:
        return [row.tobytes().decode("ascii") for row in self.bits(reports) + ord("0")]

    def read(self, texts: list[str]) -> Reports:
        k = self.domain.size
        wrong = sum(len(text) != k or not set(text) <= {"0", "1"} for text in texts)
        if wrong:
            raise SchemaError(
                f"{wrong} of {len(texts)} reports are not {k} zeros and ones",
                do="check that the reports belong to this survey; keep them as text (0011, not 11)",
            )
        if not texts:
            return np.empty((0, (k + 7) // 8), dtype=np.uint8)
        digits = np.frombuffer("".join(texts).encode("ascii"), dtype=np.uint8).reshape(-1, k)
        return np.packbits(digits - ord("0"), axis=1, bitorder="little")

    def checked(self, reports: Reports) -> Reports:
        k = self.domain.size
        packed = np.asarray(reports)
        # A one beyond the last answer was packed by nobody.
        if (
            packed.dtype != np.uint8
            or packed.ndim != 2
            or packed.shape[1] != (k + 7) // 8
            or (k % 8 and (packed[:, -1] >> (k % 8)).any())
        ):
            raise SchemaError(f"these are no packed reports of {k} bits", do="use what the channel's read returns")
        return packed

    def spec(self) -> dict[str, Any]:
        return {"channel": "unary", "yes": str(self.yes), "no": str(self.no)}


def odds_by_weight(channels: list[Unary], mix: list[Fraction]) -> Floats:
    """P[o | supported answer] / P[o | unsupported answer] of a blend, by the number of ones in o.

    A blend of unary encodings is not a unary encoding: its bits depend on each other through θ. But
    the law of a report still looks only at its number of ones, so k + 1 numbers say it all.
    """
    k = channels[0].domain.size
    if len({c.no for c in channels}) == 1:  # then the number of ones says nothing more
        no, yes = channels[0].no, sum((m * c.yes for c, m in zip(channels, mix, strict=True)), Fraction(0))
        same = float(yes * (1 - no) / (no * (1 - yes))) if no and yes < 1 else np.inf
        return np.array([1.0, *[same] * (k - 1), 1.0])
    ones = np.arange(1, k)
    with np.errstate(divide="ignore"):  # log 0 is the logarithm of what cannot happen
        logs = [_logs(c, float(m), ones) for c, m in zip(channels, mix, strict=True)]
        high, low = (np.logaddexp.reduce([pair[i] for pair in logs], axis=0) for i in (0, 1))
        odds = np.where(np.isneginf(low), np.inf, np.exp(high - np.where(np.isneginf(low), 0, low)))
    return np.array([1.0, *odds, 1.0])  # no ones, or all: the report favours no answer


def _logs(channel: Unary, share: float, ones: Ints) -> tuple[Floats, Floats]:
    """The logarithm of share · P[a report with so many ones], when it supports the answer and when not."""
    from scipy.special import xlogy

    yes, no, k = float(channel.yes), float(channel.no), channel.domain.size
    high = np.log(share * yes) + xlogy(ones - 1, no) + xlogy(k - ones, 1 - no)
    low = np.log(share * (1 - yes)) + xlogy(ones, no) + xlogy(k - 1 - ones, 1 - no)
    return high, low


_SURE = 1e-6  # logarithms below are right to some 1e-9


def _telling(channels: list[Unary], mix: Sequence[Fraction]) -> list[int]:
    """Numbers of ones that decide every strength of this menu; none if that is not clear beforehand.

    Floats only sort out what cannot be the largest loss; what is left is computed exactly. With no ones, or all,
    every answer has the same probability and nothing is lost. A parameter that covers herself does so at the same
    ratio whatever the number of ones, so one such number stands for all.
    """
    ordered = sorted(channels, key=lambda c: c.no)
    odds = [c.yes * (1 - c.no) / (c.no * (1 - c.yes)) if c.no and c.yes < 1 else None for c in ordered]
    known = [o for o in odds if o is not None]
    if not mix or len(known) < len(odds) or known not in (sorted(known), sorted(known, reverse=True)):
        return []
    k = channels[0].domain.size
    logs = [_logs(c, float(m), np.arange(1, k)) for c, m in zip(channels, mix, strict=True)]
    # More ones favour a larger ``no``, and odds come in its order: so the blend's odds are largest at an end.
    kept = {1, k - 1}
    for mine, theirs in ((0, 1), (1, 0)):
        for theta, pair in enumerate(logs):
            own = np.abs(pair[mine] - pair[theirs])
            others = [np.abs(pair[mine] - other[theirs]) for i, other in enumerate(logs) if i != theta]
            cover = np.min(others, axis=0)
            loss = np.minimum(own, cover)
            near = loss > loss.max() - _SURE
            kept |= {1 + int(loss.argmax()), *(1 + np.flatnonzero(near & (cover < own + _SURE))).tolist()}
    return sorted(kept)
