"""k-ary randomised response: the truth with one chance, else any other answer alike."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privjail.errors import PlanError, SchemaError
from privjail.local.channels.channel import Channel, Reports, SupportChannel, TableChannel
from privjail.local.channels.domain import Categories
from privjail.local.channels.entropy import Ints, below, bernoulli
from privjail.local.channels.exact import Rational, probability, ratio_below


@dataclass(frozen=True)
class KaryResponse(SupportChannel, TableChannel):
    """Reports the true answer with chance ``truth``, else one of the k − 1 others, each alike.

    Guarantee: max(p/q, q/p) bounds every ratio of probabilities, with p = truth, q = (1 − p)/(k − 1).
    Why: for an output o the only two probabilities are p (input o) and q (any other input).
    Source: Warner 1965 (k = 2); Kairouz, Oh, Viswanath 2014 (k-ary).
    """

    domain: Categories
    truth: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "truth", probability(self.truth, "truth"))
        if not isinstance(self.domain, Categories):
            raise PlanError("k-ary response needs a list of answers", do="use Duchi or Piecewise for numbers")

    @staticmethod
    def of(domain: Categories, epsilon: Rational) -> KaryResponse:
        """The most accurate k-ary response whose computed ε is at most this."""
        return KaryResponse.at(domain, ratio_below(epsilon))

    @staticmethod
    def at(domain: Categories, ratio: Fraction) -> KaryResponse:
        return KaryResponse(domain, ratio / (ratio + domain.size - 1))

    @property
    def shape(self) -> Hashable:
        return ("kary", self.domain)

    @property
    def lie(self) -> Fraction:
        return (1 - self.truth) / (self.domain.size - 1)

    @property
    def rates(self) -> tuple[Fraction, Fraction]:
        return self.truth, self.lie

    def size(self) -> int:
        return self.domain.size

    def law(self, output: int, value: int) -> Fraction:
        return self.truth if output == value else self.lie

    def patterns(
        self, beside: Sequence[Channel] = (), mix: Sequence[Fraction] = ()
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        # Relabelling the answers turns any output into answer 0 and any other input into answer 1.
        yield 0, (0, 1)

    def draw(self, values: Ints) -> Reports:
        honest = bernoulli(self.truth, len(values))
        shift = 1 + below(self.domain.size - 1, len(values))
        return np.where(honest, values, (values + shift) % self.domain.size)

    def tally(self, reports: Reports) -> Ints:
        return np.bincount(reports, minlength=self.domain.size).astype(np.int64)

    def write(self, reports: Reports) -> list[str]:
        labels = self.domain.labels
        return [labels[code] for code in reports.tolist()]

    def read(self, texts: list[str]) -> Reports:
        import pandas as pd

        codes = pd.Index(self.domain.labels).get_indexer(pd.Index([str(t) for t in texts]))
        wrong = int((codes < 0).sum())
        if wrong:
            raise SchemaError(
                f"{wrong} of {len(texts)} reports are no answer to this question",
                do="check that the reports belong to this survey; drop forged ones before estimating",
            )
        return np.asarray(codes, dtype=np.int64)

    def spec(self) -> dict[str, Any]:
        return {"channel": "kary", "truth": str(self.truth)}


def Warner(truth: Rational, labels: tuple[str, str] = ("yes", "no")) -> KaryResponse:
    """Warner's randomised response on a yes/no question: k-ary response with k = 2."""
    return KaryResponse(Categories(labels), probability(truth, "truth"))
