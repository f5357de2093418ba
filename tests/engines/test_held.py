"""The held form: what loading gives keeps it, what does not keep it is refused, and any engine can read it."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow
import pyarrow.parquet
import pytest

from privjail.catalogue.load import enforce
from privjail.catalogue.schema import read_schema
from privjail.engines.held import ARROW_TYPES, arrow_types, check_held, columns_of
from privjail.engines.polars.disk import OnDisk
from privjail.engines.polars.engine import PolarsEngine
from privjail.ops.polars_types import dtype_of
from privjail.engines.reference import ReferenceEngine
from privjail.errors import SchemaError
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.source import Column, Dataset, Source, Unit
from privjail.plan.domain import (
    BoolDomain,
    CategoryDomain,
    FloatDomain,
    IntDomain,
    TextDomain,
    TimeDomain,
    UntypedDomain,
)

SCHEMA = {
    "n": {"type": "Int64", "range": [0, 9]},
    "x": {"type": "Float64", "range": [-1, 1]},
    "b": {"type": "boolean"},
    "c": {"type": "category", "categories": ["u", "v"]},
    "t": {"type": "datetime", "range": ["1960-01-01", "2030-01-01"]},
    "s": {"type": "string"},
}
MESSY = {
    "n": ["3", "12", "-4", "2.5", None, "7"],
    "x": [0.25, math.nan, math.inf, -7.0, None, -0.0],
    "b": ["yes", "no", "maybe", None, "1", "0"],
    "c": ["v", "u", "w", None, " u ", "v"],
    "t": ["1969-12-31 23:59:59.999999", "2031-01-01", "never", None, "2000-02-29", "1970-01-01"],
    "s": ["a", "", None, "ß", "漢字", "z"],
    "undeclared": [1, 2, 3, None, 5, 6],
    "who": ["a", "a", "b", "a", None, "b"],
}


def loaded(rows: Any, unit: Unit) -> tuple[Dataset, Any]:
    held, domains = enforce(rows, read_schema(SCHEMA), unit)
    return Dataset("held", "held", tuple(domains.items()), unit), held


@pytest.mark.parametrize("unit", [Unit(), Unit("who", None), Unit("who", 2)])
def test_loading_gives_the_held_form(unit: Unit) -> None:
    """V-10, V-16: whatever the file holds."""
    dataset, held = loaded(pl.DataFrame(MESSY), unit)

    check_held(dataset, held)
    found = columns_of(held)
    assert found["c"][:2] == [1, 0] and found["t"][0] == -1  # positions, and microseconds
    assert held.height == (6 if unit.column is None else 5 - (unit.most_rows == 2))


def test_rows_on_disk_are_the_same_stream(tmp_path: Path) -> None:
    """In order, over several files and batches: the n-th row is the row at position n."""
    frame = pl.concat([pl.DataFrame(MESSY)] * 50).with_columns(i=pl.int_range(300, dtype=pl.Int64()))
    for k in range(3):
        pyarrow.parquet.write_table(
            frame[100 * k : 100 * (k + 1)].to_arrow(), tmp_path / f"{k}.parquet", row_group_size=30
        )
    dataset, held = loaded(frame, Unit())
    _, left = loaded(OnDisk.of(sorted(tmp_path.glob("*.parquet"))), Unit())

    assert isinstance(left, OnDisk)
    check_held(dataset, left)
    assert columns_of(left) == columns_of(held)
    assert columns_of(left)["i"] == list(range(300))


X = pl.Series([0.5, -1.0], dtype=pl.Float64())
BROKEN: list[tuple[str, dict[str, Any]]] = [
    ("outside of its domain", {"x": [0.5, math.nan]}),
    ("outside of its domain", {"x": [0.5, math.inf]}),
    ("outside of its domain", {"x": [0.5, 1.5]}),
    ("outside of its domain", {"x": [0.5, None]}),
    ("outside of its domain", {"c": pl.Series([0, 2], dtype=pl.Int32())}),
    ("outside of its domain", {"c": pl.Series([0, -1], dtype=pl.Int32())}),
    ("is held as", {"c": [0, 1]}),
    ("is held as", {"c": ["u", "v"]}),
    ("is held as", {"t": pl.Series([datetime.datetime(2000, 1, 1)] * 2, dtype=pl.Datetime("ns"))}),
    ("columns", {"more": [1, 2]}),
    ("owner", {"who": ["a", "a"]}),
    ("owner", {"who": pl.Series([None, "a"], dtype=pl.String())}),
]


def right() -> tuple[Dataset, dict[str, Any]]:
    columns = (
        ("x", FloatDomain(False, -1.0, 1.0)), ("c", CategoryDomain(True, ("u", "v"))), ("t", TimeDomain(True)),
        ("who", TextDomain(True)),
    )  # fmt: skip
    moments = pl.Series([datetime.datetime(2000, 1, 1), None], dtype=pl.Datetime("us"))
    data = {"x": X, "c": pl.Series([0, None], dtype=pl.Int32()), "t": moments, "who": ["a", "b"]}
    return Dataset("right", "right", columns, Unit("who", 1)), data


@pytest.mark.parametrize(("words", "change"), BROKEN)
def test_what_is_not_in_the_held_form_is_refused(words: str, change: dict[str, Any]) -> None:
    dataset, data = right()
    check_held(dataset, pl.DataFrame(data))

    with pytest.raises(SchemaError, match=words):
        check_held(dataset, pl.DataFrame(data | change))
    if words in ("is held as", "columns"):
        with pytest.raises(TypeError, match="held form"):
            PolarsEngine().hold(Source(dataset), pl.DataFrame(data | change))


@pytest.mark.parametrize("made", [PolarsEngine, ReferenceEngine])
def test_an_engine_takes_any_arrow_stream(made: Any) -> None:
    """Not a Polars frame, and counted all the same: whoever writes the held form needs no loader of ours."""
    dataset, data = right()
    source = Source(dataset)
    engine = made()
    engine.hold(source, pyarrow.table(pl.DataFrame(data)))

    assert engine.evaluate(Tally(source, (Column(source, "c"),), None)) == [1, 0]
    total = Tally(source, (), Column(source, "x"))
    assert engine.evaluate(total) * total.grid == -0.5
    assert engine.table(source, {"t": Column(source, "t")}) == {"t": [946684800000000, None]}


def test_the_stated_layout_is_that_of_polars() -> None:
    domains = [IntDomain(), FloatDomain(), BoolDomain(), CategoryDomain(), TextDomain(), UntypedDomain(), TimeDomain()]
    assert {type(d) for d in domains} >= set(ARROW_TYPES)
    for domain in domains:
        column = pl.DataFrame({"x": pl.Series([], dtype=dtype_of(domain))}).to_arrow().column("x")
        assert str(column.type) in arrow_types(domain)
