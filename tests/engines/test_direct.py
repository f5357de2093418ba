"""Rows with the same key: direct addressing and hash tables give the same, and what a list gives."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privjail.ops import direct
from privjail.ops.direct import find_rows, first_rows

FAR = (0, 1, 2**62, -(2**63), 2**63 - 1)
KEYS = {
    "close": (pl.Int64(), st.integers(-3, 4)),
    "codes": (pl.Int32(), st.integers(0, 2)),
    "far": (pl.Int64(), st.sampled_from(FAR)),
    "text": (pl.String(), st.sampled_from(("", "a", "b"))),
}


def series(values: list[object], dtype: pl.DataType) -> pl.Series:
    return pl.Series("k", values, dtype=dtype)


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("least", [0, 1 << 16])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_first_rows(kind: str, least: int, data: st.DataObject) -> None:
    dtype, some = KEYS[kind]
    keys = data.draw(st.lists(some, max_size=8))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(direct, "LEAST", least)
        assert list(first_rows(series(keys, dtype))) == [keys.index(key) for key in keys]


@pytest.mark.parametrize("kind", KEYS)
@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_find_rows(kind: str, data: st.DataObject) -> None:
    """Missing keys are found nowhere, on either side."""
    dtype, some = KEYS[kind]
    keys, wanted = (data.draw(st.lists(st.none() | some, max_size=8)) for _ in range(2))
    found = find_rows(series(wanted, dtype), series(keys, dtype))
    expected = [keys.index(key) if key is not None and key in keys else -1 for key in wanted]

    assert (found is None and kind in ("far", "text")) or list(found) == expected


def test_numbers_that_lie_close_together_are_addressed_directly() -> None:
    assert find_rows(series([5, 9], pl.Int64()), series([9, 7], pl.Int64())).tolist() == [-1, 0]
    assert find_rows(series([5], pl.Int64()), series([0, 2**40], pl.Int64())) is None
