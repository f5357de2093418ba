"""What Spark's planner is told, so that long statements do not take minutes or fill its memory."""

from __future__ import annotations

import pytest

from privjail.engines.sql.spark import SETTINGS, SparkStore
from tests.engines.test_kept_tables import TABLE
from tests.ops.checking import frame
from tests.ops.worlds import SQUARE


@pytest.fixture
def store(spark: str) -> SparkStore:
    found = SparkStore(spark, seconds=300)
    found.hold(SQUARE.source, frame(SQUARE.source, TABLE))
    return found


@pytest.mark.slow
def test_the_planner_does_not_compute_rows_that_the_jail_sent(store: SparkStore) -> None:
    ((plan,),) = store.run(f"EXPLAIN SELECT c0 + 1 AS x FROM {store.stored[SQUARE.source].relation}")

    assert "Project" in plan and "LocalTableScan" in plan


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_settings_are_in_force_in_the_session(name: str, store: SparkStore) -> None:
    assert [tuple(row) for row in store.run(f"SET {name}")] == [(name, SETTINGS[name])]
