"""Bounds found in the data: clip("auto"), head("auto")."""

from __future__ import annotations

import math

import pandas
import pytest

import privjail as pj
from privjail import pandas as pd
from privjail.statistics.bounds import chosen, doubling_edges
from privjail.plan.domain import FloatDomain, IntDomain

SCHEMA = {"who": {"type": "Int64"}, "x": {"type": "Float64"}, "n": {"type": "Int64"}}


def table(name: str, **options: object) -> pd.PrivDataFrame:
    rows = 4000
    frame = pandas.DataFrame(
        {
            "who": [i // 4 for i in range(rows)],
            "x": [-3.0 + i % 100 for i in range(rows)],
            "n": [i % 30 for i in range(rows)],
        }
    )
    frame.loc[0, "x"] = 1e9  # one value far away
    return pd.from_frame(frame, name, SCHEMA, **options)


def test_clip_finds_bounds_that_hold_almost_all_values() -> None:
    df = table("bounds for me")
    x, n = df["x"].clip("auto", eps=5), df["n"].clip("auto", eps=5)

    assert (x.domain.lower, x.domain.upper) == (-4, 128), "the value far away moves nothing"
    assert (n.domain.lower, n.domain.upper) == (0, 32)
    assert pj.consumed_privacy_budget()["bounds for me"] == 10
    assert abs(x.mean(eps=10) - 46.5) < 3


def test_rows_per_person_are_found_without_a_bound() -> None:
    df = table("rows for me", unit="who")
    few = df.groupby("who").head("auto", eps=5)

    assert few.distance.value == 7, "4 rows each: below 8"
    assert pj.consumed_privacy_budget()["rows for me"] == 5


def test_what_is_refused_costs_nothing() -> None:
    df = table("bounds refused")
    for wrong in (
        lambda: df["x"].clip("auto"),
        lambda: df["x"].clip("auto", 5, eps=1),
        lambda: df["x"].clip(0, 5, eps=1),
        lambda: df.groupby("who").head("auto"),
        lambda: df.groupby("who").head(3, eps=1),
        lambda: df.groupby("who").head("auto", eps=1),  # no column says whose rows they are
    ):
        with pytest.raises(pj.DPError):
            wrong()
    assert pj.consumed_privacy_budget()["bounds refused"] == 0


def test_edges_lie_in_the_declared_range() -> None:
    assert doubling_edges(IntDomain(True, 0, 5)) == [0.0, 1.0, 2.0, 4.0, math.nextafter(5, 6)]
    open_ = doubling_edges(FloatDomain(True))
    assert open_ == sorted(open_) and open_[0] == -math.inf and open_[-1] == math.inf and 0.0 in open_


def test_noise_alone_is_no_reason_to_widen_and_nothing_to_choose_from_gives_all() -> None:
    edges = [-math.inf, -1.0, 0.0, 1.0, 2.0, 4.0, math.inf]

    assert chosen(edges, [0, 0, 0, 500, 500, 3], 1.0) == (1.0, 4.0)
    assert chosen(edges, [0, 0, 0, 500, 500, 300], 1.0) == (1.0, 4.0), "beyond the last edge there is none"
    assert chosen(edges, [1, -2, 0, 3, -1, 0], 5.0) == (-1.0, 4.0)
