"""Counts that may be released: so few records that no sum or cost here is ever rounded."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privjail.errors import PlanError
from privjail.histograms.laws import Integers
from privjail.histograms.postprocess import whole

#: Every sum of counts, difference of sums and cost of buckets in this package stays below 2**62 with so many records.
MOST_RECORDS = 2**50


def exact_counts(counts: npt.ArrayLike) -> Integers:
    """Private counts as 64-bit integers; more records than 2**50 in all are refused, before anything is released.

    A rounded count can hide one record, or show it twice: then no claim about one record's effect is true.
    """
    exact = whole(counts, "counts")
    if not len(exact):
        raise PlanError("a histogram has at least one bin")
    if np.abs(exact.astype(float)).sum() > MOST_RECORDS:
        raise PlanError("a histogram has at most 2**50 records: with more, sums would not be exact")
    return exact
