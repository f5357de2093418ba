"""Keys of groups that arithmetic made: only the numbers that can come out are groups, and no row is lost."""

from __future__ import annotations

import numpy
import pandas
import pytest

from privjail import pandas as pd
from privjail.pandas.reachable import reachable

E = 1000


@pytest.fixture(scope="module")
def plain():
    dice = numpy.random.default_rng(1)
    made = pandas.DataFrame({"a": dice.integers(-35, 91, 4000), "b": dice.integers(0, 6, 4000)}).astype("Int64")
    made.loc[dice.random(4000) < 0.05, "a"] = pandas.NA
    return made


@pytest.fixture(scope="module")
def df(plain):
    schema = {"a": {"type": "Int64", "range": [-35, 90]}, "b": {"type": "Int64", "range": [0, 5]}}
    return pd.from_frame(plain, "reachable", schema, budget=10**6)


KEYS = {
    "tens": lambda d: d["a"] // 10 * 10, "middles": lambda d: (d["a"] // 10) * 10 + 5,
    "from the right": lambda d: 100 - d["a"] // 20 * 20, "negative": lambda d: d["a"] // -10 * -10,
    "twice": lambda d: d["b"] * 7, "cast": lambda d: (d["a"] / 10).astype(int) * 10,
    "mapped": lambda d: d["b"].map({0: 0, 1: 100, 2: 100, 3: 900, 4: 0, 5: 900}),
    "apply": lambda d: d["a"].apply(lambda x: x // 30 * 30),
    "all numbers": lambda d: d["a"] % 10,
}  # fmt: skip


@pytest.mark.parametrize("name", KEYS)
def test_each_row_is_in_the_group_that_pandas_puts_it_in(name, df, plain):
    known = KEYS[name](plain.dropna()) if name == "cast" else KEYS[name](plain)
    expected = known.value_counts()
    key = KEYS[name](df)
    for found in (
        df.assign(k=key).groupby("k").size().reveal(eps=E), key.value_counts(eps=E),
        df.groupby(key).size().reveal(eps=E), df.assign(k=key).pivot_table("b", index="k", aggfunc="count", eps=E)["b"],
    ):  # fmt: skip
        assert set(expected.index) <= set(found.index)
        for label, count in found.items():
            assert count == pytest.approx(expected.get(label, 0), abs=1), label
        assert found.index.dtype == "Int64"


@pytest.mark.parametrize("name", [name for name in KEYS if name != "all numbers"])
def test_there_are_no_more_groups_than_numbers_that_can_come_out(name, df, plain):
    key = KEYS[name](df)
    assert df.assign(k=key).groupby("k").ngroups <= 14


def test_groups_of_such_keys_can_be_taken_one_by_one(df, plain):
    key = plain["a"] // 10 * 10
    groups = df.assign(k=df["a"] // 10 * 10).groupby("k")
    assert groups.get_group(30).shape[0].reveal(eps=E) == pytest.approx((key == 30).sum(), abs=1)
    sizes = {label: group.shape[0].reveal(eps=E) for label, group in groups}
    assert sizes[-40] == pytest.approx((key == -40).sum(), abs=1) and len(sizes) == 14
    means = groups["b"].mean(eps=E)
    assert means.loc[30] == pytest.approx(plain["b"][key == 30].mean(), abs=0.1)
    table = pd.crosstab(df["a"] // 10 * 10, df["b"]).reveal(eps=E)
    assert table.loc[30, 2] == pytest.approx(((key == 30) & (plain["b"] == 2)).sum(), abs=1)


def test_what_is_too_wide_is_not_listed(df):
    assert reachable((df["a"] * 10**9)._expr) is not None  # few numbers, far apart
    assert reachable((df["a"] * df["b"])._expr) == frozenset(range(-175, 451))
    assert reachable((df["a"] * 10**5 + df["b"])._expr) is None
