"""What Spark's planner is told, so that long statements do not take minutes or fill its memory."""

from __future__ import annotations

import pytest

from privjail.engines.sql.spark import SETTINGS, SparkStore
from privjail.errors import EngineFailed
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


class Refusing:
    """A session whose server answers every statement with the same words."""

    def __init__(self, words: str) -> None:
        self.words, self.asked = words, 0

    def addTag(self, tag: str) -> None:  # noqa: N802
        pass

    def removeTag(self, tag: str) -> None:  # noqa: N802
        pass

    def sql(self, statement: str) -> None:
        self.asked += 1
        raise RuntimeError(self.words)


@pytest.mark.parametrize(
    ("words", "once"), [("Error during planning: no such order", True), ("connection reset", False)]
)
def test_what_sails_planner_refuses_is_not_asked_again(words: str, once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    session, store = Refusing(words), SparkStore("sc://nowhere", seconds=2)
    monkeypatch.setattr(store, "_open", lambda: session)

    with pytest.raises(EngineFailed):
        store.run("SELECT 1")

    assert (session.asked == 1) == once
