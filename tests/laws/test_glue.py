"""Domains, rows and order through the analyst's own interface: THREATS.md section C, end to end."""

from __future__ import annotations

import math
from itertools import count, permutations

import numpy as np
import pytest

import pandas
import privjail as pj
from privjail import pandas as pd

SCHEMA = {
    "x": {"type": "Float64", "range": [0, 10]},
    "n": {"type": "Int64", "range": [-5, 5]},
    "g": {"type": "category", "categories": ["a", "b", "c"]},
}
SURE = 10**6  # an ε so large that the noise is zero for whole numbers, and far below SMALL for others
SMALL = 1e-2
_names = count()


def opened(x, n, g, index=None, schema=SCHEMA):
    frame = pandas.DataFrame({"x": x, "n": n, "g": g}, index=index)
    return pd.from_frame(frame, f"glue{next(_names)}", schema)


def facts(df):
    """All that an analyst sees before paying."""
    return [
        str(df.columns.tolist()),
        str(df.dtypes.to_dict()),
        {k: str(v) for k, v in df.domains.items()},
        str(df.distance),
    ]


EXTREME = (
    ([1.0, 2.0], [1, 2], ["a", "b"]),
    ([math.nan, math.inf], [None, 10**12], [None, "zzz"]),
    ([-math.inf, -0.0], [-(2**60), 0], ["", "c"]),
    ([], [], []),
)


@pytest.mark.parametrize("data", EXTREME)
def test_facts_come_from_the_schema_and_not_from_the_data(data):
    """V-19: extreme data, no data, other types of the container: the same facts."""
    frames = [opened(*data), opened(*EXTREME[0])]
    shown = []
    for df in frames:
        df["y"] = df["x"] / df["n"] + df["n"].abs()
        part = df[df["g"] == "a"].sort_values("x").head(3)
        shown.append([facts(df), facts(part), str(part["y"].isna().sum().distance)])

    assert shown[0] == shown[1]


@pytest.mark.parametrize("data", EXTREME)
def test_nan_and_infinities_end_at_the_door(data):
    """V-16: every sum and count of every derived column is finite and inside its claim."""
    df = opened(*data)
    rows = len(data[0])
    for series in (
        df["x"],
        df["x"] / df["n"],
        (df["x"] - 5) * df["n"],
        df["x"].abs(),
        df["n"] // df["n"],
        df["x"].round(2),
    ):
        bounded = series.clip(-10, 10)
        assert -10 * rows - SMALL <= bounded.sum().reveal(eps=SURE) <= 10 * rows + SMALL
        assert 0 <= bounded.isna().sum().reveal(eps=SURE) <= rows


def test_a_constant_that_is_no_number_is_refused_or_missing():
    """V-16: NaN and infinities cannot be written into a column; where pandas reads NaN as missing, so do we."""
    df = opened(*EXTREME[0])
    for value in (math.nan, math.inf, -math.inf, np.float64("nan")):
        with pytest.raises(pj.DPError):
            df["x"] = value
        with pytest.raises(pj.DPError):
            df["x"].fillna(value)
        if math.isinf(value):
            with pytest.raises(pj.DPError):
                df["x"].where(df["n"] > 1, value)
        else:
            masked = df["x"].where(df["n"] > 1, value)
            assert masked.domain.nullable
            assert masked.isna().sum().reveal(eps=SURE) == 1
            assert masked.sum().reveal(eps=SURE) == pytest.approx(2, abs=SMALL)


def test_a_column_written_anew_has_new_facts():
    """V-18: bounds, and with them sensitivities, follow the column's newest version."""
    df = opened(*EXTREME[0])
    assert df["x"].sum().distance.value == 10
    old = df["x"]
    df["x"] = df["x"] * 100
    assert df["x"].sum().distance.value == 1000
    df.loc[df["g"] == "a", "x"] = -5000
    assert df["x"].sum().distance.value == 5000
    assert old.sum().distance.value == 10
    df["g"] = df["g"].map({"a": "q"})
    assert df["g"].value_counts(sort=False).reveal(eps=SURE).index.tolist() == ["q"]


def test_a_rewritten_key_is_another_partition():
    """V-18, V-41: groups by the new column do not pass for groups by the old one."""
    df = opened(*EXTREME[0])
    first = df[df["g"] == "a"].shape[0]
    df["g"] = df["g"].replace({"b": "a"})
    again = df[df["g"] == "c"].shape[0]

    assert (first + again).distance.value == 2


def test_the_last_row_of_a_group_leaves_the_shape_as_it_is():
    """V-20: all groups are there, in the schema's order."""
    shapes = []
    for g in (["a", "b"], ["a", "a"], ["zzz", None]):
        df = opened([1.0, 2.0], [1, 2], g)
        counts = df["g"].value_counts(sort=False).reveal(eps=SURE)
        sums = df.groupby("g")["x"].sum().reveal(eps=SURE)
        shapes.append((counts.index.tolist(), sums.index.tolist(), [key for key, _ in df.groupby("g")]))

    assert shapes[0] == shapes[1] == shapes[2]
    assert shapes[0][1] == ["a", "b", "c"]


@pytest.mark.parametrize("index", [None, [0, 0, 0], [2, 1, 0], [5, 5, math.nan], ["u", "u", "v"]])
def test_labels_of_rows_do_not_matter(index):
    """V-21: rows are paired as they stand, whatever the index says; whole numbers stay whole."""
    df = opened([1.0, 2.0, 3.0], [1, 2, 3], ["a", "b", "a"], index)
    ordered = df.sort_values("x", ascending=False)
    ordered["z"] = ordered["x"] * ordered["n"]

    assert ordered["z"].clip(0, 50).sum().reveal(eps=SURE) == pytest.approx(14, abs=SMALL)
    assert ordered.head(1)["z"].clip(0, 50).sum().reveal(eps=SURE) == pytest.approx(9, abs=SMALL)
    assert ordered["n"].sum().reveal(eps=SURE) == 6
    with pytest.raises(pj.RowsError):
        df["z"] = ordered["x"]
    with pytest.raises(pj.RowsError):
        df[ordered["x"] > 1]


def test_ties_keep_the_order_of_the_file():
    """V-22."""
    for order in permutations([1, 2, 3]):
        df = opened([5.0] * 3, list(order), ["a"] * 3)
        for ascending in (True, False):
            first = df.sort_values("x", ascending=ascending).head(1)["n"].sum()
            assert first.reveal(eps=SURE) == order[0]


@pytest.mark.parametrize(
    "name",
    ["factorize", "rank", "interpolate", "ffill", "bfill", "cumsum", "cumprod", "cummax", "sample", "drop_duplicates"],
)
def test_what_is_not_row_wise_is_refused(name):
    """V-17: in pandas these look row-wise, but one row changes the values of others."""
    df = opened(*EXTREME[0])
    with pytest.raises((pj.DPError, AttributeError)):
        getattr(df["x"], name)()


def test_functions_that_look_at_the_whole_column_are_refused():
    """V-17: bins, codes and dummies found in the data."""
    df = opened(*EXTREME[0])
    with pytest.warns(UserWarning, match="declared range"):  # parts of a public range
        pd.cut(df["x"], 3)
    with pytest.raises(pj.DPError, match="price"):
        pd.qcut(df["x"], 4)
    for name in ("get_dummies", "factorize"):
        with pytest.raises((pj.DPError, AttributeError)):
            getattr(pd, name)(df["x"])
    assert df["g"].cat.codes.domain.upper == len(df["g"].domain.categories) - 1  # positions in the public list
    with pytest.raises(pj.DPError):
        _ = df.iloc[::2]


def test_a_sum_after_clip_is_one_of_the_clipped_column():
    """V-15: an outlier moves it by the bound."""
    wide = {**SCHEMA, "x": {"type": "Float64"}}
    totals = []
    for x in ([1.0, 1.0], [1.0, 1e300]):
        total = opened(x, [0, 0], ["a", "a"], None, wide)["x"].clip(0, 10).sum()
        assert total.distance.value == 10
        totals.append(total.reveal(eps=SURE))

    assert abs(totals[1] - totals[0] - 9) < SMALL


def test_small_integers_do_not_overflow():
    """V-7: a container of eight bits is read into 64."""
    frame = pandas.DataFrame({"n": np.full(300, 100, dtype=np.int8)})
    df = pd.from_frame(frame, f"glue{next(_names)}", {"n": {"type": "Int64", "range": [0, 100]}})

    assert df["n"].sum().reveal(eps=SURE) == 30_000
    assert (df["n"] * 100).sum().reveal(eps=SURE) == 3_000_000
