"""Ingest: what loading gives, in files; a batch at a time, and again after a stop."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from privjail.catalogue import ingest as ingesting
from privjail.catalogue.ingest import domains_of, ingest
from privjail.catalogue.load import enforce
from privjail.catalogue.origins import fetch
from privjail.catalogue.schema import read_schema
from privjail.engines.files import MANIFEST, HeldFiles, in_polars
from privjail.errors import SchemaError
from privjail.ops.rows.source import Dataset, Unit

SCHEMA = {
    "age": {"type": "Int64", "range": [0, 120]},
    "sex": {"type": "category", "categories": ["F", "M"]},
    "at": {"type": "datetime"},
}
UNITS = [Unit(), Unit("who", 2), Unit("who", None)]


def write_csv(path: Path, rows: int = 500) -> dict[str, Any]:
    pick = random.Random(rows)
    lines = ["who,age,sex,at,odd name'"]
    for _ in range(rows):
        who, age = pick.choice(["", *range(90)]), pick.choice(["", 3, 50, 200, "x"])
        lines.append(
            f"{who},{age},{pick.choice('FMX')},2020-01-0{pick.randint(1, 9)} 10:00,{pick.choice(['a', '', '7'])}"
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {"kind": "csv", "place": str(path)}


def loaded(origin: dict[str, Any], unit: Unit, folder: Path) -> tuple[pl.DataFrame, Any]:
    frame, domains = enforce(fetch(origin, folder), read_schema(SCHEMA), unit)
    assert isinstance(frame, pl.DataFrame)
    return frame, domains


def rows_in(files: HeldFiles, unit: Unit) -> pl.DataFrame:
    dataset = Dataset("x", "x", tuple(domains_of(files).items()), unit)
    found: pl.DataFrame = in_polars(files, dataset).lazy().collect()
    return found


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_files_hold_what_loading_gives(tmp_path: Path, kind: str, unit: Unit, monkeypatch: Any) -> None:
    monkeypatch.setattr(ingesting, "BATCH_ROWS", 64)  # owners have rows in several batches
    origin = write_csv(tmp_path / "a.csv")
    if kind == "parquet":
        pl.read_csv(tmp_path / "a.csv", infer_schema=False).write_parquet(tmp_path / "a.parquet", row_group_size=50)
        origin = {"kind": "parquet", "place": str(tmp_path / "a.parquet")}
    frame, domains = loaded(origin, unit, tmp_path)

    files = ingest(origin, SCHEMA, unit, tmp_path / "held", part_rows=100)

    assert rows_in(files, unit).equals(frame)
    assert domains_of(files) == domains
    assert HeldFiles.read(tmp_path / "held") == files
    positions = pl.concat([pl.read_parquet(path)["position"] for path in files.paths])
    assert positions.to_list() == list(range(frame.height))


def test_no_rows_are_a_data_set_too(tmp_path: Path) -> None:
    files = ingest(write_csv(tmp_path / "a.csv", 0), SCHEMA, Unit(), tmp_path / "held")
    assert files.rows == 0 and rows_in(files, Unit()).height == 0


@pytest.mark.parametrize("after", range(1, 5))
def test_an_ingest_that_was_stopped_goes_on(tmp_path: Path, after: int) -> None:
    origin, unit = write_csv(tmp_path / "a.csv"), Unit("who", 3)
    whole = ingest(origin, SCHEMA, unit, tmp_path / "whole", part_rows=50)
    written: list[int] = []

    def stop(rows: int) -> None:
        written.append(rows)
        if len(written) == after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(origin, SCHEMA, unit, tmp_path / "held", stop, part_rows=50)
    with pytest.raises(SchemaError):
        HeldFiles.read(tmp_path / "held")
    (tmp_path / "held" / f"part-{after:05d}.parquet.arriving").write_bytes(b"half")  # as a crash would leave it
    again: list[int] = []
    files = ingest(origin, SCHEMA, unit, tmp_path / "held", again.append, part_rows=50)

    assert files.digest == whole.digest
    assert len(again) == len(files.parts) - after  # complete parts were not written again
    files.verify(whole.digest)


def test_an_unfinished_ingest_of_other_data_is_refused(tmp_path: Path) -> None:
    origin = write_csv(tmp_path / "a.csv")

    def stop(rows: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(origin, SCHEMA, Unit(), tmp_path / "held", stop, part_rows=50)
    with pytest.raises(SchemaError, match="unfinished ingest of other data"):
        ingest(write_csv(tmp_path / "b.csv", 400), SCHEMA, Unit(), tmp_path / "held", part_rows=50)
    with pytest.raises(SchemaError, match="unfinished ingest of other data"):
        ingest(origin, SCHEMA, Unit("who", 1), tmp_path / "held", part_rows=50)


@pytest.mark.parametrize("spoil", ["byte", "swap", "missing", "manifest"])
def test_other_bytes_have_another_digest(tmp_path: Path, spoil: str) -> None:
    files = ingest(write_csv(tmp_path / "a.csv"), SCHEMA, Unit(), tmp_path / "held", part_rows=100)
    digest = files.digest
    first, second = files.paths[:2]
    match spoil:
        case "byte":
            body = bytearray(first.read_bytes())
            body[40] ^= 1
            first.write_bytes(bytes(body))
        case "swap":
            one, other = first.read_bytes(), second.read_bytes()
            first.write_bytes(other)
            second.write_bytes(one)
        case "missing":
            first.unlink()
        case "manifest":
            found = json.loads((tmp_path / "held" / MANIFEST).read_text())
            found["schema"]["age"]["range"] = [0, 10]
            (tmp_path / "held" / MANIFEST).write_text(json.dumps(found))
    with pytest.raises(SchemaError, match="their digest is another one"):
        HeldFiles.read(tmp_path / "held").verify(digest)


def test_a_manifest_names_no_files_elsewhere(tmp_path: Path) -> None:
    files = ingest(write_csv(tmp_path / "a.csv"), SCHEMA, Unit(), tmp_path / "held")
    found = files.manifest()
    found["parts"][0][0] = "../../etc/passwd"
    (tmp_path / "held" / MANIFEST).write_text(json.dumps(found))
    with pytest.raises(SchemaError, match="holds no data that was ingested"):
        HeldFiles.read(tmp_path / "held")
