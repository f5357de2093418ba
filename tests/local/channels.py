"""One small specimen of every channel, and the plain definitions that tests compare with."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
from scipy import stats

from privjail.local import (
    Categories,
    Duchi,
    Grid,
    GridLaplace,
    KaryResponse,
    LocalHashing,
    Piecewise,
    Table,
    Unary,
    Warner,
)

FOUR = Categories(("a", "b", "c", "d"))
NUMBERS = Grid.of(-1, 1, 6)

COUNTING = {
    "warner": Warner("3/4"),
    "kary": KaryResponse.of(FOUR, 1),
    "unary-symmetric": Unary.symmetric(FOUR, 1),
    "unary-optimised": Unary.optimised(FOUR, 1),
    "hashing": LocalHashing.of(FOUR, 1),
    "table": Table.of(
        FOUR,
        [
            ["2/5", "1/5", "1/5", "1/10"],
            ["3/10", "1/2", "1/5", "3/10"],
            ["1/5", "1/5", "1/2", "1/10"],
            ["1/10", "1/10", "1/10", "1/2"],
        ],
    ),
}
NUMERIC = {
    "duchi": Duchi.of(NUMBERS, 1),
    "piecewise": Piecewise.of(NUMBERS, 1),
    "laplace": GridLaplace.of(NUMBERS, 1),
}
ALL = COUNTING | NUMERIC


def ratio_by_definition(channel) -> F | None:
    """max over every o, d, d′ of P[o|d] / P[o|d′], with no shortcut."""
    worst = F(1)
    for o in channel.outputs():
        law = [channel.law(o, d) for d in range(channel.domain.size)]
        if max(law) > 0:
            if min(law) == 0:
                return None
            worst = max(worst, max(law) / min(law))
    return worst


def fit(channel, codes: np.ndarray, value: int, law_of=None) -> float:
    """The p-value of Pearson's test that these output codes follow the law for this value.

    Outputs that are expected fewer than 10 times are pooled.
    """
    law_of = law_of or channel
    outputs = list(channel.outputs())
    law = np.array([float(law_of.law(o, value)) for o in outputs])
    seen = np.bincount(codes, minlength=len(outputs)).astype(float)
    common = law * len(codes) >= 10
    if not common.all():
        law = np.append(law[common], law[~common].sum())
        seen = np.append(seen[common], seen[~common].sum())
        if law[-1] == 0:
            law, seen = law[:-1], seen[:-1]
    return float(stats.chisquare(seen, law / law.sum() * len(codes)).pvalue)


def codes(channel, reports) -> np.ndarray:
    """Output numbers of drawn reports, for every kind of channel."""
    if isinstance(channel, Unary):
        return channel.bits(reports).astype(np.int64) @ (1 << np.arange(channel.domain.size))
    return reports
