"""What a hostile reading of the rules found: each test is a program that once broke a claim."""

from __future__ import annotations

import itertools
import math
import struct
from typing import Any

import pytest

import pandas
import privjail as pj
from privjail import pandas as pd
from privjail import session

_names = itertools.count()


def opened(columns: dict[str, Any], schema: Any, **options: Any) -> Any:
    return pd.from_frame(pandas.DataFrame(columns), f"review{next(_names)}", schema, **options)


def table(*columns: Any) -> Any:
    """The rows of some columns of one table, as the engine holds them."""
    rows = columns[0]._rows
    held = session.jail().engine.table(rows, {str(i): c._expr for i, c in enumerate(columns)})
    return list(zip(*held.values(), strict=True))


def exact(value: Any) -> Any:
    return session.jail().engine.evaluate(value._value)


FLOATS = {"x": {"type": "Float64", "range": [0, 98], "fill": 0}}


@pytest.mark.parametrize("rows", range(1, 10))
def test_a_quotient_does_not_depend_on_other_rows(rows):
    """V-17: Polars divides by a constant as x·(1/c), but truly in blocks of one row: 49/49 was 1 or 0.999…"""
    df = opened({"x": [49.0] * rows}, FLOATS)

    assert table(df["x"] / 49.0) == [(1.0,)] * rows
    assert exact(df[(df["x"] / 49).floor() == 1].shape[0]) == rows
    assert exact(df[df["x"] // 49.0 == 1].shape[0]) == rows


def test_a_quotient_stays_inside_its_bounds():
    """V-24: 49·(1/49) is below 1, so a label was -1, and counting failed if and only if such a row was there."""
    schema = {"x": {"type": "Float64", "range": [49, 98], "fill": 60}}
    df = opened({"x": [60.0] * 5 + [49.0]}, schema)
    whole = (df["x"] // 49.0).astype("Int64")

    assert (whole.domain.lower, whole.domain.upper) == (1, 2)
    assert exact(whole.value_counts(sort=False)) == [6, 0]
    assert len(whole.value_counts(sort=False).reveal(eps=1e-9)) == 2


@pytest.mark.parametrize("divisor", [49.0, 3, 95.0, -7.3, 1e-310, 1e300])
def test_quotients_are_those_of_ieee_754(divisor):
    """V-10: also where 1/c is infinite, and where the divisor is a constant only in these data."""
    values = [0.0, 1e-320, 49.0, -19.0, 1.5, 1e-300, -1.2194253687228075e241, 7.0, 95.0]
    df = opened({"x": values}, {"x": {"type": "Float64", "fill": 0}})
    wanted = [x / divisor if math.isfinite(x / divisor) else None for x in values]
    hidden = (df["x"] * 0 + divisor).where(df["x"].notna(), 1.0)

    for quotient in (df["x"] / divisor, df["x"] / hidden):
        got = [row[0] for row in table(quotient)]
        assert [g if g is None else struct.pack("d", g) for g in got] == [
            w if w is None else struct.pack("d", w) for w in wanted
        ]


def test_a_quotient_that_cannot_be_missing_is_not():
    """V-16: 0·(1/1e-310) is not a number, where 0/1e-310 is 0: a null in a column that promises none."""
    df = opened({"x": [0.0, 1e-320, 0.0]}, {"x": {"type": "Float64", "range": [0, 1e-320], "fill": 0}})
    quotient = df["x"] / 1e-310

    assert not quotient.domain.nullable
    assert all(row[0] is not None for row in table(quotient))


def test_parts_of_moments_beyond_the_calendar_are_known_to_be_missing():
    """V-16: the engine has no month for the end of 64 bits, so ~isin([1]) and ~isin([2]) shared such a row."""
    import polars as pl

    far = pl.DataFrame({"t": pl.Series([2**63 - 1, 0]).cast(pl.Datetime("us"))})
    df = pd.from_frame(far, f"review{next(_names)}", {"t": {"type": "datetime", "fill": "2000-01-01"}})
    for part in ("year", "quarter", "month", "day", "hour", "minute", "second", "dayofweek", "dayofyear"):
        column = getattr(df["t"].dt, part)
        assert column.domain.nullable or all(row[0] is not None for row in table(column)), part

    month = df["t"].dt.month
    asks = [df[~month.isin([k])].shape[0] for k in (1, 2)]
    for ask in asks:
        ask.reveal(eps=1)
    assert exact(asks[0]) == exact(asks[1]) == 1 or exact(asks[1]) == 2
    assert pj.consumed_privacy_budget()[f"review{next(_names) - 1}"] == 2


@pytest.mark.parametrize("names", [("b", "^b$"), ("a", "*"), ("^a$", "^.*$"), ("a.b", "^a.b$")])
def test_a_column_whose_name_is_a_pattern_is_itself(names):
    """V-15: Polars takes such names for patterns, and gave the data of another column, with other bounds."""
    import polars as pl

    schema = {name: {"type": "Float64", "range": [0, i + 1], "fill": 0} for i, name in enumerate(names)}
    frame = pl.DataFrame({name: [float(i + 1)] * 3 for i, name in enumerate(names)})
    df = pd.from_frame(frame, f"review{next(_names)}", schema)

    for i, name in enumerate(names):
        assert table(df[name]) == [(i + 1.0,)] * 3


@pytest.mark.parametrize(
    ("owners", "declared"),
    [
        ((11, 12), {"type": "Int64", "range": [0, 10]}),
        ((-5, -6), {"type": "Int64", "range": [0, 10]}),
        ((2**53, 2**53 + 1), None),
        (("ann", "bob"), {"type": "category", "categories": ["ann", "bob"]}),
    ],
)
def test_loading_makes_no_owner_of_two(owners, declared):
    """V-11, V-15: clipped to one number, two people shared one bound of rows: without one, the other's rows came in."""
    import polars as pl

    schema = {"x": {"type": "Int64", "range": [0, 1]}, **({} if declared is None else {"u": declared})}
    found = []
    for keep in (slice(0, 2), slice(1, 2)):
        frame = pl.DataFrame({"u": list(owners)[keep], "x": [0, 1][keep]})
        df = pd.from_frame(frame, f"review{next(_names)}", schema, unit="u", max_rows_per_unit=1)
        sizes = df.groupby("x").size()
        found.append(exact(sizes))
        found.append(exact(df.groupby("u").head(1).groupby("x").size()))
        assert sizes._value.joint.l1 == 1

    for with_both, without in (found[0::2], found[1::2]):
        assert sum(abs(a - b) for a, b in zip(with_both, without, strict=True)) <= 1


@pytest.mark.parametrize("declared", [{"type": "Int64", "fill": 0}, {"type": "Float64"}])
def test_owners_that_could_fall_together_are_refused(declared):
    """A missing owner that is filled in is another person; a float holds two whole numbers beyond 2**53."""
    with pytest.raises(pj.DPError):
        opened({"u": [1, 2]}, {"u": declared}, unit="u", max_rows_per_unit=1)


def test_a_panic_of_the_engine_says_nothing(monkeypatch):
    """V-24: Polars raises panics that are no Exception, with messages that may quote data."""
    import polars as pl

    def panic(*_: Any) -> Any:
        raise pl.exceptions.PanicException("secret 42")

    assert not issubclass(pl.exceptions.PanicException, Exception)
    df = opened({"x": [1.0]}, FLOATS)
    monkeypatch.setattr(session.jail().engine, "evaluate", panic)
    with pytest.raises(pj.DPError) as caught:
        df.shape[0].reveal(eps=1)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None
