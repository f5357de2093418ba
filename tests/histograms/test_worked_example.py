"""The thesis' worked example (§4.2 and figure 4.2): seven bins, ε = 0.5, all noise of the cuts 0."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from privjail.errors import PlanError
from privjail.histograms import equal_width, partition
from privjail.histograms.buckets import averages
from tests.histograms.worlds import Silent

COUNTS = [1, 1, 6, 7, 7, 2, 3]
BUCKETS = [0, 0, 1, 1, 1, 2, 2]  # {1, 2}, {3, 4, 5}, {6, 7}


def test_the_example_s_cuts_and_sums():
    silent = Silent()
    found = partition.release(COUNTS, Fraction(1, 2), draw=silent)
    assert found.released["buckets"].tolist() == BUCKETS
    assert found.released["sums"].tolist() == [2, 20, 5]
    assert found.epsilons == {"cuts": Fraction(1, 8), "sums": Fraction(3, 8)}  # ε₁ = 0.25 ε, ε₂ = 0.75 ε
    assert silent.scales == pytest.approx([16, 8 / 3])  # 2 / ε₁, and 1 / ε₂ = 2.67, which is the threshold, too


def test_the_example_s_averages():
    """The sums with the thesis' noise, 2.4, 20.7 and 4.8, shared among the bins of each bucket."""
    shared = averages([2.4, 20.7, 4.8], np.array(BUCKETS))
    assert shared.tolist() == pytest.approx([1.2, 1.2, 6.9, 6.9, 6.9, 2.4, 2.4])


def test_another_threshold_cuts_elsewhere():
    """The other direction: a difference of 5 is cut at ε = 0.5 and merged at 0.25, where the threshold is 5.33."""
    assert partition.release(COUNTS, Fraction(1, 4), draw=Silent()).released["buckets"].tolist() == [0] * 7


def test_the_index_of_equal_width_is_that_of_the_bins_numbers_alone():
    """The thesis' other rival, DP-index: the same buckets for any data, each bin a share of its bucket's sum."""
    found = equal_width.release([5, 1, 0, 0, 9, 9], 1, buckets=3, draw=Silent())
    assert found.counts.tolist() == [3, 3, 0, 0, 9, 9] and not found.exact
    assert equal_width.release([0] * 100, 1, draw=Silent()).released["buckets"].tolist() == [
        i // 10 for i in range(100)
    ]
    with pytest.raises(PlanError, match="1 to 2 buckets"):
        equal_width.release([1, 2], 1, buckets=3)
