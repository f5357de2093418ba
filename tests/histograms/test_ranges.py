"""`purpose="ranges"` answers ranges at least as well as a plain hierarchy does: `ours` once lost to it on both kinds."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from histograms_families import families
from histograms_ranges import SMALL, WORKLOADS, cell

RUNS, EPSILONS = 3, (0.1, 1.0)


def errors(algorithm: str, seed: int) -> np.ndarray:
    """Root mean square errors of single bins, prefixes and random ranges, for ten histograms of 1,000 bins."""
    found = [cell(name, x, eps, algorithm, RUNS) for name, x in families(seed, (1000,)).items() for eps in EPSILONS]
    return np.maximum(found, SMALL)


@pytest.mark.parametrize("seed", [47, 48])
def test_for_ranges_is_not_worse_than_a_hierarchy_on_ranges(seed):
    """Geometric means over twenty cells; nothing was chosen by these seeds.

    On six other seeds the ratio was 0.83 … 0.94 for prefixes and 0.74 … 0.86 for random ranges (standard deviation 0.04
    from seed to seed). With `purpose="bins"`, which is what there was before, it was 1.24 … 1.61 for prefixes.
    """
    ratios = np.exp(np.log(errors("block_tree for ranges", seed) / errors("hierarchy", seed)).mean(axis=0))
    told = dict(zip(WORKLOADS, ratios, strict=True))
    assert told["prefix"] <= 1 and told["random"] <= 1, told
