"""apply(f) on columns with too many values to try: the same as pandas' apply, row by row."""

from __future__ import annotations

import functools
import itertools
import random

import numpy as np
import pandas
import pytest

from privjail import pandas as pd
from privjail.errors import DPError

from .seen import seen

_names = itertools.count()
ROWS = 60
SCHEMA = {
    "x": {"type": "Float64", "range": [-10, 20]},
    "y": {"type": "Float64", "range": [0, 10]},
    "n": {"type": "Int64"},
    "s": {"type": "string"},
    "t": {"type": "datetime", "range": ["2024-01-01", "2024-12-31"]},
}


@pytest.fixture(scope="module")
def both() -> tuple[pandas.DataFrame, pd.PrivDataFrame]:
    rng = np.random.default_rng(3)
    frame = pandas.DataFrame({
        "x": np.where(rng.random(ROWS) < 0.2, np.nan, rng.integers(-20, 40, ROWS) / 2),
        "y": rng.integers(0, 20, ROWS) / 2,
        "n": rng.integers(-5, 5, ROWS),
        "s": rng.choice(["Mr. A", "Mrs. B", "Miss C", "x"], ROWS),
        "t": pandas.Timestamp("2024-01-01") + pandas.to_timedelta(rng.integers(0, 300 * 86400, ROWS), unit="s"),
    })  # fmt: skip
    return frame, pd.from_frame(frame, f"traced{next(_names)}", schema=SCHEMA)


def graded(x: float) -> str:
    if x < 0:
        return "below"
    elif x < 5:
        return "low"
    return "high"


def bonus(x: float, rate: float = 0.1) -> float:
    paid = x
    if x > 10:
        paid = paid * (1 + rate)
    if paid > 15:
        paid = 15
    return paid


def helper(x: object) -> int:
    return 1 if isinstance(x, float) else 0


def is_float(x: object, extra: int) -> int:
    return extra if isinstance(x, float) else 0


class Doubled:
    def __call__(self, x: object) -> int:
        return 1 if isinstance(x, float) else 0


def guarded(x: float) -> float:
    try:
        return float(x) * 2
    except Exception:
        return 0


def same(found: pd.PrivSeries, wanted: pandas.Series) -> None:
    mine = [None if v is None or v is pandas.NA or v != v else v for v in seen(found).tolist()]
    theirs = [None if v is None or v != v else v for v in wanted.tolist()]
    assert mine == theirs


NUMBERS = [
    lambda x: x * 1.5 + 1,
    lambda x: "high" if x > 10 else "low",
    lambda x: 0 if x < 0 else (1 if x < 5 else 2),
    lambda x: 1 if x != 3 else 0,
    lambda x: "a" if not x > 5 else "b",
    lambda x: x in (1, 2, 3.5),
    lambda x: abs(x) + 1,
    lambda x: x if x > 0 else 0,
    lambda x: None if x < 0 else x,
    lambda x: 0 < x < 5,
    lambda x: 1 if x > 0 and x < 5 else 0,
    lambda x: 1 if x < 0 or x > 5 else 0,
    lambda x: x > 3,
    lambda x: 7,
    lambda x: max(x, 0),
    lambda x: round(x, 0),
    lambda x: -x // 2,
    lambda x: 10 - x,
    lambda x: x >= 2,
    lambda x: x or 7,
    lambda x: "some" if x else "none",
    lambda x: not x,
    lambda x: np.nan if x == 1 else x * 2,
    graded,
    bonus,
]


@pytest.mark.parametrize("f", NUMBERS)
@pytest.mark.parametrize("column", ["x", "y", "n"])
def test_functions_of_numbers_are_as_in_pandas(both, column: str, f) -> None:
    frame, df = both
    same(df[column].apply(f), frame[column].apply(f))


def test_arguments_are_handed_on(both) -> None:
    frame, df = both
    same(df["x"].apply(bonus, args=(0.5,)), frame["x"].apply(bonus, args=(0.5,)))
    same(df["x"].apply(bonus, rate=0.25), frame["x"].apply(bonus, rate=0.25))
    same(df["x"].map(graded), frame["x"].map(graded))


TEXTS = [
    lambda s: s.lower(),
    lambda s: 1 if "Mr" in s else 0,
    lambda s: s.startswith("M"),
    lambda s: "title" if s.endswith("A") or s.startswith("Mrs") else "other",
    lambda s: s[:2],
    lambda s: s == "x",
    lambda s: s.split(".")[0],
]


@pytest.mark.parametrize("f", TEXTS)
def test_functions_of_texts_are_as_in_pandas(both, f) -> None:
    frame, df = both
    same(df["s"].apply(f), frame["s"].apply(f))


@pytest.mark.parametrize("f", [lambda t: t.year, lambda t: t.hour > 12, lambda t: t.month if t.day < 15 else 0])
def test_functions_of_dates_are_as_in_pandas(both, f) -> None:
    frame, df = both
    same(df["t"].apply(f), frame["t"].apply(f))


@pytest.mark.parametrize(
    "f",
    [
        lambda r: r["x"] + r["y"],
        lambda r: r["y"] / 2 if r.n > 0 else 0.0,
        lambda r: "both" if r["n"] > 0 and r["y"] > 5 else ("one" if r["n"] > 0 else "none"),
        lambda r: r["y"] > r["n"],
    ],
)
def test_functions_of_rows_are_as_in_pandas(both, f) -> None:
    frame, df = both
    same(df.apply(f, axis=1), frame.apply(f, axis=1))


def test_labels_are_a_finite_list(both) -> None:
    """So that what apply gives can be grouped by."""
    _, df = both
    assert df["x"].apply(graded).domain.labels == ("below", "low", "high")


@pytest.mark.parametrize(
    "f",
    [
        lambda x: 1 if isinstance(x, float) else 0,
        lambda x: 0 if type(x) == float else 1,  # noqa: E721
        lambda x: 0 if x is None else 1,
        lambda x: 0 if x is not None else 1,
        lambda x: str(x)[0],
        lambda x: f"{x}",
        lambda x: 0 if pandas.isna(x) else 1,
        lambda x: int(x),
        lambda x: float(x) + 1,
        lambda x: [x],
        lambda x: list(x),
        lambda x: x if x > random.random() else 0,
        lambda x: sum(1 for k in range(100) if x > k),
        lambda x: x.shift(1),
        lambda x: helper(x),
        functools.partial(is_float, extra=1),
        Doubled(),
        guarded,
        lambda x: 1 if x.__class__ == float else 0,  # noqa: E721
        lambda x: None,
    ],
)
def test_what_cannot_be_followed_is_refused(both, f) -> None:
    _, df = both
    with pytest.raises(DPError):
        df["x"].apply(f)


def test_eval_computes_columns(both) -> None:
    frame, df = both
    same(df.eval("x / (y + 1)"), frame.eval("x / (y + 1)"))
    same(df.eval("r = x * 2 + n")["r"], frame.eval("r = x * 2 + n")["r"])
    same(df.eval("y > 3 and n < 2"), frame.eval("y > 3 and n < 2"))
