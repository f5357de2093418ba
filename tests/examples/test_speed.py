"""bench/speed.py, on generated data and with one small tree."""

from __future__ import annotations

from pathlib import Path

import census
import manual
import pytest
import speed


def test_it_times_both_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = manual.load("loop")
    if module is None:
        pytest.skip(manual.MISSING)
    files = census.write_files(str(tmp_path), rows=3_000)
    row: speed.Row = {"first": [], "again": [], "loop": []}
    monkeypatch.setattr(speed, "DEPTH", 1)
    speed.one_round(files, module, 1.0, tmp_path, row)

    assert all(len(times) == 1 and times[0] > 0 for times in row.values())
    assert "| 1 | " in speed.page({1.0: row})
