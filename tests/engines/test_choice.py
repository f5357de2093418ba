"""Which engine holds a data set: the curator's word, or a rule by its size, which `dataset list` shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from privjail.catalogue.ingest import ingest
from privjail.curator import views
from privjail.curator.folder import JailFolder
from privjail.engines import choice
from privjail.engines.choice import choose, in_memory, stored_bytes
from privjail.engines.machine import of_machine
from privjail.ops.rows.source import Unit


GIB = 2**30


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Give the machine so much memory."""
    return lambda memory: monkeypatch.setattr(choice, "of_machine", lambda: memory)


@pytest.mark.parametrize(
    ("wanted", "size", "engine"),
    [
        (None, None, "polars"),  # not ingested: only Polars reads it
        (None, GIB, "polars"),
        (None, GIB + 1, "duckdb"),
        ("auto", 2 * GIB, "duckdb"),
        ("polars", 2 * GIB, "polars"),
        ("spark", 1, "spark"),
    ],
)
def test_what_leaves_room_in_memory_is_polars_and_larger_files_are_duckdbs(
    wanted: str | None, size: int | None, engine: str, machine: Callable[[int], None]
) -> None:
    pytest.importorskip("duckdb")
    machine(8 * GIB)
    assert choose(wanted, size) == engine


@pytest.mark.parametrize(
    ("memory", "most"),
    [
        (2 * GIB, GIB // 4),
        (8 * GIB, GIB),
        (int(7.7 * GIB), GIB),  # what a machine of 8 GiB says that it has
        (int(23.5 * GIB), 4 * GIB),
        (64 * GIB, 8 * GIB),
        (0, 1),
    ],
)
def test_the_same_data_is_held_in_memory_where_there_is_more_of_it(
    memory: int, most: int, machine: Callable[[int], None]
) -> None:
    pytest.importorskip("duckdb")
    machine(memory)
    assert (choose(None, most), choose(None, 2 * most)) == ("polars", "duckdb")


def test_the_machine_is_the_one_that_serves() -> None:
    assert of_machine() / 16 < in_memory() <= of_machine() * 3 / 16


def test_without_duckdb_everything_is_polars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice.importlib.util, "find_spec", lambda name: None)
    assert choose(None, 2 * in_memory()) == "polars"


def test_the_size_is_a_power_of_two_above_the_true_one() -> None:
    for rows in (0, 1, 999, 10**6, 10**9):
        size = stored_bytes(rows, 4)
        assert size > rows * 4 * choice.BYTES_PER_VALUE and size.bit_count() == 1
    assert stored_bytes(10**6, 4) == stored_bytes(10**6 + 1, 4)  # one row more or less is not seen


def test_the_list_of_data_sets_shows_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("duckdb")
    (tmp_path / "data.csv").write_text("age\n" + "30\n" * 500, encoding="utf-8")
    schema = {"age": {"type": "Int64", "range": [0, 120]}}
    ingest({"kind": "csv", "place": str(tmp_path / "data.csv")}, schema, Unit(), tmp_path / "held")
    folder = JailFolder.init(tmp_path / "jail", ["127.0.0.1"], "127.0.0.1:7443", None)
    folder.add_dataset("by-size", str(tmp_path / "held"), None, [1], "pure", (None, 1))
    folder.add_dataset(
        "by-word", str(tmp_path / "held"), None, [1], "pure", (None, 1), engine="polars", overlap_reason="a test"
    )

    def shown() -> dict[str, str]:
        return {each.name: each.engine for each in views.data_sets(folder.state)}

    try:
        assert shown() == {"by-size": "polars", "by-word": "polars"}
        monkeypatch.setattr(choice, "in_memory", lambda: 2**11)  # less than 500 rows of 8 bytes
        assert shown() == {"by-size": "duckdb", "by-word": "polars"}
    finally:
        folder.ledger.close()
