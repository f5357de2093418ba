"""The estimator for many answers: on the simplex, and not worse than either simpler way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privjail.local import Categories, KaryResponse, LocalHashing, Survey
from privjail.local.shrink import least_risk
from privjail.local.simplex import project

points = st.lists(st.floats(-2, 2), min_size=2, max_size=8).map(np.array)


@given(points)
def test_the_projection_is_the_nearest_point_of_the_simplex(point):
    found = project(point)
    assert found.min() >= 0 and abs(found.sum() - 1) < 1e-9
    # Variational inequality: no direction into the simplex makes an acute angle with the rest.
    for corner in np.eye(len(point)):
        assert (point - found) @ (corner - found) <= 1e-9


@given(points.filter(lambda p: p.max() > 0.01), st.floats(1e-6, 1))
def test_the_result_is_a_distribution(point, noise):
    found = least_risk(point, noise)
    assert found.min() >= 0 and abs(found.sum() - 1) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("build", [KaryResponse.of, LocalHashing.of])
@pytest.mark.parametrize("even", [True, False])
def test_noise_is_not_chased_and_signal_is_kept(build, even):
    k, n, rng = 200, 5000, np.random.default_rng(4)
    weights = np.ones(k) if even else 0.5 ** np.arange(k)
    truth = weights / weights.sum()
    channel = build(Categories.numbered(k), 1 if even else 3)
    survey = Survey("", {"t": channel}, {"t": 1})
    errors = {"shrunk": 0.0, "unbiased": 0.0, "ml": 0.0}
    for _ in range(10):
        reports = channel.draw(rng.choice(k, size=n, p=truth))
        for method in errors:
            found = survey.estimate(reports, method=method).frequencies
            errors[method] += float(((found - truth) ** 2).mean())

    assert errors["shrunk"] < (0.7 if even else 1.15) * min(errors["ml"], errors["unbiased"])
