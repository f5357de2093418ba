"""What Spark's planner is told, so that long statements do not take minutes or fill its memory."""

from __future__ import annotations

from typing import Any

import pytest

from privjail.engines.sql.spark import PLANNING, SETTINGS, SparkStore
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
@pytest.mark.parametrize("name", [*SETTINGS, *PLANNING])
def test_settings_are_in_force_in_the_session(name: str, store: SparkStore) -> None:
    assert [tuple(row) for row in store.run(f"SET {name}")] == [(name, (SETTINGS | PLANNING)[name])]


class AnalysisException(Exception):  # noqa: N818
    """As Spark's own."""


class Choosy:
    """A session of a server that takes some settings only."""

    def __init__(self, error: Exception, *refused: str) -> None:
        self.error, self.refused, self.taken = error, refused, dict[str, str]()
        self.client = self.conf = self

    def set_retry_policies(self, policies: Any) -> None:
        pass

    def set(self, name: str, value: str) -> None:
        if name in self.refused:
            raise self.error
        self.taken[name] = value


WORDS = "[CONFIG_NOT_AVAILABLE] Configuration is not available. SQLSTATE: 42K0I"
NOT_AVAILABLE = AnalysisException(WORDS)


def opened(session: Choosy, monkeypatch: pytest.MonkeyPatch) -> Choosy:
    module = pytest.importorskip("pyspark.sql.connect.session")
    monkeypatch.setattr(module, "SparkSession", lambda url: session)
    found: Choosy = SparkStore("sc://nowhere")._open()
    return found


def test_a_server_may_refuse_what_only_makes_it_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Databricks takes few settings where the customer has no servers of her own."""
    for error in (NOT_AVAILABLE, RuntimeError(WORDS)):
        assert opened(Choosy(error, *PLANNING), monkeypatch).taken == SETTINGS
    assert opened(Choosy(NOT_AVAILABLE), monkeypatch).taken == SETTINGS | PLANNING


def test_a_server_may_not_refuse_what_answers_rest_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SETTINGS:
        with pytest.raises(AnalysisException):
            opened(Choosy(NOT_AVAILABLE, name), monkeypatch)


def test_a_server_that_is_lost_meanwhile_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PLANNING:
        with pytest.raises(ConnectionError):
            opened(Choosy(ConnectionError(), name), monkeypatch)


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
