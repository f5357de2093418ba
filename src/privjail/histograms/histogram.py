"""A released histogram: public numbers that answer every range query, with the error of each answer."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from privjail.budget.amounts import amount
from privjail.errors import PlanError
from privjail.histograms.laws import Floats, Integers, Law
from privjail.histograms.relation import RELATIONS
from privjail.histograms.spread import Spread, spread_from_json

FORMAT = "privjail histogram 2"
LEVEL = 0.95
RARE = 20  # one histogram in so many has noise that is taken for too much smoothing
PLAIN = ", unsmoothed"


class Answer(NamedTuple):
    """How many records are in a range: an estimate, and an interval that holds the true number 95 times in 100."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class PrivateHistogram:
    """Estimated counts of bins 0 … n-1. Everything in it is public: asking it costs no budget.

    ``counts`` may be smoothed: usually closer, but drawn towards what neighbouring bins hold, by an amount that nobody
    can state. ``unbiased`` is not; its errors are known exactly, and intervals are made of it. ``epsilons`` and
    ``laws`` say, for each noisy vector that was released, what it cost and which noise stands on it; ``released``
    holds those vectors, so anyone can work on them again. ``exact`` is False where errors state the noise only, and
    not what averaging over a bucket hides.
    """

    counts: Floats
    spread: Spread = field(repr=False)
    method: str
    neighbours: str = "add-remove"
    epsilons: Mapping[str, Fraction] = field(default_factory=dict)
    laws: Mapping[str, Law] = field(default_factory=dict)
    released: Mapping[str, Integers] = field(default_factory=dict, repr=False)
    exact: bool = True
    unbiased: Floats | None = field(default=None, repr=False)  # None: the counts are

    def __post_init__(self) -> None:
        counts = np.array(self.counts, dtype=float)
        unbiased = counts if self.unbiased is None else np.array(self.unbiased, dtype=float)
        if counts.ndim != 1 or not len(counts) or not np.isfinite([counts, unbiased]).all():
            raise PlanError("a histogram is one row of finite numbers")
        if self.neighbours not in RELATIONS:
            raise PlanError(f"neighbours are {' or '.join(RELATIONS)}, not {self.neighbours!r}")
        for name, row in (("counts", counts), ("unbiased", unbiased)):
            row.setflags(write=False)
            object.__setattr__(self, name, row)
        object.__setattr__(self, "epsilons", {name: amount(eps) for name, eps in self.epsilons.items()})
        object.__setattr__(self, "_sums", [0.0, *np.cumsum(counts).tolist()])
        object.__setattr__(self, "_unbiased_sums", [0.0, *np.cumsum(unbiased).tolist()])

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def epsilon(self) -> Fraction:
        """What all of it cost."""
        return sum(self.epsilons.values(), Fraction(0))

    @property
    def total(self) -> float:
        """The estimated number of records."""
        return self.range(0, len(self.counts))

    def range(self, a: int, b: int) -> float:
        """The estimated number of records in bins a … b-1, as in counts[a:b]."""
        sums: list[float] = self._sums  # type: ignore[attr-defined]
        if not 0 <= a <= b < len(sums):
            raise self._outside(a, b)
        return sums[b] - sums[a]

    def answer(self, a: int, b: int, level: float = LEVEL) -> Answer:
        """The number of records in bins a … b-1, with an interval that holds the true one with this probability.

        The interval comes from the unbiased estimate, and holds whatever the data. The estimate is the smoothed one,
        as long as noise can explain its distance from the unbiased one: in 19 of 20 histograms noise moves none of
        the n / (b - a) ranges of this length any further. Where smoothing went beyond that, it is not followed.
        """
        if not 0 < level < 1:
            raise PlanError(f"a level lies between 0 and 1, not {level}")
        if not self.exact:
            raise PlanError(f"{self.method} states the error of its noise only: no interval holds", do="use range()")
        error, sums = self.error(a, b), self._unbiased_sums  # type: ignore[attr-defined]
        unbiased: float = sums[b] - sums[a]
        reach = NormalDist().inv_cdf((1 + level) / 2) * error
        # The tail of one Laplace draw, which sums of several do not exceed: Pr[|X| > c] = exp(-√2 c / deviation).
        held = math.log(RARE * len(self.counts) / max(b - a, 1)) / math.sqrt(2) * error
        estimate = min(max(self.range(a, b), unbiased - held), unbiased + held)
        return Answer(estimate, unbiased - reach, unbiased + reach)

    def unsmoothed(self) -> PrivateHistogram:
        """The same release, with the unbiased counts."""
        return replace(
            self, counts=np.asarray(self.unbiased), unbiased=None, method=self.method.removesuffix(PLAIN) + PLAIN
        )

    def error(self, a: int, b: int) -> float:
        """The standard error of the unbiased number of records in bins a … b-1."""
        if not 0 <= a <= b <= len(self.counts):
            raise self._outside(a, b)
        return math.sqrt(self.spread.variance(a, b))

    def _outside(self, a: int, b: int) -> PlanError:
        n = len(self.counts)
        return PlanError(f"bins {a} … {b} are no range of a histogram of {n} bins", do=f"use 0 ≤ a ≤ b ≤ {n}")

    def to_json(self) -> str:
        """The histogram as text. from_json() reads it."""
        return json.dumps(
            {
                "format": FORMAT,
                "method": self.method,
                "neighbours": self.neighbours,
                "epsilons": {name: str(eps) for name, eps in self.epsilons.items()},
                "laws": {name: law.to_json() for name, law in self.laws.items()},
                "exact": self.exact,
                "counts": self.counts.tolist(),
                "unbiased": None if self.unbiased is self.counts else np.asarray(self.unbiased).tolist(),
                "spread": self.spread.to_json(),
                "released": {name: [int(x) for x in vector] for name, vector in self.released.items()},
            }
        )

    @classmethod
    def from_json(cls, text: str) -> PrivateHistogram:
        """Read what to_json() wrote."""
        try:
            found = json.loads(text)
            if found["format"] != FORMAT:
                raise PlanError(f"this is {found['format']!r}, not {FORMAT!r}")
            counts, spread = np.array(found["counts"], dtype=float), spread_from_json(found["spread"])
            unbiased = counts if found["unbiased"] is None else np.array(found["unbiased"], dtype=float)
            odd = counts.ndim != 1 or not len(counts) or unbiased.shape != counts.shape
            if odd or not spread.covers(len(counts)):
                raise PlanError("this text is no released histogram: it has errors for other bins than counts")
            return cls(
                counts,
                spread,
                str(found["method"]),
                str(found["neighbours"]),
                {name: Fraction(eps) for name, eps in found["epsilons"].items()},
                {name: Law.from_json(law) for name, law in found["laws"].items()},
                {name: np.array(vector, dtype=np.int64) for name, vector in found["released"].items()},
                bool(found["exact"]),
                None if unbiased is counts else unbiased,
            )
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as problem:
            raise PlanError("this text is no released histogram") from problem

    def __repr__(self) -> str:
        n = len(self.counts)
        head = f"PrivateHistogram: {n} bins, about {self.total:,.0f} ± {self.error(0, n):,.0f} records"
        if self.exact:
            told = self.answer(0, n)
            head = f"PrivateHistogram: {n} bins, {told.low:,.0f} … {told.high:,.0f} records, about {told.estimate:,.0f}"
        spent = " + ".join(f"{float(eps):g} {name}" for name, eps in self.epsilons.items())
        noise = "; ".join(f"{name} {law}" for name, law in self.laws.items())
        kind = "exact, for the unbiased counts" if self.exact else "of the noise only"
        return (
            f"{head}\n  method:  {self.method}, neighbours {self.neighbours}"
            f"\n  epsilon: {float(self.epsilon):g} = {spent}\n  noise:   {noise}\n  errors:  {kind}"
        )
