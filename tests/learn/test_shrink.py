"""The evidence for a step, against the plain formula of two normal densities."""

from __future__ import annotations

import numpy
import pytest
from scipy.stats import multivariate_normal

from privjail.learn import shrink


@pytest.mark.parametrize("size", [2, 5, 12])
def test_evidence_is_the_ratio_of_the_likelihoods(size):
    rng = numpy.random.default_rng(size)
    covariances = [
        *shrink.smooth_covariances(size, size, True),
        *shrink.linear_covariances([numpy.linspace(-1, 1, size)], size),
    ]
    gradient, curvature, noise = rng.normal(0, 30, size), rng.uniform(1, 300, size), 25.0
    error = numpy.diag(noise + curvature)
    for _ in range(2):  # the second time from what was decomposed before
        found = shrink.posteriors(gradient, curvature, noise, covariances)
        for (which, variance), evidence in found.items():
            wide = error + variance * curvature[:, None] * covariances[which] * curvature
            laws = (multivariate_normal(cov=each, allow_singular=True).logpdf(gradient) for each in (wide, error))
            expected = numpy.subtract(*laws)
            assert evidence == pytest.approx(expected, rel=1e-6, abs=1e-6)
