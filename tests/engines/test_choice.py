"""Which engine holds a data set: the curator's word, or a rule by its size, which `dataset list` shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from privjail.catalogue.ingest import ingest
from privjail.curator import views
from privjail.curator.folder import JailFolder
from privjail.engines import choice
from privjail.engines.choice import IN_MEMORY, choose, stored_bytes
from privjail.ops.rows.source import Unit


@pytest.mark.parametrize(
    ("wanted", "size", "engine"),
    [
        (None, None, "polars"),  # not ingested: only Polars reads it
        (None, IN_MEMORY, "polars"),
        (None, IN_MEMORY + 1, "duckdb"),
        ("auto", 2 * IN_MEMORY, "duckdb"),
        ("polars", 2 * IN_MEMORY, "polars"),
        ("spark", 1, "spark"),
    ],
)
def test_what_fits_into_memory_is_polars_and_larger_files_are_duckdbs(
    wanted: str | None, size: int | None, engine: str
) -> None:
    pytest.importorskip("duckdb")
    assert choose(wanted, size) == engine


def test_without_duckdb_everything_is_polars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice.importlib.util, "find_spec", lambda name: None)
    assert choose(None, 2 * IN_MEMORY) == "polars"


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
    folder.add_dataset("by-word", str(tmp_path / "held"), None, [1], "pure", (None, 1), engine="polars")

    def shown() -> dict[str, str]:
        return {each.name: each.engine for each in views.data_sets(folder.state)}

    try:
        assert shown() == {"by-size": "polars", "by-word": "polars"}
        monkeypatch.setattr(choice, "IN_MEMORY", 2**11)  # less than 500 rows of 8 bytes
        assert shown() == {"by-size": "duckdb", "by-word": "polars"}
    finally:
        folder.ledger.close()
