"""A large CSV file is copied into the jail's folder once; a start reads the copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from privjail.catalogue import held_copy as copies
from privjail.curator.folder import JailFolder
from privjail.errors import SchemaError
from privjail.server.catalogue import Catalogue

SCHEMA = {"age": {"type": "Int64", "range": [0, 120]}, "sex": {"type": "category", "categories": ["F", "M"]}}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: Any) -> JailFolder:
    monkeypatch.setattr(copies, "LARGE", 100)
    lines = [f"{i % 7},{i % 150},{'FMX'[i % 3]}" for i in range(1000)]
    (tmp_path / "people.csv").write_text("who,age,sex\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return JailFolder.init(tmp_path / "jail", ["localhost"], "localhost:1", None)


def added(folder: JailFolder, name: str = "people", unit: tuple[str | None, int | None] = ("who", 100)) -> None:
    folder.add_dataset(name, str(folder.path.parent / "people.csv"), SCHEMA, [1], "pure", unit, overlap_reason="a test")
    if "ann" not in folder.state.users:
        folder.add_user("ann", 1)
    folder.grant("ann", name, [1], False, None)


def rows(folder: JailFolder, name: str = "people") -> pl.DataFrame:
    catalogue = Catalogue(folder.ledger, folder.path)
    frame = catalogue.frames[catalogue.source(name, "ann")]
    assert isinstance(frame, pl.DataFrame)
    return frame


def copied(folder: JailFolder) -> list[Path]:
    return sorted(path for path in (folder.path / copies.FOLDER).glob("*") if path.is_dir())


def test_the_copy_holds_what_the_file_gives(folder: JailFolder, monkeypatch: Any) -> None:
    added(folder)
    assert len(copied(folder)) == 1 and copied(folder)[0].parent.stat().st_mode & 0o777 == 0o700
    found = rows(folder)
    monkeypatch.setattr(copies, "LARGE", 10**9)
    assert found.equals(rows(folder)) and found.height == 700


def test_a_start_reads_the_copy_and_not_the_file(folder: JailFolder, monkeypatch: Any) -> None:
    added(folder)
    monkeypatch.setattr("privjail.catalogue.ingest.batches_of", None)  # whoever reads the file again fails
    assert rows(folder).height == 700


def test_a_damaged_copy_is_made_again(folder: JailFolder) -> None:
    added(folder)
    part = next(copied(folder)[0].glob("*.parquet"))
    good = part.read_bytes()
    part.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    assert rows(folder).height == 700
    assert part.read_bytes() == good


def test_a_changed_file_is_noticed_although_there_is_a_copy(folder: JailFolder) -> None:
    added(folder)
    with (folder.path.parent / "people.csv").open("a", encoding="utf-8") as file:
        file.write("1,2,F\n")
    with pytest.raises(SchemaError, match="has changed since it was added"):
        rows(folder)


def test_another_schema_or_unit_has_a_copy_of_its_own(folder: JailFolder) -> None:
    added(folder)
    added(folder, "again", ("who", 50))
    assert len(copied(folder)) == 2
    assert rows(folder, "again").height == 350


def test_the_copy_goes_with_the_data_set(folder: JailFolder) -> None:
    added(folder)
    added(folder, "twin")
    folder.remove_dataset("people")
    assert len(copied(folder)) == 1, "the twin is still open"
    folder.remove_dataset("twin")
    assert copied(folder) == []


def test_each_copy_goes_with_the_last_data_set_that_it_was_made_for(folder: JailFolder) -> None:
    added(folder)
    added(folder, "again", ("who", 50))
    folder.remove_dataset("people")
    assert len(copied(folder)) == 1
    folder.remove_dataset("again")
    assert copied(folder) == []


def test_a_file_that_changes_while_it_is_read_is_not_copied(folder: JailFolder, monkeypatch: Any) -> None:
    from privjail.catalogue import ingest

    file, real = folder.path.parent / "people.csv", ingest._write

    def changes(*given: Any) -> Any:
        file.write_text(file.read_text(encoding="utf-8") + "1,2,F\n", encoding="utf-8")
        return real(*given)

    monkeypatch.setattr(ingest, "_write", changes)
    with pytest.raises(SchemaError, match="changed while it was read"):
        added(folder)
    assert copied(folder) == [] and "people" not in folder.state.datasets


def test_a_copy_that_was_broken_off_is_finished(folder: JailFolder, monkeypatch: Any) -> None:
    from privjail.catalogue import ingest

    def stop(*given: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(ingest, "_durably", stop)
        added(folder)
    assert copied(folder) and "people" not in folder.state.datasets
    added(folder)
    assert rows(folder).height == 700
