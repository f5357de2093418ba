"""Columns in pieces of rows, and values that are dropped after their last use: the same numbers in less memory (V-53)."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from privjail import pandas as pd
from privjail.catalogue import files
from privjail.engines.polars import batches, columns, long_tables
from privjail.engines.polars.engine import PolarsEngine
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.clip import Clip
from privjail.ops.numbers.combine import Add, Element, Offset
from privjail.ops.numbers.tally import Tally
from privjail.plan.expr import held_at_once, column_steps
from privjail.plan.node import Lit
from privjail.plan.value import Value, evaluation
from privjail.session import jail

ROWS = 1_000
SCHEMA = {"x": {"type": "Float64", "range": [0, 1]}, "n": {"type": "Int64", "range": [0, 9]}}


def table(path: Path, name: str = "rows") -> Any:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"x": rng.random(ROWS), "n": rng.integers(0, 10, ROWS)})
    frame.write_parquet(path / f"{name}.parquet")
    return pd.read_parquet(path / f"{name}.parquet", schema=SCHEMA)


def wide(x: Any, n: int) -> Any:
    """Parts of a column that are all needed at once, and divisions, which are computed from whole columns."""
    parts = [Clip(x, Lit.of(i / 50), Lit.of(1.0)) for i in range(n)]
    total = parts[0]
    for each in (*parts[1:], *parts):
        half = Arithmetic("/", Arithmetic("+", total, each), Clip(x, Lit.of(2.0), Lit.of(2.0)))
        total = Clip(half, Lit.of(0.0), Lit.of(1.0))
    return total


def test_the_number_of_columns_that_are_held_at_once_is_known() -> None:
    class Step:
        def __init__(self, *inputs: Any) -> None:
            self.inputs = inputs

    a, b = Step(), Step()
    c = Step(a, b)
    d = Step(c, a)
    assert held_at_once([a]) == 1  # type: ignore[list-item]
    assert held_at_once([a, b, c]) == 3  # type: ignore[list-item]
    assert held_at_once([a, b, c, d]) == 3  # type: ignore[list-item]
    chain = [a]
    for _ in range(100):
        chain.append(Step(chain[-1]))
    assert held_at_once(chain) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("on_disk", [False, True])
def test_pieces_of_rows_give_the_same_columns(tmp_path: Path, on_disk: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if on_disk:
        monkeypatch.setattr(files, "HELD_BYTES", 0)
    frame = table(tmp_path)
    moved = frame[frame["n"] > 1].iloc[1:-1].shift(2)["x"]
    back = frame.shift(-3)["x"]
    found = []
    for held in (columns.HELD, 8_000):
        monkeypatch.setattr(columns, "HELD", held)
        engine = PolarsEngine(frames=dict(jail().engine._frames))
        made = []
        for column in (frame["x"], moved, back):
            total = wide(column._expr, 20)
            assert len(columns.pieces(ROWS, held_at_once(column_steps(total), columns.width))) > (held == 8_000)
            made.append(engine._column(total).to_list())
        found.append(made)

    assert found[0] == found[1]
    assert any(None in made for made in found[0]) and all(len(set(made)) > 100 for made in found[0])


def test_a_piece_of_all_columns_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """V-53: counted rows of all columns that are alive, not measured bytes."""
    monkeypatch.setattr(columns, "HELD", 80_000)
    total = wide(table(tmp_path)["x"]._expr, 50)
    order = column_steps(total)
    most = held_at_once(order, columns.width)
    rows = [stop - start for start, stop in columns.pieces(ROWS, most)]

    assert most >= 50 * 8 and sum(rows) == ROWS
    assert max(rows) * most <= 80_000 and max(rows) - min(rows) <= 1


def test_many_tables_of_a_long_data_set_are_filled_in_several_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = table(tmp_path)
    values = [frame[frame["x"] > i / 40].groupby("n").size()._value for i in range(40)]
    assert all(isinstance(each, Tally) for each in values)
    short = PolarsEngine(frames=dict(jail().engine._frames)).evaluate_all(values)
    monkeypatch.setattr(columns, "LONG", 10)
    monkeypatch.setattr(long_tables, "ELEMENTS", 100)
    monkeypatch.setattr(columns, "HELD", 8_000)
    monkeypatch.setattr(batches, "HELD", 8_000)
    passes = []
    monkeypatch.setattr(
        long_tables, "fill", lambda frame, tables: passes.append(len(tables)) or batches.fill(frame, tables)
    )
    long = PolarsEngine(frames=dict(jail().engine._frames)).evaluate_all(values)

    assert long == short and max(passes) <= 10 and sum(passes) == 40


def test_a_group_that_is_kept_does_not_keep_the_others(tmp_path: Path) -> None:
    """The cache counts the rows of one group; a part of a larger array would hold all of it."""
    frame = table(tmp_path)
    engine = PolarsEngine(frames=dict(jail().engine._frames))
    index = engine._index(frame[frame["n"] == 3].sort_values("x")._rows.parent)

    assert index is not None and 50 < len(index) < 200 and index.base is None


def test_values_are_dropped_after_their_last_use(tmp_path: Path) -> None:
    counts = table(tmp_path).groupby("n").size()._value
    moved: Value = counts
    for i in range(6):
        moved = Offset(moved, Fraction(i + 1))
    both = Add(moved, counts)
    steps = evaluation(Element(both, 3))

    assert [node for node, _ in steps][0] is counts and len(steps) == 9
    held = most = 0
    for _, used in steps:
        held += 1
        most = max(most, held)
        held -= len(used)
    assert most == 3 and held == 1
    exact = jail().engine.evaluate_all([counts, Element(both, 3)])
    assert exact[1] == 2 * exact[0][3] + 21
