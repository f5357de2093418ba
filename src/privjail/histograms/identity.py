"""Identity: noise on every count, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from privjail.budget.amounts import amount, float_up
from privjail.histograms.counts import exact_counts
from privjail.histograms.histogram import PrivateHistogram
from privjail.histograms.laws import Draw, Law
from privjail.histograms.nested import Nest, NestedSpread
from privjail.histograms.relation import per_record
from privjail.mechanisms.noise import Noise


def release(
    counts: npt.ArrayLike, epsilon: Any, *, neighbours: str = "add-remove", draw: Draw | None = None
) -> PrivateHistogram:
    """Every count with discrete Laplace noise.

    Guarantee: ε-DP for the stated neighbours.
    Why: one record is in one bin, so it moves the counts by 1 in all; the noise has scale 1 / ε (2 / ε for replace).
    Source: Dwork, McSherry, Nissim, Smith, TCC 2006; Ghosh, Roughgarden, Sundararajan, STOC 2009.
    """
    exact = exact_counts(counts)
    scale = float_up(1 / per_record(epsilon, neighbours))
    noisy = exact + np.asarray((draw or Noise().laplace)(scale, len(exact)), dtype=np.int64)
    law = Law.of(scale)
    spread = NestedSpread(Nest(len(exact), (1,), (law.variance,)))
    epsilons, laws, released = {"counts": amount(epsilon)}, {"counts": law}, {"counts": noisy}
    return PrivateHistogram(noisy.astype(float), spread, "identity", neighbours, epsilons, laws, released)
