"""Files that are not what they seem are noticed; folders and databases can be drafted, too."""

from __future__ import annotations

import json
import sqlite3
import subprocess

import polars as pl
import pytest

from privjail.catalogue.origins import csv_remarks
from privjail.curator.schema_draft import draft, read_any
from tests.server.jails import ENV, PRIVJAIL


@pytest.mark.parametrize(("content", "said"), [
    (b"name;age\nzoe;3\n", "semicolons"), (b"name\tage\n", "tabs"), (b"name,age\nzo\xe9,3\n", "not UTF-8"),
    ("name,age\nzoé,3\n".encode(), None), (b"name\nzoe\n", None), (b"a;b,c\n", None), (b"", None),
])  # fmt: skip
def test_odd_files_are_noticed(tmp_path, content, said):
    (tmp_path / "x.csv").write_bytes(content)
    found = csv_remarks(tmp_path / "x.csv")
    assert (found == []) if said is None else (len(found) == 1 and said in found[0] and "zoe" not in found[0])


def test_a_letter_that_the_first_part_cuts_in_two_is_no_fault(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"a\n" + b"x" * (2**20 - 3) + "é".encode() * 3)
    assert csv_remarks(tmp_path / "x.csv") == []


def test_folders_and_databases_are_drafted(tmp_path):
    (tmp_path / "parts").mkdir()
    for i in range(2):
        pl.DataFrame({"age": [i, 40 + i]}).write_parquet(tmp_path / "parts" / f"{i}.parquet")
    db = sqlite3.connect(tmp_path / "x.db")
    db.execute("CREATE TABLE people (age INT)")
    db.execute("INSERT INTO people VALUES (7)")
    db.commit()
    db.close()
    frame, odd = read_any(str(tmp_path / "parts"))
    assert draft(frame) == {"age": {"type": "Int64", "range": [0, 41]}} and odd == []
    frame, odd = read_any(str(tmp_path / "x.db"), query="SELECT age FROM people")
    assert draft(frame) == {"age": {"type": "Int64", "range": [7, 7]}} and "ORDER BY" in odd[0]


def test_the_command_drafts_and_warns(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"name;age\nzoe;3\n")
    done = subprocess.run(
        [*PRIVJAIL, "schema", "draft", str(tmp_path / "x.csv")], capture_output=True, text=True, env=ENV
    )
    assert done.returncode == 0 and list(json.loads(done.stdout)) == ["name;age"] and "semicolons" in done.stderr
