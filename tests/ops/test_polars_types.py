"""Columns are found by just their names."""

from __future__ import annotations

import polars as pl
import pytest

from privjail.ops.polars_types import named, plain_zero

NAMES = ("*", "^a$", "^b", "c$", "a", "b", "c", "^.*$", "^$")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_no_pattern(name):
    """Polars takes ``*`` and ``^…$`` for patterns."""
    frame = pl.DataFrame({each: [i] for i, each in enumerate(NAMES)})
    assert frame.select(named(name)).to_dict(as_series=False) == {name: [NAMES.index(name)]}


def test_only_a_negative_zero_becomes_another_number():
    for numbers in ((-0.0,), (-0.0, 0.0, 1.5, -1.5, None, 5e-324)):
        (found,) = pl.DataFrame({"x": pl.Series(numbers, dtype=pl.Float64)}).select(plain_zero(pl.col("x")))
        assert [str(x) for x in found] == [str(x if x is None else x + 0.0) for x in numbers]
