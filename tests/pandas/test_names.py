"""Every public name of pandas is typed: it works, or is refused with a reason and with code that runs instead."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from pandas.api.typing import DataFrameGroupBy, Rolling, SeriesGroupBy

import pandas
import privjail as pj
from privjail import pandas as pd
from privjail.pandas.refusals import _TABLE
from tests.pandas.seen import opened

CODE = re.compile(r"`([^`]+)`")
SCHEMA = {
    "a": {"type": "Int64", "range": [0, 100], "fill": 0},
    "b": {"type": "Float64", "range": [0.0, 1.0]},
    "g": {"type": "category", "categories": ["x", "y"], "fill": "x"},
    "h": {"type": "category", "categories": ["x", "z"]},
    "t": {"type": "datetime", "range": ["2024-01-01", "2024-12-31"]},
    "s": {"type": "string"},
}


@pytest.fixture(scope="module")
def space():
    rng = np.random.default_rng(7)
    n = 30_000  # so many that quartiles at eps=0.1 are not equal
    frame = pandas.DataFrame(
        {
            "a": rng.integers(0, 101, n),
            "b": rng.random(n),
            "g": rng.choice(["x", "y"], n),
            "h": rng.choice(["x", "z"], n),
            "t": pandas.Timestamp("2024-01-01") + pandas.to_timedelta(rng.integers(0, 364, n), unit="D"),
            "s": rng.choice(["one", "two", "queue"], n),
        }
    )
    table = pandas.DataFrame({"g": ["x", "y"], "floor": [1, 2]})
    return {"df": opened(frame, SCHEMA), "pd": pd, "pj": pj, "pandas": pandas, "table": table}


OWNERS = {
    "frame": ("df", pandas.DataFrame),
    "number column": ('df["a"]', pandas.Series),
    "category column": ('df["g"]', pandas.Series),
    "groups": ('df.groupby("g")', DataFrameGroupBy),
    "group column": ('df.groupby("g")["a"]', SeriesGroupBy),
    "flat groups": ('df.groupby("g", as_index=False)', DataFrameGroupBy),
    "rolling": ('df["a"].rolling(3)', Rolling),
    "str": ('df["s"].str', pandas.Series.str),
    "dt": ('df["t"].dt', pandas.Series.dt),
    "cat": ('df["g"].cat', pandas.Series.cat),
    "module": ("pd", pandas),
    "counts": ('df["g"].value_counts(sort=False)', pandas.Series),
    "sorted counts": ('df["g"].value_counts()', pandas.Series),
    "table of counts": ('pd.crosstab(df["g"], df["h"])', pandas.DataFrame),
}
NOT_PANDAS = {"annotations", "pandas", "test"}


def ran(code, space):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(code, "<advice>", "exec"), dict(space))  # noqa: S102


@pytest.mark.parametrize("owner", OWNERS)
def test_every_public_name_works_or_is_refused_with_code_that_runs(owner, space):
    text, of = OWNERS[owner]
    found = eval(text, dict(space))  # noqa: S307
    advice = set()
    for name in dir(of):
        if name.startswith("_") or name in NOT_PANDAS:
            continue
        try:
            getattr(found, name)
        except pj.RefusedError as error:
            assert isinstance(error, AttributeError), f"{owner}.{name}: hasattr() must keep working"
            assert ": " in error.what and len(error.what) > 30, f"{owner}.{name}: no reason"
            codes = CODE.findall(error.do or "")
            assert codes, f"{owner}.{name}: nothing to type instead: {error.do}"
            advice.update(codes)
        except pj.PlanError as error:  # a part of a span, asked of a date
            assert error.do, f"{owner}.{name}"
            advice.update(CODE.findall(error.do))
    for code in advice:
        ran(code, space)


def test_every_piece_of_advice_in_the_table_runs(space):
    for where, why, instead, names in _TABLE:
        assert why and names, where
        codes = CODE.findall(instead)
        assert codes, instead
        for code in codes:
            ran(code, space)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("df.gruopby('g')", "groupby"),
        ("df.descibe(eps=1)", "describe"),
        ("df['a'].maen(eps=1)", "mean"),
        ("df['a'].valuecounts()", "value_counts"),
        ("df.groupby('g').szie()", "size"),
        ("df.groupby('g')['a'].medain(eps=1)", "median"),
        ("df['s'].str.lowr()", "lower"),
        ("df['t'].dt.mnth", "month"),
        ("df['g'].value_counts().sort_vlaues()", "sort_values"),
        ("df.shape[0].revael(eps=1)", "reveal"),
        ("pd.crostab(df['g'], df['h'])", "crosstab"),
        ("df['a'].mean(epsilon=1)", "eps"),
        ("df.sort_values('a', asending=False)", "ascending"),
        ("df.groupby('G')", "g"),
    ],
)
def test_a_misspelling_names_the_nearest(typed, meant, space):
    with pytest.raises(pj.DPError) as caught:
        exec(typed, dict(space))  # noqa: S102
    assert meant in (caught.value.do or ""), caught.value
