"""`--json` of every command fits the published schema; every command says what is wrong in one form; help lists them all."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from pathlib import Path

import polars as pl
import pytest

from privjail.curator import house_rules
from privjail.curator.cli import root
from tests.server.jails import SCHEMA, make_jail

jsonschema = pytest.importorskip("jsonschema")
DEFINITIONS = json.loads((Path(__file__).parents[2] / "docs" / "cli-json.schema.json").read_text())
#: Commands that serve until they are stopped, run another program, or belong to other parts with files of their own.
OTHERS = re.compile(r"(serve|console|rehearse|audit|conformance|certify|check|local .*|encrypted .*)")


def names():
    return [path for path in root.commands() if not OTHERS.fullmatch(path)]


@pytest.fixture
def privjail(tmp_path, monkeypatch, capsys):
    """Runs a command in this process, as the installed program does: (exit code, output, errors)."""
    monkeypatch.chdir(tmp_path)

    def run(*args):
        monkeypatch.setattr(sys, "argv", ["privjail", *args])
        with pytest.raises(SystemExit) as ended:
            root.run()
        shown = capsys.readouterr()
        return ended.value.code or 0, shown.out, shown.err

    return run


def fits(command, value):
    jsonschema.validate(value, {**DEFINITIONS, "$ref": "#/$defs/" + command.replace(" ", "%20")})


RUNS = [
    ("version", []), ("help", []), ("init", ["other", "--port", "7001"]),
    ("schema draft", ["census.csv"]), ("schema draft", ["census.csv", "-o", "draft.json"]),
    ("schema draft", ["rows.sqlite", "--table", "people"]), ("schema draft", ["parts"]), ("schema check", ["census.csv", "schema.json"]),
    ("ingest", ["census.csv", "held", "--unit", "row", "--schema", "schema.json"]),
    ("dataset add", ["more", "census.csv", "--schema", "schema.json", "--budget", "1", "--unit", "row"]),
    ("dataset add", ["pairs", "rows.sqlite", "--table", "people", "--budget", "1,1e-6", "--notion", "approx", "--unit", "row"]),
    ("population add", ["people", "--budget", "1", "--notion", "zcdp"]), ("dataset list", []), ("dataset remove", ["more"]),
    ("user add", ["bob"]), ("user file", ["bob", "laptop"]), ("user list", []), ("user file", ["bob", "laptop", "--end"]),
    ("user pardon", ["bob", "--reason", "seen"]), ("group add", ["team", "ann", "bob"]), ("group list", []),
    ("grant", ["bob", "census", "--budget", "1/3"]), ("grant", ["team", "pairs", "--group", "--budget", "0.1,1e-7"]),
    ("budget", []), ("budget", ["census", "--raise", "2000", "--reason", "more"]),
    ("limit", ["census", "--per-day", "1/3", "--requests-per-hour", "9"]), ("limit", ["census"]),
    ("freeze", ["census", "--reason", "x"]), ("unfreeze", ["census", "--reason", "x"]), ("requests", []),
    ("requests", ["--decline", "WISH", "--reason", "no"]), ("alerts", ["--command", "true", "--test"]), ("alerts", []),
    ("example", ["census"]), ("example", ["census", "--off"]), ("revoke", ["bob", "--dataset", "census"]), ("log", []), ("log", ["--security"]), ("verify", []), ("doctor", []),
    ("backup", ["a.backup"]), ("restore", ["a.backup", "again", "--reason", "a test"]), ("rotate", []), ("compact", ["--older-than", "9", "--reason", "tidy"]), ("upgrade", []),
]  # fmt: skip
NOT_RUN = {"login", "renew"}  # these need a console: see console/test_devices.py


def test_every_command_prints_what_the_schema_says(privjail, tmp_path):
    assert set(names()) == {command for command, _ in RUNS} | NOT_RUN == set(DEFINITIONS["$defs"]) - {"amount"}
    folder = make_jail(tmp_path)
    house_rules.wish(folder, "ann", "census", "2", "more")
    number = str(next(iter(folder.state.wishes)))
    folder.ledger.close()
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    with sqlite3.connect(tmp_path / "rows.sqlite") as db:
        db.execute("CREATE TABLE people (age INTEGER, ward TEXT)")
        db.execute("INSERT INTO people VALUES (41, 'a')")
    db.close()
    (tmp_path / "parts").mkdir()
    pl.DataFrame({"age": [41, 22], "ward": ["a", "b"]}).write_parquet(tmp_path / "parts" / "1.parquet")
    for command, args in RUNS:
        given = [number if a == "WISH" else a for a in args]
        code, out, err = privjail(*command.split(), *given, "--json")
        assert code == 0 or command == "doctor", (command, out, err)
        fits(command, json.loads(out))
    code, out, _ = privjail("budget", "--json")
    spent = {(b["dataset"], b["scope"], b["who"]): b["limit"] for b in json.loads(out)}
    assert spent["pairs", "group", "team"] == {"epsilon": "1/10", "delta": "1/10000000"}
    with pytest.raises(jsonschema.ValidationError):
        fits("version", {"version": "1", "more": 1})


@pytest.mark.parametrize("command", [path for path in root.commands()])
def test_every_command_complains_in_one_form(privjail, command):
    if command == "rehearse":  # passes its options on to the program
        pytest.skip("it takes all options")
    code, out, err = privjail(*command.split(), "--no-such-option")
    assert code == 2 and out == "" and err.startswith("privjail: error: "), err
    assert f"see: privjail {command} --help" in err


def test_errors_of_the_work_have_the_same_form(privjail):
    for args in (
        ["budget", "--jail", "none"],
        ["schema", "check", "none.csv", "none.json"],
        ["verify", "--jail", "none"],
    ):
        code, out, err = privjail(*args)
        assert code == 1 and err.startswith("privjail: error: ") and out == "", err


def test_help_lists_every_subcommand_in_one_column(privjail):
    lines = privjail("help")[1].splitlines()
    assert {"user file", "schema draft", "local plan"} <= set(root.commands())
    ends = {line.index(text) for line in lines for text in [re.split(r"\s{2,}", line.strip(), maxsplit=1)[1]]}
    assert len(lines) == len(root.commands()) and len(ends) == 1
