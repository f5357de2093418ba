"""Buckets of equal width, whatever the data: the index of Cryptε, which the thesis calls DP-index."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from privjail.budget.amounts import amount
from privjail.errors import PlanError
from privjail.histograms.buckets import release_buckets
from privjail.histograms.counts import exact_counts
from privjail.histograms.histogram import PrivateHistogram
from privjail.histograms.laws import Draw
from privjail.histograms.relation import per_record
from privjail.mechanisms.noise import Noise


def release(
    counts: npt.ArrayLike,
    epsilon: Any,
    *,
    buckets: int | None = None,
    neighbours: str = "add-remove",
    draw: Draw | None = None,
) -> PrivateHistogram:
    """The sums of so many buckets of equal width (the root of the number of bins, if nothing is said).

    Guarantee: ε-DP for the stated neighbours.
    Why: buckets depend on public facts and are disjoint, so a record moves one sum by 1; the noise has scale 1 / ε.
    Source: Roy Chowdhury, Wang, He, Machanavajjhala, Jha, SIGMOD 2020 (Cryptε), §7.3.
    """
    exact = exact_counts(counts)
    wanted = math.isqrt(len(exact)) if buckets is None else buckets
    if not 1 <= wanted <= len(exact):
        raise PlanError(f"{len(exact)} bins have 1 to {len(exact)} buckets, not {wanted}")
    labels = np.arange(len(exact), dtype=np.int64) * wanted // len(exact)
    eps = per_record(epsilon, neighbours)
    spent = {"sums": amount(epsilon)}
    return release_buckets(exact, labels, draw or Noise().laplace, eps, "equal_width", neighbours, spent)
