"""Files that are not what they seem are noticed; folders and databases can be drafted, too."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess

import polars as pl
import pytest

from privjail.catalogue.origins import csv_remarks
from privjail.curator.given import schema_dict
from privjail.curator.schema_draft import draft, read_any
from privjail.errors import SchemaError
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


def test_a_broken_parquet_file_is_one_message(tmp_path):
    """Red before: the command showed a traceback."""
    for content in (b"zoe", b"PAR1zoePAR1"):
        (tmp_path / "x.parquet").write_bytes(content)
        done = subprocess.run([*PRIVJAIL, "ingest", str(tmp_path / "x.parquet"), str(tmp_path / "held"), "--unit", "row"],
                              capture_output=True, text=True, env=ENV)  # fmt: skip
        assert done.returncode == 1 and done.stderr == "privjail: error: 'x.parquet' cannot be read as Parquet\n"


@pytest.mark.parametrize(("content", "said"), [
    ('{"age": {"type": "Int64", "range": [0, 120]}, "age": {"type": "string"}}', "'age' stands twice"),
    ('{"age": {"type": "Int64", "range": [0, ' + "9" * 5000 + "]}}", "not valid JSON"),
    ("[" * 100_000, "not valid JSON"),
])  # fmt: skip
def test_schemas_that_json_takes_and_nobody_means_are_refused(tmp_path, content, said):
    """Red before: of two entries the first was dropped; a traceback for thousands of digits."""
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(SchemaError, match=said):
        schema_dict(tmp_path / "x.json")


def test_bytes_that_are_no_text_are_spelled_out(tmp_path):
    """Red before: where the terminal takes UTF-8 only, the command was a traceback, and the log for ever after."""
    odd = b"caf\xe9"

    def run(*args):
        done = subprocess.run([*PRIVJAIL, *args], cwd=tmp_path, capture_output=True,
                              env={**ENV, "PYTHONIOENCODING": "utf-8:strict"})  # fmt: skip
        assert b"Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")

    (tmp_path / "a.csv").write_text("age\n1\n")
    (tmp_path / os.fsdecode(odd + b".csv")).write_text("age\n2\n")
    assert run("init", odd, "--host", "127.0.0.1")[0] == 0
    jail = (b"--jail", odd)
    assert run("dataset", "add", "d", "a.csv", "--budget", "1", "--unit", "row", *jail)[0] == 0
    assert run("freeze", "d", "--reason", odd, *jail)[0] == 0
    assert json.loads(run("log", "--json", "-n", "1", *jail)[1])[0]["reason"] == os.fsdecode(odd)
    for form in ("lines", "csv", "syslog"):
        assert "caf\\udce9" in run("log", "--format", form, *jail)[1]
    code, _, said = run("dataset", "update", "d", odd + b".csv", *jail)
    assert code == 1 and "is no text in UTF-8" in said and "rename the file" in said


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
