"""Least squares over nested blocks, and the variance of ranges, against the matrices written out."""

from __future__ import annotations

import numpy as np
import pytest

from privjail.errors import PlanError
from privjail.histograms.nested import Nest, NestedSpread

NESTS = [
    (8, (1, 2, 4), (1.0, 2.0, 0.5)),
    (10, (1, 4), (3.0, 0.7)),
    (11, (1, 2, 6), (1.0, 5.0, 0.1)),
    (7, (1,), (2.0,)),
    (13, (1, 3, 6, 12), (1.0, 0.5, 2.0, 4.0)),
    (5, (1, 8), (1.0, 2.0)),
    (1, (1, 16), (1.0, 2.0)),
]


def rows_of(nest: Nest) -> np.ndarray:
    return np.array(
        [
            [float(size * j <= i < size * (j + 1)) for i in range(nest.bins)]
            for level, size in enumerate(nest.sizes)
            for j in range(nest.blocks(level))
        ]
    )


@pytest.mark.parametrize("total", [False, True])
@pytest.mark.parametrize("bins, sizes, variances", NESTS)
def test_estimates_and_variances_are_those_of_least_squares(bins, sizes, variances, total):
    nest = Nest(bins, sizes, variances)
    nest = nest.with_total() if total else nest
    rows, noise = rows_of(nest), np.repeat(nest.variances, [nest.blocks(i) for i in range(len(nest.sizes))])
    noise = np.maximum(noise, 1e-8)  # the total is known: as good as without noise
    covariance = np.linalg.inv(rows.T @ np.diag(1 / noise) @ rows)
    spread = NestedSpread(nest)
    for each in (spread, NestedSpread.from_json(spread.to_json())):
        for a in range(bins + 1):
            for b in range(a, bins + 1):
                assert each.variance(a, b) == pytest.approx(covariance[a:b, a:b].sum(), abs=1e-4), (a, b)
    seen = np.random.default_rng(1).normal(size=len(rows)) * 5
    best = covariance @ (rows.T @ (seen / noise))
    ends = np.cumsum([nest.blocks(i) for i in range(len(nest.sizes))])[:-1]
    assert nest.least_squares(np.split(seen, ends)) == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize(
    "sizes, variances", [((2, 4), (1, 1)), ((1, 4, 6), (1, 1, 1)), ((1, 2), (1,)), ((1, 2), (1, -1)), ((1, 1), (1, 1))]
)
def test_what_is_not_nested_is_refused(sizes, variances):
    with pytest.raises(PlanError):
        Nest(8, sizes, variances)
    with pytest.raises(PlanError, match="numbers of sums"):
        Nest(8, (1, 4), (1.0, 1.0)).least_squares([np.zeros(8), np.zeros(3)])
