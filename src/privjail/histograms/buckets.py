"""Buckets of bins: each bin is released as its share of its bucket's noisy sum."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from privjail.budget.amounts import float_up
from privjail.histograms.histogram import PrivateHistogram
from privjail.histograms.laws import Draw, Floats, Integers, Law
from privjail.histograms.spread import BucketSpread

#: What averaging hides inside a bucket is private: the errors of these methods are those of the noise alone.
NOISE_ONLY = "errors of noise only"


def labels_of(starts: npt.NDArray[np.bool_]) -> Integers:
    """The number of each bin's bucket, from where buckets start (the first bin always does)."""
    return np.cumsum(starts) - 1


def sums_of(counts: npt.ArrayLike, labels: Integers) -> Integers:
    """The exact sum of each bucket."""
    found = np.zeros(int(labels.max()) + 1, dtype=np.int64)
    np.add.at(found, labels, np.asarray(counts, dtype=np.int64))
    return found


def averages(noisy_sums: npt.ArrayLike, labels: Integers) -> Floats:
    """Each bin as its share of its bucket's sum."""
    return np.asarray((np.asarray(noisy_sums) / np.bincount(labels))[labels])


def release_buckets(
    exact: Integers,
    labels: Integers,
    draw: Draw,
    epsilon_per_record: Fraction,
    method: str,
    neighbours: str,
    epsilons: Mapping[str, Fraction],
) -> PrivateHistogram:
    """The sums of buckets that are public already, with noise.

    Guarantee: costs ``epsilon_per_record`` for each added or removed record.
    Why: buckets are disjoint, so a record moves one sum by 1; the noise has scale 1 / ε.
    """
    scale = float_up(1 / epsilon_per_record)
    sums = sums_of(exact, labels)
    noisy = sums + np.asarray(draw(scale, len(sums)), dtype=np.int64)
    law = Law.of(scale)
    spread = BucketSpread(labels, law.variance)
    released = {"sums": noisy, "buckets": labels}
    name = f"{method} ({NOISE_ONLY})"
    return PrivateHistogram(
        averages(noisy, labels), spread, name, neighbours, epsilons, {"sums": law}, released, exact=False
    )
