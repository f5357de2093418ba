"""Labels tell groups apart by the same equality that the engine compares with (V-20, V-41)."""

import polars as pl
import pytest

import privjail as pj
from privjail import pandas as pd
from privjail.plan.domain import CategoryDomain

BIG = 2**60


def counts(frame, condition):
    return frame[condition(frame)].shape[0]


@pytest.mark.parametrize("labels", [(1, 1.0), (0.0, -0.0), (float("nan"), 1.0), (float("inf"),), ("a", "a")])
def test_categories_that_compare_equal_are_refused(labels):
    with pytest.raises(pj.PlanError, match="categor"):
        CategoryDomain(True, labels)


def test_true_is_not_the_category_one():
    domain = CategoryDomain(True, (1, True))

    assert (domain.code(1), domain.code(True), domain.code(1.0)) == (0, 1, 0)


def test_whole_numbers_beyond_2_to_the_53_are_compared_exactly():
    data = pl.DataFrame({"x": [BIG, BIG + 1, BIG + 2, None]})
    schema = {"x": {"type": "Int64", "range": [BIG, BIG + 10]}}
    frame = pd.from_frame(data, "big", schema)

    either = counts(frame, lambda f: (f["x"] == float(BIG)) | (f["x"] == float(BIG)))

    assert either.distance.value == 1
    assert either.reveal(eps=1e5) == 1.0


def test_a_whole_number_is_never_equal_to_a_half():
    data = pl.DataFrame({"x": [1, 2, None]})
    frame = pd.from_frame(data, "halves", {"x": {"type": "Int64", "range": [0, 10]}})

    assert counts(frame, lambda f: f["x"] == 1.5).reveal(eps=1e5) == 0.0
    assert counts(frame, lambda f: f["x"] != 1.5).reveal(eps=1e5) == 2.0
