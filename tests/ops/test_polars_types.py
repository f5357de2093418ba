"""Columns are found by just their names."""

from __future__ import annotations

import polars as pl
import pytest

from privjail.ops.polars_types import named

NAMES = ("*", "^a$", "^b", "c$", "a", "b", "c", "^.*$", "^$")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_no_pattern(name):
    """Polars takes ``*`` and ``^…$`` for patterns."""
    frame = pl.DataFrame({each: [i] for i, each in enumerate(NAMES)})
    assert frame.select(named(name)).to_dict(as_series=False) == {name: [NAMES.index(name)]}
