"""The one projection onto the simplex: the nearest point, by brute force and by its optimality conditions."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from privjail.simplex import nearest_on_simplex, nonnegative

points = st.lists(st.floats(-5, 5), min_size=1, max_size=6)


@given(points, st.floats(0.1, 4), st.data())
@settings(max_examples=150, deadline=None)
def test_no_feasible_point_is_nearer(point, total, data):
    y = np.array(point)
    weights = np.array(data.draw(st.lists(st.floats(0.1, 5), min_size=len(y), max_size=len(y))))
    x = nearest_on_simplex(y, total, weights)

    assert x.min() >= 0 and np.isclose(x.sum(), total)
    other = np.array(data.draw(st.lists(st.floats(0.001, 1), min_size=len(y), max_size=len(y))))
    other *= total / other.sum()
    assert ((x - y) ** 2 / weights).sum() <= ((other - y) ** 2 / weights).sum() + 1e-9
    # A small step towards any other feasible point is no nearer either: a minimum of a convex function.
    step = x + 1e-4 * (other - x)
    assert ((x - y) ** 2 / weights).sum() <= ((step - y) ** 2 / weights).sum() + 1e-12


def test_it_agrees_with_a_general_solver():
    y, w = np.array([0.9, -0.3, 0.5, 0.2]), np.array([1.0, 2.0, 0.5, 1.5])
    found = minimize(
        lambda x: ((x - y) ** 2 / w).sum(),
        np.full(4, 0.25),
        bounds=[(0, None)] * 4,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
    )
    assert np.allclose(nearest_on_simplex(y, 1.0, w), found.x, atol=1e-4)


def test_counts_keep_their_sum_and_a_negative_sum_becomes_nothing():
    assert nonnegative([3.0, -1.0, 4.0]).sum() == 6.0
    assert nonnegative([3.0, -1.0, 4.0]).min() == 0.0
    assert nonnegative([-3.0, 1.0]).tolist() == [0.0, 0.0]
