"""The numpy examples run at small size, stay in budget, and learn something at a large price."""

from __future__ import annotations

import numpy_dpsgd
import numpy_pca


def test_components_of_images() -> None:
    best = numpy_pca.main(rows=300, k=2, eps=200)
    poor = numpy_pca.main(rows=60, k=2, eps=0.01)

    assert best > 0.22 and poor < 0.8 * best


def test_digits_are_recognised() -> None:
    assert numpy_dpsgd.main(rows=300, rounds=3, eps=200) > 0.5
