"""Tables that are shared between the groups of a partition: the right place, the right data."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from privjail.engines.polars.columns import place_of
from privjail.engines.polars.engine import PolarsEngine
from privjail.ops.columns.compare import Compare
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.source import Column, Dataset, Source, Unit
from privjail.ops.numbers.tally import Tally
from privjail.plan.domain import IntDomain
from privjail.plan.node import Lit


def test_a_data_set_that_is_opened_again_is_counted_anew() -> None:
    source = Source(Dataset("reopened", "reopened", (("k", IntDomain(False, 0, 9)),), Unit()))
    twos = Tally(Filter(source, Compare("==", Column(source, "k"), Lit.of(2))), (), None)
    engine = PolarsEngine()
    for rows in ([2, 2, 5], [5, 5], [2]):
        engine.hold(source, pl.DataFrame({"k": pl.Series(rows, dtype=pl.Int64)}))
        assert engine.evaluate(twos) == rows.count(2)


def test_groups_of_one_key_in_two_tables_are_counted_each_in_its_own() -> None:
    columns = (("k", IntDomain(False, 0, 9)), ("side", IntDomain(False, 0, 1)))
    source = Source(Dataset("two sides", "two sides", columns, Unit()))
    key, side = Column(source, "k"), Column(source, "side")
    halves = [Filter(source, Compare("==", side, Lit.of(n))) for n in (0, 1)]
    engine = PolarsEngine()
    rng = np.random.default_rng(3)
    data = {"k": rng.integers(0, 10, 500), "side": rng.integers(0, 2, 500)}
    engine.hold(source, pl.DataFrame(data))
    for _ in range(2):
        for n, half in enumerate(halves):
            for k in range(3):
                found = engine.evaluate(Tally(Filter(half, Compare("==", key, Lit.of(k))), (), None))
                assert found == int(((data["k"] == k) & (data["side"] == n)).sum())


@pytest.mark.parametrize("lengths", [(200, 300), (70_000, 30_000), (3, 40_000, 60_000), (2**31 - 1,)])
def test_places_are_exact_and_missing_keys_have_none(lengths: tuple[int, ...]) -> None:
    """Products on both sides of 2**15 and 2**31; a missing key is numbered behind the labels."""
    rng = np.random.default_rng(sum(lengths))
    keys: Any = tuple(SimpleNamespace(domain=SimpleNamespace(labels=range(n), nullable=True)) for n in lengths)
    codes = [rng.integers(max(0, n - 5), n + 1, 400).astype(np.int32 if n < 2**31 - 1 else np.int64) for n in lengths]
    size = int(np.prod([int(n) for n in lengths], dtype=object))

    found = place_of(codes, keys)

    assert found is not None
    for place, row in zip(found.tolist(), zip(*(c.tolist() for c in codes), strict=True), strict=True):
        exact = 0
        for code, n in zip(row, lengths, strict=True):
            exact = exact * n + code
        assert place == (size if any(c >= n for c, n in zip(row, lengths, strict=True)) else exact)
