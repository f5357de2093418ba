"""Labels tell groups apart by the same equality that the engine compares with (V-20, V-41)."""

import polars as pl
import pytest

import privjail as pj
from privjail import pandas as pd
from privjail.plan.domain import CategoryDomain, Interval

BIG = 2**60
EDGES = [
    0,
    0.0,
    -0.0,
    1,
    1.0,
    True,
    0.1,
    5e-324,
    2**53,
    2**53 + 1,
    float(2**53),
    10**15,
    1e15,
    1e15 - 1,
    10**22,
    1e22,
    -1.5,
]


def counts(frame, condition):
    return frame[condition(frame)].shape[0]


@pytest.mark.parametrize("labels", [(1, 1.0), (0.0, -0.0), (float("nan"), 1.0), (float("inf"),), ("a", "a")])
def test_categories_that_compare_equal_are_refused(labels):
    with pytest.raises(pj.PlanError, match="categor"):
        CategoryDomain(True, labels)


@pytest.mark.parametrize("closed", ["left", "right", "both"])
def test_two_intervals_are_categories_unless_they_have_one_text(closed):
    """Intervals are told apart without making their texts, which are what they are looked up by."""
    ours = [Interval(a, b, c) for a in EDGES for b in (7, 7.0, 2**53 + 1) for c in {"right", closed}]
    refused = 0
    for one in ours:
        for other in ours:
            try:
                domain = CategoryDomain(True, (one, other))
            except pj.PlanError:
                refused += 1
                assert str(one) == str(other)
            else:
                assert str(one) != str(other)
                assert [domain.code(str(each)) for each in (one, other)] == [0, 1]
    assert refused > len(ours)


def test_an_interval_and_its_text_are_one_category():
    for pair in [(Interval(0, 1, "right"), "(0, 1]"), ("(0, 1]", Interval(0.0, 1.0, "right"))]:
        with pytest.raises(pj.PlanError, match="must be distinct"):
            CategoryDomain(True, pair)
    for odd in (None, float("nan"), float("inf")):
        with pytest.raises(pj.PlanError, match="categor"):
            CategoryDomain(True, (Interval(0, 1, "right"), odd))


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
