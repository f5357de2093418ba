"""The real command, on real files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

DATA = """\
id,age,sex,admitted,weight,note,smoker
1,34,F,2024-01-03,70.5,fine,yes
2,?,M,2024-02-03,81,ill,no
3,130,F,2024-02-05,1e3,well,no
4,41,M,2024-03-01 12:30,66,other,yes
"""

SCHEMA = {
    "age": {"type": "Int64", "range": [0, 120], "na_value": "?"},
    "sex": {"type": "category", "categories": ["F"]},
    "admitted": {"type": "datetime", "range": ["2024-01-01", "2024-02-04"], "outside": "null"},
    "weight": {"type": "Float64", "range": [0, 300], "fill": 0.0},
    "note": {"type": "Int64", "fill": 7},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ward.csv").write_text(DATA, encoding="utf-8")
    (tmp_path / "ward.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    return tmp_path


def call(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "COLUMNS": "120", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, env=env)


def privjail(folder: Path, *args: str, code: str | None = None) -> subprocess.CompletedProcess[str]:
    return call(folder, sys.executable, *(["-m", "privjail.curator"] if code is None else ["-c", code]), *args)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("│")[1:-1]]


def test_a_draft_names_types_ranges_categories_and_marks(folder: Path) -> None:
    done = privjail(folder, "schema", "draft", "ward.csv")

    assert done.returncode == 0
    assert json.loads(done.stdout) == {
        "id": {"type": "Int64", "range": [1, 4]},
        "age": {"type": "Int64", "range": [34, 130], "na_value": "?"},
        "sex": {"type": "category", "categories": ["F", "M"]},
        "admitted": {"type": "datetime", "range": ["2024-01-03T00:00:00", "2024-03-01T12:30:00"]},
        "weight": {"type": "Float64", "range": [66.0, 1000.0]},
        "note": {"type": "string"},
        "smoker": {"type": "boolean"},
    }


def test_a_draft_warns_that_it_is_a_leak_and_keeps_the_warning_out_of_the_file(folder: Path) -> None:
    done = privjail(folder, "schema", "draft", "ward.csv")

    assert "They are a leak themselves" in done.stderr
    assert "leak" not in done.stdout


def test_a_toml_draft_says_the_same_and_carries_the_warning(folder: Path) -> None:
    done = privjail(folder, "schema", "draft", "ward.csv", "-o", "ward.toml")
    text = (folder / "ward.toml").read_text(encoding="utf-8")

    assert done.returncode == 0 and done.stdout == ""
    assert "leak" in text.splitlines()[1]
    assert tomllib.loads(text) == json.loads(privjail(folder, "schema", "draft", "ward.csv").stdout)


@pytest.mark.parametrize("ending", ["json", "toml"])
def test_a_draft_can_be_loaded_and_changes_nothing(folder: Path, ending: str) -> None:
    privjail(folder, "schema", "draft", "ward.csv", "-o", f"draft.{ending}")
    done = privjail(folder, "schema", "check", "ward.csv", f"draft.{ending}")

    assert done.returncode == 0, done.stderr
    rows = [cells(line) for line in done.stdout.splitlines() if line.startswith("│")]
    assert len(rows) == 7
    assert all(row[3:] == ["·"] * 3 for row in rows)


def test_a_parquet_file_is_drafted_by_its_types(folder: Path) -> None:
    import polars as pl

    frame = pl.DataFrame({"n": [1, 2, None], "t": [True, False, None], "x": [0.5, 1.0, 2.0]})
    frame.write_parquet(folder / "a.parquet")
    done = privjail(folder, "schema", "draft", "a.parquet")

    assert json.loads(done.stdout) == {
        "n": {"type": "Int64", "range": [1, 2]},
        "t": {"type": "boolean"},
        "x": {"type": "Float64", "range": [0.5, 2.0]},
    }


def test_a_file_is_never_overwritten_without_force(folder: Path) -> None:
    before = (folder / "ward.json").read_text(encoding="utf-8")

    refused = privjail(folder, "schema", "draft", "ward.csv", "-o", "ward.json")
    assert refused.returncode == 1
    assert "exists" in refused.stderr and "--force" in refused.stderr
    assert (folder / "ward.json").read_text(encoding="utf-8") == before

    forced = privjail(folder, "schema", "draft", "ward.csv", "-o", "ward.json", "--force")
    assert forced.returncode == 0
    assert (folder / "ward.json").read_text(encoding="utf-8") != before


def test_check_counts_what_the_schema_changes(folder: Path) -> None:
    done = privjail(folder, "schema", "check", "ward.csv", "ward.json")

    assert done.returncode == 0, done.stderr
    rows = {row[0]: row[2:] for row in map(cells, done.stdout.splitlines()) if len(row) == 6}
    #                      missing clipped made-missing filled
    assert rows["age"] == ["1", "1", "·", "·"]  # ? is missing, 130 is clipped
    assert rows["sex"] == ["·", "·", "2", "·"]  # M is no label
    assert rows["admitted"] == ["·", "·", "2", "·"]  # two dates after the range
    assert rows["weight"] == ["·", "1", "·", "·"]  # 1000 is clipped
    assert rows["note"] == ["·", "·", "4", "4"]  # no note is a number; all are filled
    assert rows["id"] == ["·", "·", "·", "·"]
    assert "id, note, smoker" in done.stdout.replace("\n", " ")  # without bounds or categories


def test_check_counts_rows_beyond_the_bound_of_a_unit(folder: Path) -> None:
    (folder / "visits.csv").write_text("who,x\na,1\na,2\na,3\nb,1\n,5\n", encoding="utf-8")
    (folder / "visits.json").write_text("{}", encoding="utf-8")
    done = privjail(folder, "schema", "check", "visits.csv", "visits.json", "--unit", "who", "--max-rows-per-unit", "2")

    assert "2 of 5 rows are dropped" in done.stdout


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("schema", "draft", "none.csv"), "there is no file 'none.csv'"),
        (("schema", "check", "ward.csv", "none.json"), "none.json"),
        (("schema", "check", "ward.csv", "ward.csv"), "not valid"),
        (("schema", "check", "ward.csv", "other.json"), "columns that the data lacks"),
        (("schema", "check", "ward.csv", "ward.json", "--unit", "nobody"), "nobody"),
        (("schema", "check", "ward.csv", "ward.json", "--max-rows-per-unit", "2"), "--unit"),
        (("schema", "draft", "ward.csv", "-o", "missing/folder.json"), "no such file or folder"),
        (("schema", "draft", "noise.parquet"), "cannot be read as Parquet"),
    ],
)
def test_mistakes_end_in_a_message_not_in_a_traceback(folder: Path, args: tuple[str, ...], words: str) -> None:
    (folder / "other.json").write_text('{"height": {"type": "Int64"}}', encoding="utf-8")
    (folder / "noise.parquet").write_bytes(b"not parquet")
    done = privjail(folder, *args)

    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_version_and_help(folder: Path) -> None:
    assert privjail(folder, "version").stdout.startswith("privjail 0.")
    shown = privjail(folder, "--help").stdout
    assert "schema" in shown and "version" in shown
    assert "reveals data" in privjail(folder, "schema", "draft", "--help").stdout
    assert privjail(folder, "nonsense").returncode == 2


@pytest.mark.parametrize("package", ["typer", "rich", "polars"])
def test_a_thin_install_says_what_to_install(folder: Path, package: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None\nfrom privjail.curator.__main__ import main; main()"
    done = privjail(folder, "schema", "draft", "ward.csv", code=code)

    assert done.returncode == 1
    assert "pip install 'privjail-dp[jail]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bug_is_not_mistaken_for_a_thin_install(folder: Path) -> None:
    code = "import sys; sys.modules['json'] = None\nfrom privjail.curator.__main__ import main; main()"

    assert "ModuleNotFoundError" in privjail(folder, "version", code=code).stderr


def test_parts_that_exist_are_mounted(folder: Path) -> None:
    import importlib.util

    shown = privjail(folder, "--help").stdout
    exists = importlib.util.find_spec("privjail.local") is not None
    assert ("local" in shown) == (exists and importlib.util.find_spec("privjail.local.cli") is not None)


def test_the_installed_command_is_this_one(folder: Path) -> None:
    script = Path(sys.executable).with_name("privjail")
    if not script.exists():
        pytest.skip("privjail is not installed as a command here")
    done = call(folder, str(script), "version")

    assert done.stdout.startswith("privjail 0.")
