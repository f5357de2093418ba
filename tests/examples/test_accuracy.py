"""bench/accuracy.py: the tracked tree is as good as the hand-written one."""

from __future__ import annotations

import accuracy
import manual
import pytest

RUNS = {0.1: 60, 1.0: 20, 10.0: 6}
LARGEST_ERROR = 0.0035  # of a difference of means; three of them are about one point


@pytest.mark.slow
@pytest.mark.parametrize("eps", list(RUNS))
def test_the_mean_accuracy_is_within_a_point_of_the_hand_written_tree(
    adult_files: tuple[str, str, str], eps: float
) -> None:
    module = manual.load("bincount")
    if module is None:
        pytest.skip(manual.MISSING)
    ours = accuracy.measure(accuracy.Ours(*adult_files), eps, RUNS[eps])
    hand = accuracy.measure(accuracy.ByHand(module, *adult_files), eps, RUNS[eps])

    assert (ours.error**2 + hand.error**2) ** 0.5 < LARGEST_ERROR, "too few runs to tell"
    assert abs(ours.mean - hand.mean) < 0.01


@pytest.mark.parametrize("eps", [0.01, 0.03])
def test_a_small_budget_grows_no_tree(adult_files: tuple[str, str, str], eps: float) -> None:
    point = accuracy.measure(accuracy.Ours(*adult_files), eps, runs=10)

    assert set(point.depths) == {0}


def test_the_page_says_what_was_measured() -> None:
    ours = accuracy.Point(0.1, [0.78, 0.80], [2, 3])
    hand = accuracy.Point(0.1, [0.77, 0.77], [2, 2])
    row = accuracy.page([(ours, hand)], 0.8369).splitlines()[-3]

    assert row == "| 0.1 | 2 | 79.00% ± 1.00 | 77.00% ± 0.00 | +2.00 ± 1.00 | 2–3 | 2 |"
