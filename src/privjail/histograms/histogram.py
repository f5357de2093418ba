"""A released histogram: public numbers that answer every range query, with the error of each answer."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from privjail.budget.amounts import amount
from privjail.errors import PlanError
from privjail.histograms.laws import Floats, Integers, Law
from privjail.histograms.relation import RELATIONS
from privjail.histograms.spread import Spread, spread_from_json

FORMAT = "privjail histogram 1"


@dataclass(frozen=True)
class PrivateHistogram:
    """Estimated counts of bins 0 … n-1. Everything in it is public: asking it costs no budget.

    ``epsilons`` and ``laws`` say, for each noisy vector that was released, what it cost and which noise stands
    on it; ``released`` holds those vectors, so anyone can work on them again. ``exact`` tells whether ``error`` is
    the exact standard error (linear, unbiased estimates) or the estimate's own judgement of itself.
    """

    counts: Floats
    spread: Spread = field(repr=False)
    method: str
    neighbours: str = "add-remove"
    epsilons: Mapping[str, Fraction] = field(default_factory=dict)
    laws: Mapping[str, Law] = field(default_factory=dict)
    released: Mapping[str, Integers] = field(default_factory=dict, repr=False)
    exact: bool = True

    def __post_init__(self) -> None:
        counts = np.array(self.counts, dtype=float)
        if counts.ndim != 1 or not len(counts) or not np.isfinite(counts).all():
            raise PlanError("a histogram is one row of finite numbers")
        if self.neighbours not in RELATIONS:
            raise PlanError(f"neighbours are {' or '.join(RELATIONS)}, not {self.neighbours!r}")
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "epsilons", {name: amount(eps) for name, eps in self.epsilons.items()})
        object.__setattr__(self, "_sums", [0.0, *np.cumsum(counts).tolist()])

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

    def error(self, a: int, b: int) -> float:
        """The standard error of range(a, b)."""
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
            if counts.ndim != 1 or not len(counts) or not spread.covers(len(counts)):
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
            )
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as problem:
            raise PlanError("this text is no released histogram") from problem

    def __repr__(self) -> str:
        n = len(self.counts)
        head = f"PrivateHistogram: {n} bins, about {self.total:,.0f} ± {self.error(0, n):,.0f} records"
        spent = " + ".join(f"{float(eps):g} {name}" for name, eps in self.epsilons.items())
        noise = "; ".join(f"{name} {law}" for name, law in self.laws.items())
        kind = "exact" if self.exact else "estimated"
        return (
            f"{head}\n  method:  {self.method}, neighbours {self.neighbours}"
            f"\n  epsilon: {float(self.epsilon):g} = {spent}\n  noise:   {noise}\n  errors:  {kind}"
        )
