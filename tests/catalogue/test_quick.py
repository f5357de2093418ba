"""Reading the common spelling first gives what the rule gives, whatever the texts are."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privjail.catalogue import load
from privjail.catalogue.quick import read_column
from privjail.catalogue.schema import read_schema

ODD = ["", " ", "?", "NaN", "nan", "inf", "-inf", "1e400", "-0.0", "3.0", "3.5", " 7 ", "+4", "007", "1_000", "0x1F",
       "99999999999999999999", "-9223372036854775808", "9223372036854775808", "1e3", "x",
       "2024-01-31", " 2024-01-31", "2024-02-30", "2024-01-31 12:30", "2024-01-31T12:30:01.5", "31.01.2024", "2024-1-3"]  # fmt: skip
TEXTS = st.lists(st.one_of(st.none(), st.sampled_from(ODD), st.integers(-300, 300).map(str)), max_size=12)
DECLARED: list[dict[str, Any]] = [
    {"type": "Int64"},
    {"type": "Int64", "range": [0, 120]},
    {"type": "Int64", "range": [0, 120], "outside": "null", "na_value": "?"},
    {"type": "Int64", "na_value": ["7", "99"], "fill": 3},
    {"type": "Float64", "range": [-5, 5], "na_value": ["NaN", "?"]},
    {"type": "Float64", "na_value": "3.0", "fill": 0.5},
    {"type": "datetime", "range": ["2020-01-01", "2024-01-31"]},
    {"type": "datetime", "na_value": "2024-01-31"},
    {"type": "boolean"},
    {"type": "string"},
    {"type": "category", "categories": ["x", "7"]},
]


@pytest.mark.parametrize("declared", DECLARED, ids=str)
@given(TEXTS)
def test_what_is_read_is_what_the_rule_gives(declared: dict[str, Any], texts: list[str | None]) -> None:
    column = pl.Series("v", texts, dtype=pl.String())
    schema = read_schema({"v": declared})["v"]
    ruled = column.to_frame().select(load._enforced(pl.col("v"), pl.String(), schema)).to_series()
    read = read_column(column, schema, load._enforced, load.MOMENTS)
    assert read.dtype == ruled.dtype
    assert repr(read.to_list()) == repr(ruled.to_list())  # which tells -0.0 from 0.0
