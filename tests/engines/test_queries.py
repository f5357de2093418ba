"""Counts and sums of a long table without keys are the exact numbers of their definition."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from privjail import pandas as pd
from privjail import session
from privjail.engines.polars import batches, queries as whole
from privjail.engines.polars.narrowed import clipped_once
from privjail.statistics.mean import CentredColumn
from privjail.ops.numbers.tally import Tally, amount, bounds_on_grid, grid_bounds, sum_grid
from privjail.plan.domain import FloatDomain

NUMBERS = st.one_of(st.none(), st.floats(-1e6, 1e6), st.integers(-40, 40).map(lambda k: k / 8))
BOUNDS = st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)).map(sorted)
COUNTER = iter(range(10**9))


def held(values: list[float | None], low: float, high: float) -> Any:
    frame = pl.DataFrame({"v": pl.Series(values, dtype=pl.Float64()), "i": list(range(len(values)))})
    schema = {"v": {"type": "Float64", "range": [low, high]}, "i": {"type": "Int64", "range": [0, 1000]}}
    return pd.from_frame(frame, f"whole {next(COUNTER)}", schema)


def frame_of(df: Any) -> pl.DataFrame:
    found: pl.DataFrame = session.jail().engine._frames[df._rows.source]
    return found


def defined(values: list[float | None], low: float, high: float) -> int:
    """Each value within its bounds, rounded to the grid with ties to even, and no further than the bounds' grid points."""
    domain = FloatDomain(True, low, high)
    ends = grid_bounds(domain)
    steps = [round(Fraction(min(max(v, low), high)) / sum_grid(domain)) for v in values if v is not None]
    return sum(min(max(k, ends[0]), ends[1]) for k in steps)


@settings(max_examples=150, deadline=None)
@given(st.lists(NUMBERS, max_size=12), BOUNDS)
@example([0.5, 1.5, 2.5, None], [0.0, 2.5])
@example([2.0**30, 2.0**30 - 0.5, 1.5, 0.5], [0.0, 2.0**30])  # a grid of 1, and ties
@example([0.1, 0.3], [0.1, 0.3])
def test_a_sum_is_the_sum_of_rounded_values(values: list[float | None], bounds: list[float]) -> None:
    low, high = bounds
    df = held(values, low, high)
    rows, expr = df._rows, df["v"]._expr
    [found] = whole.totals(frame_of(df), [Tally(rows, (), expr)])

    assert int(found) == defined(values, low, high)


@pytest.mark.parametrize("most", [1, 3, 10**6])
def test_parts_of_a_table_add_up(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = [None if i % 7 == 0 else i / 3 for i in range(100)]
    df = held(values, 0.1, 20.3)
    old = df[df["i"] >= 30]
    also = old[old["v"] > 11]
    tables: list[Tally] = [Tally(df._rows, (), None), Tally(also._rows, (), None), Tally(also._rows, (), df["v"]._expr),
                           Tally(old._rows, (), df["i"]._expr)]  # fmt: skip
    monkeypatch.setattr(whole, "_most_rows", lambda table: most)
    found = [int(x) for x in whole.totals(frame_of(df), tables)]
    kept = [v for i, v in enumerate(values) if i >= 30 and v is not None and min(max(v, 0.1), 20.3) > 11]

    assert all(map(whole.in_one_query, tables))
    assert found == [100, len(kept), defined(list(kept), 0.1, 20.3), sum(range(30, 100))]
    assert found == [int(x) for x in batches.in_batches(frame_of(df), tables)]


def test_no_more_rows_are_added_up_than_a_float_holds() -> None:
    for high in (1.0, 100.0, 107.9, 1e-300, 1e200):
        df = held([0.0], 0.0, high)
        expr = df["v"]._expr
        assert isinstance(expr.domain, FloatDomain)
        steps = max(grid_bounds(expr.domain))
        assert whole._most_rows(Tally(df._rows, (), expr)) * steps <= 2**53
        assert bounds_on_grid(expr.domain) is ((Fraction(high) / sum_grid(expr.domain)).denominator == 1)


def test_what_is_not_one_expression_of_columns_goes_in_batches() -> None:
    df = held([1.0, 2.0], 0.0, 9.0)
    divided = (df["v"] / 3)._expr
    far = held([1.0], -1.7e308, 1.7e308)
    constant = df.assign(one=3)["one"]._expr

    assert whole.in_one_query(Tally(df._rows, (), df["v"]._expr))
    assert not whole.in_one_query(Tally(df._rows, (), divided))
    assert not whole.in_one_query(Tally(df._rows, (), constant))
    assert not whole.in_one_query(Tally(far._rows, (), far["v"]._expr))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(NUMBERS, st.integers(-2, 4) | st.none(), st.booleans() | st.none()), max_size=30), BOUNDS,
       st.sampled_from([1, 3, 1 << 20]))  # fmt: skip
def test_tables_with_keys_are_those_of_batches(rows: list[Any], bounds: list[float], part: int) -> None:
    """With missing keys, missing conditions and values outside of every group."""
    columns = {name: [row[i] for row in rows] for i, name in enumerate("vkb")}
    frame = pl.DataFrame(columns, schema={"v": pl.Float64(), "k": pl.Int64(), "b": pl.Boolean()})
    schema = {
        "v": {"type": "Float64", "range": bounds},
        "k": {"type": "Int64", "range": [-1, 3]},
        "b": {"type": "boolean"},
    }
    df = pd.from_frame(frame, f"whole {next(COUNTER)}", schema)
    v, k, b = (df[name]._expr for name in "vkb")
    some = df[df["b"]]
    tables: list[Tally] = [Tally(df._rows, (k,), None), Tally(some._rows, (k,), v), Tally(df._rows, (b, k), v), Tally(some._rows, (k, b), k),
                           Tally(df._rows, (k,), b), Tally(some._rows, (), b), Tally(df._rows, (), k)]  # fmt: skip
    assert all(map(whole.in_one_query, tables))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(whole, "PART", part)
        found = batches.fill(frame_of(df), tables)
    expected = batches.in_batches(frame_of(df), tables)
    by_position = [session.jail().engine.tally(table) for table in tables]

    assert [x.ravel().tolist() if t.keys else int(x) for x, t in zip(found, tables, strict=True)] == by_position
    assert [x.tolist() for x in found] == [x.tolist() for x in expected]
    assert int(found[0].sum()) == sum(row[1] is not None for row in rows)


def test_whole_numbers_beyond_floats_are_rounded_once() -> None:
    values = [
        None,
        -(2**63),
        2**63 - 1,
        *(s * (2**62 + k * 2**33 + d) for s in (1, -1) for k in (1, 2, 3) for d in (-1, 0, 1)),
    ]
    schema = {"x": {"type": "Int64", "range": [-(2**63), 2**63 - 1]}, "k": {"type": "Int64", "range": [0, 1]}}
    frame = pl.DataFrame(
        {"x": values, "k": [i % 2 for i in range(len(values))]}, schema={"x": pl.Int64(), "k": pl.Int64()}
    )
    df = pd.from_frame(frame, f"whole {next(COUNTER)}", schema)
    x, k = df["x"]._expr, df["k"]._expr
    wanted = [sum(amount(v, x.domain) for v in values[i::2]) for i in (0, 1)]
    tables: list[Tally] = [Tally(df._rows, (), x), Tally(df._rows, (k,), x)]

    for found in (whole.totals(frame_of(df), tables), batches.in_batches(frame_of(df), tables)):
        assert int(found[0]) == sum(wanted) and found[1].tolist() == wanted


def test_a_clipped_column_is_missing_where_the_column_is() -> None:
    df = held([None, 1.0, 9.0, None, -3.0], -5.0, 5.0)
    clipped = (df["v"].clip(0, 2) * 1).clip(0.5, 1)
    centred = CentredColumn(clipped._rows, clipped._expr)
    present, bare = centred.present(), CentredColumn(df._rows, df["v"].clip(0, 2)._expr).present()
    assert present is not None and bare is not None

    assert str(bare) == "~v.isna()"
    for each in (present, bare):
        assert [int(x) for x in whole.totals(frame_of(df), [Tally(df._rows, (), each)])] == [3]


def test_no_query_is_so_large_that_a_deadline_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    df = held([i / 3 for i in range(90)], 0.0, 30.0)
    tables: list[Tally] = [Tally(df[df["i"] > k]._rows, (), df["v"]._expr) for k in range(40)]
    sizes: list[tuple[int, int]] = []
    queried = whole._queried
    monkeypatch.setattr(
        whole, "_queried", lambda part, wanted: sizes.append((part.height, len(wanted))) or queried(part, wanted)
    )
    monkeypatch.setattr(whole, "MOST_STEPS", 30)
    monkeypatch.setattr(whole, "STEPS_AT_ONCE", 1_200)
    monkeypatch.setattr(whole, "LEAST", 10)
    found = whole.totals(frame_of(df), tables)

    assert [int(x) for x in found] == [int(x) for x in batches.in_batches(frame_of(df), tables)]
    assert max(rows for rows, _ in sizes) < 90 and max(n for _, n in sizes) <= 30
    assert not whole.in_one_query(Tally(_chain(df, 200), (), None))


def _chain(df: Any, n: int) -> Any:
    for k in range(n):
        df = df[df["i"] > -k - 1]
    return df._rows


def moved(df: Any, c: float | None, low: float, high: float) -> Any:
    """A clipped column, moved by a constant; its own middle if none is given."""
    clipped = df["v"].clip(low, high)
    if c is None:
        return CentredColumn(clipped._rows, clipped._expr).deviation()
    return (clipped - c + 0.1 if c else clipped)._expr


@settings(max_examples=200, deadline=None)
@given(st.lists(NUMBERS, max_size=12), BOUNDS, st.none() | st.just(0.0) | st.floats(-1e6, 1e6))
@example([0.1, 5.0, 100.3, 100.29999999], [0.0, 100.3], None)
@example([0.1, 5.0, 100.3, 200.0], [0.1, 100.3], 0.0)
@example([1e6, -1e6], [1e-9, 2e-9], 1e6)
def test_clipping_once_gives_the_amounts_of_clipping_twice(
    values: list[float | None], bounds: list[float], c: float | None
) -> None:
    df = held(values, -1e6, 1e6)
    low, high = bounds
    expr = moved(df, c, low, high)
    held_values = [None if v is None else min(max(v, low), high) for v in values]
    middle = low / 2 + high / 2
    there = [v if v is None or c == 0 else v - middle if c is None else v - c + 0.1 for v in held_values]
    [found] = whole.totals(frame_of(df), [Tally(df._rows, (), expr)])

    assert int(found) == sum(amount(x, expr.domain) for x in there)


def test_a_clipped_column_is_clipped_once() -> None:
    df = held([1.0], 0.0, 200.0)
    for expr in (moved(df, 0.0, 0.0, 100.3), moved(df, None, 0.0, 100.3), moved(df, 3.3, 0.0, 100.3)):
        assert not bounds_on_grid(expr.domain) and clipped_once(expr) is not None
    assert clipped_once((df["v"].clip(0.0, 100.3) * 2)._expr) is None
    assert clipped_once(df["v"]._expr) is None
