"""bench/speed.py, on generated data and with one small tree."""

from __future__ import annotations

from pathlib import Path

import census
import manual
import pytest
import speed
import tables


def test_it_times_both_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = manual.load("loop")
    if module is None:
        pytest.skip(manual.MISSING)
    files = census.write_files(str(tmp_path), rows=3_000)
    row: speed.Row = {"first": [], "again": [], "loop": []}
    monkeypatch.setattr(speed, "DEPTH", 1)
    speed.one_round(files, module, 1.0, tmp_path, row)

    assert all(len(times) == 1 and times[0] > 0 for times in row.values())
    assert "| 1 | " in speed.text({1.0: row})


def test_the_queries_on_long_tables_run_and_agree_with_polars():
    frame = tables.people(3_000)
    df = tables.pd.from_frame(frame, "people", tables.SCHEMA)
    for ours, raw in tables.queries(df, frame.lazy()).values():
        ours(0.0)
        assert raw(0.0).height
    counts = df.groupby("job").size().reveal(eps=10**6)
    expected = dict(frame.group_by("job").len().iter_rows())
    assert {k: round(v) for k, v in counts.items()} == expected
